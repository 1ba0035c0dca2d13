//! What ends a run before its limit: the user, a failed worker, the observer, or a watch of the caller, which can also
//! pause it; the grace period of running transactions; and the cancellation of statements that still run. Workers read it
//! at each wake-up. It is the only state that workers share and change during a run.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use connect::{CancelKey, CancelRequest};
use serde::{Deserialize, Serialize};
use stats::Timestamp;

use crate::outcome::Exceeded;
use crate::part::Part;
use crate::plan::{Grace, Plan};
use crate::timeline::Timeline;

/// The caller's means to end a run.
#[derive(Clone, Copy, Debug)]
pub struct StopRequest<'a> {
    /// Stop the run: running transactions are cancelled.
    pub stop: &'a AtomicBool,
    /// End a timed run before its limit: no new transaction starts, running ones complete. In a distributed run, only
    /// rank 0 reads it, and the end is [`DISTRIBUTED_LEAD`] later.
    pub time_is_up: Option<&'a AtomicBool>,
    /// The decisions about the end that the ranks of a distributed run share; `None`: this process decides for itself.
    pub shared: Option<&'a SharedEnd>,
    /// Pauses and ends the load of this process.
    pub gate: Option<&'a LoadGate>,
}

/// Whether a load may start transactions. The caller changes it at any time from any thread; workers see the change at
/// their next wake-up. Transactions that have started always go on.
#[derive(Debug, Default)]
pub struct LoadGate(AtomicU8);

/// State of a [`LoadGate`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum GateState {
    /// Transactions start.
    #[default]
    Open,
    /// No transaction starts. Arrivals of an open loop whose time falls into the pause are skipped.
    Paused,
    /// The run ends as at its limit.
    Ended,
}

impl LoadGate {
    /// Changes the state. A load that was ended cannot be opened again.
    pub fn set(&self, state: GateState) {
        self.0.store(state as u8, Ordering::Relaxed);
    }

    /// The current state.
    pub fn state(&self) -> GateState {
        match self.0.load(Ordering::Relaxed) {
            0 => GateState::Open,
            1 => GateState::Paused,
            _ => GateState::Ended,
        }
    }
}

/// Time between a decision about the end of a distributed run and that end, so that all ranks receive the decision
/// before it.
pub const DISTRIBUTED_LEAD: Duration = Duration::from_secs(3);

/// The decisions about the end of a run, which rank 0 makes for all ranks: its engine writes them, the caller sends
/// them to the other processes ([`SharedEnd::decisions`], [`SharedEnd::apply`]), whose engines read them.
#[derive(Debug)]
pub struct SharedEnd {
    /// Time in nanoseconds since the start, after which nothing starts any more; `u64::MAX`: the plan's limit.
    end_ns: AtomicU64,
    /// Grace period in nanoseconds after that; `u64::MAX`: not known yet.
    grace_ns: AtomicU64,
    /// No transaction has ended for the plan's maximum time.
    silent: AtomicBool,
    /// The user, a failed worker or rank, or an aborted client stops the run.
    stop: AtomicBool,
}

/// The decisions so far, to be sent to the other ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndDecisions {
    /// End of the run in nanoseconds since its start, if it is earlier than planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_ns: Option<u64>,
    /// Grace period in nanoseconds after the end, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_ns: Option<u64>,
    /// No transaction has ended for too long.
    #[serde(default)]
    pub silent: bool,
    /// The run is stopped now.
    #[serde(default)]
    pub stop: bool,
}

impl Default for SharedEnd {
    fn default() -> Self {
        let unknown = || AtomicU64::new(u64::MAX);
        let (silent, stop) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { end_ns: unknown(), grace_ns: unknown(), silent, stop }
    }
}

impl SharedEnd {
    /// The decisions so far.
    pub fn decisions(&self) -> EndDecisions {
        let known = |time: &AtomicU64| Some(time.load(Ordering::Relaxed)).filter(|ns| *ns != u64::MAX);
        EndDecisions {
            end_ns: known(&self.end_ns),
            grace_ns: known(&self.grace_ns),
            silent: self.silent.load(Ordering::Relaxed),
            stop: self.stop.load(Ordering::Relaxed),
        }
    }

    /// Adds decisions of rank 0. A time that is already known does not change.
    pub fn apply(&self, decisions: &EndDecisions) {
        let EndDecisions { end_ns, grace_ns, silent, stop } = *decisions;
        end_ns.into_iter().for_each(|end_ns| set_once(&self.end_ns, end_ns));
        grace_ns.into_iter().for_each(|grace_ns| set_once(&self.grace_ns, grace_ns));
        self.silent.fetch_or(silent, Ordering::Relaxed);
        self.stop.fetch_or(stop, Ordering::Relaxed);
    }
}

/// The first call wins: an earlier one has taken effect.
fn set_once(time: &AtomicU64, ns: u64) {
    let _ = time.compare_exchange(u64::MAX, ns, Ordering::Relaxed, Ordering::Relaxed);
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl<'a> From<&'a AtomicBool> for StopRequest<'a> {
    fn from(stop: &'a AtomicBool) -> Self {
        Self { stop, time_is_up: None, shared: None, gate: None }
    }
}

/// State shared by the workers.
pub(crate) struct Stop<'a> {
    request: StopRequest<'a>,
    end: &'a SharedEnd,
    /// Whether this process decides about the end of the run.
    decides: bool,
    /// Time between such a decision and the end.
    lead: Duration,
}

impl<'a> Stop<'a> {
    /// A run that `request` can end; `own` is used if the request has no shared decisions.
    pub(crate) fn new(request: StopRequest<'a>, own: &'a SharedEnd, part: Part) -> Self {
        let lead = if part.is_distributed() { DISTRIBUTED_LEAD } else { Duration::ZERO };
        Self { request, end: request.shared.unwrap_or(own), decides: part.rank == 0, lead }
    }

    /// Whether the run should end now.
    pub(crate) fn is_asked(&self) -> bool {
        self.is_asked_by_user() || self.end.stop.load(Ordering::Relaxed)
    }

    /// Whether the user asked to stop.
    pub(crate) fn is_asked_by_user(&self) -> bool {
        self.request.stop.load(Ordering::Relaxed)
    }

    /// Whether this process decides about the end of the run.
    pub(crate) fn decides(&self) -> bool {
        self.decides
    }

    /// Ends the run that started at `start` at this time, as if the plan had set it. The first call wins.
    pub(crate) fn end_at(&self, start: Timestamp, end: Timestamp) {
        set_once(&self.end.end_ns, nanos(end.since(start)));
    }

    /// Whether no transaction may start at present.
    #[inline]
    pub(crate) fn is_paused(&self) -> bool {
        self.request.gate.is_some_and(|gate| gate.state() == GateState::Paused)
    }

    /// The requested end, if it was requested by `now`, of a run that started at `start`.
    #[inline]
    pub(crate) fn early_end(&self, start: Timestamp, now: Timestamp) -> Option<Timestamp> {
        let is_asked = self.request.time_is_up.is_some_and(|flag| flag.load(Ordering::Relaxed))
            || self.request.gate.is_some_and(|gate| gate.state() == GateState::Ended);
        if is_asked && self.decides {
            self.end_at(start, now + self.lead);
        }
        let end_ns = self.end.end_ns.load(Ordering::Relaxed);
        (end_ns != u64::MAX).then(|| start + Duration::from_nanos(end_ns))
    }

    /// Whether the grace period after the run's end is not known yet.
    pub(crate) fn lacks_grace(&self) -> bool {
        self.end.grace_ns.load(Ordering::Relaxed) == u64::MAX
    }

    /// Sets the grace period after the run's end. The first call wins, so that it does not change.
    pub(crate) fn set_grace(&self, grace: Duration) {
        set_once(&self.end.grace_ns, nanos(grace));
    }

    /// Grace period after the end of the run; `None`: unlimited.
    fn grace(&self, grace: Grace) -> Option<Duration> {
        match (grace, self.end.grace_ns.load(Ordering::Relaxed)) {
            (Grace::Unlimited, _) => None,
            (Grace::Fixed(grace), _) => Some(grace),
            // The coordinator sets it within seconds, before the shortest grace period has passed.
            (Grace::Automatic, u64::MAX) => Some(Grace::MIN),
            (Grace::Automatic, grace_ns) => Some(Duration::from_nanos(grace_ns)),
        }
    }

    /// No transaction has ended for the plan's maximum time.
    pub(crate) fn end_for_silence(&self) {
        self.end.silent.store(true, Ordering::Relaxed);
    }

    /// All workers end, those of the other ranks too if this is rank 0.
    pub(crate) fn ask(&self) {
        self.end.stop.store(true, Ordering::Relaxed);
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
        self.stop.early_end(self.timeline.start, now).and_then(|end| self.timeline.ending_at(end))
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
            _ if self.stop.end.silent.load(Ordering::Relaxed) => {
                self.plan.silence_limit.map(Exceeded::Silence)
            }
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
