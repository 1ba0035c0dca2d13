//! Progress lines: one per second during a run. `cli` prints them from the newest interval; they are not stored.
//! Columns of successive lines are aligned.

use std::time::Duration;

use results::Latency;

use crate::figures::{count, latency, rate, with_ordinary_spaces};

/// Contents of one line: the newest second of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveSample {
    /// Time since the start of the measured window, or of the warm-up during it.
    pub elapsed: Duration,
    /// Whether this second is measured.
    pub phase: Phase,
    /// Succeeded transactions per second.
    pub tps: f64,
    /// Response times; `None` if none succeeded.
    pub response_us: Option<Latency>,
    /// Failed transactions.
    pub failed: u64,
    /// Transactions skipped because of the latency limit.
    pub skipped: u64,
    /// Mean time between scheduled and actual start; `None` without a rate. Not shown for the warm-up.
    pub lag_us: Option<f64>,
}

/// Phase of a run.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Load runs, but is not measured.
    WarmUp,
    /// Measured.
    Measuring,
}

/// One line, without line end; at most 80 characters unless thousands failed.
pub fn live_line(sample: &LiveSample) -> String {
    const NOTHING: &str = "-   ";
    let LiveSample { elapsed, phase, tps, response_us, failed, skipped, lag_us } = sample;
    let figure =
        |of: fn(&Latency) -> f64| response_us.as_ref().map_or(NOTHING.to_owned(), |us| latency(of(us)));
    let mut line = format!(
        "{:>3.0} s {:>7} tps  mean {:>7}  p50 {:>7}  p99 {:>7}",
        elapsed.as_secs_f64(),
        rate(*tps),
        figure(|us| us.mean),
        figure(|us| us.p50),
        figure(|us| us.p99),
    );
    if let (Phase::Measuring, Some(lag_us)) = (phase, lag_us) {
        line += &format!("  lag {:>7}", latency(*lag_us));
    }
    line += &format!("  {} failed", count(*failed));
    if *skipped > 0 {
        line += &format!(", {} skipped", count(*skipped));
    }
    if *phase == Phase::WarmUp {
        line += "  warm-up";
    }
    with_ordinary_spaces(&line)
}
