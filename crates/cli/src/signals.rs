//! Ctrl-C and its relatives: the first one asks the run to stop and cancels the statement that a
//! control session is waiting for; the second one ends the program at once.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use connect::{Address, CancelKey, Session, Transport};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator;

use crate::failure::Failure;
use crate::terminal;

/// Exit status of a program that was interrupted, as shells have it.
const INTERRUPTED: i32 = 130;

/// The stop flag, and what must be told when it is set.
pub(crate) struct Signals {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    /// The control session that may be waiting for a long statement.
    waiting: Mutex<Option<(Address, Transport, CancelKey)>>,
    /// What is being done cannot be asked to stop, and may be left at any moment.
    leave_at_once: AtomicBool,
    /// As `pgbench -i` has it: asking twice asks for the same.
    only_cancels: bool,
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

    fn catch_these(signals: &[c_int], shared: Shared) -> Result<Self, Failure> {
        let system = |error| Failure::System { what: "catch signals".to_owned(), error };
        let mut signals = iterator::Signals::new(signals).map_err(system)?;
        let shared = Arc::new(shared);
        let watched = Arc::clone(&shared);
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                for _ in signals.forever() {
                    watched.caught();
                }
            })
            .map_err(system)?;
        Ok(Self { shared })
    }

    /// Set once the user has asked to stop.
    pub(crate) fn stop(&self) -> &AtomicBool {
        &self.shared.stop
    }

    /// An error once the user has asked to stop.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.stop().load(Ordering::Relaxed) {
            return Err(Failure::Interrupted("interrupted; nothing was measured"));
        }
        Ok(())
    }

    /// Does something that cannot be asked to stop: a signal ends the program at once. What is fetched or
    /// started then is removed by the guard that every temporary server has.
    pub(crate) fn leave_at_once<T>(&self, work: impl FnOnce() -> T) -> T {
        self.shared.leave_at_once.store(true, Ordering::SeqCst);
        let result = work();
        self.shared.leave_at_once.store(false, Ordering::SeqCst);
        result
    }

    /// Does something that waits for the server; a signal cancels the statement that is running then.
    pub(crate) fn guard<T>(&self, session: &mut Session, work: impl FnOnce(&mut Session) -> T) -> T {
        let waiting = || self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        *waiting() = Some((session.address().clone(), session.transport().clone(), session.cancel_key()));
        let result = work(session);
        *waiting() = None;
        result
    }
}

impl Shared {
    #[allow(clippy::exit)] // the second Ctrl-C means now; servers of ours are stopped by their guard
    fn caught(&self) {
        let again = self.stop.swap(true, Ordering::Relaxed);
        if !self.only_cancels && (again || self.leave_at_once.load(Ordering::SeqCst)) {
            terminal::say_interrupted();
            std::process::exit(INTERRUPTED);
        }
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((address, transport, key)) = waiting.as_ref() {
            // A server that cannot be reached has nothing left to cancel.
            let sent = connect::cancel(address, transport, key);
            if self.only_cancels && sent.is_ok() {
                terminal::talk("Cancel request sent\n");
            }
        }
    }
}
