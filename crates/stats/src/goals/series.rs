//! The seconds of a run as a goal needs them: for each block a sum, its denominator and, for percentiles, a coarse
//! histogram. The number of blocks is limited: in long runs they become longer.

use std::collections::BTreeSet;

use crate::quantiles::two_sided_t;
use crate::{Counts, RatioEstimate, SampleMean, ScriptStats};

use super::goal::{GoalFigure, LatencyKind, LatencyStatistic};
use super::proportion::BlockVariance;

/// A block of the run, as one goal needs it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct GoalBlock {
    /// Transactions over the limit, succeeded transactions, or the sum of their times in nanoseconds.
    pub(super) sum: f64,
    /// Scheduled or succeeded transactions, or seconds.
    pub(super) of: f64,
    /// For percentiles, transactions by coarse bucket, in ascending order.
    pub(super) histogram: Vec<(u16, u32)>,
}

/// Coarse buckets of a power of two: a resolution of 3 %, which suffices for the correlation of blocks.
const COARSE_BITS: u32 = 5;
/// The bucket of transactions that did not succeed, above all latencies.
const ENDLESS: u16 = u16::MAX;

/// The coarse bucket of a latency.
pub(super) fn coarse(ns: u64) -> u16 {
    let ns = ns.max(1 << COARSE_BITS);
    let exponent = ns.ilog2();
    let mantissa = (ns >> (exponent - COARSE_BITS)) & ((1 << COARSE_BITS) - 1);
    u16::try_from((u64::from(exponent) << COARSE_BITS) + mantissa).unwrap_or(ENDLESS - 1)
}

/// Transactions that did not succeed.
pub(super) fn uncompleted(stats: &ScriptStats) -> u64 {
    let Counts { failed, skipped, unfinished, unknown, .. } = stats.counts;
    [failed, skipped, unfinished, unknown].into_iter().fold(0, u64::saturating_add)
}

/// Transactions with a latency above `limit_ns`, to three digits, and those that did not succeed.
pub(crate) fn over(stats: &ScriptStats, kind: LatencyKind, limit_ns: f64) -> u64 {
    let slow = match kind {
        LatencyKind::Response => &stats.response,
        LatencyKind::Service => &stats.service,
        LatencyKind::Lag => &stats.lag,
    };
    let above = slow.buckets().filter(|(lowest, ..)| *lowest as f64 > limit_ns);
    above.map(|(_, _, count)| count).sum::<u64>().saturating_add(uncompleted(stats))
}

impl GoalBlock {
    /// The part of a goal on `figure` with this latency limit that `stats`, measured for `seconds`, contributes.
    pub(super) fn new(figure: GoalFigure, limit: f64, stats: &ScriptStats, seconds: f64) -> GoalBlock {
        let counts = &stats.counts;
        let (sum, of) = match figure {
            GoalFigure::Latency(kind, LatencyStatistic::Percentile(_) | LatencyStatistic::Max) => {
                (over(stats, kind, limit), counts.scheduled)
            }
            GoalFigure::Latency(kind, LatencyStatistic::Mean) => {
                let sum_ns = sum_ns(stats, kind);
                return GoalBlock { sum: sum_ns, of: counts.succeeded as f64, histogram: Vec::new() };
            }
            GoalFigure::Over(kind, limit_ns) => (over(stats, kind, limit_ns as f64), counts.scheduled),
            GoalFigure::Failed => (counts.failed, counts.scheduled),
            GoalFigure::Skipped => (counts.skipped, counts.scheduled),
            GoalFigure::Late => (counts.late.saturating_add(uncompleted(stats)), counts.scheduled),
            GoalFigure::Tps => {
                return GoalBlock { sum: counts.succeeded_in_time(), of: seconds, histogram: Vec::new() };
            }
        };
        let histogram = match figure {
            GoalFigure::Latency(kind, LatencyStatistic::Percentile(_)) => histogram(stats, kind),
            _ => Vec::new(),
        };
        GoalBlock { sum: sum as f64, of: of as f64, histogram }
    }

    /// Adds another block.
    pub(super) fn add(&mut self, other: &GoalBlock) {
        let GoalBlock { sum, of, histogram } = other;
        self.sum += sum;
        self.of += of;
        for (bucket, count) in histogram {
            match self.histogram.binary_search_by_key(bucket, |(bucket, _)| *bucket) {
                Ok(at) => self.histogram[at].1 = self.histogram[at].1.saturating_add(*count),
                Err(at) => self.histogram.insert(at, (*bucket, *count)),
            }
        }
    }

    /// Transactions above this coarse bucket.
    fn above(&self, threshold: u16) -> f64 {
        self.histogram
            .iter()
            .filter(|(bucket, _)| *bucket > threshold)
            .map(|(_, count)| f64::from(*count))
            .sum()
    }
}

/// Sum of the times of the succeeded transactions.
fn sum_ns(stats: &ScriptStats, kind: LatencyKind) -> f64 {
    match kind {
        LatencyKind::Response => stats.response.moments().sum_ns as f64,
        LatencyKind::Service => stats.service.moments().sum_ns as f64,
        LatencyKind::Lag => stats.lag.moments().sum_ns as f64,
    }
}

fn histogram(stats: &ScriptStats, kind: LatencyKind) -> Vec<(u16, u32)> {
    let latencies = match kind {
        LatencyKind::Response => &stats.response,
        LatencyKind::Service => &stats.service,
        // Transactions that started on time are missing, which changes no count above a threshold.
        LatencyKind::Lag => &stats.lag,
    };
    let mut histogram: Vec<(u16, u32)> = Vec::new();
    let endless = (ENDLESS, uncompleted(stats));
    let buckets = latencies.buckets().map(|(lowest, _, count)| (coarse(lowest), count));
    for (bucket, count) in buckets.chain([endless]).filter(|(_, count)| *count > 0) {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        match histogram.last_mut() {
            Some(last) if last.0 == bucket => last.1 = last.1.saturating_add(count),
            _ => histogram.push((bucket, count)),
        }
    }
    histogram
}

/// Factor of the variance of a mean of blocks with an autocorrelation ρ of 0.6: (1 + ρ) ÷ (1 − ρ).
const ASSUMED_INFLATION: f64 = 4.0;

/// The ratio of the sums of blocks and its variance; `None` if it cannot be computed. From [`crate::INTERVALS_MIN`]
/// blocks on it allows for the correlation of neighbours, which fewer blocks do not show: it is assumed for them.
pub(super) fn ratio(sums: &[f64], of: &[f64]) -> Option<(f64, BlockVariance)> {
    if let Some(estimate) = RatioEstimate::of_any_denominators(sums, of) {
        let degrees_of_freedom = f64::from(estimate.degrees_of_freedom);
        let standard_error = estimate.half_width / two_sided_t(crate::CONFIDENCE, degrees_of_freedom);
        let variance = BlockVariance { variance: standard_error.powi(2), degrees_of_freedom };
        return Some((estimate.ratio, variance));
    }
    let (sum, all) = (sums.iter().sum::<f64>(), of.iter().sum::<f64>());
    let ratio = sum / all;
    let mean_of = all / of.len() as f64;
    let residuals: Vec<f64> = sums.iter().zip(of).map(|(sum, of)| (sum - ratio * of) / mean_of).collect();
    let SampleMean { variance, degrees_of_freedom, .. } = SampleMean::of(&residuals)?;
    let variance = ASSUMED_INFLATION * variance;
    (degrees_of_freedom >= 1.0).then_some((ratio, BlockVariance { variance, degrees_of_freedom }))
}

/// The coarse buckets of the blocks, in ascending order, without that of transactions that did not succeed.
pub(super) fn buckets(blocks: &[GoalBlock]) -> Vec<u16> {
    let all = blocks.iter().flat_map(|block| &block.histogram).map(|(bucket, _)| *bucket);
    let buckets: BTreeSet<u16> = all.filter(|bucket| *bucket != ENDLESS).collect();
    buckets.into_iter().collect()
}

/// The highest latency of a coarse bucket, in nanoseconds.
pub(super) fn highest_ns(bucket: u16) -> f64 {
    let (exponent, mantissa) = (u32::from(bucket) >> COARSE_BITS, bucket & ((1 << COARSE_BITS) - 1));
    let steps = f64::from(mantissa) + f64::from(1u32 << COARSE_BITS) + 1.0;
    steps * 2f64.powi(exponent.cast_signed() - COARSE_BITS.cast_signed()) - 1.0
}

/// The transactions above a coarse bucket, of how many, and the variance of this share.
pub(super) fn above(blocks: &[GoalBlock], bucket: u16) -> (f64, f64, Option<BlockVariance>) {
    let above: Vec<f64> = blocks.iter().map(|block| block.above(bucket)).collect();
    let of: Vec<f64> = blocks.iter().map(|block| block.of).collect();
    let variance = ratio(&above, &of).map(|(_, variance)| variance);
    (above.iter().sum(), of.iter().sum(), variance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coarse_buckets_are_in_the_order_of_their_latencies_and_within_4_percent() {
        let mut before = 0;
        for ns in (0..64).map(|bits| 1u64 << bits).flat_map(|ns| [ns, ns + ns / 3, ns + ns / 2]) {
            assert!(coarse(ns) >= before && coarse(ns) < ENDLESS, "{ns}");
            before = coarse(ns);
        }
        assert!(coarse(1_000_000) < coarse(1_040_000));
    }

    #[test]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number of nanoseconds"
    )]
    fn the_highest_latency_of_a_coarse_bucket_is_its_last() {
        for ns in [32, 33, 63, 64, 1_000_000, 123_456_789] {
            let bucket = coarse(ns);
            let next = (highest_ns(bucket) + 1.0) as u64;
            assert!(ns < next && coarse(next - 1) == bucket && coarse(next) == bucket + 1, "{ns}: {next}");
        }
    }

    #[test]
    fn a_block_with_another_added_has_the_counts_of_both() {
        let block = |histogram: &[(u16, u32)]| GoalBlock { sum: 1.0, of: 2.0, histogram: histogram.to_vec() };
        let mut sum = block(&[(3, 1), (7, 2)]);
        sum.add(&block(&[(1, 5), (7, 1), (9, 1)]));
        assert_eq!(sum, GoalBlock { sum: 2.0, of: 4.0, histogram: vec![(1, 5), (3, 1), (7, 3), (9, 1)] });
        assert_eq!((sum.above(3), sum.above(9), sum.above(0)), (4.0, 0.0, 10.0));
    }
}
