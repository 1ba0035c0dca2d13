//! Times of completed transactions within an interval, to the millisecond, to find periods without completions over
//! all workers. Filled by the recorder, read by [`crate::Gaps`].

use std::time::Duration;

use crate::Timestamp;
use crate::timestamp::saturating_nanos;

/// Length of a tick in nanoseconds: the resolution of gaps.
pub(crate) const TICK_NS: u64 = 1_000_000;

/// Ticks of an interval; later completions count in the last one. The engine's intervals are at most a second long.
const TICKS: usize = 1_000;

/// The ticks of an interval in which a transaction succeeded or failed; skipped, unfinished and unknown ones
/// are not completions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completions {
    /// For each tick: 0 without completion, otherwise 1 plus the age in ticks (time since the scheduled start) of
    /// each worker's first completion, the maximum of them.
    waited: Box<[u32]>,
    /// The earliest scheduled start of an unfinished or unknown transaction.
    unfinished_since: Option<Timestamp>,
}

impl Default for Completions {
    fn default() -> Completions {
        Completions::new()
    }
}

impl Completions {
    /// No completions; takes 4 kB.
    pub fn new() -> Completions {
        Completions { waited: vec![0; TICKS].into_boxed_slice(), unfinished_since: None }
    }

    /// A transaction scheduled at `scheduled` was completed this long after the begin of the interval. Returns the
    /// begin of the next tick, relative to the begin of the interval.
    pub(crate) fn complete(&mut self, scheduled: Timestamp, finished: Timestamp, after: Duration) -> u64 {
        let after_ns = saturating_nanos(after);
        let tick = after_ns / TICK_NS;
        let at = usize::try_from(tick).unwrap_or(TICKS).min(TICKS - 1);
        let waited = saturating_nanos(finished.since(scheduled)) / TICK_NS;
        let waited = u32::try_from(waited).unwrap_or(u32::MAX).saturating_add(1);
        self.waited[at] = self.waited[at].max(waited);
        (tick + 1).saturating_mul(TICK_NS)
    }

    /// A transaction scheduled at `scheduled` did not finish.
    pub(crate) fn leave_unfinished(&mut self, scheduled: Timestamp) {
        self.unfinished_since = Some(self.unfinished_since.map_or(scheduled, |since| since.min(scheduled)));
    }

    /// Adds those of another worker in the same interval.
    pub(crate) fn merge(&mut self, other: &Completions) {
        let Completions { waited, unfinished_since } = other;
        self.waited.iter_mut().zip(waited).for_each(|(ours, theirs)| *ours = (*ours).max(*theirs));
        unfinished_since.iter().for_each(|since| self.leave_unfinished(*since));
    }

    /// The value of each tick.
    pub(crate) fn waited(&self) -> &[u32] {
        &self.waited
    }

    /// The same, to fill it.
    pub(crate) fn waited_mut(&mut self) -> &mut [u32] {
        &mut self.waited
    }

    /// Empties it, keeping the memory.
    pub(crate) fn clear(&mut self) {
        let Completions { waited, unfinished_since } = self;
        waited.fill(0);
        *unfinished_since = None;
    }

    /// The ticks with a completion: the tick's begin relative to the interval, and the age of its first completion,
    /// both in nanoseconds.
    pub(crate) fn ticks(&self) -> impl Iterator<Item = (u64, u64)> {
        let ticks = self.waited.iter().zip(0u64..).filter(|(waited, _)| **waited > 0);
        ticks.map(|(waited, tick)| (tick * TICK_NS, u64::from(waited - 1).saturating_mul(TICK_NS)))
    }

    /// The earliest scheduled start of an unfinished transaction.
    pub(crate) fn unfinished_since(&self) -> Option<Timestamp> {
        self.unfinished_since
    }
}
