//! What ends a run before its limit: the user, a worker that could not go on, or an observer who knows enough. Read by
//! every worker at each wake-up; the only thing that workers share and change while a run goes on.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use stats::Timestamp;

/// See the module.
pub(crate) struct Stop<'a> {
    user: &'a AtomicBool,
    worker: AtomicBool,
    /// The moment, in nanoseconds, from which on nothing starts any more; `u64::MAX`: the plan's.
    end_ns: AtomicU64,
}

impl<'a> Stop<'a> {
    /// A run that the user ends by setting `user`.
    pub(crate) fn new(user: &'a AtomicBool) -> Self {
        Self { user, worker: AtomicBool::new(false), end_ns: AtomicU64::new(u64::MAX) }
    }

    /// Whether the run is to end now.
    pub(crate) fn is_asked(&self) -> bool {
        self.user.load(Ordering::Relaxed) || self.worker.load(Ordering::Relaxed)
    }

    /// Whether it was the user who asked.
    pub(crate) fn is_asked_by_user(&self) -> bool {
        self.user.load(Ordering::Relaxed)
    }

    /// Enough is known: the run comes to its end at a moment to come, as if the plan had said so. The first one counts.
    pub(crate) fn end_at(&self, end: Timestamp) {
        let (all, one) = (Ordering::Relaxed, Ordering::Relaxed);
        // Whoever has asked before has been heard.
        let _ = self.end_ns.compare_exchange(u64::MAX, end.as_nanos(), all, one);
    }

    /// That moment, if it has been asked for.
    #[inline]
    pub(crate) fn early_end(&self) -> Option<Timestamp> {
        let end_ns = self.end_ns.load(Ordering::Relaxed);
        (end_ns != u64::MAX).then(|| Timestamp::from_nanos(end_ns))
    }

    /// A worker asks all of them to end.
    pub(crate) fn ask(&self) {
        self.worker.store(true, Ordering::Relaxed);
    }
}
