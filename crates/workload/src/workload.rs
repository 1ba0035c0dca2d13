//! What a workload is to everyone else: scripts, tables with a scale, loading, the preparation of a run, checks. Names of
//! tables, and the SQL about them, stay behind it.

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

/// What a run works on.
pub trait Workload: Debug + Send + Sync {
    /// Its name in records and messages.
    fn name(&self) -> &str;

    /// What it is, in a few words.
    fn title(&self) -> &str;

    /// Who published it.
    fn source(&self) -> Option<&str> {
        None
    }

    /// The terms under which it may be passed on.
    fn licence(&self) -> Option<&str> {
        None
    }

    /// Variables of its SQL and its scripts beside `scale`, with their defaults.
    fn parameters(&self) -> &BTreeMap<String, String>;

    /// All its scripts. Those with a weight are the mix that runs when none is named.
    fn scripts(&self) -> &[Script];

    /// The one script whose name is `name` or begins with it.
    ///
    /// # Errors
    /// If there is no such script, or more than one.
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

    /// The mixes that a first look at the workload runs, one after the other.
    fn quickstart(&self) -> Vec<Vec<&Script>> {
        vec![self.mix()]
    }

    /// The scripts that run when none is named.
    fn mix(&self) -> Vec<&Script> {
        self.scripts().iter().filter(|script| script.weight > 0).collect()
    }

    /// The command that loads it, for messages.
    fn init_command(&self) -> String;

    /// Refuses what this workload cannot do, without a server.
    ///
    /// # Errors
    /// The first option that it does not have.
    fn check_options(&self, options: &InitOptions) -> Result<(), WorkloadError>;

    /// Makes and fills the tables. `session` is one to `target`.
    ///
    /// # Errors
    /// What the server refuses, or that `progress` asked to stop.
    fn load(
        &self,
        target: &Target,
        session: &mut Session,
        options: &InitOptions,
        progress: &mut Progress<'_>,
    ) -> Result<InitReport, WorkloadError>;

    /// What loading ends with when it was asked to stop.
    fn interrupted(&self) -> WorkloadError {
        WorkloadError::Interrupted
    }

    /// Looks for the tables before a run.
    ///
    /// # Errors
    /// If one is missing, or the scale cannot be told.
    fn find_tables(&self, session: &mut Session) -> Result<Tables, WorkloadError>;

    /// The table whose rows tell the scale, if there is one.
    fn scale_table(&self) -> Option<&str>;

    /// Refuses tables that are empty: scripts have nothing to draw from.
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

    /// About how many bytes of tables and indexes a unit of scale brings, if that is known.
    fn bytes_per_scale(&self) -> Option<u64> {
        None
    }

    /// Vacuums or empties tables before a run. A failure does not stop the run: all failures are returned, to be shown.
    #[must_use = "the caller shows what failed"]
    fn prepare_run(&self, session: &mut Session) -> Vec<WorkloadError>;

    /// Vacuums and analyzes what [`Workload::prepare_run`] leaves alone (`--vacuum-all`).
    #[must_use = "the caller shows what failed"]
    fn vacuum_all(&self, session: &mut Session) -> Vec<WorkloadError>;

    /// Queries that return no row when the data are sound.
    fn checks(&self) -> &[Check];

    /// Files that it was read from, with their texts; none of a workload that comes with pgmeter.
    fn files(&self) -> &[(PathBuf, String)] {
        &[]
    }
}

/// A script of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Its name on command lines.
    pub name: Cow<'static, str>,
    /// Its name in reports.
    pub description: Cow<'static, str>,
    /// The script itself.
    pub text: Cow<'static, str>,
    /// Its share of the mix; 0: it runs only when it is named.
    pub weight: u32,
    /// Whether it leaves the data as they were.
    pub only_reads: bool,
    /// The beginning of the command that locks one of as many rows as the scale says until the transaction ends.
    /// Others say so in a comment of their text ([`script::ContendedRows`]).
    pub contended: Option<&'static str>,
}

/// A query about the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name in messages.
    pub name: String,
    /// Each of its statements must return no row. `:scale` and parameters are variables.
    pub sql: String,
}

/// The tables that scripts will work on.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// As counted; 0 if the table that tells it is empty. `None` if no table tells it.
    pub scale: Option<u32>,
    /// How the largest table is partitioned, and into how many partitions.
    pub partitioning: Option<(PartitionMethod, u32)>,
}

impl dyn Workload + '_ {
    /// The variables of its SQL: the defaults of the parameters, then `given`, then the scale.
    pub fn variables(&self, given: &BTreeMap<String, String>, scale: u32) -> BTreeMap<String, String> {
        let mut variables = self.parameters().clone();
        variables.extend(given.iter().map(|(name, value)| (name.clone(), value.clone())));
        variables.insert("scale".to_owned(), scale.to_string());
        variables
    }

    /// Runs all checks.
    ///
    /// # Errors
    /// [`WorkloadError::ChecksFailed`] with those that returned rows; the first that cannot be executed.
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
