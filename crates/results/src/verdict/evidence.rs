//! The evidence of a verdict, as a kind with the figures that the rule compared. Plain data: `verdict` and `server_limit`
//! have the rules, and `report` makes the sentences.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Evidence of a verdict.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Evidence {
    /// Too few transactions, or a measured time that is too short.
    TooShort {
        /// Transactions that ended.
        transactions: u64,
        /// The measured time.
        duration_s: f64,
    },
    /// The scripts sent no statements to a server.
    NothingSent,
    /// No command succeeded.
    NoRoundTrip,
    /// A worker was hardly ever idle.
    WorkerSaturated {
        /// That worker.
        busiest: BusiestWorker,
        /// Remedy.
        remedy: GeneratorRemedy,
    },
    /// A worker may have been the limit: it was too busy to exclude it.
    WorkerBusy {
        /// That worker.
        busiest: BusiestWorker,
    },
    /// A worker ran for most of the time, and the time it waited for a CPU is unknown.
    CpuWaitUnknown {
        /// That worker.
        busiest: BusiestWorker,
    },
    /// Answers waited while the worker waited for a CPU.
    CpuWait {
        /// That worker.
        busiest: BusiestWorker,
        /// Wait for a CPU per round trip.
        cpu_wait_us: f64,
        /// Duration of a round trip.
        round_trip_us: f64,
    },
    /// The requested rate was reached.
    RateKept {
        /// The rate.
        rate_tps: f64,
        /// The busiest worker.
        busiest: BusiestWorker,
    },
    /// The requested rate was not reached although most clients were idle for some of the time.
    RateMissed {
        /// The rate.
        rate_tps: f64,
        /// Share of transactions that were skipped or not finished in time.
        missed_share: f64,
        /// Share of the clients' time in which they were idle.
        clients_idle_share: f64,
    },
    /// Workers woke too late to start transactions.
    LateWakeups {
        /// The quantile: 0.5 or 0.99.
        quantile: f64,
        /// The lateness at this quantile.
        late_us: f64,
        /// The response time at this quantile.
        response_us: f64,
    },
    /// A worker woke very late once.
    LateOnce {
        /// The lateness.
        late_us: f64,
        /// Share of transactions that were scheduled in this time.
        transactions_share: f64,
    },
    /// The run reached the maximum of the calibration.
    CalibratedMaximum {
        /// Round trips per second of a worker.
        round_trips_per_s: f64,
        /// Share of the maximum.
        reached_share: f64,
        /// The maximum.
        round_trips_per_s_max: f64,
    },
    /// A round trip took hardly longer than in the calibration.
    CalibratedFloor {
        /// Duration of a round trip in the calibration.
        floor_us: f64,
        /// Duration of a round trip in the run.
        round_trip_us: f64,
    },
    /// `\shell` and `\setshell` blocked the workers.
    Shell {
        /// Share of the workers' time.
        shell_share: f64,
    },
    /// Most time was spent in `\sleep`.
    Sleep {
        /// Share of the time in commands.
        sleep_share: f64,
    },
    /// Most time was spent on connecting within this host.
    Connecting {
        /// Share of the clients' time.
        connecting_share: f64,
        /// The busiest worker.
        busiest: BusiestWorker,
    },
    /// Most time was spent on connecting over a network.
    ConnectingOverNetwork {
        /// Share of the clients' time.
        connecting_share: f64,
    },
    /// Sends were delayed because the other side did not accept data.
    HeldBack {
        /// Share of the measured time.
        held_back_share: f64,
        /// Number of delayed sends.
        sends: u64,
    },
    /// pgmeter took most of a round trip.
    OwnTime {
        /// pgmeter's part.
        own_us: f64,
        /// Duration of a round trip.
        round_trip_us: f64,
    },
    /// The network took most of a round trip.
    NetworkTime {
        /// The network's part.
        network_us: f64,
        /// Duration of a round trip.
        round_trip_us: f64,
        /// Source of the network's part.
        source: NetworkSource,
    },
    /// The server took most of a round trip.
    ServerTime {
        /// The server's part.
        server_us: f64,
        /// Duration of a round trip.
        round_trip_us: f64,
        /// The busiest worker.
        busiest: BusiestWorker,
    },
    /// The backends were mostly idle while the clients waited: a round trip was spent in the network or a proxy.
    OnTheWay {
        /// The part of a round trip that neither pgmeter nor a backend took.
        way_us: f64,
        /// Working time of the backends per round trip.
        server_us: f64,
        /// pgmeter's part.
        own_us: f64,
        /// Duration of a round trip.
        round_trip_us: f64,
        /// Share of time in which the backends waited for their clients.
        idle_share: f64,
    },
    /// The samples show mostly idle backends, but the CPUs of their host were full and the CPU time of the backends is
    /// unknown, so the samples may show too few running backends.
    IdleInDoubt {
        /// The part of a round trip that pgmeter and the network did not take.
        server_us: f64,
        /// Duration of a round trip.
        round_trip_us: f64,
        /// Share of samples in which the backends waited for their clients.
        idle_share: f64,
    },
    /// Neither pgmeter, network nor server took most of a round trip.
    NoLargestPart {
        /// pgmeter's part.
        own_us: f64,
        /// The network's part.
        network_us: f64,
        /// Working time of the backends per round trip; absent if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server_us: Option<f64>,
        /// Duration of a round trip.
        round_trip_us: f64,
    },
    /// There were too few clients for the rate.
    TooFewClients {
        /// Clients.
        clients: u32,
        /// Maximum rate of these clients.
        tps_max: f64,
        /// The service time of a transaction.
        service_us: f64,
        /// The requested rate.
        rate_tps: f64,
        /// Number of clients required for the rate.
        clients_needed: f64,
    },
}

/// The worker with the lowest idle share.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BusiestWorker {
    /// Its number, from 0.
    pub worker: u32,
    /// Number of workers.
    pub workers: u32,
    /// Share of time in which it was idle.
    pub idle_share: f64,
    /// Share of time in which it ran.
    pub cpu_share: f64,
    /// The share in which it waited for a CPU; `null` if the system does not tell.
    pub run_queue_share: Option<f64>,
}

/// Remedies if the load generator is the limit.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GeneratorRemedy {
    /// CPUs of its own.
    OwnCpus,
    /// More workers.
    MoreWorkers,
    /// More CPUs.
    MoreCpus,
}

/// Source of the network's part of a round trip.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NetworkSource {
    /// The delay requested from the relay.
    Relay,
    /// The shortest connect.
    ShortestConnect,
}
