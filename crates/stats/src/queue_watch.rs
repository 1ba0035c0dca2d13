//! Notices during a load with a rate that its queue grows without end: more transactions arrive than are completed. Such a
//! load cannot keep a latency, so it need not go on.

use std::time::Duration;

use crate::Interval;

/// Waiting times of this many limits make a queue too long.
const LIMITS: f64 = 2.0;
/// Standard deviations of a Poisson number of arrivals that may be waiting for no other reason.
const DEVIATIONS: f64 = 6.0;
/// An interval that completes this share of its arrivals does not let the queue grow.
const KEEPS_UP: f64 = 0.98;
/// Shorter intervals decide nothing.
const SECONDS_MIN: f64 = 0.5;

/// The queue of a load with a rate.
#[derive(Clone, Copy, Debug)]
pub struct QueueWatch {
    rate_tps: f64,
    /// The longest waiting time that matters, in seconds.
    limit_s: f64,
    arrived: f64,
    ended: f64,
    seconds: f64,
}

impl QueueWatch {
    /// A load with this rate, in which waiting for longer than `limit` breaks a promise.
    pub fn new(rate_tps: f64, limit: Duration) -> QueueWatch {
        let limit_s = limit.as_secs_f64();
        QueueWatch { rate_tps, limit_s, arrived: 0.0, ended: 0.0, seconds: 0.0 }
    }

    /// Adds the next measured interval; true if the queue grows without end. By Little's law, a queue of rate × time makes
    /// transactions wait for that time.
    pub fn take(&mut self, interval: &Interval) -> bool {
        let seconds = interval.end.since(interval.start).as_secs_f64();
        let arrived = self.rate_tps * seconds;
        let ended = interval.counts().scheduled as f64;
        self.seconds += seconds;
        self.arrived += arrived;
        self.ended += ended;
        let waiting = self.arrived - self.ended;
        let allowed = LIMITS * self.rate_tps * self.limit_s + DEVIATIONS * self.arrived.sqrt();
        self.seconds >= SECONDS_MIN && ended < KEEPS_UP * arrived && waiting > allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;

    /// Seconds with so many completions each; the number of seconds until the queue is too long.
    fn seconds_until(rate_tps: f64, limit_ms: u64, completions: &[u64]) -> Option<usize> {
        let mut watch = QueueWatch::new(rate_tps, Duration::from_millis(limit_ms));
        let mut interval = |ended: u64| {
            let mut interval = Interval::new(1);
            interval.end = Timestamp::from_nanos(1_000_000_000);
            let counts = &mut interval.scripts[0].counts;
            (counts.scheduled, counts.unfinished) = (ended, ended);
            watch.take(&interval)
        };
        completions.iter().position(|ended| interval(*ended)).map(|at| at + 1)
    }

    #[test]
    fn a_queue_that_grows_ends_the_load_and_the_noise_of_arrivals_does_not() {
        assert_eq!(seconds_until(1000.0, 20, &[500]), Some(1));
        assert_eq!(seconds_until(1000.0, 20, &[850, 850, 850]), Some(3));
        assert_eq!(seconds_until(1000.0, 20, &[950, 1010, 1030, 990, 1000]), None);
        assert_eq!(seconds_until(1000.0, 2000, &[500, 500, 500]), None, "waiting for 4 s is allowed");
    }

    #[test]
    fn a_queue_that_a_pause_has_left_and_that_shrinks_is_no_reason_to_end() {
        assert_eq!(seconds_until(1000.0, 200, &[700, 1100, 1100, 1100]), None);
        assert_eq!(seconds_until(1000.0, 20, &[1000, 980, 1020]), None);
    }
}
