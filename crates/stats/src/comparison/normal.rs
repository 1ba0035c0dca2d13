//! The normal distribution: tail probabilities, also far out, and quantiles, computed without tables or
//! approximations. Used by `boundary` and `sequential`.
//!
//! Abramowitz and Stegun, Handbook of Mathematical Functions, 1964, chapter 26.2.

use std::f64::consts::TAU;

/// Above it the continued fraction converges fast, below it the series.
const FAR: f64 = 3.0;
/// Terms of either; the slowest case, near [`FAR`], needs about 50.
const TERMS: u32 = 80;
/// Bisections of [−40, 40] to reach double precision.
const BISECTIONS: u32 = 60;

/// P(Z > z).
pub(crate) fn upper_tail(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - upper_tail(-z);
    }
    if z < FAR { 0.5 - density(z) * series(z) } else { density(z) / fraction(z) }
}

/// P(Z ≤ z).
pub(crate) fn cumulative(z: f64) -> f64 {
    upper_tail(-z)
}

/// ln P(Z > z), also if the probability underflows.
pub(crate) fn ln_upper_tail(z: f64) -> f64 {
    if z < FAR { upper_tail(z).ln() } else { -z * z / 2.0 - TAU.ln() / 2.0 - fraction(z).ln() }
}

/// The z with P(Z > z) = `share`, for a share between 0 and 1.
pub(crate) fn upper_quantile(share: f64) -> f64 {
    decreasing_root(-40.0, 40.0, |z| ln_upper_tail(z) - share.ln())
}

/// The zero of a decreasing function between `low` and `high`.
pub(crate) fn decreasing_root(mut low: f64, mut high: f64, function: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..BISECTIONS {
        let middle = f64::midpoint(low, high);
        if function(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

fn density(z: f64) -> f64 {
    (-z * z / 2.0).exp() / TAU.sqrt()
}

/// (P(Z ≤ z) − 1/2) ÷ density: z + z³/3 + z⁵/(3·5) + … (26.2.11).
fn series(z: f64) -> f64 {
    let mut term = z;
    let mut sum = z;
    for at in 1..TERMS {
        term *= z * z / f64::from(2 * at + 1);
        sum += term;
    }
    sum
}

/// Density ÷ P(Z > z): z + 1/(z + 2/(z + 3/(z + …))) (26.2.14), evaluated backwards.
fn fraction(z: f64) -> f64 {
    (1..=TERMS).rev().fold(z, |rest, at| z + f64::from(at) / rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_as_in_the_printed_tables() {
        let printed = [(0.0, 0.5), (1.0, 0.158_655_254), (1.96, 0.024_997_895), (3.0, 1.349_898e-3)];
        let far = [(5.0, 2.866_516e-7), (10.0, 7.619_853e-24)];
        for (z, share) in printed.into_iter().chain(far) {
            let computed = upper_tail(z);
            assert!((computed - share).abs() < 1e-6 * share, "{z}: {computed}, printed {share}");
            assert!((cumulative(z) + computed - 1.0).abs() < 1e-15);
        }
    }

    #[test]
    fn series_and_fraction_meet() {
        let (near, far) = (upper_tail(FAR - 1e-12), upper_tail(FAR));
        assert!((near - far).abs() < 1e-9 * far, "{near} {far}");
        assert!((ln_upper_tail(100.0) + 5_005.524).abs() < 0.001, "{}", ln_upper_tail(100.0));
    }

    #[test]
    fn a_quantile_is_where_its_tail_begins() {
        for share in [0.999, 0.5, 0.05, 0.025, 1e-9, 1e-200] {
            assert!((ln_upper_tail(upper_quantile(share)) - share.ln()).abs() < 1e-9);
        }
    }
}
