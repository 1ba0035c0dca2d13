//! The run that pgbench's options ask for, as a specification. Scripts are parsed already, in pgbench's dialect, and are
//! handed on beside it.

use std::num::NonZeroU32;
use std::time::Duration;

use engine::{Grace, Limit, Plan};
use results::ObserveLevel;
use run::{RunSpec, Vacuum};

use crate::options::Options;

/// Transactions of each client if neither their number nor a duration is given.
pub const DEFAULT_TRANSACTIONS: u64 = 10;

const MICROS_PER_MILLI: f64 = 1000.0;

impl From<&Options> for RunSpec {
    fn from(options: &Options) -> Self {
        let transactions = options.transactions.map_or(DEFAULT_TRANSACTIONS, u64::from);
        Self {
            variables: options.variables.clone(),
            scale: options.scale,
            clients: options.clients,
            workers: options.jobs,
            protocol: options.protocol,
            limit: options.duration.map_or(Limit::TransactionsPerClient(transactions), |seconds| {
                Limit::Duration(Duration::from_secs(seconds.into()))
            }),
            grace: Grace::Unlimited,
            rate_tps: options.rate.and_then(|rate| attainable(rate, options.jobs.min(options.clients))),
            latency_limit: options.latency_limit.and_then(whole_microseconds),
            max_tries: NonZeroU32::new(options.max_tries),
            reconnect: options.reconnect,
            continue_on_error: options.continue_on_error,
            exit_on_abort: options.exit_on_abort,
            vacuum: match (options.no_vacuum, options.vacuum_all) {
                (true, _) => Vacuum::Nothing,
                (false, false) => Vacuum::SmallTables,
                (false, true) => Vacuum::AllTables,
            },
            observe: ObserveLevel::Off,
            seed: Some(options.seed),
            ..Self::default()
        }
    }
}

/// The rate as the engine takes it. An infinite rate means no waiting, as in pgbench; a rate that no worker reaches is the
/// highest there is.
fn attainable(rate: f64, workers: u32) -> Option<f64> {
    rate.is_finite().then(|| rate.min(Plan::RATE_PER_WORKER_MAX * f64::from(workers)))
}

/// A limit in whole microseconds; below one there is no limit.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a limit above 2^64 µs is never reached"
)]
fn whole_microseconds(milliseconds: f64) -> Option<Duration> {
    let limit = Duration::from_micros((milliseconds * MICROS_PER_MILLI) as u64);
    (!limit.is_zero()).then_some(limit)
}
