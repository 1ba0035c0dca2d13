//! Loading a workload: options, progress, and report. The caller fills in the options, each workload's `load` carries
//! them out. All modules send statements through functions of this one, so that an error has the statement.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::time::Duration;

use connect::{
    ConnectError, LockWaits, LockingStatements, OwnSettings, Patience, Row, ServerError, Session, Target,
};

use stats::{PartitionMethod, Scale};

use crate::WorkloadError;
use crate::contract::init_steps::Step;

/// Time after which a statement of a schema, or the server that accepts no row, counts as endless. Both work with tables
/// that are empty, or with few rows at once; an index of a large table has no limit.
pub const STATEMENT_LIMIT: Duration = Duration::from_secs(60 * 60);

/// Which tables are logged.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Logging {
    /// Those of all.
    All,
    /// Those of none.
    None,
    /// Not logged; but with partitions branches, tellers and history are, as in `pgbench` since 18.
    NoneAsPgbench,
}

/// A pgbench_accounts cut into partitions.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Partitioning {
    /// How rows find their partition.
    pub method: PartitionMethod,
    /// How many partitions; at least 1.
    pub partitions: u32,
}

/// Options for creating a workload's tables. Most apply to pgbench's tables only; other workloads reject them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitOptions {
    /// Size of the tables, in the workload's unit: 100,000 accounts for those of pgbench. Above 0.
    pub scale: Scale,
    /// Steps in order; a step may be repeated, and the list may be empty.
    pub steps: Vec<Step>,
    /// Fillfactor of tables with a primary key, 10 to 100.
    pub fillfactor: u8,
    /// Partitions of the largest table, if any.
    pub partitioning: Option<Partitioning>,
    /// Whether changes of the tables are logged.
    pub logging: Logging,
    /// Tablespace of the tables; `None`: the database's default. Any text; quoted here.
    pub tablespace: Option<String>,
    /// Tablespace of the primary keys' indexes; `None`: the database's default. Any text; quoted here.
    pub index_tablespace: Option<String>,
    /// Number of sessions that work on partitions in parallel.
    pub jobs: u32,
    /// Do only the missing parts of tables that were created with the same options.
    pub resumes: bool,
    /// Values of the workload's parameters by name; others have their defaults.
    pub parameters: BTreeMap<String, String>,
    /// Names of parameters whose values are secret, so that no mark keeps them.
    pub secret_parameters: BTreeSet<String>,
    /// The index set, one of [`Workload::index_sets`](crate::Workload::index_sets); `None`: the first.
    pub indexes: Option<String>,
    /// Numbers of generated rows by the names of tables; others follow from the scale.
    pub rows: BTreeMap<String, u64>,
    /// Extensions of a schema that are left out, with all that needs them.
    pub without_extensions: BTreeSet<String>,
    /// Longest time of a statement of a schema that sets no `statement_timeout`, and without an accepted row while rows are
    /// loaded.
    pub statement_limit: Duration,
    /// Seed of generated rows; `None`: that of the workload.
    pub seed: Option<u64>,
    /// Drop tables in the way that another program made.
    pub drops: bool,
    /// Wait for locks without a limit, as pgbench does.
    pub waits_as_pgbench: bool,
    /// Load also what its user must confirm: a large load, and one whose rows a subscriber would get.
    pub is_confirmed: bool,
    /// Directives of a schema may name files outside of the workload's folder.
    pub allows_files: bool,
    /// Execute also the statements of a schema that name settings or roles that the server does not have.
    pub is_strict: bool,
    /// Refuse to generate more rows than this permits; `None`: any number.
    pub limit: Option<LoadLimit>,
}

/// What a load may need without the consent of its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadLimit {
    /// Free bytes for the server's data; `None`: not known.
    pub free_bytes: Option<u64>,
}

impl Default for InitOptions {
    /// As `pgbench -i` without options.
    fn default() -> Self {
        InitOptions {
            scale: Scale::ONE,
            steps: Step::DEFAULT.to_vec(),
            fillfactor: 100,
            partitioning: None,
            logging: Logging::All,
            tablespace: None,
            index_tablespace: None,
            jobs: 2,
            resumes: false,
            parameters: BTreeMap::new(),
            secret_parameters: BTreeSet::new(),
            indexes: None,
            rows: BTreeMap::new(),
            without_extensions: BTreeSet::new(),
            statement_limit: STATEMENT_LIMIT,
            seed: None,
            drops: false,
            waits_as_pgbench: false,
            is_confirmed: false,
            allows_files: false,
            is_strict: false,
            limit: None,
        }
    }
}

impl InitOptions {
    /// Whether the steps create tables or rows.
    pub fn creates(&self) -> bool {
        let creating = [Step::CreateTables, Step::GenerateClientSide, Step::GenerateServerSide];
        creating.iter().any(|step| self.steps.contains(step))
    }

    /// Adds foreign keys as the last step, unless they are already a step (`--foreign-keys`).
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
    /// What is dropped next, or is changed although others made it, as a sentence.
    Dropping(&'a str),
    /// The space and the time that a large load will need.
    Forecast(&'a str),
    /// Something in the database that the user should know before the load, as a sentence.
    Found(&'a str),
    /// The tables are there, and now come so many partitions of the largest.
    Partitions(u32),
    /// A notice of the server about a statement, for example that there was no table to drop.
    Notice(&'a ServerError),
    /// Rows of a table were made by the client; told every [`ROWS_PER_PROGRESS`] rows and at the table's end, also
    /// where several connections make them. Fewer than before if rows were lost with their connection.
    Rows {
        /// The table being filled.
        table: &'a str,
        /// Rows made so far.
        done: u64,
        /// Rows there will be.
        total: u64,
        /// Bytes of these rows as COPY text.
        bytes: u64,
        /// Time since this table's first row.
        elapsed: Duration,
    },
    /// A step has ended. Overlapping steps are reported one after the other: time spent on a later one meanwhile
    /// counts for the earlier.
    Finished(&'a StepTime),
    /// The connection was lost; it is made again, and its current task is repeated.
    Lost {
        /// A statement, or the loading of a table or partition.
        doing: &'a str,
        /// The error of the server or the connection.
        reason: &'a str,
    },
    /// No change; reported a few times per second, so that the caller can stop.
    Waiting,
}

/// Receives the progress; may ask to stop.
pub type Progress<'a> = dyn FnMut(InitProgress<'_>) -> ControlFlow<()> + 'a;

/// Number of rows between two [`InitProgress::Rows`]: several times per second at negligible cost.
pub const ROWS_PER_PROGRESS: u64 = 10_000;

/// How long a step took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepTime {
    /// The step, such as `primary keys`.
    pub name: String,
    /// Elapsed time.
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

    /// The steps with their times: `drop tables 0.01 s, create tables 0.02 s`.
    pub fn steps_text(&self) -> String {
        let step = |step: &StepTime| format!("{} {:.2} s", step.name, step.took.as_secs_f64());
        self.steps.iter().map(step).collect::<Vec<_>>().join(", ")
    }

    /// `loaded scale 10 in 1.52 s (…)`; without steps, `--resume` has found complete tables.
    pub fn summary(&self, scale: Scale) -> String {
        if self.steps.is_empty() {
            return format!("nothing was missing: the tables are loaded at scale {scale}");
        }
        format!("loaded scale {scale} in {:.2} s ({})", self.total().as_secs_f64(), self.steps_text())
    }
}

/// The message about [`InitProgress::Lost`].
pub fn reconnecting(doing: &str, reason: &str) -> String {
    format!("{reason} (while {doing}); reconnecting and repeating this step")
}

/// Remaining time at the average rate so far, as text. The rate of the last seconds would be misleading, because
/// partitions get their keys in between.
pub fn time_left(done: u64, total: u64, elapsed: Duration) -> String {
    let rest = u128::from(total.saturating_sub(done));
    let seconds = elapsed.as_millis().saturating_mul(rest) / u128::from(done.max(1)) / 1000;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// `10,263`
pub(crate) fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A line about the rows of a table that are loaded.
pub fn rows_loaded(table: &str, (done, total): (u64, u64), bytes: u64, elapsed: Duration) -> String {
    let (percent, size) = (done.saturating_mul(100) / total.max(1), sql::size_pretty(bytes));
    let left = time_left(done, total, elapsed);
    format!("loading {table}: {done} of {total} rows ({percent} %), {size}, {left} left")
}

/// Tells what is done; the receiver may stop the loading.
///
/// # Errors
/// [`WorkloadError::Interrupted`].
pub fn tell(progress: &mut Progress<'_>, what: InitProgress<'_>) -> Result<(), WorkloadError> {
    match progress(what) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(WorkloadError::Interrupted { cancelled: None }),
    }
}

/// Tells the progress.
pub type Tell<'a> = &'a dyn Fn(InitProgress<'_>) -> Result<(), WorkloadError>;

/// Does work that needs locks, in short tries; between them `progress` may stop it.
pub fn with_locks<T>(
    session: &mut Session,
    progress: &mut Progress<'_>,
    work: impl FnOnce(&mut Session, &mut LockingStatements<'_>, Tell<'_>) -> Result<T, WorkloadError>,
) -> Result<T, WorkloadError> {
    let progress = RefCell::new(progress);
    let tell = |what: InitProgress<'_>| tell(&mut **progress.borrow_mut(), what);
    let continues = || tell(InitProgress::Waiting).is_ok();
    let (patience, mut waits) = (Patience::for_session(session), LockWaits::default());
    let mut locking = LockingStatements::new(patience, &continues, &mut waits);
    match session.patiently(|session| work(session, &mut locking, &tell)) {
        Err(_) if !continues() => Err(WorkloadError::Interrupted { cancelled: None }),
        done => done,
    }
}

/// The failure of a statement.
pub fn failed(sql: &str) -> impl FnOnce(ConnectError) -> WorkloadError {
    move |source| WorkloadError::Query { sql: sql.to_owned(), source }
}

/// Runs one statement; an error carries it.
pub(crate) fn execute(session: &mut Session, sql: &str) -> Result<(), WorkloadError> {
    session.execute(sql).map(drop).map_err(failed(sql))
}

/// Begins a transaction that the role's time limits do not end.
pub(crate) fn begin_own(session: &mut Session) -> Result<(), WorkloadError> {
    session.begin_own(OwnSettings::Limits).map_err(failed("begin"))
}

/// Another session of the same loading, which tells the user too whom it waits for.
pub(crate) fn connect_beside(session: &Session, target: &Target) -> Result<Session, ConnectError> {
    let mut other = Session::connect(target)?;
    other.tell_lock_waits(session.tells_lock_waits());
    Ok(other)
}

/// Commits the transaction that [`begin_own`] has begun.
pub(crate) fn commit(session: &mut Session) -> Result<(), WorkloadError> {
    session.commit().map_err(failed("commit"))
}

/// Runs one query; an error carries it.
pub fn query(session: &mut Session, sql: &str) -> Result<Vec<Row>, WorkloadError> {
    session.query(sql).map_err(failed(sql))
}

/// Runs one question about catalogs, which no object of a user's can answer.
pub fn query_catalogs(session: &mut Session, sql: &str) -> Result<Vec<Row>, WorkloadError> {
    session.query_catalogs(sql).map_err(failed(sql))
}

/// The same for a question that comes again with the same text.
pub(crate) fn query_catalogs_again(session: &mut Session, sql: &str) -> Result<Vec<Row>, WorkloadError> {
    session.query_catalogs_again(sql).map_err(failed(sql))
}

/// The first value of the first row.
pub(crate) fn first(rows: &[Row]) -> String {
    rows.first().map(|row| text(row, 0)).unwrap_or_default()
}

/// A value of a row; empty if it is NULL.
pub fn text(row: &Row, column: usize) -> String {
    row.get(column).unwrap_or_default().to_owned()
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

    #[test]
    fn the_remaining_time_has_the_units_of_a_clock() {
        let left = |done, total, seconds| time_left(done, total, Duration::from_secs(seconds));
        assert_eq!(left(50, 100, 12), "12 s");
        assert_eq!(left(10, 100, 30), "4 min 30 s");
        assert_eq!(left(1_000_000, 2_000_000_000, 4), "2 h 13 min");
        assert_eq!(left(0, 100, 0), "0 s");
        assert_eq!(left(7, 7, 9), "0 s");
    }

    #[test]
    fn large_numbers_have_commas() {
        let texts = [7, 999, 1000, 10_263, 1_000_000].map(with_commas);
        assert_eq!(texts, ["7", "999", "1,000", "10,263", "1,000,000"]);
    }
}
