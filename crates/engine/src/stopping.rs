//! What ends a run before its limit: the user, a worker that could not go on, or an observer who knows enough; how
//! long after its limit transactions may still go on; and how statements that still run are then cancelled. A worker
//! reads it at each wake-up; it is the only thing that workers share and change while a run goes on.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use connect::{CancelKey, CancelRequest};
use stats::Timestamp;

use crate::outcome::Exceeded;
use crate::plan::{Grace, Plan};
use crate::timeline::Timeline;

/// What the caller sets to end a run.
#[derive(Clone, Copy, Debug)]
pub struct StopRequest<'a> {
    /// The run is stopped: what is under way is cancelled.
    pub stop: &'a AtomicBool,
    /// The time of a timed run is up before its limit: nothing starts any more, what is under way ends by itself.
    pub time_is_up: Option<&'a AtomicBool>,
}

impl<'a> From<&'a AtomicBool> for StopRequest<'a> {
    fn from(stop: &'a AtomicBool) -> Self {
        Self { stop, time_is_up: None }
    }
}

/// See the module.
pub(crate) struct Stop<'a> {
    request: StopRequest<'a>,
    worker: AtomicBool,
    /// The moment, in nanoseconds, from which on nothing starts any more; `u64::MAX`: the plan's.
    end_ns: AtomicU64,
    /// The grace period after that, in nanoseconds; `u64::MAX`: not known yet.
    grace_ns: AtomicU64,
    /// No transaction has ended for too long.
    silent: AtomicBool,
}

impl<'a> Stop<'a> {
    /// A run that ends by `request`.
    pub(crate) fn new(request: StopRequest<'a>) -> Self {
        let unknown = || AtomicU64::new(u64::MAX);
        let (worker, silent) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { request, worker, end_ns: unknown(), grace_ns: unknown(), silent }
    }

    /// Whether the run is to end now.
    pub(crate) fn is_asked(&self) -> bool {
        self.is_asked_by_user() || self.worker.load(Ordering::Relaxed)
    }

    /// Whether it was the user who asked.
    pub(crate) fn is_asked_by_user(&self) -> bool {
        self.request.stop.load(Ordering::Relaxed)
    }

    /// The run comes to its end at this moment, as if the plan had said so. The first call counts.
    pub(crate) fn end_at(&self, end: Timestamp) {
        let (all, one) = (Ordering::Relaxed, Ordering::Relaxed);
        // An earlier call has been obeyed.
        let _ = self.end_ns.compare_exchange(u64::MAX, end.as_nanos(), all, one);
    }

    /// That moment, if it has been asked for by `now`.
    #[inline]
    pub(crate) fn early_end(&self, now: Timestamp) -> Option<Timestamp> {
        if self.request.time_is_up.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            self.end_at(now);
        }
        let end_ns = self.end_ns.load(Ordering::Relaxed);
        (end_ns != u64::MAX).then(|| Timestamp::from_nanos(end_ns))
    }

    /// What is known of the grace period once the run's time is over. The first call counts.
    pub(crate) fn set_grace(&self, grace: Duration) {
        let grace_ns = u64::try_from(grace.as_nanos()).unwrap_or(u64::MAX);
        let (all, one) = (Ordering::Relaxed, Ordering::Relaxed);
        // Transactions keep the time that they were given first.
        let _ = self.grace_ns.compare_exchange(u64::MAX, grace_ns, all, one);
    }

    /// How long transactions may go on after the end of the run; `None`: as long as they take.
    fn grace(&self, grace: Grace) -> Option<Duration> {
        match (grace, self.grace_ns.load(Ordering::Relaxed)) {
            (Grace::Unlimited, _) => None,
            (Grace::Fixed(grace), _) => Some(grace),
            // The coordinator says it within seconds; the shortest one has not passed before.
            (Grace::Automatic, u64::MAX) => Some(Grace::MIN),
            (Grace::Automatic, grace_ns) => Some(Duration::from_nanos(grace_ns)),
        }
    }

    /// No transaction has ended for as long as the plan waits.
    pub(crate) fn end_for_silence(&self) {
        self.silent.store(true, Ordering::Relaxed);
    }

    /// A worker asks all of them to end.
    pub(crate) fn ask(&self) {
        self.worker.store(true, Ordering::Relaxed);
    }
}

/// When one worker's run ends: by its plan, which an early end or a stop request may overtake.
pub(crate) struct StopConditions<'a> {
    plan: &'a Plan,
    pub(crate) stop: &'a Stop<'a>,
    pub(crate) timeline: Timeline,
}

impl<'a> StopConditions<'a> {
    pub(crate) fn new(plan: &'a Plan, stop: &'a Stop<'a>, timeline: Timeline) -> Self {
        Self { plan, stop, timeline }
    }

    /// The timeline with an earlier end, if one was asked for by `now` that is not known here yet.
    #[inline]
    pub(crate) fn shortened(&self, now: Timestamp) -> Option<Timeline> {
        self.stop.early_end(now).and_then(|end| self.timeline.ending_at(end))
    }

    /// What has been exceeded by now, if anything.
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

    /// Whether nothing is to be waited for any longer: for what keeps the worker from looking by itself.
    pub(crate) fn is_over(&self, now: Timestamp) -> bool {
        let timeline = self.shortened(now).unwrap_or(self.timeline);
        self.stop.is_asked() || self.exceeded_on(&timeline, now).is_some()
    }
}

/// All cancel requests of a run together may take this long: a server that does not take them must not keep the
/// program from ending.
const CANCELLING_LIMIT: Duration = Duration::from_secs(5);

/// A session whose statement is running.
#[derive(Clone, Debug)]
pub(crate) struct RunningSession {
    pub(crate) target: usize,
    /// Which of the target's hosts.
    pub(crate) host: usize,
    pub(crate) key: CancelKey,
}

/// Cancels what runs in these sessions. Returns the number of those whose server did not take the request in time.
pub(crate) fn cancel_all<'s>(plan: &Plan, sessions: impl Iterator<Item = &'s RunningSession>) -> usize {
    let request = |session: &'s RunningSession| {
        let host = &plan.targets[session.target].hosts[session.host];
        CancelRequest { address: &host.address, transport: &host.transport, key: &session.key }
    };
    let requests: Vec<_> = sessions.map(request).collect();
    connect::cancel_all(&requests, CANCELLING_LIMIT)
}
