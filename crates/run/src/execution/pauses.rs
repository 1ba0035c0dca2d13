//! Detects whether this process was stopped while it measured (SIGSTOP, Ctrl-Z, a terminal that stops background
//! jobs), because the record must say so. The system sends SIGCONT when it continues. Used by the runner.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use results::Warning;
use signal_hook::consts::SIGCONT;
use signal_hook::{SigId, flag, low_level};

/// Registers the signal from creation until it is dropped.
pub(crate) struct PauseDetector {
    continued: Arc<AtomicBool>,
    registration: Option<SigId>,
}

impl PauseDetector {
    /// If the system does not allow a handler, no pause is reported.
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
