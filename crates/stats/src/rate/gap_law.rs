//! The distribution of the gaps between arrivals, and its notation. Gaps are in units of their mean: the rate sets how
//! long a unit is.

use std::f64::consts::PI;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::curve::Seconds;
use crate::stored_as_text::stored_as_text;

use super::notation::{arguments, number, seconds};

/// The distribution of the gaps between arrivals: `poisson`, `fixed`, `gamma(SHAPE)` or `onoff(ON, OFF)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum GapLaw {
    /// Exponential gaps, as of many independent users.
    #[default]
    Poisson,
    /// Equal gaps; the first arrival comes after half a gap.
    Fixed,
    /// Gamma-distributed gaps: bursts for a shape below 1, more even than Poisson above it. The coefficient of variation
    /// is 1/√shape.
    Gamma(f64),
    /// Poisson arrivals for some time and none for some time, in turns from the begin of measuring. The mean rate is
    /// unchanged.
    OnOff {
        /// Seconds with arrivals.
        on_s: f64,
        /// Seconds without.
        off_s: f64,
    },
}

/// Shapes beyond are all gaps at once, or equal gaps.
const SHAPES: std::ops::RangeInclusive<f64> = 0.01..=1000.0;
/// A day; longer phases are no bursts.
const PHASE_MAX_S: f64 = 86_400.0;
/// Shorter phases are below the precision of timers.
const PHASE_MIN_S: f64 = 1e-3;

impl GapLaw {
    /// Whether it is the default.
    pub fn is_poisson(&self) -> bool {
        *self == Self::Poisson
    }

    /// A gap in units of the mean, from uniform numbers in [0, 1).
    pub(super) fn gap(self, uniform: &mut dyn FnMut() -> f64) -> f64 {
        match self {
            Self::Poisson | Self::OnOff { .. } => -(1.0 - uniform()).ln(),
            Self::Fixed => 1.0,
            Self::Gamma(shape) => gamma(shape, uniform) / shape,
        }
    }

    /// The gap before the first arrival.
    pub(super) fn first_gap(self, uniform: &mut dyn FnMut() -> f64) -> f64 {
        match self {
            Self::Fixed => 0.5,
            Self::Poisson | Self::Gamma(_) | Self::OnOff { .. } => self.gap(uniform),
        }
    }
}

/// A gamma variate with scale 1 (Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables", 2000); below
/// shape 1 with their boost.
fn gamma(shape: f64, uniform: &mut dyn FnMut() -> f64) -> f64 {
    if shape < 1.0 {
        let boost = (1.0 - uniform()).powf(1.0 / shape);
        return gamma(shape + 1.0, uniform) * boost;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        // Box and Muller.
        let radius = (-2.0 * (1.0 - uniform()).ln()).sqrt();
        let normal = radius * (2.0 * PI * uniform()).cos();
        let v = (1.0 + c * normal).powi(3);
        if v > 0.0 && (1.0 - uniform()).ln() < 0.5 * normal * normal + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}

impl fmt::Display for GapLaw {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Poisson => out.write_str("poisson"),
            Self::Fixed => out.write_str("fixed"),
            Self::Gamma(shape) => write!(out, "gamma({shape})"),
            Self::OnOff { on_s, off_s } => write!(out, "onoff({}, {})", Seconds(*on_s), Seconds(*off_s)),
        }
    }
}

stored_as_text!(GapLaw);

impl FromStr for GapLaw {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        match text {
            "poisson" => return Ok(Self::Poisson),
            "fixed" => return Ok(Self::Fixed),
            _ => {}
        }
        if let Some(arguments) = arguments(text, "gamma") {
            let shape = match arguments[..] {
                [shape] => number(shape).filter(|shape| SHAPES.contains(shape)),
                _ => None,
            };
            return shape.map(Self::Gamma).ok_or_else(|| {
                format!(
                    "gamma takes a shape from {} to {}, below 1 for bursts: write gamma(0.5)",
                    SHAPES.start(),
                    SHAPES.end()
                )
            });
        }
        if let Some(arguments) = arguments(text, "onoff") {
            let phase = |text: &str| seconds(text).filter(|s| (PHASE_MIN_S..=PHASE_MAX_S).contains(s));
            let phases = match arguments[..] {
                [on, off] => phase(on).zip(phase(off)),
                _ => None,
            };
            return phases.map(|(on_s, off_s)| Self::OnOff { on_s, off_s }).ok_or_else(|| {
                "onoff takes two times from 1ms to 24h, with and without arrivals: write onoff(200ms, 800ms)".to_owned()
            });
        }
        Err("gaps between arrivals are poisson, fixed, gamma(SHAPE) such as gamma(0.5), or onoff(ON, OFF) such as \
             onoff(200ms, 800ms)"
            .to_owned())
    }
}
