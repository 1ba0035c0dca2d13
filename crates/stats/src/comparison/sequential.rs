//! The sequential test of one metric: pairs are added one by one, and the verdict may be read after each without
//! increasing the error rate. docs/statistics.md explains the method; `boundary` has its error rate, `signed_rank`
//! its estimate.
//!
//! Values are log ratios with the sign such that above 0 is better for B.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::SampleMean;
use crate::comparison::boundary::{Boundary, interval_after_crossing};
use crate::comparison::normal::{upper_quantile, upper_tail};
use crate::comparison::signed_rank::{Tally, WalshAverages, critical_by_approximation};
use crate::quantiles::two_sided_t;

/// The verdict at any moment.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonDecision {
    /// B is better than A.
    Better,
    /// Neither is better than the other by more than the tolerance.
    Equivalent,
    /// B is not worse than A by more than the tolerance. B may be better, or worse within the tolerance:
    /// [`Estimate::different`] tells.
    NoWorse,
    /// B is worse than A by more than the tolerance.
    WorseThanTolerance,
    /// None of these is established yet.
    Undecided,
}

/// The estimate after some pairs.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Number of observations: pairs, or sequences of pairs.
    pub numbers: usize,
    /// ln(B ÷ A), positive if B is better: the Hodges–Lehmann estimate.
    pub centre: f64,
    /// The interval that contains the true value at all looks in 95 % of comparisons, which decisions are based on.
    /// `None` while no result of this many pairs would be decisive.
    pub at_all_looks: Option<(f64, f64)>,
    /// The 95 % interval at this look. After a decision it allows for the time of stopping; before, it is the one
    /// above.
    pub interval: Option<(f64, f64)>,
    /// Standard deviation of a single pair, as it affects the estimate.
    pub deviation: f64,
    /// Whether the interval excludes 0: true if B is better.
    pub different: Option<bool>,
    /// The verdict, as far as the interval agrees.
    pub decision: ComparisonDecision,
    /// The difference detected with 90 % probability by all planned pairs, or by those at the close.
    pub smallest_of_all_planned: f64,
    /// The same for a plan of the pairs so far.
    pub smallest_so_far: f64,
}

/// Probability of detecting the smallest difference.
pub const POWER: f64 = 0.9;
/// Quantile of a 90 % interval, from which the spread of the Walsh averages is taken.
const SPREAD_Z: f64 = 1.645;
/// Beyond this number of standard errors the time of stopping makes no difference.
const PLAIN_Z: f64 = 30.0;

/// ln(B ÷ A) that all observations must exceed for a decision at an early look: a factor of 1.5. So blocks with few
/// transactions, whose ratios have few values, cannot agree on one by chance.
const EARLY_LN_RATIO_MIN: f64 = 0.405;

/// Minimum number of observations (sequences or draws of servers) to estimate their variation, and so for an interval.
pub const OBSERVATIONS_MIN: usize = 3;

/// The sequential test of one metric.
#[derive(Clone, Debug)]
pub struct SequentialTest {
    boundary: Arc<Boundary>,
    error_rate: f64,
    /// In natural logarithms, not negative.
    tolerance: f64,
    method: Method,
    ln_ratios: Vec<f64>,
    is_closed: bool,
    /// Observations relative to the values 0, −tolerance and +tolerance.
    rejected: [Rejected; 3],
}

/// The test of a value.
#[derive(Clone, Debug)]
pub(crate) enum Method {
    /// Signed ranks: the tallies of the three values.
    Ranks([Tally; 3]),
    /// Student's t, for few expensive draws: servers that are started and loaded again. Rank tests cannot decide with
    /// so few observations; t can, if they are normally distributed. Each observation is the mean over all blocks of
    /// a draw of both sides: blocks within a draw are correlated and never count as independent (analysis by
    /// clusters: Donner and Klar, Design and analysis of cluster randomization trials in health research, 2000,
    /// chapter 6).
    Student,
}

impl SequentialTest {
    /// A test with a look after each of at most this number of pairs, which claims a false difference in at most the
    /// share `error_rate` of comparisons. A deterioration by less than a factor of 1 + `tolerance` is irrelevant.
    ///
    /// # Panics
    /// If the error rate is not between 0 and 1, or the tolerance is negative or at least 1.
    pub fn new(error_rate: f64, tolerance: f64, pairs: usize) -> SequentialTest {
        assert!(error_rate > 0.0 && error_rate < 1.0, "an error rate is between 0 and 1");
        SequentialTest::by_ranks(Arc::new(Boundary::new(error_rate, pairs)), error_rate, tolerance)
    }

    pub(crate) fn by_ranks(boundary: Arc<Boundary>, error_rate: f64, tolerance: f64) -> SequentialTest {
        let mut test = SequentialTest::by_student(boundary, error_rate, tolerance);
        test.method = Method::Ranks(test.origins().map(Tally::new));
        test
    }

    pub(crate) fn by_student(boundary: Arc<Boundary>, error_rate: f64, tolerance: f64) -> SequentialTest {
        assert!((0.0..1.0).contains(&tolerance), "a tolerance is a share below 1");
        SequentialTest {
            boundary,
            error_rate,
            tolerance: tolerance.ln_1p(),
            method: Method::Student,
            ln_ratios: Vec::new(),
            is_closed: false,
            rejected: [Rejected::default(); 3],
        }
    }

    /// The tested values.
    fn origins(&self) -> [f64; 3] {
        [0.0, -self.tolerance, self.tolerance]
    }

    /// Adds a pair: ln(B ÷ A), positive if B is better. Pairs beyond the plan or after the close are ignored, because
    /// the error rate is spent.
    ///
    /// # Panics
    /// If it is not finite.
    pub fn add(&mut self, ln_ratio: f64) {
        assert!(ln_ratio.is_finite(), "a pair without a ratio is left out before it is counted");
        if self.is_closed || self.ln_ratios.len() >= self.boundary.pairs() {
            return;
        }
        self.ln_ratios.push(ln_ratio);
        if let Method::Ranks(tallies) = &mut self.method {
            tallies.iter_mut().for_each(|tally| tally.count_last(&self.ln_ratios));
        }
        self.look();
    }

    /// The time is over before the planned number of pairs: a final look with the rest of the error rate. Only valid
    /// for this reason, never because of the results so far. No effect if the test is settled.
    pub fn close(&mut self) {
        if !self.is_settled() {
            self.is_closed = true;
            self.look();
        }
    }

    fn look(&mut self) {
        let seen = match &self.method {
            Method::Ranks(tallies) => self.critical().map(|critical| {
                let early = self.early();
                let seen_by = |tally: &Tally, origin: f64| {
                    let (low, high) = early.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
                    (tally.above() >= critical || low > origin, tally.below() >= critical || high < origin)
                };
                let origins = self.origins();
                std::array::from_fn(|at| seen_by(&tallies[at], origins[at]))
            }),
            Method::Student => {
                self.student_interval().map(|(low, high)| self.origins().map(|it| (low > it, high < it)))
            }
        };
        for (rejected, (above, below)) in self.rejected.iter_mut().zip(seen.into_iter().flatten()) {
            rejected.seen_above |= above;
            rejected.seen_below |= below;
        }
    }

    /// The interval of Student's t at an early look, if all observations agree on a large difference.
    fn early(&self) -> Option<(f64, f64)> {
        let coverage = self.boundary.early_coverage(self.ln_ratios.len())?;
        let is_large = |sign: f64| self.ln_ratios.iter().all(|ln_ratio| sign * ln_ratio > EARLY_LN_RATIO_MIN);
        let interval = SampleMean::of(&self.ln_ratios)?.interval(coverage);
        interval.filter(|_| is_large(1.0) || is_large(-1.0))
    }

    /// For the look at the current pairs: the number of Walsh averages that rejects a value.
    fn critical(&self) -> Option<f64> {
        let pairs = self.ln_ratios.len();
        if self.is_closed { self.boundary.critical_at_last(pairs) } else { self.boundary.critical(pairs) }
    }

    /// Number of pairs so far.
    pub fn pairs(&self) -> usize {
        self.ln_ratios.len()
    }

    /// Number of planned pairs.
    pub fn pairs_planned(&self) -> usize {
        self.boundary.pairs()
    }

    /// ln(B ÷ A) of the pairs so far.
    pub(crate) fn ln_ratios(&self) -> &[f64] {
        &self.ln_ratios
    }

    /// The current verdict. A verdict once reached stays, whatever follows.
    pub fn decision(&self) -> ComparisonDecision {
        let [zero, minus_tolerance, plus_tolerance] = self.rejected;
        if minus_tolerance.seen_below {
            ComparisonDecision::WorseThanTolerance
        } else if zero.seen_above {
            ComparisonDecision::Better
        } else if minus_tolerance.seen_above && plus_tolerance.seen_below {
            ComparisonDecision::Equivalent
        } else if minus_tolerance.seen_above {
            ComparisonDecision::NoWorse
        } else {
            ComparisonDecision::Undecided
        }
    }

    /// Whether more pairs could not change the verdict: all except undecided, and not worse but possibly better.
    pub fn is_settled(&self) -> bool {
        match self.decision() {
            ComparisonDecision::Better
            | ComparisonDecision::Equivalent
            | ComparisonDecision::WorseThanTolerance => true,
            ComparisonDecision::NoWorse => self.rejected[0].seen_below,
            ComparisonDecision::Undecided => false,
        }
    }

    /// Whether a difference of any size was found: true if B is better.
    pub fn different(&self) -> Option<bool> {
        let Rejected { seen_above, seen_below } = self.rejected[0];
        (seen_above || seen_below).then_some(seen_above)
    }

    /// The current estimate; `None` before the second pair, or the third draw. With ranks it takes time and memory
    /// with the square of the pairs.
    pub fn estimate(&self) -> Option<Estimate> {
        match self.method {
            Method::Ranks(_) => self.estimate_by_ranks(),
            Method::Student => self.estimate_by_student(),
        }
    }

    /// The estimate with this interval, as far as the decision agrees with it.
    fn estimate_with(
        &self,
        centre: f64,
        deviation: f64,
        at_all_looks: Option<(f64, f64)>,
        interval: Option<(f64, f64)>,
        smallest_of: impl Fn(usize) -> f64,
    ) -> Estimate {
        let numbers = self.ln_ratios.len();
        let planned = if self.is_closed { numbers } else { self.boundary.pairs() };
        Estimate {
            numbers,
            centre,
            at_all_looks,
            interval,
            deviation,
            different: different(interval),
            decision: self.decision().as_far_as(interval, self.tolerance),
            smallest_of_all_planned: smallest_of(planned.max(numbers)),
            smallest_so_far: smallest_of(numbers),
        }
    }

    fn estimate_by_ranks(&self) -> Option<Estimate> {
        let pairs = self.ln_ratios.len();
        if pairs < 2 {
            return None;
        }
        let walsh = WalshAverages::of(&self.ln_ratios);
        let centre = walsh.median()?;
        let at_all_looks = walsh.not_rejected(self.critical()?);
        let deviation = deviation(&walsh, pairs)?;
        let standard_error = deviation / (pairs as f64).sqrt();
        // After an early and narrow decision, the interval that allows for stopping may contain the rejected value:
        // then it is not shown.
        let decision = self.decision();
        let interval = self
            .origin_rejected()
            .map(|origin| Some(self.after_crossing(centre, standard_error, origin)))
            .filter(|interval| decision.as_far_as(*interval, self.tolerance) == decision)
            .unwrap_or(at_all_looks);
        let detectable = self.boundary.detectable(POWER);
        let smallest = |count: usize| detectable * deviation / (count as f64).sqrt();
        Some(self.estimate_with(centre, deviation, at_all_looks, interval, smallest))
    }

    /// The value whose rejection led to the decision.
    fn origin_rejected(&self) -> Option<f64> {
        match self.decision() {
            ComparisonDecision::Better => Some(0.0),
            ComparisonDecision::WorseThanTolerance => Some(-self.tolerance),
            ComparisonDecision::NoWorse if self.rejected[0].seen_below => Some(0.0),
            ComparisonDecision::Equivalent | ComparisonDecision::NoWorse | ComparisonDecision::Undecided => {
                None
            }
        }
    }

    fn after_crossing(&self, centre: f64, standard_error: f64, origin: f64) -> (f64, f64) {
        let z = (centre - origin).abs() / standard_error;
        let plain = upper_quantile(self.error_rate / 2.0);
        // Early looks decide only at a large distance.
        let early = self.boundary.early_coverage(self.ln_ratios.len());
        if let Some(interval) =
            early.and_then(|_| SampleMean::of(&self.ln_ratios)?.interval(1.0 - self.error_rate))
        {
            return interval;
        }
        let (near, far) = if z < PLAIN_Z {
            interval_after_crossing(z, self.error_rate)
        } else {
            return (centre - plain * standard_error, centre + plain * standard_error);
        };
        // The standard error is estimated too: Student's t instead of z.
        let degrees_of_freedom = (self.ln_ratios.len() - 1) as f64;
        let student = two_sided_t(1.0 - self.error_rate, degrees_of_freedom) / plain;
        let (short, long) = ((z - near) * student * standard_error, (far - z) * student * standard_error);
        if centre > origin { (centre - short, centre + long) } else { (centre - long, centre + short) }
    }

    /// Mean, and standard deviation of a single draw.
    fn moments(&self) -> Option<(f64, f64)> {
        let count = self.ln_ratios.len();
        let sample = SampleMean::of(&self.ln_ratios).filter(|_| count >= OBSERVATIONS_MIN)?;
        Some((sample.mean, (sample.variance * count as f64).sqrt()))
    }

    /// Number of standard errors from a value that rejects it after this number of draws: the nominal significance
    /// level of a boundary for a known variance, applied to Student's t (Jennison and Turnbull, Group sequential
    /// methods with applications to clinical trials, 2000, chapter 11.3).
    fn critical_t(&self, count: usize, is_last: bool) -> Option<f64> {
        let z = if is_last { self.boundary.z_at_last(count)? } else { self.boundary.z(count)? };
        let degrees_of_freedom = count.checked_sub(1)? as f64;
        Some(two_sided_t(1.0 - 2.0 * upper_tail(z), degrees_of_freedom))
    }

    /// The values that Student's t does not reject at this look.
    fn student_interval(&self) -> Option<(f64, f64)> {
        let (mean, deviation) = self.moments()?;
        let count = self.ln_ratios.len();
        let half = self.critical_t(count, self.is_closed)? * deviation / (count as f64).sqrt();
        half.is_finite().then_some((mean - half, mean + half))
    }

    fn estimate_by_student(&self) -> Option<Estimate> {
        let (centre, deviation) = self.moments()?;
        let interval = self.student_interval();
        let smallest = |count: usize| {
            let t = self.critical_t(count, self.is_closed && count < self.boundary.pairs());
            t.map_or(f64::INFINITY, |t| (t + upper_quantile(1.0 - POWER)) * deviation / (count as f64).sqrt())
        };
        Some(self.estimate_with(centre, deviation, interval, interval, smallest))
    }
}

/// Standard deviation of a normal distribution with the same spread of Walsh averages: from the width of their
/// interval (Lehmann, Nonparametric confidence intervals for a shift parameter, 1963).
pub(crate) fn deviation(walsh: &WalshAverages, count: usize) -> Option<f64> {
    let (low, high) = walsh
        .not_rejected(critical_by_approximation(count, SPREAD_Z))
        .or_else(|| walsh.not_rejected(count as f64 * (count + 1) as f64 / 2.0))?;
    Some((high - low) * (count as f64).sqrt() / (2.0 * SPREAD_Z))
}

/// Whether an interval excludes 0: true if all of it is above.
fn different(interval: Option<(f64, f64)>) -> Option<bool> {
    match interval? {
        (low, _) if low > 0.0 => Some(true),
        (_, high) if high < 0.0 => Some(false),
        _ => None,
    }
}

/// On which side of a value the true value was found to be.
#[derive(Copy, Clone, Debug, Default)]
struct Rejected {
    /// The true value is above it.
    seen_above: bool,
    /// The true value is below it.
    seen_below: bool,
}

impl ComparisonDecision {
    /// Name in records.
    pub fn name(self) -> &'static str {
        match self {
            ComparisonDecision::Better => "better",
            ComparisonDecision::Equivalent => "equivalent",
            ComparisonDecision::NoWorse => "no_worse",
            ComparisonDecision::WorseThanTolerance => "worse_than_tolerance",
            ComparisonDecision::Undecided => "undecided",
        }
    }

    /// The verdict restricted to the displayed interval. The metric that ends a comparison always agrees with its
    /// interval, because both are from the same look; another metric may have crossed its boundary earlier, and come
    /// back.
    fn as_far_as(self, interval: Option<(f64, f64)>, tolerance: f64) -> ComparisonDecision {
        let Some((low, high)) = interval else { return ComparisonDecision::Undecided };
        let no_better = match (low > -tolerance, high < tolerance) {
            (true, true) => ComparisonDecision::Equivalent,
            (true, false) => ComparisonDecision::NoWorse,
            (false, _) => ComparisonDecision::Undecided,
        };
        match self {
            ComparisonDecision::Better if low <= 0.0 => no_better,
            ComparisonDecision::WorseThanTolerance if high >= -tolerance => ComparisonDecision::Undecided,
            ComparisonDecision::Equivalent | ComparisonDecision::NoWorse if low <= -tolerance => {
                ComparisonDecision::Undecided
            }
            ComparisonDecision::Equivalent if high >= tolerance => ComparisonDecision::NoWorse,
            ComparisonDecision::Better
            | ComparisonDecision::Equivalent
            | ComparisonDecision::NoWorse
            | ComparisonDecision::WorseThanTolerance
            | ComparisonDecision::Undecided => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SplitMix64;

    fn test(planned: usize) -> SequentialTest {
        SequentialTest::by_student(Arc::new(Boundary::new(0.05, planned)), 0.05, 0.02)
    }

    fn comparisons() -> u32 {
        testkit::extent::choose(1_200, 4_000)
    }

    /// Share of comparisons that claim any difference, with a look after each of this number of draws.
    fn claimed(planned: usize, effect: f64) -> f64 {
        let mut random = SplitMix64::new(11);
        let comparisons = comparisons();
        let found = (0..comparisons).filter(|_| {
            let mut test = test(planned);
            (0..planned).for_each(|_| test.add(effect + 0.01 * random.normal()));
            test.different().is_some()
        });
        found.count() as f64 / f64::from(comparisons)
    }

    #[test]
    fn a_server_that_is_no_different_is_called_different_in_one_comparison_of_twenty_at_most() {
        // Two standard errors of a share of 5 %.
        let limit = 0.05 + 2.0 * (0.05 * 0.95 / f64::from(comparisons())).sqrt();
        for planned in [3, 5, 8, 12] {
            let share = claimed(planned, 0.0);
            assert!((0.01..limit).contains(&share), "{planned} draws: {share}");
        }
    }

    #[test]
    fn differences_of_a_few_deviations_are_found_with_eight_draws() {
        assert!(claimed(8, 0.02) > 0.95);
    }

    #[test]
    fn two_draws_say_nothing_and_a_huge_difference_is_seen_with_three() {
        let mut test = test(3);
        test.add(-1.0);
        test.add(-1.1);
        assert_eq!((test.estimate().is_some(), test.decision()), (false, ComparisonDecision::Undecided));
        test.add(-1.05);
        assert_eq!(test.decision(), ComparisonDecision::WorseThanTolerance);
        let known = test.estimate().unwrap();
        assert!(known.interval.is_some_and(|(low, high)| low < -1.05 && -1.05 < high && high < -0.8));
    }

    #[test]
    fn the_end_of_the_time_is_a_last_look() {
        let mut test = test(12);
        [-0.05, -0.06, -0.055, -0.05].into_iter().for_each(|ratio| test.add(ratio));
        assert_eq!(test.decision(), ComparisonDecision::Undecided);
        test.close();
        assert_eq!(test.decision(), ComparisonDecision::WorseThanTolerance);
        test.add(5.0);
        assert_eq!(test.ln_ratios().len(), 4);
    }

    #[test]
    fn draws_that_agree_exactly_are_no_error() {
        let mut test = test(3);
        (0..3).for_each(|_| test.add(0.0));
        assert_eq!(test.decision(), ComparisonDecision::Equivalent);
    }
}
