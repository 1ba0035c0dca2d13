//! The clients of a run as applications have them: most are idle, some hold a transaction open or read slowly, and
//! sessions end and begin. `notation` reads and shows the parts, `activity` says which clients are active at a time. Pure;
//! the engine executes it.

mod activity;
mod notation;

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stored_as_text::stored_as_text;

pub use activity::{ActivityWalk, Spell};

/// What the clients of a run do beside their transactions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Population {
    /// The clients that work at the same time; without it, all do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<ActiveClients>,
    /// Sessions beside the clients that hold a transaction open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_in_transaction: Option<IdleTransactions>,
    /// How long a session lasts before its client connects again; without it, until the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_lifetime: Option<SessionLifetime>,
    /// Times at which many clients connect again at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub storms: Vec<ReconnectStorm>,
    /// Clients that read the results slowly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow_readers: Option<SlowReaders>,
}

/// A number of clients, or a share of all: `16` or `2%`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClientCount {
    /// A share above 0, at most 1.
    Share(f64),
    /// A number, at least 1.
    Number(u32),
}

/// Clients that work at the same time, and the mean time after which another client takes the place of one:
/// `2%, 10s`. The times are exponential.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct ActiveClients {
    /// How many.
    #[schemars(skip)]
    pub clients: ClientCount,
    /// Mean time that a client is active.
    pub spell: Duration,
}

/// Sessions that hold a transaction with a snapshot open, and the mean time of each transaction: `1%, 30s`. The times
/// are exponential.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct IdleTransactions {
    /// How many, or a share of the clients; they are sessions of their own.
    #[schemars(skip)]
    pub sessions: ClientCount,
    /// Mean time until a transaction is committed and the next one begins.
    pub lasts: Duration,
}

/// How long a session lasts, with a relative deviation: `5min, 10%` is between 4.5 and 5.5 minutes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct SessionLifetime {
    /// The mean.
    pub mean: Duration,
    /// Largest deviation from the mean, as a share of it.
    pub jitter: f64,
}

/// Clients connect again at a time, counted from the begin of measuring: `30s` or `30s, 50%`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct ReconnectStorm {
    /// When.
    pub at: Duration,
    /// Which share of the clients.
    pub share: f64,
}

/// Clients that read what the server sends no faster than this: `1%, 64kB/s`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct SlowReaders {
    /// How many.
    #[schemars(skip)]
    pub clients: ClientCount,
    /// How fast each of them reads.
    pub bytes_per_s: f64,
}

stored_as_text!(ActiveClients, IdleTransactions, SessionLifetime, ReconnectStorm, SlowReaders);

impl Population {
    /// Whether all clients work from the begin to the end, each in one session.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Whether sessions end before the run does.
    pub fn renews_sessions(&self) -> bool {
        self.session_lifetime.is_some() || !self.storms.is_empty()
    }

    /// The number of sessions that hold a transaction open, beside this number of clients.
    pub fn idle_transactions(&self, clients: u32) -> u32 {
        self.idle_in_transaction.map_or(0, |idle| idle.sessions.of(clients))
    }
}

impl ClientCount {
    /// The number of clients, at least 1; of a number, not more than there are.
    pub fn of(self, clients: u32) -> u32 {
        let most = clients.max(1);
        match self {
            // A share is at most 1.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            Self::Share(share) => ((f64::from(clients) * share).round() as u32).clamp(1, most),
            Self::Number(number) => number,
        }
    }
}

impl SessionLifetime {
    /// The time of a session, from a uniform number in [0, 1).
    pub fn draw(self, uniform: f64) -> Duration {
        self.mean.mul_f64((1.0 + self.jitter * (2.0 * uniform - 1.0)).max(0.0))
    }

    /// What is left of a session whose age is random, as of one that was there before the run.
    pub fn draw_rest(self, uniform: f64, age: f64) -> Duration {
        self.draw(uniform).mul_f64(1.0 - age)
    }
}

impl ReconnectStorm {
    /// Whether the client with this number takes part. Those that do are spread evenly.
    pub fn includes(self, client: usize) -> bool {
        is_among(client, self.share)
    }
}

impl SlowReaders {
    /// Whether the client with this number reads slowly. Those that do are spread evenly over all `clients`.
    pub fn includes(self, client: usize, clients: u32) -> bool {
        is_among(client, f64::from(self.clients.of(clients)) / f64::from(clients.max(1)))
    }
}

/// Whether a number is among a share of all, which is spread evenly: each time that number × share reaches the next whole
/// number.
fn is_among(number: usize, share: f64) -> bool {
    let reached = |count: usize| (count as f64 * share + 1e-9).floor();
    reached(number + 1) > reached(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_clients_is_spread_evenly_and_has_the_right_number() {
        for (share, clients) in [(0.02, 10_000_usize), (0.5, 7), (1.0, 9), (1.0 / 3.0, 300)] {
            let chosen = (0..clients).filter(|client| is_among(*client, share)).count();
            let wanted = clients as f64 * share;
            assert!((chosen as f64 - wanted).abs() < 1.0, "{chosen} of {clients}, not {share}");
            let half = (0..clients / 2).filter(|client| is_among(*client, share)).count();
            assert!(half.abs_diff(chosen / 2) <= 1, "{half} of {chosen} are in the first half");
        }
    }

    #[test]
    fn counts_are_at_least_one_client() {
        assert_eq!(ClientCount::Share(0.02).of(10_000), 200);
        assert_eq!(ClientCount::Share(0.001).of(10), 1);
        assert_eq!(ClientCount::Share(1.0).of(10), 10);
        assert_eq!(ClientCount::Number(16).of(100), 16);
    }

    #[test]
    fn lifetimes_stay_within_their_jitter_and_first_sessions_have_any_age() {
        let lifetime = SessionLifetime { mean: Duration::from_secs(100), jitter: 0.1 };
        let mut random = crate::SplitMix64::new(1);
        for _ in 0..1_000 {
            let drawn = lifetime.draw(random.share()).as_secs_f64();
            assert!((90.0..=110.0).contains(&drawn), "{drawn}");
        }
        let rests: Vec<f64> =
            (0..4_000).map(|_| lifetime.draw_rest(random.share(), random.share()).as_secs_f64()).collect();
        let mean = rests.iter().sum::<f64>() / rests.len() as f64;
        assert!((48.0..52.0).contains(&mean), "{mean}");
    }
}
