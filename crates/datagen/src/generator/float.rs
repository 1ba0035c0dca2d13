//! Floating-point distributions of the generator `float`, under the names and with the parameters of Python's module
//! `random`, which the directive language documents.

use std::f64::consts::PI;

use script::Random;

/// A distribution with its parameters, checked by [`Distribution::new`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Distribution {
    Uniform { low: f64, high: f64 },
    Normal { mean: f64, deviation: f64 },
    LogNormal { mean: f64, deviation: f64 },
    Beta { alpha: f64, beta: f64 },
    Exponential { rate: f64 },
    Gamma { shape: f64, scale: f64 },
    Pareto { shape: f64 },
    VonMises { mean: f64, concentration: f64 },
    Weibull { scale: f64, shape: f64 },
}

/// Names of the distributions, for messages.
pub(crate) const NAMES: [&str; 10] =
    ["uniform", "gauss", "norm", "beta", "exp", "gamma", "log", "pareto", "vonmises", "weibull"];

impl Distribution {
    /// `alpha` and `beta` have the meaning that the distribution gives them. The error names what they must be.
    pub fn new(name: &str, alpha: Option<f64>, beta: Option<f64>) -> Result<Self, String> {
        let (a, b) = (alpha.unwrap_or(0.0), beta.unwrap_or(1.0));
        let positive = |names: &[(&str, f64)]| match names.iter().find(|(_, value)| *value <= 0.0) {
            None => Ok(()),
            Some((parameter, _)) => Err(format!("float={name} needs {parameter} greater than 0")),
        };
        Ok(match name {
            "" | "uniform" => Self::Uniform { low: a, high: b },
            "gauss" | "norm" => Self::Normal { mean: a, deviation: b },
            "log" => Self::LogNormal { mean: a, deviation: b },
            "beta" => {
                positive(&[("alpha", a), ("beta", b)])?;
                Self::Beta { alpha: a, beta: b }
            }
            "gamma" => {
                positive(&[("alpha", a), ("beta", b)])?;
                Self::Gamma { shape: a, scale: b }
            }
            "weibull" => {
                positive(&[("alpha", a), ("beta", b)])?;
                Self::Weibull { scale: a, shape: b }
            }
            "exp" | "pareto" if beta.is_some() => {
                return Err(format!("float={name} takes alpha only; remove beta"));
            }
            "exp" => {
                positive(&[("alpha", a)])?;
                Self::Exponential { rate: a }
            }
            "pareto" => {
                positive(&[("alpha", a)])?;
                Self::Pareto { shape: a }
            }
            "vonmises" => Self::VonMises { mean: a, concentration: b },
            _ => {
                let hint = crate::error::nearest(name, NAMES);
                return Err(format!("unknown distribution float={name}{hint}"));
            }
        })
    }

    /// One number.
    pub fn draw(self, random: &mut Random) -> f64 {
        // In (0, 1]: its logarithm is finite.
        let mut open = || 1.0 - random.next_f64();
        match self {
            Self::Uniform { low, high } => low + (high - low) * random.next_f64(),
            Self::Normal { mean, deviation } => mean + deviation * random.normal(),
            Self::LogNormal { mean, deviation } => (mean + deviation * random.normal()).exp(),
            Self::Exponential { rate } => -open().ln() / rate,
            Self::Pareto { shape } => open().powf(-1.0 / shape),
            Self::Weibull { scale, shape } => scale * (-open().ln()).powf(1.0 / shape),
            Self::Gamma { shape, scale } => scale * gamma(shape, random),
            Self::Beta { alpha, beta } => {
                let first = gamma(alpha, random);
                let second = gamma(beta, random);
                if first + second > 0.0 { first / (first + second) } else { 0.0 }
            }
            Self::VonMises { mean, concentration } => von_mises(mean, concentration, random),
        }
    }
}

/// Tries of a rejection method that accepts more than half of them.
const TRIES: u32 = 1_000;

/// Gamma with scale 1 (Marsaglia and Tsang 2000).
fn gamma(shape: f64, random: &mut Random) -> f64 {
    if shape < 1.0 {
        let boost = (1.0 - random.next_f64()).powf(1.0 / shape);
        return gamma(shape + 1.0, random) * boost;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    for _ in 0..TRIES {
        let normal = random.normal();
        let v = (1.0 + c * normal).powi(3);
        if v > 0.0 && (1.0 - random.next_f64()).ln() < 0.5 * normal * normal + d - d * v + d * v.ln() {
            return d * v;
        }
    }
    d
}

/// Angle around `mean` in [0, 2π) (Best and Fisher 1979).
fn von_mises(mean: f64, concentration: f64, random: &mut Random) -> f64 {
    if concentration <= 1e-6 {
        return 2.0 * PI * random.next_f64();
    }
    let tau = 1.0 + (1.0 + 4.0 * concentration * concentration).sqrt();
    let rho = (tau - (2.0 * tau).sqrt()) / (2.0 * concentration);
    let r = (1.0 + rho * rho) / (2.0 * rho);
    let mut cosine = 1.0;
    for _ in 0..TRIES {
        let z = (PI * random.next_f64()).cos();
        cosine = (1.0 + r * z) / (r + z);
        let c = concentration * (r - cosine);
        let u = 1.0 - random.next_f64();
        if c * (2.0 - c) - u > 0.0 || (c / u).ln() + 1.0 - c >= 0.0 {
            break;
        }
    }
    let angle = cosine.clamp(-1.0, 1.0).acos();
    let angle = if random.next_f64() < 0.5 { -angle } else { angle };
    (mean + angle).rem_euclid(2.0 * PI)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and variance of 200,000 draws against the formulas of the distributions.
    #[test]
    fn each_distribution_has_its_mean_and_variance() {
        let check = |name: &str, alpha: f64, beta: Option<f64>, mean: f64, variance: f64| {
            let distribution = Distribution::new(name, Some(alpha), beta).expect(name);
            let mut random = Random::from_seed(7);
            let count = 200_000_u32;
            let draws: Vec<f64> = (0..count).map(|_| distribution.draw(&mut random)).collect();
            let average = draws.iter().sum::<f64>() / f64::from(count);
            let spread = draws.iter().map(|draw| (draw - average).powi(2)).sum::<f64>() / f64::from(count);
            let error = 5.0 * (variance / f64::from(count)).sqrt() + 1e-9;
            assert!((average - mean).abs() < error, "{name}: mean {average}, expected {mean}");
            assert!(
                (spread - variance).abs() < 0.06 * variance,
                "{name}: variance {spread}, expected {variance}"
            );
        };
        check("uniform", 2.0, Some(6.0), 4.0, 16.0 / 12.0);
        check("gauss", 5.0, Some(2.0), 5.0, 4.0);
        check("norm", 5.0, Some(2.0), 5.0, 4.0);
        check("log", 0.0, Some(0.5), 0.125_f64.exp(), 0.25_f64.exp_m1() * 0.25_f64.exp());
        check("exp", 2.0, None, 0.5, 0.25);
        check("gamma", 3.0, Some(2.0), 6.0, 12.0);
        check("gamma", 0.5, Some(1.0), 0.5, 0.5);
        check("beta", 2.0, Some(3.0), 0.4, 0.04);
        check("pareto", 6.0, None, 1.2, 6.0 / (25.0 * 4.0));
        check("weibull", 1.0, Some(2.0), 0.886_227, 0.214_602);
        // Far from 0 and 2π, a concentration of 50 is nearly normal with variance 1/50.
        check("vonmises", 3.0, Some(50.0), 3.0, 0.0202);
    }

    #[test]
    fn parameters_that_are_impossible_are_refused() {
        for (name, alpha, beta) in [
            ("beta", None, None),
            ("exp", Some(0.0), None),
            ("exp", Some(1.0), Some(1.0)),
            ("guass", None, None),
        ] {
            assert!(Distribution::new(name, alpha, beta).is_err(), "{name}");
        }
        assert!(Distribution::new("guass", None, None).is_err_and(|message| message.contains("gauss")));
    }
}
