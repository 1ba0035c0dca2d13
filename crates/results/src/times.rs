//! Times of transactions in the record: latencies, lag and connecting. In microseconds, to the nanosecond; made from
//! the distributions and sums of `stats`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A distribution of latencies in microseconds, to the nanosecond; quantiles have three significant digits.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)] // the names say it all
pub struct Latency {
    pub mean: f64,
    /// Standard deviation of the population.
    pub stddev: f64,
    pub min: f64,
    pub p50: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
}

/// Lateness of the start of transactions, in microseconds.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)] // the names say it all
pub struct Lag {
    pub mean: f64,
    pub max: f64,
}

/// Time for connections, with a connection per transaction.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Connecting {
    /// Connections established.
    pub connects: u64,
    /// Seconds spent connecting and disconnecting, summed over the clients.
    pub total_s: f64,
}

pub(crate) const NANOSECONDS_PER_MICROSECOND: f64 = 1e3;

/// Microseconds, rounded to the nanosecond: the measurements have no more digits.
pub(crate) fn round_to_ns(us: f64) -> f64 {
    (us * NANOSECONDS_PER_MICROSECOND).round() / NANOSECONDS_PER_MICROSECOND
}

impl Lag {
    /// The lag of the succeeded transactions; `None` without any. Lag is response time minus service time, so its sum
    /// is the difference of their sums.
    pub(crate) fn of(stats: &stats::ScriptStats) -> Option<Lag> {
        let (response_ns, service_ns) = (stats.response.moments().sum_ns, stats.service.moments().sum_ns);
        let count = stats.counts.succeeded;
        (count > 0).then(|| Lag {
            mean: round_to_ns(
                response_ns.saturating_sub(service_ns) as f64 / count as f64 / NANOSECONDS_PER_MICROSECOND,
            ),
            max: stats.lag_max_ns as f64 / NANOSECONDS_PER_MICROSECOND,
        })
    }
}

impl Latency {
    /// The statistics of a distribution; `None` if it is empty.
    // 2⁵³ ns are 104 days.
    pub fn of(distribution: &stats::Distribution) -> Option<Latency> {
        let exact_us = |ns: u64| ns as f64 / NANOSECONDS_PER_MICROSECOND;
        let quantile_us = |q: f64| distribution.quantile_ns(q).map(exact_us);
        Some(Latency {
            mean: round_to_ns(distribution.mean_ns()? / NANOSECONDS_PER_MICROSECOND),
            stddev: round_to_ns(distribution.stddev_ns()? / NANOSECONDS_PER_MICROSECOND),
            min: exact_us(distribution.min_ns()?),
            p50: quantile_us(0.5)?,
            p90: quantile_us(0.9)?,
            p95: quantile_us(0.95)?,
            p99: quantile_us(0.99)?,
            p999: quantile_us(0.999)?,
            max: exact_us(distribution.max_ns()?),
        })
    }

    /// The percentiles that are shown, and the maximum, by name.
    pub fn percentiles(&self) -> [(&'static str, f64); 6] {
        let Latency { mean: _, stddev: _, min: _, p50, p90, p95, p99, p999, max } = *self;
        [("p50", p50), ("p90", p90), ("p95", p95), ("p99", p99), ("p99.9", p999), ("the maximum", max)]
    }

    /// Whether a percentile of `other` differs from the same of this by more than 10 %.
    pub fn differs_from(&self, other: &Latency) -> bool {
        self.percentiles().iter().zip(other.percentiles()).any(|((_, one), (_, other))| differ(*one, other))
    }
}

/// Minimum relative difference at which an alternative figure is shown as well.
const CHANGE_MAX: f64 = 0.1;

/// True if two figures differ by more than 10 % of the smaller one.
pub(crate) fn differ(one: f64, other: f64) -> bool {
    one.max(other) > one.min(other) * (1.0 + CHANGE_MAX)
}
