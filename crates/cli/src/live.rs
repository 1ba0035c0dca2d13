//! What is shown while a run goes on, one line for each second or every few; and the keeping of the
//! seconds for the record.

use std::time::Duration;

use engine::Progress;
use report::{LiveSample, Phase};
use stats::{ScriptStats, Timestamp};

use crate::terminal::Terminal;

/// Shows and keeps the seconds of a run.
pub(crate) struct Live<'a> {
    terminal: &'a Terminal,
    /// Seconds that a line covers; 0: no lines.
    every_s: u32,
    open_loop: bool,
    intervals: Vec<results::Interval>,
    gathered: Gathered,
    /// When the measured window began, on the engine's clock and since its first transaction.
    origin: Option<Timestamp>,
    measuring_since: Option<Duration>,
}

/// The seconds of the next line.
#[derive(Default)]
struct Gathered {
    seconds: u32,
    time: Duration,
    stats: ScriptStats,
}

impl<'a> Live<'a> {
    pub(crate) fn new(terminal: &'a Terminal, every_s: u32, open_loop: bool) -> Self {
        let gathered = Gathered::default();
        Self {
            terminal,
            every_s,
            open_loop,
            intervals: Vec::new(),
            gathered,
            origin: None,
            measuring_since: None,
        }
    }

    /// Takes in a second.
    pub(crate) fn show(&mut self, progress: &Progress<'_>) {
        let interval = progress.interval;
        let length = interval.end.since(interval.start);
        if !progress.warmup {
            let origin = *self.origin.get_or_insert(interval.start);
            self.intervals.push(results::Interval::of(interval, origin));
            if self.measuring_since.is_none() {
                self.measuring_since = Some(progress.elapsed.saturating_sub(length));
                self.gathered = Gathered::default();
            }
        }
        self.gathered.stats.merge(&interval.total());
        self.gathered.seconds += 1;
        self.gathered.time += length;
        let due = self.gathered.seconds >= self.every_s;
        // The run ends a little after its last whole second; that remainder is no line's worth.
        if self.every_s > 0 && due && length >= SHORTEST_LINE {
            self.line(progress);
        }
    }

    fn line(&mut self, progress: &Progress<'_>) {
        let Gathered { time, stats, .. } = std::mem::take(&mut self.gathered);
        let since = self.measuring_since.unwrap_or(Duration::ZERO);
        let lag_us = || {
            let (response, service) = (stats.response.mean_ns()?, stats.service.mean_ns()?);
            Some((response - service) / NANOS_PER_MICRO)
        };
        let sample = LiveSample {
            elapsed: progress.elapsed.saturating_sub(since),
            phase: if progress.warmup { Phase::WarmUp } else { Phase::Measuring },
            tps: per_second(stats.counts.succeeded, time),
            response_us: results::Latency::of(&stats.response),
            failed: stats.counts.failed.total(),
            skipped: stats.counts.skipped,
            lag_us: self.open_loop.then(lag_us).flatten(),
        };
        self.terminal.say(report::live_line(&sample));
    }

    /// The measured seconds, for the record.
    pub(crate) fn take_intervals(&mut self) -> Vec<results::Interval> {
        std::mem::take(&mut self.intervals)
    }
}

/// Parts of a second below this are not shown as a line of their own.
const SHORTEST_LINE: Duration = Duration::from_millis(500);

const NANOS_PER_MICRO: f64 = 1e3;

#[allow(clippy::cast_precision_loss)] // a count of one line's seconds
fn per_second(count: u64, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { count as f64 / time.as_secs_f64() }
}
