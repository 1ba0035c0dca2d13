//! A time with a distribution, and its notation: the time that a client thinks before a transaction, and that of a
//! statement on the null server. Pure; the caller supplies random numbers.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rate::{Seconds, arguments, seconds};
use crate::stored_as_text::stored_as_text;

/// A time: `200ms`, `exp(200ms)` or `uniform(100ms, 300ms)`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum TimeLaw {
    /// The same each time.
    Fixed(Duration),
    /// Exponential with this mean, as of users who do not depend on each other.
    Exponential(Duration),
    /// Each time between these is equally likely.
    Uniform(Duration, Duration),
}

/// A day; longer times are mistakes.
const SECONDS_MAX: f64 = 86_400.0;
const EXPECTED: &str = "expected a time such as 200ms, exp(200ms) or uniform(100ms, 300ms), at most 24h";

impl TimeLaw {
    /// A time, from a uniform number in [0, 1).
    pub fn draw(self, uniform: f64) -> Duration {
        match self {
            Self::Fixed(time) => time,
            // A factor of at most 37, since uniform numbers have 53 bits at most.
            Self::Exponential(mean) => mean.mul_f64(-(1.0 - uniform).ln()),
            Self::Uniform(min, max) => min + (max - min).mul_f64(uniform),
        }
    }

    /// The mean.
    pub fn mean(self) -> Duration {
        match self {
            Self::Fixed(time) | Self::Exponential(time) => time,
            Self::Uniform(min, max) => (min + max) / 2,
        }
    }
}

impl fmt::Display for TimeLaw {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |time: &Duration| Seconds(time.as_secs_f64());
        match self {
            Self::Fixed(time) => write!(out, "{}", shown(time)),
            Self::Exponential(mean) => write!(out, "exp({})", shown(mean)),
            Self::Uniform(min, max) => write!(out, "uniform({}, {})", shown(min), shown(max)),
        }
    }
}

stored_as_text!(TimeLaw);

impl FromStr for TimeLaw {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let time = |text: &str| {
            let found = seconds(text).filter(|s| *s > 0.0 && *s <= SECONDS_MAX);
            found.map(Duration::from_secs_f64).ok_or_else(|| EXPECTED.to_owned())
        };
        match (arguments(text, "exp"), arguments(text, "uniform")) {
            (Some(arguments), _) => match arguments[..] {
                [mean] => time(mean).map(Self::Exponential),
                _ => Err(EXPECTED.to_owned()),
            },
            (None, Some(arguments)) => match arguments[..] {
                [min, max] => match (time(min)?, time(max)?) {
                    (min, max) if min <= max => Ok(Self::Uniform(min, max)),
                    (min, max) => Err(format!(
                        "the first time of uniform is the shorter one: write {}",
                        Self::Uniform(max, min)
                    )),
                },
                _ => Err(EXPECTED.to_owned()),
            },
            (None, None) => time(text).map(Self::Fixed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> String {
        text.parse::<TimeLaw>().map_or_else(|why| why, |time| time.to_string())
    }

    #[test]
    fn a_think_time_is_shown_as_it_was_written_or_answered_with_the_correct_form() {
        for text in ["200ms", "exp(1.5s)", "uniform(100ms, 2min)"] {
            assert_eq!(told(text), text);
        }
        for text in ["200", "0s", "exp()", "exp(1s, 2s)", "uniform(1s)", "normal(1s)", "-1s", "25h"] {
            assert_eq!(told(text), EXPECTED, "{text}");
        }
        assert_eq!(
            told("uniform(2s, 1s)"),
            "the first time of uniform is the shorter one: write uniform(1s, 2s)"
        );
    }

    #[test]
    fn times_follow_their_law() {
        let drawn = |text: &str| {
            let time: TimeLaw = text.parse().expect("a think time");
            let mut random = crate::SplitMix64::new(5);
            let times: Vec<f64> = (0..20_000).map(|_| time.draw(random.share()).as_secs_f64()).collect();
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            let variance = times.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / times.len() as f64;
            assert!((mean / time.mean().as_secs_f64() - 1.0).abs() < 0.03, "{text}: {mean}");
            variance.sqrt() / mean
        };
        assert!(drawn("200ms") < 1e-6);
        assert!((drawn("exp(200ms)") - 1.0).abs() < 0.03);
        // The deviation of a uniform distribution is its width ÷ √12.
        assert!((drawn("uniform(100ms, 300ms)") - 0.2 / 12_f64.sqrt() / 0.2).abs() < 0.01);
    }
}
