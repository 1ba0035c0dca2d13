//! The time that statements of one transaction may wait for locks, as the server sees it. Tests of commands, such as
//! `in_place` of the binary, show what other sessions see of it.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use pgmeter_connect::{LockHolder, LockWaits, LockingStatements, Patience};
use testkit::cluster::Cluster;

#[test]
fn the_waits_of_a_transaction_have_one_limit_in_common() {
    let conninfo = Cluster::shared("18").database("lock_waits");
    let mut session = Cluster::session(&conninfo);
    session.execute("create table seen (number int, lock_timeout interval)").expect("a table");
    let note =
        |number: u8| format!("insert into seen values ({number}, current_setting('lock_timeout')::interval)");
    let sleep = |seconds: &str| format!("select pg_sleep({seconds})");
    let statements = [note(1), sleep("0.3"), note(2), sleep("1"), note(3)];
    let mut waits = LockWaits::default();
    let patience = Patience::for_session(&session);
    LockingStatements::new(patience, &|| true, &mut waits)
        .execute_in_transaction(&mut session, &statements)
        .expect("nobody has a lock");
    let seen = session
        .query(
            "select string_agg(case number when 1 then lock_timeout = '1 s' when 2 then lock_timeout <= '0.7 s' \
             else lock_timeout = '50 ms' end::text, ' ' order by number) from seen",
        )
        .expect("rows");
    assert_eq!(seen[0].get(0), Some("true true true"));
    assert_eq!(waits.tries, 1);
    assert_eq!(session.query("show lock_timeout").expect("a setting")[0].get(0), Some("0"));
}

/// Each lock is granted within the limit of one, and all together are not: the first one must not be held meanwhile.
#[test]
fn the_waits_of_a_statement_have_one_limit_in_common() {
    for version in Cluster::versions(["9.6", "18"]) {
        let conninfo = Cluster::shared(version).database("partition_waits");
        let mut session = Cluster::session(&conninfo);
        session.execute("create table parent (a int)").expect("a table");
        let children = 1..=20;
        let mut holders: Vec<_> = children
            .map(|number| {
                session.execute(&format!("create table c{number} () inherits (parent)")).expect("a child");
                let mut holder = Cluster::session(&conninfo);
                holder.execute(&format!("begin; select * from c{number}")).expect("a lock");
                holder
            })
            .collect();
        let patience = Patience { lock_timeout: Duration::from_secs(1), limit: Duration::from_millis(100) };
        let mut waits = LockWaits::default();
        let failure = thread::scope(|scope| {
            scope.spawn(move || {
                // The next lock is free 300 ms after the one before was granted.
                for holder in &mut holders {
                    thread::sleep(Duration::from_millis(300));
                    holder.execute("commit").expect("the lock is released");
                }
            });
            let sql = ["alter table parent add column b int".to_owned()];
            LockingStatements::new(patience, &|| true, &mut waits).execute_in_transaction(&mut session, &sql)
        });
        let failure = failure.expect_err("the statement would wait for 6 s").error.to_string();
        assert!(failure.contains("the lock was not granted in 1 try"), "{version}: {failure}");
        let columns = "select count(*) from information_schema.columns where table_name = 'parent'";
        assert_eq!(session.query(columns).expect("columns")[0].get(0), Some("1"), "nothing of it remains");
    }
}

/// Sessions of the same work end by themselves, however long that takes.
#[test]
fn a_wait_for_a_session_of_the_same_work_does_not_count() {
    let conninfo = Cluster::shared("18").database("own_waits");
    let mut session = Cluster::session(&conninfo);
    session.execute("create table shared (a int)").expect("a table");
    let patience = Patience { lock_timeout: Duration::from_secs(1), limit: Duration::from_secs(2) };
    let sql = ["alter table shared alter a set default 1".to_owned()];
    for is_own in [false, true] {
        let mut holder = Cluster::session(&conninfo);
        holder.execute("begin; select * from shared").expect("a lock");
        let mut waits = LockWaits::default();
        let done = thread::scope(|scope| {
            let (end, is_ended) = mpsc::channel::<()>();
            scope.spawn(move || {
                // An own session works for longer than the limit; another one until the wait has ended.
                let longest = if is_own { Duration::from_secs(4) } else { Duration::MAX };
                let _ = is_ended.recv_timeout(longest);
                holder.execute("commit").expect("the lock is released");
            });
            let own = |_: &LockHolder| is_own;
            let mut locking = LockingStatements::new(patience, &|| true, &mut waits).beside(&own);
            let done = locking.execute_in_transaction(&mut session, &sql);
            drop(end);
            done
        });
        assert_eq!(done.is_ok(), is_own, "{done:?}");
    }
}
