//! What the server and its host were doing meanwhile, as it is stored: waits, counters, costs, events, ceilings.
//! Plain data, made by `observe` on a connection of its own and shown by `report`; nothing here asks a server.
//! What could not be seen is absent, and named in `missing`. Times are seconds since measuring began, as in the
//! intervals; what lies before 0 was during the warm-up.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SafeText;

/// How closely the server was looked at (`--observe`).
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ObserveLevel {
    /// Not at all.
    #[default]
    Off,
    /// Counters at both ends and once a second, waits 20 times a second.
    Light,
    /// What is queued for, too.
    Full,
}

impl ObserveLevel {
    /// As `--observe` takes it.
    pub fn name(self) -> &'static str {
        match self {
            ObserveLevel::Off => "off",
            ObserveLevel::Light => "light",
            ObserveLevel::Full => "full",
        }
    }
}

/// What was seen of the server during the measured time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Observation {
    /// How closely it was looked at.
    pub level: ObserveLevel,
    /// What could not be seen, and why; nothing is missing without being here.
    pub missing: Vec<Missing>,
    /// What looking cost.
    pub cost: ObserverCost,
    /// What the benchmark's backends were doing; `null` if they could not be seen.
    pub waits: Option<Waits>,
    /// What one transaction cost the server.
    pub per_transaction: PerTransaction,
    /// How far the server's cumulative statistics went on, by view.
    pub counters: Vec<CounterTable>,
    /// Statements of the scripts as pg_stat_statements counts them.
    pub statements: Vec<StatementCounters>,
    /// Checkpoints, vacuums and queues for locks, in the order of their beginnings.
    pub events: Vec<Event>,
    /// The same over time, usually a second each.
    pub samples: Vec<ServerSample>,
    /// Processors that the server's affinity and CPU quotas leave it, where it is on this host.
    pub server_cpus_allowed: Option<f64>,
    /// What would bound the throughput, and how near the run came to it, the lowest first.
    pub ceilings: Vec<Ceiling>,
}

/// Something that was to be looked at and could not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Missing {
    /// A view, a column, a file: what it is called.
    pub what: String,
    /// Why, and what would help, in a sentence.
    pub why: SafeText,
}

impl Missing {
    /// It is called so, and was not seen because of this.
    pub fn new(what: &str, why: impl Into<SafeText>) -> Missing {
        Missing { what: what.to_owned(), why: why.into() }
    }
}

/// What looking at the server cost.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObserverCost {
    /// Statements sent.
    pub statements: u64,
    /// Of the measured time, how much the observing session waited for its answers, from 0 to 1.
    pub busy_share: f64,
    /// CPU time of the observing backend; `null` if the server is on another host.
    pub backend_cpu_s: Option<f64>,
    /// Samples that came too late or not at all, because the answer before them took too long.
    pub samples_missed: u64,
}

/// What the benchmark's backends were found doing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Waits {
    /// Where it was seen: `pg_stat_activity` or `pg_wait_sampling`.
    pub source: String,
    /// How often per second they were looked at.
    pub rate_hz: f64,
    /// How often they were looked at in all.
    pub looks: u64,
    /// Backends that were seen, over all looks; those that were idle included.
    pub backends_seen: u64,
    /// How the shares follow from the samples.
    pub method: WaitMethod,
    /// Client backends that were on a processor, on average, by their CPU time; `null` where that is not known.
    pub running_backends: Option<f64>,
    /// Client backends that wanted a processor and had none, on average, by the kernel's run delay.
    pub runnable_backends: Option<f64>,
    /// Share of the backends' time that was idle: waiting for pgmeter to send something, outside of a transaction.
    pub idle_share: f64,
    /// Its 95 % confidence interval; `null` if the run was too short for one.
    pub idle_interval: Option<ShareInterval>,
    /// What the others did, the most frequent first.
    pub top: Vec<WaitShare>,
    /// The same per script of the plan, in its order.
    pub scripts: Vec<Vec<WaitShare>>,
}

/// One kind of waiting, or of running.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitShare {
    /// Type of wait event as PostgreSQL calls it, such as `Lock` or `IO`; `CPU` if the backend did not wait.
    pub event_type: String,
    /// The event, such as `transactionid` or `WALSync`; of type `CPU`: `running`, or `runnable` if it waited for a
    /// processor.
    pub event: String,
    /// How often it was sampled.
    pub seen: u64,
    /// Of the time that backends were not idle, from 0 to 1.
    pub share: f64,
    /// Its 95 % confidence interval; `null` if the run was too short for one.
    pub interval: Option<ShareInterval>,
}

/// A 95 % confidence interval of a share.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShareInterval {
    /// Its lower bound, not below 0.
    pub low: f64,
    /// Its upper bound, not above 1.
    pub high: f64,
}

/// How shares of waits follow from samples.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitMethod {
    /// Each is its share of the samples.
    Samples,
    /// Running and runnable come from the kernel's accounting; the samples divide the rest.
    PostStratified,
}

/// What one transaction that succeeded or failed cost the server, everything it did meanwhile shared out; each `null`
/// if it could not be seen.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)] // the names say it all
pub struct PerTransaction {
    pub wal_bytes: Option<f64>,
    pub wal_records: Option<f64>,
    pub wal_full_page_images: Option<f64>,
    /// Of the WAL, what full-page images took; PostgreSQL 19 and newer.
    pub wal_full_page_image_bytes: Option<f64>,
    pub blocks_hit: Option<f64>,
    pub blocks_read: Option<f64>,
    /// What backends waited for blocks to be read, with track_io_timing.
    pub block_read_us: Option<f64>,
    /// What backends waited for blocks to be written, with track_io_timing.
    pub block_write_us: Option<f64>,
    pub blocks_dirtied: Option<f64>,
    pub blocks_written: Option<f64>,
    pub temp_bytes: Option<f64>,
    /// Of the benchmark's backends, in user mode.
    pub backend_user_cpu_us: Option<f64>,
    /// Of the benchmark's backends, in the kernel.
    pub backend_system_cpu_us: Option<f64>,
    /// What the benchmark's backends really read from the disk.
    pub backend_read_bytes: Option<f64>,
    /// What the benchmark's backends caused to be written to the disk.
    pub backend_written_bytes: Option<f64>,
}

/// A view of cumulative statistics: how much its numbers grew.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CounterTable {
    /// The view, such as `pg_stat_database`.
    pub view: String,
    /// Its rows; those in which nothing happened are left out.
    pub rows: Vec<CounterRow>,
}

/// One row of such a view.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CounterRow {
    /// Which one: a table, an index, `client backend/relation/normal`; empty if the view has a single row.
    pub key: String,
    /// How much each column grew; sizes (in bytes, at the end) are in columns that end in `_bytes_at_end`.
    pub values: BTreeMap<String, f64>,
}

/// A statement as pg_stat_statements counted it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatementCounters {
    /// Its normalised text, shortened.
    #[serde(deserialize_with = "crate::safe_text::read_sql")]
    pub query: SafeText,
    /// The script of the plan that it belongs to, from 0; `null` if none is known.
    pub script: Option<u32>,
    /// Its command in that script, from 0, as in the summary's `commands`.
    pub command: Option<u32>,
    /// How much each column grew.
    pub values: BTreeMap<String, f64>,
}

/// What happened on the server at some moment or for some time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// What it is.
    pub kind: EventKind,
    /// When it began, or was first seen.
    pub start_s: f64,
    /// When it ended; `null` if it was not over at the end of the run.
    pub end_s: Option<f64>,
    /// Which one, in a few words: `timed, 1,234 buffers written`; `pgbench_accounts`; `17 backends behind …`.
    pub detail: SafeText,
}

/// Kinds of events.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A checkpoint.
    Checkpoint,
    /// Autovacuum of a table in use.
    Autovacuum,
    /// Many backends waiting for one lock.
    LockQueue,
}

/// What was seen in one stretch of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerSample {
    /// Where it begins.
    pub start_s: f64,
    /// Where it ends.
    pub end_s: f64,
    /// Looks at the backends in it.
    pub looks: u32,
    /// Backends that were idle, on average over the looks.
    pub idle: f64,
    /// Backends by what they did, on average over the looks; `event_type` and `event` as in `waits.top`.
    pub waits: Vec<WaitMean>,
    /// How much counters grew, and gauges were: `wal_bytes`, `wal_full_page_images`, `wal_full_page_image_bytes`,
    /// `blocks_hit`, `blocks_read`, `block_read_time_ms`, `block_write_time_ms`, `blocks_written`, `temp_bytes`, `commits`, `rollbacks`, `backend_user_cpu_s`,
    /// `backend_system_cpu_s`, `host_busy_share`, `host_iowait_share`, `host_steal_share`; absent if not seen.
    pub values: BTreeMap<String, f64>,
}

/// Backends that were found in one kind of wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)] // as in `WaitShare`
pub struct WaitMean {
    pub event_type: String,
    pub event: String,
    /// How many, on average.
    pub backends: f64,
}

/// A first-order bound of the throughput.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    /// What bounds, with the figures of its formula.
    pub basis: CeilingBasis,
    /// Transactions per second that it would allow.
    pub tps: f64,
    /// The run's throughput by that. It exceeds 1 by 0.1 at most.
    pub reached_share: f64,
}

impl Ceiling {
    /// How far a run may exceed a ceiling, as a share of it: the times that ceilings are made of are measured, each with
    /// an error of a few percent. More is a defect of the formula.
    pub const ERROR: f64 = 0.1;

    /// Whether the run exceeded it by more than its error.
    pub fn is_exceeded(&self) -> bool {
        self.reached_share > 1.0 + Self::ERROR
    }
}

/// Kinds of ceilings.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CeilingBasis {
    /// Rows that transactions compete for.
    HottestRow {
        /// How many there are.
        rows: f64,
        /// How long a transaction locks one.
        locked_us: f64,
        /// Until when.
        until: LockEnd,
    },
    /// Flushes of WAL.
    Flush {
        /// How long one takes.
        flush_us: f64,
        /// How that is known.
        source: FlushSource,
        /// Transactions that one serves.
        transactions_per_flush: f64,
        /// How that is known.
        sharing: FlushSharing,
    },
    /// Round trips over a network.
    RoundTrips {
        /// Clients.
        clients: f64,
        /// Round trips of a transaction.
        round_trips_per_transaction: f64,
        /// How long one takes at least.
        round_trip_us: f64,
    },
    /// CPU time.
    Cpu {
        /// CPUs.
        cpus: f64,
        /// Whose they are.
        of: CpuOwner,
        /// CPU time of the backends for a transaction.
        server_us: f64,
        /// CPU time of pgmeter for a transaction.
        pgmeter_us: f64,
    },
}

impl CeilingBasis {
    /// As it stands in the record.
    pub fn name(&self) -> &'static str {
        match self {
            CeilingBasis::HottestRow { .. } => "hottest_row",
            CeilingBasis::Flush { .. } => "flush",
            CeilingBasis::RoundTrips { .. } => "round_trips",
            CeilingBasis::Cpu { .. } => "cpu",
        }
    }
}

/// Until when a transaction locks a row.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LockEnd {
    /// Until its last command.
    Transaction,
    /// Through the flush of its commit.
    CommitFlush,
}

/// How the time of a flush is known.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlushSource {
    /// The server measured it.
    Server,
    /// It was measured before the run.
    BeforeRun,
}

/// How many transactions share a flush.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlushSharing {
    /// As counted.
    Average,
    /// One, since there were more flushes than transactions.
    One,
    /// One of each client, the most that is possible.
    AllClients,
}

/// Who may use CPUs.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CpuOwner {
    /// Server and pgmeter together.
    Host,
    /// The server.
    Server,
    /// pgmeter.
    Pgmeter,
}
