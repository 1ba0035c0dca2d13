//! A piece of work on a session that is timed, and cancelled when it takes too long. What the time counts as is said by
//! the step; `meter` counts what the server did meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use connect::{ConnectError, Session, SqlState};
use results::{SafeText, StepTime};
use workload::WorkloadError;

use super::meter::{Meter, Reading, micros};
use crate::steps::Step;
use crate::stopwatch::Stopwatch;

/// How much longer than the server's own limit is waited before it is asked to cancel.
const GRACE: Duration = Duration::from_secs(1);
/// Between two looks whether the user wants to stop; rare enough to cost nothing.
const LOOKS_APART: Duration = Duration::from_millis(250);

/// How a time went.
pub(super) struct Outcome {
    took: Duration,
    used: Reading,
    /// `None`: it is done.
    failure: Option<Failure>,
}

enum Failure {
    Limited,
    Failed(SafeText),
}

/// An error of work, and whether it says that the work was cancelled.
pub(super) trait WorkError: std::fmt::Display {
    fn is_cancelled(&self) -> bool;
}

impl WorkError for ConnectError {
    fn is_cancelled(&self) -> bool {
        self.sqlstate() == Some(SqlState::QUERY_CANCELED)
    }
}

impl WorkError for WorkloadError {
    fn is_cancelled(&self) -> bool {
        match self {
            WorkloadError::Query { source, .. } => source.is_cancelled(),
            _ => false,
        }
    }
}

/// Does the work and says how it went; work that has looked at the clock itself says what it took. The server cancels it
/// at the limit; where the work is several statements, or the server does not, it is asked to. What comes to its end all
/// the same, but after the limit, was limited too.
pub(super) fn timed<E: WorkError>(
    session: &mut Session,
    limit: Option<Duration>,
    is_one_statement: bool,
    meter: &mut Meter,
    stop: &AtomicBool,
    work: impl FnOnce(&mut Session) -> Result<Option<Duration>, E>,
) -> Outcome {
    let limit_ms = limit.map_or(0, |limit| limit.as_micros().div_ceil(1000).min(i32::MAX as u128));
    // Not under the limit itself, which looking may take longer than.
    let mut before = meter.read(session);
    // A server that does not know it is asked to cancel all the same.
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
        Some(error) => Some(Failure::Failed(error.to_string().into())),
        None => limit.is_some_and(|limit| took > limit).then_some(Failure::Limited),
    };
    if failure.is_some() {
        // Whatever transaction it was in: the figures are asked outside of it.
        let _ = session.execute("ROLLBACK");
    }
    let _ = session.execute("SET statement_timeout = 0");
    let used = Reading { cpu, ..meter.read(session) }.since(&before);
    Outcome { took, used, failure }
}

/// Does the work; somebody else asks the server to cancel it once it takes too long, or the user asks to stop. The signal
/// itself may come just before a statement begins, when there is nothing to cancel yet.
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
                    // A server that cannot be reached has nothing left to cancel.
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
    /// As it is kept, with the sizes of what is there now.
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
                Some(Failure::Failed(error)) => Some(error),
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
