//! Queue of future events in virtual time, ordered by time.
//! Events of the same time keep their order of insertion.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use stats::Timestamp;

/// Events in the order of their time.
#[derive(Debug)]
pub(super) struct EventQueue<T> {
    heap: BinaryHeap<Entry<T>>,
    entered: u64,
}

#[derive(Debug)]
struct Entry<T> {
    at: Timestamp,
    number: u64,
    what: T,
}

impl<T> EventQueue<T> {
    pub(super) fn new() -> Self {
        Self { heap: BinaryHeap::new(), entered: 0 }
    }

    pub(super) fn enter(&mut self, at: Timestamp, what: T) {
        self.heap.push(Entry { at, number: self.entered, what });
        self.entered += 1;
    }

    /// Time of the next event.
    pub(super) fn next_at(&self) -> Option<Timestamp> {
        self.heap.peek().map(|entry| entry.at)
    }

    /// The next event, if it is due.
    pub(super) fn take_due(&mut self, now: Timestamp) -> Option<(Timestamp, T)> {
        if self.next_at()? > now {
            return None;
        }
        self.heap.pop().map(|entry| (entry.at, entry.what))
    }

    /// Removes and returns all events selected by `wanted`, in order.
    pub(super) fn take_all(&mut self, wanted: impl Fn(&T) -> bool) -> Vec<(Timestamp, T)> {
        let all = std::mem::take(&mut self.heap).into_vec();
        let (mut taken, kept): (Vec<_>, Vec<_>) = all.into_iter().partition(|entry| wanted(&entry.what));
        self.heap = kept.into();
        taken.sort_by(|a, b| b.cmp(a));
        taken.into_iter().map(|entry| (entry.at, entry.what)).collect()
    }
}

/// Reversed order: the heap returns the greatest entry first.
impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Entry<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_happen_in_the_order_of_their_time_and_equal_ones_in_the_order_of_entry() {
        let at = Timestamp::from_nanos;
        let mut queue = EventQueue::new();
        for (time, what) in [(20, "c"), (10, "a"), (20, "d"), (10, "b"), (30, "e")] {
            queue.enter(at(time), what);
        }
        assert_eq!(queue.take_due(at(9)), None);
        assert_eq!(queue.take_due(at(25)), Some((at(10), "a")));
        assert_eq!(queue.take_all(|what| *what != "d"), [(at(10), "b"), (at(20), "c"), (at(30), "e")]);
        assert_eq!(queue.take_due(at(25)), Some((at(20), "d")));
        assert_eq!(queue.next_at(), None);
    }
}
