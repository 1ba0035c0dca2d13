//! Who wants to be woken when: at most one timer per client.
//! Holds no clock; the worker asks it with its `now`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use stats::Timestamp;

/// Deadlines of one worker's clients, earliest first; equal ones in the order of the clients.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Timestamp, usize)>>,
}

impl Timers {
    /// Wakes `client` at `at`.
    pub(crate) fn set(&mut self, at: Timestamp, client: usize) {
        self.heap.push(Reverse((at, client)));
    }

    /// The earliest deadline.
    pub(crate) fn earliest(&self) -> Option<Timestamp> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// The next client whose deadline has come, with the deadline.
    pub(crate) fn pop_due(&mut self, now: Timestamp) -> Option<(Timestamp, usize)> {
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
