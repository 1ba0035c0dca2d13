//! Whether this process was stopped while it measured (SIGSTOP, Ctrl-Z, a terminal that stops background jobs): the load
//! stood still then, which the record must say. The system tells by SIGCONT. Used by the runner.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use results::Warning;
use signal_hook::consts::SIGCONT;
use signal_hook::{SigId, flag, low_level};

/// Registers from the moment it is made until it is dropped.
pub(crate) struct PauseDetector {
    continued: Arc<AtomicBool>,
    registration: Option<SigId>,
}

impl PauseDetector {
    /// A system that does not let signals be caught has nothing to tell.
    pub(crate) fn begin() -> Self {
        let continued = Arc::new(AtomicBool::new(false));
        let registration = flag::register(SIGCONT, Arc::clone(&continued)).ok();
        Self { continued, registration }
    }

    /// A warning if it was stopped.
    pub(crate) fn end(self) -> Option<Warning> {
        self.continued.load(Ordering::SeqCst).then_some(Warning::Paused)
    }
}

impl Drop for PauseDetector {
    fn drop(&mut self) {
        self.registration.take().map(low_level::unregister);
    }
}
