//! Intervals of shares and percentiles: exact binomial limits for independent transactions, with an effective number of
//! transactions where neighbouring seconds are correlated.

use crate::comparison::normal::upper_quantile;
use crate::quantiles::{inverse_beta, regularized_beta, two_sided_t};

/// A share of transactions with its uncertainty.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Proportion {
    /// The share.
    pub(super) share: f64,
    /// Number of transactions.
    of: f64,
    /// The design effect less 1: the variance that the blocks show beyond that of independent transactions, relative
    /// to it.
    excess: f64,
    /// Factor because this variance is an estimate, at most 1.
    reduction: f64,
}

/// Whether so many of so many independent draws are possible with this share, by an exact binomial test.
pub(crate) fn is_possible_share(count: f64, of: f64, share: f64, error: f64) -> bool {
    of > 0.0 && Proportion::independent(count, of).side_of(share, error) == LimitSide::Possible
}

/// Where a limit is, as seen from a share.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum LimitSide {
    /// The true share is below the limit.
    Below,
    /// The data do not exclude the limit.
    Possible,
    /// The true share is above the limit.
    Above,
}

/// Variance of a share, estimated from blocks.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct BlockVariance {
    pub(super) variance: f64,
    pub(super) degrees_of_freedom: f64,
}

impl Proportion {
    /// With all transactions independent.
    pub(super) fn independent(count: f64, of: f64) -> Proportion {
        Proportion { share: count / of, of, excess: 0.0, reduction: 1.0 }
    }

    /// With the effective number of transactions of Korn and Graubard (Confidence intervals for proportions with small
    /// expected number of positive counts estimated from survey data, Survey Methodology 24, 1998): that with which a
    /// binomial share has the variance that the blocks show, times (z ÷ t)² because this variance is estimated. It is
    /// never more than the number of transactions.
    pub(super) fn of_blocks(count: f64, of: f64, blocks: BlockVariance, error: f64) -> Proportion {
        let independent = Proportion::independent(count, of);
        let binomial = independent.share * (1.0 - independent.share) / of;
        if binomial <= 0.0 || blocks.variance <= 0.0 {
            return independent;
        }
        let z = upper_quantile(error / 2.0);
        let t = two_sided_t(1.0 - error, blocks.degrees_of_freedom);
        let excess = (blocks.variance / binomial - 1.0).max(0.0);
        Proportion { excess, reduction: (z / t).powi(2), ..independent }
    }

    /// Effective number of transactions if the true share is `truth`. Because of slow seconds, the design effect grows
    /// with the share, so that of a larger share than the measured one is extrapolated.
    pub(super) fn effective_at(&self, truth: f64) -> f64 {
        let growth =
            if self.excess > 0.0 { (truth / self.share).max(1.0).powf(GROWTH_EXPONENT) } else { 1.0 };
        self.of / (1.0 + self.excess * growth) * self.reduction
    }

    /// Where the limit is, by an exact binomial test with the effective number of transactions.
    pub(super) fn side_of(&self, limit: f64, error: f64) -> LimitSide {
        if limit > self.share {
            let effective = self.effective_at(limit);
            let (count, others) = (self.share * effective, (1.0 - self.share) * effective);
            // The probability of at most this share.
            let at_most = 1.0 - regularized_beta(count + 1.0, others, limit);
            if limit >= 1.0 || at_most < error / 2.0 { LimitSide::Below } else { LimitSide::Possible }
        } else if limit < self.share {
            let effective = self.effective_at(limit);
            let (count, others) = (self.share * effective, (1.0 - self.share) * effective);
            let at_least = if limit <= 0.0 { 0.0 } else { regularized_beta(count, others + 1.0, limit) };
            if at_least < error / 2.0 { LimitSide::Above } else { LimitSide::Possible }
        } else {
            LimitSide::Possible
        }
    }

    /// The interval of Clopper and Pearson (The use of confidence or fiducial limits, Biometrika 26, 1934), which
    /// misses the true share with a probability of at most `error`: the limits that the test does not exclude.
    pub(super) fn interval(&self, error: f64) -> (f64, f64) {
        let effective = self.effective_at(self.share);
        let (count, others) = (self.share * effective, (1.0 - self.share) * effective);
        let low = if self.share > 0.0 { inverse_beta(count, others + 1.0, error / 2.0) } else { 0.0 };
        if self.share >= 1.0 {
            return (low, 1.0);
        }
        if self.excess == 0.0 {
            return (low, inverse_beta(count + 1.0, others, 1.0 - error / 2.0));
        }
        let (mut possible, mut excluded) = (self.share, 1.0);
        for _ in 0..BISECTIONS_OF_SHARE {
            let middle = f64::midpoint(possible, excluded);
            if self.side_of(middle, error) == LimitSide::Below {
                excluded = middle
            } else {
                possible = middle
            }
        }
        (low, excluded)
    }

    /// The factor by which the number of transactions must grow until the interval excludes `limit`, if the share
    /// stays; at least 1. `None` if more than `factor_max` times as many would be necessary.
    pub(super) fn growth_to_exclude(&self, limit: f64, error: f64, factor_max: f64) -> Option<f64> {
        let is_excluded = |factor: f64| {
            let grown = Proportion { of: self.of * factor, ..*self };
            grown.side_of(limit, error) != LimitSide::Possible
        };
        if !is_excluded(factor_max) {
            return None;
        }
        let (mut low, mut high) = (1.0, factor_max);
        for _ in 0..BISECTIONS {
            let middle = f64::sqrt(low * high);
            if is_excluded(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Some(high)
    }
}

/// Bisections for the end of an interval.
const BISECTIONS_OF_SHARE: u32 = 40;

/// Exponent of the growth of the design effect with the share: 0 keeps the one that was measured, 1 is that of seconds in
/// which all transactions are slow. Simulated intervals have the most even coverage with 0.5 (docs/statistics.md).
const GROWTH_EXPONENT: f64 = 0.5;

/// Bisections for the length of a run, which is a rough figure.
const BISECTIONS: u32 = 12;

/// The ranks, from 1, of the order statistics between which the true percentile lies (for independent transactions:
/// David and Nagaraja, Order statistics, 3rd ed. 2003, section 7.1). They contain the values that a binomial test
/// does not reject: the test counts the transactions above the value.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct RankInterval {
    /// 0 if no value is too low.
    pub(super) low: u64,
    /// `None` if no value is too high: there are too few transactions.
    pub(super) high: Option<u64>,
}

impl RankInterval {
    /// For the quantile at `share`, of `of` transactions with the information of `effective` independent ones.
    pub(super) fn new(share: f64, of: u64, effective: f64, error: f64) -> RankInterval {
        let above = 1.0 - share;
        let scale = effective / of as f64;
        // The probabilities of at least and of at most so many transactions above the true percentile.
        let at_least = |count: u64| match count as f64 * scale {
            0.0 => 1.0,
            count => regularized_beta(count, (effective - count).max(0.0) + 1.0, above),
        };
        let at_most = |count: u64| {
            let others = effective - count as f64 * scale;
            if others <= 0.0 {
                1.0
            } else {
                1.0 - regularized_beta(count as f64 * scale + 1.0, others, above)
            }
        };
        // The number of transactions above a value decreases with the value.
        let most = last(of, |count| at_least(count) >= error / 2.0);
        let too_few = last(of, |count| at_most(count) < error / 2.0);
        RankInterval { low: of - most.unwrap_or(0), high: too_few.map(|count| of - count) }
    }
}

/// The last count from 0 to `most` for which the condition holds, which holds up to some count; `None` if it does not
/// hold for 0.
fn last(most: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    if !holds(0) {
        return None;
    }
    let (mut held, mut next) = (0, most + 1);
    while held + 1 < next {
        let middle = u64::midpoint(held, next);
        if holds(middle) {
            held = middle;
        } else {
            next = middle;
        }
    }
    Some(held)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(count: f64, of: f64, low: f64, high: f64) {
        let found = Proportion::independent(count, of).interval(0.05);
        assert!((found.0 - low).abs() < 5e-5 && (found.1 - high).abs() < 5e-5, "{count} of {of}: {found:?}");
    }

    #[test]
    fn limits_of_a_share_are_as_in_the_printed_tables() {
        check(0.0, 10.0, 0.0, 0.3085);
        check(1.0, 10.0, 0.0025, 0.4450);
        check(5.0, 10.0, 0.1871, 0.8129);
        check(10.0, 10.0, 0.6915, 1.0);
        check(10.0, 1000.0, 0.0048, 0.0183);
    }

    #[test]
    fn limits_of_millions_of_transactions_agree_with_the_normal_approximation() {
        let (low, high) = Proportion::independent(1e5, 1e7).interval(0.05);
        let half_width = 1.959_964 * (0.01 * 0.99 / 1e7_f64).sqrt();
        assert!(((high - low) / 2.0 / half_width - 1.0).abs() < 2e-3, "{low} {high}");
    }

    #[test]
    fn ranks_of_the_median_are_as_in_the_printed_tables() {
        // Conover, Practical nonparametric statistics, table A3: 20 values, the 6th and the 15th.
        let found = RankInterval::new(0.5, 20, 20.0, 0.05);
        assert_eq!(found, RankInterval { low: 6, high: Some(15) });
    }

    #[test]
    fn a_percentile_has_an_upper_limit_from_369_transactions_on() {
        // 0.99^368 > 2.5 %, and 0.99^369 is less.
        assert_eq!(RankInterval::new(0.99, 367, 367.0, 0.05).high, None);
        assert_eq!(RankInterval::new(0.99, 368, 368.0, 0.05).high, Some(368));
        assert_eq!(RankInterval::new(0.99, 368, 300.0, 0.05).high, None, "correlated");
    }

    #[test]
    fn the_growth_is_that_of_the_interval() {
        let none = Proportion::independent(0.0, 100.0);
        let factor = none.growth_to_exclude(0.01, 0.05, 1e4).unwrap();
        assert!((factor - 3.68).abs() < 0.03, "{factor}");
        assert_eq!(
            Proportion::independent(1.0, 100.0).growth_to_exclude(0.01, 0.05, 1e3),
            None,
            "on the limit"
        );
    }
}
