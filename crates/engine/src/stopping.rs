//! What ends a run before its limit: the user, or a worker that could not go on. Read by every worker at each
//! wake-up; the only thing that workers share and change while a run goes on.

use std::sync::atomic::{AtomicBool, Ordering};

/// See the module.
pub(crate) struct Stop<'a> {
    user: &'a AtomicBool,
    worker: AtomicBool,
}

impl<'a> Stop<'a> {
    /// A run that the user ends by setting `user`.
    pub(crate) fn new(user: &'a AtomicBool) -> Self {
        Self { user, worker: AtomicBool::new(false) }
    }

    /// Whether the run is to end now.
    pub(crate) fn is_asked(&self) -> bool {
        self.user.load(Ordering::Relaxed) || self.worker.load(Ordering::Relaxed)
    }

    /// Whether it was the user who asked.
    pub(crate) fn is_asked_by_user(&self) -> bool {
        self.user.load(Ordering::Relaxed)
    }

    /// A worker asks all of them to end.
    pub(crate) fn ask(&self) {
        self.worker.store(true, Ordering::Relaxed);
    }
}
