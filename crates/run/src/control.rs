//! Stops a run from outside, by a flag that the load checks and by cancelling the statement of a control session.
//! Signal handlers and timers call [`Control::interrupt`], which never waits for a server on the caller's thread.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use connect::{Address, CancelKey, Closer, ConnectError, Session, Target, TellLockWait, Transport};
use engine::StopRequest;

use crate::distributed::Exchange;
use crate::error::RunError;

/// Time for a cancelled statement to end before its connection is closed.
const CANCEL_LIMIT: Duration = Duration::from_secs(3);
/// Reason for work that exceeded its time.
pub const OUT_OF_TIME: &str = "stopped because the time budget was exhausted";
/// Interval at which waiting for a connection checks for signals.
const LOOK: Duration = Duration::from_millis(20);

/// Stops the current work. Cheap to clone; shared by all threads.
#[derive(Clone, Default)]
pub struct Control {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    stop: Arc<AtomicBool>,
    /// The run has to end early because its time is over.
    time_is_up: AtomicBool,
    /// The user asked to stop, as opposed to the end of a time limit.
    interrupted: AtomicBool,
    /// `stop` was set by a time limit, not by an interruption.
    out_of_time: AtomicBool,
    /// The control session that may be waiting for a long statement.
    waiting: Mutex<Option<Waiting>>,
    /// The current work cannot be stopped and may be abandoned at any moment.
    leave_at_once: AtomicBool,
    /// Called before a statement is cancelled. If set, an interruption only cancels the statement, as in `pgbench
    /// -i`, and later statements are still executed.
    only_cancels: Option<fn()>,
    /// Tells the user for whom a statement waits.
    tell_lock_wait: Option<TellLockWait>,
    /// Number of the newest session in `waiting`.
    sessions: AtomicU64,
    /// On rank 0 of a job: the connection to the other ranks, which execute parts of the runs.
    exchange: OnceLock<Arc<Exchange>>,
}

/// A session with a running statement, and the means to cancel it.
#[derive(Clone)]
struct Waiting {
    number: u64,
    address: Address,
    transport: Transport,
    key: CancelKey,
    closer: Option<Closer>,
}

impl Control {
    /// A control whose interruptions only cancel the running statement, as in `pgbench -i`; `announce` is called
    /// before each cancellation.
    pub fn that_only_cancels(announce: fn()) -> Self {
        Self { shared: Arc::new(Shared { only_cancels: Some(announce), ..Shared::default() }) }
    }

    /// A control that tells the user if a statement of its work waits for a lock.
    pub fn that_tells_lock_waits(tell: TellLockWait) -> Self {
        Self { shared: Arc::new(Shared { tell_lock_wait: Some(tell), ..Shared::default() }) }
    }

    /// Asks to stop, and cancels the statement of a control session. Returns true if the program should exit now,
    /// because it was already asked to stop or because the current work cannot be stopped.
    pub fn interrupt(&self) -> bool {
        let shared = &self.shared;
        let again = shared.interrupted.swap(true, Ordering::SeqCst);
        if shared.only_cancels.is_none() {
            shared.stop.store(true, Ordering::SeqCst);
            if again || shared.leave_at_once.load(Ordering::SeqCst) {
                return true;
            }
        }
        // Not before an exit: the error of an input would end the program with another status.
        config::interrupt_inputs();
        shared.start_cancelling();
        false
    }

    /// Ends a timed run as its limit does.
    pub fn end_timed_run(&self) {
        self.shared.time_is_up.store(true, Ordering::Relaxed);
    }

    /// Set when the user asks to stop.
    pub fn stop(&self) -> &AtomicBool {
        &self.shared.stop
    }

    /// The same flag, for callers that need to own it.
    pub fn shared_stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.shared.stop)
    }

    /// The flag that ends a run early.
    pub fn stop_request(&self) -> StopRequest<'_> {
        StopRequest {
            stop: &self.shared.stop,
            time_is_up: Some(&self.shared.time_is_up),
            shared: None,
            gate: None,
        }
    }

    /// From now on, other ranks execute parts of the runs.
    pub(crate) fn lead(&self, exchange: Arc<Exchange>) {
        // A process has one job.
        let _ = self.shared.exchange.set(exchange);
    }

    /// The connection to the other ranks, if there are any.
    pub(crate) fn exchange(&self) -> Option<Arc<Exchange>> {
        self.shared.exchange.get().cloned()
    }

    /// ¶ # Errors
    /// [`RunError::Interrupted`] if the user has asked to stop.
    pub fn check(&self) -> Result<(), RunError> {
        if self.stop().load(Ordering::Relaxed) {
            return Err(RunError::Interrupted(Cow::Borrowed("interrupted; nothing was measured")));
        }
        Ok(())
    }

    /// The result, or [`RunError::Interrupted`] if it is an error that came after the user had asked to stop: a request
    /// cancels the running statement, and the statement's error is a consequence of it.
    ///
    /// # Errors
    /// Those of the result.
    pub fn unless_interrupted<T, E: From<RunError>>(&self, result: Result<T, E>) -> Result<T, E> {
        result.map_err(|error| self.check().map_or_else(E::from, |()| error))
    }

    /// Whether a time limit stopped the current work.
    pub fn is_out_of_time(&self) -> bool {
        self.shared.out_of_time.load(Ordering::SeqCst)
    }

    /// Runs `work` with a time limit, after which it is stopped as by a signal and fails.
    ///
    /// # Errors
    /// Those of the work; [`RunError::Aborted`] if the time limit came first.
    pub fn within<T, E: From<RunError>>(
        &self,
        limit: Option<Duration>,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let Some(limit) = limit else { return work() };
        let shared = &self.shared;
        let (done, is_done) = mpsc::channel::<()>();
        let result = thread::scope(|scope| {
            let watch = thread::Builder::new().name("time budget".to_owned());
            let watching = watch.spawn_scoped(scope, move || shared.stop_after(limit, &is_done));
            watching.map_err(|error| RunError::System { what: "start a thread".to_owned(), error })?;
            let result = work();
            drop(done);
            result
        });
        if !shared.out_of_time.swap(false, Ordering::SeqCst) {
            return result;
        }
        shared.stop.store(false, Ordering::SeqCst);
        if shared.interrupted.load(Ordering::SeqCst) {
            // An interruption arrived too; it uses the same flag.
            shared.stop.store(true, Ordering::SeqCst);
            return result;
        }
        result.map_err(|_| RunError::Aborted(OUT_OF_TIME.to_owned()).into())
    }

    /// Connects. A signal ends the wait, even if the server never answers.
    ///
    /// # Errors
    /// The connection failed, or the user asked to stop.
    pub fn connect(&self, target: &Target) -> Result<Session, RunError> {
        Ok(self.abandonable(target, Session::connect)?.map_err(|error| *error)?)
    }

    /// Runs `work` on a thread that a signal abandons.
    ///
    /// # Errors
    /// Outer: the user asked to stop, or the thread cannot be started. Inner: those of the work.
    pub fn abandonable<T: Send + 'static>(
        &self,
        target: &Target,
        work: impl FnOnce(&Target) -> Result<T, ConnectError> + Send + 'static,
    ) -> Result<Result<T, Box<ConnectError>>, RunError> {
        self.check()?;
        let (sender, receiver) = mpsc::channel();
        let target = target.clone();
        let begun = thread::Builder::new().name("connect".to_owned()).spawn(move || {
            // The receiver is gone if a signal came first.
            let _ = sender.send(work(&target).map_err(Box::new));
        });
        begun.map_err(|error| RunError::System { what: "start a thread".to_owned(), error })?;
        loop {
            match receiver.recv_timeout(LOOK) {
                Ok(done) => {
                    self.check()?;
                    return Ok(done);
                }
                Err(mpsc::RecvTimeoutError::Timeout) => self.check()?,
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    let error = std::io::Error::other("the connecting thread ended");
                    return Err(RunError::System { what: "connect".to_owned(), error });
                }
            }
        }
    }

    /// Runs work that cannot be stopped and leaves nothing behind: a signal exits the program immediately.
    ///
    /// # Errors
    /// [`RunError::Interrupted`] if the user had asked to stop before.
    pub fn leave_at_once<T>(&self, work: impl FnOnce() -> T) -> Result<T, RunError> {
        self.shared.leave_at_once.store(true, Ordering::SeqCst);
        // After the store: a request that came before it did not exit.
        let result = self.check().map(|()| work());
        self.shared.leave_at_once.store(false, Ordering::SeqCst);
        result
    }

    /// Runs work that waits for the server, and tells the user if it waits for a lock. A signal cancels the running statement; if the statement does not end,
    /// the session is closed.
    pub fn guard<T>(&self, session: &mut Session, work: impl FnOnce(&mut Session) -> T) -> T {
        let waiting = || self.shared.waiting();
        let before = waiting().replace(Waiting {
            number: self.shared.sessions.fetch_add(1, Ordering::Relaxed),
            address: session.address().clone(),
            transport: session.transport().clone(),
            key: session.cancel_key(),
            closer: session.closer(),
        });
        // A signal before this point had no statement to cancel.
        if self.shared.only_cancels.is_none() && self.stop().load(Ordering::SeqCst) {
            self.shared.start_cancelling();
        }
        let told_before = session.tell_lock_waits(self.shared.tell_lock_wait);
        let result = work(session);
        session.tell_lock_waits(told_before);
        *waiting() = before;
        result
    }
}

impl Shared {
    fn waiting(&self) -> std::sync::MutexGuard<'_, Option<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cancels on a separate thread, because a server that does not answer must not delay the second signal. If no
    /// thread can be started, nothing is cancelled; the second signal still exits the program.
    fn start_cancelling(self: &Arc<Self>) {
        let shared = Arc::clone(self);
        let _ = thread::Builder::new().name("cancel".to_owned()).spawn(move || shared.cancel());
    }

    /// Cancels the statement of a session, and closes the session if the statement does not end.
    fn cancel(&self) {
        let Some(waiting) = self.waiting().clone() else {
            self.stop.store(true, Ordering::SeqCst);
            return;
        };
        if let Some(announce) = self.only_cancels {
            // Announced before the program can exit because of it.
            announce();
        }
        let is_sent = waiting.request_cancel();
        // The end of the statement shows whether the server accepted the request.
        let _ = is_sent.recv_timeout(CANCEL_LIMIT);
        // If an interruption only cancels, the work may end its statement when it sees this flag. The server must have the
        // request by then; otherwise a COPY would succeed with a part of its rows.
        self.stop.store(true, Ordering::SeqCst);
        thread::sleep(CANCEL_LIMIT);
        self.close_if_waiting(&waiting);
    }

    /// Closes a session if it still waits for the same statement.
    fn close_if_waiting(&self, Waiting { number, closer, .. }: &Waiting) {
        let still_waits = self.waiting().as_ref().is_some_and(|waiting| waiting.number == *number);
        if let Some(closer) = closer.as_ref().filter(|_| still_waits) {
            closer.close("interrupted, but the server did not cancel the statement");
        }
    }

    /// Asks to stop after a time limit, unless the work ends first. It then cancels one statement of the sessions
    /// after the other until the work ends.
    fn stop_after(&self, limit: Duration, is_done: &mpsc::Receiver<()>) {
        let is_over = |time| is_done.recv_timeout(time) == Err(mpsc::RecvTimeoutError::Timeout);
        if !is_over(limit) {
            return;
        }
        self.out_of_time.store(true, Ordering::SeqCst);
        self.stop.store(true, Ordering::SeqCst);
        loop {
            // The request has its own time limit, so nothing waits for it.
            let cancelled = self.waiting().clone().inspect(|waiting| drop(waiting.request_cancel()));
            if !is_over(CANCEL_LIMIT) {
                return;
            }
            if let Some(waiting) = cancelled {
                self.close_if_waiting(&waiting);
            }
        }
    }
}

impl Waiting {
    /// Sends a cancel request on its own thread; returns a receiver that is notified when the request has ended.
    fn request_cancel(&self) -> mpsc::Receiver<bool> {
        let Waiting { address, transport, key, .. } = self.clone();
        let (done, is_done) = mpsc::channel();
        let _ = thread::Builder::new().name("cancel request".to_owned()).spawn(move || {
            // If the server is unreachable, there is nothing left to cancel.
            let _ = done.send(connect::cancel(&address, &transport, &key).is_ok());
        });
        is_done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_leaves_at_once_is_not_begun_after_a_request_to_stop() {
        let control = Control::default();
        assert!(matches!(control.leave_at_once(|| control.interrupt()), Ok(true)), "the program should exit");
        let control = Control::default();
        assert!(!control.interrupt(), "the current work stops");
        let refused = control.leave_at_once(|| unreachable!("it cannot be stopped"));
        assert!(refused.is_err_and(|error: RunError| error.is_interruption()));
    }
}
