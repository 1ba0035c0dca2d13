//! The pooled share of transactions over a limit against the rate, fitted to all trials near the answer, and the rate at
//! which it reaches the goal's limit. The logit of the pooled share is linear in ln(rate) there. Trials scatter more than
//! independent transactions, because delays come in groups and each set of connections has a speed of its own. So the
//! interval follows from the scatter of whole trials: a rate is in it unless a robust score test rejects it (Boos, On
//! generalized score tests, The American Statistician 46, 1992). Used by `decision`.

/// Distance of two rates that are tested, in ln(rate).
const STEP: f64 = 0.0025;
/// The interval ends at this distance from the estimate, in ln(rate), if the tests reject nothing before.
const REACH: f64 = 0.7;
/// Standard errors within which a rate is not rejected. More than the 1.96 of the normal distribution, because trials are
/// few and skewed, and because the search ends when the interval is narrow; `examples/coverage.rs` shows what it yields.
const CRITICAL: f64 = 2.3;
/// Slopes of the logit per unit of ln(rate).
const SLOPE_MIN: f64 = 0.5;
const SLOPE_MAX: f64 = 150.0;
/// Steps of Newton's method.
const ITERATIONS: usize = 12;

/// The trials under one goal.
#[derive(Clone, Debug)]
pub struct ShareCurve {
    limit: f64,
    /// ln(rate), transactions over the limit, all.
    trials: Vec<(f64, f64, f64)>,
}

/// The rate at which the pooled share reaches the limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurveEstimate {
    /// Where the fitted share reaches the limit.
    pub rate_tps: f64,
    /// Lower end of the interval of 95 %.
    pub low_tps: f64,
    /// Upper end.
    pub high_tps: f64,
}

impl CurveEstimate {
    /// Half of the interval relative to the rate.
    pub fn half_width(&self) -> f64 {
        (self.high_tps / self.low_tps).ln() / 2.0
    }
}

/// A trial under the assumption that the share reaches the limit at some rate.
struct Residual {
    /// ln(rate) beyond the assumed rate.
    beyond: f64,
    /// Transactions over the limit beyond those of the curve.
    over: f64,
    /// Variance of independent transactions.
    weight: f64,
}

impl ShareCurve {
    /// No trials yet.
    pub fn new(limit: f64) -> ShareCurve {
        ShareCurve { limit, trials: Vec::new() }
    }

    /// Adds a trial with `over` of `of` transactions over the limit.
    pub fn add(&mut self, rate_tps: f64, over: f64, of: f64) {
        if of > 0.0 {
            self.trials.push((rate_tps.ln(), over.min(of), of));
        }
    }

    /// The answer as far as it is known; `None` without trials.
    pub fn estimate(&self) -> Option<CurveEstimate> {
        let sum: f64 = self.trials.iter().map(|(ln_rate, ..)| ln_rate).sum();
        let middle = sum / self.trials.len() as f64;
        if !middle.is_finite() {
            return None;
        }
        // The score falls from low rates, at which there should have been more over the limit, to high ones.
        let (mut low, mut high) = (middle - REACH, middle + REACH);
        for _ in 0..20 {
            let between = f64::midpoint(low, high);
            if self.score(between).0 < 0.0 { low = between } else { high = between }
        }
        let best = f64::midpoint(low, high);
        let end = |direction: f64| {
            let mut at = best;
            loop {
                at += direction * STEP;
                let (score, deviation) = self.score(at);
                if (at - best).abs() > REACH || score.abs() > CRITICAL * deviation {
                    return at.exp();
                }
            }
        };
        Some(CurveEstimate { rate_tps: best.exp(), low_tps: end(-1.0), high_tps: end(1.0) })
    }

    /// How many more transactions are over the limit than if the share reached it at this rate, and the standard deviation
    /// of this number by the scatter of the trials. What another slope could explain is not in it.
    fn score(&self, ln_rate: f64) -> (f64, f64) {
        let residuals = self.residuals(ln_rate, self.slope(ln_rate));
        let (mut cross, mut square) = (0.0, 0.0);
        for Residual { beyond, weight, .. } in &residuals {
            cross += weight * beyond;
            square += weight * beyond * beyond;
        }
        let part = if square > 0.0 { cross / square } else { 0.0 };
        let (mut score, mut variance) = (0.0, 0.0);
        for Residual { beyond, over, .. } in &residuals {
            let own = over * (1.0 - part * beyond);
            score += own;
            variance += own * own;
        }
        (score, variance.sqrt())
    }

    fn residuals(&self, ln_rate: f64, slope: f64) -> Vec<Residual> {
        let at_limit = (self.limit / (1.0 - self.limit)).ln();
        let residual = |&(own, over, of): &(f64, f64, f64)| {
            let beyond = own - ln_rate;
            let share = 1.0 / (1.0 + (-(at_limit + slope * beyond)).exp());
            Residual { beyond, over: over - of * share, weight: of * share * (1.0 - share) }
        };
        self.trials.iter().map(residual).collect()
    }

    /// The slope with the greatest likelihood if the share reaches the limit at this rate.
    fn slope(&self, ln_rate: f64) -> f64 {
        let mut slope: f64 = 10.0;
        for _ in 0..ITERATIONS {
            let (mut gradient, mut curvature) = (0.0, 1e-9);
            for Residual { beyond, over, weight } in self.residuals(ln_rate, slope) {
                gradient += over * beyond;
                curvature += weight * beyond * beyond;
            }
            // Not more than a factor of 2 at once, so that a bad start does not end at a limit.
            slope =
                (slope + gradient / curvature).clamp(slope / 2.0, slope * 2.0).clamp(SLOPE_MIN, SLOPE_MAX);
        }
        slope
    }
}

/// The rate that keeps all goals: that of the goal that breaks first.
pub(crate) fn estimate_of(curves: &[ShareCurve]) -> Option<CurveEstimate> {
    curves.iter().filter_map(ShareCurve::estimate).reduce(|a, b| CurveEstimate {
        rate_tps: a.rate_tps.min(b.rate_tps),
        low_tps: a.low_tps.min(b.low_tps),
        high_tps: a.high_tps.min(b.high_tps),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::SplitMix64;

    #[test]
    fn trials_of_a_smooth_curve_give_an_interval_around_the_answer_and_more_trials_a_narrower_one() {
        let mut random = SplitMix64::new(7);
        let (slope, truth) = (30.0, 1000.0f64);
        let mut curve = ShareCurve::new(0.01);
        let mut widths = Vec::new();
        for number in 0..120 {
            let rate = truth * if number % 2 == 0 { 0.95 } else { 1.05 };
            let logit = (0.01f64 / 0.99).ln() + slope * (rate / truth).ln();
            let share = 1.0 / (1.0 + (-logit).exp());
            // Delays come in groups of ten.
            let groups = (0..150).filter(|_| random.chance(share)).count();
            curve.add(rate, groups as f64 * 10.0, 1500.0);
            widths.push(curve.estimate().unwrap().half_width());
        }
        let estimate = curve.estimate().unwrap();
        assert!((estimate.low_tps..estimate.high_tps).contains(&truth), "{estimate:?}");
        assert!(estimate.half_width() < 0.03 && widths[20] > 1.5 * widths[119], "{estimate:?}");
    }

    #[test]
    fn a_sudden_end_is_between_the_rates_that_were_kept_and_broken() {
        let mut curve = ShareCurve::new(0.01);
        assert_eq!(curve.estimate(), None);
        for rate in [480.0, 490.0, 510.0, 520.0].into_iter().cycle().take(40) {
            curve.add(rate, if rate < 500.0 { 0.0 } else { 1000.0 }, 1000.0);
        }
        let estimate = curve.estimate().unwrap();
        assert!(estimate.low_tps > 440.0 && estimate.high_tps < 530.0, "{estimate:?}");
    }

    #[test]
    fn with_two_goals_the_lower_answer_decides() {
        let mut curves = [ShareCurve::new(0.01), ShareCurve::new(0.05)];
        for rate in [450.0, 470.0, 530.0, 560.0, 650.0, 700.0].into_iter().cycle().take(60) {
            curves[0].add(rate, if rate < 600.0 { 0.0 } else { 900.0 }, 1000.0);
            curves[1].add(rate, if rate < 500.0 { 0.0 } else { 900.0 }, 1000.0);
        }
        let both = estimate_of(&curves).unwrap();
        assert_eq!(both.rate_tps, curves[1].estimate().unwrap().rate_tps);
        assert!(curves[0].estimate().unwrap().rate_tps > both.rate_tps);
    }
}
