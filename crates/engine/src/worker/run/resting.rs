//! Clients that wait before their next transaction: those without work in a stage, and those that think. Their time is
//! outside of each latency.

use stats::{TimeLaw, Timestamp};

use super::Run;
use crate::driver::Driver;

impl<'r, 'p: 'r, D: Driver> Run<'r, 'p, D> {
    /// Lets a client rest that has no work in this stage; false if it has work.
    pub(super) fn rest(&mut self, slot: usize, now: Timestamp) -> bool {
        let until = self.pacing.rests_until(self.number, slot, now, &self.stopping.timeline);
        self.sessions.slots[slot].is_resting = until.is_some();
        let Some(until) = until else { return false };
        self.set_timer(slot, until);
        true
    }

    /// Lets a free client think before its next transaction; false if it has thought, or has no further transaction.
    pub(super) fn think(&mut self, slot: usize, think_time: TimeLaw, now: Timestamp) -> bool {
        let is_over = self.stopping.timeline.is_over(now);
        let own = &mut self.sessions.slots[slot];
        if is_over || self.pacing.has_reached_limit(own) || std::mem::take(&mut own.has_thought) {
            own.is_resting = false;
            return false;
        }
        (own.is_resting, own.has_thought) = (true, true);
        let until = now + think_time.draw(own.think_draws.next_f64());
        let until = self.stopping.timeline.end.map_or(until, |end| until.min(end));
        self.set_timer(slot, until);
        true
    }
}
