//! Records as users and other programs meet them: their names, their way to the disk and back, what is
//! refused and how it is said, and that no password is in them.
//! Long because: each part of a record has a damaged example.

use std::fs;
use std::path::Path;
use std::time::Duration;

use pgmeter_results::{
    Action, ActionOutcome, ActionResult, ActionWork, BackendMemory, BuildFingerprint, Calibration,
    CommandSummary, Conditions, Connecting, Connection, ConnectionInUse, Contention, Disk, DiskHolds,
    Environment, EventLoop, EventLoopName, Fault, FaultKind, FlushTime, Host, IndexState, Interval,
    Introspection, Latency, Level, Limit, LoadWatch, Measured, Missing, Observation, ObserveLevel,
    PartitionMethod, PerMinute, PerTransaction, PgmeterBuild, Plan, ProcessorShares, Protocol, Record,
    RelationKind, ResultsError, Script, ServerFacts, Status, TableState, Tables, TablesAt, Target, TlsInUse,
    TransportInUse, UtcTime, Warning, Work,
};
use stats::{
    CommandTable, Completions, Distribution, Ending, Failure, Gaps, Recorder, Sample, Summary, Timestamp,
    WorkerHealth,
};

const PASSWORD: &str = "hunter2";

fn script(name: &str) -> Script {
    Script {
        description: format!("<builtin: {name}>"),
        builtin: true,
        text: "SELECT 1;\n".to_owned(),
        contention: Some(Contention { command: 8, factor: 1, variable: Some("scale".to_owned()) }),
        ..testkit::records::script(name, 1)
    }
}

fn connection(host: &str) -> Connection {
    Connection { host: host.into(), port: 5432, user: "postgres".into(), database: "postgres".into() }
}

fn plan() -> Plan {
    Plan {
        notice: Some("Its results are not TPC results.".into()),
        standard: Some("TPC-B 2.0".into()),
        per_minute: Some(PerMinute { script: "select-only".to_owned(), label: "an example".into() }),
        scripts: vec![script("tpcb-like"), script("select-only")],
        clients: 8,
        workers: 2,
        protocol: Protocol::Prepared,
        limit: Limit::Duration(Duration::from_secs(10)),
        warmup_s: 2.0,
        until: Some(0.01),
        goals: vec!["script=select-only: p99 < 20ms".parse().expect("a goal")],
        stop_on_miss: true,
        rate_tps: Some(1500.0),
        max_tries: Some(3),
        reconnect: true,
        response_timeout_s: Some(2.5),
        seed: u64::MAX,
        connection: connection("/tmp/pgmeter"),
        targets: vec![Target { name: "replica".to_owned(), connection: connection("db2") }],
        actions: vec![
            Action { at_s: 2.5, work: ActionWork::Sql { sql: "VACUUM t".into() } },
            Action {
                at_s: 2.0,
                work: ActionWork::Fault(Fault { kind: FaultKind::Kill, lasts: Some(Duration::from_secs(1)) }),
            },
        ],
        watch: Some(LoadWatch {
            max_lag_s: Some(5.0),
            max_waiting_locks: Some(10),
            pause_when: Some("select false".into()),
            stop_when: None,
            max_pause_s: 300.0,
        }),
        variables: [("scale".to_owned(), "10".to_owned())].into(),
        relative: [("clients".to_owned(), "2/core".to_owned())].into(),
        command_line: Some("pgmeter bench --random-seed 18446744073709551615 -c 8".into()),
        ..testkit::records::plan()
    }
}

fn action(planned: &Action) -> ActionResult {
    let table = TableState {
        name: "public.t".into(),
        kind: RelationKind::Table,
        bytes: Some(8_192),
        live_rows: Some(100),
        dead_rows: Some(7),
        inserted_rows: Some(100),
        updated_rows: Some(7),
        deleted_rows: Some(0),
        cached_bytes: None,
        indexes: vec![IndexState { name: "public.t_pkey".into(), bytes: Some(16_384), cached_bytes: None }],
    };
    ActionResult {
        action: planned.clone(),
        begin_s: Some(2.5),
        end_s: Some(3.75),
        outcome: ActionOutcome::Failed { sqlstate: Some("42P01".to_owned()), error: "ERROR: no t".into() },
        before: Some(TablesAt { at_s: 1.5, tables: vec![table], missing: Vec::new() }),
        after: Some(TablesAt {
            at_s: 5.0,
            tables: Vec::new(),
            missing: vec![Missing::new("tables", "lost")],
        }),
    }
}

fn environment() -> Environment {
    let settings = [("fsync", "off"), ("shared_buffers", "1GB")];
    Environment {
        host: Host {
            hostname: "bench1".to_owned(),
            os: Some("Debian GNU/Linux 13 (trixie)".to_owned()),
            kernel: "Linux 6.12.0 x86_64".to_owned(),
            cpu_model: Some("AMD EPYC 9654".to_owned()),
            cpu_count: Some(192),
            cpu_available: Some(4),
            cpus_allowed: Some(7.5),
            memory_bytes: Some(1 << 34),
        },
        conditions: Conditions {
            governor: Some("performance".to_owned()),
            clock_source: Some("tsc".to_owned()),
            virtualisation: Some("KVM".to_owned()),
            container: None,
            load_average_1m: Some(0.25),
            processors: Some(ProcessorShares { busy: 0.5, own: 0.125, stolen: 0.0 }),
        },
        disk: Some(Disk {
            holds: DiskHolds::Wal,
            path: "/var/lib/postgresql/18/main/pg_wal".to_owned(),
            file_system: Some("ext4".to_owned()),
            device: Some("/dev/nvme0n1p1".to_owned()),
            flush_us: Some(FlushTime { flushes: 200, p50: 61.5, p99: 180.25, max: 912.0 }),
            because: None,
        }),
        connection: Some(ConnectionInUse {
            transport: TransportInUse::Network,
            same_host: false,
            tls: Some(TlsInUse {
                version: "TLSv1.3".to_owned(),
                cipher: "TLS_AES_256_GCM_SHA384".to_owned(),
            }),
            protocol_version: "3.0".to_owned(),
        }),
        server: Some(ServerFacts {
            version: "18.1".to_owned(),
            server_version_num: 180_001,
            non_default_settings: settings
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into_iter()
                .collect(),
            main_settings: [("fsync".to_owned(), "off".to_owned())].into_iter().collect(),
            extensions: [("plpgsql".to_owned(), "1.0".to_owned())].into(),
            debug_assertions: Some(false),
            build: BuildFingerprint {
                configure: Some("--with-icu".to_owned()),
                cflags: Some("-O2".to_owned()),
                version: "PostgreSQL 18.1 on x86_64-pc-linux-gnu".to_owned(),
            },
        }),
    }
}

/// Two seconds of two scripts, with every ending in them.
fn intervals() -> Vec<stats::Interval> {
    let mut recorder = Recorder::new(2, Some(Duration::from_millis(4)));
    let mut second = |number: u64| {
        let begin = Timestamp::from_nanos(number * 1_000_000_000);
        for transaction in 0..100u64 {
            let scheduled = begin + Duration::from_micros(transaction * 10);
            let started = scheduled + Duration::from_micros(transaction % 7);
            let finished = started + Duration::from_micros(1_000 + 37 * transaction);
            let ending = match transaction {
                97 => Ending::Failed(Failure::Serialization),
                98 => Ending::Skipped,
                99 => Ending::Unfinished,
                _ => Ending::Succeeded,
            };
            let script = usize::from(transaction % 3 == 0);
            recorder.record(&Sample {
                script,
                scheduled,
                started,
                finished,
                tries: 1,
                business: 1,
                ending,
                traffic: stats::Traffic::default(),
            });
        }
        recorder.hand_over(begin, begin + Duration::from_secs(1), stats::Interval::new(2))
    };
    vec![second(0), second(1)]
}

fn tables() -> Tables {
    Tables { scale: Some(10.into()), partition_method: Some(PartitionMethod::Range), partitions: Some(4) }
}

/// All that was measured, but the intervals.
fn measured(summary: &Summary) -> Measured<'_> {
    let mut table = CommandTable::timing([vec![true, true], Vec::new()]);
    table.complete(0, 0, 2_000);
    table.complete(0, 0, 4_000);
    table.fail(0, 0);
    let texts = ["\\set aid random(1, 10)", "SELECT 1;"];
    let summaries = texts.iter().zip(table.of_script(0)).zip(1..);
    let commands = summaries.map(|((text, stats), line)| CommandSummary::of(text, line, stats)).collect();
    Measured {
        summary,
        gaps: None,
        intervals: Vec::new(),
        elapsed: Duration::from_millis(2_003),
        commands: vec![commands],
        connecting: Some(Connecting { connects: 196, total_s: 0.25 }),
        client_cpu: Some(Duration::from_micros(600)),
        connection_time: Some(Duration::from_millis(12)),
        introspection: None,
        ranks: Vec::new(),
    }
}

/// Two workers over a network, of which the first is busier.
fn health() -> Vec<WorkerHealth> {
    let worker = |worker: usize, cpu_ns: u64| {
        let mut wakeup_lateness = Distribution::new();
        wakeup_lateness.record_ns(12_000);
        wakeup_lateness.record_ns(61_000);
        WorkerHealth {
            worker,
            clients: 4,
            span_ns: 2_000_000_000,
            cpu_ns,
            run_queue_ns: Some(20_000_000),
            wakeups: 321,
            wakeup_lateness,
            sends_held_back: 2,
            held_back_ns: 5_000_000,
            shortest_connect_ns: Some(150_000),
        }
    };
    vec![worker(0, 600_000_000), worker(1, 300_000_000)]
}

fn calibration() -> Calibration {
    let level = Level {
        clients: 1,
        round_trips_per_s: 40_000.0,
        cpu_us_per_round_trip: 2.3,
        round_trip_us_p50: 21.5,
        run_queue_share: None,
    };
    let measured_at = UtcTime::from_unix_millis(1_795_262_000_000);
    Calibration::new(measured_at, environment().host, EventLoopName::Epoll, vec![level], &Distribution::new())
}

fn introspection<'a>(health: &'a [WorkerHealth], calibration: &'a Calibration) -> Introspection<'a> {
    let event_loop =
        EventLoop { name: EventLoopName::Epoll, because: Some("the system refuses io_uring".into()) };
    let work = Work {
        round_trips: 400,
        failed_round_trips: 2,
        sql_ns: 4_000_000_000,
        sleep_ns: 1_000_000_000,
        shell_ns: 0,
    };
    Introspection {
        event_loop,
        health,
        work,
        over_network: true,
        relay_us: None,
        calibration: Some(calibration),
    }
}

/// Those of [`intervals`]: most of each of its seconds.
fn gaps() -> Gaps {
    let mut gaps = Gaps::new(Timestamp::ZERO, false);
    intervals().iter().for_each(|interval| gaps.take(interval));
    gaps.close(Timestamp::from_nanos(2_000_000_000), None);
    gaps
}

fn record() -> Record {
    let intervals = intervals();
    let summary = Summary::of(&intervals, Duration::from_secs(2));
    let stored = intervals.iter().map(|interval| Interval::of(interval, Timestamp::ZERO)).collect();
    let (health, calibration) = (health(), calibration());
    let introspection = Some(introspection(&health, &calibration));
    let gaps = gaps();
    let measured = Measured { intervals: stored, introspection, gaps: Some(&gaps), ..measured(&summary) };
    let started_at = UtcTime::from_unix_millis(1_795_262_581_250);
    let mut record = Record::new(started_at, Status::Complete, plan(), environment(), tables(), measured);
    record.summary.actions = record.plan.actions.iter().map(action).collect();
    record.warnings = vec![Warning::SettingsUnread { error: "no such view".into() }, Warning::SharedHost];
    record
}

fn names_in(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("the directory is there");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("it can be listed").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// What [`Record::from_json`] says to the record's JSON after `from` became `to` in it.
fn refusal(from: &str, to: &str) -> String {
    let json = record().to_json();
    assert!(json.contains(from), "there is no {from} in the record");
    let changed = json.replacen(from, to, 1);
    Record::from_json(changed.as_bytes(), Path::new("r.json")).expect_err("it must be refused").to_string()
}

#[test]
fn the_names_in_the_document_are_those_that_others_parse() {
    let mut record = record();
    record.intervals.truncate(1);
    for script in &mut record.intervals[0].scripts {
        script.response.histogram = "HISTEw…".to_owned();
        let others = [&mut script.service, &mut script.failed, &mut script.skipped, &mut script.unfinished];
        others.into_iter().flatten().for_each(|latencies| latencies.histogram = "HISTEw…".to_owned());
    }
    record.pgmeter_build = PgmeterBuild::Release;
    insta::assert_snapshot!(record.to_json());
}

#[test]
fn the_three_endings_of_a_run_are_told_apart() {
    let json = |status: &Status| serde_json::to_string(status).expect("it can be written");
    assert_eq!(json(&Status::Complete), r#""complete""#);
    assert_eq!(json(&Status::Interrupted), r#""interrupted""#);
    let failed = Status::Failed { reason: "the server went away".into() };
    assert_eq!(json(&failed), r#"{"failed":{"reason":"the server went away"}}"#);
}

#[test]
fn a_record_comes_back_from_the_disk_as_it_was() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let missing = dir.path().join("missing/pgmeter-results");
    let path = record().write_into(&missing).expect("it can be written");
    assert_eq!(path, missing.join("2026-11-21T120301Z-tpcb-like+select-only.json"));
    assert_eq!(Record::read(&path).expect("it can be read"), record());
    assert_eq!(names_in(&missing).len(), 1, "no draft is left");
}

#[test]
fn intervals_that_were_stored_add_up_to_the_summary_again() {
    let record =
        Record::from_json(record().to_json().as_bytes(), Path::new("r.json")).expect("it can be read");
    let stored: Vec<stats::Interval> =
        record.intervals.iter().map(|interval| interval.to_stats().expect("it is whole")).collect();
    let mut expected = intervals();
    // Of lags only the longest is stored.
    expected.iter_mut().flat_map(|interval| &mut interval.scripts).for_each(|script| script.lag.clear());
    // Of the moments of completion only the stalls are stored.
    expected.iter_mut().for_each(|interval| interval.completions = Completions::new());
    assert_eq!(stored, expected);
    let summary = Summary::of(&stored, Duration::from_secs(2));
    let gaps = gaps();
    let again = Measured { gaps: Some(&gaps), ..measured(&summary) };
    let mut again = pgmeter_results::Summary::of(&again, &record.plan);
    again.generator.clone_from(&record.summary.generator);
    again.steady_state.clone_from(&record.summary.steady_state);
    again.service_level = record.summary.service_level;
    again.actions.clone_from(&record.summary.actions);
    assert_eq!(again, record.summary);
}

#[test]
fn service_times_are_left_out_where_they_are_the_response_times_and_come_back() {
    let mut recorder = Recorder::new(1, None);
    let (begun, finished) = (Timestamp::ZERO, Timestamp::from_nanos(1_234_567));
    let sample = Sample {
        script: 0,
        scheduled: begun,
        started: begun,
        finished,
        tries: 1,
        business: 1,
        ending: Ending::Succeeded,
        traffic: stats::Traffic::default(),
    };
    recorder.record(&sample);
    let interval = recorder.hand_over(begun, finished, stats::Interval::new(1));
    let stored = Interval::of(&interval, Timestamp::ZERO);
    assert_eq!(stored.scripts[0].service, None);
    let interval = stats::Interval { completions: Completions::new(), ..interval };
    assert_eq!(stored.to_stats(), Ok(interval));
}

#[test]
fn records_written_at_the_same_moment_do_not_collide() {
    const WRITERS: usize = 4;
    const RECORDS: usize = 5;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let write_some =
        || (0..RECORDS).map(|_| record().write_into(dir.path()).expect("it can be written")).collect();
    let mut paths: Vec<_> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS).map(|_| scope.spawn(write_some)).collect();
        writers.into_iter().flat_map(|writer| -> Vec<_> { writer.join().expect("no panic") }).collect()
    });
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), WRITERS * RECORDS);
    assert_eq!(names_in(dir.path()).len(), WRITERS * RECORDS);
    paths.iter().for_each(|path| assert_eq!(Record::read(path).expect("it is whole"), record()));
}

#[test]
fn no_password_reaches_the_document_wherever_it_was_typed() {
    let conninfo = format!("host=db user=me password={PASSWORD} dbname=d");
    let uri = format!("postgresql://me:{PASSWORD}@db/d");
    let mut record = record();
    record.plan.connection = Connection {
        host: uri.as_str().into(),
        port: 5432,
        user: format!("me password='{PASSWORD}'").into(),
        database: conninfo.as_str().into(),
    };
    record.status = Status::Failed { reason: format!("ALTER ROLE me PASSWORD '{PASSWORD}' failed").into() };
    record.warnings = vec![Warning::SettingsUnread { error: format!("could not connect to {uri}").into() }];
    let settings = [
        ("primary_conninfo", conninfo.clone()),
        ("archive_command", format!("push --key {PASSWORD} %p")),
        ("ssl_passphrase_command", format!("echo {PASSWORD}")),
    ];
    let server = record.environment.server.as_mut().expect("the sample has a server");
    server.non_default_settings =
        settings.map(|(name, value)| (name.to_owned(), value)).into_iter().collect();
    let json = record.to_json();
    assert!(!json.contains(PASSWORD), "{json}");
    assert!(json.contains("host=db user=me password=*** dbname=d"));
    let read = Record::from_json(json.as_bytes(), Path::new("r.json")).expect("it can be read");
    assert_eq!(read, record);
}

#[test]
fn a_file_that_someone_else_put_a_password_into_is_masked_when_read() {
    let json = record().to_json().replace("no such view", &format!("password={PASSWORD}"));
    let read = Record::from_json(json.as_bytes(), Path::new("r.json")).expect("it can be read");
    assert_eq!(read.warnings[0], Warning::SettingsUnread { error: "password=***".into() });
}

#[test]
fn a_document_that_is_no_record_is_refused_with_the_place() {
    let refused =
        |json: &str| Record::from_json(json.as_bytes(), Path::new("r.json")).unwrap_err().to_string();
    insta::assert_snapshot!(refused("tps = 5"), @"r.json is not a readable record: expected ident at line 1 column 2; name a file that pgmeter wrote, unchanged");
    insta::assert_snapshot!(refused("{}"), @"r.json is not a readable record: missing field `schema_version` at line 1 column 2; name a file that pgmeter wrote, unchanged");
    insta::assert_snapshot!(refused(r#"{"schema_version": 0}"#), @"r.json is not a readable record: no pgmeter ever wrote schema 0; name a file that pgmeter wrote, unchanged");
    insta::assert_snapshot!(refused(r#"{"schema_version": 1}"#), @"r.json is not a readable record: missing field `pgmeter_version` at line 1 column 21; name a file that pgmeter wrote, unchanged");
    let whole = record().to_json();
    let half = &whole[..whole.len() / 2];
    assert!(refused(half).contains("EOF while parsing"), "{}", refused(half));
    insta::assert_snapshot!(refusal("2026-11-21T", "2026-02-30T"), @r#"r.json is not a readable record: "2026-02-30T12:03:01.250Z" is not a UTC time like 2026-11-21T12:03:01.250Z at line 6 column 42; name a file that pgmeter wrote, unchanged"#);
    // What a file says neither ends the line nor reaches the terminal as it is.
    insta::assert_snapshot!(refusal("2026-11-21T", "\\n\\u001b[2J"), @r#"r.json is not a readable record: "\n\x1b[2J12:03:01.250Z" is not a UTC time like 2026-11-21T12:03:01.250Z at line 6 column 42; name a file that pgmeter wrote, unchanged"#);
    insta::assert_snapshot!(refusal("18446744073709551615", "18446744073709551616"), @r#"r.json is not a readable record: "18446744073709551616" is not a whole number in range at line 61 column 34; name a file that pgmeter wrote, unchanged"#);
}

#[test]
fn a_record_of_another_schema_says_which_pgmeter_to_use() {
    insta::assert_snapshot!(refusal("\"schema_version\": 1", "\"schema_version\": 2"), @"r.json has schema 2, and this pgmeter reads schemas up to 1: a newer pgmeter wrote it, or one from before the first release; read it with the pgmeter that wrote it");
    insta::assert_snapshot!(refusal("\"schema_version\": 1", "\"new\": [], \"schema_version\": 18446744073709551615"), @"r.json has schema 18446744073709551615, and this pgmeter reads schemas up to 1: a newer pgmeter wrote it, or one from before the first release; read it with the pgmeter that wrote it");
}

#[test]
fn a_record_in_which_a_transaction_was_lost_is_refused() {
    insta::assert_snapshot!(refusal("\"scheduled\": 200", "\"scheduled\": 201"), @"r.json does not add up: 201 transactions were scheduled, but 194 succeeded, 2 failed, 2 were skipped, 2 unfinished, 0 unknown; it was changed or damaged after it was written, use another copy");
    insta::assert_snapshot!(refusal("\"serialization\": 2", "\"serialization\": 18446744073709551615"), @"r.json does not add up: 2 transactions failed, but by kind 18446744073709551615 serialization, 0 deadlock, 0 connection, 0 other; it was changed or damaged after it was written, use another copy");
    insta::assert_snapshot!(refusal("\"late\": 32", "\"late\": 195"), @"r.json does not add up: more transactions were late, reserved or retried than there were; it was changed or damaged after it was written, use another copy");
    let one_less = r#""scheduled": 67,
          "succeeded": 65"#;
    let script = r#""scheduled": 68,
          "succeeded": 66"#;
    insta::assert_snapshot!(refusal(script, one_less), @"r.json does not add up: the scripts have other transactions than the whole; it was changed or damaged after it was written, use another copy");
}

#[test]
fn an_unknown_ending_and_its_time_are_stored() {
    let mut recorder = Recorder::new(1, None);
    let [scheduled, finished] = [0, 7_000_000].map(Timestamp::from_nanos);
    for ending in [Ending::Unknown, Ending::Failed(Failure::Connection), Ending::Succeeded] {
        let traffic = stats::Traffic::default();
        recorder.record(&Sample {
            script: 0,
            scheduled,
            started: scheduled,
            finished,
            tries: 1,
            business: 1,
            ending,
            traffic,
        });
    }
    recorder.reserve(0);
    let measured = recorder.hand_over(scheduled, finished, stats::Interval::new(1));
    let stored = serde_json::to_value(Interval::of(&measured, scheduled)).expect("it is JSON");
    let counts = &stored["counts"];
    assert_eq!(
        (&counts["unknown"], &counts["reserved"], &counts["failures"]["connection"]),
        (&1.into(), &1.into(), &1.into())
    );
    let read: Interval = serde_json::from_value(stored).expect("it is one");
    let again = read.to_stats().expect("it adds up");
    assert_eq!(again.scripts[0].unknown.max_ns(), Some(7_000_000));
    assert_eq!(again.scripts[0].counts, measured.scripts[0].counts);
}

#[test]
fn memory_of_backends_is_read_as_it_was_written_unless_it_is_impossible() {
    let possible = BackendMemory {
        backends: 3,
        private_mean_bytes: 3_000_000.0,
        private_max_bytes: 4_000_000.0,
        page_tables_mean_bytes: 200_000.0,
    };
    let read = |backend_memory| {
        let mut record = record();
        record.observation = Some(Observation { backend_memory, ..Observation::default() });
        let json = record.to_json();
        assert_eq!(json.contains("backend_memory"), backend_memory.is_some(), "older records do not have it");
        let read = Record::from_json(json.as_bytes(), Path::new("r.json"));
        read.map(|record| record.observation.expect("it was written").backend_memory)
    };
    for memory in [None, Some(possible)] {
        assert_eq!(read(memory).expect("it is possible"), memory);
    }
    for impossible in [
        BackendMemory { backends: 0, ..possible },
        BackendMemory { private_mean_bytes: 5_000_000.0, ..possible },
        BackendMemory { private_mean_bytes: -1.0, ..possible },
        BackendMemory { page_tables_mean_bytes: -1.0, ..possible },
    ] {
        let error = read(Some(impossible)).expect_err("it is impossible").to_string();
        assert!(error.contains("memory of backends that is impossible"), "{error}");
    }
    assert!((possible.mean_bytes() - 3_200_000.0).abs() < 1e-9);
}

#[test]
fn figures_that_contradict_each_other_are_refused() {
    insta::assert_snapshot!(refusal("\"begin_s\": 2.5", "\"begin_s\": 4.5"), @"r.json does not add up: an action whose times and ending contradict each other; it was changed or damaged after it was written, use another copy");
    insta::assert_snapshot!(refusal("\"sql\": \"VACUUM t\"", "\"sql\": \"VACUUM u\""), @"r.json does not add up: actions that the plan does not have; it was changed or damaged after it was written, use another copy");
    insta::assert_snapshot!(refusal("\"business\": 194", "\"business\": 193"), @"r.json does not add up: 194 transactions succeeded, but stand for 193 business transactions; it was changed or damaged after it was written, use another copy");
    insta::assert_snapshot!(refusal("\"mean\": 2.969", "\"mean\": 6.5"), @"r.json does not add up: a lag that is negative, or whose mean is above its maximum; it was changed or damaged after it was written, use another copy");
    insta::assert_snapshot!(refusal("\"elapsed_s\": 2.003", "\"elapsed_s\": -1.0"), @"r.json does not add up: a negative elapsed time; it was changed or damaged after it was written, use another copy");
    insta::assert_snapshot!(refusal("\"mean_us\": 3.0", "\"mean_us\": 4.5"), @"r.json does not add up: script tpcb-like: a command's mean latency beyond its extremes; it was changed or damaged after it was written, use another copy");
    insta::assert_snapshot!(refusal("\"executions\": 2", "\"executions\": 0"), @"r.json does not add up: script tpcb-like: a command with executions but no latencies, or the other way round; it was changed or damaged after it was written, use another copy");
    insta::assert_snapshot!(refusal("\"failures\": 1,", "\"failures\": 5,"), @"r.json does not add up: script tpcb-like: more commands than transactions failed; it was changed or damaged after it was written, use another copy");
}

#[test]
fn errors_that_do_not_add_up_with_the_failed_transactions_are_refused() {
    let others = |failed, script| {
        let error = serde_json::json!({"sqlstate": "40001", "message": "m", "script": script, "line": 1,
            "text": "SELECT 1;", "failed": 1, "retried": 0, "aborted": 0});
        let others = serde_json::json!({"failed": failed, "retried": 0, "aborted": 0});
        format!("\"errors\": {}", serde_json::json!({"kinds": [error], "others": others}))
    };
    insta::assert_snapshot!(refusal("\"errors\": null", &others(0_u64, 0)), @"r.json does not add up: the errors failed other transactions than the summary has; it was changed or damaged after it was written, use another copy");
    insta::assert_snapshot!(refusal("\"errors\": null", &others(u64::MAX, 0)), @"r.json does not add up: the errors failed other transactions than the summary has; it was changed or damaged after it was written, use another copy");
    insta::assert_snapshot!(refusal("\"errors\": null", &others(1, 2)), @"r.json does not add up: an error in a script that the plan does not have; it was changed or damaged after it was written, use another copy");
}

/// Of a server of which nothing is known but what a transaction cost it.
fn seen(per_transaction: PerTransaction) -> Observation {
    Observation { level: ObserveLevel::Light, per_transaction, ..Observation::default() }
}

#[test]
fn latencies_that_cannot_be_are_refused() {
    let changed = |change: &dyn Fn(&mut Record)| {
        let mut record = record();
        change(&mut record);
        let json = record.to_json();
        let error = Record::from_json(json.as_bytes(), Path::new("r.json")).expect_err("it must be refused");
        error.to_string().split(';').next().unwrap_or_default().to_owned()
    };
    let response = |change: fn(&mut Latency)| {
        changed(&move |record| change(record.summary.response_us.as_mut().expect("some succeeded")))
    };
    insta::assert_snapshot!(response(|it| it.p50 = it.p99 * 2.0), @"r.json does not add up: latencies whose quantiles do not rise from the minimum to the maximum");
    insta::assert_snapshot!(response(|it| it.min = it.max * 2.0), @"r.json does not add up: latencies whose quantiles do not rise from the minimum to the maximum");
    insta::assert_snapshot!(response(|it| it.min = -1.0), @"r.json does not add up: a negative latency");
    insta::assert_snapshot!(response(|it| it.max = 1e308), @"r.json does not add up: a figure that no run can have");
    insta::assert_snapshot!(response(|it| it.mean = 1.0), @"r.json does not add up: a mean latency that is not between the shortest and the longest");
    insta::assert_snapshot!(changed(&|record| record.plan.until = Some(1e307)), @"r.json does not add up: a precision that is not between 0 and 1");
    // A ratio to it would be infinite.
    insta::assert_snapshot!(changed(&|record| record.summary.duration_s = 1e-320), @"r.json does not add up: a figure that no run can have");
    insta::assert_snapshot!(changed(&|record| record.summary.tps = 1e308), @"r.json does not add up: a figure that no run can have");
    let late = |record: &mut Record| record.intervals.iter_mut().for_each(|it| it.end_s = 1e308);
    insta::assert_snapshot!(changed(&late), @"r.json does not add up: interval 0: a figure that no run can have");
    let of_server = |record: &mut Record| {
        let costs = PerTransaction { wal_bytes: Some(1.7e308), ..PerTransaction::default() };
        record.observation = Some(seen(costs));
    };
    insta::assert_snapshot!(changed(&of_server), @"r.json does not add up: a figure that no run can have");
    let of_script = |record: &mut Record| record.summary.scripts[0].tps = -1.0;
    insta::assert_snapshot!(changed(&of_script), @"r.json does not add up: script tpcb-like: a rate that is negative, or beyond all rates");
}

#[test]
fn what_never_ends_is_read_no_further_than_a_record_could_go() {
    let error = Record::read(Path::new("/dev/zero")).expect_err("it is no record").to_string();
    assert!(error.contains("it is not a regular file"), "{error}");
    // A shell gives the output of another program in this way.
    let zero = fs::File::open("/dev/zero").expect("it is always there");
    let path = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&zero));
    let error = Record::read(Path::new(&path)).expect_err("it is no record").to_string();
    assert!(error.contains("is not a readable record: expected value"), "{error}");
}

#[test]
fn a_generator_that_cannot_be_is_refused() {
    insta::assert_snapshot!(refusal("\"busy_share\": 0.31", "\"busy_share\": 1.31"), @"r.json does not add up: the generator: a share that is not between 0 and 1; it was changed or damaged after it was written, use another copy");
    insta::assert_snapshot!(refusal("\"cpu_share\": 0.3", "\"cpu_share\": -0.3"), @"r.json does not add up: the generator: a share that is not between 0 and 1; it was changed or damaged after it was written, use another copy");
    insta::assert_snapshot!(refusal("\"own_us_per_round_trip\": ", "\"own_us_per_round_trip\": -"), @"r.json does not add up: the generator: a negative time or rate; it was changed or damaged after it was written, use another copy");
    insta::assert_snapshot!(refusal("\"p50\": 12.", "\"p50\": 90."), @"r.json does not add up: the generator: a lateness whose quantiles are not in order; it was changed or damaged after it was written, use another copy");
    let refused = refusal("\"limit\": \"undecided\"", "\"limit\": \"nobody\"");
    assert!(refused.contains("unknown variant `nobody`, expected one of `server`, `client`"), "{refused}");
}

#[test]
fn intervals_that_are_not_those_of_the_summary_are_refused() {
    let changed = |change: &dyn Fn(&mut Vec<Interval>)| {
        let mut record = record();
        change(&mut record.intervals);
        let json = record.to_json();
        Record::from_json(json.as_bytes(), Path::new("r.json")).unwrap_err().to_string()
    };
    insta::assert_snapshot!(changed(&|intervals| intervals.truncate(1)), @"r.json does not add up: the intervals have other transactions than the summary; it was changed or damaged after it was written, use another copy");
    insta::assert_snapshot!(changed(&|intervals| intervals[1].end_s = 0.5), @"r.json does not add up: interval 1: it ends before it begins; it was changed or damaged after it was written, use another copy");
    insta::assert_snapshot!(changed(&|intervals| intervals[1].scripts[0].response.count = 3), @"r.json does not add up: interval 1: succeeded transactions without a latency; it was changed or damaged after it was written, use another copy");
    insta::assert_snapshot!(changed(&|intervals| intervals[1].scripts.truncate(1)), @"r.json does not add up: interval 1: it is of other scripts than the plan; it was changed or damaged after it was written, use another copy");
}

#[test]
fn a_damaged_histogram_is_an_error_when_it_is_asked_for() {
    let mut record = record();
    record.intervals[0].scripts[0].response.histogram = "not base64!".to_owned();
    let read =
        Record::from_json(record.to_json().as_bytes(), Path::new("r.json")).expect("its counts add up");
    assert!(read.intervals[0].to_stats().is_err());
    assert!(read.intervals[1].to_stats().is_ok());
}

#[test]
fn a_path_that_cannot_be_written_or_read_says_why_and_what_next() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("file");
    fs::write(&file, "in the way").expect("it can be written");
    let shown = |error: ResultsError| error.to_string().replace(&dir.path().display().to_string(), "DIR");
    insta::assert_snapshot!(shown(record().write_into(&file).unwrap_err()), @"cannot write a record into DIR/file: something that is not a directory is in the way; choose another directory");
    insta::assert_snapshot!(shown(record().write_into(&file.join("below")).unwrap_err()), @"cannot write a record into DIR/file/below: something that is not a directory is in the way; choose another directory");
    insta::assert_snapshot!(shown(Record::read(&dir.path().join("none.json")).unwrap_err()), @"cannot read the record DIR/none.json: there is no such file; check the path");
    insta::assert_snapshot!(shown(Record::read(dir.path()).unwrap_err()), @"cannot read the record DIR: it is a directory; name a file in it");
    assert_eq!(names_in(dir.path()), ["file"]);
}

#[test]
fn each_obstacle_to_writing_has_its_own_advice() {
    let said = |kind: std::io::ErrorKind| {
        ResultsError::Write { directory: "pgmeter-results".into(), source: kind.into() }.to_string()
    };
    insta::assert_snapshot!(said(std::io::ErrorKind::StorageFull), @"cannot write a record into pgmeter-results: no space is left there; nothing half-written was kept; free some or choose another directory");
    insta::assert_snapshot!(said(std::io::ErrorKind::ReadOnlyFilesystem), @"cannot write a record into pgmeter-results: its file system is read-only; choose another directory");
    insta::assert_snapshot!(said(std::io::ErrorKind::PermissionDenied), @"cannot write a record into pgmeter-results: permission denied; choose another directory, or ask its owner for permission to write");
    insta::assert_snapshot!(said(std::io::ErrorKind::TimedOut), @"cannot write a record into pgmeter-results: timed out; choose another directory");
}
