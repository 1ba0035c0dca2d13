//! Stalls: periods of the measured time without a completed transaction that are much longer than a transaction, and
//! their effect on the response times of a closed loop. Computed from the engine's gaps when a record is made.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::{Distribution, GAP_MIN, Gaps, LongGaps, ScriptStats};

use crate::{Connecting, Latency};

/// Stalls of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stalls {
    /// A period without a completed transaction is a stall if it is longer than this.
    pub threshold_us: f64,
    /// Number of stalls.
    pub count: u64,
    /// Sum of their lengths in seconds.
    pub total_s: f64,
    /// The longest stalls, at most a hundred, by start time.
    pub longest: Vec<Stall>,
}

/// A period of the measured time without a completed transaction.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stall {
    /// Start, in seconds since measuring began.
    pub start_s: f64,
    /// End, in seconds since measuring began.
    pub end_s: f64,
}

impl Stall {
    /// Length in seconds.
    pub fn length_s(&self) -> f64 {
        self.end_s - self.start_s
    }
}

/// Maximum number of stalls in a record.
const STALLS_LISTED_MAX: usize = 100;
/// Factor of p99.9 above which a gap is a stall, …
const TIMES_P999: u32 = 10;
/// … or a length above which it is one, …
const LONG: Duration = Duration::from_secs(1);
/// … unless this multiple of the median response time is longer.
const TIMES_MEDIAN: u32 = 3;
/// The lower of the two thresholds: p99.9 may be raised by the stall itself, or be far below a second.
/// that is far below a second hides it.
fn threshold(response: &Distribution) -> Duration {
    let quantile = |q: f64| response.quantile_ns(q).map(Duration::from_nanos);
    let times = |time: Option<Duration>, factor: u32| time.map(|time| time.saturating_mul(factor));
    let long = LONG.max(times(quantile(0.5), TIMES_MEDIAN).unwrap_or_default());
    times(quantile(0.999), TIMES_P999).unwrap_or(LONG).min(long).max(GAP_MIN)
}

/// Extension of the threshold with a connection per transaction, because connecting lies between two transactions and
/// is in no latency. It is limited like the threshold, so that a stall of connecting itself is not hidden.
fn allowance(connecting: Connecting) -> Duration {
    let mean_s = connecting.total_s / connecting.connects.max(1) as f64;
    let mean = Duration::try_from_secs_f64(mean_s).unwrap_or_default();
    mean.saturating_mul(TIMES_P999).min(LONG.max(mean.saturating_mul(TIMES_MEDIAN)))
}

/// The stalls of a run, and for a closed loop with stalls the response times including the transactions that the stalls
/// kept from starting. `None` if not recorded.
pub(crate) fn of(
    summary: &stats::Summary,
    gaps: Option<&Gaps>,
    connecting: Option<Connecting>,
    is_closed: bool,
) -> (Option<Stalls>, Option<Latency>) {
    let Some(gaps) = gaps else { return (None, None) };
    let threshold = threshold(&summary.total.response) + connecting.map_or(Duration::ZERO, allowance);
    let long = gaps.longer_than(threshold);
    // A stall may reach into the tail.
    let whole = summary.duration.saturating_add(summary.tail);
    let with_stalls =
        if is_closed { with_stalls(&summary.total, whole, gaps, &long, threshold) } else { None };
    let mut longest = long.longest.clone();
    longest.sort_unstable_by_key(|gap| std::cmp::Reverse(gap.length()));
    longest.truncate(STALLS_LISTED_MAX);
    longest.sort_unstable_by_key(|gap| gap.start);
    let stall = |gap: &stats::Gap| Stall { start_s: gap.start.as_secs_f64(), end_s: gap.end.as_secs_f64() };
    let stalls = Stalls {
        threshold_us: threshold.as_secs_f64() * 1e6,
        count: long.count,
        total_s: long.total.as_secs_f64(),
        longest: longest.iter().map(stall).collect(),
    };
    (Some(stalls), with_stalls)
}

/// `None` without a stall, or without a transaction outside of the stalls, which determines the pace.
fn with_stalls(
    total: &ScriptStats,
    duration: Duration,
    gaps: &Gaps,
    long: &LongGaps,
    threshold: Duration,
) -> Option<Latency> {
    let completed = total.counts.succeeded + total.counts.failed;
    let outside_s = duration.saturating_sub(long.total).as_secs_f64();
    if long.count == 0 || completed == 0 || outside_s <= 0.0 {
        return None;
    }
    // What a stall kept from finishing has waited too.
    let mut base = total.response.clone();
    let not_ended = total.unfinished.buckets().chain(total.unknown.buckets());
    let stalled = not_ended.filter(|(lowest, ..)| Duration::from_nanos(*lowest) > threshold);
    stalled.for_each(|(lowest, _, count)| base.record_times(Duration::from_nanos(lowest), count));
    let per_s = completed as f64 / outside_s;
    Latency::of(&stats::with_stalls(&base, &long.longest, per_s, gaps.last_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(latencies_ms: &[(u64, u64)], expected_ms: u64) {
        let mut response = Distribution::new();
        for (each_ms, times) in latencies_ms {
            response.record_times(Duration::from_millis(*each_ms), *times);
        }
        let found = threshold(&response);
        let expected = Duration::from_millis(expected_ms);
        assert!(found.abs_diff(expected) <= expected / 500, "{found:?}, not {expected:?}");
    }

    #[test]
    fn a_gap_is_a_stall_from_the_shorter_of_ten_times_p999_and_a_second_on() {
        check(&[], 1_000);
        check(&[(4, 10_000)], 40);
        check(&[(4, 10_000), (300, 100)], 1_000);
        // Stalled transactions that are p99.9 themselves hide nothing.
        check(&[(4, 500), (12_000, 8)], 1_000);
    }

    #[test]
    fn connecting_for_each_transaction_is_no_stall() {
        let of = |total_s: f64, connects: u64| allowance(Connecting { connects, total_s });
        assert_eq!(of(1.5, 100), Duration::from_millis(150));
        assert_eq!(of(50.0, 100), Duration::from_millis(1_500), "connects of half a second");
        assert_eq!(of(13.0, 100), Duration::from_secs(1), "a stall of 12 s among 100 connects of 10 ms");
        assert_eq!(of(0.0, 0), Duration::ZERO);
    }

    #[test]
    fn transactions_that_usually_take_seconds_make_no_stalls() {
        check(&[(2_000, 50), (2_500, 50)], 6_000);
    }

    #[test]
    fn a_gap_that_is_below_what_can_be_seen_is_no_stall() {
        let mut response = Distribution::new();
        response.record_times(Duration::from_micros(50), 1_000);
        assert_eq!(threshold(&response), GAP_MIN);
    }
}
