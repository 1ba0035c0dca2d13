//! The interface of workloads: scripts, tables with a scale, loading, preparation of a run, checks. Names of tables
//! and their SQL stay inside the implementations.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::PathBuf;

use connect::{ConnectError, Session, SqlState, Target};

use crate::WorkloadError;
use crate::contract::about::About;
use crate::contract::archives::NamedArchive;
use crate::contract::check::Check;
use crate::contract::load::{InitOptions, InitReport, Progress, query};
use crate::contract::marks::Loaded;
use crate::contract::query_set::{Answer, IndexSet, Query, QueryChoice};
use crate::contract::scripts::{PerMinute, Script};
use crate::contract::standard::Standard;
use crate::contract::table_name::TableName;
use crate::contract::unsupported::{NOT_GENERATED, unsupported};
use stats::{PartitionMethod, Scale};

/// A workload.
pub trait Workload: Debug + Send + Sync {
    /// What it says about itself.
    fn about(&self) -> &About;

    /// Its name in records and messages.
    fn name(&self) -> &str {
        &self.about().name
    }

    /// A short title.
    fn title(&self) -> &str {
        &self.about().title
    }

    /// Its source.
    fn source(&self) -> Option<&str> {
        self.about().source.as_deref()
    }

    /// Its licence.
    fn licence(&self) -> Option<&str> {
        self.about().licence.as_deref()
    }

    /// The least disk, memory and time that it needs.
    fn needs(&self) -> Option<&str> {
        self.about().needs.as_deref()
    }

    /// A sentence that accompanies its results in every report.
    fn notice(&self) -> Option<&str> {
        self.about().notice.as_deref()
    }

    /// Variables of its SQL and its scripts in addition to `scale`, with their defaults.
    fn parameters(&self) -> &BTreeMap<String, String> {
        static NONE: BTreeMap<String, String> = BTreeMap::new();
        &NONE
    }

    /// All its scripts. Those with a weight are the default mix.
    fn scripts(&self) -> &[Script];

    /// The script whose name is `name` or begins with it.
    ///
    /// # Errors
    /// There is no such script, or more than one.
    fn script(&self, name: &str) -> Result<&Script, WorkloadError> {
        let scripts = self.scripts();
        if let Some(script) = scripts.iter().find(|script| script.name == name) {
            return Ok(script);
        }
        let mut matching = scripts.iter().filter(|script| script.name.starts_with(name));
        match (matching.next(), matching.next()) {
            (Some(script), None) => Ok(script),
            _ => {
                let known: Vec<&str> = scripts.iter().map(|script| &*script.name).collect();
                Err(WorkloadError::UnknownScript {
                    workload: self.name().to_owned(),
                    name: name.to_owned(),
                    known: known.join(", "),
                })
            }
        }
    }

    /// The mixes that `quickstart` runs, one after the other.
    fn quickstart(&self) -> Vec<Vec<&Script>> {
        vec![self.mix()]
    }

    /// The scale of `quickstart`.
    fn quickstart_scale(&self) -> Scale {
        Scale::ONE
    }

    /// The scripts of the default mix.
    fn mix(&self) -> Vec<&Script> {
        self.scripts().iter().filter(|script| script.weight > 0).collect()
    }

    /// The command that loads it, for messages.
    fn init_command(&self) -> String {
        format!("pgmeter init --workload {}", self.name())
    }

    /// Rejects options that this workload does not support, without a server.
    ///
    /// # Errors
    /// The first unsupported option.
    fn check_options(&self, options: &InitOptions) -> Result<(), WorkloadError>;

    /// Creates and fills the tables. `session` is connected to `target`.
    ///
    /// # Errors
    /// Errors of the server, or `progress` asked to stop.
    fn load(
        &self,
        target: &Target,
        session: &mut Session,
        options: &InitOptions,
        progress: &mut Progress<'_>,
    ) -> Result<InitReport, WorkloadError>;

    /// Describes the tables that `load` would fill, with the generators of their columns, as text. Nothing is changed.
    ///
    /// # Errors
    /// The rows are not those of a schema; errors as of `load`.
    fn dry_run(
        &self,
        _: &mut Session,
        _: &InitOptions,
        _: &mut Progress<'_>,
    ) -> Result<String, WorkloadError> {
        Err(unsupported(self.name(), "--dry-run", NOT_GENERATED))
    }

    /// Whether `load` itself refuses more rows than [`InitOptions::limit`] permits, and tells a forecast.
    fn knows_its_rows(&self) -> bool {
        false
    }

    /// The error if loading was stopped.
    fn interrupted(&self) -> WorkloadError {
        WorkloadError::InterruptedTables { init: self.init_command() }
    }

    /// Examines the tables before a run.
    ///
    /// # Errors
    /// A table is missing, or the scale cannot be determined.
    fn find_tables(&self, session: &mut Session) -> Result<Tables, WorkloadError>;

    /// The table whose rows determine the scale, if there is one.
    fn scale_table(&self) -> Option<&str>;

    /// Rejects empty tables, because scripts could select no rows.
    ///
    /// # Errors
    /// [`WorkloadError::ScaleUnusable`].
    fn check_scale(&self, tables: &Tables) -> Result<(), WorkloadError> {
        match (tables.scale, self.scale_table()) {
            (Some(scale), Some(table)) if scale == 0 => Err(WorkloadError::ScaleUnusable {
                table: table.to_owned(),
                rows: "0".to_owned(),
                init: self.init_command(),
            }),
            _ => Ok(()),
        }
    }

    /// Approximate bytes of tables and indexes per unit of scale, if known.
    fn bytes_per_scale(&self) -> Option<u64> {
        None
    }

    /// The tables that are vacuumed or truncated before a run. Errors do not stop the run: they are noted for display.
    fn prepared(&self) -> Vec<TablePreparation> {
        Vec::new()
    }

    /// The tables that are vacuumed and analyzed in addition (`--vacuum-all`).
    fn vacuumed(&self) -> Vec<TablePreparation> {
        Vec::new()
    }

    /// Queries that return no rows if the data are consistent.
    fn checks(&self) -> &[Check];

    /// The script whose transactions per minute its reports show.
    fn per_minute(&self) -> Option<&PerMinute> {
        None
    }

    /// The standard by whose rules its runs are judged.
    fn standard(&self) -> Option<&Standard> {
        None
    }

    /// Its tables, for readers; empty if they are not known.
    fn table_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// The archives that it needs.
    fn archives(&self) -> &[NamedArchive] {
        &[]
    }

    /// Checks of freshly loaded data in addition to [`Workload::checks`].
    fn data_checks(&self, _loaded: &Loaded) -> Vec<Check> {
        Vec::new()
    }

    /// The sets of indexes that loading can create; the first is the default. Empty: there is no choice.
    fn index_sets(&self) -> &[IndexSet] {
        &[]
    }

    /// Names of the versions of the query texts, such as `given` and `rewritten`; the first is the default. Empty: there is
    /// one version.
    fn query_texts(&self) -> &[&'static str] {
        &[]
    }

    /// Whether it has a query set; making it may take seconds.
    fn has_queries(&self) -> bool {
        false
    }

    /// The query set in its order; empty if the workload has none.
    ///
    /// # Errors
    /// The version of the texts or a parameter is unknown.
    fn queries(&self, _choice: &QueryChoice) -> Result<Vec<Query>, WorkloadError> {
        Ok(Vec::new())
    }

    /// The expected answers of these queries; empty if none are known, as for drawn parameters or another scale.
    fn answers(&self, _choice: &QueryChoice) -> Vec<Answer> {
        Vec::new()
    }

    /// The refresh functions: statements that insert rows, and statements that delete the same rows again. `pair` is
    /// counted from 0; `None` if the workload has none.
    fn refresh(&self, _scale: Scale, _pair: u32) -> Option<[Query; 2]> {
        None
    }

    /// Its files with their texts; empty for a built-in workload.
    fn files(&self) -> &[(PathBuf, String)] {
        &[]
    }
}

impl dyn Workload + '_ {
    /// Variables of its SQL: defaults of the parameters, `given` values, and the scale.
    pub fn variables(&self, given: &BTreeMap<String, String>, scale: Scale) -> BTreeMap<String, String> {
        let mut variables = self.parameters().clone();
        variables.extend(given.iter().map(|(name, value)| (name.clone(), value.clone())));
        variables.insert("scale".to_owned(), scale.to_string());
        variables
    }
}

/// What is done to a table before a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TablePreparation {
    /// VACUUM of a table, as SQL names it.
    Vacuum(String),
    /// VACUUM ANALYZE.
    VacuumAnalyze(String),
    /// TRUNCATE of a table of the workload's own.
    Truncate {
        /// The table.
        table: TableName,
        /// The columns of tables that another program made for the same purpose: `name type, name type, …`.
        columns: &'static [&'static str],
        /// The statement that truncates any table with the name.
        by_name: Option<&'static str>,
    },
}

/// The tables of a run.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// The scale according to the row count; 0 if that table is empty. `None` if no table determines it.
    pub scale: Option<Scale>,
    /// Partitioning of the largest table, and its number of partitions.
    pub partitioning: Option<(PartitionMethod, u32)>,
}

/// Rejects an unknown index set.
pub fn check_indexes(workload: &dyn Workload, options: &InitOptions) -> Result<(), WorkloadError> {
    let Some(name) = &options.indexes else { return Ok(()) };
    let known: Vec<&str> = workload.index_sets().iter().map(|set| &*set.name).collect();
    if known.contains(&name.as_str()) {
        return Ok(());
    }
    let known = match config::nearest(name, &known) {
        _ if known.is_empty() => "it has no index sets".to_owned(),
        Some(nearest) => format!("did you mean {nearest}?"),
        None => format!("it has {}", known.join(", ")),
    };
    Err(WorkloadError::UnknownIndexes { workload: workload.name().to_owned(), name: name.clone(), known })
}

impl InitOptions {
    /// With the name of the index set, also if it is the default.
    pub fn with_index_set(&self, workload: &dyn Workload) -> InitOptions {
        let default = || workload.index_sets().first().map(|set| set.name.to_string());
        InitOptions { indexes: self.indexes.clone().or_else(default), ..self.clone() }
    }
}

/// The result of a query that counts rows of a table.
///
/// # Errors
/// [`WorkloadError::TablesMissing`] if the table is not there; errors of the server.
pub fn counted(
    session: &mut Session,
    sql: &str,
    table: &str,
    workload: &dyn Workload,
) -> Result<String, WorkloadError> {
    match query(session, sql) {
        Ok(rows) => Ok(rows.first().and_then(|row| row.get(0)).unwrap_or("no").to_owned()),
        Err(WorkloadError::Query { source, .. }) if source.sqlstate() == Some(SqlState::UNDEFINED_TABLE) => {
            Err(missing_table(session, table, workload, Some(source)))
        }
        Err(other) => Err(other),
    }
}

/// A table of the workload is not there; `source` is what the server said.
pub fn missing_table(
    session: &mut Session,
    table: &str,
    workload: &dyn Workload,
    source: Option<ConnectError>,
) -> WorkloadError {
    let rows = query(session, "select pg_catalog.current_database()").unwrap_or_default();
    let database = rows.first().and_then(|row| row.get(0)).unwrap_or("?").to_owned();
    let (table, init) = (table.to_owned(), workload.init_command());
    let source = source.map(Box::new);
    WorkloadError::TablesMissing { database, table, init, is_for_scripts: false, source }
}
