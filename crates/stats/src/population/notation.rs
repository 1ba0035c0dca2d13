//! The notation of the parts of a population: `2%, 10s`, `5min, 10%`, `1%, 64kB/s`. An error is a sentence with the correct
//! form.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::{ActiveClients, ClientCount, IdleTransactions, ReconnectStorm, SessionLifetime, SlowReaders};
use crate::rate::{Seconds, number, seconds};

/// Mean time that a client is active, and that a transaction is held open, unless another is given.
const SPELL: Duration = Duration::from_secs(10);
/// Deviation of lifetimes, unless another is given.
const JITTER: f64 = 0.1;
/// A day; longer times are mistakes.
const SECONDS_MAX: f64 = 86_400.0;
/// Shorter times are those of transactions.
const SECONDS_MIN: f64 = 0.01;
const CLIENTS_MAX: u32 = 10_000_000;
/// PostgreSQL's units.
const RATE_UNITS: [(&str, f64); 4] =
    [("GB/s", 1_073_741_824.0), ("MB/s", 1_048_576.0), ("kB/s", 1024.0), ("B/s", 1.0)];

const ACTIVE: &str = "expected a share or a number of clients, and the mean time that each is active, from 10ms to 24h: write 2% or 2%, \
                      10s";
const IDLE: &str = "expected a share or a number of sessions, and the mean time of a transaction, from 10ms to 24h: write 1% or 1%, 30s";
const LIFETIME: &str =
    "expected a time from 10ms to 24h, and the largest deviation from it: write 5min or 5min, 10%";
const STORM: &str =
    "expected a time of at most 24h since measuring began, and a share of the clients: write 30s or 30s, 50%";
const SLOW: &str =
    "expected a share or a number of clients, and how fast each of them reads: write 1%, 64kB/s";

impl fmt::Display for ClientCount {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(share) => write!(out, "{}", Percent(*share)),
            Self::Number(number) => write!(out, "{number}"),
        }
    }
}

impl fmt::Display for ActiveClients {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}, {}", self.clients, Seconds(self.spell.as_secs_f64()))
    }
}

impl fmt::Display for IdleTransactions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}, {}", self.sessions, Seconds(self.lasts.as_secs_f64()))
    }
}

impl fmt::Display for SessionLifetime {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}, {}", Seconds(self.mean.as_secs_f64()), Percent(self.jitter))
    }
}

impl fmt::Display for ReconnectStorm {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", Seconds(self.at.as_secs_f64()))?;
        if self.share < 1.0 { write!(out, ", {}", Percent(self.share)) } else { Ok(()) }
    }
}

impl fmt::Display for SlowReaders {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |factor: &f64| self.bytes_per_s % factor == 0.0;
        let (unit, factor) =
            RATE_UNITS.into_iter().find(|(_, factor)| whole(factor)).unwrap_or(RATE_UNITS[3]);
        write!(out, "{}, {}{unit}", self.clients, self.bytes_per_s / factor)
    }
}

/// A share as a percentage.
struct Percent(f64);

impl fmt::Display for Percent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}%", (self.0 * 1e8).round() / 1e6)
    }
}

impl FromStr for ClientCount {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let count = match text.trim().strip_suffix('%') {
            Some(_) => share(text).map(Self::Share),
            None => text.trim().parse().ok().filter(|it| (1..=CLIENTS_MAX).contains(it)).map(Self::Number),
        };
        count.ok_or(())
    }
}

impl FromStr for ActiveClients {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (clients, spell) = parts(text);
        let read = || Some(Self { clients: clients.parse().ok()?, spell: spell.map_or(Some(SPELL), time)? });
        read().ok_or_else(|| ACTIVE.to_owned())
    }
}

impl FromStr for IdleTransactions {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (sessions, lasts) = parts(text);
        let read =
            || Some(Self { sessions: sessions.parse().ok()?, lasts: lasts.map_or(Some(SPELL), time)? });
        read().ok_or_else(|| IDLE.to_owned())
    }
}

impl FromStr for SessionLifetime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mean, jitter) = parts(text);
        let none_or_share = |text: &str| if text == "0%" { Some(0.0) } else { share(text) };
        let read = || Some(Self { mean: time(mean)?, jitter: jitter.map_or(Some(JITTER), none_or_share)? });
        read().ok_or_else(|| LIFETIME.to_owned())
    }
}

impl FromStr for ReconnectStorm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (at, of) = parts(text);
        let at = seconds(at).filter(|at| *at <= SECONDS_MAX).map(Duration::from_secs_f64);
        let read = || Some(Self { at: at?, share: of.map_or(Some(1.0), share)? });
        read().ok_or_else(|| STORM.to_owned())
    }
}

impl FromStr for SlowReaders {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (clients, speed) = parts(text);
        let read = || Some(Self { clients: clients.parse().ok()?, bytes_per_s: bytes_per_s(speed?)? });
        read().ok_or_else(|| SLOW.to_owned())
    }
}

impl ReconnectStorm {
    /// Storms that are separated by semicolons.
    ///
    /// # Errors
    /// A sentence with the correct form.
    pub fn list(text: &str) -> Result<Vec<ReconnectStorm>, String> {
        text.split(';').map(str::parse).collect()
    }

    /// The text of several storms.
    pub fn list_text(storms: &[ReconnectStorm]) -> String {
        storms.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }
}

/// The two parts of a text, the second of which may be missing.
fn parts(text: &str) -> (&str, Option<&str>) {
    match text.split_once(',') {
        Some((first, second)) => (first.trim(), Some(second.trim())),
        None => (text.trim(), None),
    }
}

fn time(text: &str) -> Option<Duration> {
    let found = seconds(text).filter(|s| (SECONDS_MIN..=SECONDS_MAX).contains(s));
    found.map(Duration::from_secs_f64)
}

/// A percentage above 0, at most 100.
fn share(text: &str) -> Option<f64> {
    let percent = number(text.trim().strip_suffix('%')?)?;
    (percent > 0.0 && percent <= 100.0).then_some(percent / 100.0)
}

/// At least one byte per second.
fn bytes_per_s(text: &str) -> Option<f64> {
    let (digits, factor) =
        RATE_UNITS.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)))?;
    number(digits).map(|count| (count * factor).round()).filter(|rate| (1.0..=1e12).contains(rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told<T: FromStr<Err = String> + fmt::Display>(text: &str) -> String {
        text.parse::<T>().map_or_else(|why| why, |value| value.to_string())
    }

    #[test]
    fn parts_are_shown_as_they_are_written_with_what_was_left_out() {
        assert_eq!(told::<ActiveClients>("2%"), "2%, 10s");
        assert_eq!(told::<ActiveClients>("16, 1min"), "16, 1min");
        assert_eq!(told::<IdleTransactions>("0.5%,30s"), "0.5%, 30s");
        assert_eq!(told::<SessionLifetime>("5min"), "5min, 10%");
        assert_eq!(told::<SessionLifetime>("5min, 0%"), "5min, 0%");
        assert_eq!(told::<ReconnectStorm>("30s"), "30s");
        assert_eq!(told::<ReconnectStorm>("1.5s , 33.3%"), "1.5s, 33.3%");
        assert_eq!(told::<SlowReaders>("1%, 64kB/s"), "1%, 64kB/s");
        assert_eq!(told::<SlowReaders>("3, 2048B/s"), "3, 2kB/s");
        assert_eq!(told::<SlowReaders>("3, 1.5MB/s"), "3, 1536kB/s");
    }

    #[test]
    fn a_wrong_part_is_answered_with_the_correct_form() {
        for wrong in ["", "2", "0%", "101%", "0", "2%, 0s", "2%, 25h", "-1%", "2%, 10", "2%, 1s, 1s", "NaN%"]
        {
            let told = told::<ActiveClients>(wrong);
            assert!(told == ACTIVE || wrong == "2", "{wrong}: {told}");
        }
        for wrong in ["1%, 5%", "x", "1%, "] {
            assert_eq!(told::<IdleTransactions>(wrong), IDLE, "{wrong}");
        }
        for wrong in ["10%", "0s", "5min, 101%", "5min, 10", "5min, -1%"] {
            assert_eq!(told::<SessionLifetime>(wrong), LIFETIME, "{wrong}");
        }
        for wrong in ["30", "-1s", "25h", "30s, 0%", "30s, 2"] {
            assert_eq!(told::<ReconnectStorm>(wrong), STORM, "{wrong}");
        }
        let storms = ReconnectStorm::list("30s; 1min, 50%").expect("storms");
        assert_eq!(ReconnectStorm::list_text(&storms), "30s; 1min, 50%");
        assert_eq!(ReconnectStorm::list("30s;"), Err(STORM.to_owned()));
        for wrong in ["1%", "1%, 64", "1%, 0kB/s", "1%, 64KB/s", "1%, 64kB", "64kB/s"] {
            assert_eq!(told::<SlowReaders>(wrong), SLOW, "{wrong}");
        }
    }
}
