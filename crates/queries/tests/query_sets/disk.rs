//! Where queries find their blocks: the kernel tells what came from disk, also for parallel workers and for the server's I/O
//! workers; through a pooler, which hides the backend, pg_stat_kcache does.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use connect::{ConnectError, Environment, Overrides, Session, Target, resolve};
use pgmeter_queries::{Meter, timed};
use results::{BlockSources, SafeText, StepTime};
use testkit::cluster::{Cluster, FEW_BUFFERS};
use testkit::pooler::PgBouncer;

const SCAN: &str = "select count(*) from cold";
const BLOCK_BYTES: u64 = 8192;
/// Of this many scans, one finds the table in the system's cache.
const WARM_SCANS: usize = 20;

fn target(conninfo: &str) -> Target {
    resolve(Some(conninfo), &Overrides::default(), &Environment::default()).expect("valid")
}

/// Of 16 MB.
fn create_table(session: &mut Session) {
    let rows =
        "create table cold as select i, repeat('x', 500) as filler from generate_series(1, 30000) as i";
    session.execute(rows).expect("it is made");
    session.execute("vacuum freeze analyze cold").expect("it is vacuumed");
}

/// One execution of the scan.
fn scan(session: &mut Session, meter: &mut Meter) -> StepTime {
    let work = |session: &mut Session| session.execute(SCAN).map(|_| None::<Duration>);
    let outcome = timed::<ConnectError>(session, None, true, meter, &AtomicBool::new(false), work);
    let time = outcome.into_time(None);
    assert_eq!(time.error, None);
    time
}

#[expect(clippy::print_stderr, reason = "whoever reads the log should know that this was not tested")]
fn skipped(why: &str) {
    eprintln!("SKIPPED: {why}");
}

/// A cold execution and a second one, with the notes.
fn check(cluster: &Cluster, conninfo: &str, measured: &mut Session) -> Vec<String> {
    let mut meter = Meter::new(measured);
    let table_blocks = cluster.forget(conninfo, "cold") / BLOCK_BYTES;
    let cold = scan(measured, &mut meter);
    let found = cold.buffers.sources().expect("blocks were read");
    assert!(found.all() >= table_blocks as f64, "{found:?} of {table_blocks}");
    if cold.buffers.disk == Some(0) {
        skipped("a table that the system should have forgotten was not read from disk here");
    } else {
        assert!(found.disk > 0.9 * table_blocks as f64, "{found:?} of {table_blocks}");
    }
    // A system that needs memory, or that gives back pages early, drops some between two scans.
    let mut warm = || scan(measured, &mut meter).buffers.sources().expect("blocks were read");
    let is_warm =
        |found: &BlockSources| found.disk < 0.1 * found.all() && found.system_cache > 0.5 * found.all();
    let scans: Vec<BlockSources> =
        (0..WARM_SCANS).map(|_| warm()).take_while(|found| !is_warm(found)).collect();
    assert!(scans.len() < WARM_SCANS, "{scans:?}");
    assert!(cold.backend_user_us.is_some() && cold.backend_system_us.is_some(), "{cold:?}");
    meter.into_notes().iter().map(|note| note.as_str().to_owned()).collect()
}

#[test]
fn blocks_that_come_from_disk_are_told_from_those_in_the_systems_cache() {
    for version in Cluster::versions(["9.6", "13", "18"]) {
        let cluster = Cluster::start_with(version, &[FEW_BUFFERS]);
        let conninfo = cluster.database("disk");
        let mut measured = Session::connect(&target(&conninfo)).expect("it is there");
        create_table(&mut measured);
        for settings in [
            "set max_parallel_workers_per_gather = 0",
            "set max_parallel_workers_per_gather = 2; set parallel_setup_cost = 0",
        ] {
            measured.execute(settings).expect("they are known");
            let notes = check(&cluster, &conninfo, &mut measured);
            assert!(!notes.iter().any(|note| note.contains("disk")), "{version}: {notes:?}");
        }
    }
}

#[test]
fn where_the_backend_is_not_seen_pg_stat_kcache_tells_it() {
    let Some(cluster) = Cluster::start_with_kcache(&[]) else {
        return skipped("no PostgreSQL of Debian's packages has pg_stat_kcache");
    };
    let Some(mut pooler) = PgBouncer::start(&cluster) else {
        return skipped("there is no pgbouncer to hide the backend");
    };
    let database = target(&pooler.conninfo()).database;
    let direct = format!("{} dbname={database}", cluster.database("beside"));
    let mut measured = pooler.session();
    create_table(&mut measured);
    let mut meter = Meter::new(&mut measured);
    assert_eq!(scan(&mut measured, &mut meter).buffers.disk, None);
    let notes = meter.into_notes();
    let is_of_disk = |note: &&SafeText| note.as_str().contains("blocks read from disk");
    let note = notes.iter().find(is_of_disk).expect("it is missing").as_str();
    assert!(note.contains("run CREATE EXTENSION pg_stat_kcache"), "{note}");
    measured.execute("create extension pg_stat_statements").expect("it is installed");
    measured.execute("create extension pg_stat_kcache").expect("it is installed");
    let notes = check(&cluster, &direct, &mut measured);
    assert!(
        notes.iter().any(|note| note.starts_with("CPU time is that of the statements by pg_stat_kcache"))
    );
    assert!(!notes.iter().any(|note| note.contains("not available: CPU time")), "{notes:?}");
}
