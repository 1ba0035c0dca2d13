//! Makes and fills the tables over one control session, step after step, and says how long each took.
//! The counterpart of `pgbench -i`. What is shown while it goes on is the caller's progress function's affair.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use connect::{ConnectError, Session};

use crate::rows::{FILLED, Rows};
use crate::schema::{self, Partitioning};
use crate::{Step, WorkloadError};

/// What to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitOptions {
    /// Branches; each brings 10 tellers and 100,000 accounts. 1 to 2,147,483,647.
    pub scale: u32,
    /// What to do, in this order; a step may come again.
    pub steps: Vec<Step>,
    /// How full, in percent, the pages of branches, tellers and accounts are packed. 10 to 100.
    pub fillfactor: u8,
    /// Partitions of pgbench_accounts, if any.
    pub partitioning: Option<Partitioning>,
}

impl Default for InitOptions {
    /// As `pgbench -i` without options.
    fn default() -> Self {
        InitOptions { scale: 1, steps: Step::DEFAULT.to_vec(), fillfactor: 100, partitioning: None }
    }
}

/// What is told while the work goes on.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum InitProgress {
    /// A step begins.
    Started(Step),
    /// Rows of a table were made by the client; told every [`ROWS_PER_PROGRESS`] rows and at the table's end.
    Rows {
        /// The table being filled.
        table: &'static str,
        /// Rows made so far.
        done: u64,
        /// Rows there will be.
        total: u64,
    },
    /// A step has ended.
    Finished(StepTime),
}

/// How often [`InitProgress::Rows`] is told: often enough to draw a bar or to stop, too rare to cost.
pub const ROWS_PER_PROGRESS: u64 = 10_000;

/// How long a step took.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct StepTime {
    /// The step.
    pub step: Step,
    /// By the clock on the wall.
    pub took: Duration,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InitReport {
    /// Each step as it was taken.
    pub steps: Vec<StepTime>,
}

impl InitReport {
    /// All steps together.
    pub fn total(&self) -> Duration {
        self.steps.iter().map(|step| step.took).sum()
    }
}

/// Room for the longest row, so that its buffer never grows.
const ROW_BYTES_MAX: usize = 64;

/// The greatest scale and number of partitions, as in `pgbench`: what its `int` holds.
const COUNT_MAX: u32 = i32::MAX.unsigned_abs();

/// From this version on, a table filled by COPY in the transaction that emptied it is loaded frozen,
/// with its visibility map set.
const FREEZES_FROM_VERSION_NUM: u32 = 140_000;

/// Takes the steps of `options`. `progress` is told of each, and may break off between steps and between
/// rows: what was being loaded is rolled back, what earlier steps did stays.
pub fn init(
    session: &mut Session,
    options: &InitOptions,
    progress: &mut dyn FnMut(InitProgress) -> ControlFlow<()>,
) -> Result<InitReport, WorkloadError> {
    check_options(session, options)?;
    let mut report = InitReport::default();
    for &step in &options.steps {
        tell(progress, InitProgress::Started(step))?;
        let time = timed(step, || take(step, session, options, progress))?;
        report.steps.push(time);
        tell(progress, InitProgress::Finished(time))?;
    }
    Ok(report)
}

/// The only place of this crate that reads a clock.
fn timed(step: Step, work: impl FnOnce() -> Result<(), WorkloadError>) -> Result<StepTime, WorkloadError> {
    let start = Instant::now();
    work()?;
    Ok(StepTime { step, took: start.elapsed() })
}

fn tell(
    progress: &mut dyn FnMut(InitProgress) -> ControlFlow<()>,
    what: InitProgress,
) -> Result<(), WorkloadError> {
    match progress(what) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(WorkloadError::Interrupted),
    }
}

/// Refuses what cannot work before anything is dropped.
fn check_options(session: &Session, options: &InitOptions) -> Result<(), WorkloadError> {
    let out_of_range = |option, low, high| Err(WorkloadError::OutOfRange { option, low, high });
    if options.steps.is_empty() {
        return Err(WorkloadError::NoSteps);
    }
    if !(1..=COUNT_MAX).contains(&options.scale) {
        return out_of_range("-s/--scale", 1, COUNT_MAX);
    }
    if !(10..=100).contains(&options.fillfactor) {
        return out_of_range("-F/--fillfactor", 10, 100);
    }
    let Some(Partitioning { method, partitions }) = options.partitioning else { return Ok(()) };
    if !(1..=COUNT_MAX).contains(&partitions) {
        return out_of_range("--partitions", 1, COUNT_MAX);
    }
    if session.server_version_num() / 10_000 < method.needs_major() {
        return Err(WorkloadError::PartitioningUnsupported {
            method: method.name(),
            needed: method.needs_major(),
            server: session.parameter("server_version").unwrap_or("of an unknown version").to_owned(),
        });
    }
    Ok(())
}

fn take(
    step: Step,
    session: &mut Session,
    options: &InitOptions,
    progress: &mut dyn FnMut(InitProgress) -> ControlFlow<()>,
) -> Result<(), WorkloadError> {
    match step {
        Step::DropTables => execute(session, &schema::drop_tables()),
        Step::CreateTables => execute_all(
            session,
            &schema::create_tables(options.scale, options.fillfactor, options.partitioning),
        ),
        Step::GenerateClientSide => in_transaction(session, |session| {
            execute(session, &schema::truncate_tables())?;
            FILLED.iter().try_for_each(|rows| copy(session, rows, options.scale, progress))
        }),
        Step::GenerateServerSide => in_transaction(session, |session| {
            execute(session, &schema::truncate_tables())?;
            execute_all(session, &schema::generate_rows(options.scale))
        }),
        Step::Vacuum => execute_all(session, &schema::vacuum_tables()),
        Step::PrimaryKeys => execute_all(session, &schema::primary_keys()),
        Step::ForeignKeys => execute_all(session, &schema::foreign_keys()),
    }
}

/// Commits what `work` did; if it fails, nothing of it is kept and the session can go on.
fn in_transaction(
    session: &mut Session,
    work: impl FnOnce(&mut Session) -> Result<(), WorkloadError>,
) -> Result<(), WorkloadError> {
    execute(session, "begin")?;
    if let Err(error) = work(session) {
        // The first error is the one that tells. If the session is lost, the server rolls back by itself.
        let _ = session.execute("rollback");
        return Err(error);
    }
    execute(session, "commit")
}

/// Sends all rows of one table.
fn copy(
    session: &mut Session,
    rows: &Rows,
    scale: u32,
    progress: &mut dyn FnMut(InitProgress) -> ControlFlow<()>,
) -> Result<(), WorkloadError> {
    let table = rows.table.name;
    let total = u64::from(scale) * rows.table.rows_per_scale;
    let sql = copy_statement(session, table)?;
    let failed = |source| WorkloadError::Query { sql: sql.clone(), source };
    let mut copy = session.copy_in(&sql).map_err(failed)?;

    let mut numbers = itoa::Buffer::new();
    let mut row = Vec::with_capacity(ROW_BYTES_MAX);
    for k in 0..total {
        row.clear();
        (rows.write)(k, &mut numbers, &mut row);
        // The writer gathers rows into messages of its own size.
        copy.write_all(&row).map_err(|error| failed(server_error(error)))?;
        let done = k + 1;
        if done.is_multiple_of(ROWS_PER_PROGRESS) || done == total {
            tell(progress, InitProgress::Rows { table, done, total })?;
        }
    }
    copy.finish().map_err(failed)?;
    Ok(())
}

/// The session's own error inside that of a writer.
fn server_error(error: io::Error) -> ConnectError {
    error.downcast().unwrap_or_else(|error| ConnectError::Lost(error.to_string()))
}

/// `copy … from stdin`, frozen where the server can: version 14 or newer, and an ordinary table.
fn copy_statement(session: &mut Session, table: &str) -> Result<String, WorkloadError> {
    let plain = format!("copy {table} from stdin");
    if session.server_version_num() < FREEZES_FROM_VERSION_NUM {
        return Ok(plain);
    }
    let kind = format!("select relkind from pg_catalog.pg_class where oid = '{table}'::pg_catalog.regclass");
    let rows = query(session, &kind)?;
    let ordinary = rows.first().and_then(|row| row.get(0)) == Some("r");
    Ok(if ordinary { format!("{plain} with (freeze on)") } else { plain })
}

fn execute_all(session: &mut Session, statements: &[String]) -> Result<(), WorkloadError> {
    statements.iter().try_for_each(|sql| execute(session, sql))
}

/// Runs one statement; an error carries it.
pub(crate) fn execute(session: &mut Session, sql: &str) -> Result<(), WorkloadError> {
    match session.execute(sql) {
        Ok(_) => Ok(()),
        Err(source) => Err(WorkloadError::Query { sql: sql.to_owned(), source }),
    }
}

/// Runs one query; an error carries it.
pub(crate) fn query(session: &mut Session, sql: &str) -> Result<Vec<connect::Row>, WorkloadError> {
    session.query(sql).map_err(|source| WorkloadError::Query { sql: sql.to_owned(), source })
}
