//! Loading a workload: what can be asked for, what is told meanwhile, what is returned. Filled in by the caller, carried
//! out by each workload's `load`.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

use connect::{ConnectError, Row, ServerError, Session};

use crate::tpcb::{Partitioning, Step};
use crate::{Workload, WorkloadError};

/// Which tables' changes go into the write-ahead log.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Logging {
    /// Those of all.
    All,
    /// Those of none.
    None,
    /// Those of none; but with partitions those of branches, tellers and history, as `pgbench` does since 18.
    NoneAsPgbench,
}

/// How a workload's tables are made. Most of it concerns the tables of pgbench alone; other workloads refuse it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitOptions {
    /// Size of the tables, in the workload's unit: 100,000 accounts for those of pgbench. 1 to 2,147,483,647.
    pub scale: u32,
    /// What to do, in this order; a step may come again, and no step is nothing to do.
    pub steps: Vec<Step>,
    /// How full, in percent, the pages of tables with a primary key are packed. 10 to 100.
    pub fillfactor: u8,
    /// Partitions of the largest table, if any.
    pub partitioning: Option<Partitioning>,
    /// Whether changes of the tables are logged.
    pub logging: Logging,
    /// Where the tables lie; the database's default if none is named. Any text, quoted here.
    pub tablespace: Option<String>,
    /// Where the primary keys' indexes lie; the database's default if none is named. Any text, quoted here.
    pub index_tablespace: Option<String>,
    /// Sessions that may work on partitions side by side.
    pub jobs: u32,
    /// Do only what is missing of tables that were begun with the same options.
    pub resumes: bool,
    /// Values of the workload's parameters, by name; those that are not here have their defaults.
    pub parameters: BTreeMap<String, String>,
}

impl Default for InitOptions {
    /// As `pgbench -i` without options.
    fn default() -> Self {
        InitOptions {
            scale: 1,
            steps: Step::DEFAULT.to_vec(),
            fillfactor: 100,
            partitioning: None,
            logging: Logging::All,
            tablespace: None,
            index_tablespace: None,
            jobs: 2,
            resumes: false,
            parameters: BTreeMap::new(),
        }
    }
}

impl InitOptions {
    /// Foreign keys as a last step, if they are none of the steps yet (`--foreign-keys`).
    pub fn add_foreign_keys(&mut self) {
        if !self.steps.contains(&Step::ForeignKeys) {
            self.steps.push(Step::ForeignKeys);
        }
    }
}

/// What is told while the work goes on: all that the lines of `pgbench -i` are made of, in their order.
///
/// `pgbench` says `DOING...` for `Started`, `creating N partitions...` for `Partitions`, nothing for `Finished`, and at
/// the end `done in TOTAL s (NAME SECONDS s, …).` from the [`InitReport`]. Of `Rows` it shows those where `done` is a multiple of
/// 100,000; when quiet, those where `elapsed` has reached another 5 s (the next limit is the first multiple of
/// 5 s that is not below `elapsed`), and the last row of a table if `done` is a multiple of 100. Its figures:
/// percent `100 * done / total`, whole; remaining `(total - done) * elapsed / done`.
#[derive(Copy, Clone, Debug)]
pub enum InitProgress<'a> {
    /// A step begins.
    Started {
        /// What the step does, such as `creating primary keys`.
        doing: &'a str,
    },
    /// The tables are there, and now come so many partitions of the largest.
    Partitions(u32),
    /// The server had something to say about a statement: that there was no table to drop, for one.
    Notice(&'a ServerError),
    /// Rows of a table were made by the client; told every [`ROWS_PER_PROGRESS`] rows and at the table's end, also
    /// where several connections make them. Fewer than before if rows were lost with their connection.
    Rows {
        /// The table being filled.
        table: &'static str,
        /// Rows made so far.
        done: u64,
        /// Rows there will be.
        total: u64,
        /// Since this table's first row.
        elapsed: Duration,
    },
    /// A step has ended. Steps that overlap are told one after the other: what was done of a later one meanwhile
    /// counts as time of the earlier.
    Finished(&'a StepTime),
    /// The connection was lost; it is made again, and what it was doing begins anew.
    Lost {
        /// A statement, or the loading of a table or partition.
        doing: &'a str,
        /// What the server or the connection said.
        reason: &'a str,
    },
    /// Nothing new; told a few times a second, so that the caller may ask to end.
    Waiting,
}

/// Called with the progress; may ask to stop.
pub type Progress<'a> = dyn FnMut(InitProgress<'_>) -> ControlFlow<()> + 'a;

/// How often [`InitProgress::Rows`] is told: several times a second, and too rare to cost.
pub const ROWS_PER_PROGRESS: u64 = 10_000;

/// How long a step took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepTime {
    /// The step, such as `primary keys`.
    pub name: String,
    /// By the clock on the wall.
    pub took: Duration,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InitReport {
    /// Each step, in the order of execution.
    pub steps: Vec<StepTime>,
}

impl InitReport {
    /// All steps together.
    pub fn total(&self) -> Duration {
        self.steps.iter().map(|step| step.took).sum()
    }
}

pub(crate) fn tell(progress: &mut Progress<'_>, what: InitProgress<'_>) -> Result<(), WorkloadError> {
    match progress(what) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(WorkloadError::Interrupted),
    }
}

/// The failure of a statement.
pub(crate) fn failed(sql: &str) -> impl FnOnce(ConnectError) -> WorkloadError {
    move |source| WorkloadError::Query { sql: sql.to_owned(), source }
}

/// Runs one statement; an error carries it.
pub(crate) fn execute(session: &mut Session, sql: &str) -> Result<(), WorkloadError> {
    session.execute(sql).map(drop).map_err(failed(sql))
}

/// Runs one query; an error carries it.
pub(crate) fn query(session: &mut Session, sql: &str) -> Result<Vec<Row>, WorkloadError> {
    session.query(sql).map_err(failed(sql))
}

/// Executes each statement, and returns what failed.
pub(crate) fn execute_all(session: &mut Session, statements: &[impl AsRef<str>]) -> Vec<WorkloadError> {
    session.patiently(|session| {
        statements.iter().filter_map(|sql| execute(session, sql.as_ref()).err()).collect()
    })
}

/// A table of the workload is not there; `source` is what the server said.
pub(crate) fn missing_table(
    session: &mut Session,
    table: &str,
    workload: &dyn Workload,
    source: Option<ConnectError>,
) -> WorkloadError {
    let rows = query(session, "select pg_catalog.current_database()").unwrap_or_default();
    let database = rows.first().and_then(|row| row.get(0)).unwrap_or("?").to_owned();
    let (table, init) = (table.to_owned(), workload.init_command());
    WorkloadError::TablesMissing { database, table, init, source: source.map(Box::new) }
}

/// Runs one question about catalogs, which no object of a user's can answer.
pub(crate) fn query_catalogs(session: &mut Session, sql: &str) -> Result<Vec<Row>, WorkloadError> {
    session.query_catalogs(sql).map_err(failed(sql))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(letters: &str) -> InitOptions {
        let steps = Step::parse_list(letters).expect("letters of steps");
        InitOptions { steps, ..InitOptions::default() }
    }

    #[test]
    fn foreign_keys_are_added_once() {
        let mut options = options("dt");
        options.add_foreign_keys();
        options.add_foreign_keys();
        assert_eq!(options.steps, [Step::DropTables, Step::CreateTables, Step::ForeignKeys]);
        let mut early = self::options("ft");
        early.add_foreign_keys();
        assert_eq!(early.steps, [Step::ForeignKeys, Step::CreateTables]);
    }
}
