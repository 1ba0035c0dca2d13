//! Progress lines: one per second during a run. `cli` prints them from the newest interval; they are not stored.
//! Columns of successive lines are aligned.

use std::time::Duration;

use results::Latency;

use report::figures::{count, latency, rate, with_ordinary_spaces};

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
    /// Succeeded transactions that exceeded the latency limit; `None` without a limit.
    pub late: Option<u64>,
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
    let LiveSample { elapsed, phase, tps, response_us, failed, skipped, late, lag_us } = sample;
    let figure =
        |of: fn(&Latency) -> f64| response_us.as_ref().map_or(NOTHING.to_owned(), |us| latency(of(us)));
    let mut line = format!("{:>3.0} s {:>7} tps", elapsed.as_secs_f64(), rate(*tps));
    // With a latency limit, the mean makes room for the late transactions.
    if late.is_none() {
        line += &format!("  mean {:>7}", figure(|us| us.mean));
    }
    line += &format!("  p50 {:>7}  p99 {:>7}", figure(|us| us.p50), figure(|us| us.p99));
    if let (Phase::Measuring, Some(lag_us)) = (phase, lag_us) {
        line += &format!("  lag {:>7}", latency(*lag_us));
    }
    // Nor has the line room for zeros then.
    let has_zero = late.is_none_or(|late| late == 0 && *skipped == 0);
    let losses =
        [(*failed, "failed", has_zero), (*skipped, "skipped", false), (late.unwrap_or(0), "late", false)];
    let losses = losses.iter().filter(|(number, _, has_zero)| *number > 0 || *has_zero);
    let losses: Vec<String> = losses.map(|(number, what, _)| format!("{} {what}", count(*number))).collect();
    line += &format!("  {}", losses.join(", "));
    if *phase == Phase::WarmUp {
        line += "  warm-up";
    }
    with_ordinary_spaces(&line)
}
