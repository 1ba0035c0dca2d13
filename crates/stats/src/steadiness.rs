//! Tests whether a series is in a steady state: compares its drift with its noise, and determines how much of an
//! initial transient to cut off. docs/statistics.md explains it, with its error rates.

use crate::quantiles::upper_f;
use crate::series::{Noise, amplitude, mean, wave};

/// Error rate of each of the two comparisons for a steady series. Together 2 %; for throughput and latency, 4 %.
const FALSE_ALARMS: f64 = 0.01;
/// A smaller relative drift is irrelevant, however significant.
const DRIFT_MIN: f64 = 0.01;

/// Result of the test.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Steadiness {
    /// Index of the first value of the steady part: 0 for the whole series, `None` if there is none.
    pub steady_from: Option<usize>,
    /// Drift of the whole series: the difference between the highest and the lowest point of its two slowest waves,
    /// relative to the mean.
    pub drift: f64,
    /// The F statistic of the drift, the larger one of the two comparisons.
    pub statistic: f64,
    /// Its critical value.
    pub limit: f64,
}

impl Steadiness {
    /// Minimum length; a shorter series does not show enough noise to distinguish a drift.
    pub const LEN_MIN: usize = 30;

    /// Tests a series; `None` if it is too short.
    ///
    /// The drift is tested first. If it is significant, the start is cut according to MSER (White, An effective
    /// truncation heuristic for bias reduction in simulation output, Simulation 69, 1997; not in batches of five as
    /// in MSER-5, because each value is already the mean of many transactions), and the rest is tested again.
    pub fn of(values: &[f64]) -> Option<Steadiness> {
        let whole = Drift::of(values)?;
        let Drift { size, statistic, limit } = whole;
        let steady_from = if whole.is_settled() {
            Some(0)
        } else {
            let cut = truncation(values);
            let rest = || Drift::of(&values[cut..]).is_some_and(|rest| rest.is_settled());
            (cut > 0 && rest()).then_some(cut)
        };
        Some(Steadiness { steady_from, drift: size, statistic, limit })
    }
}

/// See [`Steadiness`].
struct Drift {
    size: f64,
    statistic: f64,
    limit: f64,
}

impl Drift {
    /// Compares the two slowest waves of the series, a half and a whole period, with the noise of its first and of
    /// its second half. A ramp, a step, and a different start or end are nearly completely in these two waves
    /// (low-frequency inference: Müller and Watson, Testing models of low-frequency variability, Econometrica 76,
    /// 2008). The noise is taken from halves without their own first wave, because one of them is not affected by the
    /// step or the decaying start, as Heidelberger and Welch take it from the second half (Simulation run length
    /// control in the presence of an initial transient, Operations Research 31, 1983).
    fn of(values: &[f64]) -> Option<Drift> {
        let len = values.len();
        let center = mean(values);
        if len < Steadiness::LEN_MIN || center <= 0.0 {
            return None;
        }
        let waves = [1, 2].map(|wave| amplitude(values, center, wave));
        let energy: f64 = waves.iter().map(|wave| wave * wave).sum();
        let mut worst = Drift { size: size(waves, len) / center, statistic: 0.0, limit: f64::INFINITY };
        for half in [&values[..len / 2], &values[len - len / 2..]] {
            let noise = Noise::of(half, 1);
            let shares = noise.density_share(len, 1) + noise.density_share(len, 2);
            let limit = upper_f(1.0 - FALSE_ALARMS, 2.0, f64::from(noise.degrees_of_freedom));
            // If both series have no noise, the one without waves is steady.
            let statistic = if energy > 0.0 { energy / shares / noise.density } else { 0.0 };
            if statistic / limit > worst.statistic / worst.limit {
                (worst.statistic, worst.limit) = (statistic, limit);
            } else if worst.limit.is_infinite() {
                worst.limit = limit;
            }
        }
        Some(worst)
    }

    fn is_settled(&self) -> bool {
        self.statistic <= self.limit || self.size < DRIFT_MIN
    }
}

/// Height of the curve that the two waves form together.
fn size(waves: [f64; 2], len: usize) -> f64 {
    let scale = (2.0 / len as f64).sqrt();
    let heights =
        wave(len, 1).zip(wave(len, 2)).map(|(half, whole)| scale * (waves[0] * half + waves[1] * whole));
    let (low, high) = heights.fold((0.0, 0.0), |(low, high), height| (height.min(low), height.max(high)));
    high - low
}

/// Number of values at the start to cut off: minimizes the marginal standard error of the mean, Σ(x − x̄)² ÷ (n −
/// d)², within the first half.
fn truncation(values: &[f64]) -> usize {
    // Centred on the overall mean, so that sums of squares are accurate.
    let center = mean(values);
    let (mut sum, mut squares, mut best) = (0.0, 0.0, (f64::INFINITY, 0));
    for (cut, value) in values.iter().enumerate().rev() {
        sum += value - center;
        squares += (value - center).powi(2);
        let len = (values.len() - cut) as f64;
        let error = (squares - sum * sum / len).max(0.0) / (len * len);
        if cut <= values.len() / 2 && error <= best.0 {
            best = (error, cut);
        }
    }
    best.1
}
