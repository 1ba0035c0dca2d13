//! One metric of a comparison whose draws are too expensive to have many of: servers that are started and loaded anew.
//! Ranks could never tell of so few numbers; Student's t can, if they scatter normally. The looks share the error rate
//! as in `sequential`, which is for many. Each number is the mean over all blocks of a draw of both sides: blocks within
//! a draw share its luck and never count as independent (analysis by clusters: Donner and Klar, Design and analysis of
//! cluster randomization trials in health research, 2000, chapter 6).

use std::sync::Arc;

use crate::comparison::boundary::Boundary;
use crate::comparison::normal::{upper_quantile, upper_tail};
use crate::comparison::sequential::{ComparisonDecision, Estimate, POWER, Rejected, different};
use crate::quantiles::two_sided_t;

/// With fewer numbers than this nothing is known of how they scatter.
const DRAWS_MIN: usize = 3;

/// The test of one metric.
#[derive(Clone, Debug)]
pub(crate) struct DrawTest {
    boundary: Arc<Boundary>,
    /// In natural logarithms, not negative.
    tolerance: f64,
    ln_ratios: Vec<f64>,
    is_closed: bool,
    zero: Rejected,
    minus_tolerance: Rejected,
    plus_tolerance: Rejected,
}

impl DrawTest {
    pub(crate) fn new(boundary: Arc<Boundary>, tolerance: f64) -> DrawTest {
        DrawTest {
            boundary,
            tolerance: tolerance.ln_1p(),
            ln_ratios: Vec::new(),
            is_closed: false,
            zero: Rejected::default(),
            minus_tolerance: Rejected::default(),
            plus_tolerance: Rejected::default(),
        }
    }

    /// As [`super::SequentialTest::add`].
    pub(crate) fn add(&mut self, ln_ratio: f64) {
        if self.is_closed || self.ln_ratios.len() >= self.boundary.pairs() {
            return;
        }
        self.ln_ratios.push(ln_ratio);
        self.look();
    }

    /// As [`super::SequentialTest::close`].
    pub(crate) fn close(&mut self) {
        if !self.is_settled() {
            self.is_closed = true;
            self.look();
        }
    }

    fn look(&mut self) {
        let Some((low, high)) = self.interval() else { return };
        let origins = [
            (&mut self.zero, 0.0),
            (&mut self.minus_tolerance, -self.tolerance),
            (&mut self.plus_tolerance, self.tolerance),
        ];
        for (rejected, origin) in origins {
            rejected.seen_above |= low > origin;
            rejected.seen_below |= high < origin;
        }
    }

    /// Mean, and standard deviation of a single draw.
    fn moments(&self) -> Option<(f64, f64)> {
        let count = self.ln_ratios.len() as f64;
        if self.ln_ratios.len() < DRAWS_MIN {
            return None;
        }
        let mean = self.ln_ratios.iter().sum::<f64>() / count;
        let squares: f64 = self.ln_ratios.iter().map(|number| (number - mean).powi(2)).sum();
        Some((mean, (squares / (count - 1.0)).sqrt()))
    }

    /// How many standard errors a value must be away to be rejected after so many draws: the nominal significance level
    /// of a boundary for a known variance, read from Student's t (Jennison and Turnbull, Group sequential methods with
    /// applications to clinical trials, 2000, chapter 11.3).
    fn critical_t(&self, count: usize, is_last: bool) -> Option<f64> {
        let z = if is_last { self.boundary.z_at_last(count)? } else { self.boundary.z(count)? };
        let degrees_of_freedom = count.checked_sub(1)? as f64;
        Some(two_sided_t(1.0 - 2.0 * upper_tail(z), degrees_of_freedom))
    }

    /// The values that are not rejected at this look.
    fn interval(&self) -> Option<(f64, f64)> {
        let (mean, deviation) = self.moments()?;
        let count = self.ln_ratios.len();
        let half = self.critical_t(count, self.is_closed)? * deviation / (count as f64).sqrt();
        half.is_finite().then_some((mean - half, mean + half))
    }

    pub(crate) fn ln_ratios(&self) -> &[f64] {
        &self.ln_ratios
    }

    pub(crate) fn decision(&self) -> ComparisonDecision {
        ComparisonDecision::of(self.zero, self.minus_tolerance, self.plus_tolerance)
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.decision().is_settled(self.zero)
    }

    pub(crate) fn different(&self) -> Option<bool> {
        self.zero.different()
    }

    pub(crate) fn estimate(&self) -> Option<Estimate> {
        let (centre, deviation) = self.moments()?;
        let interval = self.interval();
        let planned = if self.is_closed { self.ln_ratios.len() } else { self.boundary.pairs() };
        let smallest = |count: usize| {
            let t = self.critical_t(count, self.is_closed && count < self.boundary.pairs());
            t.map_or(f64::INFINITY, |t| (t + upper_quantile(1.0 - POWER)) * deviation / (count as f64).sqrt())
        };
        Some(Estimate {
            numbers: self.ln_ratios.len(),
            centre,
            at_all_looks: interval,
            interval,
            deviation,
            different: different(interval),
            decision: self.decision().as_far_as(interval, self.tolerance),
            smallest_of_all_planned: smallest(planned.max(self.ln_ratios.len())),
            smallest_so_far: smallest(self.ln_ratios.len()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SplitMix64;

    fn test(planned: usize) -> DrawTest {
        DrawTest::new(Arc::new(Boundary::new(0.05, planned)), 0.02)
    }

    /// The share of comparisons in which any difference is claimed, with a look after each of so many draws.
    fn claimed(planned: usize, effect: f64) -> f64 {
        let mut random = SplitMix64::new(11);
        let comparisons = 4_000;
        let found = (0..comparisons).filter(|_| {
            let mut test = test(planned);
            (0..planned).for_each(|_| test.add(effect + 0.01 * random.normal()));
            test.different().is_some()
        });
        found.count() as f64 / f64::from(comparisons)
    }

    #[test]
    fn a_server_that_is_no_different_is_called_different_in_one_comparison_of_twenty_at_most() {
        for planned in [3, 5, 8, 12] {
            let share = claimed(planned, 0.0);
            assert!((0.01..0.057).contains(&share), "{planned} draws: {share}");
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
