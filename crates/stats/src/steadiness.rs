//! Whether a series had settled: a test for drift against the noise of the series itself, and where a start that does
//! not belong to the rest should be cut off. docs/statistics.md explains it and says what it finds how often.

use crate::quantiles::upper_f;
use crate::series::{Noise, amplitude, mean, wave};

/// How often each of the two comparisons is wrong about a series that has settled. Together 2 %; for throughput and
/// latency, 4 %.
const FALSE_ALARMS: f64 = 0.01;
/// A drift over less than this share of the mean is none that matters, however sure it is.
const DRIFT_MIN: f64 = 0.01;

/// What the test found.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Steadiness {
    /// From which value on the series is steady: 0 if from the start, `None` if never.
    pub steady_from: Option<usize>,
    /// The drift of the whole series: what lies between the highest and the lowest point of its two slowest waves, as
    /// a share of the mean.
    pub drift: f64,
    /// The F statistic of the drift, the greater one of the two comparisons.
    pub statistic: f64,
    /// What it would have stayed below if the series had settled.
    pub limit: f64,
}

impl Steadiness {
    /// A shorter series does not show enough of its noise to tell a drift from it.
    pub const LEN_MIN: usize = 30;

    /// Tests a series; `None` if it is too short to tell.
    ///
    /// The drift is tested first. If there is one, the start is cut where MSER says (White, An effective truncation
    /// heuristic for bias reduction in simulation output, Simulation 69, 1997; not in batches of five as in MSER-5,
    /// since each value is the mean of many transactions already), and what is left is tested again.
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
    /// Compares the two slowest waves of the series, a half and a whole one, with the noise of its first and of its
    /// second half. A ramp, a step, and a start or end unlike the rest are nearly all in these two waves
    /// (low-frequency inference: Müller and Watson, Testing models of low-frequency variability, Econometrica 76,
    /// 2008). Noise is taken from halves, without their own first wave, because one of them does not see the step or
    /// the decaying start, as Heidelberger and Welch take it from the second half (Simulation run length control in
    /// the presence of an initial transient, Operations Research 31, 1983).
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
            // Of two series without any noise, that without waves has settled.
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

/// The height of the curve that the two waves make together.
fn size(waves: [f64; 2], len: usize) -> f64 {
    let scale = (2.0 / len as f64).sqrt();
    let heights =
        wave(len, 1).zip(wave(len, 2)).map(|(half, whole)| scale * (waves[0] * half + waves[1] * whole));
    let (low, high) = heights.fold((0.0, 0.0), |(low, high), height| (height.min(low), height.max(high)));
    high - low
}

/// How many values at the start to cut off: those without which the marginal standard error of the mean, Σ(x − x̄)² ÷
/// (n − d)², is smallest, looked for in the first half.
fn truncation(values: &[f64]) -> usize {
    // Around the mean of all, so that the sums of squares are of differences.
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
