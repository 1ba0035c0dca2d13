//! Ctrl-C and its relatives: the first signal asks the run to stop and cancels the statement that a control session is
//! waiting for; the second one ends the program at once. What the signals thread does never waits for a server.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use connect::{Address, CancelKey, Closer, ConnectError, Session, Target, Transport};
use engine::StopRequest;
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator;

use crate::failure::Failure;
use crate::terminal;

/// Exit status of a program that a signal has ended, as shells have it: this and the signal's number.
const SIGNALLED: i32 = 128;
/// A statement that was cancelled has so long to end; then its connection is closed.
const CANCEL_LIMIT: Duration = Duration::from_secs(3);
/// Time for the last words of a program that ends at once.
const LAST_WORDS_LIMIT: Duration = Duration::from_secs(1);
/// Said of what was stopped because its time was over.
pub(crate) const OUT_OF_TIME: &str = "it was stopped because the time budget was used up";
/// How often waiting for a connection is interrupted to see whether a signal has come.
const LOOK: Duration = Duration::from_millis(20);

/// The stop flag, and what must be told when it is set.
pub(crate) struct Signals {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    stop: Arc<AtomicBool>,
    /// The run's time is up before its limit, by an alarm from outside.
    time_is_up: AtomicBool,
    /// The first signal that asked to stop; 0: none has.
    first: AtomicI32,
    /// `stop` is set because a time is over, and not by a signal.
    out_of_time: AtomicBool,
    /// The control session that may be waiting for a long statement.
    waiting: Mutex<Option<Waiting>>,
    /// What is being done cannot be asked to stop, and may be left at any moment.
    leave_at_once: AtomicBool,
    /// As `pgbench -i` has it: asking twice asks for the same.
    only_cancels: bool,
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

impl Signals {
    /// Catches the signals from now on.
    pub(crate) fn catch() -> Result<Self, Failure> {
        Self::catch_these(&[SIGINT, SIGTERM, SIGHUP], Shared::default())
    }

    /// Catches Ctrl-C only, which cancels the statement that is running each time and never ends the program.
    pub(crate) fn catch_to_cancel() -> Result<Self, Failure> {
        Self::catch_these(&[SIGINT], Shared { only_cancels: true, ..Shared::default() })
    }

    /// Leaves the signals to the system: Ctrl-C ends the program.
    pub(crate) fn uncaught() -> Self {
        Self { shared: Arc::new(Shared::default()) }
    }

    /// As [`Signals::uncaught`], but an alarm ends a timed run as its limit does: as pgbench, which sets one for itself.
    pub(crate) fn catch_alarm() -> Result<Self, Failure> {
        Self::catch_these(&[SIGALRM], Shared::default())
    }

    fn catch_these(signals: &[c_int], shared: Shared) -> Result<Self, Failure> {
        let system = |error| Failure::System { what: "catch signals".to_owned(), error };
        let mut signals = iterator::Signals::new(signals).map_err(system)?;
        let shared = Arc::new(shared);
        let watched = Arc::clone(&shared);
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                for signal in signals.forever() {
                    watched.caught(signal);
                }
            })
            .map_err(system)?;
        Ok(Self { shared })
    }

    /// Set once the user has asked to stop.
    pub(crate) fn stop(&self) -> &AtomicBool {
        &self.shared.stop
    }

    /// The same flag, for what must own it.
    pub(crate) fn shared_stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.shared.stop)
    }

    /// What ends a run before its limit.
    pub(crate) fn stop_request(&self) -> StopRequest<'_> {
        StopRequest { stop: &self.shared.stop, time_is_up: Some(&self.shared.time_is_up) }
    }

    /// An error once the user has asked to stop.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.stop().load(Ordering::Relaxed) {
            return Err(Failure::Interrupted("interrupted; nothing was measured"));
        }
        Ok(())
    }

    /// The exit status after an interruption: 130 after Ctrl-C, 143 after SIGTERM, as shells have it.
    pub(crate) fn exit_status(&self) -> Option<u8> {
        match self.shared.first.load(Ordering::SeqCst) {
            0 => None,
            signal => u8::try_from(SIGNALLED + signal).ok(),
        }
    }

    /// Whether what is being done was stopped because its time is over.
    pub(crate) fn is_out_of_time(&self) -> bool {
        self.shared.out_of_time.load(Ordering::SeqCst)
    }

    /// Does something that may not take longer than this. After that time it is stopped as by a signal, and fails.
    pub(crate) fn within<T>(
        &self,
        limit: Option<Duration>,
        work: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let Some(limit) = limit else { return work() };
        let shared = &self.shared;
        let (done, is_done) = mpsc::channel::<()>();
        let result = thread::scope(|scope| {
            let watch = thread::Builder::new().name("time budget".to_owned());
            let watching = watch.spawn_scoped(scope, move || shared.stop_after(limit, &is_done));
            watching.map_err(|error| Failure::System { what: "start a thread".to_owned(), error })?;
            let result = work();
            drop(done);
            result
        });
        if !shared.out_of_time.swap(false, Ordering::SeqCst) {
            return result;
        }
        shared.stop.store(false, Ordering::SeqCst);
        if shared.first.load(Ordering::SeqCst) != 0 {
            // A signal came too: it is told by the same flag.
            shared.stop.store(true, Ordering::SeqCst);
            return result;
        }
        result.map_err(|_| Failure::Aborted(OUT_OF_TIME.to_owned()))
    }

    /// Connects. A signal ends the waiting for it; a server that never answers does not keep the program then.
    pub(crate) fn connect(&self, target: &Target) -> Result<Session, Failure> {
        Ok(self.abandonable(target, Session::connect)?.map_err(|error| *error)?)
    }

    /// Does something that connects and that a signal leaves behind.
    pub(crate) fn abandonable<T: Send + 'static>(
        &self,
        target: &Target,
        work: impl FnOnce(&Target) -> Result<T, ConnectError> + Send + 'static,
    ) -> Result<Result<T, Box<ConnectError>>, Failure> {
        self.check()?;
        let (sender, receiver) = mpsc::channel();
        let target = target.clone();
        let begun = thread::Builder::new().name("connect".to_owned()).spawn(move || {
            // Nobody waits for it any more if a signal came first.
            let _ = sender.send(work(&target).map_err(Box::new));
        });
        begun.map_err(|error| Failure::System { what: "start a thread".to_owned(), error })?;
        loop {
            match receiver.recv_timeout(LOOK) {
                Ok(done) => {
                    self.check()?;
                    return Ok(done);
                }
                Err(mpsc::RecvTimeoutError::Timeout) => self.check()?,
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    let error = std::io::Error::other("the connecting thread ended");
                    return Err(Failure::System { what: "connect".to_owned(), error });
                }
            }
        }
    }

    /// Does something that cannot be asked to stop and leaves nothing behind: a signal ends the program at once.
    pub(crate) fn leave_at_once<T>(&self, work: impl FnOnce() -> T) -> T {
        self.shared.leave_at_once.store(true, Ordering::SeqCst);
        let result = work();
        self.shared.leave_at_once.store(false, Ordering::SeqCst);
        result
    }

    /// Does something that waits for the server; a signal cancels the statement that is running then. If that has no
    /// effect the session is closed.
    pub(crate) fn guard<T>(&self, session: &mut Session, work: impl FnOnce(&mut Session) -> T) -> T {
        let waiting = || self.shared.waiting();
        let before = waiting().replace(Waiting {
            number: self.shared.sessions.fetch_add(1, Ordering::Relaxed),
            address: session.address().clone(),
            transport: session.transport().clone(),
            key: session.cancel_key(),
            closer: session.closer(),
        });
        // A signal that came before found nothing to cancel.
        if !self.shared.only_cancels && self.stop().load(Ordering::SeqCst) {
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

    fn caught(self: &Arc<Self>, signal: c_int) {
        if signal == SIGALRM {
            self.time_is_up.store(true, Ordering::Relaxed);
            return;
        }
        let again = self.first.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst).is_err();
        self.stop.store(true, Ordering::SeqCst);
        if !self.only_cancels && (again || self.leave_at_once.load(Ordering::SeqCst)) {
            leave(signal);
        }
        self.start_cancelling();
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
        if self.only_cancels {
            // Said before the program can end for it.
            let _ = std::io::Write::write_all(&mut std::io::stderr(), b"Cancel request sent\n");
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

/// The program ends now.
#[allow(clippy::exit)] // the second Ctrl-C means now; servers of ours are stopped by their guard
fn leave(signal: c_int) -> ! {
    // A terminal that takes nothing must not keep the program.
    let (said, is_said) = mpsc::channel();
    let _ = thread::Builder::new().name("last words".to_owned()).spawn(move || {
        terminal::say_interrupted();
        let _ = said.send(());
    });
    let _ = is_said.recv_timeout(LAST_WORDS_LIMIT);
    std::process::exit(SIGNALLED + signal);
}
