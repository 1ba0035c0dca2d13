//! The load generators of a distributed run, one entry for each: its host, its part of the load, its clock, and the
//! verdict on it. Made from the measurements of each rank; the verdict on the run is the worst one of the ranks.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::{Counts, ScriptStats};

use crate::generator::Load;
use crate::workers::cpu_us_per_transaction;
use crate::{Connecting, Generator, Host, Introspection, Lag, Latency, LimitedBy, Plan, Verdict};

/// A load generator of a distributed run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rank {
    /// Its number, from 0. Rank 0 observed the server and stored the record.
    pub rank: u32,
    /// Its host.
    pub host: Host,
    /// Number of its clients.
    pub clients: u32,
    /// Number of its threads.
    pub workers: u32,
    /// Its succeeded transactions per second of the run's measured time.
    pub tps: f64,
    /// Its transactions by ending; `summary.counts` is the sum over the ranks.
    pub counts: Counts,
    /// Response time of its transactions; `null` if none succeeded.
    pub response_us: Option<Latency>,
    /// Lag of its succeeded transactions, from scheduled to started; `null` if none succeeded.
    pub lag_us: Option<Lag>,
    /// its CPU time per transaction that succeeded or failed; `null` if unknown or too little to measure.
    pub client_cpu_us_per_transaction: Option<f64>,
    /// Its clock compared with that of rank 0; `null` for rank 0, and if unknown.
    pub clock: Option<RankClock>,
    /// Its own measurements as a load generator, and the verdict on it; `null` if not recorded.
    pub generator: Option<Generator>,
}

/// The clock of a rank compared with that of rank 0. The true values are within the errors.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankClock {
    /// Its time of day minus that of rank 0.
    pub offset_ms: f64,
    /// Maximum error of `offset_ms`.
    pub offset_error_ms: f64,
    /// Start of its measuring minus that of rank 0.
    pub start_skew_us: f64,
    /// Maximum error of `start_skew_us`.
    pub start_skew_error_us: f64,
}

/// The measurements of one rank, from its engine and its caller.
#[derive(Clone, Debug)]
pub struct RankMeasured<'a> {
    /// Its number, from 0.
    pub rank: u32,
    /// Its host.
    pub host: Host,
    /// Number of its clients.
    pub clients: u32,
    /// Statistics of its transactions in the measured time, over all scripts.
    pub total: &'a ScriptStats,
    /// Its connecting, if each transaction had a connection of its own.
    pub connecting: Option<Connecting>,
    /// User and system CPU time of its workers during the measured time.
    pub client_cpu: Option<Duration>,
    /// Its clock; `None` for rank 0.
    pub clock: Option<RankClock>,
    /// Its event loop and workers, the times of its clients' commands, and the calibration of its host.
    pub introspection: Option<Introspection<'a>>,
}

impl Rank {
    /// The entry of one of `ranks` load generators that made the load of `plan` for `duration_s` and the tail.
    pub(crate) fn new(
        measured: &RankMeasured<'_>,
        ranks: usize,
        plan: &Plan,
        [duration_s, tail_s]: [f64; 2],
    ) -> Rank {
        let RankMeasured { rank, host, clients, total, connecting, client_cpu, clock, introspection } =
            measured;
        let response_us = Latency::of(&total.response);
        let load = Load {
            clients: *clients,
            // Arrivals are dealt to the ranks in turn.
            rate_tps: plan.rate_tps.map(|rate_tps| rate_tps / ranks as f64),
            duration_s: duration_s + tail_s,
            counts: total.counts,
            response_us,
            connecting: *connecting,
            cpu_available: host.cpu_available,
        };
        let generator = introspection.as_ref().and_then(|introspection| Generator::new(introspection, &load));
        let workers = generator.as_ref().map(|it| it.workers.len());
        let measured_workers = workers.unwrap_or(1);
        Rank {
            rank: *rank,
            host: host.clone(),
            clients: *clients,
            workers: workers.map_or(plan.workers, |workers| u32::try_from(workers).unwrap_or(u32::MAX)),
            tps: if duration_s > 0.0 { total.counts.succeeded_in_time() / duration_s } else { 0.0 },
            counts: total.counts,
            response_us,
            lag_us: Lag::of(total),
            client_cpu_us_per_transaction: client_cpu
                .and_then(|cpu| cpu_us_per_transaction(cpu, duration_s, measured_workers, &total.counts)),
            clock: *clock,
            generator,
        }
    }

    /// The verdict on it.
    pub fn verdict(&self) -> Option<&Verdict> {
        self.generator.as_ref().map(|generator| &generator.verdict)
    }

    /// Whether it limited the run: its figures say more about itself than about the server.
    pub fn is_client_limited(&self) -> bool {
        self.verdict().is_some_and(|verdict| verdict.limit == LimitedBy::Generator)
    }
}

/// The rank with the worst verdict, the first of several.
pub(crate) fn worst(ranks: &[Rank]) -> Option<&Rank> {
    let judged = ranks.iter().filter_map(|rank| Some((rank, rank.verdict()?.limit)));
    judged.min_by_key(|(_, limit)| severity(*limit)).map(|(rank, _)| rank)
}

/// Position of a limit among the verdicts on the ranks, the worst first: the server is the limit of the run only if no
/// rank had another limit.
fn severity(limit: LimitedBy) -> u8 {
    match limit {
        LimitedBy::Generator => 0,
        LimitedBy::Undecided => 1,
        LimitedBy::Network => 2,
        LimitedBy::ClientCount => 3,
        LimitedBy::Server => 4,
    }
}
