//! Ctrl-C and its relatives: the first signal asks what is going on to stop, the second one ends the program at once.
//! What the signals thread does never waits for a server.

use std::ffi::c_int;
use std::ops::Deref;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use run::Control;
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator;

use crate::failure::Failure;
use crate::terminal;

/// Exit status of a program that a signal has ended, as shells have it: this and the signal's number.
const SIGNALLED: i32 = 128;
/// Time for the last message of a program that ends at once.
const LAST_MESSAGE_LIMIT: Duration = Duration::from_secs(1);

/// The signals that are caught, and what they stop.
#[derive(Default)]
pub(crate) struct Signals {
    control: Control,
    /// The first signal that asked to stop; 0: none has.
    first: Arc<AtomicI32>,
}

impl Deref for Signals {
    type Target = Control;

    fn deref(&self) -> &Control {
        &self.control
    }
}

impl Signals {
    /// Catches the signals from now on.
    pub(crate) fn catch() -> Result<Self, Failure> {
        Self::catch_these(&[SIGINT, SIGTERM, SIGHUP], Control::default())
    }

    /// Catches Ctrl-C only, which cancels the statement that is running each time and never ends the program.
    pub(crate) fn catch_to_cancel() -> Result<Self, Failure> {
        let announce = || {
            let _ = std::io::Write::write_all(&mut std::io::stderr(), b"Cancel request sent\n");
        };
        Self::catch_these(&[SIGINT], Control::that_only_cancels(announce))
    }

    /// Leaves the signals to the system: Ctrl-C ends the program.
    pub(crate) fn uncaught() -> Self {
        Self::default()
    }

    /// As [`Signals::uncaught`], but an alarm ends a timed run as its limit does: as pgbench, which sets one for itself.
    pub(crate) fn catch_alarm() -> Result<Self, Failure> {
        Self::catch_these(&[SIGALRM], Control::default())
    }

    fn catch_these(signals: &[c_int], control: Control) -> Result<Self, Failure> {
        let system = |error| Failure::System { what: "catch signals".to_owned(), error };
        let mut signals = iterator::Signals::new(signals).map_err(system)?;
        let first = Arc::new(AtomicI32::new(0));
        let caught = Self { control: control.clone(), first: Arc::clone(&first) };
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                for signal in signals.forever() {
                    if signal == SIGALRM {
                        control.end_timed_run();
                        continue;
                    }
                    let _ = first.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
                    if control.interrupt() {
                        leave(signal);
                    }
                }
            })
            .map_err(system)?;
        Ok(caught)
    }

    /// The exit status after an interruption: 130 after Ctrl-C, 143 after SIGTERM, as shells have it.
    pub(crate) fn exit_status(&self) -> Option<u8> {
        match self.first.load(Ordering::SeqCst) {
            0 => None,
            signal => u8::try_from(SIGNALLED + signal).ok(),
        }
    }
}

/// The program ends now.
#[allow(clippy::exit)] // the second Ctrl-C means now; servers of ours are stopped by their guard
fn leave(signal: c_int) -> ! {
    // A terminal that takes nothing must not keep the program.
    let (said, is_said) = mpsc::channel();
    let _ = thread::Builder::new().name("last message".to_owned()).spawn(move || {
        terminal::say_interrupted();
        let _ = said.send(());
    });
    let _ = is_said.recv_timeout(LAST_MESSAGE_LIMIT);
    std::process::exit(SIGNALLED + signal);
}
