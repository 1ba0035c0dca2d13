//! What is to be done when: a heap, earliest first. Holds no clock; the service asks it with its `now`.
//! An entry of a connection that is gone meanwhile is recognised by the connection's number.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use stats::Timestamp;

/// What can be due. Connections are named by their slot, lanes by twice that and the direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Task {
    /// The front of a lane goes to its socket.
    Forward {
        /// Which lane.
        lane: usize,
        /// Of which connection.
        number: u64,
    },
    /// The client's wish to connect has come to the server's side.
    Dial {
        /// Where the connection is kept.
        slot: usize,
        /// Which one it is.
        number: u64,
    },
    /// The news that the server was reached has come to the client's side.
    Open {
        /// Where the connection is kept.
        slot: usize,
        /// Which one it is.
        number: u64,
    },
    /// There is room before the link of this direction.
    Room(usize),
    /// Somebody may still be at the door.
    Door,
}

/// Tasks by time; of the same time, in the order of the tasks.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    heap: BinaryHeap<Reverse<(Timestamp, Task)>>,
}

impl Schedule {
    pub(crate) fn add(&mut self, at: Timestamp, task: Task) {
        self.heap.push(Reverse((at, task)));
    }

    /// When something is due next.
    pub(crate) fn earliest(&self) -> Option<Timestamp> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// The next task whose time has come.
    pub(crate) fn pop_due(&mut self, now: Timestamp) -> Option<Task> {
        if self.earliest()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, task))| task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_come_in_order_and_never_early() {
        let at = Timestamp::from_nanos;
        let mut schedule = Schedule::default();
        schedule.add(at(30), Task::Door);
        schedule.add(at(10), Task::Room(1));
        schedule.add(at(10), Task::Room(0));
        assert_eq!(schedule.earliest(), Some(at(10)));
        assert_eq!(schedule.pop_due(at(9)), None);
        assert_eq!(schedule.pop_due(at(10)), Some(Task::Room(0)));
        assert_eq!(schedule.pop_due(at(10)), Some(Task::Room(1)));
        assert_eq!(schedule.pop_due(at(29)), None);
        assert_eq!(schedule.pop_due(at(30)), Some(Task::Door));
        assert_eq!(schedule.pop_due(at(31)), None);
    }
}
