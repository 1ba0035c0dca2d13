//! Progress lines (`-P`): statistics since the previous line. Lines are due at multiples of the interval from the start
//! of the run; if the run stalls, the missed lines are omitted.

use std::time::Duration;

use stats::{Distribution, Interval, ScriptStats};

use super::Columns;
use super::c_numbers::{fixed, milliseconds, thousandths};

/// Meaning of the time at the beginning of a line.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ProgressClock {
    /// Seconds since the run began.
    SinceStart,
    /// Seconds since 1970 (`--progress-timestamp`).
    Unix {
        /// Start of the run, since 1970.
        start: Duration,
    },
}

/// Decides when a line is due, and accumulates its intervals.
#[derive(Clone, Debug)]
pub struct ProgressMeter {
    every: Duration,
    clock: ProgressClock,
    columns: Columns,
    /// Times of the last line and of the next, since the start of the run.
    last: Duration,
    next: Duration,
    gathered: ScriptStats,
}

impl ProgressMeter {
    /// A meter with a line every `every_s` seconds, at least 1.
    pub fn new(every_s: u32, clock: ProgressClock, columns: Columns) -> ProgressMeter {
        let every = Duration::from_secs(u64::from(every_s.max(1)));
        let gathered = ScriptStats::new();
        ProgressMeter { every, clock, columns, last: Duration::ZERO, next: every, gathered }
    }

    /// Adds the next interval of all workers, which ended `elapsed` after the start. Returns the line, without line
    /// end, if one is due.
    pub fn take(&mut self, elapsed: Duration, interval: &Interval) -> Option<String> {
        interval.scripts.iter().for_each(|script| self.gathered.merge(script));
        if elapsed < self.next {
            return None;
        }
        let covered = elapsed.saturating_sub(self.last);
        let line = progress_line(self.clock, elapsed, covered, &self.gathered, &self.columns);
        self.gathered.clear();
        self.last = elapsed;
        let lines_due = elapsed.as_nanos() / self.every.as_nanos();
        let lines_due = u32::try_from(lines_due).unwrap_or(u32::MAX);
        self.next = self.every.saturating_mul(lines_due.saturating_add(1));
        Some(line)
    }
}

/// One line, without line end, from the statistics of the `covered` time before `elapsed`.
pub fn progress_line(
    clock: ProgressClock,
    elapsed: Duration,
    covered: Duration,
    stats: &ScriptStats,
    columns: &Columns,
) -> String {
    let time = match clock {
        ProgressClock::SinceStart => fixed(elapsed.as_secs_f64(), 1),
        ProgressClock::Unix { start } => thousandths((start + elapsed).as_secs_f64()),
    };
    let tps = if covered.is_zero() { 0.0 } else { stats.counts.succeeded as f64 / covered.as_secs_f64() };
    let mean_us = |of: &Distribution| of.mean_ns().unwrap_or(0.0) / NANOSECONDS_PER_MICROSECOND;
    let average = milliseconds(mean_us(&stats.response));
    let deviation = milliseconds(stats.response.stddev_ns().unwrap_or(0.0) / NANOSECONDS_PER_MICROSECOND);
    let failed = stats.counts.failed;
    let mut line = format!(
        "progress: {time} s, {} tps, lat {average} ms stddev {deviation}, {failed} failed",
        fixed(tps, 1)
    );
    if columns.lag {
        let lag = milliseconds(mean_us(&stats.response) - mean_us(&stats.service));
        line += &format!(", lag {lag} ms");
    }
    if columns.skipped() {
        line += &format!(", {} skipped", stats.counts.skipped);
    }
    if columns.retries {
        line += &format!(", {} retried, {} retries", stats.counts.retried, stats.counts.retries);
    }
    line
}

const NANOSECONDS_PER_MICROSECOND: f64 = 1e3;
