//! Loadings of generated rows that end early: a user stops them, a connection is lost while rows are copied, or the disk
//! is full. The tables are then the same as after a loading that nothing disturbs.

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;

use pgmeter_workload::{InitOptions, InitProgress, Workload, WorkloadError, loaded};
use testkit::cluster::Cluster;
use testkit::extent;
use testkit::small_disk::SmallDisk;

use crate::generated::{
    check_two_chunks, folder, keys, load, many_orders, open, rows, scaled, sorted_schema,
};
use crate::harness::{LOCKS, NEWEST, OLDEST, lines, session, target};

/// Set where a full disk must be tried.
const MOUNT_REQUIRED: &str = "PGMETER_TEST_MOUNT";
/// A disk for a small database.
const DISK_MIB: u32 = 32;

/// Customers whose orders are loaded in two chunks by several connections.
pub(crate) const TWO_CHUNKS: f64 = 1000.0;

/// The rows and keys of so many customers with their orders, after a loading that nothing disturbs.
pub(crate) fn undisturbed() -> &'static (Vec<String>, Vec<String>) {
    static LOADED: OnceLock<(Vec<String>, Vec<String>)> = OnceLock::new();
    LOADED.get_or_init(|| {
        let mut session = session(NEWEST, "undisturbed");
        check_two_chunks(&mut session, 2)
    })
}

#[test]
fn an_interrupted_loading_is_continued_where_it_was() {
    check_interrupted(&many_orders(), TWO_CHUNKS, &["rows"], undisturbed());
    let mut whole = session(NEWEST, "resume_whole");
    load(&open(&folder(&sorted_schema(), &[])), &mut whole, &scaled(500.0)).expect("it is loaded");
    let expected = (rows(&mut whole), keys(&mut whole));
    let stops = ["keys", "foreign keys", "vacuum"];
    // After a change, one loading is stopped at all of them.
    for stops in stops.chunks(extent::choose(stops.len(), 1)) {
        check_interrupted(&sorted_schema(), 500.0, stops, &expected);
    }
}

/// Stops a loading of so many customers at one place after the other, and continues it.
fn check_interrupted(schema: &str, customers: f64, stops: &[&str], expected: &(Vec<String>, Vec<String>)) {
    let folder = folder(schema, &[]);
    let own = open(&folder);
    let options = InitOptions { jobs: 2, ..scaled(customers) };
    let scale = customers / 100.0;
    let mut session = session(NEWEST, "resume");
    let target = target(&mut session);
    for (number, &stop_at) in stops.iter().enumerate() {
        let mut is_reached = false;
        let options = InitOptions { resumes: number > 0, ..options.clone() };
        let stopped = own.load(&target, &mut session, &options, &mut |progress| {
            match progress {
                InitProgress::Rows { done, .. } if stop_at == "rows" => is_reached |= done > 20_000,
                InitProgress::Finished(step) => is_reached |= step.name == stop_at,
                _ => {}
            }
            if is_reached { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if stop_at != "vacuum" {
            assert!(matches!(stopped, Err(WorkloadError::Interrupted { .. })), "{stop_at}: {stopped:?}");
            let error = own.find_tables(&mut session).expect_err("incomplete").to_string();
            assert!(error.contains("not completely loaded"), "{error}");
            let other = InitOptions { resumes: true, jobs: 2, ..scaled(customers + 100.0) };
            let error = load(&own, &mut session, &other).expect_err("another scale").to_string();
            let told = format!("same options, but --scale was {scale} and is now {}; omit", scale + 1.0);
            assert!(error.contains(&told), "{error}");
        }
    }
    load(&own, &mut session, &InitOptions { resumes: true, jobs: 1, ..options.clone() }).expect("the rest");
    assert_eq!(&(rows(&mut session), keys(&mut session)), expected, "{stops:?}");
    assert!(loaded(&mut session, &own).expect("an answer").expect("tables").complete);
    let again = load(&own, &mut session, &InitOptions { resumes: true, ..options.clone() });
    let again = again.expect("nothing to do");
    let told = format!("nothing was missing: the tables are loaded at scale {scale}");
    assert_eq!(again.summary(options.scale), told);
}

/// Versions and numbers of connections. The session of the caller is always one of those that load.
fn some_jobs() -> &'static [(&'static str, u32)] {
    extent::choose(&[(NEWEST, 3)], &[(NEWEST, 1), (NEWEST, 3), (OLDEST, 2)])
}

#[test]
fn a_connection_that_is_lost_in_a_chunk_repeats_this_chunk() {
    let folder = folder(&many_orders(), &[]);
    let own = open(&folder);
    for &(major, jobs) in some_jobs() {
        let options = InitOptions { jobs, ..scaled(TWO_CHUNKS) };
        let conninfo = Cluster::shared(major).database("lost_chunk");
        let mut session = Cluster::session(&conninfo);
        let target = target(&mut session);
        let end = "select count(pg_terminate_backend(pid)) from pg_stat_activity where query like 'copy %orders%' \
                   and state = 'active' and datname = current_database() and pid <> pg_backend_pid()";
        let (mut ended, mut lost) = (0, Vec::new());
        let told = &mut |progress: InitProgress<'_>| {
            match progress {
                InitProgress::Rows { done, .. } if done > 8_000 && ended == 0 => {
                    let count = lines(&mut Cluster::session(&conninfo), end).remove(0);
                    ended = count.parse().expect("a number");
                }
                InitProgress::Lost { doing, .. } => lost.push(doing.to_owned()),
                _ => {}
            }
            ControlFlow::Continue(())
        };
        own.load(&target, &mut session, &options, told).expect("the connections are made again");
        assert_ne!(ended, 0, "{major}, {jobs} jobs");
        assert!(lost.contains(&"loading public.orders".to_owned()), "{lost:?}");
        assert_eq!(&(rows(&mut session), keys(&mut session)), undisturbed(), "{major}, {jobs} jobs");
        assert_eq!(lines(&mut session, LOCKS), ["0"]);
    }
}

#[test]
fn a_loading_that_has_lost_its_lock_does_not_write_into_the_tables_of_another_one() {
    let folder = folder(&many_orders(), &[]);
    let own = open(&folder);
    for &(major, jobs) in some_jobs() {
        let options = InitOptions { jobs, ..scaled(TWO_CHUNKS) };
        let conninfo = Cluster::shared(major).database("lost_lock");
        let mut first = Cluster::session(&conninfo);
        let target = target(&mut first);
        let mut second = None;
        let told = &mut |progress: InitProgress<'_>| {
            if matches!(progress, InitProgress::Rows { done, .. } if done > 8_000) && second.is_none() {
                let end = "select count(pg_terminate_backend(l.pid)) from pg_locks l join pg_database d \
                           on d.oid = l.database where locktype = 'advisory' and datname = current_database()";
                let mut session = Cluster::session(&conninfo);
                assert_eq!(lines(&mut session, end), ["1"]);
                second = Some(load(&own, &mut session, &options));
            }
            ControlFlow::Continue(())
        };
        let first = own.load(&target, &mut first, &options, told);
        match (&first, second.expect("it was tried")) {
            (Ok(_), Err(WorkloadError::InitRunning { .. }))
            | (Err(WorkloadError::Replaced | WorkloadError::InitRunning { .. }), Ok(_)) => {}
            both => panic!("{major}, {jobs} jobs: {both:?}"),
        }
        let mut session = Cluster::session(&conninfo);
        assert_eq!(&(rows(&mut session), keys(&mut session)), undisturbed(), "{major}, {jobs} jobs");
    }
}

#[test]
fn connections_that_are_lost_while_they_are_idle_are_made_again() {
    let folder = folder(&sorted_schema(), &[]);
    let own = open(&folder);
    let conninfo = Cluster::shared(NEWEST).database("lost_idle");
    let mut session = Cluster::session(&conninfo);
    let target = target(&mut session);
    let mut ended = Vec::new();
    let told = &mut |progress: InitProgress<'_>| {
        if let InitProgress::Finished(step) = progress {
            let end = "select count(pg_terminate_backend(pid)) from pg_stat_activity where state = 'idle' \
                       and datname = current_database() and pid <> pg_backend_pid()";
            ended.push((step.name.clone(), lines(&mut Cluster::session(&conninfo), end).remove(0)));
        }
        ControlFlow::Continue(())
    };
    own.load(&target, &mut session, &InitOptions { jobs: 3, ..scaled(1000.0) }, told).expect("it is loaded");
    assert!(ended.iter().any(|(step, ended)| step == "vacuum" && ended != "0"), "{ended:?}");
    assert_eq!(lines(&mut session, "select count(*) from orders"), ["10000"]);
}

#[test]
#[allow(clippy::print_stderr)] // that it was skipped
fn a_full_disk_is_one_sentence_and_loading_can_be_resumed() {
    let folder = folder(&many_orders(), &[]);
    let own = open(&folder);
    let options = InitOptions { jobs: 2, ..scaled(TWO_CHUNKS) };
    let cluster = Cluster::start(NEWEST);
    let data = fs::metadata(cluster.directory().join("data")).expect("it has data");
    let path = cluster.directory().join("small");
    fs::create_dir(&path).expect("a folder");
    let _disk = match SmallDisk::mount(&path, DISK_MIB, (data.uid(), data.gid())) {
        Ok(disk) => disk,
        Err(error) => {
            assert!(std::env::var_os(MOUNT_REQUIRED).is_none(), "mounting is required here: {error}");
            eprintln!("SKIPPED: no disk can be mounted ({error}), so loading on a full disk was not tested");
            return;
        }
    };
    cluster.execute(&format!("create tablespace small location '{}'", path.display()));
    cluster.execute("create database full_disk tablespace small");
    let mut session = Cluster::session(&cluster.conninfo().replace("dbname=postgres", "dbname=full_disk"));
    session
        .execute(
            "create table ballast as select repeat(md5(i::text), 30) from generate_series(1, 26000) as i",
        )
        .expect("it fits");
    let error = load(&own, &mut session, &options).expect_err("the disk is full");
    assert!(matches!(error, WorkloadError::DiskFull { .. }), "{error}");
    let error = error.to_string();
    assert!(error.starts_with("the server has no disk space left (while "), "{error}");
    assert!(error.contains("Free some space and continue with `pgmeter init --resume`"), "{error}");
    assert!(!error.contains('\n'), "{error}");
    session.execute("drop table ballast").expect("space");
    load(&own, &mut session, &InitOptions { resumes: true, ..options }).expect("the rest");
    assert_eq!(&(rows(&mut session), keys(&mut session)), undisturbed());
}
