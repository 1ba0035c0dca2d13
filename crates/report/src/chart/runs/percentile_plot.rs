//! The percentile plot: latency over 1 ÷ (1 − p) on a logarithmic axis, so that p99, p99.9 and p99.99 are as far from
//! each other as p90 from p99. After Gil Tene's HdrHistogram plots. It ends at the maximum.

use stats::Distribution;

const POINTS_PER_DECADE: f64 = 24.0;
const NANOSECONDS_PER_MICROSECOND: f64 = 1e3;
/// 1 ÷ (1 − p) of percentiles whose figures stand on the curve.
const NAMED: [(f64, &str); 4] = [(2.0, "p50"), (10.0, "p90"), (100.0, "p99"), (1e3, "p99.9")];

/// One point of the curve.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct PercentilePoint {
    /// 1 ÷ (1 − p): 1 is the minimum, 2 the median, 100 is p99; that of the maximum is the number of transactions.
    pub(crate) tail: f64,
    pub(crate) us: f64,
    /// Such as `p99`; empty between them.
    pub(crate) name: &'static str,
}

/// The curve from the minimum to the maximum.
// At most some hundred points.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(crate) fn percentile_points(distribution: &Distribution) -> Vec<PercentilePoint> {
    let end = distribution.count() as f64;
    let steps = (end.max(1.0).log10() * POINTS_PER_DECADE).floor() as usize;
    let grid = (0..=steps).map(|step| (10f64.powf(step as f64 / POINTS_PER_DECADE), ""));
    let mut tails: Vec<(f64, &str)> = NAMED.into_iter().chain(grid).filter(|(tail, _)| *tail < end).collect();
    tails.push((end, "max"));
    tails.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Named ones are sorted before equal ones of the grid.
    tails.dedup_by(|a, b| a.0 / b.0 - 1.0 < 1e-9);
    let point = |(tail, name): (f64, &'static str)| {
        let quantile = if name == "max" { 1.0 } else { 1.0 - 1.0 / tail };
        let us = distribution.quantile_ns(quantile)? as f64 / NANOSECONDS_PER_MICROSECOND;
        Some(PercentilePoint { tail, us, name })
    };
    tails.into_iter().filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_ends_at_the_maximum_and_has_the_percentiles_that_are_named() {
        let mut distribution = Distribution::new();
        assert_eq!(percentile_points(&distribution), []);
        (1..=1_500u64).for_each(|us| distribution.record_ns(us * 1_000));
        let points = percentile_points(&distribution);
        assert_eq!((points[0].tail, points[0].us), (1.0, 1.0));
        let last = points.last().unwrap();
        assert_eq!((last.tail, last.us, last.name), (1_500.0, 1_500.0, "max"));
        let named: Vec<&str> =
            points.iter().map(|point| point.name).filter(|name| !name.is_empty()).collect();
        assert_eq!(named, ["p50", "p90", "p99", "p99.9", "max"]);
        let p90 = points.iter().find(|point| point.name == "p90").unwrap();
        assert!((p90.us - 1_350.0).abs() < 2.0, "{p90:?}");
        assert!(points.windows(2).all(|pair| pair[0].us <= pair[1].us && pair[0].tail < pair[1].tail));
    }

    #[test]
    fn few_transactions_have_few_percentiles() {
        let mut distribution = Distribution::new();
        (1..=50u64).for_each(|us| distribution.record_ns(us * 1_000));
        let points = percentile_points(&distribution);
        let named: Vec<&str> =
            points.iter().map(|point| point.name).filter(|name| !name.is_empty()).collect();
        assert_eq!(named, ["p50", "p90", "max"]);
    }
}
