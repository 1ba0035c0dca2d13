//! Outages in the record: lost connections, the attempts to replace them, and how long nothing was written. Made from the
//! engine's `stats::Outages`; docs/failures.md explains the figures.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::{AttemptOutcome, Attempts, Timestamp};

use crate::{Interval, Latency};

/// Most outages of a record, the longest windows.
const OUTAGES_MAX: usize = 100;
/// Most connections of an outage, those that were without success for the longest time.
const CONNECTIONS_MAX: usize = 100;
/// Seconds before an outage that give the former rate, at most.
const FORMER_SECONDS: usize = 10;
/// Share of the former rate at which a run has recovered.
pub const RECOVERED_SHARE: f64 = 0.9;

/// Lost connections of a run. Times are seconds since measuring began; before it they are negative.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outages {
    /// Lost connections.
    pub losses: u64,
    /// The same by cause, the most frequent first.
    pub causes: Vec<LossCount>,
    /// Attempts to connect again, the most frequent outcome first.
    pub attempts: Vec<AttemptCount>,
    /// Whether windows are times without a successful write; without scripts that write, without a success.
    pub of_writes: bool,
    /// Number of outages; those that are kept may be fewer.
    pub count: u64,
    /// LossCount in no outage, because there were too many.
    pub more_losses: u64,
    /// Transactions that were due in outages but are not among their arrivals, because there were too many.
    pub more_arrivals: u64,
    /// In the order of time; the longest if there are many.
    pub outages: Vec<Outage>,
}

/// Connections that were lost in one way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LossCount {
    /// How.
    pub cause: LossCause,
    /// How many.
    pub count: u64,
}

/// How a connection was lost: the server's SQLSTATE, or what the client saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossCause {
    /// The server sent an error with this SQLSTATE, and closed the connection.
    Sqlstate(String),
    /// The server closed the connection without a message.
    Closed,
    /// The connection was reset.
    Reset,
    /// No reply within the client's time limit.
    NoResponse,
    /// Another error of the network or of TLS.
    Network,
}

impl From<stats::LossCause> for LossCause {
    fn from(cause: stats::LossCause) -> LossCause {
        match cause {
            stats::LossCause::SqlState(code) => {
                LossCause::Sqlstate(String::from_utf8_lossy(&code).into_owned())
            }
            stats::LossCause::Closed => LossCause::Closed,
            stats::LossCause::Reset => LossCause::Reset,
            stats::LossCause::NoResponse => LossCause::NoResponse,
            stats::LossCause::Network => LossCause::Network,
        }
    }
}

/// Attempts to connect with one outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptCount {
    /// The outcome.
    pub outcome: AttemptOutcome,
    /// How many.
    pub count: u64,
}

/// Lost connections that belong together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outage {
    /// When the first client found its connection lost.
    pub first_error_s: f64,
    /// When the first client was connected again.
    pub first_connect_s: Option<f64>,
    /// When the last one was; `null` if one never was.
    pub last_connect_s: Option<f64>,
    /// End of the first succeeded transaction of these clients that only read.
    pub first_read_s: Option<f64>,
    /// The same of those that wrote.
    pub first_write_s: Option<f64>,
    /// The longest time without a successful write of any client; `null` if other clients went on writing.
    pub window: Option<OutageWindow>,
    /// Clients that lost a connection.
    pub clients: u64,
    /// Of these, clients that waited in vain until their time limit.
    pub hung: u64,
    /// Of these, clients that never succeeded again.
    pub never: u64,
    /// Time of each client from its last success to its next one; `null` if none succeeded again.
    pub without_success_us: Option<Latency>,
    /// Attempts to connect, the most frequent outcome first.
    pub attempts: Vec<AttemptCount>,
    /// Succeeded transactions per second in the seconds before; `null` if there were none.
    pub former_tps: Option<f64>,
    /// Begin of the first of two seconds with 90 % of that rate; `null` if there were none.
    pub recovered_s: Option<f64>,
    /// Single connections, those longest without success.
    pub connections: Vec<ClientOutage>,
}

/// A time without a successful write of any client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutageWindow {
    /// End of the last successful write.
    pub start_s: f64,
    /// End of the next one, or of the run.
    pub end_s: f64,
    /// Whether it ended with a write.
    pub is_over: bool,
    /// Transactions that were due in it.
    pub arrivals: u64,
    /// Of these, succeeded ones.
    pub succeeded: u64,
    /// Failed ones.
    pub failed: u64,
    /// Skipped ones.
    pub skipped: u64,
    /// Unfinished ones.
    pub unfinished: u64,
    /// Those with an unknown ending.
    pub unknown: u64,
    /// Response times of the succeeded ones; `null` without any.
    pub response_us: Option<Latency>,
}

/// An attempt to connect.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectAttempt {
    /// When it ended.
    pub at_s: f64,
    /// Its outcome.
    pub outcome: AttemptOutcome,
}

/// One client in an outage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientOutage {
    /// Number of the client, from 0.
    pub client: u64,
    /// End of its last succeeded transaction before.
    pub last_success_s: Option<f64>,
    /// When it found its connection lost.
    pub lost_s: f64,
    /// How.
    pub cause: LossCause,
    /// Its attempts to connect, the most frequent outcome first.
    pub attempts: Vec<AttemptCount>,
    /// The first of them.
    pub first_attempt: Option<ConnectAttempt>,
    /// The last of them.
    pub last_attempt: Option<ConnectAttempt>,
    /// When it was connected again.
    pub connected_s: Option<f64>,
    /// End of its first succeeded transaction that only read.
    pub first_read_s: Option<f64>,
    /// End of its first succeeded transaction that wrote.
    pub first_write_s: Option<f64>,
}

impl OutageWindow {
    /// Its length.
    pub fn length_s(&self) -> f64 {
        self.end_s - self.start_s
    }
}

impl Outage {
    /// Time from the last write, or the first error, until the run has recovered.
    pub fn recovery_s(&self) -> Option<f64> {
        let begin_s = self.window.as_ref().map_or(self.first_error_s, |window| window.start_s);
        Some(self.recovered_s? - begin_s)
    }
}

impl Outages {
    /// The outages of a run with these intervals, whose measuring began at `origin`.
    pub fn new(found: &stats::Outages, origin: Timestamp, intervals: &[Interval]) -> Outages {
        let mut longest: Vec<&stats::Outage> = found.outages.iter().collect();
        longest.sort_by_key(|outage| std::cmp::Reverse(outage.window.map(|(from, until)| until.since(from))));
        longest.truncate(OUTAGES_MAX);
        longest.sort_by_key(|outage| outage.first_error);
        let mut causes: Vec<LossCount> = found
            .causes
            .iter()
            .map(|(cause, count)| LossCount { cause: (*cause).into(), count: *count })
            .collect();
        causes.sort_by_key(|losses| std::cmp::Reverse(losses.count));
        Outages {
            losses: found.losses(),
            causes,
            attempts: counts(&found.attempts),
            of_writes: found.of_writes,
            count: found.outages.len() as u64,
            more_losses: found.more_losses,
            more_arrivals: found.more_affected,
            outages: longest.into_iter().map(|outage| Outage::new(outage, origin, intervals)).collect(),
        }
    }

    /// The longest time without a successful write; zero if other clients always went on writing.
    pub fn longest_window_s(&self) -> f64 {
        let windows = self.outages.iter().filter_map(|outage| outage.window.as_ref());
        windows.map(OutageWindow::length_s).fold(0.0, f64::max)
    }

    /// Of the outage with that time, the time until the run has recovered.
    pub fn recovery_s(&self) -> Option<f64> {
        let length = |outage: &&Outage| outage.window.as_ref().map_or(0.0, OutageWindow::length_s);
        self.outages.iter().max_by(|a, b| length(a).total_cmp(&length(b)))?.recovery_s()
    }
}

/// Outcomes that occurred, the most frequent first.
fn counts(attempts: &Attempts) -> Vec<AttemptCount> {
    let all = AttemptOutcome::ALL.into_iter();
    let mut counts: Vec<AttemptCount> = all
        .map(|outcome| AttemptCount { outcome, count: attempts.count(outcome) })
        .filter(|attempts| attempts.count > 0)
        .collect();
    counts.sort_by_key(|attempts| std::cmp::Reverse(attempts.count));
    counts
}

/// Seconds since `origin`, negative before it.
fn seconds(at: Timestamp, origin: Timestamp) -> f64 {
    if at >= origin { at.since(origin).as_secs_f64() } else { -origin.since(at).as_secs_f64() }
}

impl Outage {
    fn new(found: &stats::Outage, origin: Timestamp, intervals: &[Interval]) -> Outage {
        let of = |at: Timestamp| seconds(at, origin);
        let window = found.window.map(|(from, until)| {
            let [succeeded, failed, skipped, unfinished, unknown] = found.arrivals.endings;
            OutageWindow {
                start_s: of(from),
                end_s: of(until),
                is_over: found.is_window_over,
                arrivals: found.arrivals.total(),
                succeeded,
                failed,
                skipped,
                unfinished,
                unknown,
                response_us: Latency::of(&found.arrivals.response),
            }
        });
        let begin_s = window.as_ref().map_or(of(found.first_error), |window| window.start_s);
        let former_tps = former_tps(intervals, begin_s);
        let after_s = window.as_ref().map_or(found.first_connect.map(of), |window| Some(window.end_s));
        let recovered_s =
            former_tps.zip(after_s).and_then(|(former, after_s)| recovered_s(intervals, former, after_s));
        let mut connections: Vec<&stats::ClientOutage> = found.clients.iter().collect();
        let out = |client: &stats::ClientOutage| {
            let begin = client.last_success.unwrap_or(client.lost);
            client.first_success().map_or(Duration::MAX, |success| success.since(begin))
        };
        connections.sort_by_key(|client| std::cmp::Reverse(out(client)));
        connections.truncate(CONNECTIONS_MAX);
        let is_hung = |client: &&stats::ClientOutage| client.cause == stats::LossCause::NoResponse;
        Outage {
            first_error_s: of(found.first_error),
            first_connect_s: found.first_connect.map(of),
            last_connect_s: found.last_connect.map(of),
            first_read_s: found.first_read.map(of),
            first_write_s: found.first_write.map(of),
            window,
            clients: found.clients.len() as u64,
            hung: found.clients.iter().filter(is_hung).count() as u64,
            never: found.never,
            without_success_us: Latency::of(&found.out),
            attempts: counts(&found.attempts),
            former_tps,
            recovered_s,
            connections: connections.into_iter().map(|client| ClientOutage::new(client, origin)).collect(),
        }
    }
}

impl ClientOutage {
    fn new(found: &stats::ClientOutage, origin: Timestamp) -> ClientOutage {
        let of = |at: Timestamp| seconds(at, origin);
        let attempt = |(at, outcome): (Timestamp, AttemptOutcome)| ConnectAttempt { at_s: of(at), outcome };
        ClientOutage {
            client: found.client,
            last_success_s: found.last_success.map(of),
            lost_s: of(found.lost),
            cause: found.cause.into(),
            attempts: counts(&found.attempts),
            first_attempt: found.attempts.first.map(attempt),
            last_attempt: found.attempts.last.map(attempt),
            connected_s: found.connected.map(of),
            first_read_s: found.first_read.map(of),
            first_write_s: found.first_write.map(of),
        }
    }
}

/// Succeeded transactions per second in the last whole intervals before `begin_s`.
fn former_tps(intervals: &[Interval], begin_s: f64) -> Option<f64> {
    let before: Vec<&Interval> =
        intervals.iter().filter(|interval| interval.end_s <= begin_s).rev().take(FORMER_SECONDS).collect();
    let seconds: f64 = before.iter().map(|interval| interval.end_s - interval.start_s).sum();
    let succeeded: u64 = before.iter().map(|interval| interval.counts.succeeded).sum();
    (seconds > 0.0 && succeeded > 0).then(|| succeeded as f64 / seconds)
}

/// Begin of the first whole interval after `after_s` that has the former rate again, and so has the next one.
fn recovered_s(intervals: &[Interval], former_tps: f64, after_s: f64) -> Option<f64> {
    let is_recovered = |interval: &Interval| {
        let seconds = interval.end_s - interval.start_s;
        seconds > 0.0 && interval.counts.succeeded as f64 / seconds >= RECOVERED_SHARE * former_tps
    };
    let pairs = intervals.windows(2).filter(|pair| pair[0].start_s >= after_s);
    pairs.into_iter().find(|pair| pair.iter().all(is_recovered)).map(|pair| pair[0].start_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Counts;

    fn interval(start_s: u32, succeeded: u64) -> Interval {
        let counts = Counts { scheduled: succeeded, succeeded, business: succeeded, ..Counts::default() };
        Interval { start_s: start_s.into(), end_s: f64::from(start_s) + 1.0, counts, scripts: Vec::new() }
    }

    #[test]
    fn a_run_has_recovered_at_90_percent_of_its_rate_for_two_seconds() {
        let tps = [500, 1_000, 1_000, 300, 0, 0, 950, 100, 900, 910, 1_000];
        let intervals: Vec<Interval> =
            (0..).zip(tps).map(|(at, succeeded)| interval(at, succeeded)).collect();
        let former = former_tps(&intervals, 3.3);
        assert_eq!(former, Some(2_500.0 / 3.0));
        assert_eq!(recovered_s(&intervals, 1_000.0, 5.5), Some(8.0));
        assert_eq!(recovered_s(&intervals, 2_000.0, 5.5), None);
        assert_eq!(former_tps(&intervals, 0.5), None);
    }

    #[test]
    fn times_before_measuring_are_negative() {
        let [early, origin] = [1_000_000_000, 3_500_000_000].map(Timestamp::from_nanos);
        assert_eq!((seconds(early, origin), seconds(origin, early)), (-2.5, 2.5));
    }
}
