//! `--observe`: what a record says of the server, on the newest and an old major version.
//! What single views say is tested in `observe`.

use std::fs;
use std::path::Path;

use results::{CeilingBasis, ObserveLevel, WaitMethod};
use testkit::cluster::Cluster;

use crate::harness::Bench;

#[test]
fn a_record_says_what_the_server_was_doing() {
    for version in ["18", "9.6"] {
        let bench = Bench::new();
        let conninfo = Cluster::shared(version).database("observed");
        bench.run(["init", "--scale", "1", &conninfo]).exits(0);
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
        assert!(cost.blocks_hit.is_some_and(|blocks| blocks > 5.0), "{version}: {cost:?}");
        assert!(observation.ceilings.windows(2).all(|pair| pair[0].tps <= pair[1].tps));
        // One branch for four clients: the run comes as near to a ceiling as any.
        let exceeded: Vec<_> = observation.ceilings.iter().filter(|it| it.is_exceeded()).collect();
        assert!(exceeded.is_empty(), "{version}: {exceeded:?}");
    }
}

/// The scripts of the shipped experiments that say which rows their transactions compete for, each with its setup.
const SHIPPED: [[&str; 2]; 4] = [
    ["interface/function.sql", "interface/function_setup.sql"],
    ["interface/batch.sql", "interface/batch_setup.sql"],
    ["interface/batch_client.sql", "interface/batch_setup.sql"],
    ["tpcb-profile/tpcb.sql", ""],
];

#[test]
fn no_shipped_script_exceeds_its_ceilings() {
    // Flushes are real ones: the ceiling of one command is that of the flush of its commit.
    let cluster = Cluster::start_with(
        "18",
        &[("fsync", "on"), ("synchronous_commit", "on"), ("track_wal_io_timing", "on")],
    );
    let conninfo = cluster.database("shipped");
    Bench::new().run(["init", "--scale", "2", &conninfo]).exits(0);
    let experiments = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    for [name, setup] in SHIPPED {
        if !setup.is_empty() {
            let sql = fs::read_to_string(experiments.join(setup)).expect("it is shipped");
            Cluster::session(&conninfo).execute(&sql).expect("its setup");
        }
        let file = experiments.join(name).display().to_string();
        for protocol in ["simple", "prepared"] {
            let bench = Bench::new();
            let words =
                ["bench", "-n", "-s", "2", "-c", "8", "-T", "2", "-M", protocol, "-f", &file, &conninfo];
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
fn sessions_have_a_name_of_their_run_unless_the_user_names_them() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("names");
    let script =
        |pattern: &str| format!("SELECT 1 / (current_setting('application_name') ~ '{pattern}')::int;");
    let own = bench.file("own.sql", &script("^pgmeter [0-9a-f]{16}$"));
    bench.run(["bench", "-n", "-t", "1", "-f", own, &conninfo]).exits(0);
    let given = bench.file("given.sql", &script("^mine$"));
    let named = format!("{conninfo} application_name=mine");
    bench.run(["bench", "-n", "-t", "1", "-f", given, &named]).exits(0);
}

#[test]
fn with_a_connection_for_each_transaction_waits_are_those_of_the_samples() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("reconnecting");
    let script = bench.file("nap.sql", "SELECT pg_sleep(0.05);");
    bench.run(["bench", "-n", "-C", "-c", "2", "-T", "1", "-f", script, &conninfo]).exits(0);
    let observation = bench.record().observation.expect("it is observed by default");
    assert_eq!(observation.waits.expect("they can be seen").method, WaitMethod::Samples);
    let why = observation.missing.iter().find(|missing| missing.what == "running share by CPU time");
    assert!(why.is_some_and(|missing| missing.why.as_str().contains("a connection for each transaction")));
}

#[test]
fn the_cpu_time_of_parallel_workers_is_that_of_the_transactions() {
    let conninfo = Cluster::shared("18").database("workers");
    let rows = "CREATE TABLE numbers AS SELECT i::float8 AS x FROM generate_series(1, 300000) i";
    let mut session = Cluster::session(&conninfo);
    session.execute(rows).expect("it is made");
    session.execute("VACUUM ANALYZE numbers").expect("it is vacuumed");
    let cpu_us = |options: &str| {
        let bench = Bench::new();
        let script = bench.file("sum.sql", "SELECT sum(sqrt(x) * ln(x)) FROM numbers;\n");
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
fn whoever_does_not_want_to_be_observed_is_not() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("unobserved");
    bench.run(["init", "--scale", "1", &conninfo]).exits(0);
    bench.run(["bench", "-t", "5", "--observe", "off", &conninfo]).exits(0);
    assert_eq!(bench.record().observation, None);
}

#[test]
fn an_observer_gives_its_connection_away_to_a_client() {
    let bench = Bench::new();
    let cluster =
        Cluster::start_with("18", &[("max_connections", "8"), ("superuser_reserved_connections", "0")]);
    let conninfo = cluster.database("crowded");
    bench.run(["init", "--scale", "1", "-j", "1", &conninfo]).exits(0);
    let crowded = |clients: &str, conninfo: &str, limit: &str| {
        let report = bench.run(["bench", "-t", "5", "-S", "-n", "-c", clients, conninfo]).exits(0).stdout;
        let report = report.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = format!("no connection was left for observing, because {limit} was reached");
        assert!(report.contains(&said), "{report}");
    };
    crowded("8", &conninfo, "the server's max_connections");
    let mut session = Cluster::session(&conninfo);
    let grant =
        "create role few login connection limit 3; grant select on all tables in schema public to few";
    session.execute(grant).expect("a role");
    let of_few = conninfo.replace("user=postgres", "user=few");
    assert_ne!(of_few, conninfo);
    crowded("3", &of_few, "the role's CONNECTION LIMIT");
    let limit =
        "do $$ begin execute format('alter database %I connection limit 4', current_database()); end $$";
    session.execute(limit).expect("a limit");
    session.execute("alter role few connection limit -1").expect("no limit");
    // One of the four is this session.
    crowded("3", &of_few, "the database's CONNECTION LIMIT");
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
