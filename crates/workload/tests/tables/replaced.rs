//! Relations with the names of pgbench's tables before `init`: which are replaced, what is said before, and what other
//! sessions see meanwhile.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use connect::Session;
use pgmeter_workload::{InitOptions, InitProgress, PartitionMethod, Partitioning, Step};
use testkit::cluster::Cluster;
use testkit::condition::pause;

use crate::harness::{NEWEST, OLDEST, init, lines, make, session, target, without_rows};

/// The sentences about drops of a loading.
fn told(session: &mut Session, options: &InitOptions) -> Vec<String> {
    let mut told = Vec::new();
    init(session, options, &mut |progress| {
        if let InitProgress::Dropping(sentence) = progress {
            told.push(sentence.to_owned());
        }
        ControlFlow::Continue(())
    })
    .unwrap_or_else(|error| panic!("{error}"));
    told
}

fn refused(session: &mut Session, options: &InitOptions) -> String {
    make(session, options).expect_err("it is refused").to_string()
}

const HISTORY: &str = "(tid int, bid int, aid int, delta int, mtime timestamp, filler char(22))";

#[test]
fn a_part_of_pgbenchs_tables_is_not_replaced() {
    let drops = InitOptions { drops: true, ..without_rows() };
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "part_of_four");
        let history = format!(
            "create schema legacy; create table legacy.pgbench_history {HISTORY}; \
             insert into legacy.pgbench_history select 1, 1, 1, 1 from generate_series(1, 300); \
             set search_path = public, legacy"
        );
        session.execute(&history).expect("a table");
        session.execute("analyze legacy.pgbench_history").expect("statistics");
        let expected = "legacy.pgbench_history (about 300 rows) exists already, but `init` may not have created it: its schema \
                        lacks some of pgbench's four tables, or is not the first of search_path. Nothing was changed. Rename it, use a search path without its schema, or let `pgmeter init --drop` drop it";
        assert_eq!(refused(&mut session, &InitOptions::default()), expected);
        assert_eq!(refused(&mut session, &InitOptions { resumes: true, ..InitOptions::default() }), expected);
        // The other three are found in another schema.
        session.execute("set search_path = public").expect("a path");
        make(&mut session, &InitOptions::default()).expect("nothing is in the way");
        session.execute("set search_path = legacy, public").expect("a path");
        assert_eq!(refused(&mut session, &InitOptions::default()), expected);
        assert_eq!(lines(&mut session, "select count(*) from pgbench_history"), ["300"]);
        let said = told(&mut session, &drops);
        let [sentence] = said.as_slice() else { panic!("{said:?}") };
        for part in [
            "before loading: drop table public.pgbench_accounts (about 100000 rows), ",
            ", legacy.pgbench_history (about 300 rows), public.",
        ] {
            assert!(sentence.contains(part), "{sentence}");
        }
    }
}

#[test]
fn all_four_tables_are_replaced_and_named_before() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "all_four");
        assert_eq!(told(&mut session, &InitOptions::default()), [""; 0]);
        assert_eq!(
            told(&mut session, &without_rows()),
            [
                "before loading: drop table public.pgbench_accounts (about 100000 rows), public.pgbench_branches (about 1 \
                 row), public.pgbench_history, public.pgbench_tellers (about 10 rows)"
            ]
        );
        // An account's number has another type from scale 20,000 on.
        session.execute("alter table pgbench_accounts alter aid type bigint").expect("a type");
        let empty = without_rows();
        make(&mut session, &empty).expect("these are pgbench's");
        let steps = Step::parse_list("gvp").expect("letters of steps");
        session.execute("drop table pgbench_history").expect("it is not needed");
        let error = refused(&mut session, &InitOptions { steps, ..InitOptions::default() });
        assert!(error.contains("pgbench_history") && error.contains("does not exist"), "{error}");
        for (change, table) in [
            ("alter table pgbench_branches add note text", "pgbench_branches"),
            ("alter table pgbench_accounts alter abalance type numeric", "pgbench_accounts"),
        ] {
            make(&mut session, &InitOptions { drops: true, ..empty.clone() }).expect("tables");
            session.execute(change).expect("a column");
            let error = refused(&mut session, &InitOptions::default());
            let expected =
                format!("public.{table} exists already and has other columns than `init` gives it; nothing");
            assert!(error.starts_with(&expected), "{error}");
        }
    }
}

#[test]
fn additions_to_pgbenchs_tables_are_named_before_they_are_dropped_with_them() {
    for (major, partitions) in Cluster::cases([(NEWEST, 0), (NEWEST, 2), (OLDEST, 0)], |case| case.0) {
        let mut session = session(major, "additions");
        let method = PartitionMethod::Range;
        let partitioning = (partitions > 0).then_some(Partitioning { method, partitions });
        // What is dropped does not depend on rows.
        let mut options = InitOptions { partitioning, ..without_rows() };
        options.add_foreign_keys();
        make(&mut session, &options).expect("tables");
        assert!(!told(&mut session, &options).join("").contains("with them"), "{major}: these are pgbench's");
        let function = "create function f() returns trigger language plpgsql as 'begin return new; end'";
        session.execute(function).expect("a function");
        let additions = "create index by_balance on pgbench_tellers (tbalance); \
                         create trigger audit before insert on pgbench_history for each row execute procedure f(); \
                         alter table pgbench_branches add constraint positive check (bbalance > -1000000000)";
        session.execute(additions).expect("additions");
        let mut expected = vec![
            "the index public.by_balance of public.pgbench_tellers",
            "the trigger audit on public.pgbench_history",
            "the table constraint positive on public.pgbench_branches",
        ];
        if major == NEWEST {
            session.execute("create publication feed for table pgbench_accounts").expect("a publication");
            expected.push("the membership public.pgbench_accounts in publication feed");
        }
        let said = told(&mut session, &options).join("");
        let (_, said) = said.split_once("; with them, PostgreSQL drops ").expect("it names them");
        assert_eq!(said, expected.join(", "), "{major}");
        let columns: Vec<String> =
            (1..=12).map(|number| format!("create index i{number} on pgbench_tellers (tbalance)")).collect();
        session.execute(&columns.join("; ")).expect("indexes");
        let said = told(&mut session, &options).join("");
        assert!(
            said.ends_with("the index public.i10 of public.pgbench_tellers and 2 more"),
            "{major}: {said}"
        );
    }
}

#[test]
fn partitions_at_any_level_that_pgbench_did_not_make_are_not_dropped() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "deep_partitions");
        let tables = if major == NEWEST {
            let partitioning = Some(Partitioning { method: PartitionMethod::Range, partitions: 2 });
            make(&mut session, &InitOptions { partitioning, ..without_rows() }).expect("tables");
            "drop table pgbench_accounts_1; create table pgbench_accounts_1 partition of pgbench_accounts \
             for values from (minvalue) to (50001) partition by range (aid); \
             create table pgbench_accounts_9 partition of pgbench_accounts_1 for values from (0) to (10)"
        } else {
            make(&mut session, &without_rows()).expect("tables");
            "create table pgbench_accounts_1 () inherits (pgbench_accounts); \
             create table pgbench_accounts_9 () inherits (pgbench_accounts_1)"
        };
        session.execute(tables).expect("a partition of a partition");
        let error = refused(&mut session, &InitOptions::default());
        let expected = "public.pgbench_accounts_9 exists already and was not made by `init`";
        assert!(error.starts_with(expected), "{major}: {error}");
        session.execute("drop table pgbench_accounts_9").expect("a table");
        if major == NEWEST {
            make(&mut session, &without_rows()).expect("the partitions have pgbench's names");
        }
    }
}

#[test]
fn a_view_with_the_name_of_a_table_is_refused_and_dropped_only_with_permission() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "view_in_the_way");
        let view = "create view pgbench_branches as select 1 as bid, 1 as bbalance, ''::char(88) as filler";
        session.execute(view).expect("a view");
        assert_eq!(
            refused(&mut session, &InitOptions::default()),
            "public.pgbench_branches exists already and is not a table (view); nothing was changed. Rename it, use another \
             database, or let `pgmeter init --drop` drop it"
        );
        let drops = InitOptions { drops: true, ..without_rows() };
        assert_eq!(told(&mut session, &drops), ["before loading: drop view public.pgbench_branches"]);
        let kind = "select relkind from pg_class where oid = 'pgbench_branches'::regclass";
        assert_eq!(lines(&mut session, kind), ["r"]);
    }
}

#[test]
fn a_table_is_there_at_any_time_while_it_is_replaced() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "at_any_time");
        make(&mut session, &without_rows()).expect("tables");
        let mut reader = Session::connect(&target(&mut session)).expect("a session");
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let read = scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    reader.query("select abalance from pgbench_accounts where aid = 1")?;
                    pause();
                }
                Ok::<_, connect::ConnectError>(())
            });
            let mut looked = Cluster::session(&crate::harness::conninfo(&mut session, "postgres"));
            // Once with rows, and twice without.
            for options in [InitOptions::default(), without_rows(), without_rows()] {
                init(&mut session, &options, &mut |progress| {
                    // Between the steps.
                    if matches!(progress, InitProgress::Started { .. } | InitProgress::Finished(_)) {
                        let count = "select count(to_regclass('pgbench_accounts'))";
                        assert_eq!(lines(&mut looked, count), ["1"], "{progress:?}");
                    }
                    ControlFlow::Continue(())
                })
                .expect("it is loaded");
            }
            over.store(true, Ordering::Relaxed);
            read.join().expect("it ends").unwrap_or_else(|error| panic!("PostgreSQL {major}: {error}"));
        });
    }
}

#[test]
fn tables_that_cannot_be_created_again_are_not_dropped() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "kept");
        make(&mut session, &without_rows()).expect("tables");
        session.execute("insert into pgbench_accounts (aid) values (1)").expect("a row");
        let options = InitOptions { tablespace: Some("nowhere".to_owned()), ..InitOptions::default() };
        let error = refused(&mut session, &options);
        assert!(error.contains("tablespace \"nowhere\" does not exist"), "{error}");
        assert_eq!(lines(&mut session, "select count(*) from pgbench_accounts"), ["1"]);
    }
}
