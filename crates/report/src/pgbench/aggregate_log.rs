//! The aggregated log (`--aggregate-interval`): one line per interval, intervals without transactions included.
//! A log covers one worker or all; the caller chooses the file.

use std::fmt::Write;

use stats::{Ending, Failure, Sample, Timestamp};

use super::transaction_log::{lag_us, response_us};
use super::{Columns, LogFormat};

/// State of the log. Memory and time per transaction are constant.
#[derive(Clone, Debug)]
pub struct AggregateLog {
    format: LogFormat,
    interval_s: u64,
    /// Start of the current interval, in seconds since 1970.
    start_s: u64,
    current: Aggregate,
}

/// Sums of one interval.
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

/// Sums in whole microseconds; exact, where pgbench uses floating point.
#[derive(Copy, Clone, Debug, Default)]
struct Spread {
    count: u64,
    sum: u128,
    sum_of_squares: u128,
    min: u64,
    max: u64,
}

impl AggregateLog {
    /// A log whose first interval starts at the full second before `start`. `interval_s` is at least 1.
    pub fn new(format: LogFormat, interval_s: u32, start: Timestamp) -> AggregateLog {
        let interval_s = u64::from(interval_s.max(1));
        AggregateLog {
            format,
            interval_s,
            start_s: format.unix(start).as_secs(),
            current: Aggregate::default(),
        }
    }

    /// Counts a completed transaction, and appends the lines of the intervals completed before its end.
    pub fn record(&mut self, sample: &Sample, out: &mut String) {
        self.advance(sample.finished, out);
        self.current.count(sample);
    }

    /// Appends the lines of the intervals that are complete at `now`, for the end of a worker. As in pgbench, the last
    /// interval is incomplete and is not written.
    pub fn advance(&mut self, now: Timestamp, out: &mut String) {
        let now_s = self.format.unix(now).as_secs();
        while self.start_s.saturating_add(self.interval_s) <= now_s {
            self.write(out);
            self.start_s += self.interval_s;
            self.current = Aggregate::default();
        }
    }

    /// Like [`AggregateLog::advance`], but also writes the incomplete interval.
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
    /// Counts as pgbench does: only succeeded transactions have a latency; skipped ones have no tries.
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
            // Only pgmeter's own runs have these two; pgbench's format has no column for them.
            Ending::Failed(Failure::Connection | Failure::Other) | Ending::Unknown => self.other += 1,
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
