//! Records to be shown: one with everything that a record can hold, made from a seed, and one with nothing.
//! Not what is tested; shared by all tests beside it.

use std::collections::BTreeMap;

use results::{
    BuildFingerprint, BusiestWorker, CalibrationUsed, Ceiling, CeilingBasis, CommandSummary, CommandTimes,
    Conditions, Confidence, Connection, ConnectionInUse, Counts, Disk, DiskHolds, Drift, DriftMeaning,
    EncodedDistribution, Environment, Estimate, Event, EventKind, EventLoop, EventLoopName, Evidence,
    FlushSharing, FlushSource, Generator, HeldBack, Host, Interval, IntervalScript, LagSample, Latency,
    Lateness, Limit, LimitedBy, LockEnd, Missing, Observation, ObserveLevel, ObserverCost, OtherEndings,
    PerTransaction, Plan, ProcessorShares, Protocol, Record, Script, ScriptSummary, ServerFacts,
    ServerSample, ShareInterval, StandbyLag, StatementCounters, Status, SteadyEvidence, SteadyMetric,
    SteadyState, Summary, Tables, TimesOfAll, TransportInUse, UtcTime, Verdict, WaitMean, WaitMethod,
    WaitShare, Waits, Warning, WorkerCondition,
};
use stats::Distribution;
use testkit::records::{record, script, script_summary};

/// What a test changes in an example.
pub struct Example {
    pub seconds: u32,
    pub tps: f64,
    pub median_us: f64,
    pub seed: u64,
    /// Standard deviation of the throughput of seconds, as a share.
    pub noise: f64,
    pub has_checkpoints: bool,
}

impl Default for Example {
    fn default() -> Example {
        Example {
            seconds: 120,
            tps: 2_400.0,
            median_us: 2_900.0,
            seed: 1,
            noise: 0.03,
            has_checkpoints: true,
        }
    }
}

/// Numbers that look random: a linear congruential generator (Knuth, MMIX).
struct Draws(u64);

impl Draws {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Box and Muller's.
    fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// A checkpoint begins twice, and makes everything slower while it writes.
const CHECKPOINTS: [(f64, f64); 2] = [(31.0, 52.0), (91.0, 113.0)];

/// Some failed, and some were caught by the end of the run.
fn counts(succeeded: u64) -> Counts {
    Counts {
        scheduled: succeeded + 23,
        succeeded,
        failed: 7,
        unfinished: 16,
        business: succeeded,
        retried: 12,
        retries: 15,
        failures: results::Failures { serialization: 2, deadlock: 5, connection: 0, other: 0 },
        ..Counts::default()
    }
}

/// They took as long as the others.
fn other_endings(response_us: Option<Latency>) -> OtherEndings {
    let all_us = response_us.map(|us| {
        let [p50, p90, p95, p99, p999, max] = us.percentiles().map(|(_, us)| us);
        TimesOfAll { mean: Some(us.mean), stddev: Some(us.stddev), p50, p90, p95, p99, p999, max }
    });
    OtherEndings { failed_us: response_us, unfinished_us: response_us, all_us, ..OtherEndings::default() }
}

fn steady() -> SteadyState {
    SteadyState {
        settled: Some(true),
        steady_from_s: Some(0.0),
        evidence: SteadyEvidence::Drifts {
            intervals: 60,
            drifts: vec![Drift {
                metric: SteadyMetric::Throughput,
                drift_share: 0.008,
                meaning: DriftMeaning::Noise,
            }],
        },
    }
}

fn environment() -> Environment {
    Environment {
        host: host(),
        conditions: conditions(),
        disk: Some(disk()),
        connection: Some(ConnectionInUse {
            transport: TransportInUse::UnixSocket,
            same_host: true,
            tls: None,
            protocol_version: "3.0".to_owned(),
        }),
        server: Some(server()),
    }
}

/// The example with everything in it.
pub fn full(example: &Example) -> Record {
    let mut draws = Draws(example.seed);
    let mut total = Distribution::new();
    let mut intervals: Vec<Interval> =
        (0..example.seconds).map(|second| interval(second, example, &mut draws, &mut total)).collect();
    let response_us = Latency::of(&total);
    let succeeded = total.count();
    let counts = counts(succeeded);
    let duration_s = f64::from(example.seconds);
    let tps = succeeded as f64 / duration_s;
    add_unsuccessful(&mut intervals[0], &counts);
    let confidence = confidence(tps, response_us);
    let script = ScriptSummary {
        tps,
        confidence,
        commands: commands(succeeded, example.median_us),
        ..script_summary("tpcb-like", counts, response_us)
    };
    let base = record();
    Record {
        plan: plan(duration_s),
        environment: environment(),
        tables: Tables { scale: Some(100.into()), partition_method: None, partitions: Some(0) },
        connection_time_s: Some(0.016),
        summary: Summary {
            duration_s,
            elapsed_s: duration_s + 0.02,
            tps,
            counts,
            response_us,
            service_us: response_us,
            other_endings: other_endings(response_us),
            client_cpu_us_per_transaction: Some(38.2),
            generator: Some(generator()),
            confidence,
            steady_state: Some(steady()),
            scripts: vec![script],
            ..base.summary
        },
        intervals,
        observation: Some(observation(example)),
        warnings: vec![
            Warning::ClientUsesCpu { client_share: 0.31 },
            Warning::OtherPrograms { others_share: 0.2 },
            Warning::Maintenance { checkpoints: 2, autovacuums: 0 },
        ],
        ..base
    }
}

fn confidence(tps: f64, response_us: Option<Latency>) -> Confidence {
    let estimate = |value: f64| {
        Some(Estimate {
            low: value * 0.985,
            high: value * 1.015,
            degrees_of_freedom: 23,
            autocorrelation: 0.11,
        })
    };
    Confidence {
        tps: estimate(tps),
        response_mean_us: response_us.and_then(|latency| estimate(latency.mean)),
        service_mean_us: None,
    }
}

/// The example with nothing in it: interrupted before anything was measured.
pub fn empty() -> Record {
    let mut record = full(&Example { seconds: 1, ..Example::default() });
    record.status = Status::Interrupted;
    record.environment.server = None;
    record.tables = Tables::default();
    record.connection_time_s = None;
    record.intervals.clear();
    record.observation = None;
    record.warnings.clear();
    let summary = &mut record.summary;
    (summary.duration_s, summary.elapsed_s, summary.tps) = (0.0, 0.0, 0.0);
    (summary.counts, summary.other_endings) = (Counts::default(), OtherEndings::default());
    (summary.response_us, summary.service_us, summary.generator) = (None, None, None);
    (summary.steady_state, summary.client_cpu_us_per_transaction) = (None, None);
    summary.confidence = Confidence::default();
    summary.scripts.clear();
    record
}

/// The example in which nothing succeeded.
pub fn fruitless() -> Record {
    let mut record = full(&Example { seconds: 3, ..Example::default() });
    for interval in &mut record.intervals {
        interval.counts = Counts { scheduled: 5, failed: 5, ..Counts::default() };
        for script in &mut interval.scripts {
            script.counts = interval.counts;
            script.response = EncodedDistribution::of(&Distribution::new());
        }
    }
    let counts = Counts { scheduled: 15, failed: 15, ..Counts::default() };
    let summary = &mut record.summary;
    (summary.counts, summary.scripts[0].counts, summary.tps) = (counts, counts, 0.0);
    (summary.response_us, summary.service_us, summary.confidence) = (None, None, Confidence::default());
    (summary.scripts[0].response_us, summary.scripts[0].service_us) = (None, None);
    record
}

fn interval(second: u32, example: &Example, draws: &mut Draws, total: &mut Distribution) -> Interval {
    let start_s = f64::from(second);
    let slow = if example.has_checkpoints && under_checkpoint(start_s) { 1.0 } else { 0.0 };
    let number = (example.tps * (1.0 - 0.28 * slow + example.noise * draws.normal())).max(1.0).round();
    let mut response = Distribution::new();
    for _ in 0..whole(number) {
        let stalled = draws.unit() < 0.002 + 0.015 * slow;
        let factor = if stalled { 12.0 + 20.0 * draws.unit() } else { 1.0 + 0.35 * slow };
        let us = example.median_us * (0.22 * draws.normal()).exp() * factor;
        response.record_ns(whole(us * 1e3));
    }
    total.merge(&response);
    let succeeded = response.count();
    let counts = Counts { scheduled: succeeded, succeeded, business: succeeded, ..Counts::default() };
    let script = IntervalScript {
        counts,
        response: EncodedDistribution::of(&response),
        service: None,
        lag_max_ns: 0,
        failed: None,
        skipped: None,
        unfinished: None,
        unknown: None,
    };
    Interval { start_s, end_s: start_s + 1.0, counts, scripts: vec![script] }
}

/// The sum of all intervals is to be that of the summary.
fn add_unsuccessful(interval: &mut Interval, all: &Counts) {
    for counts in [&mut interval.counts, &mut interval.scripts[0].counts] {
        let (succeeded, business) = (counts.succeeded, counts.business);
        let scheduled = succeeded + all.scheduled - all.succeeded;
        *counts = Counts { scheduled, succeeded, business, ..*all };
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(number: f64) -> u64 {
    number as u64
}

fn under_checkpoint(second: f64) -> bool {
    CHECKPOINTS.iter().any(|(from, to)| (*from..*to).contains(&second))
}

fn commands(transactions: u64, median_us: f64) -> Vec<CommandSummary> {
    const TEXTS: [(&str, f64); 8] = [
        ("\\set aid random(1, 100000 * :scale)", 0.0),
        ("BEGIN", 0.03),
        ("UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid", 0.11),
        ("SELECT abalance FROM pgbench_accounts WHERE aid = :aid", 0.05),
        ("UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid", 0.12),
        ("UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid", 0.27),
        (
            "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, \
             CURRENT_TIMESTAMP)",
            0.05,
        ),
        ("END", 0.37),
    ];
    let command = |(at, (text, share)): (usize, &(&str, f64))| CommandSummary {
        text: (*text).to_owned(),
        line: u32::try_from(at).unwrap() + 1,
        executions: transactions,
        mean_us: Some(median_us * share),
        stddev_us: Some(median_us * share * 0.4),
        min_us: Some(median_us * share * 0.2),
        max_us: Some(median_us * share * 25.0),
        latency_us: None,
        failures: u64::from(*share > 0.2),
        retries: 0,
        copied: None,
    };
    TEXTS.iter().enumerate().map(command).collect()
}

fn plan(duration_s: f64) -> Plan {
    Plan {
        scripts: vec![Script {
            description: "<builtin: TPC-B (sort of)>".to_owned(),
            builtin: true,
            text: "BEGIN;\nEND;\n".to_owned(),
            ..script("tpcb-like", 1)
        }],
        clients: 8,
        workers: 2,
        protocol: Protocol::Prepared,
        limit: Limit::Duration(std::time::Duration::from_secs_f64(duration_s)),
        warmup_s: 5.0,
        max_tries: Some(3),
        seed: 42,
        connection: Connection {
            host: "/run/postgresql".into(),
            port: 5432,
            user: "bench".into(),
            database: "bench".into(),
        },
        variables: [("scale".to_owned(), "100".to_owned())].into(),
        ..testkit::records::plan()
    }
}

fn server() -> ServerFacts {
    let settings = [
        ("checkpoint_timeout", "1min"),
        ("max_wal_size", "4GB"),
        ("shared_buffers", "2GB"),
        ("shared_preload_libraries", "pg_stat_statements"),
        ("synchronous_commit", "on"),
    ];
    ServerFacts {
        version: "18.1".to_owned(),
        server_version_num: 180_001,
        main_settings: [("max_connections".to_owned(), "100".to_owned())].into_iter().collect(),
        extensions: [("pg_stat_statements".to_owned(), "1.12".to_owned())].into(),
        debug_assertions: Some(false),
        non_default_settings: settings
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into_iter()
            .collect(),
        build: BuildFingerprint {
            configure: Some("'--with-lz4' '--with-openssl'".to_owned()),
            cflags: Some("-O2".to_owned()),
            version: "PostgreSQL 18.1 on x86_64-pc-linux-gnu, compiled by gcc 14.2.0, 64-bit".to_owned(),
        },
    }
}

fn generator() -> Generator {
    let worker = |worker| WorkerCondition {
        worker,
        clients: 4,
        span_s: 120.0,
        cpu_share: 0.11,
        run_queue_share: Some(0.01),
        wakeups: 812_332,
        wakeup_lateness_us: None,
        held_back: HeldBack::default(),
        shortest_connect_us: None,
    };
    Generator {
        event_loop: EventLoop { name: EventLoopName::IoUring, because: None },
        workers: vec![worker(0), worker(1)],
        cpu_us_per_transaction: Some(38.2),
        busy_share: 0.12,
        run_queue_share: Some(0.01),
        wakeup_lateness_us: Some(Lateness { p50: 4.0, p99: 61.0, max: 812.0 }),
        held_back: HeldBack::default(),
        shortest_connect_us: None,
        commands: CommandTimes {
            round_trips: 2_016_000,
            round_trip_us: Some(412.0),
            sleep_share: 0.0,
            shell_share: 0.0,
        },
        own_us_per_round_trip: Some(5.2),
        calibration: Some(CalibrationUsed {
            measured_at: UtcTime::from_unix_millis(1_795_200_000_000),
            round_trips_per_s_max: 212_000.0,
            reached_share: 0.04,
            floor_us_per_round_trip: 19.0,
        }),
        verdict: Verdict {
            limit: LimitedBy::Server,
            evidence: Evidence::ServerTime {
                server_us: 406.8,
                round_trip_us: 412.0,
                busiest: BusiestWorker {
                    worker: 1,
                    workers: 2,
                    idle_share: 0.88,
                    cpu_share: 0.1,
                    run_queue_share: Some(0.02),
                },
            },
            resource: None,
            resource_share: None,
            others: None,
        },
    }
}

fn conditions() -> Conditions {
    Conditions {
        governor: Some("performance".to_owned()),
        clock_source: Some("tsc".to_owned()),
        virtualisation: Some("KVM".to_owned()),
        container: None,
        load_average_1m: Some(0.31),
        processors: Some(ProcessorShares { busy: 0.44, own: 0.06, stolen: 0.004 }),
    }
}

fn disk() -> Disk {
    Disk {
        holds: DiskHolds::Wal,
        path: "/var/lib/postgresql/18/main/pg_wal".to_owned(),
        file_system: Some("ext4".to_owned()),
        device: Some("/dev/nvme0n1p1".to_owned()),
        flush_us: None,
        because: None,
    }
}

fn host() -> Host {
    Host {
        hostname: "bench1".to_owned(),
        os: Some("Debian GNU/Linux 13 (trixie)".to_owned()),
        kernel: "Linux 6.12.0 x86_64".to_owned(),
        cpu_model: Some("AMD EPYC 9654".to_owned()),
        cpu_count: Some(16),
        cpu_available: Some(8),
        cpus_allowed: Some(16.0),
        memory_bytes: Some(68_719_476_736),
    }
}

const WAITS: [(&str, &str, f64); 10] = [
    ("IO", "WALSync", 2.6),
    ("CPU", "running", 1.3),
    ("Lock", "transactionid", 1.1),
    ("LWLock", "WALWrite", 0.9),
    ("IO", "DataFileRead", 0.35),
    ("Lock", "tuple", 0.3),
    ("LWLock", "BufferContent", 0.12),
    ("Client", "ClientRead", 0.1),
    ("IPC", "ProcarrayGroupUpdate", 0.05),
    ("Timeout", "SpinDelay", 0.02),
];

// Long because: one value for each field of an observation.
fn observation(example: &Example) -> Observation {
    let all: f64 = WAITS.iter().map(|(_, _, backends)| backends).sum();
    let share = |(event_type, event, backends): &(&str, &str, f64)| WaitShare {
        event_type: (*event_type).to_owned(),
        event: (*event).to_owned(),
        seen: whole(backends * 2_400.0),
        share: backends / all,
        interval: Some(ShareInterval { low: backends / all * 0.9, high: backends / all * 1.1 }),
    };
    let top: Vec<WaitShare> = WAITS.iter().map(share).collect();
    Observation {
        level: ObserveLevel::Full,
        missing: vec![Missing {
            what: "pg_wait_sampling".to_owned(),
            why: "it is not loaded; shared_preload_libraries would have to name it".into(),
        }],
        cost: ObserverCost {
            statements: 2_640,
            busy_share: 0.021,
            backend_cpu_s: Some(1.4),
            samples_missed: 2,
        },
        waits: Some(waits(top)),
        per_transaction: PerTransaction {
            wal_bytes: Some(1_214.0),
            wal_records: Some(7.3),
            wal_full_page_images: Some(0.081),
            wal_full_page_image_bytes: None,
            blocks_hit: Some(31.2),
            blocks_read: Some(1.42),
            block_read_us: Some(93.0),
            block_write_us: Some(0.0),
            blocks_dirtied: Some(2.1),
            blocks_written: Some(0.04),
            temp_bytes: Some(0.0),
            server_cpu_us: Some(203.0),
            backend_user_cpu_us: Some(142.0),
            backend_system_cpu_us: Some(61.0),
            backend_read_bytes: Some(11_632.0),
            disk_blocks_read: Some(1.42),
            backend_written_bytes: None,
            plan_us: None,
            execution_us: None,
        },
        counters: Vec::new(),
        statements: vec![statement()],
        events: if example.has_checkpoints { events() } else { Vec::new() },
        samples: (0..example.seconds).map(|second| sample(second, example)).collect(),
        backend_memory: None,
        standbys: Vec::new(),
        staleness: None,
        server_cpus_allowed: None,
        ceilings: vec![
            Ceiling {
                basis: CeilingBasis::Flush {
                    flush_us: 1_200.0,
                    source: FlushSource::Server,
                    transactions_per_flush: 3.5,
                    sharing: FlushSharing::Average,
                },
                tps: 2_900.0,
                reached_share: 0.83,
            },
            Ceiling {
                basis: CeilingBasis::HottestRow {
                    rows: 100.0,
                    locked_us: 1_230.0,
                    until: LockEnd::Transaction,
                },
                tps: 81_000.0,
                reached_share: 0.03,
            },
        ],
    }
}

fn waits(top: Vec<WaitShare>) -> Waits {
    Waits {
        source: "pg_stat_activity".to_owned(),
        rate_hz: 20.0,
        looks: 2_400,
        backends_seen: 19_200,
        method: WaitMethod::PostStratified,
        running_backends: Some(1.3),
        runnable_backends: Some(0.02),
        idle_share: 0.14,
        idle_interval: None,
        scripts: vec![top.clone()],
        top,
    }
}

fn statement() -> StatementCounters {
    StatementCounters {
        query: "UPDATE pgbench_branches SET bbalance = bbalance + $1 WHERE bid = $2".into(),
        script: Some(0),
        command: Some(5),
        values: [
            ("calls".to_owned(), 288_000.0),
            ("rows".to_owned(), 288_000.0),
            ("execution_time_ms".to_owned(), 91_000.0),
            ("shared_blks_hit".to_owned(), 900_000.0),
            ("shared_blks_read".to_owned(), 40_000.0),
            ("blk_read_time_ms".to_owned(), 2_600.0),
            ("user_cpu_ms".to_owned(), 21_000.0),
            ("system_cpu_ms".to_owned(), 9_000.0),
            ("disk_read_blks".to_owned(), 50_000.0),
            ("disk_read_bytes".to_owned(), 409_600_000.0),
            ("disk_written_bytes".to_owned(), 8_192_000.0),
        ]
        .into(),
    }
}

fn events() -> Vec<Event> {
    let checkpoint = |(start_s, end_s): (f64, f64)| Event {
        kind: EventKind::Checkpoint,
        start_s,
        end_s: Some(end_s),
        detail: "timed, 18,230 buffers written".into(),
    };
    let mut events = CHECKPOINTS.map(checkpoint).to_vec();
    events.push(Event {
        kind: EventKind::Autovacuum,
        start_s: 64.0,
        end_s: Some(71.5),
        detail: "pgbench_tellers".into(),
    });
    events.push(Event {
        kind: EventKind::LockQueue,
        start_s: 78.0,
        end_s: None,
        detail: "5 backends behind a row of pgbench_branches".into(),
    });
    events[3].end_s = Some(80.0);
    events
}

fn sample(second: u32, example: &Example) -> ServerSample {
    let mut draws = Draws(example.seed.wrapping_add(u64::from(second) * 7_919));
    let start_s = f64::from(second);
    let slow = example.has_checkpoints && under_checkpoint(start_s);
    let wait = |(event_type, event, backends): &(&str, &str, f64)| WaitMean {
        event_type: (*event_type).to_owned(),
        event: (*event).to_owned(),
        backends: (backends
            * (1.0 + 0.15 * draws.normal())
            * if slow && *event == "WALSync" { 1.35 } else { 1.0 })
        .max(0.0),
    };
    let waits = WAITS.iter().map(wait).collect();
    let values: BTreeMap<String, f64> = [
        ("wal_bytes".to_owned(), 2.9e6 * if slow { 2.2 } else { 1.0 } * (1.0 + 0.05 * draws.unit())),
        ("host_busy_share".to_owned(), 0.42 + 0.04 * draws.unit()),
        ("host_iowait_share".to_owned(), if slow { 0.21 } else { 0.06 }),
        ("host_steal_share".to_owned(), 0.004),
    ]
    .into();
    ServerSample { start_s, end_s: start_s + 1.0, looks: 20, idle: 1.1, waits, values }
}

/// Two standbys, one near and one far, whose lag grows.
pub fn standbys(seconds: u32) -> Vec<StandbyLag> {
    let sample = |second: u32, factor: f64| {
        let (time_s, at) = (f64::from(second), f64::from(second % 10) + 1.0);
        LagSample {
            time_s,
            write_bytes: Some(100.0 * factor),
            flush_bytes: Some(200.0 * factor),
            replay_bytes: Some(300.0 * factor * at),
            write_us: Some(400.0 * factor),
            flush_us: Some(900.0 * factor),
            replay_us: Some(1_000.0 * factor * at),
        }
    };
    let standby = |name: &str, state: &str, factor: f64| StandbyLag {
        name: name.into(),
        sync_state: state.into(),
        samples: (0..seconds).map(|second| sample(second, factor)).collect(),
    };
    vec![standby("near", "sync", 1.0), standby("far", "async", 20.0)]
}
