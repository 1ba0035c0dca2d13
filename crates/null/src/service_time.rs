//! The time of statements, as of a server of known capacity: statements wait in one queue for some processors, and each takes
//! a time with a known law. With exponential times this is the queue M/M/c, with fixed times M/D/c, for random arrivals. The
//! service holds back the answers until then.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU32;

use sockets::Timers;
use stats::{SplitMix64, TimeLaw, Timestamp};

/// The time of statements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServiceTime {
    /// Of one statement, without waiting.
    pub time: TimeLaw,
    /// Statements that are served at the same time.
    pub processors: NonZeroU32,
    /// Seed of the times.
    pub seed: u64,
}

/// The statements that wait or are served. Its caller reads the clock.
#[derive(Debug)]
pub(super) struct ServiceQueue {
    time: TimeLaw,
    random: SplitMix64,
    /// When each processor is free.
    free: BinaryHeap<Reverse<Timestamp>>,
    /// When answers are due: the token of a connection, and its number, because tokens are used again.
    due: Timers<(usize, usize)>,
}

impl ServiceQueue {
    pub(super) fn new(plan: ServiceTime) -> Self {
        let free = (0..plan.processors.get()).map(|_| Reverse(Timestamp::ZERO)).collect();
        Self { time: plan.time, random: SplitMix64::new(plan.seed), free, due: Timers::default() }
    }

    /// Statements of a connection have arrived.
    pub(super) fn arrive(&mut self, statements: usize, connection: (usize, usize), now: Timestamp) {
        let Some(Reverse(free)) = self.free.pop() else { return };
        let mut done = now.max(free);
        for _ in 0..statements {
            // A share is above 0 and at most 1.
            done = done + self.time.draw(1.0 - self.random.share());
        }
        self.free.push(Reverse(done));
        self.due.set(done, connection);
    }

    /// The next connection whose answers are due by now.
    pub(super) fn pop_due(&mut self, now: Timestamp) -> Option<(usize, usize)> {
        self.due.pop_due(now).map(|(_, connection)| connection)
    }

    /// When the next answers are due.
    pub(super) fn earliest(&self) -> Option<Timestamp> {
        self.due.earliest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_served_in_the_order_of_arrival_by_the_first_free_processor() {
        let ms = |ms: u64| Timestamp::from_nanos(ms * 1_000_000);
        let time = TimeLaw::Fixed(std::time::Duration::from_millis(10));
        let processors = NonZeroU32::new(2).expect("two");
        let mut queue = ServiceQueue::new(ServiceTime { time, processors, seed: 1 });
        for (number, at) in [(0, 0), (1, 1), (2, 2), (3, 3)] {
            queue.arrive(1, (number, number), ms(at));
        }
        // Two statements in one message, when all processors are free again.
        queue.arrive(2, (4, 4), ms(50));
        let mut done = Vec::new();
        while let Some(at) = queue.earliest() {
            assert_eq!(queue.pop_due(Timestamp::from_nanos(at.as_nanos() - 1)), None);
            done.extend(queue.pop_due(at).map(|(token, _)| (token, at.as_nanos() / 1_000_000)));
        }
        assert_eq!(done, [(0, 10), (1, 11), (2, 20), (3, 21), (4, 70)]);
    }
}
