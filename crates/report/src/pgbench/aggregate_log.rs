//! The aggregated log: a line for every so many seconds, also for those in which nothing happened.
//! One log is of one worker, or of all; which file its lines go to is the caller's business.

use std::fmt::Write;

use stats::{Ending, Failure, Sample, Timestamp};

use super::transaction_log::{lag_us, response_us};
use super::{Columns, LogFormat};

/// The log in the making. Memory and time do not depend on how many transactions a line is of.
#[derive(Clone, Debug)]
pub struct AggregateLog {
    format: LogFormat,
    interval_s: u64,
    /// Where the unfinished interval begins, in seconds since 1970.
    start_s: u64,
    current: Aggregate,
}

/// What is known of an interval.
#[derive(Copy, Clone, Debug, Default)]
struct Aggregate {
    latency_us: Spread,
    lag_us: Spread,
    skipped: u64,
    retried: u64,
    retries: u64,
    serialization: u64,
    deadlock: u64,
    other: u64,
}

/// Sums of whole microseconds, exact where pgbench's are floating.
#[derive(Copy, Clone, Debug, Default)]
struct Spread {
    count: u64,
    sum: u128,
    sum_of_squares: u128,
    min: u64,
    max: u64,
}

impl AggregateLog {
    /// A log whose first interval begins at the whole second before `start`, with intervals of `interval_s`
    /// seconds, at least 1.
    pub fn new(format: LogFormat, interval_s: u32, start: Timestamp) -> AggregateLog {
        let interval_s = u64::from(interval_s.max(1));
        AggregateLog {
            format,
            interval_s,
            start_s: format.unix(start).as_secs(),
            current: Aggregate::default(),
        }
    }

    /// Counts a transaction that is over, and appends the lines of the intervals that are over by then.
    pub fn record(&mut self, sample: &Sample, out: &mut String) {
        self.advance(sample.finished, out);
        self.current.count(sample);
    }

    /// Appends the lines of the intervals that are over at `now`: at the end of a worker, what no later transaction
    /// would bring to light. The last one is not over then, and pgbench does not write it.
    pub fn advance(&mut self, now: Timestamp, out: &mut String) {
        let now_s = self.format.unix(now).as_secs();
        while self.start_s.saturating_add(self.interval_s) <= now_s {
            self.write(out);
            self.start_s += self.interval_s;
            self.current = Aggregate::default();
        }
    }

    /// As [`AggregateLog::advance`], and the line of the interval that is not over, so that nothing is lost.
    pub fn finish(mut self, now: Timestamp, out: &mut String) {
        self.advance(now, out);
        self.write(out);
    }

    fn write(&self, out: &mut String) {
        let Aggregate { latency_us, lag_us, skipped, retried, retries, serialization, deadlock, other } =
            self.current;
        let Columns { lag, latency_limit, retries: with_retries, failures_detailed } = self.format.columns;
        let or_zero = |shown: bool, number: u64| if shown { number } else { 0 };
        let _ = write!(out, "{} {}", self.start_s, latency_us.count);
        latency_us.write(out);
        if lag { lag_us } else { Spread::default() }.write(out);
        let _ = write!(out, " {}", or_zero(latency_limit, skipped));
        let _ = write!(out, " {} {}", or_zero(with_retries, retried), or_zero(with_retries, retries));
        for number in [serialization, deadlock, other] {
            let _ = write!(out, " {}", or_zero(failures_detailed, number));
        }
        out.push('\n');
    }
}

impl Aggregate {
    /// As pgbench counts them: only succeeded ones have a latency, skipped ones no tries.
    fn count(&mut self, sample: &Sample) {
        match sample.ending {
            Ending::Unfinished => return,
            Ending::Succeeded => {
                self.latency_us.record(response_us(sample));
                self.lag_us.record(lag_us(sample));
            }
            Ending::Skipped => self.skipped += 1,
            Ending::Failed(Failure::Serialization) => self.serialization += 1,
            Ending::Failed(Failure::Deadlock) => self.deadlock += 1,
            Ending::Failed(Failure::Other) => self.other += 1,
        }
        if sample.tries > 1 {
            self.retried += 1;
            self.retries += u64::from(sample.tries - 1);
        }
    }
}

impl Spread {
    fn record(&mut self, us: u64) {
        self.min = if self.count == 0 { us } else { self.min.min(us) };
        self.max = self.max.max(us);
        self.count += 1;
        let wide = u128::from(us);
        self.sum += wide;
        self.sum_of_squares = self.sum_of_squares.saturating_add(wide * wide);
    }

    fn write(&self, out: &mut String) {
        let Spread { count: _, sum, sum_of_squares, min, max } = self;
        let _ = write!(out, " {sum} {sum_of_squares} {min} {max}");
    }
}
