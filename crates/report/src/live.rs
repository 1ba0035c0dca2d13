//! The line per second while a run goes on. Nothing of it is stored; made from the newest interval.

use std::time::Duration;

/// What one line tells: the newest second of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveSample {
    /// Time since measuring began, or since warming up began during the warm-up.
    pub elapsed: Duration,
    /// Whether this second counts.
    pub phase: Phase,
    /// Succeeded transactions per second.
    pub tps: f64,
    /// Response times; `None` if none succeeded.
    pub response_us: Option<results::Latency>,
    /// Failed transactions.
    pub failed: u64,
    /// Transactions that were skipped because they would have been too late.
    pub skipped: u64,
    /// Mean time between scheduled and started; `None` without a rate.
    pub lag_us: Option<f64>,
}

/// The part of a run that a second belongs to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Run, but not measured.
    WarmUp,
    /// Measured.
    Measuring,
}

/// One line, without line end.
pub fn live_line(sample: &LiveSample) -> String {
    format!("{:.0} s  {:.0} tps", sample.elapsed.as_secs_f64(), sample.tps)
}
