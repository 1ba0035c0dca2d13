//! The fit of trials near the answer, and the interval. The logit of the pooled share is linear in ln(rate) there.
//! Trials scatter more than independent transactions, because delays come in groups and each set of connections has a
//! speed of its own. So the interval follows from the scatter of whole trials: a rate is in it unless a robust score
//! test rejects it (Boos, On generalized score tests, The American Statistician 46, 1992), corrected for skewness
//! (Hall, On the removal of skewness by transformation, Journal of the Royal Statistical Society B 54, 1992). Used by
//! `curve`.

/// Distance of two rates that are tested, in ln(rate).
const STEP: f64 = 0.005;
/// The interval ends at this distance from the estimate, in ln(rate), if the tests reject nothing before.
const REACH: f64 = 0.7;
/// The estimate is at most so far from the middle of the trials, in ln(rate).
const BEST_REACH: f64 = 0.12;
/// Standard errors within which a rate is not rejected. More than the 1.96 of the normal distribution, because trials
/// are few and because the search ends when the interval is narrow; `examples/coverage.rs` shows what it yields.
const CRITICAL: f64 = 2.8;
/// The skewness of a few trials is smaller than that of many, because rare bad trials are missing.
const SKEWNESS_FACTOR: f64 = 2.0;
/// A trial counts by this power of its expected share, downwards: the scatter grows faster with the share than that of
/// independent transactions.
const POWER: f64 = 0.25;
/// Slopes of the logit per unit of ln(rate): the likely one, its standard deviation as a logarithm, and the limits.
/// With pauses a slope is about 4, of a queue with one server and fixed service times about 40.
const SLOPE: f64 = 7.0;
const SLOPE_DEVIATION: f64 = 1.0;
const SLOPE_MIN: f64 = 0.5;
const SLOPE_MAX: f64 = 150.0;
/// Steps of Newton's method.
const ITERATIONS: usize = 6;
/// The smallest share that the curve gives.
const SHARE_MIN: f64 = 1e-6;

/// A trial under one goal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub(crate) ln_rate: f64,
    /// Transactions over the limit.
    pub(crate) over: f64,
    /// All transactions.
    pub(crate) of: f64,
    /// How much the trial counts.
    pub(crate) weight: f64,
}

/// Trials near the answer.
pub(crate) struct LocalFit {
    limit: f64,
    points: Vec<Point>,
}

/// A trial under the assumption that the share reaches the limit at some rate.
struct Residual {
    /// ln(rate) beyond the assumed rate.
    beyond: f64,
    /// Transactions over the limit beyond those of the curve, weighted.
    over: f64,
    /// How much `over` changes with the logit.
    weight: f64,
}

impl LocalFit {
    pub(crate) fn new(limit: f64, points: Vec<Point>) -> LocalFit {
        LocalFit { limit, points }
    }

    /// Where the share reaches the limit, in ln(rate). The search begins at `middle`.
    pub(crate) fn best(&self, middle: f64) -> f64 {
        let mut slope = SLOPE;
        let direction = -self.deviation(middle, &mut slope).signum();
        let (mut near, mut far) = (middle, middle);
        while (far - middle).abs() < BEST_REACH {
            near = far;
            far += direction * 6.0 * STEP;
            if self.deviation(far, &mut slope) * direction >= 0.0 {
                break;
            }
        }
        for _ in 0..8 {
            let between = f64::midpoint(near, far);
            if self.deviation(between, &mut slope) * direction < 0.0 { near = between } else { far = between }
        }
        f64::midpoint(near, far)
    }

    /// Slope of the logit if the share reaches the limit at this rate, given as ln(rate).
    pub(crate) fn slope_at(&self, ln_rate: f64) -> f64 {
        self.slope(ln_rate, SLOPE)
    }

    /// The rates next to the estimate that are rejected, in ln(rate).
    pub(crate) fn interval(&self, best: f64) -> (f64, f64) {
        (self.end(best, -1.0), self.end(best, 1.0))
    }

    fn end(&self, best: f64, direction: f64) -> f64 {
        let (mut slope, mut at, mut before) = (SLOPE, best, 0.0);
        while (at - best).abs() <= REACH {
            at += direction * STEP;
            let deviation = self.deviation(at, &mut slope) * direction;
            if deviation > CRITICAL {
                let part = (CRITICAL - before) / (deviation - before);
                return at - direction * STEP * (1.0 - part);
            }
            before = deviation.clamp(0.0, CRITICAL);
        }
        at
    }

    /// How many more transactions are over the limit than if the share reached it at this rate, in standard deviations
    /// by the scatter of the trials. What another slope could explain is not in it. `slope` is the fitted slope at a
    /// rate next to this, and becomes that of this rate.
    fn deviation(&self, ln_rate: f64, slope: &mut f64) -> f64 {
        *slope = self.slope(ln_rate, *slope);
        let residuals: Vec<Residual> = self.residuals(ln_rate, *slope).collect();
        let (mut cross, mut square) = (0.0, 0.0);
        for Residual { beyond, weight, .. } in &residuals {
            cross += weight * beyond;
            square += weight * beyond * beyond;
        }
        let part = if square > 0.0 { cross / square } else { 0.0 };
        let own: Vec<f64> =
            residuals.iter().map(|Residual { beyond, over, .. }| over * (1.0 - part * beyond)).collect();
        standardized(&own)
    }

    fn residuals(&self, ln_rate: f64, slope: f64) -> impl Iterator<Item = Residual> {
        let at_limit = (self.limit / (1.0 - self.limit)).ln();
        self.points.iter().map(move |&Point { ln_rate: own, over, of, weight }| {
            let beyond = own - ln_rate;
            let share = (1.0 / (1.0 + (-(at_limit + slope * beyond)).exp())).max(SHARE_MIN);
            let weight = weight * (self.limit / share).powf(POWER);
            Residual {
                beyond,
                over: weight * (over - of * share),
                weight: weight * of * share * (1.0 - share),
            }
        })
    }

    /// The likeliest slope if the share reaches the limit at this rate.
    fn slope(&self, ln_rate: f64, start: f64) -> f64 {
        let mut slope = start;
        for _ in 0..ITERATIONS {
            let (mut gradient, mut curvature, mut squares, mut weights) = (0.0, 0.0, 0.0, 1e-9);
            for Residual { beyond, over, weight } in self.residuals(ln_rate, slope) {
                gradient += over * beyond;
                curvature += weight * beyond * beyond;
                squares += over * over;
                weights += weight;
            }
            let dispersion = (squares / weights).max(1.0);
            let prior = SLOPE_DEVIATION.powi(-2);
            let gradient = slope * gradient / dispersion - prior * (slope / SLOPE).ln();
            let curvature = slope * slope * curvature / dispersion + prior;
            // Not more than a factor of 2 at once, so that a bad start does not end at a limit.
            let step = (gradient / curvature).clamp(-0.7, 0.7);
            slope = (slope * step.exp()).clamp(SLOPE_MIN, SLOPE_MAX);
            if step.abs() < 1e-3 {
                break;
            }
        }
        slope
    }
}

/// The sum of numbers in standard deviations, transformed so that it is nearly normal although the numbers are skewed.
fn standardized(numbers: &[f64]) -> f64 {
    let count = numbers.len() as f64;
    let sum: f64 = numbers.iter().sum();
    let mean = sum / count;
    let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
    let cubes: f64 = numbers.iter().map(|number| (number - mean).powi(3)).sum();
    if squares <= 0.0 {
        return 0.0;
    }
    let t = sum / (squares * count / (count - 1.0)).sqrt();
    let skewness = SKEWNESS_FACTOR * cubes / squares.powf(1.5);
    t + skewness * t * t / 3.0 + skewness * skewness * t.powi(3) / 27.0 + skewness / 6.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::SplitMix64;

    #[test]
    fn rare_bad_trials_move_the_rejected_sums_of_skewed_numbers() {
        assert!((standardized(&[-1.0, 1.0, -2.0, 2.0])).abs() < 1e-9);
        // Mostly a little less than expected, once much more: the mean is known badly towards high shares.
        let mut rare = vec![-1.0; 49];
        rare.push(9.0);
        let symmetric: Vec<f64> = (0..50).map(|at| -0.8 + if at % 2 == 0 { 1.4 } else { -1.4 }).collect();
        assert!(standardized(&symmetric) < -3.5, "{}", standardized(&symmetric));
        assert!(standardized(&rare) > -CRITICAL, "{}", standardized(&rare));
    }

    #[test]
    fn the_slope_of_a_share_with_a_floor_is_that_near_the_answer() {
        let floor = |ln_rate: f64| 0.007 + 0.003 * (20.0 * ln_rate).exp();
        let points = (-6..=6).map(|step| {
            let ln_rate = f64::from(step) * 0.01;
            Point { ln_rate, over: 5000.0 * floor(ln_rate), of: 5000.0, weight: 1.0 }
        });
        let fit = LocalFit::new(0.01, points.collect());
        let slope = fit.slope_at(0.0);
        assert!((5.0..9.0).contains(&slope), "{slope}");
        assert!(fit.best(0.03).abs() < 0.015, "{}", fit.best(0.03));
    }

    #[test]
    fn trials_that_scatter_more_give_a_wider_interval() {
        let width = |scatter: f64| {
            let mut random = SplitMix64::new(5);
            let points = (0..80).map(|number| {
                let ln_rate = if number % 2 == 0 { -0.05 } else { 0.05 };
                let share = 0.01 * (10.0 * ln_rate + scatter * random.normal()).exp();
                Point { ln_rate, over: 3000.0 * share, of: 3000.0, weight: 1.0 }
            });
            let (low, high) = LocalFit::new(0.01, points.collect()).interval(0.0);
            high - low
        };
        assert!(width(0.8) > 1.5 * width(0.3), "{} {}", width(0.8), width(0.3));
    }
}
