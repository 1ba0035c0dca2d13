//! Durations of transactions that did not succeed, and percentiles that include them. `summary.response_us` covers
//! succeeded transactions only. Made with the record; the intervals have the histograms.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::ScriptStats;

use crate::Latency;
use crate::summary::NANOSECONDS_PER_MICROSECOND;

/// Response times of transactions that did not succeed, from scheduled to their end.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OtherEndings {
    /// Of failed transactions; `null` without any.
    pub failed_us: Option<Latency>,
    /// Lateness of skipped transactions; `null` without any.
    pub skipped_us: Option<Latency>,
    /// Time since the scheduled start of unfinished transactions, or without a rate since their start; `null` without
    /// any.
    pub unfinished_us: Option<Latency>,
    /// Time from the scheduled start to the loss of the connection, of transactions with an unknown ending; `null`
    /// without any.
    #[serde(default)]
    pub unknown_us: Option<Latency>,
    /// Percentiles of all transactions, with any ending; `null` if all succeeded.
    pub all_us: Option<Percentiles>,
}

/// Percentiles in microseconds. Skipped, unfinished and unknown transactions are censored observations (Kaplan and
/// Meier): their response time is at least the time until then.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)] // the names say it all
pub struct Percentiles {
    pub p50: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
}

impl OtherEndings {
    pub(crate) fn of(stats: &ScriptStats) -> OtherEndings {
        let counts = &stats.counts;
        let all = stats::quantiles_of_all(stats, [0.5, 0.9, 0.95, 0.99, 0.999, 1.0]);
        let all = all.filter(|_| counts.succeeded < counts.scheduled);
        let percentiles = |ns: [u64; 6]| {
            let [p50, p90, p95, p99, p999, _] = ns.map(|ns| ns as f64 / NANOSECONDS_PER_MICROSECOND);
            // The maximum over all observations, completed or not.
            let endings = [&stats.response, &stats.failed, &stats.skipped, &stats.unfinished, &stats.unknown];
            let max_ns = endings.iter().filter_map(|latencies| latencies.max_ns()).max().unwrap_or(0);
            Percentiles { p50, p90, p95, p99, p999, max: max_ns as f64 / NANOSECONDS_PER_MICROSECOND }
        };
        OtherEndings {
            failed_us: Latency::of(&stats.failed),
            skipped_us: Latency::of(&stats.skipped),
            unfinished_us: Latency::of(&stats.unfinished),
            unknown_us: Latency::of(&stats.unknown),
            all_us: all.map(percentiles),
        }
    }
}

impl Percentiles {
    /// The same percentiles as [`Latency::percentiles`], in the same order.
    pub fn values(&self) -> [f64; 6] {
        let Percentiles { p50, p90, p95, p99, p999, max } = *self;
        [p50, p90, p95, p99, p999, max]
    }
}
