//! What a run learns from the tables, and what it does to them, before it begins: on servers with and without
//! partitions, with tables of every kind, and without tables.

use connect::Session;
use pgmeter_workload::{
    InitOptions, PartitionMethod, Partitioning, Step, Tables, Tpcb, Truncation, Workload, WorkloadError,
};
use testkit::cluster::Cluster;

use crate::harness::{NEWEST, OLDEST, lines, make, prepare, session, vacuum_all};

/// Tables without accounts: one row in branches is all that a look needs.
fn bare(session: &mut Session, partitioning: Option<Partitioning>) {
    let steps = Step::parse_list("dt").expect("letters of steps");
    make(session, &InitOptions { steps, partitioning, ..InitOptions::default() }).expect("tables");
    session.execute("insert into pgbench_branches values (1, 0), (2, 0), (3, 0)").expect("rows");
}

#[test]
fn unpartitioned_tables_are_seen_as_such_on_every_server() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "plain");
        bare(&mut session, None);
        let found = Tpcb.find_tables(&mut session).expect("tables");
        assert_eq!(found, Tables { scale: Some(3.into()), partitioning: None }, "PostgreSQL {major}");
    }
}

#[test]
fn partitions_are_found_with_their_method_and_number() {
    let mut session = session(NEWEST, "partitions");
    for (method, partitions) in [(PartitionMethod::Range, 4), (PartitionMethod::Hash, 2)] {
        bare(&mut session, Some(Partitioning { method, partitions }));
        let found = Tpcb.find_tables(&mut session).expect("tables");
        assert_eq!(found, Tables { scale: Some(3.into()), partitioning: Some((method, partitions)) });
    }
}

#[test]
fn the_first_accounts_in_the_search_path_count() {
    let mut session = session(NEWEST, "path");
    bare(&mut session, Some(Partitioning { method: PartitionMethod::Hash, partitions: 2 }));
    session
        .execute(
            "create schema other; create table other.pgbench_accounts(aid int) partition by range (aid); \
             set search_path = other, public",
        )
        .expect("another table");
    let found = Tpcb.find_tables(&mut session).expect("tables");
    assert_eq!(found.partitioning, Some((PartitionMethod::Range, 0)));
}

#[test]
fn accounts_that_are_partitioned_by_list_are_refused() {
    let mut session = session(NEWEST, "by_list");
    bare(&mut session, None);
    session
        .execute(
            "drop table pgbench_accounts; create table pgbench_accounts(aid int) partition by list (aid)",
        )
        .expect("a table");
    let error = Tpcb.find_tables(&mut session).expect_err("no such method");
    assert!(error.to_string().starts_with("unexpected partition method: \"l\""), "{error}");
}

#[test]
fn accounts_that_are_missing_are_an_error() {
    let mut session = session(NEWEST, "no_accounts");
    bare(&mut session, None);
    session.execute("drop table pgbench_accounts").expect("a table");
    let error = Tpcb.find_tables(&mut session).expect_err("no accounts");
    assert!(error.to_string().contains("no table pgbench_accounts"), "{error}");
}

#[test]
fn missing_tables_are_reported_with_the_command_that_makes_them() {
    let mut session = session(NEWEST, "missing");
    let error = Tpcb.find_tables(&mut session).expect_err("there are no tables");
    let WorkloadError::TablesMissing { source: Some(source), .. } = &error else { panic!("{error}") };
    assert_eq!(source.sqlstate(), Some(connect::SqlState::UNDEFINED_TABLE));
    let message = error.to_string();
    assert!(message.contains("`pgmeter init`") && message.contains("missing"), "{message}");
    let failed = prepare(&Tpcb, &mut session, Truncation::ByName).failed;
    assert_eq!(failed.len(), 3, "each statement fails, and none stops the others");
    assert_eq!(vacuum_all(&Tpcb, &mut session).len(), 1, "there are no accounts");
}

#[test]
fn empty_tables_give_no_scale() {
    let mut session = session(NEWEST, "empty");
    bare(&mut session, None);
    session.execute("truncate pgbench_branches").expect("a table");
    let tables = Tpcb.find_tables(&mut session).expect("tables");
    assert_eq!(tables.scale, Some(0.into()), "pgbench runs on empty tables");
    let message = Tpcb.check_scale(&tables).expect_err("there are no rows").to_string();
    assert!(message.contains("pgbench_branches has 0 rows"), "{message}");
}

#[test]
fn a_run_begins_with_an_empty_history() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "prepared");
        bare(&mut session, None);
        session.execute("insert into pgbench_history values (1, 1, 1, 1)").expect("a row");
        let prepared = prepare(&Tpcb, &mut session, Truncation::OwnTables);
        assert!(prepared.failed.is_empty(), "{:?}", prepared.failed);
        assert_eq!(prepared.truncated, ["public.pgbench_history"]);
        assert!(vacuum_all(&Tpcb, &mut session).is_empty());
        assert_eq!(lines(&mut session, "select count(*) from pgbench_history"), ["0"]);
    }
}
