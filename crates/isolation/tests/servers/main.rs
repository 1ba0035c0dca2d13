//! Checks of real servers: each level shows the anomalies that it permits, so that finding none means something.
//! PostgreSQL's levels on the oldest and the newest version.

use std::sync::atomic::AtomicBool;

use connect::{Environment, Overrides, Session, Target, resolve};
use pgmeter_isolation::{
    Anomaly, Interruption, IsolationError, IsolationOptions, IsolationReport, Level, ReadMethod,
    drop_leftovers, verify,
};
use testkit::cluster::Cluster;

fn target(conninfo: &str) -> Target {
    resolve(Some(conninfo), &Overrides::default(), &Environment::default()).unwrap()
}

/// Of a check during which something happens to the server.
const TRANSACTIONS: u32 = 3_000;
/// Enough for hundreds of cases of each anomaly that a level permits.
const FEW_TRANSACTIONS: u32 = 600;

fn options(level: Level, reads: ReadMethod) -> IsolationOptions {
    IsolationOptions {
        level,
        reads,
        clients: 8,
        transactions: TRANSACTIONS,
        seed: Some(1),
        replicas: Vec::new(),
        history: None,
        create: |path| std::fs::File::create(path),
    }
}

fn verified(conninfo: &str, options: &IsolationOptions) -> IsolationReport {
    let report = verify(&target(conninfo), options, &AtomicBool::new(false), &mut |_| {});
    let report = report.unwrap_or_else(|error| panic!("{error}"));
    assert!(report.is_complete(), "{report:?}");
    assert!(report.findings.endings.committed > 200, "{report:?}");
    assert_eq!(tables(conninfo), [""; 0]);
    report
}

/// Tables of checks.
fn tables(conninfo: &str) -> Vec<String> {
    let sql =
        "SELECT relname FROM pg_class WHERE relname LIKE 'pgmeter\\_isolation%' AND relkind = 'r' ORDER BY 1";
    let rows = Cluster::session(conninfo).query(sql).unwrap();
    rows.iter().map(|row| row.get(0).unwrap().to_owned()).collect()
}

fn check_version(major: &str, test: &str, level: Level, reads: ReadMethod) -> IsolationReport {
    let options = IsolationOptions { transactions: FEW_TRANSACTIONS, ..options(level, reads) };
    verified(&Cluster::shared(major).database(test), &options)
}

#[track_caller]
fn assert_only(report: &IsolationReport, expected: &[Anomaly], is_kept: bool) {
    let kinds: Vec<Anomaly> = report.findings.anomalies.iter().map(|finding| finding.anomaly).collect();
    assert_eq!(kinds, expected, "{:?}", report.examples);
    assert_eq!(report.findings.is_kept(), is_kept);
    for example in &report.examples {
        assert!(example.transactions.len() >= 2 && example.edges.len() == example.transactions.len());
    }
}

#[test]
fn repeatable_read_shows_write_skew_and_nothing_else() {
    for major in Cluster::versions(["9.6", "18"]) {
        let report = check_version(major, "repeatable_read", Level::RepeatableRead, ReadMethod::Select);
        assert_only(&report, &[Anomaly::WriteSkew], true);
        assert_eq!(
            report.examples[0].transactions.len(),
            2,
            "a pair of transactions is the shortest witness"
        );
    }
}

#[test]
fn serializable_shows_nothing_with_plain_reads() {
    for major in Cluster::versions(["9.6", "18"]) {
        let report = check_version(major, "serializable", Level::Serializable, ReadMethod::Select);
        assert_only(&report, &[], true);
        assert!(report.errors.get("40001").is_some_and(|count| *count > 0), "{:?}", report.errors);
    }
}

#[test]
fn read_committed_shows_lost_updates_and_read_skew_but_neither_g0_nor_g1() {
    for major in Cluster::versions(["9.6", "18"]) {
        let report = check_version(major, "read_committed", Level::ReadCommitted, ReadMethod::Select);
        assert!(report.findings.is_kept(), "{:?}", report.examples);
        for expected in [Anomaly::LostUpdate, Anomaly::ReadSkew, Anomaly::WriteSkew] {
            assert!(report.findings.cases(expected) > 0, "{expected:?}: {:?}", report.findings);
        }
    }
}

#[test]
fn serializable_misses_write_skew_if_the_reads_are_insert_on_conflict_do_nothing() {
    let report = check_version("18", "on_conflict", Level::Serializable, ReadMethod::OnConflict);
    assert_only(&report, &[Anomaly::WriteSkew], false);
}

#[test]
fn serializable_misses_write_skew_if_the_reads_are_failed_inserts_in_savepoints() {
    let report = check_version("18", "savepoint", Level::Serializable, ReadMethod::Savepoint);
    assert_only(&report, &[Anomaly::WriteSkew], false);
}

#[test]
fn insert_as_a_read_shows_write_skew_alone_at_repeatable_read() {
    for reads in [ReadMethod::OnConflict, ReadMethod::Savepoint] {
        let report = check_version("18", "insert_reads", Level::RepeatableRead, reads);
        assert_only(&report, &[Anomaly::WriteSkew], true);
        assert!(report.outdated > 0, "some lists change between the look and the transaction");
    }
}

#[test]
fn the_history_of_a_check_is_written_as_json() {
    let directory = std::env::temp_dir().join(format!("pgmeter-isolation-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("history.json");
    let conninfo = Cluster::shared("18").database("history");
    let options = IsolationOptions {
        history: Some(path.clone()),
        transactions: FEW_TRANSACTIONS,
        ..options(Level::Serializable, ReadMethod::Select)
    };
    let report = verified(&conninfo, &options);
    let events: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    let count =
        |kind: &str| events.as_array().unwrap().iter().filter(|event| event["type"] == kind).count() as u64;
    let endings = report.findings.endings;
    assert_eq!(count("invoke"), endings.total);
    assert_eq!((count("ok"), count("fail")), (endings.committed, endings.aborted));
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_the_check() {
    let conninfo = Cluster::shared("18").database("no_file");
    let options = IsolationOptions {
        history: Some("/nonexistent/history.json".into()),
        ..options(Level::Serializable, ReadMethod::Select)
    };
    let error = verify(&target(&conninfo), &options, &AtomicBool::new(false), &mut |_| {}).unwrap_err();
    assert!(error.to_string().starts_with("cannot write the history to \"/nonexistent/history.json\""));
}

#[test]
fn options_out_of_range_are_refused() {
    let conninfo = Cluster::shared("18").database("ranges");
    let base = options(Level::Serializable, ReadMethod::Select);
    for wrong in [
        IsolationOptions { clients: 0, ..base.clone() },
        IsolationOptions { transactions: 0, ..base.clone() },
        IsolationOptions { transactions: 20_000_000, ..base },
    ] {
        let error = verify(&target(&conninfo), &wrong, &AtomicBool::new(false), &mut |_| {}).unwrap_err();
        assert!(matches!(&error, IsolationError::Usage(text) if text.contains("expected a number from 1")));
    }
}

#[test]
fn reads_of_a_real_replica_take_part_and_its_lag_is_no_anomaly() {
    let cluster = Cluster::start("18");
    let conninfo = cluster.database("replica");
    let standby = cluster.standby("late", &[("recovery_min_apply_delay", "200ms")]);
    let database = conninfo.split_once("dbname=").expect("it names one").1;
    let replica = standby.conninfo().replace("dbname=postgres", &format!("dbname={database}"));
    let options =
        IsolationOptions { transactions: 1_200, ..options(Level::RepeatableRead, ReadMethod::Select) };
    let without = verified(&conninfo, &options);
    let options = IsolationOptions { replicas: vec![replica], ..options };
    let report = verified(&conninfo, &options);
    assert_eq!((without.run.replicas, report.run.replicas), (0, 1));
    let total = |report: &IsolationReport| report.findings.endings.total;
    assert!(total(&report) > total(&without), "the replica was read: {:?}", report.findings.endings);
    for finding in &report.findings.anomalies {
        // The order in which commits become visible can differ on a standby: see docs/isolation.md.
        let is_possible = match finding.anomaly {
            Anomaly::WriteSkew => true,
            Anomaly::LongFork => finding.needs_replica,
            _ => false,
        };
        assert!(is_possible, "{finding:?}");
    }
}

#[test]
fn a_stopped_check_drops_its_table_and_says_so() {
    let conninfo = Cluster::shared("18").database("stopped");
    let options = options(Level::Serializable, ReadMethod::Select);
    let report = verify(&target(&conninfo), &options, &AtomicBool::new(true), &mut |_| {}).unwrap();
    assert_eq!(report.interruption, Some(Interruption::Stopped));
    assert_eq!(tables(&conninfo), [""; 0]);
}

#[test]
fn connections_that_are_ended_by_the_server_are_made_again() {
    let conninfo = Cluster::shared("18").database("terminated");
    let killer = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() \
                  AND query LIKE '%UPDATE%pgmeter\\_isolation%' AND pid <> pg_backend_pid() LIMIT 3";
    let options = options(Level::RepeatableRead, ReadMethod::Select);
    let mut session: Session = Cluster::session(&conninfo);
    let mut ended = 0;
    let report = verify(&target(&conninfo), &options, &AtomicBool::new(false), &mut |_| {
        if ended < 9 {
            ended += session.query(killer).map_or(0, |rows| rows.len());
        }
    });
    let report = report.unwrap_or_else(|error| panic!("{error}"));
    assert!(report.is_complete(), "{report:?}");
    assert!(ended > 0 && report.lost_connections > 0, "{ended} backends were ended");
    let endings = report.findings.endings;
    assert!(endings.unknown_applied + endings.unknown_unseen <= report.lost_connections);
    assert_only(&report, &[Anomaly::WriteSkew], true);
}

#[test]
fn a_restart_of_the_server_is_survived() {
    let mut cluster = Cluster::start_with("18", &[("fsync", "on"), ("synchronous_commit", "on")]);
    let conninfo = cluster.database("restarted");
    let options = options(Level::RepeatableRead, ReadMethod::Select);
    let mut is_restarted = false;
    let report = verify(&target(&conninfo), &options, &AtomicBool::new(false), &mut |_| {
        if !std::mem::replace(&mut is_restarted, true) {
            cluster.server().restart().unwrap();
        }
    });
    let report = report.unwrap_or_else(|error| panic!("{error}"));
    assert!(is_restarted && report.is_complete(), "{report:?}");
    assert_eq!(report.lost_connections, u64::from(options.clients));
    assert_only(&report, &[Anomaly::WriteSkew], true);
    assert_eq!(tables(&conninfo), [""; 0]);
}

#[test]
fn leftovers_are_dropped_and_tables_of_others_are_not() {
    let conninfo = Cluster::shared("18").database("leftovers");
    let mut session = Cluster::session(&conninfo);
    session
        .execute(
            "CREATE TABLE pgmeter_isolation_mine (); CREATE SCHEMA \"a \"\"b\"; \
             CREATE TABLE \"a \"\"b\".pgmeter_isolation_12345678 (); \
             COMMENT ON TABLE \"a \"\"b\".pgmeter_isolation_12345678 IS 'pgmeter verify --isolation, run 12345678'; \
             CREATE TABLE pgmeter_isolationx (); \
             COMMENT ON TABLE pgmeter_isolationx IS 'pgmeter verify --isolation, run 1'",
        )
        .unwrap();
    assert_eq!(drop_leftovers(&mut session).unwrap(), ["\"a \"\"b\".\"pgmeter_isolation_12345678\""]);
    assert_eq!(drop_leftovers(&mut session).unwrap(), [""; 0]);
    assert_eq!(tables(&conninfo), ["pgmeter_isolation_mine", "pgmeter_isolationx"]);
}

#[test]
fn a_table_that_somebody_else_changes_ends_the_check_with_a_reason() {
    let conninfo = Cluster::shared("18").database("changed");
    let mut session = Cluster::session(&conninfo);
    let options = options(Level::ReadCommitted, ReadMethod::Select);
    let report = verify(&target(&conninfo), &options, &AtomicBool::new(false), &mut |_| {
        for table in tables(&conninfo) {
            let _ = session.execute(&format!("TRUNCATE {table}"));
        }
    });
    let report = report.unwrap_or_else(|error| panic!("{error}"));
    let reason = report.gave_up.clone().unwrap_or_default();
    assert!(!report.is_complete() && reason.contains("somebody else has changed it"), "{report:?}");
}

#[test]
fn a_table_of_a_running_check_is_no_leftover() {
    let conninfo = Cluster::shared("18").database("running");
    let mut session = Cluster::session(&conninfo);
    let options = IsolationOptions {
        transactions: FEW_TRANSACTIONS,
        ..options(Level::ReadCommitted, ReadMethod::Select)
    };
    let mut seen = 0;
    let report = verify(&target(&conninfo), &options, &AtomicBool::new(false), &mut |_| {
        seen += tables(&conninfo).len();
        assert_eq!(drop_leftovers(&mut session).unwrap(), [""; 0]);
    });
    assert!(seen > 0 && report.unwrap_or_else(|error| panic!("{error}")).is_complete());
}

#[test]
fn a_table_that_a_subscriber_would_need_is_refused() {
    let cluster = Cluster::start_with("18", &[("wal_level", "logical")]);
    let options = IsolationOptions {
        transactions: FEW_TRANSACTIONS,
        ..options(Level::ReadCommitted, ReadMethod::Select)
    };
    for publication in ["FOR ALL TABLES", "FOR TABLES IN SCHEMA public"] {
        let conninfo = cluster.database("published");
        let mut session = Cluster::session(&conninfo);
        session.execute(&format!("CREATE PUBLICATION p {publication}")).unwrap();
        // Nobody receives it.
        verified(&conninfo, &options);
        session.execute("SELECT pg_create_logical_replication_slot('s', 'pgoutput')").unwrap();
        let error = verify(&target(&conninfo), &options, &AtomicBool::new(false), &mut |_| {});
        assert_eq!(
            error.expect_err("a subscriber").to_string(),
            format!(
                "the publication p is {publication}, so the subscriber of the replication slot s would get the rows of a \
                 table that it does not have, and would stop there: use a database without subscribers"
            )
        );
        assert_eq!(tables(&conninfo), [""; 0]);
        session.execute("SELECT pg_drop_replication_slot('s')").unwrap();
    }
}
