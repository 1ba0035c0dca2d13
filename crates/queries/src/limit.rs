//! Timed work on a session with a time limit. The caller decides what an execution over the limit counts as; `meter`
//! measures the server's work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use connect::{ConnectError, Session, SqlState, Stopwatch};
use results::StepTime;
use workload::WorkloadError;

use crate::meter::{Meter, Reading, micros};

/// Extra time beyond the server's own limit before pgmeter asks the server to cancel.
const GRACE: Duration = Duration::from_secs(1);
/// Interval of checks for an interruption; long enough to cost nothing.
const LOOKS_APART: Duration = Duration::from_millis(250);
/// Checks after an interruption until the session of a statement that does not end is closed: six seconds.
const LOOKS_UNTIL_CLOSED: u32 = 24;

/// Result of an execution.
#[derive(Debug)]
pub struct Outcome<E> {
    took: Duration,
    used: Reading,
    /// `None`: completed.
    failure: Option<Failure<E>>,
}

#[derive(Debug)]
enum Failure<E> {
    Limited,
    Failed(E),
}

/// An error of the work.
pub trait WorkError: std::fmt::Display {
    /// Whether it means that the work was cancelled.
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

/// Does the work and returns its result; work that measures its own time returns it. The server cancels the work at
/// the limit. If the work consists of several statements, or the server does not cancel it, pgmeter requests the
/// cancellation. Work that completes after the limit counts as limited.
pub fn timed<E: WorkError>(
    session: &mut Session,
    limit: Option<Duration>,
    is_one_statement: bool,
    meter: &mut Meter,
    stop: &AtomicBool,
    work: impl FnOnce(&mut Session) -> Result<Option<Duration>, E>,
) -> Outcome<E> {
    let limit_ms = limit.map_or(0, |limit| limit.as_micros().div_ceil(1000).min(i32::MAX as u128));
    // Reading the counters may take longer than the limit; the session has done nothing since its last execution.
    let mut before = meter.take_last().unwrap_or_else(|| meter.read(session));
    // A server without this setting, and one behind a pooler, gets a cancel request instead.
    let is_set = session.set_for_itself(&format!("SET statement_timeout = {limit_ms}"));
    before.cpu = meter.cpu();
    let patience = limit.map(|limit| if is_one_statement && is_set { limit + GRACE } else { limit });
    // Nobody looks at the server beside work that is measured.
    let tell = session.tell_lock_waits(None);
    let stopwatch = Stopwatch::start();
    let result = with_cancel(session, patience, stop, work);
    let passed = stopwatch.passed();
    session.tell_lock_waits(tell);
    let cpu = meter.cpu();
    let (took, error) = match result {
        Ok(took) => (took.unwrap_or(passed), None),
        Err(error) => (passed, Some(error)),
    };
    let failure = match error {
        Some(error) if error.is_cancelled() && limit.is_some_and(|limit| took >= limit) => {
            Some(Failure::Limited)
        }
        Some(error) => Some(Failure::Failed(error)),
        None => limit.is_some_and(|limit| took > limit).then_some(Failure::Limited),
    };
    if failure.is_some() {
        // The counters are read outside of the transaction that the work may have left open.
        let _ = session.rollback();
    }
    session.set_for_itself("SET statement_timeout = 0");
    let after = Reading { cpu, ..meter.read(session) };
    let used = after.since(&before);
    meter.set_last(after);
    Outcome { took, used, failure }
}

/// Does the work; another thread asks the server to cancel it when the limit is over or the user asks to stop. A
/// signal alone may arrive just before a statement begins, when there is nothing to cancel. If the server does not end
/// the statement after the user has asked to stop, the session is closed.
pub fn with_cancel<T>(
    session: &mut Session,
    patience: Option<Duration>,
    stop: &AtomicBool,
    work: impl FnOnce(&mut Session) -> T,
) -> T {
    let (address, transport, key) =
        (session.address().clone(), session.transport().clone(), session.cancel_key());
    let closer = session.closer();
    let (done, waiting) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut left = patience;
            let mut asked = 0;
            loop {
                let wait = left.map_or(LOOKS_APART, |left| left.min(LOOKS_APART));
                if waiting.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                left = left.map(|left| left.saturating_sub(wait));
                let is_stopped = stop.load(Ordering::Relaxed);
                asked += u32::from(is_stopped);
                if let Some(closer) = closer.as_ref().filter(|_| asked > LOOKS_UNTIL_CLOSED) {
                    return closer.close("interrupted, but the server did not cancel the statement");
                }
                if left.is_some_and(|left| left.is_zero()) || is_stopped {
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

impl<E: WorkError> Outcome<E> {
    /// The error, unless the execution completed or was limited.
    pub fn error(&self) -> Option<&E> {
        match &self.failure {
            Some(Failure::Failed(error)) => Some(error),
            Some(Failure::Limited) | None => None,
        }
    }

    /// Whether the execution completed within its limit.
    pub fn is_complete(&self) -> bool {
        self.failure.is_none()
    }

    /// The record of the execution; a limited one counts as `at_limit`.
    pub fn into_time(self, at_limit: Option<Duration>) -> StepTime {
        let Outcome { took, used, failure } = self;
        let limited = matches!(failure, Some(Failure::Limited));
        let counted = at_limit.filter(|_| limited).unwrap_or(took);
        StepTime {
            duration_us: micros(counted),
            measured_us: micros(took),
            limited,
            error: match failure {
                Some(Failure::Failed(error)) => Some(error.to_string().into()),
                Some(Failure::Limited) | None => None,
            },
            wal_bytes: used.wal,
            temp_bytes: used.temp_bytes,
            backend_user_us: used.cpu.backend.map(|cpu| micros(cpu.user)),
            backend_system_us: used.cpu.backend.map(|cpu| micros(cpu.system)),
            workers_cpu_us: used.cpu.workers.map(|cpu| micros(cpu.user + cpu.system)),
            buffers: used.buffers,
            ..StepTime::default()
        }
    }
}
