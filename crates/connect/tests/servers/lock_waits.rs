//! The time that statements of one transaction may wait for locks, as the server sees it. Tests of commands, such as
//! `in_place` of the binary, show what other sessions see of it.

use pgmeter_connect::{LockWaits, LockingStatements, Patience};
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
