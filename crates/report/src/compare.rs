//! Tests whether two runs differ: the difference of their means with Welch's 95 % interval. The interval covers
//! variation within the runs; variation between runs requires several runs.

use results::Estimate;

use stats::{CONFIDENCE, INTERVALS_MIN, SampleMean, permutation_p};

/// Result of a comparison of two means.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) enum Comparison {
    /// The interval excludes 0.
    Apart(Difference),
    /// The interval includes 0.
    Alike(Difference),
    /// One mean has no interval; `p`: p-value of a permutation test over seconds, if there are enough.
    Unknown { difference: f64, p: Option<f64> },
}

/// Second mean minus first mean, and its 95 % interval.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct Difference {
    pub(crate) mean: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// A mean and its confidence interval.
#[derive(Clone, Debug)]
pub(crate) struct Mean {
    pub(crate) value: f64,
    pub(crate) estimate: Option<Estimate>,
    /// Values of the single seconds.
    pub(crate) seconds: Vec<f64>,
}

impl Mean {
    /// Whether the run has too few seconds for an interval.
    pub(crate) fn is_short(&self) -> bool {
        self.seconds.len() < INTERVALS_MIN
    }

    /// The standard error follows from the longer side of the interval, because the lower bound is cut off at 0.
    fn sample_mean(&self) -> Option<SampleMean> {
        let Estimate { low, high, degrees_of_freedom, .. } = self.estimate?;
        let degrees_of_freedom = f64::from(degrees_of_freedom);
        let unit = SampleMean { mean: self.value, variance: 1.0, degrees_of_freedom };
        let half_width = crate::figures::half_width(self.value, low, high);
        let standard_error = half_width / unit.half_width(CONFIDENCE)?;
        (standard_error.is_finite() && standard_error >= 0.0)
            .then_some(SampleMean { variance: standard_error * standard_error, ..unit })
    }
}

/// Compares the second mean with the first.
pub(crate) fn compare(first: &Mean, second: &Mean) -> Comparison {
    let difference = second.value - first.value;
    let half_width = || second.sample_mean()?.minus(&first.sample_mean()?).half_width(CONFIDENCE);
    match half_width() {
        None => {
            // A long run lacks an interval because its seconds depend on each other; the permutation test does not
            // apply to it.
            let is_tested = [first, second].iter().all(|mean| mean.estimate.is_some() || mean.is_short());
            let p = is_tested.then(|| permutation_p(&first.seconds, &second.seconds)).flatten();
            Comparison::Unknown { difference, p }
        }
        Some(half) => {
            let interval = Difference { mean: difference, low: difference - half, high: difference + half };
            if interval.low > 0.0 || interval.high < 0.0 {
                Comparison::Apart(interval)
            } else {
                Comparison::Alike(interval)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(value: f64, half: f64, degrees_of_freedom: u32) -> Mean {
        let (low, high) = (value - half, value + half);
        let estimate = Estimate { low, high, degrees_of_freedom, autocorrelation: 0.0 };
        Mean { value, estimate: Some(estimate), seconds: Vec::new() }
    }

    #[test]
    fn equal_variances_give_the_pooled_interval() {
        // Each mean has a standard error of 1, so the difference has √2, with 38 degrees of freedom.
        let (first, second) = (mean(100.0, 2.093, 19), mean(110.0, 2.093, 19));
        let Comparison::Apart(Difference { mean, low, high }) = compare(&first, &second) else {
            panic!("10 ± 2.9 is not 0")
        };
        assert_eq!(mean, 10.0);
        assert!((low - (10.0 - 2.024 * 2f64.sqrt())).abs() < 0.02, "{low}");
        assert!((high - low - 2.0 * (mean - low)).abs() < 1e-9);
    }

    #[test]
    fn what_overlaps_cannot_be_told_apart() {
        let comparison = compare(&mean(100.0, 5.0, 20), &mean(103.0, 5.0, 10));
        assert!(matches!(comparison, Comparison::Alike(Difference { mean: 3.0, .. })), "{comparison:?}");
    }

    #[test]
    fn a_bound_cut_off_at_zero_makes_no_interval_narrower() {
        let cut = |low: f64| Mean {
            value: 100.0,
            estimate: Some(Estimate { low, high: 300.0, degrees_of_freedom: 5, autocorrelation: 0.0 }),
            seconds: Vec::new(),
        };
        assert_eq!(compare(&mean(100.0, 1.0, 5), &cut(0.0)), compare(&mean(100.0, 1.0, 5), &cut(-100.0)));
    }

    #[test]
    fn only_runs_that_are_too_short_for_an_interval_are_tested_by_permutations() {
        let without =
            |value: f64, seconds: usize| Mean { value, estimate: None, seconds: vec![value; seconds] };
        let p = |first: &Mean, second: &Mean| match compare(first, second) {
            Comparison::Unknown { p, .. } => p,
            other => panic!("{other:?} has an interval"),
        };
        assert!(p(&without(1.0, 6), &without(2.0, 19)).is_some_and(|p| p < 0.05));
        assert_eq!(
            p(&without(1.0, 6), &without(2.0, INTERVALS_MIN)),
            None,
            "its seconds depend on each other"
        );
    }

    #[test]
    fn without_an_interval_nothing_is_claimed() {
        let nothing = Mean { value: 5.0, estimate: None, seconds: Vec::new() };
        let unknown = |difference| Comparison::Unknown { difference, p: None };
        assert_eq!(compare(&nothing, &mean(7.0, 0.1, 20)), unknown(2.0));
        let single = mean(5.0, 0.1, 0);
        assert_eq!(compare(&single, &single), unknown(0.0));
    }
}
