//! Durations of transactions that did not succeed, and the times of all, which reports show. `summary.response_us`
//! covers succeeded transactions only. Made with the record; the intervals have the histograms.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::ScriptStats;

use crate::Latency;
use crate::times::{NANOSECONDS_PER_MICROSECOND, differ, round_to_ns};

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
    /// Times of all transactions that were due, with any ending; `null` if all succeeded.
    pub all_us: Option<TimesOfAll>,
}

/// Times of all transactions that were due, in microseconds. A skipped one counts with its delay and a service time.
/// Failed, unfinished and unknown ones are censored observations (Kaplan and Meier): their response time is at least the
/// time until then.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)] // the names say it all
pub struct TimesOfAll {
    /// `null` in records of older versions.
    #[serde(default)]
    pub mean: Option<f64>,
    /// Standard deviation of the population; `null` in records of older versions.
    #[serde(default)]
    pub stddev: Option<f64>,
    pub p50: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
}

impl OtherEndings {
    pub(crate) fn of(stats: &ScriptStats) -> OtherEndings {
        OtherEndings {
            failed_us: Latency::of(&stats.failed),
            skipped_us: Latency::of(&stats.skipped),
            unfinished_us: Latency::of(&stats.unfinished),
            unknown_us: Latency::of(&stats.unknown),
            all_us: TimesOfAll::of(stats),
        }
    }
}

impl TimesOfAll {
    /// `None` if all transactions succeeded.
    pub(crate) fn of(stats: &ScriptStats) -> Option<TimesOfAll> {
        if stats.counts.succeeded == stats.counts.scheduled {
            return None;
        }
        let stats::TimesOfAll { mean_ns, stddev_ns, quantiles_ns } =
            stats::times_of_all(stats, [0.5, 0.9, 0.95, 0.99, 0.999])?;
        // The maximum over all observations, completed or not.
        let endings = [&stats.response, &stats.failed, &stats.skipped, &stats.unfinished, &stats.unknown];
        let max_ns = endings.iter().filter_map(|latencies| latencies.max_ns()).max().unwrap_or(0);
        let [p50, p90, p95, p99, p999] = quantiles_ns.map(|ns| ns as f64 / NANOSECONDS_PER_MICROSECOND);
        let max = max_ns as f64 / NANOSECONDS_PER_MICROSECOND;
        let [mean, stddev] =
            [mean_ns, stddev_ns].map(|ns| Some(round_to_ns(ns / NANOSECONDS_PER_MICROSECOND)));
        Some(TimesOfAll { mean, stddev, p50, p90, p95, p99, p999, max })
    }

    /// The same percentiles as [`Latency::percentiles`], in the same order.
    pub fn values(&self) -> [f64; 6] {
        let TimesOfAll { mean: _, stddev: _, p50, p90, p95, p99, p999, max } = *self;
        [p50, p90, p95, p99, p999, max]
    }

    /// All figures of the times; those that this does not have are of the succeeded transactions.
    fn with(self, succeeded: Latency) -> Latency {
        let TimesOfAll { mean, stddev, p50, p90, p95, p99, p999, max } = self;
        let (mean, stddev) = (mean.unwrap_or(succeeded.mean), stddev.unwrap_or(succeeded.stddev));
        // Older versions let failures lower a percentile.
        Latency {
            mean,
            stddev,
            min: succeeded.min,
            p50: p50.max(succeeded.p50),
            p90: p90.max(succeeded.p90),
            p95: p95.max(succeeded.p95),
            p99: p99.max(succeeded.p99),
            p999: p999.max(succeeded.p999),
            max: max.max(succeeded.max),
        }
    }
}

/// The times that reports show: of all transactions, if some did not succeed.
pub(crate) fn of_all(succeeded: Option<Latency>, all: Option<TimesOfAll>) -> Option<Latency> {
    let succeeded = succeeded?;
    Some(all.map_or(succeeded, |all| all.with(succeeded)))
}

/// The times of the succeeded transactions, if those of all differ from them by more than 10 %.
pub(crate) fn changed(succeeded: Option<Latency>, all: Option<TimesOfAll>) -> Option<Latency> {
    let of_all = of_all(succeeded, all)?;
    succeeded.filter(|it| it.differs_from(&of_all) || differ(it.mean, of_all.mean))
}
