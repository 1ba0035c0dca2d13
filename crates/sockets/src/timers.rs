//! Queue of timed entries, earliest first, without a clock: the caller passes `now`. Entries cannot be cancelled; the
//! owner recognises outdated ones.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use stats::Timestamp;

/// Entries by due time; entries with the same time are ordered by value.
#[derive(Debug)]
pub struct Timers<T: Ord> {
    heap: BinaryHeap<Reverse<(Timestamp, T)>>,
}

impl<T: Ord> Default for Timers<T> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new() }
    }
}

impl<T: Ord> Timers<T> {
    /// Adds `what`, due at `at`.
    #[inline]
    pub fn set(&mut self, at: Timestamp, what: T) {
        self.heap.push(Reverse((at, what)));
    }

    /// The next due time.
    #[inline]
    pub fn earliest(&self) -> Option<Timestamp> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// Removes the next entry that is due, and returns it with its time.
    #[inline]
    pub fn pop_due(&mut self, now: Timestamp) -> Option<(Timestamp, T)> {
        if self.earliest()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_fire_in_order_and_never_early() {
        let at = Timestamp::from_nanos;
        let mut timers = Timers::default();
        timers.set(at(30), 1);
        timers.set(at(10), 2);
        timers.set(at(10), 0);
        assert_eq!(timers.earliest(), Some(at(10)));
        assert_eq!(timers.pop_due(at(9)), None);
        assert_eq!(timers.pop_due(at(10)), Some((at(10), 0)));
        assert_eq!(timers.pop_due(at(10)), Some((at(10), 2)));
        assert_eq!(timers.pop_due(at(29)), None);
        assert_eq!(timers.pop_due(at(40)), Some((at(30), 1)));
        assert_eq!(timers.pop_due(at(40)), None);
    }
}
