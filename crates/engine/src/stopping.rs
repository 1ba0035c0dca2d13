//! What ends a run before its limit: the user, a failed worker, or the observer; the grace period of running
//! transactions; and the cancellation of statements that still run. Workers read it at each wake-up. It is the only
//! state that workers share and change during a run.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use connect::{CancelKey, CancelRequest};
use stats::Timestamp;

use crate::outcome::Exceeded;
use crate::plan::{Grace, Plan};
use crate::timeline::Timeline;

/// The caller's means to end a run.
#[derive(Clone, Copy, Debug)]
pub struct StopRequest<'a> {
    /// Stop the run: running transactions are cancelled.
    pub stop: &'a AtomicBool,
    /// End a timed run before its limit: no new transaction starts, running ones complete.
    pub time_is_up: Option<&'a AtomicBool>,
}

impl<'a> From<&'a AtomicBool> for StopRequest<'a> {
    fn from(stop: &'a AtomicBool) -> Self {
        Self { stop, time_is_up: None }
    }
}

/// State shared by the workers.
pub(crate) struct Stop<'a> {
    request: StopRequest<'a>,
    worker: AtomicBool,
    /// Time in nanoseconds after which nothing starts any more; `u64::MAX`: the plan's limit.
    end_ns: AtomicU64,
    /// Grace period in nanoseconds after that; `u64::MAX`: not known yet.
    grace_ns: AtomicU64,
    /// No transaction has ended for too long.
    silent: AtomicBool,
}

impl<'a> Stop<'a> {
    /// A run that `request` can end.
    pub(crate) fn new(request: StopRequest<'a>) -> Self {
        let unknown = || AtomicU64::new(u64::MAX);
        let (worker, silent) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { request, worker, end_ns: unknown(), grace_ns: unknown(), silent }
    }

    /// Whether the run should end now.
    pub(crate) fn is_asked(&self) -> bool {
        self.is_asked_by_user() || self.worker.load(Ordering::Relaxed)
    }

    /// Whether the user asked to stop.
    pub(crate) fn is_asked_by_user(&self) -> bool {
        self.request.stop.load(Ordering::Relaxed)
    }

    /// Ends the run at this time, as if the plan had set it. The first call wins.
    pub(crate) fn end_at(&self, end: Timestamp) {
        let (all, one) = (Ordering::Relaxed, Ordering::Relaxed);
        // An earlier call has taken effect.
        let _ = self.end_ns.compare_exchange(u64::MAX, end.as_nanos(), all, one);
    }

    /// The requested end, if it was requested by `now`.
    #[inline]
    pub(crate) fn early_end(&self, now: Timestamp) -> Option<Timestamp> {
        if self.request.time_is_up.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            self.end_at(now);
        }
        let end_ns = self.end_ns.load(Ordering::Relaxed);
        (end_ns != u64::MAX).then(|| Timestamp::from_nanos(end_ns))
    }

    /// Sets the grace period after the run's end. The first call wins.
    pub(crate) fn set_grace(&self, grace: Duration) {
        let grace_ns = u64::try_from(grace.as_nanos()).unwrap_or(u64::MAX);
        let (all, one) = (Ordering::Relaxed, Ordering::Relaxed);
        // The grace period must not change once it has been set.
        let _ = self.grace_ns.compare_exchange(u64::MAX, grace_ns, all, one);
    }

    /// Grace period after the end of the run; `None`: unlimited.
    fn grace(&self, grace: Grace) -> Option<Duration> {
        match (grace, self.grace_ns.load(Ordering::Relaxed)) {
            (Grace::Unlimited, _) => None,
            (Grace::Fixed(grace), _) => Some(grace),
            // The coordinator sets it within seconds, before the shortest grace period has passed.
            (Grace::Automatic, u64::MAX) => Some(Grace::MIN),
            (Grace::Automatic, grace_ns) => Some(Duration::from_nanos(grace_ns)),
        }
    }

    /// No transaction has ended for the plan's maximum time.
    pub(crate) fn end_for_silence(&self) {
        self.silent.store(true, Ordering::Relaxed);
    }

    /// A worker asks all workers to end.
    pub(crate) fn ask(&self) {
        self.worker.store(true, Ordering::Relaxed);
    }
}

/// The end of one worker's run according to the plan, unless an early end or a stop request comes first.
pub(crate) struct StopConditions<'a> {
    plan: &'a Plan,
    pub(crate) stop: &'a Stop<'a>,
    pub(crate) timeline: Timeline,
}

impl<'a> StopConditions<'a> {
    pub(crate) fn new(plan: &'a Plan, stop: &'a Stop<'a>, timeline: Timeline) -> Self {
        Self { plan, stop, timeline }
    }

    /// The timeline with an earlier end, if one was requested by `now` and is new to this worker.
    #[inline]
    pub(crate) fn shortened(&self, now: Timestamp) -> Option<Timeline> {
        self.stop.early_end(now).and_then(|end| self.timeline.ending_at(end))
    }

    /// The limit that is exceeded at `now`, if any.
    #[inline]
    pub(crate) fn exceeded(&self, now: Timestamp) -> Option<Exceeded> {
        self.exceeded_on(&self.timeline, now)
    }

    #[inline]
    fn exceeded_on(&self, timeline: &Timeline, now: Timestamp) -> Option<Exceeded> {
        match timeline.end {
            Some(end) if now >= end => self.exceeded_after(end, timeline, now),
            _ if self.stop.silent.load(Ordering::Relaxed) => self.plan.silence_limit.map(Exceeded::Silence),
            _ if timeline.is_past_deadline(now) => self.plan.deadline.map(Exceeded::Deadline),
            _ => None,
        }
    }

    /// The same after the end of the run.
    #[cold]
    fn exceeded_after(&self, end: Timestamp, timeline: &Timeline, now: Timestamp) -> Option<Exceeded> {
        let grace = self.stop.grace(self.plan.grace).filter(|grace| now.since(end) >= *grace);
        let deadline = self.plan.deadline.filter(|_| timeline.is_past_deadline(now));
        grace.map(Exceeded::Grace).or(deadline.map(Exceeded::Deadline))
    }

    /// Whether to stop waiting; for work that keeps the worker from checking itself.
    pub(crate) fn is_over(&self, now: Timestamp) -> bool {
        let timeline = self.shortened(now).unwrap_or(self.timeline);
        self.stop.is_asked() || self.exceeded_on(&timeline, now).is_some()
    }
}

/// Limit for all cancel requests of a run together, so that an unresponsive server does not delay the program's end.
const CANCELLING_LIMIT: Duration = Duration::from_secs(5);

/// A session with a running statement.
#[derive(Clone, Debug)]
pub(crate) struct RunningSession {
    pub(crate) target: usize,
    /// Index of the target's host.
    pub(crate) host: usize,
    pub(crate) key: CancelKey,
}

/// Cancels the statements of these sessions. Returns the number of sessions whose server did not accept the request
/// in time.
pub(crate) fn cancel_all<'s>(plan: &Plan, sessions: impl Iterator<Item = &'s RunningSession>) -> usize {
    let request = |session: &'s RunningSession| {
        let host = &plan.targets[session.target].hosts[session.host];
        CancelRequest { address: &host.address, transport: &host.transport, key: &session.key }
    };
    let requests: Vec<_> = sessions.map(request).collect();
    connect::cancel_all(&requests, CANCELLING_LIMIT)
}
