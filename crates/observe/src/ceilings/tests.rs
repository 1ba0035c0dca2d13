//! The bounds from measurements by hand, and from a whole record that each test changes as it needs. Whether shipped
//! scripts exceed their bounds on a real server is tested with the binary.

use results::{ObserverCost, PerTransaction, WaitMethod, Waits};

use super::*;

fn check((tps, basis): Bound, expected_tps: f64, expected: CeilingBasis) {
    assert!((tps - expected_tps).abs() < 0.5, "{tps}");
    assert_eq!(basis, expected);
}

const BEFORE_RUN: Option<(f64, FlushSource)> = Some((500.0, FlushSource::BeforeRun));

fn timed(min_us: f64, mean_us: f64) -> Timed {
    Timed {
        min_us: Some(min_us),
        mean_us: Some(mean_us),
        executions: 100.0,
        sends: true,
        is_in_pipeline: false,
    }
}

#[test]
fn a_row_is_locked_for_a_round_trip_less_than_the_client_sees() {
    let set = Timed { sends: false, ..timed(1.0, 1.0) };
    // BEGIN, the locking update, an insert, END: 1 ms of network in each.
    let commands = [
        set,
        timed(1_000.0, 1_050.0),
        timed(1_100.0, 9_000.0),
        timed(1_050.0, 1_150.0),
        timed(1_900.0, 2_750.0),
    ];
    // The lock is released within the last one, whose response may wait for long after that.
    let held = Held::of(&commands, 2, Some(1_000.0), None).unwrap();
    assert_eq!(held, Held { us: 100.0 + 1_150.0 + 1_900.0, is_one_command: false });
    assert_eq!(
        Held::of(&commands, 2, None, None),
        Some(held),
        "the shortest command stands for a round trip"
    );
    let flushed = |us: f64, source| Held::of(&commands, 2, Some(1_000.0), Some((us, source))).unwrap().us;
    assert_eq!(flushed(2_000.0, FlushSource::Server), 100.0 + 1_150.0 + 2_000.0);
    assert_eq!(flushed(9_000.0, FlushSource::Server), 100.0 + 1_150.0 + 2_750.0);
    assert_eq!(flushed(2_000.0, FlushSource::BeforeRun), held.us);
    let basis = CeilingBasis::HottestRow { rows: 10.0, locked_us: 3_150.0, until: LockEnd::Transaction };
    check(held.bound(10.0, 1.0).unwrap(), 10.0 / 3_150e-6, basis);
    check(held.bound(10.0, 0.5).unwrap(), 20.0 / 3_150e-6, basis);
}

#[test]
fn one_command_holds_its_row_through_the_flush_of_its_commit() {
    let commands = [timed(1_000.0, 5_000.0)];
    let held = Held::of(&commands, 0, Some(900.0), BEFORE_RUN).unwrap();
    let basis = CeilingBasis::HottestRow { rows: 10.0, locked_us: 500.0, until: LockEnd::CommitFlush };
    check(held.bound(10.0, 1.0).unwrap(), 20_000.0, basis);
    assert_eq!(Held::of(&commands, 0, Some(900.0), None), None, "without a flush nothing is known");
    assert_eq!(Held::of(&commands, 7, None, BEFORE_RUN), None);
}

#[test]
fn of_a_pipeline_only_the_flush_is_known() {
    let text = |text: &str, mean_us: f64| CommandSummary {
        text: text.to_owned(),
        line: 1,
        executions: 100,
        mean_us: Some(mean_us),
        stddev_us: None,
        min_us: Some(mean_us),
        max_us: None,
        latency_us: None,
        failures: 0,
        retries: 0,
        copied: None,
    };
    let script = [
        text("\\StartPipeline", 1.0),
        text("UPDATE t SET a = a + 1;", 1.0),
        text("END;", 1.0),
        text("\\endpipeline", 8_000.0),
        text("SELECT 1;", 100.0),
    ];
    let commands = Timed::of_script(&script);
    assert_eq!(
        commands.iter().map(|it| it.is_in_pipeline).collect::<Vec<_>>(),
        [true, true, true, false, false]
    );
    let held = Held::of(&commands, 1, None, BEFORE_RUN).unwrap();
    assert_eq!(held, Held { us: 500.0, is_one_command: true });
}

#[test]
fn a_command_in_a_branch_counts_as_often_as_it_was_executed() {
    let commands = [
        timed(1_000.0, 1_050.0),
        Timed { executions: 25.0, ..timed(1_000.0, 4_000.0) },
        timed(1_900.0, 2_000.0),
    ];
    let held = Held::of(&commands, 0, None, None).unwrap();
    assert_eq!(held, Held { us: 1_000.0 + 1_900.0, is_one_command: false });
}

#[test]
fn a_flush_serves_as_many_commits_as_were_counted() {
    let known = Flushing {
        transactions: 3_000.0,
        clients: 8.0,
        flushes: Some(1_000.0),
        spent_us: Some(2_000_000.0),
        on_disk_us: Some(500.0),
    };
    let basis = |flush_us, source, transactions_per_flush, sharing| CeilingBasis::Flush {
        flush_us,
        source,
        transactions_per_flush,
        sharing,
    };
    let measured = basis(2_000.0, FlushSource::Server, 3.0, FlushSharing::Average);
    check(flushes(known).unwrap(), 1_500.0, measured);
    let unmeasured = Flushing { spent_us: None, ..known };
    let before = basis(500.0, FlushSource::BeforeRun, 3.0, FlushSharing::Average);
    check(flushes(unmeasured).unwrap(), 6_000.0, before);
    let uncounted = Flushing { flushes: None, ..known };
    let most = basis(500.0, FlushSource::BeforeRun, 8.0, FlushSharing::AllClients);
    check(flushes(uncounted).unwrap(), 16_000.0, most);
    assert_eq!(flushes(Flushing { on_disk_us: None, ..uncounted }), None);
}

#[test]
fn flushes_are_shared_by_the_transactions_of_the_same_statistics() {
    let mut record = observed(&[("IO", "WalSync", 0.5)]);
    let observation = record.observation.as_mut().unwrap();
    assert_eq!(counted_transactions(observation), None, "an older server");
    // The statistics have 1,200 transactions, of which 200 ended before the measured time.
    let values = [("wal_records", 6_000.0), ("wal_sync", 1_200.0), ("wal_sync_time_ms", 2_400.0)];
    let values = values.map(|(column, value)| (column.to_owned(), value)).into();
    let rows = vec![results::CounterRow { key: String::new(), values }];
    observation.counters = vec![results::CounterTable { view: "pg_stat_wal".to_owned(), rows }];
    observation.per_transaction.wal_records = Some(5.0);
    assert_eq!(counted_transactions(observation), Some(1_200.0));
    record.summary.counts.succeeded = 1_000;
    let known = commit_flush(&record).expect("flushes were counted");
    let (tps, _) = flushes(known).expect("a limit");
    assert_eq!(tps, 500.0, "one transaction for each flush of 2 ms");
}

/// A run on two CPUs whose eight backends were seen in these waits.
fn observed(waits: &[(&str, &str, f64)]) -> Record {
    let json = include_bytes!("../../../results/tests/integration/record.json");
    let mut record = Record::from_json(json, std::path::Path::new("record.json")).unwrap();
    record.plan.scripts.iter_mut().for_each(|script| script.contention = None);
    record.plan.clients = 8;
    let wait = |&(event_type, event, share): &(&str, &str, f64)| WaitShare {
        event_type: event_type.to_owned(),
        event: event.to_owned(),
        seen: 100,
        share,
        interval: None,
    };
    record.observation = Some(Observation {
        level: ObserveLevel::Light,
        missing: Vec::new(),
        cost: ObserverCost::default(),
        waits: Some(Waits {
            source: "pg_stat_activity".to_owned(),
            rate_hz: 10.0,
            looks: 100,
            backends_seen: 800,
            method: WaitMethod::PostStratified,
            running_backends: None,
            runnable_backends: None,
            idle_share: 0.05,
            idle_interval: None,
            top: waits.iter().map(wait).collect(),
            scripts: Vec::new(),
        }),
        per_transaction: PerTransaction {
            wal_bytes: Some(600.0),
            backend_user_cpu_us: Some(2_500.0),
            backend_system_cpu_us: Some(500.0),
            ..PerTransaction::default()
        },
        counters: Vec::new(),
        statements: Vec::new(),
        events: Vec::new(),
        samples: Vec::new(),
        backend_memory: None,
        standbys: Vec::new(),
        staleness: None,
        server_cpus_allowed: None,
        ceilings: Vec::new(),
    });
    record
}

fn names(record: &Record) -> Vec<&'static str> {
    ceilings(record).0.iter().map(|ceiling| ceiling.basis.name()).collect()
}

/// The limits of such a run, lowest first.
fn limits(waits: &[(&str, &str, f64)]) -> Vec<&'static str> {
    names(&observed(waits))
}

#[test]
fn backends_that_read_are_limited_by_reads() {
    let waits = [("IO", "DataFileRead", 0.91), ("CPU", "running", 0.09)];
    let mut record = observed(&waits);
    let nearest = ceilings(&record).0[0];
    let CeilingBasis::Reads { clients, read_us, source, .. } = nearest.basis else { panic!("{nearest:?}") };
    assert_eq!((clients, source), (8.0, ReadSource::Waits));
    // Of eight clients, 95 % of the time in a transaction, 91 % of that in reads.
    assert!((nearest.reached_share - 0.95 * 0.91).abs() < 1e-6, "{nearest:?}");
    assert!((8e6 / read_us - nearest.tps).abs() < 1e-6);
    let costs = &mut record.observation.as_mut().unwrap().per_transaction;
    (costs.block_read_us, costs.blocks_read) = (Some(40_000.0), Some(20.0));
    let nearest = ceilings(&record).0[0];
    let basis = CeilingBasis::Reads {
        clients: 8.0,
        read_us: 40_000.0,
        blocks_per_transaction: Some(20.0),
        source: ReadSource::Server,
    };
    assert_eq!((nearest.basis, nearest.tps), (basis, 200.0));
    assert_eq!(limits(&[("IO", "DataFileRead", 0.01), ("CPU", "running", 0.99)]), ["cpu"]);
}

#[test]
fn where_little_ran_no_limit_follows_from_its_cpu_time() {
    let mut record = observed(&[("Timeout", "PgSleep", 0.99), ("CPU", "running", 0.01)]);
    let costs = &mut record.observation.as_mut().unwrap().per_transaction;
    (costs.backend_user_cpu_us, costs.backend_system_cpu_us) = (Some(200.0), Some(50.0));
    let (found, missing) = ceilings(&record);
    let missing: Vec<_> = missing.iter().map(|missing| missing.what.as_str()).collect();
    assert_eq!((found, missing), (Vec::new(), vec![Missing::CPU_CEILING]));
    // Below the least CPU time, the number of running backends says as much.
    let observation = record.observation.as_mut().unwrap();
    observation.per_transaction = PerTransaction::default();
    observation.waits.as_mut().unwrap().running_backends = Some(0.001);
    assert_eq!(ceilings(&record).1.len(), 1);
}

#[test]
fn clients_whose_time_is_on_the_way_wait_for_round_trips() {
    let mut record = observed(&[("CPU", "running", 1.0)]);
    let round_trip_us = 10_600.0;
    let way_us = 10_000.0;
    let generator = record.summary.generator.as_mut().unwrap();
    generator.commands.round_trips = record.summary.counts.succeeded + record.summary.counts.failed;
    generator.verdict.evidence =
        Evidence::OnTheWay { way_us, server_us: 400.0, own_us: 200.0, round_trip_us, idle_share: 0.96 };
    let nearest = ceilings(&record).0.into_iter().find(|it| it.basis.name() == "on_the_way").unwrap();
    let basis = CeilingBasis::OnTheWay { clients: 8.0, round_trips_per_transaction: 1.0, way_us };
    assert_eq!((nearest.basis, nearest.tps), (basis, 800.0));
}

#[test]
fn backends_that_wait_for_wal_are_limited_by_flushes_and_not_by_cpus() {
    let cpu = ("CPU", "running", 0.27);
    let nearest = |waits: &[(&str, &str, f64)]| limits(waits).first().copied();
    assert_eq!(nearest(&[("LWLock", "WALWrite", 0.54), ("IO", "WALSync", 0.19), cpu]), Some("flush_waits"));
    assert_eq!(nearest(&[("LWLock", "WALWriteLock", 0.73), cpu]), Some("flush_waits"), "PostgreSQL 9.6");
    assert_eq!(nearest(&[("IO", "WalSync", 0.73), cpu]), Some("flush_waits"), "PostgreSQL 17");
    assert_eq!(limits(&[("Lock", "transactionid", 0.73), cpu]), ["cpu"]);
    assert_eq!(limits(&[("IO", "WALSync", 0.001), ("CPU", "running", 0.9)]), ["cpu", "flush_waits"]);
}

#[test]
fn clients_far_away_wait_for_their_round_trips() {
    let basis =
        CeilingBasis::RoundTrips { clients: 8.0, round_trips_per_transaction: 7.0, round_trip_us: 1_000.0 };
    check(distance(8.0, 7.0, 1_000.0), 1_142.9, basis);
}

#[test]
fn processors_are_shared_by_server_and_client() {
    let both = Processors {
        of_host: 2.0,
        of_server: Some(2.0),
        of_pgmeter: None,
        server_us: 150.0,
        pgmeter_us: 50.0,
        pooler_us: None,
    };
    let basis =
        |cpus, of| CeilingBasis::Cpu { cpus, of, server_us: 150.0, pgmeter_us: 50.0, pooler_us: None };
    check(both.bound(), 10_000.0, basis(2.0, CpuOwner::Host));
    let quota = Processors { of_server: Some(0.5), ..both };
    check(quota.bound(), 3_333.3, basis(0.5, CpuOwner::Server));
    let pinned = Processors { of_pgmeter: Some(0.25), ..both };
    check(pinned.bound(), 5_000.0, basis(0.25, CpuOwner::Pgmeter));
    let pooled = Processors { pooler_us: Some(200.0), ..both };
    assert!((pooled.bound().0 - 5_000.0).abs() < 0.5, "the pooler uses the host's processors too");
}
