//! The table of metrics: what each measures, its name, unit and definition, where a record has it, and what shows it. All
//! formats, experiments and comparisons take their figures from here. To add a metric is to add a row.

use results::{
    BackendMemory, BlockSources, Counts, Lag, Latency, PerTransaction, Plan, PoolerFigures, Record,
    StandbyFigures, StoredRun, Summary, TrafficPerTransaction, Verification,
};

use crate::figures::{
    TIE, as_asked, asked_bytes, asked_latency, asked_seconds, bytes, latency, measured_seconds, number,
    percent, rate,
};

/// A figure of a run.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Metric {
    Duration,
    Tps,
    Operations,
    Tail,
    Mean,
    Stddev,
    Min,
    P50,
    P90,
    P95,
    P99,
    P999,
    Max,
    Cycle,
    StartDelayMean,
    StartDelayMax,
    Scheduled,
    Succeeded,
    Failed,
    Skipped,
    Unfinished,
    Unknown,
    Reserved,
    Late,
    LateOrSkipped,
    Retried,
    Retries,
    FailedShare,
    Stalls,
    Stalled,
    LostConnections,
    WriteOutage,
    Recovery,
    RenewedSessions,
    ConnectingP99,
    ReconnectStorm,
    ClientCpu,
    RoundTrips,
    SentBytes,
    ReceivedBytes,
    PoolerCpu,
    PoolerCpuShare,
    PoolerWait,
    ServerCpu,
    WalBytes,
    WalRecords,
    FullPageImages,
    FullPageImageBytes,
    BlocksHit,
    BlocksRead,
    BlockReadTime,
    DiskBlocksRead,
    SharedBuffersShare,
    SystemCacheShare,
    DiskShare,
    BlocksDirtied,
    BlocksWritten,
    BlockWriteTime,
    TempBytes,
    ServerUserCpu,
    ServerSystemCpu,
    ReadBytes,
    WrittenBytes,
    PlanTime,
    ExecutionTime,
    BackendMemory,
    AcknowledgedCommits,
    LostCommits,
    UnknownApplied,
    UnknownAbsent,
    PhantomCommits,
    DoubledTransactions,
    ReplayLagMean,
    ReplayLagMax,
    ReplayLagBytes,
    StaleReads,
    StalenessP99,
}

/// Where a metric is found.
#[derive(Copy, Clone)]
pub(crate) enum Source {
    /// A run as a whole.
    Run(fn(&Measured<'_>) -> Option<f64>),
    /// Transactions of a kind; of a run as a whole, those of all scripts.
    Transactions(fn(&Counts) -> u64),
    /// A distribution of times, in microseconds; of a run as a whole, the response times of all transactions that were
    /// due.
    Latency(fn(&Latency) -> f64),
    /// The mean of a transaction on the server.
    PerTransaction(fn(&PerTransaction) -> Option<f64>),
    /// The steps of a trial; runs do not have it.
    Steps,
}

/// A row of the table.
pub(crate) struct MetricRow {
    pub(crate) metric: Metric,
    /// In CSV and JSON, where something else says that it is of a latency or of one transaction.
    pub(crate) name: &'static str,
    /// In CSV and JSON, where nothing else says that.
    pub(crate) column: &'static str,
    /// In the files of experiments, if they can name it.
    pub(crate) key: Option<&'static str>,
    /// Beside figures that are all of a latency or of one transaction.
    pub(crate) label: &'static str,
    /// In sentences.
    pub(crate) title: &'static str,
    /// Above the columns of narrow tables.
    pub(crate) short: &'static str,
    pub(crate) quantity: Quantity,
    pub(crate) definition: &'static str,
    pub(crate) source: Source,
}

/// What a record and a run of an experiment have in common.
#[derive(Copy, Clone)]
pub(crate) struct Measured<'a> {
    pub(crate) summary: Option<&'a Summary>,
    pub(crate) clients: Option<u32>,
    /// Whether transactions were due at certain times.
    pub(crate) has_rate: bool,
    pub(crate) costs: Option<&'a PerTransaction>,
    /// What became of the commits; nothing of a run that was not verified, and of stored runs.
    pub(crate) verification: Option<&'a Verification>,
    pub(crate) backend_memory: Option<BackendMemory>,
    /// Of the server's standbys.
    pub(crate) standbys: Option<StandbyFigures>,
}

impl<'a> From<&'a Record> for Measured<'a> {
    fn from(record: &'a Record) -> Measured<'a> {
        Measured {
            summary: Some(&record.summary),
            clients: Some(record.plan.working_clients()),
            has_rate: record.plan.rate_tps.is_some(),
            costs: record.observation.as_ref().map(|observation| &observation.per_transaction),
            verification: record.verification.as_ref(),
            backend_memory: record.observation.as_ref().and_then(|observation| observation.backend_memory),
            standbys: record.observation.as_ref().map(StandbyFigures::of),
        }
    }
}

impl<'a> From<&'a StoredRun> for Measured<'a> {
    fn from(run: &'a StoredRun) -> Measured<'a> {
        Measured {
            summary: run.summary.as_ref(),
            clients: run.plan.as_ref().map(Plan::working_clients),
            has_rate: run.plan.as_ref().is_some_and(|plan| plan.rate_tps.is_some()),
            costs: Some(&run.costs),
            verification: None,
            backend_memory: run.backend_memory,
            standbys: Some(run.standbys),
        }
    }
}

impl Measured<'_> {
    fn counts(&self) -> Option<&Counts> {
        Some(&self.summary?.counts)
    }

    fn traffic(&self) -> Option<TrafficPerTransaction> {
        self.summary?.traffic_per_transaction
    }

    fn pooler(&self) -> Option<&PoolerFigures> {
        self.summary?.pooler.as_ref()?.figures.as_ref()
    }

    fn start_delay(&self) -> Option<Lag> {
        self.summary?.lag_us.filter(|_| self.has_rate)
    }

    /// A count of commits, and nothing of a run that was not verified.
    fn commits(&self, of: fn(&Verification) -> u64) -> Option<f64> {
        self.verification.map(|found| of(found) as f64)
    }
}

const MICROSECONDS_PER_SECOND: f64 = 1e6;

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The blocks of one source as a share of all blocks of a transaction.
fn share_of_blocks(costs: &PerTransaction, of: fn(&BlockSources) -> f64) -> Option<f64> {
    let found = costs.block_sources()?;
    Some(found.share(of(&found)))
}

const fn row(
    metric: Metric,
    name: &'static str,
    title: &'static str,
    quantity: Quantity,
    definition: &'static str,
    source: Source,
) -> MetricRow {
    MetricRow {
        metric,
        name,
        column: name,
        key: None,
        label: title,
        title,
        short: title,
        quantity,
        definition,
        source,
    }
}

impl MetricRow {
    const fn short(self, short: &'static str) -> MetricRow {
        MetricRow { short, ..self }
    }

    const fn key(self, key: &'static str) -> MetricRow {
        MetricRow { key: Some(key), ..self }
    }
}

/// A figure of the response times.
macro_rules! latency {
    ($metric:expr, $name:literal, $label:literal, $title:literal, $definition:literal, $of:expr) => {
        MetricRow {
            column: concat!("response_", $name, "_us"),
            label: $label,
            short: $label,
            ..row($metric, $name, $title, Quantity::Microseconds, $definition, Source::Latency($of))
        }
    };
}

/// A mean of a transaction on the server.
macro_rules! cost {
    ($metric:expr, $name:literal, $label:literal, $quantity:expr, $definition:literal, $of:expr) => {
        MetricRow {
            column: concat!($name, "_per_transaction"),
            label: $label,
            title: concat!($label, " per transaction"),
            short: concat!($label, "/tx"),
            ..row($metric, $name, $label, $quantity, $definition, Source::PerTransaction($of))
        }
    };
}

/// All of them, each at the place of its number, in the order in which they are shown.
pub(crate) const METRICS: [MetricRow; 77] = {
    use Quantity::{Bytes, Count, Microseconds, Number, PerSecond, Seconds, Share};
    use Source::{Run, Steps, Transactions};
    [
        row(Metric::Duration, "duration_us", "duration", Microseconds, "the duration of all timed steps", Steps)
            .key("duration"),
        row(Metric::Tps, "tps", "throughput", PerSecond, "succeeded transactions per second of the measured time; one that began before it or ended after it counts with the part of its service time within", {
            Run(|run| Some(run.summary?.tps))
        })
        .short("tps")
        .key("tps"),
        row(Metric::Operations, "operations_per_s", "operations", PerSecond, "throughput × operations of a transaction; the same as tps if a transaction is one operation", Run(|run| Some(run.summary?.tps)))
        .short("operations/s")
        .key("operations"),
        row(Metric::Tail, "tail_s", "tail", Seconds, "time from the planned end of the measured time until the last transaction ended", Run(|run| Some(run.summary?.tail_s))),
        latency!(Metric::Mean, "mean", "mean", "mean latency", "the arithmetic mean", |us| us.mean).key("mean"),
        latency!(Metric::Stddev, "stddev", "stddev", "standard deviation of the latency", "the standard deviation", |us| us.stddev)
        .key("stddev"),
        latency!(Metric::Min, "min", "min", "shortest latency", "the shortest of the succeeded transactions", |us| us.min),
        latency!(Metric::P50, "p50", "p50", "median latency", "the median", |us| us.p50).key("p50"),
        latency!(Metric::P90, "p90", "p90", "p90 of the latency", "the 90th percentile", |us| us.p90).key("p90"),
        latency!(Metric::P95, "p95", "p95", "p95 of the latency", "the 95th percentile", |us| us.p95).key("p95"),
        latency!(Metric::P99, "p99", "p99", "p99 of the latency", "the 99th percentile", |us| us.p99).key("p99"),
        latency!(Metric::P999, "p999", "p99.9", "p99.9 of the latency", "the 99.9th percentile", |us| us.p999)
            .key("p999"),
        latency!(Metric::Max, "max", "max", "longest latency", "the longest", |us| us.max).key("max"),
        row(Metric::Cycle, "cycle_us", "time from one transaction to the next", Microseconds, "mean time from the start of a client's transaction to the start of its next one: clients ÷ ended \
             transactions per second", {
            // Little's law: A proof for the queuing formula L = λW, Operations Research 9, 1961.
            Run(|run| {
                let Counts { succeeded, failed, .. } = *run.counts()?;
                // One that fails takes a client its time too.
                let ended_per_s = run.summary?.tps / (1.0 - share(failed, succeeded.saturating_add(failed))?);
                Some(f64::from(run.clients?) / ended_per_s * MICROSECONDS_PER_SECOND)
            })
        })
        .short("cycle")
        .key("cycle"),
        row(Metric::StartDelayMean, "start_delay_mean_us", "mean start delay", Microseconds, "mean time from when a succeeded transaction was due to its start, under a rate", Run(|run| Some(run.start_delay()?.mean))),
        row(Metric::StartDelayMax, "start_delay_max_us", "longest start delay", Microseconds, "longest time from when a succeeded transaction was due to its start, under a rate", Run(|run| Some(run.start_delay()?.max))),
        row(Metric::Scheduled, "scheduled", "scheduled", Count, "transactions that were due in the measured time: succeeded + failed + skipped + unfinished + unknown", Transactions(|counts| counts.scheduled)),
        row(Metric::Succeeded, "succeeded", "succeeded", Count, "transactions that succeeded", Transactions(|counts| counts.succeeded)),
        row(Metric::Failed, "failed", "failed", Count, "transactions that failed", Transactions(|counts| counts.failed)),
        row(Metric::Skipped, "skipped", "skipped as too late to start", Count, "transactions that were not started because they exceeded the latency limit already, or because the load was paused", Transactions(|counts| counts.skipped))
        .short("skipped"),
        row(Metric::Unfinished, "unfinished", "unfinished at the end", Count, "transactions that were running when the run or their client ended, or that no client had started by then", Transactions(|counts| counts.unfinished))
        .short("unfinished"),
        row(Metric::Unknown, "unknown", "unknown ending", Count, "transactions whose connection was lost after COMMIT was sent: applied or not", Transactions(|counts| counts.unknown))
        .short("unknown"),
        row(Metric::Reserved, "reserved", "perhaps not replicated", Count, "succeeded transactions that the server acknowledged with the warning that they might not have been replicated", Transactions(|counts| counts.reserved))
        .short("reserved"),
        row(Metric::Late, "late", "late", Count, "succeeded transactions that exceeded the latency limit", Transactions(|counts| counts.late)),
        row(Metric::LateOrSkipped, "late_or_skipped_share", "late or skipped", Share, "(late + skipped) ÷ scheduled", Run(|run| run.summary?.late_or_skipped_share))
        .key("late"),
        row(Metric::Retried, "retried", "tried again", Count, "transactions that were tried more than once", Transactions(|counts| counts.retried)),
        row(Metric::Retries, "retries", "retries", Count, "tries after the first, of all transactions", Transactions(|counts| counts.retries)),
        row(Metric::FailedShare, "failed_share", "failed", Share, "failed ÷ scheduled", {
            Run(|run| run.counts().and_then(|counts| share(counts.failed, counts.scheduled)))
        })
        .key("failed"),
        row(Metric::Stalls, "stalls", "stalls", Count, "periods without a completed transaction", {
            Run(|run| Some(run.summary?.stalls.as_ref()?.count as f64))
        }),
        row(Metric::Stalled, "stalled_s", "stalled", Seconds, "the duration of all stalls", {
            Run(|run| Some(run.summary?.stalls.as_ref()?.total_s))
        }),
        row(Metric::LostConnections, "lost_connections", "lost connections", Count, "connections that clients lost, with --on-disconnect reconnect", {
            Run(|run| Some(run.summary?.outages.as_ref()?.losses as f64))
        }),
        row(Metric::WriteOutage, "write_outage_s", "time without a write", Seconds, "the longest time without a successful write of any client in an outage; without scripts that write, without a success", Run(|run| Some(run.summary?.outages.as_ref()?.longest_window_s())))
        .key("write_outage"),
        row(Metric::Recovery, "recovery_s", "time to recover", Seconds, "time from the last write before that outage until two seconds with 90 % of the former rate", Run(|run| run.summary?.outages.as_ref()?.recovery_s()))
        .key("recovery"),
        row(Metric::RenewedSessions, "renewed_sessions", "renewed sessions", Count, "sessions that ended in the measured time, by their lifetime or in a storm, and were made anew", Run(|run| Some(run.summary?.population.as_ref()?.renewed_sessions as f64)))
        .key("renewed_sessions"),
        row(Metric::ConnectingP99, "connecting_p99_us", "connecting p99", Microseconds, "99th percentile of the time from the end of such a session until its client was connected again", Run(|run| Some(run.summary?.population.as_ref()?.connecting_us?.p99)))
        .key("connecting_p99"),
        row(Metric::ReconnectStorm, "reconnect_storm_s", "reconnect storm", Seconds, "time from the begin of the longest storm until its last client was connected again", Run(|run| run.summary?.population.as_ref()?.longest_storm_s()))
        .key("reconnect_storm"),
        row(Metric::ClientCpu, "client_cpu_us_per_transaction", "client CPU per transaction", Microseconds, "CPU time of pgmeter's workers ÷ (succeeded + failed)", Run(|run| run.summary?.client_cpu_us_per_transaction))
        .short("client CPU/tx")
        .key("client_cpu"),
        row(Metric::RoundTrips, "round_trips_per_transaction", "round trips per transaction", Number, "waits for replies of the server ÷ (succeeded + failed); a pipeline waits once", Run(|run| run.traffic().map(|traffic| traffic.round_trips)))
        .short("round trips/tx")
        .key("round_trips"),
        row(Metric::SentBytes, "sent_bytes_per_transaction", "sent per transaction", Bytes, "bytes of PostgreSQL's protocol from the client ÷ (succeeded + failed), without connecting, TLS and TCP", Run(|run| run.traffic().map(|traffic| traffic.sent_bytes)))
        .short("sent/tx")
        .key("sent_bytes"),
        row(Metric::ReceivedBytes, "received_bytes_per_transaction", "received per transaction", Bytes, "bytes of PostgreSQL's protocol from the server ÷ (succeeded + failed), without connecting, TLS and TCP", Run(|run| run.traffic().map(|traffic| traffic.received_bytes)))
        .short("received/tx")
        .key("received_bytes"),
        row(Metric::PoolerCpu, "pooler_cpu_us_per_transaction", "pooler CPU per transaction", Microseconds, "CPU time of the pooler that pgmeter started ÷ (succeeded + failed)", Run(|run| run.pooler()?.cpu_us_per_transaction))
        .short("pooler CPU/tx")
        .key("pooler_cpu"),
        row(Metric::PoolerCpuShare, "pooler_cpu_share", "CPU share of the pooler", Share, "CPU time of the pooler ÷ measured time; PgBouncer has one thread, so 1 is its limit", Run(|run| run.pooler()?.cpu_share))
        .short("pooler CPU")
        .key("pooler_cpu_share"),
        row(Metric::PoolerWait, "pooler_wait_us_per_transaction", "wait for a connection per transaction", Microseconds, "time that clients of the pooler waited for a connection to the server ÷ transactions, as the pooler counts both", Run(|run| run.pooler()?.wait_us_per_transaction))
        .short("pooler wait/tx")
        .key("pooler_wait"),
        cost!(Metric::ServerCpu, "server_cpu_us", "server CPU", Microseconds, "CPU time of the load's backends, user and system", |costs| costs.cpu_us())
        .key("server_cpu"),
        cost!(Metric::WalBytes, "wal_bytes", "WAL", Bytes, "WAL written by the server", |costs| costs.wal_bytes)
            .key("wal_bytes"),
        cost!(Metric::WalRecords, "wal_records", "WAL records", Number, "WAL records", |costs| costs.wal_records),
        cost!(Metric::FullPageImages, "wal_full_page_images", "full-page images", Number, "full-page images in the WAL", |costs| costs.wal_full_page_images)
        .short("full pages/tx"),
        cost!(Metric::FullPageImageBytes, "wal_full_page_image_bytes", "WAL of full-page images", Bytes, "WAL taken by full-page images; PostgreSQL 19 and newer", |costs| costs.wal_full_page_image_bytes),
        cost!(Metric::BlocksHit, "blocks_hit", "shared buffers hit", Number, "blocks found in shared buffers", |costs| costs.blocks_hit),
        cost!(Metric::BlocksRead, "blocks_read", "blocks read", Number, "blocks read from the operating system, which may have them in its cache", |costs| costs.blocks_read),
        cost!(Metric::BlockReadTime, "block_read_us", "time reading blocks", Microseconds, "time for reading these blocks, with track_io_timing", |costs| costs.block_read_us),
        cost!(Metric::DiskBlocksRead, "disk_blocks_read", "blocks delivered by disks", Number, "bytes read from disk in blocks of the server; more than the blocks read where the kernel read ahead", |costs| costs.disk_blocks_read),
        row(Metric::SharedBuffersShare, "shared_buffers_share", "blocks from shared buffers", Share, "blocks found in shared buffers ÷ (blocks found there + blocks read)", Source::PerTransaction(|costs| share_of_blocks(costs, |found| found.shared_buffers)))
        .key("shared_buffers_share"),
        row(Metric::SystemCacheShare, "system_cache_share", "blocks from the system cache", Share, "blocks read that did not come from disk ÷ (blocks found in shared buffers + blocks read)", Source::PerTransaction(|costs| share_of_blocks(costs, |found| found.system_cache)))
        .key("system_cache_share"),
        row(Metric::DiskShare, "disk_share", "blocks from disk", Share, "bytes read from disk in blocks, at most the blocks read ÷ (blocks found in shared buffers + blocks read)", Source::PerTransaction(|costs| share_of_blocks(costs, |found| found.disk)))
        .key("disk_share"),
        cost!(Metric::BlocksDirtied, "blocks_dirtied", "blocks dirtied", Number, "blocks that were clean and were changed", |costs| costs.blocks_dirtied),
        cost!(Metric::BlocksWritten, "blocks_written", "blocks written", Number, "blocks of tables and indexes that any process of the server wrote", |costs| costs.blocks_written),
        cost!(Metric::BlockWriteTime, "block_write_us", "time writing blocks", Microseconds, "time for writing these blocks, with track_io_timing", |costs| costs.block_write_us),
        cost!(Metric::TempBytes, "temp_bytes", "temporary files", Bytes, "bytes written to temporary files", |costs| costs.temp_bytes),
        cost!(Metric::ServerUserCpu, "backend_user_cpu_us", "server CPU, user", Microseconds, "CPU time of the load's backends in user mode", |costs| costs.backend_user_cpu_us)
        .key("server_user_cpu"),
        cost!(Metric::ServerSystemCpu, "backend_system_cpu_us", "server CPU, system", Microseconds, "CPU time of the load's backends in the kernel", |costs| costs.backend_system_cpu_us)
        .key("server_system_cpu"),
        cost!(Metric::ReadBytes, "backend_read_bytes", "read from disk", Bytes, "bytes that the load's backends and the server's I/O workers read from disks, counted by the kernel", |costs| costs.backend_read_bytes),
        cost!(Metric::WrittenBytes, "backend_written_bytes", "dirtied by backends, counted by the kernel", Bytes, "bytes that the load's backends made the kernel write, counted when they dirtied them", |costs| costs.backend_written_bytes),
        cost!(Metric::PlanTime, "plan_us", "planning", Microseconds, "time for planning the scripts' statements, by pg_stat_statements with track_planning; PostgreSQL 13 and newer", |costs| costs.plan_us)
            .key("plan_time"),
        cost!(Metric::ExecutionTime, "execution_us", "execution", Microseconds, "time for executing the scripts' statements, by pg_stat_statements", |costs| costs.execution_us)
            .key("execution_time"),
        row(Metric::BackendMemory, "backend_memory_bytes", "backend memory", Bytes, "mean of the private memory and the page tables of a backend of the load, without shared buffers", Run(|run| Some(run.backend_memory?.mean_bytes())))
        .key("backend_memory"),
        row(Metric::AcknowledgedCommits, "acknowledged_commits", "acknowledged commits", Count, "with --verify: commits that the server confirmed without reservation, each try, the warm-up's included", Run(|run| run.commits(|found| found.acknowledged))),
        row(Metric::LostCommits, "lost_commits", "lost commits", Count, "with --verify: acknowledged commits that are not there", Run(|run| run.commits(|found| found.lost))),
        row(Metric::UnknownApplied, "unknown_applied_commits", "unknown and applied", Count, "with --verify: commits without an outcome that are there", Run(|run| run.commits(|found| found.unknown_applied))),
        row(Metric::UnknownAbsent, "unknown_absent_commits", "unknown and absent", Count, "with --verify: commits without an outcome that are not there", Run(|run| run.commits(|found| found.unknown_absent))),
        row(Metric::PhantomCommits, "phantom_commits", "phantom commits", Count, "with --verify: commits that were refused or never sent, and are there", Run(|run| run.commits(|found| found.phantom))),
        row(Metric::DoubledTransactions, "doubled_transactions", "doubled transactions", Count, "with --verify: transactions of which several tries are there", Run(|run| run.commits(|found| found.doubled))),
        row(Metric::ReplayLagMean, "replay_lag_mean_us", "mean replay lag", Microseconds, "mean over the measured time of the time until a standby has replayed recent WAL, from `replay_lag` of pg_stat_replication once a second; of the standby with the largest; PostgreSQL 10 and newer", Run(|run| run.standbys?.replay_mean_us))
        .short("replay lag")
        .key("replay_lag"),
        row(Metric::ReplayLagMax, "replay_lag_max_us", "longest replay lag", Microseconds, "the longest of these times, of all standbys", Run(|run| run.standbys?.replay_max_us))
        .key("replay_lag_max"),
        row(Metric::ReplayLagBytes, "replay_lag_max_bytes", "largest replay lag in WAL", Bytes, "the most WAL that a standby had not replayed, from pg_stat_replication once a second", Run(|run| run.standbys?.replay_max_bytes))
        .key("replay_lag_bytes"),
        row(Metric::StaleReads, "stale_read_share", "stale reads from standbys", Share, "reads of the probe `staleness` that missed a commit acknowledged before they were sent ÷ its reads; of the session with the largest share", Run(|run| run.standbys?.stale_read_share))
        .short("stale reads")
        .key("stale_reads"),
        row(Metric::StalenessP99, "staleness_p99_us", "p99 of the staleness of standbys", Microseconds, "99th percentile of the age of the oldest acknowledged commit that a read of this probe missed, 0 if it missed none; of the session with the largest", Run(|run| run.standbys?.staleness_p99_us))
        .short("staleness p99")
        .key("staleness"),
    ]
};

impl Metric {
    /// What every form of a run shows behind the throughput; the mean and the deviation stand beneath.
    pub(crate) const FIRST_LATENCIES: [Metric; 5] = [Self::P50, Self::P90, Self::P99, Self::P999, Self::Max];
    pub(crate) fn all() -> impl Iterator<Item = Metric> {
        METRICS.iter().map(|row| row.metric)
    }

    /// Those that experiments show: all that their files can name.
    pub(crate) fn of_experiments() -> impl Iterator<Item = Metric> {
        METRICS.iter().filter(|row| row.key.is_some()).map(|row| row.metric)
    }

    /// Those of a distribution of times.
    pub(crate) fn of_latency() -> impl Iterator<Item = (&'static MetricRow, fn(&Latency) -> f64)> {
        METRICS.iter().filter_map(|row| match row.source {
            Source::Latency(of) => Some((row, of)),
            Source::Run(_) | Source::Transactions(_) | Source::PerTransaction(_) | Source::Steps => None,
        })
    }

    /// Those that count transactions.
    pub(crate) fn of_counts() -> impl Iterator<Item = (&'static MetricRow, fn(&Counts) -> u64)> {
        METRICS.iter().filter_map(|row| match row.source {
            Source::Transactions(of) => Some((row, of)),
            Source::Run(_) | Source::Latency(_) | Source::PerTransaction(_) | Source::Steps => None,
        })
    }

    /// Those of a run as a whole that are not of its files' making.
    pub(crate) fn of_run() -> impl Iterator<Item = &'static MetricRow> {
        let is_of_run = |row: &&MetricRow| matches!(row.source, Source::Run(_) | Source::Transactions(_));
        METRICS.iter().filter(is_of_run).filter(|row| row.metric != Metric::Operations)
    }

    /// Those that are means of a transaction on the server.
    pub(crate) fn of_transaction() -> impl Iterator<Item = &'static MetricRow> {
        METRICS.iter().filter(|row| row.metric.is_of_transaction())
    }

    /// By the name that files of experiments use.
    pub(crate) fn named(key: &str) -> Option<Metric> {
        METRICS.iter().find(|row| row.key == Some(key)).map(|row| row.metric)
    }

    // Each has its row in the place of its number; a test sees to it.
    pub(crate) fn row(self) -> &'static MetricRow {
        &METRICS[self as usize]
    }

    pub(crate) fn column(self) -> &'static str {
        self.row().column
    }

    pub(crate) fn title(self) -> &'static str {
        self.row().title
    }

    /// Whether it is a mean of a transaction on the server.
    pub(crate) fn is_of_transaction(self) -> bool {
        matches!(self.row().source, Source::PerTransaction(_))
    }

    pub(crate) fn quantity(self) -> Quantity {
        self.row().quantity
    }

    /// The figure; nothing if it is not known or not finite.
    pub(crate) fn of<'a>(self, run: impl Into<Measured<'a>>) -> Option<f64> {
        let run: Measured<'a> = run.into();
        let figure = match self.row().source {
            Source::Run(of) => of(&run),
            Source::Transactions(of) => run.counts().map(|counts| of(counts) as f64),
            Source::Latency(of) => run.summary?.response_of_all_us().as_ref().map(of),
            Source::PerTransaction(of) => of(run.costs?),
            Source::Steps => None,
        };
        figure.filter(|figure| figure.is_finite())
    }

    /// Of a distribution of times; nothing of a metric that is none.
    pub(crate) fn of_times(self, times: &Latency) -> Option<f64> {
        match self.row().source {
            Source::Latency(of) => Some(of(times)),
            Source::Run(_) | Source::Transactions(_) | Source::PerTransaction(_) | Source::Steps => None,
        }
    }

    /// The figure as every format but CSV and JSON shows it.
    pub(crate) fn shown<'a>(self, run: impl Into<Measured<'a>>) -> Option<String> {
        Some(self.quantity().shown(self.of(run)?))
    }
}

/// The table for the manual, in Markdown.
pub fn metrics_reference() -> String {
    let mut out = "| CSV and JSON | in experiments | unit | definition |\n|---|---|---|---|\n".to_owned();
    for MetricRow { name, column, key, quantity, definition, source, .. } in &METRICS {
        let name = match source {
            Source::Latency(_) => format!("`response_{name}_us`"),
            _ if name == column => format!("`{name}`"),
            Source::PerTransaction(_) | Source::Run(_) | Source::Transactions(_) | Source::Steps => {
                format!("`{name}`, `{column}`")
            }
        };
        let key = key.map(|key| format!("`{key}`")).unwrap_or_default();
        out += &format!("| {name} | {key} | {} | {definition} |\n", quantity.unit());
    }
    out
}

/// What a figure is a number of.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    PerSecond,
    Microseconds,
    Seconds,
    Share,
    Bytes,
    /// A mean of counts, or another number without a unit.
    Number,
    /// A whole number.
    Count,
    /// 1 ÷ (1 − p), along which percentile plots are logarithmic: 2 is the median, 100 is p99.
    Percentile,
}

impl Quantity {
    /// With its unit: `6.48 ms`, `1.21 kB`, `0.3 %`.
    pub(crate) fn shown(self, figure: f64) -> String {
        match self {
            Quantity::PerSecond => rate(figure),
            Quantity::Microseconds => latency(figure),
            Quantity::Seconds => measured_seconds(figure),
            Quantity::Share => percent(figure, 1.0),
            Quantity::Bytes => bytes(figure),
            Quantity::Number => number(figure),
            Quantity::Count => as_asked(figure),
            Quantity::Percentile => percentile(figure),
        }
    }

    /// As an axis has it: without digits that say nothing.
    pub(crate) fn tick(self, figure: f64) -> String {
        match self {
            Quantity::PerSecond | Quantity::Count => as_asked(figure),
            Quantity::Microseconds => asked_latency(figure),
            Quantity::Seconds => asked_seconds(figure),
            Quantity::Share => percent(figure, 1.0),
            Quantity::Bytes => asked_bytes(figure),
            Quantity::Number => without_zeros(&number(figure)),
            Quantity::Percentile => percentile(figure),
        }
    }

    /// In CSV and JSON.
    fn unit(self) -> &'static str {
        match self {
            Quantity::PerSecond => "per second",
            Quantity::Microseconds => "µs",
            Quantity::Seconds => "s",
            Quantity::Share => "0 to 1",
            Quantity::Bytes => "bytes",
            Quantity::Number | Quantity::Count | Quantity::Percentile => "",
        }
    }

    /// As the page's script calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Quantity::PerSecond => "rate",
            Quantity::Microseconds => "latency",
            Quantity::Seconds => "time",
            Quantity::Share => "share",
            Quantity::Bytes => "bytes",
            Quantity::Number | Quantity::Count => "number",
            Quantity::Percentile => "percentile",
        }
    }
}

/// `6.00 MB` as `6 MB`.
fn without_zeros(figure: &str) -> String {
    let (digits, unit) = figure.split_at(figure.find([TIE, ' ']).unwrap_or(figure.len()));
    let digits =
        if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits };
    if digits == "0" { digits.to_owned() } else { format!("{digits}{unit}") }
}

/// `p50`, `p99.9`.
fn percentile(tail: f64) -> String {
    format!("p{}", as_asked((1.0 - 1.0 / tail) * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_metric_has_its_row_and_files_of_experiments_can_name_what_they_show() {
        for (at, row) in METRICS.iter().enumerate() {
            assert_eq!(row.metric as usize, at, "{}", row.name);
        }
        for name in ::experiment::METRICS.into_iter().chain(::experiment::METRICS_OF_STEPS) {
            assert!(Metric::named(name).is_some(), "{name}");
        }
    }

    #[test]
    fn no_two_metrics_have_one_name() {
        let mut names: Vec<&str> = Metric::all().map(Metric::column).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), METRICS.len());
    }
}
