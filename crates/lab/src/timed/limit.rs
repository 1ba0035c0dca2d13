//! Timed work on a session with a time limit. The step defines what an execution over the limit counts as; `meter`
//! measures the server's work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use connect::{ConnectError, Session, SqlState};
use results::{SafeText, StepTime};
use workload::WorkloadError;

use super::meter::{Meter, Reading, micros};
use crate::repeating_failure;
use crate::steps::Step;
use crate::stopwatch::Stopwatch;

/// Extra time beyond the server's own limit before pgmeter asks the server to cancel.
const GRACE: Duration = Duration::from_secs(1);
/// Interval of checks for an interruption; long enough to cost nothing.
const LOOKS_APART: Duration = Duration::from_millis(250);

/// Result of an execution.
pub(super) struct Outcome {
    took: Duration,
    used: Reading,
    /// `None`: completed.
    failure: Option<Failure>,
}

enum Failure {
    Limited,
    /// `repeats`: each trial would meet the same error.
    Failed {
        error: SafeText,
        repeats: bool,
    },
}

/// An error of the work, and whether it means that the work was cancelled.
pub(super) trait WorkError: std::fmt::Display {
    fn is_cancelled(&self) -> bool;
    /// Whether each trial would meet it.
    fn would_repeat(&self) -> bool;
}

impl WorkError for ConnectError {
    fn is_cancelled(&self) -> bool {
        self.sqlstate() == Some(SqlState::QUERY_CANCELED)
    }

    fn would_repeat(&self) -> bool {
        repeating_failure::repeats(self)
    }
}

impl WorkError for WorkloadError {
    fn is_cancelled(&self) -> bool {
        match self {
            WorkloadError::Query { source, .. } => source.is_cancelled(),
            _ => false,
        }
    }

    fn would_repeat(&self) -> bool {
        repeating_failure::repeats_of_workload(self)
    }
}

/// Does the work and returns its result; work that measures its own time returns it. The server cancels the work at
/// the limit. If the work consists of several statements, or the server does not cancel it, pgmeter requests the
/// cancellation. Work that completes after the limit counts as limited.
pub(super) fn timed<E: WorkError>(
    session: &mut Session,
    limit: Option<Duration>,
    is_one_statement: bool,
    meter: &mut Meter,
    stop: &AtomicBool,
    work: impl FnOnce(&mut Session) -> Result<Option<Duration>, E>,
) -> Outcome {
    let limit_ms = limit.map_or(0, |limit| limit.as_micros().div_ceil(1000).min(i32::MAX as u128));
    // Reading the counters may take longer than the limit.
    let mut before = meter.read(session);
    // A server without this setting gets a cancel request instead.
    let _ = session.execute(&format!("SET statement_timeout = {limit_ms}"));
    before.cpu = meter.cpu();
    let patience = limit.map(|limit| if is_one_statement { limit + GRACE } else { limit });
    let stopwatch = Stopwatch::start();
    let result = with_cancel(session, patience, stop, work);
    let passed = stopwatch.passed();
    let cpu = meter.cpu();
    let (took, error) = match result {
        Ok(took) => (took.unwrap_or(passed), None),
        Err(error) => (passed, Some(error)),
    };
    let failure = match error {
        Some(error) if error.is_cancelled() && limit.is_some_and(|limit| took >= limit) => {
            Some(Failure::Limited)
        }
        Some(error) => {
            Some(Failure::Failed { repeats: error.would_repeat(), error: error.to_string().into() })
        }
        None => limit.is_some_and(|limit| took > limit).then_some(Failure::Limited),
    };
    if failure.is_some() {
        // The counters are read outside of the transaction that the work may have left open.
        let _ = session.execute("ROLLBACK");
    }
    let _ = session.execute("SET statement_timeout = 0");
    let used = Reading { cpu, ..meter.read(session) }.since(&before);
    Outcome { took, used, failure }
}

/// Does the work; another thread asks the server to cancel it when the limit is over or the user asks to stop. A
/// signal alone may arrive just before a statement begins, when there is nothing to cancel.
pub(super) fn with_cancel<T>(
    session: &mut Session,
    patience: Option<Duration>,
    stop: &AtomicBool,
    work: impl FnOnce(&mut Session) -> T,
) -> T {
    let (address, transport, key) =
        (session.address().clone(), session.transport().clone(), session.cancel_key());
    let (done, waiting) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut left = patience;
            loop {
                let wait = left.map_or(LOOKS_APART, |left| left.min(LOOKS_APART));
                if waiting.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                left = left.map(|left| left.saturating_sub(wait));
                if left.is_some_and(|left| left.is_zero()) || stop.load(Ordering::Relaxed) {
                    // If the server is unreachable, there is nothing left to cancel.
                    let _ = connect::cancel(&address, &transport, &key);
                    left = None;
                }
            }
        });
        let result = work(session);
        drop(done);
        result
    })
}

impl Outcome {
    /// Whether each trial would fail in the same way.
    pub(super) fn would_repeat(&self) -> bool {
        matches!(self.failure, Some(Failure::Failed { repeats: true, .. }))
    }

    /// The record of an execution, with the current sizes.
    pub(super) fn into_time(self, step: &Step, session: &mut Session, meter: &mut Meter) -> StepTime {
        let Outcome { took, used, failure } = self;
        let limited = matches!(failure, Some(Failure::Limited));
        let counted = step.at_limit.or(step.limit).filter(|_| limited).unwrap_or(took);
        let (table_bytes, index_bytes) = meter.sizes(session);
        StepTime {
            duration_us: micros(counted),
            measured_us: micros(took),
            limited,
            error: match failure {
                Some(Failure::Failed { error, .. }) => Some(error),
                Some(Failure::Limited) | None => None,
            },
            wal_bytes: used.wal,
            backend_user_us: used.cpu.map(|cpu| micros(cpu.user)),
            backend_system_us: used.cpu.map(|cpu| micros(cpu.system)),
            buffers: used.buffers,
            table_bytes,
            index_bytes,
        }
    }
}
