//! Tables that another session reads for a long time: a statement that needs its lock waits shortly and tries again, so that
//! further readers do not queue behind it.

use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

use connect::{LockWaitLimit, Patience, Session};
use pgmeter_workload::{InitOptions, Tpcb, Truncation, Workload};
use testkit::cluster::Cluster;
use testkit::pooler::PgBouncer;

use crate::generated::{folder, load, open, scaled, sorted_schema};
use crate::harness::{NEWEST, OLDEST, lines, make, prepare, session, target, without_rows};

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
                testkit::condition::pause();
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
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "read_pgbench");
        make(&mut session, &without_rows()).expect("tables");
        for drops in [false, true] {
            session.execute("insert into pgbench_tellers (tid) values (1)").expect("a row");
            let options = InitOptions { drops, ..without_rows() };
            load_while_read(&Tpcb, &mut session, &options, "pgbench_tellers");
            assert_eq!(lines(&mut session, "select count(*) from pgbench_tellers"), ["0"]);
        }
    }
}

#[test]
fn init_of_a_schema_waits_for_readers_in_short_tries() {
    let folder = folder(&sorted_schema(), &[]);
    let own = open(&folder);
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "read_schema");
        load(&own, &mut session, &scaled(10.0)).expect("it is loaded");
        load_while_read(&own, &mut session, &scaled(10.0), "orders");
        assert_eq!(lines(&mut session, "select count(*) from orders"), ["100"]);
    }
}

#[test]
fn a_truncation_before_a_run_waits_for_readers_in_short_tries() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "read_history");
        make(&mut session, &without_rows()).expect("tables");
        session.execute("insert into pgbench_history values (1, 1, 1, 1)").expect("a row");
        let prepared = while_read(&mut session, "pgbench_history", |session| {
            prepare(&Tpcb, session, Truncation::OwnTables)
        });
        assert!(prepared.failed.is_empty(), "{:?}", prepared.failed);
        assert_eq!(prepared.truncated, ["public.pgbench_history"]);
        assert_eq!(lines(&mut session, "select count(*) from pgbench_history"), ["0"]);
    }
}

#[test]
fn the_limits_of_waits_for_locks_are_those_of_the_target() {
    let mut session = session(NEWEST, "limits");
    make(&mut session, &without_rows()).expect("tables");
    let mut reader = Session::connect(&target(&mut session)).expect("a session");
    reader.execute("begin; select from pgbench_history").expect("a lock");
    let mut limited = target(&mut session);
    // One try, which is longer than one of the default, however busy the machine is.
    let two_seconds = Duration::from_secs(2);
    limited.patience = Patience { lock_timeout: two_seconds, limit: two_seconds };
    let mut session = Session::connect(&limited).expect("a session");
    let prepared = prepare(&Tpcb, &mut session, Truncation::OwnTables);
    let told = prepared.failed.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let longest = told.split_once("was not granted in 1 try, the longest wait was ").map(|(_, rest)| rest);
    let longest: Option<f64> = longest.and_then(|rest| rest.split_once(" s")?.0.parse().ok());
    assert!(longest.is_some_and(|seconds| seconds > 1.9), "{told}");
    assert!(prepared.truncated.is_empty());
}

/// A limit for a fast test: all statements together may wait so long.
const SHORT: LockWaitLimit = LockWaitLimit { limit: Duration::from_millis(300), setting: "a test" };

/// Prepares a run of pgbench's scripts while others vacuum a table and read another; each statement without its lock is a
/// warning that names who has it, and the session goes on.
fn check_prepared_beside_others(session: &mut Session, other: &mut Session) {
    let begin = "begin; lock table pgbench_branches in share update exclusive mode; \
                 lock table pgbench_history in access share mode";
    other.execute(begin).expect("the locks are free");
    session.limit_lock_waits(Some(SHORT));
    let prepared = prepare(&Tpcb, session, Truncation::OwnTables);
    let failed: Vec<String> = prepared.failed.iter().map(ToString::to_string).collect();
    assert_eq!(failed.len(), 2, "{failed:?}");
    for (failed, sql) in failed.iter().zip(["vacuum pgbench_branches", "truncate public.pgbench_history"]) {
        assert!(failed.contains("the lock was not granted in 1 try"), "{failed}");
        assert!(failed.contains("it is held by process ") && failed.contains(sql), "{failed}");
    }
    assert_eq!(lines(session, "select 1"), ["1"], "the session goes on");
    other.execute("rollback").expect("the session answers");
    let prepared = prepare(&Tpcb, session, Truncation::OwnTables);
    assert!(prepared.failed.is_empty(), "{:?}", prepared.failed);
    assert_eq!(prepared.truncated, ["public.pgbench_history"]);
}

#[test]
fn statements_before_a_run_that_get_no_lock_are_left_out() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "locked_before_run");
        make(&mut session, &without_rows()).expect("tables");
        let mut other = Session::connect(&target(&mut session)).expect("a session");
        check_prepared_beside_others(&mut session, &mut other);
        assert_eq!(lines(&mut session, "show lock_timeout"), ["0"], "no setting stays behind");
    }
}

#[test]
#[allow(clippy::print_stderr)] // that it was skipped
fn statements_before_a_run_through_a_pooler_leave_no_limit_behind() {
    let cluster = Cluster::start(NEWEST);
    let Some(mut pooler) = PgBouncer::start(&cluster) else {
        eprintln!("SKIPPED: there is no pgbouncer, so nothing was tested through a pooler");
        return;
    };
    let direct =
        cluster.conninfo().replace("dbname=postgres", &format!("dbname={}", pooler.target().database));
    let mut other = Cluster::session(&direct);
    make(&mut other, &without_rows()).expect("tables");
    let mut session = pooler.session();
    // A look at the locks would need a second connection of the pooler to the server, so nobody is named.
    other.execute("begin; lock table pgbench_branches in share update exclusive mode").expect("a lock");
    session.limit_lock_waits(Some(SHORT));
    let failed = prepare(&Tpcb, &mut session, Truncation::OwnTables).failed;
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(failed[0].to_string().contains("the lock was not granted in 1 try"), "{}", failed[0]);
    drop(session);
    assert_eq!(pooler.left_behind(), [""; 0]);
}
