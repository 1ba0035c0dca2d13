//! The figure of a goal with its interval, from the blocks of a run and its distributions. `meter` collects both;
//! `proportion` has the intervals of shares and ranks.

use crate::ScriptStats;
use crate::quantiles::two_sided_t;

use super::goal::{Goal, GoalFigure, GoalSide, LatencyKind, LatencyStatistic};
use super::proportion::{BlockVariance, LimitSide, Proportion, RankInterval};
use super::result::{GoalMethod, GoalVerdict};
use super::series::{self, GoalBlock, uncompleted};

/// A figure with the ends of its interval, in the units of the goal; `None`: infinite.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct GoalEstimate {
    pub(super) value: Option<f64>,
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    pub(super) method: GoalMethod,
}

impl GoalEstimate {
    /// The verdict for a limit.
    pub(super) fn verdict(&self, side: GoalSide, limit: f64) -> GoalVerdict {
        let (low, high) = match self.method {
            GoalMethod::Exact => (self.value, self.value),
            GoalMethod::Independent | GoalMethod::Blocks => (self.low, self.high),
        };
        let is_below = high.is_some_and(|high| high <= limit);
        // A figure that is infinitely high is above each limit.
        let is_above = low.is_none_or(|low| low > limit);
        match (side, is_below, is_above) {
            (GoalSide::Below, true, false) | (GoalSide::Above, false, true) => GoalVerdict::Met,
            (GoalSide::Below, false, true) | (GoalSide::Above, true, false) => GoalVerdict::Missed,
            (_, true, true) | (_, false, false) => GoalVerdict::Undecided,
        }
    }
}

/// The blocks of a goal.
pub(super) struct Blocks<'a> {
    pub(super) blocks: &'a [GoalBlock],
    /// Measured time.
    pub(super) seconds: f64,
    /// There are too few to estimate a variance from them, so transactions are taken as independent.
    pub(super) is_short: bool,
}

impl Blocks<'_> {
    /// The figure with an interval that misses the true value with the probability `error`; `None` if there is none.
    pub(super) fn estimate(&self, goal: &Goal, stats: &ScriptStats, error: f64) -> Option<GoalEstimate> {
        match goal.figure {
            GoalFigure::Latency(kind, LatencyStatistic::Percentile(percent)) => {
                self.percentile(stats, kind, percent / 100.0, goal.limit, error)
            }
            GoalFigure::Latency(kind, LatencyStatistic::Max) => maximum(stats, kind),
            GoalFigure::Latency(kind, LatencyStatistic::Mean) => self.mean(stats, kind, error),
            GoalFigure::Tps => self.throughput(stats, error),
            GoalFigure::Over(..) | GoalFigure::Failed | GoalFigure::Skipped | GoalFigure::Late => {
                let proportion = self.proportion(error)?;
                let (low, high) = proportion.interval(error);
                Some(self.estimated(Some(proportion.share), Some(low), Some(high)))
            }
        }
    }

    fn estimated(&self, value: Option<f64>, low: Option<f64>, high: Option<f64>) -> GoalEstimate {
        let method = if self.is_short { GoalMethod::Independent } else { GoalMethod::Blocks };
        GoalEstimate { value, low, high, method }
    }

    /// The factor by which the run must be longer until its interval excludes the limit, at least 1, if the figure
    /// stays. `None` if it must be longer than `factor_max` times.
    pub(super) fn growth(
        &self,
        goal: &Goal,
        estimate: &GoalEstimate,
        error: f64,
        factor_max: f64,
    ) -> Option<f64> {
        match goal.figure {
            GoalFigure::Latency(_, LatencyStatistic::Percentile(percent)) => {
                self.proportion(error)?.growth_to_exclude(1.0 - percent / 100.0, error, factor_max)
            }
            GoalFigure::Over(..) | GoalFigure::Failed | GoalFigure::Skipped | GoalFigure::Late => {
                self.proportion(error)?.growth_to_exclude(goal.limit, error, factor_max)
            }
            GoalFigure::Latency(_, LatencyStatistic::Mean) | GoalFigure::Tps => {
                let value = estimate.value?;
                // The end of the interval on the side of the limit.
                let end = if value < goal.limit { estimate.high? } else { estimate.low? };
                let factor = ((end - value) / (goal.limit - value)).powi(2);
                (factor <= factor_max).then_some(factor.max(1.0))
            }
            GoalFigure::Latency(_, LatencyStatistic::Max) => None,
        }
    }

    fn sums(&self) -> (f64, f64) {
        self.blocks.iter().fold((0.0, 0.0), |(sum, of), block| (sum + block.sum, of + block.of))
    }

    /// The ratio of the sums of the blocks with its variance.
    fn ratio(&self) -> Option<(f64, BlockVariance)> {
        let (sums, of): (Vec<f64>, Vec<f64>) = self.blocks.iter().map(|block| (block.sum, block.of)).unzip();
        if self.is_short { None } else { series::ratio(&sums, &of) }
    }

    /// The share of transactions over the limit.
    fn proportion(&self, error: f64) -> Option<Proportion> {
        let (sum, of) = self.sums();
        let independent = (of > 0.0).then(|| Proportion::independent(sum, of))?;
        let of_blocks = |(_, variance)| Proportion::of_blocks(sum, of, variance, error);
        Some(self.ratio().map_or(independent, of_blocks))
    }

    /// A percentile, between the latencies that a test of the share of transactions above them does not reject
    /// (Francisco and Fuller, Quantile estimation with a complex survey design, Annals of Statistics 19, 1991). The
    /// test at the limit is that of a goal on this share, so both have the same verdict.
    fn percentile(
        &self,
        stats: &ScriptStats,
        kind: LatencyKind,
        share: f64,
        limit_ns: f64,
        error: f64,
    ) -> Option<GoalEstimate> {
        let scheduled = stats.counts.scheduled;
        if scheduled == 0 {
            return None;
        }
        let at_rank = |rank: u64| ordered(stats, kind, rank).map(|ns| ns as f64);
        let value = at_rank(rank_of(share, scheduled));
        let ranks = |effective: f64| RankInterval::new(share, scheduled, effective, error);
        let low_of = |ranks: RankInterval| if ranks.low == 0 { Some(0.0) } else { at_rank(ranks.low) };
        if self.is_short {
            let ranks = ranks(scheduled as f64);
            return Some(self.estimated(value, low_of(ranks), ranks.high.and_then(at_rank)));
        }
        // The share above a latency that is too high to be the percentile is too small.
        let side = |proportion: &Proportion| proportion.side_of(1.0 - share, error);
        let above = |bucket: u16| self.proportion_above(bucket, error);
        let at_limit = self.proportion(error)?;
        let side_of_limit = side(&at_limit);
        // The latencies on each side of the limit.
        let buckets = series::buckets(self.blocks);
        let split = buckets.partition_point(|bucket| series::highest_ns(*bucket) < limit_ns);
        let (below, beyond) = buckets.split_at(split);
        let effective = |proportion: Proportion| proportion.effective_at(1.0 - share);
        // The end is between the last latency that is possible and the first that is not.
        let high_within = |of: &[u16], from: f64, to: Option<(f64, Proportion)>| {
            let first = of.partition_point(|bucket| side(&above(*bucket)) != LimitSide::Below);
            let from = first.checked_sub(1).map_or(from, |last| series::highest_ns(of[last]).max(from));
            let of_bucket = |bucket: &u16| (series::highest_ns(*bucket), above(*bucket));
            let (to, proportion) = of.get(first).map(of_bucket).or(to)?;
            Some(ranks(effective(proportion)).high.and_then(at_rank)?.min(to).max(from))
        };
        let low_within = |of: &[u16], from: Option<(f64, Proportion)>, to: f64| {
            let first = of.partition_point(|bucket| side(&above(*bucket)) == LimitSide::Above);
            let to = of.get(first).map_or(to, |bucket| series::highest_ns(*bucket).min(to));
            let of_bucket = |last: usize| (series::highest_ns(of[last]), above(of[last]));
            let Some((from, proportion)) = first.checked_sub(1).map(of_bucket).or(from) else {
                return Some(0.0);
            };
            low_of(ranks(effective(proportion))).map(|ns| ns.max(from).min(to))
        };
        let just_beyond = limit_ns + 1.0;
        let high = match side_of_limit {
            LimitSide::Below => high_within(below, 0.0, Some((limit_ns, at_limit))),
            LimitSide::Possible | LimitSide::Above => high_within(beyond, just_beyond, None),
        };
        let low = match side_of_limit {
            LimitSide::Above => low_within(beyond, Some((just_beyond, at_limit)), f64::INFINITY),
            LimitSide::Possible | LimitSide::Below => low_within(below, None, limit_ns),
        };
        Some(self.estimated(value, low, high))
    }

    /// The share of transactions above a coarse bucket.
    fn proportion_above(&self, bucket: u16, error: f64) -> Proportion {
        let (count, of, variance) = series::above(self.blocks, bucket);
        match variance {
            Some(variance) => Proportion::of_blocks(count, of, variance, error),
            None => Proportion::independent(count, of),
        }
    }

    /// The mean of the succeeded transactions.
    fn mean(&self, stats: &ScriptStats, kind: LatencyKind, error: f64) -> Option<GoalEstimate> {
        let (sum, of) = self.sums();
        if of == 0.0 {
            return None;
        }
        let value = sum / of;
        let independent = || {
            let latencies = match kind {
                LatencyKind::Response => &stats.response,
                LatencyKind::Service => &stats.service,
                LatencyKind::Lag => &stats.lag,
            };
            // The times that are not in the distribution are zero.
            let squares = latencies.moments().sum_of_squares_ns2 as f64 - value * value * of;
            let degrees_of_freedom = of - 1.0;
            let variance = squares.max(0.0) / degrees_of_freedom / of;
            (degrees_of_freedom >= 1.0).then_some(BlockVariance { variance, degrees_of_freedom })
        };
        let variance = self.ratio().map(|(_, variance)| variance).or_else(independent);
        Some(self.around(value, variance.map_or(f64::INFINITY, |variance| half_width(variance, error))))
    }

    /// Throughput. Below 20 s its standard error is that of a renewal process (Cox, Renewal theory, 1962, section
    /// 4.2): relative to the throughput, the coefficient of variation of the times ÷ √ transactions. This coefficient
    /// is taken as at least 1, that of random arrivals.
    fn throughput(&self, stats: &ScriptStats, error: f64) -> Option<GoalEstimate> {
        if self.seconds <= 0.0 {
            return None;
        }
        let succeeded = stats.counts.succeeded_in_time();
        let moments = stats.service.stddev_ns().zip(stats.service.mean_ns());
        let variation = moments.map_or(1.0, |(deviation, mean)| deviation / mean);
        let variation = if variation.is_finite() { variation.max(1.0) } else { 1.0 };
        let independent = || {
            let variance = (variation * succeeded.max(1.0).sqrt() / self.seconds).powi(2);
            BlockVariance { variance, degrees_of_freedom: INDEPENDENT_DEGREES }
        };
        let variance = self.ratio().map_or_else(independent, |(_, variance)| variance);
        Some(self.around(succeeded / self.seconds, half_width(variance, error)))
    }

    /// Latency and throughput are not negative.
    fn around(&self, value: f64, half_width: f64) -> GoalEstimate {
        let high = value + half_width;
        self.estimated(
            Some(value),
            Some((value - half_width).max(0.0)),
            Some(high).filter(|high| high.is_finite()),
        )
    }
}

/// The rank of a quantile, from 1, by the nearest-rank definition.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative, below 2⁵³")]
fn rank_of(share: f64, of: u64) -> u64 {
    // Rounding of a share such as 0.99 must not select the next rank.
    ((share * of as f64 - 1e-9 * of as f64).ceil() as u64).clamp(1, of)
}

/// The latency with this rank, from 1, among all scheduled transactions; `None` for those that did not succeed.
fn ordered(stats: &ScriptStats, kind: LatencyKind, rank: u64) -> Option<u64> {
    let (latencies, without) = match kind {
        LatencyKind::Response => (&stats.response, 0),
        LatencyKind::Service => (&stats.service, 0),
        LatencyKind::Lag => (&stats.lag, stats.counts.succeeded - stats.lag.count()),
    };
    match rank.checked_sub(without) {
        None | Some(0) => Some(0),
        Some(rank) if rank > latencies.count() => None,
        // From the middle of the step, so that rounding cannot reach a neighbour.
        Some(rank) => latencies.quantile_ns((rank as f64 - 0.5) / latencies.count() as f64),
    }
}

/// The maximum, which is exact.
fn maximum(stats: &ScriptStats, kind: LatencyKind) -> Option<GoalEstimate> {
    let max_ns = match kind {
        LatencyKind::Response => stats.response.max_ns(),
        LatencyKind::Service => stats.service.max_ns(),
        LatencyKind::Lag => Some(stats.lag_max_ns),
    };
    let value = max_ns.filter(|_| uncompleted(stats) == 0).map(|ns| ns as f64);
    let exact = GoalEstimate { value, low: None, high: None, method: GoalMethod::Exact };
    (stats.counts.scheduled > 0).then_some(exact)
}

/// Degrees of freedom with which t is the normal distribution.
const INDEPENDENT_DEGREES: f64 = 1e6;

fn half_width(variance: BlockVariance, error: f64) -> f64 {
    two_sided_t(1.0 - error, variance.degrees_of_freedom) * variance.variance.sqrt()
}
