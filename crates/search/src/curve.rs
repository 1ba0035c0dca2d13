//! The pooled share of transactions over a limit against the rate, and the rate at which it reaches the goal's limit. A
//! monotone fit of all trials finds the region, and `local` fits the trials in it. Used by `decision`.

use crate::local::{LocalFit, Point};

/// Trials that are further away from the monotone fit's answer than this, in ln(rate), are not fitted: the curve has
/// another slope there, above all if pauses give it a floor.
const REGION: f64 = 0.2;
/// How far beyond all trials the answer is sought if all of them kept the goal, or all broke it, in ln(rate).
const BEYOND: f64 = 0.1;

/// The trials under one goal.
#[derive(Clone, Debug)]
pub struct ShareCurve {
    limit: f64,
    trials: Vec<Point>,
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

/// Neighbouring trials of the monotone fit whose shares are pooled.
#[derive(Clone, Copy)]
struct Block {
    ln_rates: f64,
    trials: f64,
    over: f64,
    of: f64,
}

impl Block {
    fn share(&self) -> f64 {
        self.over / self.of
    }

    fn ln_rate(&self) -> f64 {
        self.ln_rates / self.trials
    }
}

impl ShareCurve {
    /// No trials yet.
    pub fn new(limit: f64) -> ShareCurve {
        ShareCurve { limit, trials: Vec::new() }
    }

    /// Adds a trial with `over` of `of` transactions over the limit.
    pub fn add(&mut self, rate_tps: f64, over: f64, of: f64) {
        if of > 0.0 {
            self.trials.push(Point { ln_rate: rate_tps.ln(), over: over.min(of), of, weight: 1.0 });
        }
    }

    /// The answer as far as it is known; `None` without trials.
    pub fn estimate(&self) -> Option<CurveEstimate> {
        let middle = self.crossing()?;
        let fit = LocalFit::new(self.limit, self.around(middle));
        let best = fit.best(middle);
        let (low, high) = fit.interval(best);
        Some(CurveEstimate { rate_tps: best.exp(), low_tps: low.exp(), high_tps: high.exp() })
    }

    /// Slope of the logit against ln(rate) if the share reaches the limit at this rate.
    pub(crate) fn slope_at(&self, rate_tps: f64) -> f64 {
        LocalFit::new(self.limit, self.around(rate_tps.ln())).slope_at(rate_tps.ln())
    }

    /// The trials near a rate, given as its logarithm; the weight falls smoothly to 0.
    fn around(&self, middle: f64) -> Vec<Point> {
        let weigh = |point: &Point| {
            let distance = (point.ln_rate - middle) / REGION;
            let weight = (1.0 - distance * distance).powi(2);
            (distance.abs() < 1.0).then_some(Point { weight, ..*point })
        };
        self.trials.iter().filter_map(weigh).collect()
    }

    /// Where the monotone fit of the pooled share reaches the limit, in ln(rate).
    fn crossing(&self) -> Option<f64> {
        let blocks = self.monotone();
        let below = blocks.iter().rev().find(|block| block.share() < self.limit);
        let above = blocks.iter().find(|block| block.share() >= self.limit);
        match (below, above) {
            (Some(below), Some(above)) => {
                // A tenth of a transaction, so that no logarithm is infinite.
                let height = |block: &Block| ((block.over + 0.1) / block.of).ln();
                let part = (self.limit.ln() - height(below)) / (height(above) - height(below));
                Some(below.ln_rate() + part.clamp(0.0, 1.0) * (above.ln_rate() - below.ln_rate()))
            }
            (Some(below), None) => Some(below.ln_rate() + BEYOND),
            (None, Some(above)) => Some(above.ln_rate() - BEYOND),
            (None, None) => None,
        }
    }

    /// Isotonic regression by pooling adjacent violators (Ayer and others, Annals of Mathematical Statistics 26, 1955).
    fn monotone(&self) -> Vec<Block> {
        let mut sorted = self.trials.clone();
        sorted.sort_by(|a, b| a.ln_rate.total_cmp(&b.ln_rate));
        let mut blocks: Vec<Block> = Vec::new();
        for Point { ln_rate, over, of, .. } in sorted {
            let mut block = Block { ln_rates: ln_rate, trials: 1.0, over, of };
            while let Some(last) = blocks.pop_if(|last| last.share() >= block.share()) {
                block = Block {
                    ln_rates: last.ln_rates + block.ln_rates,
                    trials: last.trials + block.trials,
                    over: last.over + block.over,
                    of: last.of + block.of,
                };
            }
            blocks.push(block);
        }
        blocks
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

    #[test]
    fn trials_far_from_the_answer_do_not_change_it() {
        let mut curve = ShareCurve::new(0.01);
        for (rate, share) in [(950.0, 0.006), (1050.0, 0.014), (950.0, 0.008), (1050.0, 0.016)].repeat(10) {
            curve.add(rate, share * 3000.0, 3000.0);
        }
        let before = curve.estimate().unwrap();
        (0..20).for_each(|_| curve.add(1400.0, 2900.0, 3000.0));
        let after = curve.estimate().unwrap();
        assert!((before.rate_tps / after.rate_tps - 1.0).abs() < 1e-9, "{before:?} {after:?}");
    }

    #[test]
    fn noisy_shares_are_pooled_until_they_grow_with_the_rate() {
        let mut curve = ShareCurve::new(0.01);
        [(100.0, 0.0), (200.0, 0.03), (220.0, 0.005), (300.0, 0.2)]
            .iter()
            .for_each(|&(rate, share)| curve.add(rate, share * 1000.0, 1000.0));
        let shares: Vec<f64> = curve.monotone().iter().map(Block::share).collect();
        assert_eq!(shares, [0.0, 0.0175, 0.2]);
    }
}
