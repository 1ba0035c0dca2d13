//! The interface of workloads: scripts, tables with a scale, loading, preparation of a run, checks. Names of tables
//! and their SQL stay inside the implementations.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::PathBuf;

use config::{Complaint, Node};
use connect::{OwnSettings, Session, Target};
use script::Statement;

use crate::WorkloadError;
use crate::archives::NamedArchive;
use crate::before_run::Preparation;
use crate::error::FailedCheck;
use crate::load::{self, InitOptions, InitReport, Progress};
use crate::marks::{self, Loaded};
use crate::query_set::{Answer, IndexSet, Query, QueryChoice};
use crate::row_counts;
use crate::standard::Standard;
use crate::step_guard;
use stats::{PartitionMethod, Scale};

/// Why most workloads refuse options for the layout of pgbench's tables.
pub(crate) const ONLY_TPCB: &str = "only the workload tpcb does";

/// Why most workloads refuse a dry run.
pub(crate) const NOT_GENERATED: &str = "only workloads do whose rows are generated from a schema of the user";

/// A workload.
pub trait Workload: Debug + Send + Sync {
    /// Its name in records and messages.
    fn name(&self) -> &str;

    /// A short title.
    fn title(&self) -> &str;

    /// Its source.
    fn source(&self) -> Option<&str> {
        None
    }

    /// Its licence.
    fn licence(&self) -> Option<&str> {
        None
    }

    /// The least disk, memory and time that it needs.
    fn needs(&self) -> Option<&str> {
        None
    }

    /// Variables of its SQL and its scripts in addition to `scale`, with their defaults.
    fn parameters(&self) -> &BTreeMap<String, String>;

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

    /// The scripts of the default mix.
    fn mix(&self) -> Vec<&Script> {
        self.scripts().iter().filter(|script| script.weight > 0).collect()
    }

    /// The command that loads it, for messages.
    fn init_command(&self) -> String;

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
        let workload = self.name().to_owned();
        Err(WorkloadError::OptionUnsupported { option: "--dry-run", workload, reason: NOT_GENERATED })
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

    /// Vacuums or truncates tables before a run. Errors do not stop the run: they are noted for display.
    fn prepare_run(&self, preparation: &mut Preparation<'_>);

    /// Vacuums and analyzes the tables that [`Workload::prepare_run`] omits (`--vacuum-all`).
    fn vacuum_all(&self, preparation: &mut Preparation<'_>);

    /// Queries that return no rows if the data are consistent.
    fn checks(&self) -> &[Check];

    /// A sentence that accompanies its results in every report.
    fn notice(&self) -> Option<&str> {
        None
    }

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
    ///
    /// # Errors
    /// The schema of the workload cannot be used.
    fn data_checks(&self, _loaded: &Loaded) -> Result<Vec<Check>, WorkloadError> {
        Ok(Vec::new())
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

/// A script of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Name on command lines.
    pub name: Cow<'static, str>,
    /// Name in reports.
    pub description: Cow<'static, str>,
    /// The script itself.
    pub text: Cow<'static, str>,
    /// Weight in the mix; 0: runs only if it is given by name.
    pub weight: u32,
    /// Whether it leaves the data unchanged.
    pub only_reads: bool,
    /// Start of the command that locks one of `scale` rows until the transaction ends. Other scripts declare this in
    /// a comment ([`script::ContendedRows`]).
    pub contended: Option<&'static str>,
}

/// A script whose transactions per minute are a figure of the reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerMinute {
    /// The name of the script.
    pub script: String,
    /// What the figure is, for readers.
    pub label: String,
}

impl PerMinute {
    /// Reads the key of a workload.toml. The script must be one of the workload's.
    pub(crate) fn read(node: Node, scripts: &[Script]) -> Result<PerMinute, Complaint> {
        let mut table = node.into_table()?;
        table.check_keys("per_minute", &["script", "label"])?;
        let missing = Complaint::at(table.place, "per_minute requires a script and a label");
        let (Some(script), Some(label)) = (table.take("script"), table.text("label")?) else {
            return Err(missing);
        };
        Ok(PerMinute { script: known_name(&script, "script", scripts.iter().map(|it| &*it.name))?, label })
    }
}

/// The name of a thing that the workload has.
pub(crate) fn known_name<'a>(
    node: &Node,
    what: &str,
    known: impl Iterator<Item = &'a str>,
) -> Result<String, Complaint> {
    let (name, known) = (node.text()?, known.collect::<Vec<_>>());
    if known.contains(&name) {
        return Ok(name.to_owned());
    }
    let nearest = config::nearest(name, &known).map(|name| format!("; did you mean {name}?"));
    let complaint = format!("there is no {what} \"{name}\"{}", nearest.unwrap_or_default());
    Err(Complaint::at(node.place, complaint))
}

/// A query about the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name in messages.
    pub name: String,
    /// Each of its statements must return no rows. `:scale` and parameters are variables.
    pub sql: String,
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
pub(crate) fn check_indexes(workload: &dyn Workload, options: &InitOptions) -> Result<(), WorkloadError> {
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

impl dyn Workload + '_ {
    /// Variables of its SQL: defaults of the parameters, `given` values, and the scale.
    pub fn variables(&self, given: &BTreeMap<String, String>, scale: Scale) -> BTreeMap<String, String> {
        let mut variables = self.parameters().clone();
        variables.extend(given.iter().map(|(name, value)| (name.clone(), value.clone())));
        variables.insert("scale".to_owned(), scale.to_string());
        variables
    }

    /// Runs all checks on loaded data, those of freshly loaded data too; returns their number. The scale is that of the
    /// tables, or `scale` if they do not determine it.
    ///
    /// # Errors
    /// As [`Self::run_checks`]; or the tables are missing or incomplete.
    pub fn check_data(
        &self,
        session: &mut Session,
        parameters: &BTreeMap<String, String>,
        scale: Option<Scale>,
    ) -> Result<usize, WorkloadError> {
        let tables = self.find_tables(session)?;
        let loaded = marks::loaded(session, self)?;
        let marked = loaded.as_ref().map(|loaded| loaded.scale);
        let found = tables.scale.or(marked);
        if let (Some(found), Some(asked)) = (found, scale)
            && found != asked
        {
            let (workload, init) = (self.name().to_owned(), self.init_command());
            return Err(WorkloadError::OtherScale { workload, found, asked, init });
        }
        let scale = found.or(scale).unwrap_or_default();
        let mut checks = self.checks().to_vec();
        if let Some(loaded) = &loaded {
            checks.extend(self.data_checks(loaded)?);
        }
        checks.extend(row_counts::checks(session, self.name())?);
        if checks.is_empty() {
            let (workload, init) = (self.name().to_owned(), self.init_command());
            return Err(WorkloadError::NoChecks { workload, init });
        }
        self.run(session, &checks, &self.variables(parameters, scale))?;
        Ok(checks.len())
    }

    /// Runs all checks.
    ///
    /// # Errors
    /// [`WorkloadError::ChecksFailed`] with those that returned rows; or the first that cannot be executed.
    pub fn run_checks(
        &self,
        session: &mut Session,
        variables: &BTreeMap<String, String>,
    ) -> Result<(), WorkloadError> {
        self.run(session, self.checks(), variables)
    }

    fn run(
        &self,
        session: &mut Session,
        checks: &[Check],
        variables: &BTreeMap<String, String>,
    ) -> Result<(), WorkloadError> {
        let mut failed = Vec::new();
        for check in checks {
            for Statement { sql, line } in script::statements(&check.name, &check.sql, variables)? {
                if let Some(word) = step_guard::transaction_control(&sql) {
                    return Err(WorkloadError::CheckControl {
                        place: format!("{}:{line}", check.name),
                        word,
                    });
                }
                let sets = session.patiently(|session| {
                    if session.is_in_transaction() {
                        // The caller's transaction must not end here.
                        return step_guard::query_singly(session, &sql);
                    }
                    session.begin_own(OwnSettings::Limits)?;
                    let sets = session
                        .execute("SET TRANSACTION READ ONLY")
                        .and_then(|_| step_guard::query_singly(session, &sql));
                    if !session.is_lost() {
                        // Not all functions that change something respect READ ONLY: before version 16, lo_unlink does not.
                        let ended = session.rollback();
                        return sets.and_then(|sets| ended.map(|()| sets));
                    }
                    sets
                });
                let sets = sets.map_err(load::failed(&sql));
                let sets = sets.map_err(|error| {
                    error.not_permitted(&format!("cannot check {}", check.name)).of_check(&check.name, line)
                })?;
                failed.extend(FailedCheck::new(&check.name, &sets));
            }
        }
        let workload = self.name().to_owned();
        if failed.is_empty() { Ok(()) } else { Err(WorkloadError::ChecksFailed { workload, failed }) }
    }
}
