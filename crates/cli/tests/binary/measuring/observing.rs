//! `--observe`: what a record says of the server, on the newest and an old major version.
//! What single views say is tested in `observe`.

use std::fs;
use std::path::Path;

use results::{BackendMemory, CeilingBasis, ObserveLevel, WaitMethod};
use testkit::cluster::Cluster;
use testkit::extent::choose;

use crate::harness::Bench;

#[test]
fn a_record_says_what_the_server_was_doing() {
    for version in Cluster::versions(["18", "9.6"]) {
        let bench = Bench::new();
        let conninfo = Cluster::shared(version).database("observed");
        bench.run(["init", "--scale", "1", "-I", "dtGvp", &conninfo]).exits(0);
        bench.run(["bench", "-c", "4", "-T", "2", "--warmup", "1", &conninfo]).exits(0);
        let record = bench.record();
        let observation = record.observation.expect("it is observed by default");
        assert_eq!(observation.level, ObserveLevel::Light);
        let waits = observation.waits.expect("the benchmark's backends can be seen");
        assert!(waits.looks > 0 && waits.backends_seen >= waits.looks, "{version}: {waits:?}");
        let by_cpu_time = if version == "9.6" { WaitMethod::Samples } else { WaitMethod::PostStratified };
        assert_eq!(waits.method, by_cpu_time, "{version}: {:?}", observation.missing);
        let shares: f64 = waits.top.iter().map(|wait| wait.share).sum();
        assert!((shares - 1.0).abs() < 1e-9, "{version}: {waits:?}");
        let running = waits.top.iter().find(|wait| wait.event == "running").map_or(0.0, |wait| wait.share);
        if let Some(backends) = waits.running_backends {
            // Each share is of the time that backends were not idle; a look may miss one that has ended or not begun.
            let seen = waits.backends_seen as f64 / waits.looks as f64;
            let busy = seen * (1.0 - waits.idle_share);
            assert!(backends > 0.0 && (running * busy - backends).abs() < 0.01, "{version}: {waits:?}");
        }
        let (first, last) = (&observation.samples[0], observation.samples.last().expect("there are some"));
        assert!(first.start_s < 0.0 && last.end_s > 1.0, "{version}");
        let cost = observation.per_transaction;
        assert!(cost.wal_bytes.is_some_and(|bytes| bytes > 100.0), "{version}: {cost:?}");
        // Backends that wait for a processor report their blocks so late that there is a reason instead of a figure.
        let is_late = observation.missing.iter().any(|missing| missing.what == "blocks_hit, blocks_read");
        assert!(cost.blocks_hit.map_or(is_late, |blocks| blocks > 5.0), "{version}: {cost:?}");
        // Each has a session of some megabytes; shared buffers are larger.
        let is_hidden = observation.missing.iter().any(|missing| missing.what.starts_with("/proc"));
        let is_memory = |memory: &BackendMemory| {
            (1..=4).contains(&memory.backends) && (1e5..2e7).contains(&memory.mean_bytes())
        };
        let memory = observation.backend_memory;
        assert!(memory.as_ref().map_or(is_hidden, is_memory), "{version}: {memory:?}");
        assert!(observation.ceilings.windows(2).all(|pair| pair[0].tps <= pair[1].tps));
        // One branch for four clients: the run comes as near to a ceiling as any.
        let exceeded: Vec<_> = observation.ceilings.iter().filter(|it| it.is_exceeded()).collect();
        assert!(exceeded.is_empty(), "{version}: {exceeded:?}");
    }
}

/// The scripts of the shipped experiments that say which rows their transactions compete for, each with its setup, and
/// with the protocol after a change.
const SHIPPED: [[&str; 3]; 4] = [
    ["interface/function.sql", "interface/function_setup.sql", "prepared"],
    ["interface/batch.sql", "interface/batch_setup.sql", "simple"],
    ["interface/batch_client.sql", "interface/batch_setup.sql", "prepared"],
    ["tpcb-profile/tpcb.sql", "", "simple"],
];

#[test]
fn no_shipped_script_exceeds_its_ceilings() {
    // Flushes are real ones: the ceiling of one command is that of the flush of its commit.
    let cluster = Cluster::start_with(
        "18",
        &[("fsync", "on"), ("synchronous_commit", "on"), ("track_wal_io_timing", "on")],
    );
    let conninfo = cluster.database("shipped");
    Bench::new().run(["init", "--scale", "1", "-I", "dtGp", &conninfo]).exits(0);
    let experiments = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    for [name, setup, protocol] in SHIPPED {
        if !setup.is_empty() {
            let sql = fs::read_to_string(experiments.join(setup)).expect("it is shipped");
            Cluster::session(&conninfo).execute(&sql).expect("its setup");
        }
        let file = experiments.join(name).display().to_string();
        let protocols = choose(vec![protocol], vec!["simple", "prepared"]);
        for protocol in protocols {
            let bench = Bench::new();
            let words =
                ["bench", "-n", "-s", "1", "-c", "8", "-T", "1", "-M", protocol, "-f", &file, &conninfo];
            bench.run(words).exits(0);
            let ceilings = bench.record().observation.expect("it is observed by default").ceilings;
            let has_row = ceilings.iter().any(|it| matches!(it.basis, CeilingBasis::HottestRow { .. }));
            assert!(has_row, "{name}: {ceilings:?}");
            let exceeded: Vec<_> = ceilings.iter().filter(|it| it.is_exceeded()).collect();
            assert!(exceeded.is_empty(), "{name}, {protocol}: {exceeded:?}");
        }
    }
}

#[test]
fn the_cpu_time_of_parallel_workers_is_that_of_the_transactions() {
    let conninfo = Cluster::shared("18").database("workers");
    let rows = "CREATE TABLE numbers AS SELECT i::float8 AS x FROM generate_series(1, 100000) i";
    let mut session = Cluster::session(&conninfo);
    session.execute(rows).expect("it is made");
    session.execute("VACUUM ANALYZE numbers").expect("it is vacuumed");
    let cpu_us = |options: &str| {
        let bench = Bench::new();
        let script = bench.file("sum.sql", "SELECT sum(sqrt(x) * ln(x)) FROM numbers;\n\\sleep 40 ms\n");
        let mut command = bench.command(["bench", "-n", "-T", "4", "-f", script, &conninfo]);
        crate::harness::finish(command.env("PGOPTIONS", options)).exits(0);
        let cost = bench.record().observation.expect("it was observed").per_transaction;
        cost.backend_user_cpu_us.expect("it is read")
    };
    let alone = cpu_us("-c max_parallel_workers_per_gather=0");
    // The workers do all of the work.
    let shared = cpu_us(
        "-c max_parallel_workers_per_gather=2 -c parallel_setup_cost=0 -c parallel_tuple_cost=0 \
         -c min_parallel_table_scan_size=0 -c parallel_leader_participation=off",
    );
    assert!(shared > 0.6 * alone, "{shared} µs with workers, {alone} µs without");
}

#[test]
#[expect(clippy::print_stderr, reason = "whoever reads the log should know that this was not tested")]
fn where_pg_wait_sampling_counts_waits_its_counts_are_used() {
    let Some(cluster) = Cluster::start_with_library("pg_wait_sampling") else {
        eprintln!("SKIPPED: no PostgreSQL of Debian's packages has pg_wait_sampling, so nothing is compared");
        return;
    };
    let conninfo = cluster.database("sampled");
    let nap = "SELECT pg_sleep(0.005);";
    let run = |more: &[&str]| {
        let bench = Bench::new();
        let script = bench.file("nap.sql", nap);
        let flags = ["bench", "-n", "-c", "2", "-T", "1", "-f", script, &conninfo];
        bench.run(flags.iter().chain(more)).exits(0);
        let observation = bench.record().observation.expect("it is observed by default");
        let why = observation.missing.iter().find(|missing| missing.what == "pg_wait_sampling");
        (why.map(|missing| missing.why.as_str().to_owned()), observation.waits.expect("they can be seen"))
    };
    let (why, waits) = run(&[]);
    assert_eq!(waits.source, "pg_stat_activity");
    assert!(why.is_some_and(|why| why.contains("CREATE EXTENSION pg_wait_sampling")));

    Cluster::session(&conninfo).execute("create extension pg_wait_sampling").expect("it is installed");
    let (why, waits) = run(&[]);
    assert_eq!((waits.source.as_str(), why), ("pg_wait_sampling", None));
    assert!(waits.looks > 0 && waits.rate_hz > 0.0, "{waits:?}");
    assert!(waits.backends_seen <= 2 * waits.looks, "each is counted once at a look: {waits:?}");
    assert_eq!(waits.top.first().map(|wait| wait.event.as_str()), Some("PgSleep"), "{waits:?}");
    assert_eq!(waits.scripts[0], waits.top);

    let (why, waits) = run(&["-C"]);
    assert_eq!(waits.source, "pg_stat_activity");
    assert!(why.is_some_and(|why| why.contains("a connection for each transaction")));
}
