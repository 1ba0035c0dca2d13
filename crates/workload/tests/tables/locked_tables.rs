//! Tables that another session reads for a long time: a statement that needs its lock waits shortly and tries again, so that
//! further readers do not queue behind it.

use std::ops::ControlFlow;
use std::thread;

use connect::Session;
use pgmeter_workload::{InitOptions, InitProgress, Tpcb, Truncation, Workload};

use crate::generated::{folder, load, open, scaled, sorted_schema};
use crate::harness::{NEWEST, OLDEST, lines, make, session, target};

/// A session in a transaction that has read a table, as one that generates a report.
fn reader(session: &mut Session, table: &str) -> Session {
    let mut reader = Session::connect(&target(session)).expect("a session");
    reader.execute(&format!("begin; select from {table}")).expect("a lock");
    reader
}

/// Loads while another session reads `table`. The other session ends when the loader pauses between two tries.
fn load_while_read(workload: &dyn Workload, session: &mut Session, options: &InitOptions, table: &str) {
    let mut reader = Some(reader(session, table));
    let target = target(session);
    let progress = &mut |progress: InitProgress<'_>| {
        if matches!(progress, InitProgress::Waiting) {
            reader = None;
        }
        ControlFlow::Continue(())
    };
    let done = workload.load(&target, session, options, progress);
    done.unwrap_or_else(|error| panic!("{error}"));
    assert!(reader.is_none(), "init did not pause");
}

#[test]
fn init_of_pgbenchs_tables_waits_for_readers_in_short_tries() {
    for major in [NEWEST, OLDEST] {
        let mut session = session(major, "read_pgbench");
        make(&mut session, &InitOptions::default()).expect("tables");
        load_while_read(&Tpcb, &mut session, &InitOptions::default(), "pgbench_tellers");
        assert_eq!(lines(&mut session, "select count(*) from pgbench_tellers"), ["10"]);
    }
}

#[test]
fn init_of_a_schema_waits_for_readers_in_short_tries() {
    let folder = folder(&sorted_schema(), &[]);
    let own = open(&folder);
    for major in [NEWEST, OLDEST] {
        let mut session = session(major, "read_schema");
        load(&own, &mut session, &scaled(10.0)).expect("it is loaded");
        load_while_read(&own, &mut session, &scaled(10.0), "orders");
        assert_eq!(lines(&mut session, "select count(*) from orders"), ["100"]);
    }
}

#[test]
fn a_truncation_before_a_run_waits_for_readers_in_short_tries() {
    for major in [NEWEST, OLDEST] {
        let mut session = session(major, "read_history");
        make(&mut session, &InitOptions::default()).expect("tables");
        session.execute("insert into pgbench_history values (1, 1, 1, 1)").expect("a row");
        let reader = reader(&mut session, "pgbench_history");
        let mut observer = Session::connect(&target(&mut session)).expect("a session");
        // Ends the reader once the truncation has waited and has given up its place in the queue.
        let ended = thread::spawn(move || {
            let mut waits_for = |is_waiting: bool| {
                let sql = "select count(*) > 0 from pg_locks l join pg_class c on c.oid = l.relation \
                           where relname = 'pgbench_history' and not granted";
                while (lines(&mut observer, sql)[0] == "t") != is_waiting {
                    thread::yield_now();
                }
            };
            waits_for(true);
            waits_for(false);
            drop(reader);
        });
        let prepared = Tpcb.prepare_run(&mut session, Truncation::OwnTables);
        ended.join().expect("it ends");
        assert!(prepared.failed.is_empty(), "{:?}", prepared.failed);
        assert_eq!(prepared.truncated, ["public.pgbench_history"]);
        assert_eq!(lines(&mut session, "select count(*) from pgbench_history"), ["0"]);
    }
}
