//! A connection pooler that pgmeter started between the clients and the server of a run: what it was, its CPU time, and how
//! long clients waited for a connection to the server. Plain data, made by `observe` and `run`, and shown by `report`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::PoolMode;

use crate::{Missing, SafeText};

/// A pooler between the clients and the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pooler {
    /// Version of PgBouncer.
    pub version: String,
    /// When connections to the server return to the pool.
    pub mode: PoolMode,
    /// Maximum number of connections to the server.
    pub pool_size: u32,
    /// Prepared statements that it keeps for each connection to the server; `null` if the version cannot, 0: none.
    pub max_prepared_statements: Option<u32>,
    /// Whether a relay that simulates a network is between the clients and the pooler.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub behind_relay: bool,
    /// Further settings of the pooler.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, SafeText>,
    /// The figures of the measured time; `null` if it was not watched.
    pub figures: Option<PoolerFigures>,
    /// What could not be read, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
}

/// Figures of a pooler in the measured time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PoolerFigures {
    /// Its CPU time for each transaction that succeeded or failed; `null` if it could not be read.
    pub cpu_us_per_transaction: Option<f64>,
    /// Its CPU time in the measured time ÷ this time. PgBouncer has one thread, so 1 is its limit.
    pub cpu_share: Option<f64>,
    /// Time that clients waited for a connection to the server ÷ transactions, both as the pooler counts them.
    pub wait_us_per_transaction: Option<f64>,
    /// Transactions as the pooler counts them.
    pub transactions: u64,
    /// Mean number of clients that waited for a connection to the server, over the samples.
    pub clients_waiting_mean: f64,
    /// Maximum number of clients that waited for a connection to the server in a sample.
    pub clients_waiting_max: u32,
    /// Longest time for which a client had been waiting in a sample.
    pub longest_wait_us: u64,
    /// Maximum number of connections to the server in a sample.
    pub server_connections_max: u32,
    /// The same over time, usually per second.
    pub samples: Vec<PoolerSample>,
}

/// A stretch of time. Counts grew in it; clients, connections and the longest wait are those at its end.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PoolerSample {
    /// Its start, in seconds since measuring began.
    pub start_s: f64,
    /// Its end.
    pub end_s: f64,
    /// CPU time of the pooler; `null` if it could not be read.
    pub cpu_s: Option<f64>,
    /// Transactions.
    pub transactions: u64,
    /// Time that clients waited for a connection to the server, summed over the clients.
    pub wait_us: u64,
    /// Clients with a connection to the server, or without any need of one.
    pub clients_active: u32,
    /// Clients that wait for a connection to the server.
    pub clients_waiting: u32,
    /// Connections to the server that a client uses.
    pub servers_active: u32,
    /// Other connections to the server.
    pub servers_idle: u32,
    /// How long the first of the waiting clients has been waiting.
    pub longest_wait_us: u64,
}

/// Limit of stored samples; longer runs have longer samples.
const SAMPLES_MAX: usize = 600;

impl PoolerFigures {
    /// The figures of these samples; `transactions` are those of the run that succeeded or failed. `None` without samples.
    pub fn new(samples: Vec<PoolerSample>, transactions: u64) -> Option<PoolerFigures> {
        const MICROSECONDS_PER_SECOND: f64 = 1e6;
        let (first, last) = (samples.first()?, samples.last()?);
        let measured_s = last.end_s - first.start_s;
        let per = |sum: f64, count: u64| (count > 0).then(|| sum / count as f64);
        let cpu_s = samples.iter().map(|sample| sample.cpu_s).sum::<Option<f64>>();
        let counted: u64 = samples.iter().map(|sample| sample.transactions).sum();
        let wait_us: u64 = samples.iter().map(|sample| sample.wait_us).sum();
        let waiting: u64 = samples.iter().map(|sample| u64::from(sample.clients_waiting)).sum();
        let most = |of: fn(&PoolerSample) -> u32| samples.iter().map(of).max().unwrap_or_default();
        Some(PoolerFigures {
            cpu_us_per_transaction: cpu_s
                .and_then(|cpu_s| per(cpu_s * MICROSECONDS_PER_SECOND, transactions)),
            cpu_share: cpu_s.filter(|_| measured_s > 0.0).map(|cpu_s| cpu_s / measured_s),
            wait_us_per_transaction: per(wait_us as f64, counted),
            transactions: counted,
            clients_waiting_mean: per(waiting as f64, samples.len() as u64).unwrap_or_default(),
            clients_waiting_max: most(|sample| sample.clients_waiting),
            longest_wait_us: samples.iter().map(|sample| sample.longest_wait_us).max().unwrap_or_default(),
            server_connections_max: most(|sample| sample.servers_active.saturating_add(sample.servers_idle)),
            samples: shortened(samples),
        })
    }

    /// Whether its parts agree.
    pub(crate) fn is_consistent(&self) -> bool {
        let counted = self.samples.iter().try_fold(0_u64, |sum, sample| sum.checked_add(sample.transactions));
        let is_ordered = self.samples.windows(2).all(|pair| pair[0].end_s <= pair[1].start_s);
        let is_positive = |sample: &PoolerSample| {
            sample.start_s <= sample.end_s && sample.cpu_s.is_none_or(|cpu_s| cpu_s >= 0.0)
        };
        let figures = [self.cpu_us_per_transaction, self.cpu_share, self.wait_us_per_transaction];
        counted == Some(self.transactions)
            && is_ordered
            && self.samples.iter().all(is_positive)
            && figures.into_iter().flatten().all(|figure| figure >= 0.0)
            && self.clients_waiting_mean >= 0.0
    }
}

/// Merges pairs of samples until there are few enough.
fn shortened(mut samples: Vec<PoolerSample>) -> Vec<PoolerSample> {
    while samples.len() > SAMPLES_MAX {
        samples = samples.chunks(2).map(joined).collect();
    }
    samples
}

fn joined(pair: &[PoolerSample]) -> PoolerSample {
    let [first, second] = pair else { return pair.first().copied().unwrap_or_default() };
    PoolerSample {
        start_s: first.start_s,
        end_s: second.end_s,
        cpu_s: first.cpu_s.zip(second.cpu_s).map(|(first, second)| first + second),
        transactions: first.transactions + second.transactions,
        wait_us: first.wait_us + second.wait_us,
        clients_active: second.clients_active,
        clients_waiting: first.clients_waiting.max(second.clients_waiting),
        servers_active: second.servers_active,
        servers_idle: second.servers_idle,
        longest_wait_us: first.longest_wait_us.max(second.longest_wait_us),
    }
}

/// Something of a session that a client does not find again when its next transaction gets another connection to the
/// server.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionFeature {
    /// `DISCARD`: it discards what belongs to the connection of the moment.
    Discard,
    /// A setting by SET or `set_config`.
    Setting,
    /// A statement prepared by PREPARE.
    PreparedStatement,
    /// LISTEN.
    Notification,
    /// A temporary table that stays after the transaction.
    TemporaryTable,
    /// A cursor WITH HOLD.
    HeldCursor,
    /// An advisory lock of the session.
    AdvisoryLock,
    /// LOAD.
    Library,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(start_s: f64, waiting: u32) -> PoolerSample {
        PoolerSample {
            start_s,
            end_s: start_s + 1.0,
            cpu_s: Some(0.5),
            transactions: 100,
            wait_us: 4000,
            clients_active: 8,
            clients_waiting: waiting,
            servers_active: 2,
            servers_idle: 1,
            longest_wait_us: u64::from(waiting) * 10,
        }
    }

    #[test]
    fn figures_are_sums_of_the_samples_and_maxima() {
        let figures = PoolerFigures::new(vec![sample(0.0, 0), sample(1.0, 6)], 400).unwrap();
        assert_eq!(figures.cpu_us_per_transaction, Some(2500.0));
        assert_eq!((figures.cpu_share, figures.wait_us_per_transaction), (Some(0.5), Some(40.0)));
        assert_eq!((figures.transactions, figures.clients_waiting_max), (200, 6));
        assert_eq!((figures.longest_wait_us, figures.server_connections_max), (60, 3));
        assert!(figures.is_consistent());
        assert!(PoolerFigures::new(Vec::new(), 400).is_none());
        let unread = PoolerSample { cpu_s: None, ..sample(0.0, 0) };
        assert_eq!(PoolerFigures::new(vec![unread], 1).unwrap().cpu_share, None);
    }

    #[test]
    fn a_long_run_has_longer_samples_and_the_same_sums() {
        let many: Vec<_> = (0..2000).map(|second| sample(f64::from(second), 1)).collect();
        let figures = PoolerFigures::new(many, 1).unwrap();
        assert!(figures.samples.len() <= SAMPLES_MAX && figures.is_consistent());
        assert_eq!(figures.samples.last().unwrap().end_s, 2000.0);
        assert_eq!(figures.samples.iter().map(|sample| sample.transactions).sum::<u64>(), 200_000);
    }
}
