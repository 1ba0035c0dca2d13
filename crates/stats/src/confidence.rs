//! How sure a mean is: 95 % confidence intervals of ratios of two series, such as transactions ÷ time or time in
//! transactions ÷ transactions, that allow for what neighbouring seconds have to do with each other.
//! docs/statistics.md explains it; the series come from the intervals of a run.

use crate::quantiles::two_sided_t;
use crate::series::{Noise, mean};

/// How often the intervals hold the true value.
const CONFIDENCE: f64 = 0.95;
/// In a shorter run the autocorrelation is not known well enough: intervals of strongly correlated series would hold
/// the true value too rarely. The tests measure it.
pub const INTERVALS_MIN: usize = 20;
/// The standard error of a denominator above which its ratio is not near enough to linear, and an interval would be
/// wrong (Cochran, Sampling Techniques, 3rd ed. 1977, chapter 6: a tenth of it).
const DENOMINATOR_ERROR_MAX: f64 = 0.1;

/// A ratio and how far its true value may be away.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct RatioEstimate {
    /// Sum of the numerators ÷ sum of the denominators.
    pub ratio: f64,
    /// Half of the width of its 95 % confidence interval.
    pub half_width: f64,
    /// Of Student's t, by which it is as wide as it is.
    pub degrees_of_freedom: u32,
    /// Of neighbouring intervals, from −1 to 1.
    pub autocorrelation: f64,
}

impl RatioEstimate {
    /// The ratio of two series of the same intervals; `None` if they are too few or too unsteady to tell.
    ///
    /// A ratio of sums is not the mean of ratios, since intervals have different numbers of transactions: as in the
    /// ratio estimator (Cochran 1977, chapter 6) its error is that of the mean of yₜ − R·xₜ, over the mean of xₜ.
    ///
    /// # Panics
    /// If the series are not of the same length.
    pub fn of(numerators: &[f64], denominators: &[f64]) -> Option<RatioEstimate> {
        assert_eq!(numerators.len(), denominators.len(), "a ratio is of two series of the same intervals");
        let len = denominators.len();
        if len < INTERVALS_MIN {
            return None;
        }
        let denominator = mean(denominators);
        let ratio = mean(numerators) / denominator;
        let standard_error = |noise: &Noise| (noise.density / len as f64).sqrt();
        if standard_error(&Noise::of(denominators, 0)) > DENOMINATOR_ERROR_MAX * denominator {
            return None;
        }
        let pairs = numerators.iter().zip(denominators);
        let residuals: Vec<f64> = pairs.map(|(y, x)| (y - ratio * x) / denominator).collect();
        let noise = Noise::of(&residuals, 0);
        let Noise { degrees_of_freedom, autocorrelation, .. } = noise;
        let half_width = two_sided_t(CONFIDENCE, f64::from(degrees_of_freedom)) * standard_error(&noise);
        let estimate = RatioEstimate { ratio, half_width, degrees_of_freedom, autocorrelation };
        (ratio.is_finite() && half_width.is_finite()).then_some(estimate)
    }

    /// Half of the width as a share of the ratio; `None` of nothing.
    pub fn relative_half_width(&self) -> Option<f64> {
        (self.ratio > 0.0).then(|| self.half_width / self.ratio)
    }
}
