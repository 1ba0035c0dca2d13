//! The ratio of two rates that have intervals, with its own interval: of two searches, or of two combinations of an
//! experiment.

/// A rate and the ends of its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateEstimate {
    /// The estimate.
    pub rate_tps: f64,
    /// Lower end of the interval of 95 %.
    pub low_tps: f64,
    /// Upper end.
    pub high_tps: f64,
}

/// The rate of B ÷ that of A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateRatio {
    /// The ratio of the estimates.
    pub ratio: f64,
    /// Lower end of the interval of 95 %.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl RateRatio {
    /// From the intervals of both rates, which need not be symmetric: their distances are added as squares on the scale of
    /// logarithms (Zou and Donner, Construction of confidence limits about effect measures, Statistics in Medicine 27,
    /// 2008). The rates are taken as independent; a drift that both sides share would make the true interval narrower.
    pub fn new(a: &RateEstimate, b: &RateEstimate) -> RateRatio {
        let distance = |one: f64, other: f64| (one / other).ln();
        let middle = distance(b.rate_tps, a.rate_tps);
        let down = distance(b.rate_tps, b.low_tps).hypot(distance(a.high_tps, a.rate_tps));
        let up = distance(b.high_tps, b.rate_tps).hypot(distance(a.rate_tps, a.low_tps));
        RateRatio { ratio: middle.exp(), low: (middle - down).exp(), high: (middle + up).exp() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SplitMix64;

    fn around(rate_tps: f64, down: f64, up: f64) -> RateEstimate {
        RateEstimate { rate_tps, low_tps: rate_tps * (-down).exp(), high_tps: rate_tps * up.exp() }
    }

    #[test]
    fn the_ends_of_a_ratio_follow_from_those_of_its_rates() {
        let ratio = RateRatio::new(&around(1000.0, 0.03, 0.04), &around(800.0, 0.04, 0.03));
        assert!((ratio.ratio - 0.8).abs() < 1e-9);
        assert!((ratio.low.ln() - (0.8f64.ln() - 0.04f64.hypot(0.04))).abs() < 1e-9, "{ratio:?}");
        assert!((ratio.high.ln() - (0.8f64.ln() + 0.03f64.hypot(0.03))).abs() < 1e-9, "{ratio:?}");
        let same = around(1000.0, 0.0, 0.0);
        assert_eq!(RateRatio::new(&same, &same), RateRatio { ratio: 1.0, low: 1.0, high: 1.0 });
    }

    #[test]
    fn ratios_of_rates_with_known_intervals_contain_the_true_ratio_as_often_as_these() {
        let mut random = SplitMix64::new(11);
        let (sigma_a, sigma_b) = (0.02, 0.05);
        let mut hits = 0;
        for _ in 0..4_000 {
            let mut draw = |sigma: f64, truth: f64| {
                around(truth * (sigma * random.normal()).exp(), 1.96 * sigma, 1.96 * sigma)
            };
            let (a, b) = (draw(sigma_a, 1000.0), draw(sigma_b, 900.0));
            let RateRatio { low, high, .. } = RateRatio::new(&a, &b);
            hits += i32::from((low..high).contains(&0.9));
        }
        assert!((3_740..3_860).contains(&hits), "{hits}");
    }
}
