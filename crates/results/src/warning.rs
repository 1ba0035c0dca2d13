//! The kinds of warnings: each with the numbers and names that its sentence needs. `report` makes the sentences; the
//! rules in `warnings` and the crates that run a load decide which apply. Text from outside is [`SafeText`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::PoolMode;

use crate::{DiskHolds, Drift, EventKind, Lateness, LoadPause, SafeText, SessionFeature};

/// How much a warning matters.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The figures are misleading without it.
    Caution,
    /// The figures are correct, and their scope should be known.
    Note,
}

/// Something to know before relying on the figures of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Warning {
    /// This pgmeter is a debug build.
    DebugBuild,
    /// The server was built with assertions.
    DebugAssertions,
    /// The server does not flush, and a script writes.
    FsyncOff,
    /// The server writes no full-page images, and a script writes.
    FullPageWritesOff,
    /// Commits do not wait for a flush, and a script writes.
    SynchronousCommitOff,
    /// The server's files are in memory, and a script writes.
    MemoryDisk {
        /// Which files.
        holds: DiskHolds,
        /// The file system, such as `tmpfs`.
        file_system: String,
    },
    /// More clients than rows of which each transaction of a script locks one.
    ContendedRows {
        /// Clients.
        clients: u32,
        /// The script's name.
        script: SafeText,
        /// The rows.
        rows: u64,
        /// The scale with a row for each client; `null` if their number does not follow from the scale.
        scale_needed: Option<u32>,
    },
    /// The run reached its steady state only after measuring had begun.
    SettledLate {
        /// When, in seconds since measuring began.
        steady_from_s: f64,
        /// The metrics that drifted before.
        drifts: Vec<Drift>,
    },
    /// The run never reached a steady state.
    NeverSettled {
        /// The metrics that drifted.
        drifts: Vec<Drift>,
    },
    /// No transaction completed for a long time.
    Stalled {
        /// The longest stall.
        longest_s: f64,
        /// Its beginning, in seconds since measuring began.
        start_s: f64,
        /// How many stalls there were.
        stalls: u64,
        /// A stall is longer than this.
        threshold_us: f64,
        /// All of them together.
        total_s: f64,
        /// How they show in the response times.
        effect: StallEffect,
    },
    /// The transactions that did not succeed change a percentile.
    OnlySucceeded {
        /// Failed transactions.
        failed: u64,
        /// Skipped transactions.
        skipped: u64,
        /// Unfinished transactions.
        unfinished: u64,
        /// Transactions with an unknown ending.
        #[serde(default)]
        unknown: u64,
        /// The percentile that they change most, such as `p99`.
        percentile: String,
        /// It, of the succeeded transactions.
        succeeded_us: f64,
        /// It, of all transactions.
        all_us: f64,
    },
    /// CPU time stolen by the hypervisor.
    Stolen {
        /// Of this host's CPU time during the run.
        stolen_share: f64,
    },
    /// Other programs used the CPUs during the run.
    OtherPrograms {
        /// Of this host's CPU time during the run.
        others_share: f64,
    },
    /// This host was busy before the run.
    BusyBefore {
        /// The load average over one minute.
        load_average_1m: f64,
        /// CPUs of this host.
        cpus: u32,
    },
    /// The governor of the CPUs saves power.
    PowerSaving {
        /// The governors in use.
        governor: String,
    },
    /// The clock source is slow to read.
    SlowClock {
        /// It.
        clock_source: String,
    },
    /// pgmeter used much of a host that it shares with the server.
    ClientUsesCpu {
        /// Of this host's CPU time.
        client_share: f64,
    },
    /// Some load generators of a distributed run were its limit.
    RanksClientLimited {
        /// These, in order.
        limited: Vec<LimitedRank>,
        /// Number of load generators.
        ranks: u32,
    },
    /// Client and server share a host.
    SharedHost,
    /// Wait samples show fewer running backends than used CPU time.
    BiasedSamples {
        /// Backends that the samples show running.
        sampled_backends: f64,
        /// Backends that ran, by their CPU time.
        cpu_backends: f64,
    },
    /// The run may have had no checkpoint.
    NoCheckpoint {
        /// Its length, warm-up included.
        run_s: f64,
        /// The setting.
        checkpoint_timeout_s: f64,
    },
    /// Checkpoints or autovacuums during the measured time.
    Maintenance {
        /// Checkpoints.
        checkpoints: u64,
        /// Autovacuums.
        autovacuums: u64,
    },
    /// Of several runs, only some had checkpoints or autovacuums.
    MaintenanceInSome {
        /// Of which of these.
        event: EventKind,
        /// Runs that had one.
        runs_with: u64,
        /// Runs in which one would have been seen.
        runs: u64,
    },
    /// A fact that several runs should have in common and do not.
    FactDiffers {
        /// Which.
        fact: ComparedFact,
    },
    /// Checks of the workload returned rows.
    ChecksFailed {
        /// The workload.
        workload: SafeText,
        /// Those checks.
        checks: Vec<FailedCheck>,
    },
    /// An action of the run failed.
    ActionFailed {
        /// When it should begin, in seconds since measuring began.
        at_s: f64,
        /// What it was.
        action: SafeText,
        /// The error.
        error: SafeText,
    },
    /// An action was still running when the run ended, and was cancelled.
    ActionCutOff {
        /// What it was.
        action: SafeText,
        /// How long it had been running.
        ran_s: f64,
    },
    /// The run ended before the time of an action.
    ActionNotStarted {
        /// When it should begin, in seconds since measuring began.
        at_s: f64,
        /// What it was.
        action: SafeText,
    },
    /// A standby was promoted, and the former primary accepted writes beside it.
    TwoPrimaries {
        /// The standby.
        standby: SafeText,
        /// Since when, in seconds since measuring began.
        from_s: f64,
    },
    /// What actions changed could not be undone after the run.
    NotRestored {
        /// The reason.
        error: SafeText,
    },
    /// Acknowledged transactions are not there any more.
    WorkLost {
        /// Lost commits.
        lost: u64,
        /// Acknowledged commits.
        acknowledged: u64,
    },
    /// Nobody could find out whether acknowledged transactions are there.
    NotVerified {
        /// The error.
        error: SafeText,
    },
    /// The server's settings could not be read.
    SettingsUnread {
        /// The server's error.
        error: SafeText,
    },
    /// More transactions were scheduled and not finished than there are clients.
    RateNotKept {
        /// Those transactions.
        unfinished: u64,
        /// Clients.
        clients: u32,
    },
    /// Statements that were running at the end and could not be cancelled.
    Uncancelled {
        /// How many.
        statements: u64,
    },
    /// pgmeter was stopped and continued (SIGCONT).
    Paused,
    /// The load was paused because of a condition of the server.
    LoadPaused {
        /// Number of pauses.
        pauses: u64,
        /// Their length together, in seconds.
        total_s: f64,
        /// The first pauses, at most three.
        first: Vec<LoadPause>,
    },
    /// Standard error did not take all messages.
    MessagesLost {
        /// Messages and progress lines that were not shown.
        messages: u64,
    },
    /// The CPU time and the lateness of the relay that simulated the network.
    RelayCost {
        /// The delay that was asked for, each way.
        delay_us: f64,
        /// CPU time for each transaction.
        cpu_us_per_transaction: f64,
        /// CPU time in all.
        cpu_s: f64,
        /// Pieces of data that it forwarded.
        pieces: u64,
        /// How late it forwarded them.
        late_us: Lateness,
        /// How long it waited for a CPU.
        cpu_wait_s: f64,
    },
    /// The relay forwarded most data late.
    RelayLate {
        /// The median lateness, each way.
        late_us_p50: f64,
    },
    /// The relay refused connections.
    RelayRefused {
        /// How many.
        connections: u64,
    },
    /// The relay ended before the trial.
    NetworkFailed {
        /// Its error.
        error: SafeText,
    },
    /// The connection goes through a pooler that pgmeter did not start: the backend is another process than the one that
    /// the start of the connection named.
    ForeignPooler,
    /// A comparison that did not end left an index in the database.
    IndexLeft {
        /// Its name, with its schema.
        index: SafeText,
        /// SQL that drops it.
        undo: SafeText,
    },
    /// A script uses something of a session, which the pooler gives to another client after the transaction.
    PoolerBreaks {
        /// When connections return to the pool.
        mode: PoolMode,
        /// What it uses.
        feature: SessionFeature,
        /// The script's name.
        script: SafeText,
        /// The line of the statement.
        line: u32,
    },
    /// The pooler, which has one thread, used most of a CPU.
    PoolerBusy {
        /// Its CPU time ÷ the measured time.
        cpu_share: f64,
    },
}

/// How stalls show in the response times.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StallEffect {
    /// Under a rate the response times include the wait.
    Included,
    /// In a closed loop, percentiles hide it.
    Hidden {
        /// As shown.
        p99_us: f64,
        /// With the transactions that the stalls kept from starting.
        p99_with_stalls_us: f64,
    },
    /// In a closed loop; how long users would have waited is not known.
    Unknown,
}

/// A load generator that was the limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LimitedRank {
    /// Its number.
    pub rank: u32,
    /// The name of its host.
    pub host: SafeText,
}

/// A fact in which runs that are compared should agree.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // the names say it all
pub enum ComparedFact {
    PgmeterBuild,
    PgmeterHost,
    Kernel,
    Governor,
    ServerBuild,
    Fsync,
    Scale,
}

/// A check of a workload that returned rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedCheck {
    /// Its name.
    pub name: SafeText,
    /// Rows that it returned.
    pub rows: u64,
    /// The first of them, shortened.
    pub first_row: SafeText,
}

impl Warning {
    /// How much it matters.
    pub fn severity(&self) -> Severity {
        match self {
            Warning::DebugBuild
            | Warning::DebugAssertions
            | Warning::FsyncOff
            | Warning::FullPageWritesOff
            | Warning::MemoryDisk { .. }
            | Warning::ContendedRows { .. }
            | Warning::SettledLate { .. }
            | Warning::NeverSettled { .. }
            | Warning::Stalled { .. }
            | Warning::OnlySucceeded { .. }
            | Warning::Stolen { .. }
            | Warning::OtherPrograms { .. }
            | Warning::BusyBefore { .. }
            | Warning::PowerSaving { .. }
            | Warning::SlowClock { .. }
            | Warning::ClientUsesCpu { .. }
            | Warning::RanksClientLimited { .. }
            | Warning::BiasedSamples { .. }
            | Warning::MaintenanceInSome { .. }
            | Warning::FactDiffers { .. }
            | Warning::ChecksFailed { .. }
            | Warning::ActionFailed { .. }
            | Warning::ActionCutOff { .. }
            | Warning::ActionNotStarted { .. }
            | Warning::TwoPrimaries { .. }
            | Warning::NotRestored { .. }
            | Warning::WorkLost { .. }
            | Warning::NotVerified { .. }
            | Warning::SettingsUnread { .. }
            | Warning::RateNotKept { .. }
            | Warning::Uncancelled { .. }
            | Warning::Paused
            | Warning::LoadPaused { .. }
            | Warning::MessagesLost { .. }
            | Warning::RelayLate { .. }
            | Warning::RelayRefused { .. }
            | Warning::NetworkFailed { .. }
            | Warning::IndexLeft { .. }
            | Warning::PoolerBreaks { .. }
            | Warning::PoolerBusy { .. } => Severity::Caution,
            Warning::SynchronousCommitOff
            | Warning::SharedHost
            | Warning::NoCheckpoint { .. }
            | Warning::Maintenance { .. }
            | Warning::ForeignPooler
            | Warning::RelayCost { .. } => Severity::Note,
        }
    }
}
