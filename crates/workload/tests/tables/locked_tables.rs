//! Tables that another session reads for a long time: a statement that needs its lock waits shortly and tries again, so that
//! further readers do not queue behind it.

use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

use connect::{Patience, Session};
use pgmeter_workload::{InitOptions, Tpcb, Truncation, Workload};

use crate::generated::{folder, load, open, scaled, sorted_schema};
use crate::harness::{NEWEST, OLDEST, lines, make, session, target};

/// Does work that needs a lock on `table` while another session, as one that generates a report, reads it. That session
/// ends once the work has waited for it and has left the queue, in which it makes later readers wait.
fn while_read<T>(session: &mut Session, table: &str, work: impl FnOnce(&mut Session) -> T) -> T {
    let target = target(session);
    let mut reader = Session::connect(&target).expect("a session");
    reader.execute(&format!("begin; select from {table}")).expect("a lock");
    let mut observer = Session::connect(&target).expect("a session");
    let sql = format!(
        "select count(*) > 0 from pg_locks l join pg_class c on c.oid = l.relation \
         where relname = '{table}' and not granted"
    );
    let ended = thread::spawn(move || {
        for is_waiting in ["t", "f"] {
            while lines(&mut observer, &sql)[0] != is_waiting {
                thread::yield_now();
            }
        }
        drop(reader);
    });
    let done = work(session);
    // If the work never left the queue, it could not have ended before the limit of its session.
    ended.join().expect("the session answers");
    done
}

fn load_while_read(workload: &dyn Workload, session: &mut Session, options: &InitOptions, table: &str) {
    let target = target(session);
    while_read(session, table, |session| {
        let done = workload.load(&target, session, options, &mut |_| ControlFlow::Continue(()));
        done.unwrap_or_else(|error| panic!("{error}"));
    });
}

#[test]
fn init_of_pgbenchs_tables_waits_for_readers_in_short_tries() {
    for major in [NEWEST, OLDEST] {
        let mut session = session(major, "read_pgbench");
        make(&mut session, &InitOptions::default()).expect("tables");
        for drops in [false, true] {
            let options = InitOptions { drops, ..InitOptions::default() };
            load_while_read(&Tpcb, &mut session, &options, "pgbench_tellers");
            assert_eq!(lines(&mut session, "select count(*) from pgbench_tellers"), ["10"]);
        }
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
        let prepared = while_read(&mut session, "pgbench_history", |session| {
            Tpcb.prepare_run(session, Truncation::OwnTables)
        });
        assert!(prepared.failed.is_empty(), "{:?}", prepared.failed);
        assert_eq!(prepared.truncated, ["public.pgbench_history"]);
        assert_eq!(lines(&mut session, "select count(*) from pgbench_history"), ["0"]);
    }
}

#[test]
fn the_limits_of_waits_for_locks_are_those_of_the_target() {
    let mut session = session(NEWEST, "limits");
    make(&mut session, &InitOptions::default()).expect("tables");
    let mut reader = Session::connect(&target(&mut session)).expect("a session");
    reader.execute("begin; select from pgbench_history").expect("a lock");
    let mut limited = target(&mut session);
    limited.patience =
        Patience { lock_timeout: Duration::from_millis(50), limit: Duration::from_millis(200) };
    let mut session = Session::connect(&limited).expect("a session");
    let prepared = Tpcb.prepare_run(&mut session, Truncation::OwnTables);
    let told = prepared.failed.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    assert!(told.contains("the longest wait was 0.1 s"), "{told}");
    assert!(prepared.truncated.is_empty());
}
