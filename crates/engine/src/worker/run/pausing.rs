//! Pauses of the load, which the caller begins and ends with a [`crate::LoadGate`]: free clients are held, transactions
//! that have started go on. Arrivals of an open loop whose time falls into a pause are skipped, so that the load does not
//! return with a burst.

use stats::Timestamp;

use super::Run;
use crate::driver::Driver;

/// The pauses of a worker's run.
#[derive(Default)]
pub(super) struct Pausing {
    /// Begin of the current pause.
    since: Option<Timestamp>,
    /// Earlier pauses in their order: begin and end.
    over: Vec<(Timestamp, Timestamp)>,
    /// Clients that wait for the end of the pause; each has `is_held`, unless it was lost or ended since.
    held: Vec<usize>,
}

impl Pausing {
    #[inline]
    pub(super) fn is_paused(&self) -> bool {
        self.since.is_some()
    }

    /// Whether a time falls into a pause.
    #[inline]
    pub(super) fn covers(&self, scheduled: Timestamp) -> bool {
        if self.since.is_none() && self.over.is_empty() {
            return false;
        }
        // Most arrivals are later than all pauses but the last.
        let mut earlier = self.over.iter().rev().take_while(|(_, end)| scheduled < *end);
        self.since.is_some_and(|since| scheduled >= since) || earlier.any(|(begin, _)| scheduled >= *begin)
    }
}

impl<'r, 'p: 'r, D: Driver> Run<'r, 'p, D> {
    /// Begins or ends a pause that was requested by `now`; once for each wake-up. After the end of starts, the held clients
    /// are done.
    #[inline]
    pub(super) fn check_pause(&mut self, now: Timestamp) {
        let is_asked = self.stopping.stop.is_paused();
        if is_asked != self.pausing.is_paused() {
            match self.pausing.since.take() {
                Some(since) => self.pausing.over.push((since, now)),
                None => self.pausing.since = Some(now),
            }
        }
        if !self.pausing.held.is_empty() && (!is_asked || self.stopping.timeline.is_over(now)) {
            self.free_held(now);
        }
    }

    /// Whether a free client waits for the end of the pause, instead of ending now.
    pub(super) fn must_wait(&self, slot: usize, now: Timestamp) -> bool {
        !self.stopping.timeline.is_over(now) && !self.pacing.has_reached_limit(&self.sessions.slots[slot])
    }

    /// The client is free and gets its next transaction after the pause.
    pub(super) fn hold(&mut self, slot: usize) {
        if !std::mem::replace(&mut self.sessions.slots[slot].is_held, true) {
            self.pausing.held.push(slot);
        }
    }

    #[cold]
    fn free_held(&mut self, now: Timestamp) {
        for slot in std::mem::take(&mut self.pausing.held) {
            if std::mem::take(&mut self.sessions.slots[slot].is_held) {
                self.release(slot, now.max(self.latest));
            }
        }
    }
}
