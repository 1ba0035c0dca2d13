//! Stopping from outside: a flag that the load looks at, and the cancelling of the statement that a control session waits
//! for. Whoever owns the signals, or another reason to stop, calls [`Control::interrupt`]; nothing here waits for a server
//! on the caller's thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use connect::{Address, CancelKey, Closer, ConnectError, Session, Target, Transport};
use engine::StopRequest;

use crate::error::RunError;

/// A statement that was cancelled has so long to end; then its connection is closed.
const CANCEL_LIMIT: Duration = Duration::from_secs(3);
/// Said of what was stopped because its time was over.
pub const OUT_OF_TIME: &str = "it was stopped because the time budget was used up";
/// How often waiting for a connection is interrupted to see whether a signal has come.
const LOOK: Duration = Duration::from_millis(20);

/// Stops what is going on: cheap to clone, shared by all threads.
#[derive(Clone, Default)]
pub struct Control {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    stop: Arc<AtomicBool>,
    /// The run's time is up before its limit, by an alarm from outside.
    time_is_up: AtomicBool,
    /// Somebody asked to stop, as opposed to a time that is over.
    interrupted: AtomicBool,
    /// `stop` is set because a time is over, and not by an interruption.
    out_of_time: AtomicBool,
    /// The control session that may be waiting for a long statement.
    waiting: Mutex<Option<Waiting>>,
    /// What is being done cannot be asked to stop, and may be left at any moment.
    leave_at_once: AtomicBool,
    /// Called before a statement is cancelled. With it an interruption only cancels, as in `pgbench -i`: later statements
    /// go on.
    only_cancels: Option<fn()>,
    /// Numbers the sessions of `waiting`.
    sessions: AtomicU64,
}

/// A session with a statement that may run, and how to end that.
#[derive(Clone)]
struct Waiting {
    number: u64,
    address: Address,
    transport: Transport,
    key: CancelKey,
    closer: Option<Closer>,
}

impl Control {
    /// Of a program whose interruptions only cancel the statement that is running, as those of `pgbench -i`;
    /// `announce` is called before each.
    #[must_use]
    pub fn that_only_cancels(announce: fn()) -> Self {
        Self { shared: Arc::new(Shared { only_cancels: Some(announce), ..Shared::default() }) }
    }

    /// Asks to stop, and cancels the statement that a control session waits for. True if the program should end now
    /// instead: it was asked before, or what is being done cannot be asked.
    pub fn interrupt(&self) -> bool {
        let shared = &self.shared;
        let again = shared.interrupted.swap(true, Ordering::SeqCst);
        shared.stop.store(true, Ordering::SeqCst);
        if shared.only_cancels.is_none() && (again || shared.leave_at_once.load(Ordering::SeqCst)) {
            return true;
        }
        shared.start_cancelling();
        false
    }

    /// Ends a timed run as its limit does.
    pub fn end_timed_run(&self) {
        self.shared.time_is_up.store(true, Ordering::Relaxed);
    }

    /// Set once the user has asked to stop.
    #[must_use]
    pub fn stop(&self) -> &AtomicBool {
        &self.shared.stop
    }

    /// The same flag, for what must own it.
    #[must_use]
    pub fn shared_stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.shared.stop)
    }

    /// What ends a run before its limit.
    #[must_use]
    pub fn stop_request(&self) -> StopRequest<'_> {
        StopRequest { stop: &self.shared.stop, time_is_up: Some(&self.shared.time_is_up) }
    }

    /// Whether to go on.
    ///
    /// # Errors
    /// [`RunError::Interrupted`] once the user has asked to stop.
    pub fn check(&self) -> Result<(), RunError> {
        if self.stop().load(Ordering::Relaxed) {
            return Err(RunError::Interrupted("interrupted; nothing was measured"));
        }
        Ok(())
    }

    /// Whether what is being done was stopped because its time is over.
    #[must_use]
    pub fn is_out_of_time(&self) -> bool {
        self.shared.out_of_time.load(Ordering::SeqCst)
    }

    /// Does something that may not take longer than this. After that time it is stopped as by a signal, and fails.
    ///
    /// # Errors
    /// Those of the work; [`RunError::Aborted`] if the time was over first.
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
            // An interruption came too: it is told by the same flag.
            shared.stop.store(true, Ordering::SeqCst);
            return result;
        }
        result.map_err(|_| RunError::Aborted(OUT_OF_TIME.to_owned()).into())
    }

    /// Connects. A signal ends the waiting for it; a server that never answers does not keep the program then.
    ///
    /// # Errors
    /// There is no connection, or the user asked to stop.
    pub fn connect(&self, target: &Target) -> Result<Session, RunError> {
        Ok(self.abandonable(target, Session::connect)?.map_err(|error| *error)?)
    }

    /// Does something that connects and that a signal leaves behind.
    ///
    /// # Errors
    /// Outer: the user asked to stop, or there is no thread. Inner: those of the work.
    pub fn abandonable<T: Send + 'static>(
        &self,
        target: &Target,
        work: impl FnOnce(&Target) -> Result<T, ConnectError> + Send + 'static,
    ) -> Result<Result<T, Box<ConnectError>>, RunError> {
        self.check()?;
        let (sender, receiver) = mpsc::channel();
        let target = target.clone();
        let begun = thread::Builder::new().name("connect".to_owned()).spawn(move || {
            // Nobody waits for it any more if a signal came first.
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

    /// Does something that cannot be asked to stop and leaves nothing behind: a signal ends the program at once.
    pub fn leave_at_once<T>(&self, work: impl FnOnce() -> T) -> T {
        self.shared.leave_at_once.store(true, Ordering::SeqCst);
        let result = work();
        self.shared.leave_at_once.store(false, Ordering::SeqCst);
        result
    }

    /// Does something that waits for the server; a signal cancels the statement that is running then. If that has no
    /// effect the session is closed.
    pub fn guard<T>(&self, session: &mut Session, work: impl FnOnce(&mut Session) -> T) -> T {
        let waiting = || self.shared.waiting();
        let before = waiting().replace(Waiting {
            number: self.shared.sessions.fetch_add(1, Ordering::Relaxed),
            address: session.address().clone(),
            transport: session.transport().clone(),
            key: session.cancel_key(),
            closer: session.closer(),
        });
        // A signal that came before found nothing to cancel.
        if self.shared.only_cancels.is_none() && self.stop().load(Ordering::SeqCst) {
            self.shared.start_cancelling();
        }
        let result = work(session);
        *waiting() = before;
        result
    }
}

impl Shared {
    fn waiting(&self) -> std::sync::MutexGuard<'_, Option<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// In a thread: a server that does not answer must not keep the second signal waiting. Without a thread nothing is
    /// cancelled, and the second signal ends the program all the same.
    fn start_cancelling(self: &Arc<Self>) {
        let shared = Arc::clone(self);
        let _ = thread::Builder::new().name("cancel".to_owned()).spawn(move || shared.cancel());
    }

    /// Cancels the statement that a session waits for; closes the session if that does not end it.
    fn cancel(&self) {
        let Some(waiting) = self.waiting().clone() else { return };
        if let Some(announce) = self.only_cancels {
            // Before the program can end for it.
            announce();
        }
        let is_sent = waiting.request_cancel();
        // Whether it was taken is told by the statement's end.
        let _ = is_sent.recv_timeout(CANCEL_LIMIT);
        thread::sleep(CANCEL_LIMIT);
        self.close_if_waiting(&waiting);
    }

    /// Closes a session if it still waits for the same.
    fn close_if_waiting(&self, Waiting { number, closer, .. }: &Waiting) {
        let still_waits = self.waiting().as_ref().is_some_and(|waiting| waiting.number == *number);
        if let Some(closer) = closer.as_ref().filter(|_| still_waits) {
            closer.close("it was interrupted, and the server did not cancel the statement");
        }
    }

    /// Asks to stop after a time, unless what is watched is done before; then cancels what sessions wait for, one
    /// statement after the other, until it is done.
    fn stop_after(&self, limit: Duration, is_done: &mpsc::Receiver<()>) {
        let is_over = |time| is_done.recv_timeout(time) == Err(mpsc::RecvTimeoutError::Timeout);
        if !is_over(limit) {
            return;
        }
        self.out_of_time.store(true, Ordering::SeqCst);
        self.stop.store(true, Ordering::SeqCst);
        loop {
            // Nobody waits for the request itself: it ends by its own limit.
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
    /// Asks the server to cancel the statement, on a thread of its own, and tells when the request is made.
    fn request_cancel(&self) -> mpsc::Receiver<bool> {
        let Waiting { address, transport, key, .. } = self.clone();
        let (done, is_done) = mpsc::channel();
        let _ = thread::Builder::new().name("cancel request".to_owned()).spawn(move || {
            // A server that cannot be reached has nothing left to cancel.
            let _ = done.send(connect::cancel(&address, &transport, &key).is_ok());
        });
        is_done
    }
}
