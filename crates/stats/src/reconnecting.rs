//! When a client whose connection was lost connects again: the policy, its notation, and its pauses. Pure; the engine
//! supplies random numbers and the time.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a client does after it has lost its connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnDisconnect {
    /// It is aborted, as in pgbench.
    #[default]
    Abort,
    /// It connects again and continues.
    Reconnect,
}

impl OnDisconnect {
    /// Whether it is the default.
    pub fn is_abort(&self) -> bool {
        *self == Self::Abort
    }
}

/// When clients connect again: `immediate`, `backoff:MIN..MAX`, `per-second:N` or `slow-start:N`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReconnectPolicy {
    /// At once; after a failed attempt, 10 ms later.
    Immediate,
    /// After a pause that doubles with each failed round of hosts, from `min` to at most `max`. A random half of it is
    /// left out, so that clients that lost their connections together do not come back together.
    Backoff {
        /// The first pause.
        min: Duration,
        /// The longest pause.
        max: Duration,
    },
    /// At most so many attempts per second, over all clients.
    PerSecond(f64),
    /// At most so many attempts per second, over all clients, until one succeeds; from then on the limit doubles each
    /// second.
    SlowStart(f64),
}

/// Pause of the policy `immediate` after a failed attempt: a refused connection fails within microseconds, and attempts
/// without a pause would use a whole core.
const IMMEDIATE_PAUSE: Duration = Duration::from_millis(10);
/// Limits of the notation.
const PAUSE_MAX: Duration = Duration::from_secs(3_600);
const PER_SECOND_MAX: f64 = 1e6;
/// Doublings of a slow start after which it no longer limits.
const DOUBLINGS_MAX: i32 = 40;

impl Default for ReconnectPolicy {
    fn default() -> Self {
        Self::Backoff { min: Duration::from_millis(100), max: Duration::from_secs(2) }
    }
}

impl ReconnectPolicy {
    /// The pause of one client before its attempt number `round`, from 1, at the hosts of its target. `drawn` is a
    /// random number from 0 to 1.
    pub fn pause(&self, round: u32, drawn: f64) -> Duration {
        match *self {
            Self::Immediate if round > 1 => IMMEDIATE_PAUSE,
            Self::Immediate | Self::PerSecond(_) | Self::SlowStart(_) => Duration::ZERO,
            Self::Backoff { min, max } => {
                let doubled =
                    min.saturating_mul(1u32.checked_shl(round.saturating_sub(1)).unwrap_or(u32::MAX));
                doubled.min(max).mul_f64(0.5 + 0.5 * drawn.clamp(0.0, 1.0))
            }
        }
    }

    /// The time between two attempts of all clients; `None`: no limit. `connected_for`: time since the first successful
    /// attempt of this outage.
    pub fn spacing(&self, connected_for: Option<Duration>) -> Option<Duration> {
        let per_s = match *self {
            Self::Immediate | Self::Backoff { .. } => return None,
            Self::PerSecond(per_s) => per_s,
            Self::SlowStart(per_s) => match connected_for {
                None => per_s,
                Some(connected_for) => {
                    let doublings =
                        i32::try_from(connected_for.as_secs()).unwrap_or(i32::MAX).min(DOUBLINGS_MAX);
                    per_s * 2f64.powi(doublings.saturating_add(1))
                }
            },
        };
        Some(Duration::from_secs_f64(1.0 / per_s.max(1e-6)))
    }
}

impl fmt::Display for ReconnectPolicy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Immediate => out.write_str("immediate"),
            Self::Backoff { min, max } => write!(out, "backoff:{}..{}", Time(*min), Time(*max)),
            Self::PerSecond(per_s) => write!(out, "per-second:{per_s}"),
            Self::SlowStart(per_s) => write!(out, "slow-start:{per_s}"),
        }
    }
}

/// What a policy may be.
const EXPECTED: &str = "the reconnect policy must be immediate, backoff:MIN..MAX such as backoff:100ms..10s, per-second:N, or slow-start:N";

impl FromStr for ReconnectPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once(':').map_or((text, None), |(name, value)| (name, Some(value)));
        match (name, value) {
            ("immediate", None) => Ok(Self::Immediate),
            ("backoff", None) => Ok(Self::default()),
            ("backoff", Some(value)) => {
                let (min, max) = value.split_once("..").ok_or(EXPECTED)?;
                let (min, max) = (time(min)?, time(max)?);
                if min > max {
                    return Err(format!(
                        "the first pause of backoff:{value} must not be longer than the last"
                    ));
                }
                Ok(Self::Backoff { min, max })
            }
            ("per-second", Some(value)) => per_second(value).map(Self::PerSecond),
            ("slow-start", Some(value)) => per_second(value).map(Self::SlowStart),
            _ => Err(EXPECTED.to_owned()),
        }
    }
}

/// A pause: a number with a unit.
fn time(text: &str) -> Result<Duration, String> {
    let units = [("ms", 1e-3), ("min", 60.0), ("s", 1.0)];
    let found = units.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)));
    let seconds = found.and_then(|(number, seconds)| Some(number.trim().parse::<f64>().ok()? * seconds));
    let pause = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    pause.filter(|pause| !pause.is_zero() && *pause <= PAUSE_MAX).ok_or_else(|| {
        format!("\"{text}\" is not a pause; write a number from above 0 to an hour with ms, s or min, such as 100ms")
    })
}

fn per_second(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| *number > 0.0 && *number <= PER_SECOND_MAX);
    number.ok_or_else(|| format!("\"{text}\" is not a number of attempts per second above 0, such as 50"))
}

/// A pause in the notation.
struct Time(Duration);

impl fmt::Display for Time {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs_f64();
        if seconds < 1.0 { write!(out, "{}ms", seconds * 1e3) } else { write!(out, "{seconds}s") }
    }
}

impl Serialize for ReconnectPolicy {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ReconnectPolicy {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_policy_is_the_same_after_it_was_written_and_read() {
        for text in
            ["immediate", "backoff:100ms..10s", "backoff:1.5s..1.5s", "per-second:50", "slow-start:2.5"]
        {
            assert_eq!(text.parse::<ReconnectPolicy>().map(|policy| policy.to_string()), Ok(text.to_owned()));
        }
        assert_eq!("backoff".parse(), Ok(ReconnectPolicy::default()));
        assert_eq!("backoff:1min..2min".parse::<ReconnectPolicy>().unwrap().to_string(), "backoff:60s..120s");
    }

    #[test]
    fn what_is_no_policy_is_refused_with_what_it_may_be() {
        for text in [
            "",
            "never",
            "immediate:1",
            "backoff:",
            "backoff:2s..1s",
            "backoff:0ms..1s",
            "per-second:0",
            "slow-start",
        ] {
            assert!(text.parse::<ReconnectPolicy>().is_err(), "{text}");
        }
        assert_eq!("at once".parse::<ReconnectPolicy>(), Err(EXPECTED.to_owned()));
    }

    #[test]
    fn the_pauses_of_a_backoff_double_up_to_the_longest_and_lose_a_random_half() {
        let policy = ReconnectPolicy::Backoff { min: ms(100), max: ms(1_000) };
        let longest = [1, 2, 3, 4, 5, 40].map(|round| policy.pause(round, 1.0));
        assert_eq!(longest, [100, 200, 400, 800, 1_000, 1_000].map(ms));
        assert_eq!([policy.pause(1, 0.0), policy.pause(40, 0.0)], [50, 500].map(ms));
        assert_eq!([1, 2].map(|round| ReconnectPolicy::Immediate.pause(round, 0.5)), [ms(0), ms(10)]);
    }

    #[test]
    fn a_slow_start_doubles_each_second_after_the_first_success() {
        let spacing = |connected_for| ReconnectPolicy::SlowStart(10.0).spacing(connected_for);
        assert_eq!(spacing(None), Some(ms(100)));
        assert_eq!(spacing(Some(ms(500))), Some(ms(50)));
        assert_eq!(spacing(Some(ms(1_500))), Some(ms(25)));
        assert_eq!(ReconnectPolicy::PerSecond(50.0).spacing(Some(ms(9_000))), Some(ms(20)));
        assert_eq!(ReconnectPolicy::Immediate.spacing(None), None);
    }
}
