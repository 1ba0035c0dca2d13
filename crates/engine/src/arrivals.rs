//! When transactions are scheduled to start: as soon as a client is free, or on a fixed plan.
//!
//! Under a rate the arrivals are a Poisson stream drawn from the seed alone. They are fixed before the
//! server is looked at, so a slow server cannot thin them out (no coordinated omission): an arrival
//! that finds no free client waits, and its response time counts from its scheduled start.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use script::Random;
use stats::Timestamp;

/// One worker's stream of scheduled starts.
#[derive(Debug)]
pub(crate) enum Arrivals {
    /// Closed loop: the next transaction is scheduled when its client becomes free.
    Closed,
    /// Open loop.
    Open(Poisson),
}

/// A Poisson stream: exponential gaps with the given mean, in whole microseconds as pgbench draws
/// them (reference, section 14).
#[derive(Debug)]
pub(crate) struct Poisson {
    random: Random,
    mean_gap_us: f64,
    last: Timestamp,
    /// Given back; the earliest is taken first.
    returned: BinaryHeap<Reverse<Timestamp>>,
}

impl Arrivals {
    /// The stream of one of `workers` workers that together make `rate_per_s`, beginning at `start`.
    pub(crate) fn new(rate_per_s: Option<f64>, workers: usize, random: Random, start: Timestamp) -> Self {
        match rate_per_s {
            None => Self::Closed,
            Some(rate) => {
                let mean_gap_us = MICROS_PER_SECOND / rate * workers as f64;
                Self::Open(Poisson { random, mean_gap_us, last: start, returned: BinaryHeap::new() })
            }
        }
    }

    /// The scheduled start of the next transaction, which may be in the past or in the future.
    pub(crate) fn next(&mut self, now: Timestamp) -> Timestamp {
        match self {
            Self::Closed => now,
            Self::Open(stream) => stream.next(),
        }
    }

    /// Gives back a start that [`Arrivals::next`] returned, because its client will not take it.
    pub(crate) fn put_back(&mut self, scheduled: Timestamp) {
        if let Self::Open(stream) = self {
            stream.returned.push(Reverse(scheduled));
        }
    }

    /// Whether starts are fixed by a rate.
    pub(crate) fn are_scheduled(&self) -> bool {
        matches!(self, Self::Open(_))
    }

    /// The next scheduled start before `end` that nobody has taken; it is used up.
    pub(crate) fn next_missed(&mut self, end: Timestamp) -> Option<Timestamp> {
        let Self::Open(stream) = self else { return None };
        let scheduled = stream.next();
        (scheduled < end).then_some(scheduled)
    }
}

const MICROS_PER_SECOND: f64 = 1e6;

impl Poisson {
    fn next(&mut self) -> Timestamp {
        if let Some(Reverse(scheduled)) = self.returned.pop() {
            return scheduled;
        }
        let gap = Duration::from_micros(self.random.poisson_delay_us(self.mean_gap_us));
        self.last = self.last + gap;
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Timestamp {
        Timestamp::ZERO + Duration::from_secs(seconds)
    }

    fn missed(arrivals: &mut Arrivals, until_s: u64) -> Vec<Timestamp> {
        std::iter::from_fn(|| arrivals.next_missed(seconds(until_s))).collect()
    }

    #[test]
    fn a_closed_loop_schedules_when_asked() {
        let mut arrivals = Arrivals::new(None, 1, Random::from_seed(1), Timestamp::ZERO);
        let now = Timestamp::from_nanos(77);
        assert_eq!(arrivals.next(now), now);
        assert_eq!(arrivals.next_missed(now), None);
    }

    #[test]
    fn an_open_loop_does_not_look_at_now() {
        let stream = || Arrivals::new(Some(1000.0), 2, Random::from_seed(1), Timestamp::from_nanos(5));
        let (mut early, mut late) = (stream(), stream());
        for k in 0..1000 {
            assert_eq!(early.next(Timestamp::ZERO), late.next(seconds(k)));
        }
    }

    #[test]
    fn an_open_loop_keeps_its_rate() {
        let mut arrivals = Arrivals::new(Some(500.0), 1, Random::from_seed(42), Timestamp::ZERO);
        let count = missed(&mut arrivals, 100).len() as f64;
        let expected = 50_000.0_f64;
        assert!((count - expected).abs() < 5.0 * expected.sqrt(), "{count} arrivals, {expected} expected");
    }

    #[test]
    fn a_start_that_is_put_back_is_taken_again_the_earliest_first() {
        let mut arrivals = Arrivals::new(Some(1000.0), 1, Random::from_seed(7), Timestamp::ZERO);
        let taken = [(); 3].map(|()| arrivals.next(Timestamp::ZERO));
        for scheduled in [taken[2], taken[0], taken[1]] {
            arrivals.put_back(scheduled);
        }
        assert_eq!([(); 3].map(|()| arrivals.next(Timestamp::ZERO)), taken);
        for scheduled in taken {
            arrivals.put_back(scheduled);
        }
        assert_eq!(arrivals.next_missed(taken[1]), Some(taken[0]));
        assert_eq!(arrivals.next_missed(taken[1]), None);
    }

    #[test]
    fn a_start_that_is_put_back_is_drained_with_the_others() {
        let mut arrivals = Arrivals::new(Some(1000.0), 1, Random::from_seed(7), Timestamp::ZERO);
        let mut untouched = Arrivals::new(Some(1000.0), 1, Random::from_seed(7), Timestamp::ZERO);
        let first = arrivals.next(Timestamp::ZERO);
        arrivals.put_back(first);
        assert_eq!(missed(&mut arrivals, 1), missed(&mut untouched, 1));
    }
}
