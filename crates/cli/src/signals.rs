//! Signal handling: the first signal asks the current work to stop, the second one exits the program immediately. The
//! signal thread never waits for a server.

use std::ffi::c_int;
use std::ops::Deref;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use connect::Stopwatch;
use run::Control;
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator;

use crate::failure::Failure;
use crate::terminal;

/// Exit status of a program terminated by a signal, as in shells: this plus the signal number.
const SIGNALLED: i32 = 128;
/// A signal this soon after the first one is the same request: `timeout` signals the program and then its whole group.
const SAME_REQUEST: Duration = Duration::from_millis(200);
/// Time for the last message before an immediate exit.
const LAST_MESSAGE_LIMIT: Duration = Duration::from_secs(1);

/// The caught signals and the control that they stop.
#[derive(Default)]
pub(crate) struct Signals {
    control: Control,
    /// The first signal that asked to stop; 0: none.
    first: Arc<AtomicI32>,
}

impl Deref for Signals {
    type Target = Control;

    fn deref(&self) -> &Control {
        &self.control
    }
}

impl Signals {
    /// Starts catching the signals.
    pub(crate) fn catch() -> Result<Self, Failure> {
        let tell = |wait: &connect::LockWait| terminal::write_message(&format!("{wait}\n"));
        Self::catch_these(&[SIGINT, SIGTERM, SIGHUP], Control::that_tells_lock_waits(tell))
    }

    /// Catches Ctrl-C only, which cancels the running statement each time and never exits the program.
    pub(crate) fn catch_to_cancel() -> Result<Self, Failure> {
        let announce = || {
            let _ = std::io::Write::write_all(&mut std::io::stderr(), b"Cancel request sent\n");
        };
        Self::catch_these(&[SIGINT], Control::that_only_cancels(announce))
    }

    /// Leaves the default handling: Ctrl-C exits the program.
    pub(crate) fn uncaught() -> Self {
        Self::default()
    }

    /// Like [`Signals::uncaught`], but SIGALRM ends a timed run, as in pgbench, which sets an alarm for itself.
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
                let mut begun: Option<Stopwatch> = None;
                for signal in signals.forever() {
                    if signal == SIGALRM {
                        control.end_timed_run();
                        continue;
                    }
                    if begun.is_some_and(|begun| begun.passed() < SAME_REQUEST) {
                        continue;
                    }
                    begun.get_or_insert_with(Stopwatch::start);
                    let _ = first.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
                    if control.interrupt() {
                        leave(signal);
                    }
                }
            })
            .map_err(system)?;
        Ok(caught)
    }

    /// The first signal that interrupted the program.
    pub(crate) fn first(&self) -> Option<u8> {
        u8::try_from(self.first.load(Ordering::SeqCst)).ok().filter(|signal| *signal > 0)
    }
}

/// Exits the program immediately.
#[allow(clippy::exit)] // the second Ctrl-C must exit immediately; the guard stops embedded servers
fn leave(signal: c_int) -> ! {
    // A blocked terminal must not delay the exit.
    let (said, is_said) = mpsc::channel();
    let _ = thread::Builder::new().name("last message".to_owned()).spawn(move || {
        terminal::say_interrupted();
        let _ = said.send(());
    });
    let _ = is_said.recv_timeout(LAST_MESSAGE_LIMIT);
    std::process::exit(SIGNALLED + signal);
}
