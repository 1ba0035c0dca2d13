//! When transactions came to an end within an interval, to the millisecond: enough to find the stretches in which none
//! did, over all workers together. Not how long they took. Filled by the recorder, read by [`crate::Gaps`].

use std::time::Duration;

use crate::Timestamp;
use crate::timestamp::saturating_nanos;

/// The length of a tick, in nanoseconds: gaps are known that exactly.
pub(crate) const TICK_NS: u64 = 1_000_000;

/// Ticks of an interval; what comes after the last one is counted in it. The engine's intervals are a second at most.
const TICKS: usize = 1_000;

/// In which ticks of an interval a transaction succeeded or failed; those that were skipped or that did not finish are no
/// completions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completions {
    /// For each tick: 0 if nothing was completed in it, otherwise 1 more than the ticks for which the first of each
    /// worker had been due, the largest of them.
    waited: Box<[u32]>,
    /// The earliest moment for which a transaction was due that did not finish.
    unfinished_since: Option<Timestamp>,
}

impl Default for Completions {
    fn default() -> Completions {
        Completions::new()
    }
}

impl Completions {
    /// No completion yet; takes 4 kB.
    pub fn new() -> Completions {
        Completions { waited: vec![0; TICKS].into_boxed_slice(), unfinished_since: None }
    }

    /// A transaction that was due at `scheduled` was completed so long after the begin of the interval. Returns how long
    /// after that begin the next tick begins.
    pub(crate) fn complete(&mut self, scheduled: Timestamp, finished: Timestamp, after: Duration) -> u64 {
        let after_ns = saturating_nanos(after);
        let tick = after_ns / TICK_NS;
        let at = usize::try_from(tick).unwrap_or(TICKS).min(TICKS - 1);
        let waited = saturating_nanos(finished.since(scheduled)) / TICK_NS;
        let waited = u32::try_from(waited).unwrap_or(u32::MAX).saturating_add(1);
        self.waited[at] = self.waited[at].max(waited);
        (tick + 1).saturating_mul(TICK_NS)
    }

    /// A transaction that was due at `scheduled` did not finish.
    pub(crate) fn leave_unfinished(&mut self, scheduled: Timestamp) {
        self.unfinished_since = Some(self.unfinished_since.map_or(scheduled, |since| since.min(scheduled)));
    }

    /// Adds those of another worker in the same interval.
    pub(crate) fn merge(&mut self, other: &Completions) {
        let Completions { waited, unfinished_since } = other;
        self.waited.iter_mut().zip(waited).for_each(|(ours, theirs)| *ours = (*ours).max(*theirs));
        unfinished_since.iter().for_each(|since| self.leave_unfinished(*since));
    }

    /// Back to none, keeping the memory.
    pub(crate) fn clear(&mut self) {
        let Completions { waited, unfinished_since } = self;
        waited.fill(0);
        *unfinished_since = None;
    }

    /// The ticks with a completion: when each begins after the begin of the interval, and for how long the first
    /// transaction completed in it had been due, both in nanoseconds.
    pub(crate) fn ticks(&self) -> impl Iterator<Item = (u64, u64)> {
        let ticks = self.waited.iter().zip(0u64..).filter(|(waited, _)| **waited > 0);
        ticks.map(|(waited, tick)| (tick * TICK_NS, u64::from(waited - 1).saturating_mul(TICK_NS)))
    }

    /// The earliest moment for which a transaction was due that did not finish.
    pub(crate) fn unfinished_since(&self) -> Option<Timestamp> {
        self.unfinished_since
    }
}
