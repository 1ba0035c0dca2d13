//! What the kernel tells of statements (through pg_stat_kcache) and of backends (in `/proc`): CPU time, and what came from
//! disks. A table that was removed from all caches is read from disk; where nothing ever comes from disk, the tests say so.

use std::time::Duration;

use connect::Session;
use pgmeter_observe::{Observer, Ran, cpu_s};
use results::{Observation, StatementCounters};
use testkit::cluster::{Cluster, FEW_BUFFERS};
use testkit::extent::choose;

use super::{client, observer, sleep_until, target};

const SUM: &str = "select sum(sqrt(i)) from generate_series(1, 1000000) as i";
const SCAN: &str = "select count(*) from cold";
const BLOCK_BYTES: f64 = 8192.0;

/// Of 16 MB, without parallel workers.
fn create_table(conninfo: &str) {
    let rows = "create table cold with (parallel_workers = 0) as select i, repeat('x', 500) as filler from \
                generate_series(1, 30000) as i";
    let mut session = client(conninfo);
    session.execute(rows).unwrap();
    session.execute("vacuum freeze cold").unwrap();
}

/// Until the observer has read a backend over more than half of the time, also on a busy machine.
const UNTIL_READ: &str = "select pg_sleep(3)";

/// The observation of these statements, and the CPU time of their backend in milliseconds.
fn observed(conninfo: &str, statements: &[&str]) -> (Observation, f64) {
    observed_until(conninfo, statements, UNTIL_READ)
}

/// The same, after a last statement.
fn observed_until(conninfo: &str, statements: &[&str], last: &str) -> (Observation, f64) {
    let observer = observer(conninfo, &[SUM, SCAN]);
    // Usage counts from the first reading of the measured time, so the backend exists before it, as in a run.
    let mut session = client(conninfo);
    let begun = Observer::now();
    observer.measure_from(begun);
    sleep_until(&observer, &mut session, |waits| !waits.is_empty());
    let pid = session.cancel_key().process_id;
    let before = cpu_s(pid).unwrap();
    for sql in statements {
        session.execute(sql).unwrap();
    }
    let cpu_ms = (cpu_s(pid).unwrap() - before) * 1e3;
    session.execute(last).unwrap();
    drop(session);
    let measured_s = Duration::as_secs_f64(&(Observer::now() - begun));
    (observer.finish(Ran { measured_s, transactions: 1, warmup_transactions: 0 }), cpu_ms)
}

fn why(observation: &Observation, what: &str) -> String {
    let missing = observation.missing.iter().find(|missing| missing.what == what);
    missing.map(|missing| missing.why.as_str().to_owned()).unwrap_or_default()
}

fn statement<'a>(observation: &'a Observation, beginning: &str) -> &'a StatementCounters {
    let mut statements = observation.statements.iter();
    let found = statements.find(|statement| statement.query.as_str().starts_with(beginning));
    found.unwrap_or_else(|| panic!("no {beginning} in {:?}", observation.statements))
}

fn has_kcache(observation: &Observation) -> bool {
    observation.statements.iter().any(|statement| statement.values.contains_key("user_cpu_ms"))
}

/// Prints that nothing came from disk, if so.
#[expect(clippy::print_stderr, reason = "whoever reads the log should know that this was not tested")]
fn comes_from_disk(bytes: f64) -> bool {
    if bytes == 0.0 {
        eprintln!("SKIPPED: a table that the system should have forgotten was not read from disk here");
    }
    bytes > 0.0
}

#[expect(clippy::print_stderr, reason = "whoever reads the log should know that this was not tested")]
fn kcache(settings: &[(&str, &str)]) -> Option<Cluster> {
    let cluster = Cluster::start_with_kcache(settings);
    if cluster.is_none() {
        eprintln!("SKIPPED: no PostgreSQL of Debian's packages has pg_stat_kcache, so it was not read");
    }
    cluster
}

fn extensions(conninfo: &str, version: &str) -> Session {
    let mut session = client(conninfo);
    session.execute("create extension pg_stat_statements").unwrap();
    session.execute(&format!("create extension pg_stat_kcache{version}")).unwrap();
    session
}

#[test]
fn each_version_of_pg_stat_kcache_tells_cpu_times_and_where_blocks_were() {
    let Some(cluster) = kcache(&[]) else { return };
    for version in [" version '2.1.3'", ""].into_iter().skip(choose(1, 0)) {
        let conninfo = cluster.database("kcache");
        create_table(&conninfo);
        extensions(&conninfo, version);
        let table_bytes = cluster.forget(&conninfo, "cold") as f64;
        let (observation, cpu_ms) = observed(&conninfo, &[SUM, SUM, SCAN]);
        assert_eq!(why(&observation, "pg_stat_kcache"), "", "{version}");
        let sum = statement(&observation, "select sum").values.clone();
        assert_eq!(sum["calls"], 2.0, "{version}");
        // Of the same backend by the kernel's scheduler, with parsing, planning and the scan.
        let counted_ms = sum["user_cpu_ms"] + sum["system_cpu_ms"];
        assert!(
            counted_ms < 1.02 * cpu_ms && counted_ms > 0.5 * cpu_ms,
            "{counted_ms} of {cpu_ms} ms: {sum:?}"
        );
        let scan = statement(&observation, "select count");
        let read = scan.values["disk_read_bytes"];
        assert!((scan.values["disk_read_blks"] * BLOCK_BYTES - read).abs() < 1.0, "{scan:?}");
        let found = scan.block_sources().unwrap();
        assert!((found.all() - table_bytes / BLOCK_BYTES).abs() < 2.0, "{found:?} of {table_bytes} bytes");
        if comes_from_disk(read) {
            assert!(read > 0.9 * table_bytes && found.disk > 0.9 * found.all(), "{found:?}, {read} bytes");
        }
        let (again, _) = observed(&conninfo, &[SCAN, SCAN]);
        let found = statement(&again, "select count").block_sources().unwrap();
        assert!(found.system_cache > 0.9 * found.all() && found.disk < 0.1 * found.all(), "{found:?}");
    }
}

#[test]
fn why_pg_stat_kcache_is_not_read_is_said_once() {
    let Some(cluster) = kcache(&[]) else { return };
    cluster.execute("create role reader login; create role owner_of_it login");
    let conninfo = cluster.database("refused");
    let as_reader = conninfo.replace("user=postgres", "user=reader");
    let mut superuser = client(&conninfo);
    superuser.execute("create extension pg_stat_statements").unwrap();
    let refused = |conninfo: &str| {
        // Nothing is read of the backend.
        let (observation, _) = observed_until(conninfo, &["select 1"], "select 1");
        assert!(!has_kcache(&observation), "{:?}", observation.statements);
        assert!(observation.missing.iter().filter(|it| it.what == "pg_stat_kcache").count() == 1);
        why(&observation, "pg_stat_kcache")
    };
    assert!(refused(&conninfo).contains("CREATE EXTENSION pg_stat_kcache"));
    superuser.execute("create extension pg_stat_kcache").unwrap();
    superuser.execute("revoke execute on function pg_stat_kcache() from public").unwrap();
    let why = refused(&as_reader);
    assert!(why.contains("GRANT EXECUTE ON FUNCTION pg_stat_kcache()"), "{why}");
    let moved =
        "create schema theirs authorization owner_of_it; alter extension pg_stat_kcache set schema theirs";
    superuser.execute(moved).unwrap();
    let why = refused(&conninfo);
    assert!(why.contains("owner_of_it") && why.contains("ALTER EXTENSION pg_stat_kcache"), "{why}");
    let database = target(&conninfo).database;
    superuser.execute(&format!("alter database {database} set pg_stat_kcache.track = 'none'")).unwrap();
    superuser.execute("alter extension pg_stat_kcache set schema public").unwrap();
    let why = refused(&conninfo);
    assert!(why.contains("pg_stat_kcache.track is none"), "{why}");
}

#[test]
fn elapsed_time_of_short_statements_is_not_taken_for_cpu_time() {
    let Some(cluster) = kcache(&[("pg_stat_kcache.linux_hz", "1")]) else { return };
    let conninfo = cluster.database("coarse");
    create_table(&conninfo);
    extensions(&conninfo, "");
    let (observation, _) = observed(&conninfo, &[SCAN]);
    let scan = statement(&observation, "select count");
    assert!(
        !scan.values.contains_key("user_cpu_ms") && scan.values.contains_key("disk_read_bytes"),
        "{scan:?}"
    );
    let why = why(&observation, "CPU time of short statements");
    assert!(why.contains("less than 3000 ms") && why.contains("pg_stat_kcache.linux_hz"), "{why}");
}

#[test]
fn without_the_extension_the_kernel_tells_what_the_run_read_from_disk() {
    // Version 18 reads in processes of its own, and 13 in the backends.
    for version in Cluster::versions(["13", "18"]) {
        let cluster = Cluster::start_with(version, &[FEW_BUFFERS]);
        let conninfo = cluster.database("disk");
        create_table(&conninfo);
        let table_bytes = cluster.forget(&conninfo, "cold") as f64;
        // So often that the blocks of a session's start do not matter. Only the first scan reads from disk.
        let (observation, _) = observed(&conninfo, &[SCAN; 4]);
        assert!(!observation.missing.iter().any(|it| it.what == "pg_stat_kcache"), "{version}");
        let cost = observation.per_transaction;
        let read = cost.backend_read_bytes.unwrap();
        assert!((cost.disk_blocks_read.unwrap() * BLOCK_BYTES - read).abs() < 1.0, "{version}: {cost:?}");
        let found = cost.block_sources().unwrap();
        assert!(found.all() > table_bytes / BLOCK_BYTES, "{version}: {found:?}");
        if comes_from_disk(read) {
            assert!(read > 0.9 * table_bytes, "{version}: {read} of {table_bytes} bytes");
            let over_time: f64 =
                observation.samples.iter().filter_map(|it| it.values.get("backend_read_bytes")).sum();
            assert!(over_time > 0.9 * table_bytes, "{version}: {over_time} of {table_bytes} bytes");
        }
    }
}
