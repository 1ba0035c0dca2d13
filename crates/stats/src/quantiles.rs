//! Quantiles of Student's t and Fisher's F for any degrees of freedom, computed without tables. Quantiles of
//! latencies are in `distribution`. Used by `confidence`, `steadiness`, `goals` and `comparison`.
//!
//! Both distributions are a regularized incomplete beta function (Abramowitz and Stegun, Handbook of Mathematical
//! Functions, 1964: 26.7.1 for t, 26.6.2 for F), which is inverted by bisection: slower than an approximation, but
//! exact to the last digits.

/// The absolute value that a t-distributed quantity exceeds with the probability `1 − confidence`.
pub fn two_sided_t(confidence: f64, degrees_of_freedom: f64) -> f64 {
    // P(|T| ≤ t) = I_x(1/2, ν/2) with x = t² ÷ (ν + t²).
    let x = inverse_beta(0.5, degrees_of_freedom / 2.0, confidence);
    (degrees_of_freedom * x / (1.0 - x)).sqrt()
}

/// The probability that a t-distributed quantity has at least this absolute value.
pub(crate) fn two_sided_p(t: f64, degrees_of_freedom: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    // The complement of `two_sided_t`, by I_x(a, b) = 1 − I_{1−x}(b, a), so that small values keep their digits.
    regularized_beta(degrees_of_freedom / 2.0, 0.5, degrees_of_freedom / (degrees_of_freedom + t * t))
}

/// The probability that an F-distributed quantity is at least this large.
pub(crate) fn upper_p_of_f(f: f64, above: f64, below: f64) -> f64 {
    regularized_beta(below / 2.0, above / 2.0, below / (below + above * f))
}

/// The value that an F-distributed quantity stays below with the probability `confidence`.
pub(crate) fn upper_f(confidence: f64, above: f64, below: f64) -> f64 {
    // P(F ≤ f) = I_x(ν₁/2, ν₂/2) with x = ν₁f ÷ (ν₁f + ν₂).
    let x = inverse_beta(above / 2.0, below / 2.0, confidence);
    below * x / (above * (1.0 - x))
}

/// Bisections to reach double precision.
const BISECTIONS: u32 = 52;

/// The `x` at which the regularized incomplete beta function is `share`.
pub(crate) fn inverse_beta(a: f64, b: f64, share: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..BISECTIONS {
        let middle = f64::midpoint(low, high);
        if regularized_beta(a, b, middle) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// I_x(a, b), by its continued fraction on the side where that converges fast (Abramowitz and Stegun 26.5.8 and, for
/// the other side, 26.5.2).
pub(crate) fn regularized_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let ln_front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln();
    if x < (a + 1.0) / (a + b + 2.0) {
        ln_front.exp() / (a * beta_fraction(a, b, x))
    } else {
        1.0 - ln_front.exp() / (b * beta_fraction(b, a, 1.0 - x))
    }
}

/// The denominator of the fraction, 1 + d₁/(1 + d₂/(1 + …)), evaluated backwards.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    (1..=fraction_terms(a, b)).rev().fold(1.0, |rest, term| {
        let m = f64::from(term / 2);
        let numerator = if term % 2 == 0 {
            m * (b - m) / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        1.0 + numerator * x / rest
    })
}

/// It converges in about √max(a, b) terms (Press and others, Numerical Recipes, section 6.4); arguments are numbers of
/// transactions too.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a root of a count")]
fn fraction_terms(a: f64, b: f64) -> u32 {
    (5.0 * a.max(b).sqrt()).clamp(60.0, 1e6) as u32
}

/// ln Γ(x) for x > 0 (Lanczos, A precision approximation of the gamma function, 1964; the coefficients for
/// g = 7, n = 9 as computed by Godfrey), to some 14 digits.
fn ln_gamma(x: f64) -> f64 {
    const G: f64 = 7.0;
    const FIRST: f64 = 0.999_999_999_999_809_9;
    const COEFFICIENTS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    // The series is for Γ(x) with x one less.
    let x = x - 1.0;
    let terms = COEFFICIENTS.iter().zip(1..);
    let sum = terms.fold(FIRST, |sum, (coefficient, at)| sum + coefficient / (x + f64::from(at)));
    let t = x + G + 0.5;
    0.5 * std::f64::consts::TAU.ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(computed: f64, printed: f64) {
        assert!((computed - printed).abs() < 1e-3 * printed, "{computed} is printed as {printed}");
    }

    #[test]
    fn t_is_as_in_the_printed_tables() {
        let printed =
            [(1.0, 12.706), (2.0, 4.303), (3.0, 3.182), (10.0, 2.228), (30.0, 2.042), (120.0, 1.980)];
        printed.into_iter().for_each(|(degrees, t)| check(two_sided_t(0.95, degrees), t));
        check(two_sided_t(0.99, 5.0), 4.032);
        check(two_sided_t(0.95, 1000.0), 1.962);
    }

    #[test]
    fn f_is_as_in_the_printed_tables() {
        let printed = [(3.0, 30.82), (5.0, 13.27), (10.0, 7.56), (30.0, 5.39), (120.0, 4.79)];
        printed.into_iter().for_each(|(below, f)| check(upper_f(0.99, 2.0, below), f));
        check(upper_f(0.95, 4.0, 7.0), 4.12);
    }

    #[test]
    fn one_above_and_any_below_is_the_square_of_t() {
        for degrees in [1.0, 4.0, 17.0, 99.0] {
            let (f, t) = (upper_f(0.95, 1.0, degrees), two_sided_t(0.95, degrees));
            assert!((f - t * t).abs() < 1e-8 * f, "{f} {t}");
        }
    }

    #[test]
    fn probabilities_are_the_inverse_of_quantiles() {
        for degrees in [1.0, 4.0, 23.0] {
            let p = two_sided_p(-two_sided_t(0.99, degrees), degrees);
            assert!((p - 0.01).abs() < 1e-9, "{p}");
            let p = upper_p_of_f(upper_f(0.95, 3.0, degrees), 3.0, degrees);
            assert!((p - 0.05).abs() < 1e-9, "{p}");
        }
        assert_eq!((two_sided_p(0.0, 3.0), two_sided_p(f64::INFINITY, 3.0)), (1.0, 0.0));
    }

    #[test]
    fn the_gamma_function_is_the_factorial() {
        assert!((ln_gamma(11.0) - 3_628_800f64.ln()).abs() < 1e-12);
        assert!((ln_gamma(0.5) - std::f64::consts::PI.sqrt().ln()).abs() < 1e-12);
    }
}
