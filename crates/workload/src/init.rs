//! Makes and fills the tables, and says how long each step took. The counterpart of `pgbench -i`. What is to be done
//! is in `stage`, who does it in `crew`; what is shown meanwhile is the caller's progress function's affair.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use connect::{ServerError, Session, Target};

use crate::connection::Shared;
use crate::stage::{Circumstances, grouped};
use crate::standing::Standing;
use crate::{InitOptions, Step, WorkloadError, crew, memory};

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
    Finished(StepTime),
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

/// Who is told; may ask to stop.
pub(crate) type Progress<'a> = dyn FnMut(InitProgress<'_>) -> ControlFlow<()> + 'a;

/// How often [`InitProgress::Rows`] is told: several times a second, and too rare to cost.
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

/// Takes the steps of `options`. `progress` is told of each, and may break off at any moment: what was being loaded
/// is rolled back, what earlier steps did stays.
///
/// `session` is one to `target`; where it is lost, it is replaced by another to the same server, and what it was
/// doing begins again. Others are opened beside it, no more than [`InitOptions::jobs`] in all, for work on partitions.
pub fn init(
    target: &Target,
    session: &mut Session,
    options: &InitOptions,
    progress: &mut Progress<'_>,
) -> Result<InitReport, WorkloadError> {
    options.check(session)?;
    let standing = if options.resumes { Standing::find(session, options)? } else { Standing::default() };
    let circumstances = Circumstances { options, version: session.server_version_num(), standing: &standing };
    // All connections go where the first one went.
    let target = &target.single(session.address());
    let mut report = InitReport::default();
    let mut before = Vec::new();
    for steps in grouped(circumstances) {
        let stage = circumstances.stage(&before, steps.clone());
        let mut others = Vec::new();
        while others.len() + 1 < stage.chains.len().min(options.jobs as usize) {
            // As many as the server has room for.
            let Ok(other) = Session::connect(target) else { break };
            others.push(other);
        }
        let settings = memory::settings(session, options, &stage, others.len() + 1);
        // What was said before is not about loading.
        session.take_notices();
        let shared = Shared { target, options, settings: &settings, halt: &AtomicBool::new(false) };
        let mut sessions: Vec<&mut Session> = [&mut *session].into_iter().chain(&mut others).collect();
        report.steps.extend(crew::work(stage, &mut sessions, shared, progress)?);
        before.extend(steps);
    }
    Ok(report)
}

pub(crate) fn tell(progress: &mut Progress<'_>, what: InitProgress<'_>) -> Result<(), WorkloadError> {
    match progress(what) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(WorkloadError::Interrupted),
    }
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

/// Runs one question about catalogs, which no object of a user's can answer.
pub(crate) fn query_catalogs(session: &mut Session, sql: &str) -> Result<Vec<connect::Row>, WorkloadError> {
    session.query_catalogs(sql).map_err(|source| WorkloadError::Query { sql: sql.to_owned(), source })
}
