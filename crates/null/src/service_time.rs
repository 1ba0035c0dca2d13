//! The time of statements, as of a server of known capacity: statements wait in one queue for some processors, and each takes
//! a time with a known law. With exponential times this is the queue M/M/c, with fixed times M/D/c, for random arrivals. The
//! service holds back the answers until then.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU32;

use sockets::{Clock, Timers};
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

/// The statements that wait or are served.
#[derive(Debug)]
pub(super) struct ServiceQueue {
    clock: Clock,
    time: TimeLaw,
    random: SplitMix64,
    /// When each processor is free.
    free: BinaryHeap<Reverse<Timestamp>>,
    /// When answers are due: the token of a connection, and its number, because tokens are used again.
    due: Timers<(usize, usize)>,
}

impl ServiceQueue {
    pub(super) fn new(plan: ServiceTime, clock: Clock) -> Self {
        let free = (0..plan.processors.get()).map(|_| Reverse(Timestamp::ZERO)).collect();
        Self { clock, time: plan.time, random: SplitMix64::new(plan.seed), free, due: Timers::default() }
    }

    /// So many statements of a connection have arrived.
    pub(super) fn arrive(&mut self, statements: usize, connection: (usize, usize)) {
        let now = self.clock.now();
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
    pub(super) fn pop_due(&mut self) -> Option<(usize, usize)> {
        let now = self.clock.now();
        self.due.pop_due(now).map(|(_, connection)| connection)
    }

    /// When the next answers are due, and the time now.
    pub(super) fn next(&self) -> Option<(Timestamp, Timestamp)> {
        Some((self.due.earliest()?, self.clock.now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_served_in_the_order_of_arrival_by_the_first_free_processor() {
        let time = TimeLaw::Fixed(std::time::Duration::from_millis(10));
        let two = NonZeroU32::new(2).expect("two");
        let mut queue = ServiceQueue::new(ServiceTime { time, processors: two, seed: 1 }, Clock::start());
        let begin = queue.clock.now();
        for number in 0..4 {
            queue.arrive(1, (number, number));
        }
        let mut done = Vec::new();
        while let Some((at, _)) = queue.next() {
            while queue.clock.now() < at {
                std::hint::spin_loop();
            }
            done.extend(queue.pop_due().map(|(token, _)| (token, at.since(begin).as_millis())));
        }
        assert_eq!(done.iter().map(|(token, _)| *token).collect::<Vec<_>>(), [0, 1, 2, 3]);
        let at: Vec<u128> = done.iter().map(|(_, at)| *at / 10).collect();
        assert_eq!(at, [1, 1, 2, 2]);
    }
}
