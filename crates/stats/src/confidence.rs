//! 95 % confidence intervals of ratios of two series, such as transactions ÷ time or time in transactions ÷
//! transactions, allowing for the autocorrelation of neighbouring seconds. The series come from the intervals of a
//! run. docs/statistics.md explains the method.

use crate::quantiles::two_sided_t;
use crate::series::{Noise, mean};

/// Coverage of the intervals.
const CONFIDENCE: f64 = 0.95;
/// Minimum number of intervals. In a shorter run the autocorrelation is not known well enough, and intervals of
/// strongly correlated series would contain the true value too rarely; the tests measure this.
pub const INTERVALS_MIN: usize = 20;
/// Maximum relative standard error of a denominator: above it the ratio is not approximately linear, and an interval
/// would be wrong (Cochran, Sampling Techniques, 3rd ed. 1977, chapter 6: 10 %).
const DENOMINATOR_ERROR_MAX: f64 = 0.1;

/// A ratio with its uncertainty.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct RatioEstimate {
    /// Sum of the numerators ÷ sum of the denominators.
    pub ratio: f64,
    /// Half width of the 95 % confidence interval.
    pub half_width: f64,
    /// Degrees of freedom of Student's t for the interval.
    pub degrees_of_freedom: u32,
    /// Autocorrelation of neighbouring intervals, from −1 to 1.
    pub autocorrelation: f64,
}

fn standard_error(noise: &Noise, len: usize) -> f64 {
    (noise.density / len as f64).sqrt()
}

impl RatioEstimate {
    /// The ratio of two series of the same intervals; `None` if they are too short or vary too much.
    ///
    /// A ratio of sums is not the mean of ratios, because intervals have different numbers of transactions. As in the
    /// ratio estimator (Cochran 1977, chapter 6), its error is that of the mean of yₜ − R·xₜ, divided by the mean of
    /// xₜ.
    ///
    /// # Panics
    /// If the series have different lengths.
    pub fn of(numerators: &[f64], denominators: &[f64]) -> Option<RatioEstimate> {
        assert_eq!(numerators.len(), denominators.len(), "a ratio is of two series of the same intervals");
        let len = denominators.len();
        if len < INTERVALS_MIN {
            return None;
        }
        if standard_error(&Noise::of(denominators, 0), len) > DENOMINATOR_ERROR_MAX * mean(denominators) {
            return None;
        }
        RatioEstimate::of_any_denominators(numerators, denominators)
    }

    /// The same however much the denominators vary: the interval is approximate then.
    pub(crate) fn of_any_denominators(numerators: &[f64], denominators: &[f64]) -> Option<RatioEstimate> {
        let len = denominators.len();
        if len < INTERVALS_MIN {
            return None;
        }
        let denominator = mean(denominators);
        let ratio = mean(numerators) / denominator;
        let pairs = numerators.iter().zip(denominators);
        let residuals: Vec<f64> = pairs.map(|(y, x)| (y - ratio * x) / denominator).collect();
        let noise = Noise::of(&residuals, 0);
        let Noise { degrees_of_freedom, autocorrelation, .. } = noise;
        let half_width = two_sided_t(CONFIDENCE, f64::from(degrees_of_freedom)) * standard_error(&noise, len);
        let estimate = RatioEstimate { ratio, half_width, degrees_of_freedom, autocorrelation };
        (ratio.is_finite() && half_width.is_finite()).then_some(estimate)
    }

    /// Half width relative to the ratio; `None` if the ratio is zero.
    pub fn relative_half_width(&self) -> Option<f64> {
        (self.ratio > 0.0).then(|| self.half_width / self.ratio)
    }
}
