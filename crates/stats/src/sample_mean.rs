//! The mean of independent values with its standard error, and Welch's difference of two means. `confidence` handles
//! series with autocorrelation.

use crate::quantiles::two_sided_t;

/// Default coverage of displayed intervals.
pub const CONFIDENCE: f64 = 0.95;

/// A mean with its standard error.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct SampleMean {
    /// The mean.
    pub mean: f64,
    /// Variance of the mean: that of a single value ÷ their number.
    pub variance: f64,
    /// Degrees of freedom of Student's t; below 1 the variance is unknown.
    pub degrees_of_freedom: f64,
}

impl SampleMean {
    /// `None` without values, or if the mean is not finite.
    pub fn of(values: &[f64]) -> Option<SampleMean> {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let degrees_of_freedom = count - 1.0;
        let variance = if degrees_of_freedom > 0.0 { squares / degrees_of_freedom / count } else { 0.0 };
        mean.is_finite().then_some(SampleMean { mean, variance, degrees_of_freedom })
    }

    /// The difference of two means (Welch, The generalization of "Student's" problem when several different
    /// population variances are involved, Biometrika 34, 1947).
    pub fn minus(&self, other: &SampleMean) -> SampleMean {
        let (a, b) = (self, other);
        let variance = a.variance + b.variance;
        let degrees_of_freedom = if a.degrees_of_freedom < 1.0 || b.degrees_of_freedom < 1.0 {
            0.0
        } else if variance > 0.0 {
            variance.powi(2)
                / (a.variance.powi(2) / a.degrees_of_freedom + b.variance.powi(2) / b.degrees_of_freedom)
        } else {
            a.degrees_of_freedom + b.degrees_of_freedom
        };
        SampleMean { mean: a.mean - b.mean, variance, degrees_of_freedom }
    }

    /// Half width of the interval with this coverage; `None` if the variance is unknown.
    pub fn half_width(&self, confidence: f64) -> Option<f64> {
        (self.degrees_of_freedom >= 1.0)
            .then(|| two_sided_t(confidence, self.degrees_of_freedom) * self.variance.sqrt())
    }

    /// The interval with this coverage.
    pub fn interval(&self, confidence: f64) -> Option<(f64, f64)> {
        self.half_width(confidence).map(|half| (self.mean - half, self.mean + half))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_has_the_interval_of_welchs_formula() {
        let (a, b) = (SampleMean::of(&[12.0, 14.0, 16.0]).unwrap(), SampleMean::of(&[1.0, 11.0]).unwrap());
        let difference = a.minus(&b);
        // Variances of the means 4/3 and 25, with 2 degrees of freedom and 1.
        assert_eq!((a.variance, b.variance, difference.mean), (4.0 / 3.0, 25.0, 8.0));
        assert!((difference.degrees_of_freedom - 1.1079).abs() < 1e-4, "{difference:?}");
        let (low, high) = difference.interval(CONFIDENCE).unwrap();
        assert!(low < 0.0 && ((low + high) / 2.0 - 8.0).abs() < 1e-9);
    }

    #[test]
    fn a_single_value_has_a_mean_and_no_interval() {
        let single = SampleMean::of(&[7.0]).unwrap();
        assert_eq!((single.mean, single.interval(CONFIDENCE)), (7.0, None));
        assert_eq!(single.minus(&SampleMean::of(&[1.0, 2.0]).unwrap()).half_width(CONFIDENCE), None);
        assert_eq!((SampleMean::of(&[]), SampleMean::of(&[f64::INFINITY])), (None, None));
    }

    #[test]
    fn values_that_do_not_vary_have_an_interval_without_width() {
        let [a, b] = [3.0, 1.0].map(|value| SampleMean::of(&[value; 4]).unwrap());
        assert_eq!(a.minus(&b).interval(CONFIDENCE), Some((2.0, 2.0)));
    }
}
