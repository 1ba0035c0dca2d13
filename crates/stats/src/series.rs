//! Decomposes a series of equidistant values into low-frequency waves, to estimate its noise: the variance of its
//! mean between runs, allowing for autocorrelation. `confidence` and `steadiness` use it for intervals and tests.

use std::f64::consts::PI;

/// Estimated noise of a series.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct Noise {
    /// The spectral density at frequency zero: the variance of the mean, times the number of values.
    pub(crate) density: f64,
    /// Number of waves used for the estimate.
    pub(crate) degrees_of_freedom: u32,
    /// Autocorrelation of neighbouring values in the series.
    pub(crate) autocorrelation: f64,
    /// A conservative autocorrelation: corrected for bias, plus a standard error, at least 0.
    persistence: f64,
}

/// Lower limit of the mean density of the used waves, relative to the density at zero.
const DENSITY_SHARE_MIN: f64 = 0.8;
/// Minimum number of waves; with fewer the correction must compensate.
const WAVES_MIN: u32 = 3;
/// More waves narrow an interval by less than 1 % (t of 100 degrees of freedom is 1.98, of infinitely many 1.96).
const WAVES_MAX: u32 = 100;
/// Maximum persistence; a series with persistence 1 would have no mean.
const PERSISTENCE_MAX: f64 = 0.97;

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The amplitude of a wave with `half_waves` half periods over the series: √(2/n) Σ (xₜ − x̄) cos(πj(t − ½)/n), the
/// type II cosine transform. For noise of spectral density Ω at zero, the first few are independent with variance Ω.
pub(crate) fn amplitude(values: &[f64], mean: f64, half_waves: u32) -> f64 {
    let products =
        values.iter().zip(wave(values.len(), half_waves)).map(|(value, wave)| (value - mean) * wave);
    (2.0 / values.len() as f64).sqrt() * products.sum::<f64>()
}

/// The values of the wave. Calculated by cos(a + 2b) = 2 cos(b) cos(a + b) − cos(a), which is more exact than the
/// data for any realistic number of seconds.
pub(crate) fn wave(len: usize, half_waves: u32) -> impl Iterator<Item = f64> {
    let step = PI * f64::from(half_waves) / len as f64;
    let double_cosine = 2.0 * step.cos();
    // The wave is symmetric half a step before its first value.
    let mut neighbours = ((step / 2.0).cos(), (step / 2.0).cos());
    std::iter::repeat_with(move || {
        let (before, now) = neighbours;
        neighbours = (now, double_cosine * now - before);
        now
    })
    .take(len)
}

impl Noise {
    /// The noise of `values`, without the first `skipped` waves, which may contain a drift.
    ///
    /// The estimator is the equal-weighted cosine one of Lazarus, Lewis, Stock and Watson (HAR Inference:
    /// Recommendations for Practice, Journal of Business & Economic Statistics 36, 2018): the mean of the squared
    /// amplitudes of B waves, where B is the number of degrees of freedom of a t. The number of waves that are slow
    /// enough to represent frequency zero follows from the autocorrelation as in Andrews (Econometrica 59, 1991),
    /// assuming a first-order autoregressive series. The decrease of such a series' density over these waves is
    /// corrected, as by prewhitening (Andrews and Monahan, Econometrica 60, 1992).
    pub(crate) fn of(values: &[f64], skipped: u32) -> Noise {
        let (len, mean) = (values.len(), mean(values));
        if values.iter().all(|value| *value == mean) {
            let (density, autocorrelation, persistence) = (0.0, 0.0, 0.0);
            return Noise { density, degrees_of_freedom: WAVES_MIN, autocorrelation, persistence };
        }
        let (autocorrelation, persistence) = persistence(values, mean, skipped);
        let (mut squares, mut shares, mut waves) = (0.0, 0.0, 0);
        for wave in 1..=waves_max(len) {
            let more = shares + density_share(persistence, len, skipped + wave);
            if wave > WAVES_MIN && more < DENSITY_SHARE_MIN * f64::from(wave) {
                break;
            }
            (shares, waves) = (more, waves + 1);
            squares += amplitude(values, mean, skipped + wave).powi(2);
        }
        Noise { density: squares / shares, degrees_of_freedom: waves, autocorrelation, persistence }
    }

    /// The density of a series of `len` values with this noise at a wave, relative to that at zero.
    pub(crate) fn density_share(&self, len: usize, half_waves: u32) -> f64 {
        density_share(self.persistence, len, half_waves)
    }
}

/// Half of n^¾, so that longer series use more and slower waves.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // of a length
fn waves_max(len: usize) -> u32 {
    ((0.5 * (len as f64).powf(0.75)) as u32).clamp(WAVES_MIN, WAVES_MAX)
}

/// Spectral density of a first-order autoregressive process at the frequency of a wave, relative to that at zero.
fn density_share(persistence: f64, len: usize, half_waves: u32) -> f64 {
    let frequency = PI * f64::from(half_waves) / len as f64;
    (1.0 - persistence).powi(2) / (1.0 - 2.0 * persistence * frequency.cos() + persistence * persistence)
}

/// The first-order autocorrelation after removing the mean and the first waves; and a conservative value. In a short
/// series it is biased downwards by about (1 + 3ρ)/n (Marriott and Pope, Biometrika 41, 1954), and by about (1 + ρ)/n
/// more for each removed wave.
fn persistence(values: &[f64], mean: f64, skipped: u32) -> (f64, f64) {
    let len = values.len() as f64;
    let mut left: Vec<f64> = values.iter().map(|value| value - mean).collect();
    for half_waves in 1..=skipped {
        let height = amplitude(values, mean, half_waves) * (2.0 / len).sqrt();
        let heights = wave(values.len(), half_waves).map(|wave| height * wave);
        left.iter_mut().zip(heights).for_each(|(left, height)| *left -= height);
    }
    let square: f64 = left.iter().map(|value| value * value).sum();
    let neighbours: f64 = left.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let found = if square > 0.0 { (neighbours / square).clamp(-1.0, 1.0) } else { 0.0 };
    let waves = f64::from(skipped);
    let unbiased = found + (1.0 + waves + (3.0 + waves) * found) / len;
    let standard_error = ((1.0 - found * found) / len).sqrt();
    (found, (unbiased + standard_error).clamp(0.0, PERSISTENCE_MAX))
}
