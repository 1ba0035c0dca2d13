//! Loadings that are disturbed: a connection that the server ends, a server that crashes and comes back, a user who
//! breaks off and goes on later. What comes of them equals what comes of a loading in one go.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, OnceLock};

use connect::Session;
use pgmeter_workload::{InitOptions, InitProgress, Logging, PartitionMethod, Partitioning, WorkloadError};
use testkit::cluster::Cluster;
use testkit::extent;

use crate::harness::{NEWEST, OLDEST, ROWS, assert_same, definitions, init, lines, make, session};

fn partitioned(partitions: u32) -> InitOptions {
    let partitioning = Some(Partitioning { method: PartitionMethod::Range, partitions });
    InitOptions { partitioning, ..InitOptions::default() }
}

/// All there is to see of the tables.
fn everything(session: &mut Session) -> Vec<String> {
    let mut all = definitions(session);
    all.extend(lines(session, ROWS));
    all
}

/// The same of tables that nobody disturbed. Tests share those of the same options.
fn undisturbed(major: &str, options: &InitOptions) -> Vec<String> {
    static SEEN: Mutex<BTreeMap<String, Arc<OnceLock<Vec<String>>>>> = Mutex::new(BTreeMap::new());
    // Neither of these changes the tables.
    let options = InitOptions { resumes: false, jobs: 1, ..options.clone() };
    let cell = SEEN.lock().expect("no panic").entry(format!("{major} {options:?}")).or_default().clone();
    let load = || {
        let mut session = session(major, "undisturbed");
        make(&mut session, &options).expect("nothing is in the way");
        everything(&mut session)
    };
    cell.get_or_init(load).clone()
}

/// Loads, and runs a statement elsewhere once so many accounts were sent; returns what was told of losses.
fn disturbed(session: &mut Session, conninfo: &str, options: &InitOptions, sql: &str) -> Vec<String> {
    let mut lost = Vec::new();
    let mut is_done = false;
    let told = &mut |progress: InitProgress<'_>| {
        match progress {
            InitProgress::Rows { table: "pgbench_accounts", done: 10_000, .. } if !is_done => {
                is_done = true;
                // Whoever does it may be a victim too.
                let _ = Cluster::session(conninfo).execute(sql);
            }
            InitProgress::Lost { doing, reason } => lost.push(format!("{doing}: {reason}")),
            _ => {}
        }
        ControlFlow::Continue(())
    };
    init(session, options, told).expect("the connection is made again");
    lost
}

const LOADERS: &str =
    "from pg_stat_activity where datname = current_database() and query like 'copy pgbench_accounts%'";

#[test]
fn a_connection_that_the_server_ends_is_made_again_and_the_table_loaded_anew() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let conninfo = Cluster::shared(major).database("ended");
        let options = with_foreign_keys(InitOptions::default());
        let mut session = Cluster::session(&conninfo);
        let end = format!("select pg_terminate_backend(pid) {LOADERS}");
        let lost = disturbed(&mut session, &conninfo, &options, &end);
        assert_eq!(lost.len(), 1, "{lost:?}");
        assert!(lost[0].starts_with("loading pgbench_accounts: "), "{lost:?}");
        assert!(lost[0].contains("terminating connection due to administrator command"), "{lost:?}");
        assert_eq!(everything(&mut session), undisturbed(major, &options), "PostgreSQL {major}");
    }
}

#[test]
fn connections_that_load_partitions_are_made_again_each_with_its_partition() {
    let conninfo = Cluster::shared(NEWEST).database("ended");
    let options = with_foreign_keys(partitioned(3));
    let mut session = Cluster::session(&conninfo);
    let end = format!("select pg_terminate_backend(pid) {LOADERS}");
    let lost = disturbed(&mut session, &conninfo, &options, &end);
    assert!(!lost.is_empty());
    assert!(lost.iter().all(|lost| lost.starts_with("loading pgbench_accounts_")), "{lost:?}");
    assert_eq!(everything(&mut session), undisturbed(NEWEST, &options));
}

#[test]
fn a_server_that_crashes_and_recovers_is_waited_for() {
    let cluster = Cluster::start(NEWEST);
    let conninfo = cluster.database("crashed");
    let options = with_foreign_keys(partitioned(3));
    let mut session = Cluster::session(&conninfo);
    let crash = "copy (select 1) to program 'kill -9 $PPID'";
    let lost = disturbed(&mut session, &conninfo, &options, crash);
    assert!(!lost.is_empty());
    assert_eq!(everything(&mut session), undisturbed(NEWEST, &options));
}

/// Loads until the progress is one at which to break off.
fn broken_off(session: &mut Session, options: &InitOptions, is_here: impl Fn(&InitProgress<'_>) -> bool) {
    let result = init(session, options, &mut |progress| match is_here(&progress) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    match result {
        Err(WorkloadError::Interrupted { .. }) => {}
        // The statement that was running was cancelled.
        Err(WorkloadError::Query { source, .. }) => {
            assert_eq!(source.sqlstate(), Some(connect::SqlState::QUERY_CANCELED))
        }
        other => panic!("it was to break off: {other:?}"),
    }
}

/// The steps of a loading with foreign keys.
fn with_foreign_keys(options: InitOptions) -> InitOptions {
    let mut options = options;
    options.add_foreign_keys();
    options
}

#[test]
fn what_was_broken_off_anywhere_is_gone_on_with_and_ends_the_same() {
    let places: [fn(&InitProgress<'_>) -> bool; 6] = [
        |progress| matches!(progress, InitProgress::Started { doing: "creating tables" }),
        |progress| matches!(progress, InitProgress::Partitions(_)),
        |progress| matches!(progress, InitProgress::Rows { table: "pgbench_accounts", done: 60_000, .. }),
        |progress| matches!(progress, InitProgress::Started { doing: "vacuuming" }),
        |progress| matches!(progress, InitProgress::Started { doing: "creating primary keys" }),
        |progress| matches!(progress, InitProgress::Started { doing: "creating foreign keys" }),
    ];
    // Places with partitions and without. After a change, each loading is broken off at one place after the other.
    let with = [0, 1, 2, 3, 4, 5];
    let without = [0, 2, 3, 4, 5];
    let cases = [
        (NEWEST, partitioned(3), &with[..]),
        (NEWEST, InitOptions::default(), &without),
        (OLDEST, InitOptions::default(), &without),
    ];
    for (major, options, numbers) in Cluster::cases(cases, |case| case.0) {
        let options = with_foreign_keys(options);
        let expected = undisturbed(major, &options);
        let resuming = InitOptions { resumes: true, ..options.clone() };
        for numbers in numbers.chunks(extent::choose(numbers.len(), 1)) {
            let mut session = session(major, "broken_off");
            broken_off(&mut session, &options, places[numbers[0]]);
            for &number in &numbers[1..] {
                broken_off(&mut session, &resuming, places[number]);
            }
            make(&mut session, &resuming).unwrap_or_else(|error| panic!("{numbers:?}: {error}"));
            assert_eq!(
                everything(&mut session),
                expected,
                "broken off at places {numbers:?} on PostgreSQL {major}"
            );
        }
    }
}

#[test]
fn partitions_that_are_there_are_not_loaded_again() {
    let mut session = session(NEWEST, "kept");
    let options = InitOptions { jobs: 2, ..partitioned(4) };
    make(&mut session, &options).expect("all of it");
    session.execute("truncate pgbench_accounts_3").expect("one is missing");
    session.execute("alter table pgbench_tellers drop constraint pgbench_tellers_pkey").expect("so is a key");
    let files = "select relfilenode::text from pg_class where relname like 'pgbench_accounts__' \
                 and relname <> 'pgbench_accounts_3' or relname like 'pgbench_branches%' order by relname";
    let before = lines(&mut session, files);
    let expected = undisturbed(NEWEST, &options);
    let mut totals = Vec::new();
    init(&mut session, &InitOptions { resumes: true, ..options }, &mut |progress| {
        if let InitProgress::Rows { table, total, .. } = progress {
            totals.push((table.to_owned(), total));
        }
        ControlFlow::Continue(())
    })
    .expect("the rest");
    totals.dedup();
    assert_eq!(totals, [("pgbench_accounts".to_owned(), 25_000)]);
    assert_eq!(lines(&mut session, files), before);
    assert_same(&everything(&mut session), &expected, "what was missing is there again");
}

#[test]
fn tables_that_others_options_made_are_not_gone_on_with() {
    let mut session = session(NEWEST, "refused");
    make(&mut session, &partitioned(2)).expect("tables");
    let before = everything(&mut session);
    for (options, found) in [
        (InitOptions { scale: 2.into(), ..partitioned(2) }, "other partitions or another scale"),
        (partitioned(3), "other partitions"),
        (InitOptions::default(), "partitioned differently"),
        (InitOptions { fillfactor: 50, ..partitioned(2) }, "another fillfactor"),
        (InitOptions { logging: Logging::None, ..partitioned(2) }, "another persistence"),
    ] {
        let error = make(&mut session, &InitOptions { resumes: true, ..options }).expect_err(found);
        assert!(matches!(error, WorkloadError::NotResumable { .. }), "{error}");
        assert!(error.to_string().contains(found), "{error}");
    }
    assert_eq!(everything(&mut session), before);
    session
        .execute("truncate pgbench_branches; insert into pgbench_branches values (1, 0), (2, 0)")
        .expect("rows");
    let error = make(&mut session, &InitOptions { resumes: true, ..partitioned(2) }).expect_err("scale 2");
    assert!(error.to_string().contains("have scale 2 instead of 1"), "{error}");
}

#[test]
fn going_on_with_nothing_is_beginning() {
    let mut session = session(NEWEST, "nothing");
    let options = InitOptions { resumes: true, ..with_foreign_keys(InitOptions::default()) };
    make(&mut session, &options).expect("all of it");
    assert_eq!(everything(&mut session), undisturbed(NEWEST, &options));
}
