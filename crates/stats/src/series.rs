//! A series of equally long steps taken apart into slow waves, and what these say of its noise: how much the mean of
//! the series would differ from one run to the next, whatever its values have to do with their neighbours.
//! Not a test and not an interval: `confidence` and `steadiness` are made of it.

use std::f64::consts::PI;

/// What is known of the noise of a series.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct Noise {
    /// The spectral density at frequency zero: the variance of the mean, times the number of values.
    pub(crate) density: f64,
    /// Waves that it was estimated from.
    pub(crate) degrees_of_freedom: u32,
    /// Of neighbouring values, as it is in the series.
    pub(crate) autocorrelation: f64,
    /// The same on the safe side: freed of bias, a standard error higher, not below 0.
    persistence: f64,
}

/// Below this share of the density at zero, the mean density of the waves in use is not let sink.
const DENSITY_SHARE_MIN: f64 = 0.8;
/// Fewer waves than these say nothing; then the correction has to bear it.
const WAVES_MIN: u32 = 3;
/// More than these narrow an interval by less than 1 % (t of 100 degrees of freedom is 1.98, of all of them 1.96).
const WAVES_MAX: u32 = 100;
/// With a persistence nearer to 1 the series would have no mean at all.
const PERSISTENCE_MAX: f64 = 0.97;

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The amplitude of a wave with `half_waves` halves over the series: √(2/n) Σ (xₜ − x̄) cos(πj(t − ½)/n), the type II
/// cosine transform. For noise of spectral density Ω at zero, the first few are independent with variance Ω.
pub(crate) fn amplitude(values: &[f64], mean: f64, half_waves: u32) -> f64 {
    let products =
        values.iter().zip(wave(values.len(), half_waves)).map(|(value, wave)| (value - mean) * wave);
    (2.0 / values.len() as f64).sqrt() * products.sum::<f64>()
}

/// The wave itself, place by place. By cos(a + 2b) = 2 cos(b) cos(a + b) − cos(a), which for as many places as a run
/// has seconds is exact to more digits than any series has.
pub(crate) fn wave(len: usize, half_waves: u32) -> impl Iterator<Item = f64> {
    let step = PI * f64::from(half_waves) / len as f64;
    let double_cosine = 2.0 * step.cos();
    // Half a step before and behind the beginning it is the same.
    let mut neighbours = ((step / 2.0).cos(), (step / 2.0).cos());
    std::iter::repeat_with(move || {
        let (before, now) = neighbours;
        neighbours = (now, double_cosine * now - before);
        now
    })
    .take(len)
}

impl Noise {
    /// The noise of `values`, from the waves after the first `skipped` ones, which may hold something else.
    ///
    /// The estimator is the equal-weighted cosine one of Lazarus, Lewis, Stock and Watson (HAR Inference:
    /// Recommendations for Practice, Journal of Business & Economic Statistics 36, 2018): the mean of the squared
    /// amplitudes of B waves, B of them being the degrees of freedom of a t. How many waves are slow enough to stand
    /// for frequency zero follows from the autocorrelation, in the manner of Andrews (Econometrica 59, 1991): as if
    /// the series were autoregressive of first order. What the density of such a series loses up to there is given
    /// back, as by prewhitening (Andrews and Monahan, Econometrica 60, 1992).
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

    /// The density that a series of `len` values with this noise has at a wave, as a share of that at zero.
    pub(crate) fn density_share(&self, len: usize, half_waves: u32) -> f64 {
        density_share(self.persistence, len, half_waves)
    }
}

/// Half of n^¾, so that with more values there are more waves, and slower ones.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // of a length
fn waves_max(len: usize) -> u32 {
    ((0.5 * (len as f64).powf(0.75)) as u32).clamp(WAVES_MIN, WAVES_MAX)
}

/// The spectral density of an autoregressive process of first order at the frequency of a wave ÷ that at zero.
fn density_share(persistence: f64, len: usize, half_waves: u32) -> f64 {
    let frequency = PI * f64::from(half_waves) / len as f64;
    (1.0 - persistence).powi(2) / (1.0 - 2.0 * persistence * frequency.cos() + persistence * persistence)
}

/// The autocorrelation of neighbours, of what is left when the mean and the first waves are taken away; and the same
/// on the safe side. In a short series it is too low by about (1 + 3ρ)/n (Marriott and Pope, Biometrika 41, 1954),
/// and by about (1 + ρ)/n more for each wave taken away.
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
