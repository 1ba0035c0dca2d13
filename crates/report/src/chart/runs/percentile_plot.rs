//! The percentile plot: latency over 1 ÷ (1 − p) on a logarithmic axis, so that p99, p99.9 and p99.99 are as far from
//! each other as p90 from p99. After Gil Tene's HdrHistogram plots.

use stats::Distribution;

/// The plot ends at p99.99.
const TAIL_MAX: f64 = 1e4;
const POINTS_PER_DECADE: f64 = 24.0;
const NANOSECONDS_PER_MICROSECOND: f64 = 1e3;

/// One point of the curve.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct PercentilePoint {
    /// 1 ÷ (1 − p): 1 is the minimum, 2 the median, 100 is p99.
    pub(crate) tail: f64,
    pub(crate) us: f64,
}

/// The curve, as far as there are transactions beyond it: of 1,000 transactions it ends at p99.9.
// At most a hundred points.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(crate) fn percentile_points(distribution: &Distribution) -> Vec<PercentilePoint> {
    let tail_max = TAIL_MAX.min(distribution.count() as f64);
    let last = (tail_max.max(1.0).log10() * POINTS_PER_DECADE).floor() as usize;
    let point = |step: usize| {
        let tail = 10f64.powf(step as f64 / POINTS_PER_DECADE);
        let us = distribution.quantile_ns(1.0 - 1.0 / tail)? as f64 / NANOSECONDS_PER_MICROSECOND;
        Some(PercentilePoint { tail, us })
    };
    (0..=last).filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_ends_where_the_transactions_do() {
        let mut distribution = Distribution::new();
        assert_eq!(percentile_points(&distribution), []);
        (1..=1_000u64).for_each(|us| distribution.record_ns(us * 1_000));
        let points = percentile_points(&distribution);
        assert_eq!(points.len(), 73);
        assert_eq!(points[0].us, 1.0);
        let p90 = points[24];
        assert!((p90.tail - 10.0).abs() < 1e-9 && (p90.us - 900.0).abs() < 1.0, "{p90:?}");
        assert!(points.windows(2).all(|pair| pair[0].us <= pair[1].us));
    }

    #[test]
    fn the_curve_of_many_transactions_ends_at_p9999() {
        let mut distribution = Distribution::new();
        (1..=50_000u64).for_each(|us| distribution.record_ns(us * 1_000));
        assert!((percentile_points(&distribution).last().unwrap().tail - 1e4).abs() < 1e-6);
    }
}
