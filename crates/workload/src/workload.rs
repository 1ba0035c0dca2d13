//! The interface of workloads: scripts, tables with a scale, loading, preparation of a run, checks. Names of tables
//! and their SQL stay inside the implementations.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::PathBuf;

use connect::{Session, Target};
use script::Statement;

use crate::WorkloadError;
use crate::error::FailedCheck;
use crate::load::{self, InitOptions, InitReport, Progress};
use stats::PartitionMethod;

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

    /// The error if loading was stopped.
    fn interrupted(&self) -> WorkloadError {
        WorkloadError::Interrupted
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
            (Some(0), Some(table)) => Err(WorkloadError::ScaleUnusable {
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

    /// Vacuums or truncates tables before a run. Errors do not stop the run: they are returned for display.
    #[must_use = "the caller shows what failed"]
    fn prepare_run(&self, session: &mut Session) -> Vec<WorkloadError>;

    /// Vacuums and analyzes the tables that [`Workload::prepare_run`] omits (`--vacuum-all`).
    #[must_use = "the caller shows what failed"]
    fn vacuum_all(&self, session: &mut Session) -> Vec<WorkloadError>;

    /// Queries that return no rows if the data are consistent.
    fn checks(&self) -> &[Check];

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
    pub scale: Option<u32>,
    /// Partitioning of the largest table, and its number of partitions.
    pub partitioning: Option<(PartitionMethod, u32)>,
}

impl dyn Workload + '_ {
    /// Variables of its SQL: defaults of the parameters, `given` values, and the scale.
    pub fn variables(&self, given: &BTreeMap<String, String>, scale: u32) -> BTreeMap<String, String> {
        let mut variables = self.parameters().clone();
        variables.extend(given.iter().map(|(name, value)| (name.clone(), value.clone())));
        variables.insert("scale".to_owned(), scale.to_string());
        variables
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
        let mut failed = Vec::new();
        for check in self.checks() {
            for Statement { sql, .. } in script::statements(&check.name, &check.sql, variables)? {
                let sets =
                    session.patiently(|session| session.query_sets(&sql)).map_err(load::failed(&sql))?;
                let rows: Vec<_> = sets.into_iter().flat_map(|set| set.rows).collect();
                if let Some(first) = rows.first() {
                    failed.push(FailedCheck::new(&check.name, rows.len(), first));
                }
            }
        }
        let workload = self.name().to_owned();
        if failed.is_empty() { Ok(()) } else { Err(WorkloadError::ChecksFailed { workload, failed }) }
    }
}
