//! Makes and fills the tables over one control session, step after step, and says how long each took.
//! The counterpart of `pgbench -i`. What is shown while it goes on is the caller's progress function's affair.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use connect::{ConnectError, ServerError, Session};

use crate::rows::{FILLED, Rows};
use crate::schema::{self, Partitioning};
use crate::{InitOptions, Step, WorkloadError};

/// What is told while the work goes on: all that the lines of `pgbench -i` are made of, in their order.
///
/// `pgbench` says `DOING...` for `Started` ([`StepFacts::doing`](crate::StepFacts)), `creating N partitions...`
/// for `Partitions`, nothing for `Finished`, and at the end `done in TOTAL s (NAME SECONDS s, …).` from the
/// [`InitReport`] ([`StepFacts::name`](crate::StepFacts)). Of `Rows` it shows those where `done` is a multiple of
/// 100,000; when quiet, those where `elapsed` has reached another 5 s (the next limit is the first multiple of
/// 5 s that is not below `elapsed`), and the last row of a table if `done` is a multiple of 100. Its figures:
/// percent `100 * done / total`, whole; remaining `(total - done) * elapsed / done`.
#[derive(Copy, Clone, Debug)]
pub enum InitProgress<'a> {
    /// A step begins.
    Started(Step),
    /// The four tables are there, and now come so many partitions of pgbench_accounts.
    Partitions(u32),
    /// The server had something to say about a statement: that there was no table to drop, for one.
    Notice(&'a ServerError),
    /// Rows of a table were made by the client; told every [`ROWS_PER_PROGRESS`] rows and at the table's end.
    /// Whoever shows it on a terminal shows only some of it.
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
    /// A step has ended.
    Finished(StepTime),
}

/// Who is told; may ask to stop.
type Progress<'a> = dyn FnMut(InitProgress<'_>) -> ControlFlow<()> + 'a;

/// How often [`InitProgress::Rows`] is told: as often as `pgbench` looks at the clock, too rare to cost.
pub const ROWS_PER_PROGRESS: u64 = 100;

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

/// Room for the rows between two words of progress, so that their buffer never grows.
const BUFFER_LENGTH: usize = 64 * 100;

/// From this version on, a table filled by COPY in the transaction that emptied it is loaded frozen,
/// with its visibility map set.
const FREEZES_FROM_VERSION_NUM: u32 = 140_000;

/// Takes the steps of `options`. `progress` is told of each, and may break off between steps and between
/// rows: what was being loaded is rolled back, what earlier steps did stays.
pub fn init(
    session: &mut Session,
    options: &InitOptions,
    progress: &mut Progress<'_>,
) -> Result<InitReport, WorkloadError> {
    options.check(session)?;
    // What was said before is not about loading.
    session.take_notices();
    let mut loader = Loader { session, options, progress };
    let mut report = InitReport::default();
    for &step in &options.steps {
        loader.tell(InitProgress::Started(step))?;
        let time = timed(step, || loader.take(step))?;
        report.steps.push(time);
        loader.tell(InitProgress::Finished(time))?;
    }
    Ok(report)
}

/// How long `work` takes.
fn timed(step: Step, work: impl FnOnce() -> Result<(), WorkloadError>) -> Result<StepTime, WorkloadError> {
    let start = Instant::now();
    work()?;
    Ok(StepTime { step, took: start.elapsed() })
}

/// Who takes the steps.
struct Loader<'a, 'b> {
    session: &'a mut Session,
    options: &'a InitOptions,
    progress: &'a mut Progress<'b>,
}

impl Loader<'_, '_> {
    fn take(&mut self, step: Step) -> Result<(), WorkloadError> {
        let options = self.options;
        match step {
            Step::DropTables => self.execute(&schema::drop_tables()),
            Step::CreateTables => {
                self.execute_all(schema::create_tables(options))?;
                options.partitioning.map_or(Ok(()), |partitioning| self.create_partitions(partitioning))
            }
            Step::GenerateClientSide => self.in_transaction(|loader| {
                loader.execute(&schema::truncate_tables())?;
                FILLED.iter().try_for_each(|rows| loader.copy(rows))
            }),
            Step::GenerateServerSide => self.in_transaction(|loader| {
                loader.execute(&schema::truncate_tables())?;
                loader.execute_all(schema::generate_rows(options.scale))
            }),
            Step::Vacuum => self.execute_all(schema::vacuum_tables()),
            Step::PrimaryKeys => self.execute_all(schema::primary_keys(options.index_tablespace.as_deref())),
            Step::ForeignKeys => self.execute_all(schema::foreign_keys()),
        }
    }

    fn create_partitions(&mut self, partitioning: Partitioning) -> Result<(), WorkloadError> {
        self.tell(InitProgress::Partitions(partitioning.partitions))?;
        self.execute_all(schema::create_partitions(self.options, partitioning))
    }

    /// Commits what `work` did; if it fails, nothing of it is kept and the session can go on.
    fn in_transaction(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(), WorkloadError>,
    ) -> Result<(), WorkloadError> {
        self.execute("begin")?;
        if let Err(error) = work(self) {
            // The first error is the one that tells. If the session is lost, the server rolls back by itself.
            let _ = self.session.execute("rollback");
            return Err(error);
        }
        self.execute("commit")
    }

    /// Sends all rows of one table.
    fn copy(&mut self, rows: &Rows) -> Result<(), WorkloadError> {
        let table = rows.table.name;
        let total = u64::from(self.options.scale) * rows.table.rows_per_scale;
        let sql = copy_statement(self.session, table)?;
        let failed = |source| WorkloadError::Query { sql: sql.clone(), source };
        let mut copy = self.session.copy_in(&sql).map_err(failed)?;

        let start = Instant::now();
        let mut numbers = itoa::Buffer::new();
        let mut buffer = Vec::with_capacity(BUFFER_LENGTH);
        let mut done = 0;
        while done < total {
            let end = total.min(done + ROWS_PER_PROGRESS);
            buffer.clear();
            for k in done..end {
                (rows.write)(k, &mut numbers, &mut buffer);
            }
            // The writer gathers rows into messages of its own size.
            copy.write_all(&buffer).map_err(|error| failed(server_error(error)))?;
            done = end;
            let elapsed = start.elapsed();
            tell(self.progress, InitProgress::Rows { table, done, total, elapsed })?;
        }
        copy.finish().map_err(failed)?;
        self.pass_on_notices()
    }

    fn execute_all(
        &mut self,
        statements: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<(), WorkloadError> {
        statements.into_iter().try_for_each(|sql| self.execute(sql.as_ref()))
    }

    /// Runs one statement, and tells what the server said about it beside its answer.
    fn execute(&mut self, sql: &str) -> Result<(), WorkloadError> {
        let done = execute(self.session, sql);
        self.pass_on_notices()?;
        done
    }

    fn pass_on_notices(&mut self) -> Result<(), WorkloadError> {
        let notices = self.session.take_notices();
        notices.iter().try_for_each(|notice| self.tell(InitProgress::Notice(notice)))
    }

    fn tell(&mut self, what: InitProgress<'_>) -> Result<(), WorkloadError> {
        tell(self.progress, what)
    }
}

fn tell(progress: &mut Progress<'_>, what: InitProgress<'_>) -> Result<(), WorkloadError> {
    match progress(what) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(WorkloadError::Interrupted),
    }
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
