//! Observations of the server and its host in the record: waits, counters, costs, events, ceilings.
//! Plain data, made by `observe` on a separate connection and shown by `report`. `missing` names what could not be
//! observed. Times are seconds since measuring began, as in the intervals; negative times are in the warm-up.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{BlockSources, SafeText, Staleness, StandbyLag};

/// Level of observation (`--observe`).
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ObserveLevel {
    /// None.
    #[default]
    Off,
    /// Counters at start and end and once a second, wait events 20 times a second.
    Light,
    /// Additionally lock queues.
    Full,
}

impl ObserveLevel {
    /// The value of `--observe`.
    pub fn name(self) -> &'static str {
        match self {
            ObserveLevel::Off => "off",
            ObserveLevel::Light => "light",
            ObserveLevel::Full => "full",
        }
    }
}

/// Observations of the server during the measured time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Observation {
    /// Level of observation.
    pub level: ObserveLevel,
    /// What could not be observed, and why; complete.
    pub missing: Vec<Missing>,
    /// Cost of the observation.
    pub cost: ObserverCost,
    /// Wait events of the benchmark's backends; `null` if they could not be observed.
    pub waits: Option<Waits>,
    /// The server's cost per transaction.
    pub per_transaction: PerTransaction,
    /// Memory of the benchmark's backends; absent if it could not be read, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend_memory: Option<BackendMemory>,
    /// Changes of the server's cumulative statistics, by view.
    pub counters: Vec<CounterTable>,
    /// Statements of the scripts as pg_stat_statements counts them.
    pub statements: Vec<StatementCounters>,
    /// Checkpoints, vacuums and lock queues, by start time.
    pub events: Vec<Event>,
    /// The same over time, usually per second.
    pub samples: Vec<ServerSample>,
    /// The server's standbys and their lag over time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub standbys: Vec<StandbyLag>,
    /// What clients saw on standbys; `null` if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staleness: Option<Staleness>,
    /// CPUs available to the server by affinity and CPU quotas, if it is on this host.
    pub server_cpus_allowed: Option<f64>,
    /// Upper bounds of the throughput and the share that the run reached, lowest bound first.
    pub ceilings: Vec<Ceiling>,
}

/// Something that could not be observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Missing {
    /// Name of a view, column or file.
    pub what: String,
    /// The reason and the remedy, in a sentence.
    pub why: SafeText,
}

impl Missing {
    /// Name of the bound by CPU time.
    pub const CPU_CEILING: &'static str = "ceiling cpu";
    /// Name of the further servers of one connection, of which none is observed.
    pub const OTHER_HOSTS: &'static str = "other hosts";

    /// `what`: the name; `why`: the reason.
    pub fn new(what: &str, why: impl Into<SafeText>) -> Missing {
        Missing { what: what.to_owned(), why: why.into() }
    }
}

/// Cost of observing the server.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObserverCost {
    /// Statements sent.
    pub statements: u64,
    /// Share of the measured time in which the observing session waited for responses, from 0 to 1.
    pub busy_share: f64,
    /// CPU time of the observing backend; `null` if the server is on another host.
    pub backend_cpu_s: Option<f64>,
    /// Samples taken late or skipped because the previous response took too long.
    pub samples_missed: u64,
}

/// Wait events of the benchmark's backends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Waits {
    /// Source: `pg_stat_activity` or `pg_wait_sampling`.
    pub source: String,
    /// Samples per second.
    pub rate_hz: f64,
    /// Number of samples.
    pub looks: u64,
    /// Backends, summed over all samples, idle ones included.
    pub backends_seen: u64,
    /// Method of computing shares from samples.
    pub method: WaitMethod,
    /// Mean number of client backends running on a CPU, by their CPU time; `null` if unknown.
    pub running_backends: Option<f64>,
    /// Mean number of client backends waiting for a CPU, by the kernel's run delay; `null` if unknown.
    pub runnable_backends: Option<f64>,
    /// Share of the backends' time that was idle: waiting for a command of pgmeter outside of a transaction.
    pub idle_share: f64,
    /// Its 95 % confidence interval; `null` if the run was too short for one.
    pub idle_interval: Option<ShareInterval>,
    /// Activity of the other backends, in descending order.
    pub top: Vec<WaitShare>,
    /// The same per script, in the plan's order.
    pub scripts: Vec<Vec<WaitShare>>,
}

/// A wait event, or running.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitShare {
    /// Type of the wait event in PostgreSQL's terms, such as `Lock` or `IO`; `CPU` if the backend did not wait.
    pub event_type: String,
    /// The event, such as `transactionid` or `WalSync`, by its name in the newest version; for type `CPU`: `running`, or `runnable` while waiting for a
    /// CPU.
    pub event: String,
    /// Number of samples.
    pub seen: u64,
    /// Share of the time in which backends were not idle, from 0 to 1.
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

/// Method of computing shares of wait events.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitMethod {
    /// Shares of the samples.
    Samples,
    /// Running and runnable come from the kernel's accounting; the samples divide the rest.
    PostStratified,
}

/// The server's cost per transaction that succeeded or failed. It includes the server's other activity in the same
/// time; each is `null` if it could not be observed.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)] // the names say it all
pub struct PerTransaction {
    pub wal_bytes: Option<f64>,
    pub wal_records: Option<f64>,
    pub wal_full_page_images: Option<f64>,
    /// WAL bytes of full-page images; PostgreSQL 19 and newer.
    pub wal_full_page_image_bytes: Option<f64>,
    pub blocks_hit: Option<f64>,
    pub blocks_read: Option<f64>,
    /// Wait of backends for reading blocks, with track_io_timing.
    pub block_read_us: Option<f64>,
    /// Wait of backends for writing blocks, with track_io_timing.
    pub block_write_us: Option<f64>,
    pub blocks_dirtied: Option<f64>,
    pub blocks_written: Option<f64>,
    pub temp_bytes: Option<f64>,
    /// CPU time of the benchmark's backends; absent if it could not be measured, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_us: Option<f64>,
    /// CPU time of the benchmark's backends in user mode.
    pub backend_user_cpu_us: Option<f64>,
    /// CPU time of the benchmark's backends in kernel mode.
    pub backend_system_cpu_us: Option<f64>,
    /// Bytes that the benchmark's backends, and the server's I/O workers, read from the disk, excluding the page cache.
    pub backend_read_bytes: Option<f64>,
    /// The same in blocks of the server. More than `blocks_read` where the kernel read ahead.
    pub disk_blocks_read: Option<f64>,
    /// Bytes that the benchmark's backends caused to be written to the disk.
    pub backend_written_bytes: Option<f64>,
    /// Planning of the scripts' statements, by pg_stat_statements with track_planning; PostgreSQL 13 and newer.
    pub plan_us: Option<f64>,
    /// Execution of the scripts' statements, by pg_stat_statements.
    pub execution_us: Option<f64>,
}

impl PerTransaction {
    /// CPU time of the benchmark's backends. Older records have its parts only.
    pub fn cpu_us(&self) -> Option<f64> {
        self.server_cpu_us.or_else(|| Some(self.backend_user_cpu_us? + self.backend_system_cpu_us?))
    }

    /// Where a transaction's blocks were found; `None` if the disk's part is unknown, or no block was accessed.
    pub fn block_sources(&self) -> Option<BlockSources> {
        BlockSources::new(self.blocks_hit?, self.blocks_read?, self.disk_blocks_read?)
    }
}

/// Memory of the benchmark's backends: the latest reading of each backend that was read.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BackendMemory {
    /// Number of backends read.
    pub backends: u64,
    /// Mean of the private memory of a backend: resident memory that no other process maps, without shared buffers.
    pub private_mean_bytes: f64,
    /// Its maximum.
    pub private_max_bytes: f64,
    /// Mean of the page tables of a backend, including those for shared buffers.
    pub page_tables_mean_bytes: f64,
}

impl BackendMemory {
    /// Mean of private memory and page tables together.
    pub fn mean_bytes(&self) -> f64 {
        self.private_mean_bytes + self.page_tables_mean_bytes
    }

    /// Whether the figures can be those of some backends.
    pub(crate) fn is_consistent(&self) -> bool {
        let BackendMemory { backends, private_mean_bytes, private_max_bytes, page_tables_mean_bytes } = *self;
        backends > 0
            && (0.0..=private_max_bytes).contains(&private_mean_bytes)
            && page_tables_mean_bytes >= 0.0
    }
}

/// Changes of a view of cumulative statistics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CounterTable {
    /// The view, such as `pg_stat_database`.
    pub view: String,
    /// Its rows; unchanged rows are omitted.
    pub rows: Vec<CounterRow>,
}

/// A row of such a view.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CounterRow {
    /// Key of the row: a table, an index, `client backend/relation/normal`; empty if the view has a single row.
    pub key: String,
    /// Change of each column. Columns that end in `_bytes_at_end` are sizes in bytes at the end.
    pub values: BTreeMap<String, f64>,
}

/// A statement, as counted by pg_stat_statements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatementCounters {
    /// Its normalised text, shortened.
    #[serde(deserialize_with = "crate::safe_text::read_sql")]
    pub query: SafeText,
    /// Index of its script in the plan, from 0; `null` if unknown.
    pub script: Option<u32>,
    /// Index of its command in that script, from 0, as in the summary's `commands`.
    pub command: Option<u32>,
    /// Change of each column. Where pg_stat_kcache counts the statement, also `user_cpu_ms`, `system_cpu_ms`,
    /// `disk_read_bytes`, `disk_read_blks`, `disk_written_bytes`, `major_faults`, `voluntary_switches`,
    /// `involuntary_switches`, and those of planning that begin with `plan_`.
    pub values: BTreeMap<String, f64>,
}

impl StatementCounters {
    /// Where the statement's blocks were found; `None` if the disk's part is unknown, or no block was accessed.
    pub fn block_sources(&self) -> Option<BlockSources> {
        let of = |name: &str| self.values.get(name).copied();
        BlockSources::new(of("shared_blks_hit")?, of("shared_blks_read")?, of("disk_read_blks")?)
    }
}

/// An event on the server, at a moment or over a period.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Kind of event.
    pub kind: EventKind,
    /// Start, or first observation.
    pub start_s: f64,
    /// End; `null` if the event continued at the end of the run.
    pub end_s: Option<f64>,
    /// Short description: `timed, 1,234 buffers written`; `pgbench_accounts`; `17 backends behind …`.
    pub detail: SafeText,
}

/// Kinds of events.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A checkpoint.
    Checkpoint,
    /// Autovacuum of a table used by the load.
    Autovacuum,
    /// Many backends waiting for one lock.
    LockQueue,
}

/// Observations of one period.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerSample {
    /// Start of the period.
    pub start_s: f64,
    /// End of the period.
    pub end_s: f64,
    /// Samples of the backends in it.
    pub looks: u32,
    /// Mean number of idle backends.
    pub idle: f64,
    /// Mean number of backends by activity; `event_type` and `event` as in `waits.top`.
    pub waits: Vec<WaitMean>,
    /// Changes of counters and values of gauges: `wal_bytes`, `wal_full_page_images`, `wal_full_page_image_bytes`,
    /// `blocks_hit`, `blocks_read`, `block_read_time_ms`, `block_write_time_ms`, `blocks_written`, `temp_bytes`,
    /// `commits`, `rollbacks`, `backend_user_cpu_s`, `backend_system_cpu_s`, `backend_read_bytes`, `host_busy_share`,
    /// `host_iowait_share`, `host_steal_share`; absent if not observed.
    pub values: BTreeMap<String, f64>,
}

/// Mean number of backends in a wait event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)] // as in `WaitShare`
pub struct WaitMean {
    pub event_type: String,
    pub event: String,
    /// Mean number of backends.
    pub backends: f64,
}

/// A first-order upper bound of the throughput.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    /// The bounding resource, with the inputs of the formula.
    pub basis: CeilingBasis,
    /// The bound, in transactions per second.
    pub tps: f64,
    /// The run's throughput as a share of the bound. It exceeds 1 by 0.1 at most.
    pub reached_share: f64,
}

impl Ceiling {
    /// Maximum excess over a ceiling, as a share of it: the measured times in a ceiling have errors of a few percent. A
    /// greater excess is a defect of the formula.
    pub const ERROR: f64 = 0.1;

    /// Whether the run exceeded the ceiling by more than its error.
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
        /// Number of these rows.
        rows: f64,
        /// Time for which a transaction locks one.
        locked_us: f64,
        /// Time of the lock's release.
        until: LockEnd,
    },
    /// Flushes of WAL.
    Flush {
        /// Duration of a flush.
        flush_us: f64,
        /// Source of this duration.
        source: FlushSource,
        /// Transactions per flush.
        transactions_per_flush: f64,
        /// Source of this number.
        sharing: FlushSharing,
    },
    /// Flushes of WAL that the server did not time.
    FlushWaits {
        /// Least share of the time in which WAL was flushed, by the wait events of the backends.
        busy_share: f64,
    },
    /// Round trips over a network.
    RoundTrips {
        /// Clients.
        clients: f64,
        /// Round trips per transaction.
        round_trips_per_transaction: f64,
        /// Minimum duration of one.
        round_trip_us: f64,
    },
    /// Round trips through a network or a proxy whose delay follows from the idle time of the backends.
    OnTheWay {
        /// Clients.
        clients: f64,
        /// Round trips per transaction.
        round_trips_per_transaction: f64,
        /// Mean part of a round trip that neither pgmeter nor a backend took.
        way_us: f64,
    },
    /// Reads of tables and indexes into shared buffers.
    Reads {
        /// Clients.
        clients: f64,
        /// Time in which a transaction waits for reads.
        read_us: f64,
        /// Blocks read per transaction; `null` if unknown.
        blocks_per_transaction: Option<f64>,
        /// Source of the time.
        source: ReadSource,
    },
    /// CPU time.
    Cpu {
        /// CPUs.
        cpus: f64,
        /// User of these CPUs.
        of: CpuOwner,
        /// CPU time of the backends per transaction.
        server_us: f64,
        /// CPU time of pgmeter per transaction.
        pgmeter_us: f64,
        /// CPU time per transaction of the pooler that pgmeter started; absent without one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pooler_us: Option<f64>,
    },
}

impl CeilingBasis {
    /// The name in the record.
    pub fn name(&self) -> &'static str {
        match self {
            CeilingBasis::HottestRow { .. } => "hottest_row",
            CeilingBasis::Flush { .. } => "flush",
            CeilingBasis::FlushWaits { .. } => "flush_waits",
            CeilingBasis::RoundTrips { .. } => "round_trips",
            CeilingBasis::OnTheWay { .. } => "on_the_way",
            CeilingBasis::Reads { .. } => "reads",
            CeilingBasis::Cpu { .. } => "cpu",
        }
    }
}

/// When a transaction releases a row lock.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LockEnd {
    /// After its last command.
    Transaction,
    /// After the WAL flush of its commit.
    CommitFlush,
}

/// Source of the duration of a flush.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlushSource {
    /// Measured by the server.
    Server,
    /// Measured before the run.
    BeforeRun,
}

/// Source of the time in which a transaction waits for reads.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReadSource {
    /// Measured by the server (`track_io_timing`).
    Server,
    /// The share of the backends' time in wait events of reads.
    Waits,
}

/// Number of transactions that share a flush.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlushSharing {
    /// The measured average.
    Average,
    /// One, because there were more flushes than transactions.
    One,
    /// One transaction of each client, the maximum.
    AllClients,
}

/// Users of CPUs.
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
