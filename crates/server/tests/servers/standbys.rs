//! Standbys of real servers: made from a running primary, followed, promoted, and gone. The versions are the oldest,
//! the last with `recovery.conf`, the first with `standby.signal`, and the newest.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use connect::Session;
use pgmeter_server::{
    Server, ServerError, ServerOptions, StandbyOptions, SynchronousMethod, Wanted, synchronous_standby_names,
};
use rustix::process::{Pid, Signal, kill_process};
use testkit::cluster::Cluster;
use testkit::extent::is_all;

use crate::harness::{Place, ask, eventually, runs, session, small};

const VERSIONS: [&str; 4] = ["9.6", "11", "12", "18"];
const LIMIT: Duration = Duration::from_secs(60);

fn primary(place: &Place, wanted: &str) -> Server {
    let options = ServerOptions { replication: true, tcp: true, ..small(&[]) };
    place.try_start(wanted, &options).unwrap_or_else(|error| panic!("{error}"))
}

fn standby(place: &Place, primary: &Server, options: &StandbyOptions<'_>) -> Server {
    primary.standby(options, &place.locations).unwrap_or_else(|error| panic!("{error}"))
}

fn has_rows(session: &mut Session, rows: &str) -> bool {
    session.query("select count(*) from t").is_ok_and(|found| found[0].get(0) == Some(rows))
}

fn set(name: &str, value: impl Into<String>) -> Vec<(String, String)> {
    vec![(name.to_owned(), value.into())]
}

#[test]
fn a_standby_follows_its_primary_until_it_is_promoted_and_leaves_nothing() {
    // The ways to make a standby differ between 11 and 12.
    for wanted in VERSIONS.into_iter().filter(|wanted| is_all() || ["11", "18"].contains(wanted)) {
        let place = Place::new();
        let server = primary(&place, wanted);
        let mut writer = session(&server.conninfo());
        writer.execute("create table t as select generate_series(1, 1000) as a").unwrap();
        let made = standby(&place, &server, &StandbyOptions::new("one"));
        let mut reader = session(&made.conninfo());
        assert!(has_rows(&mut reader, "1000") && made.is_standby() && made.standby_name() == Some("one"));
        writer.execute("insert into t select generate_series(1, 500)").unwrap();
        eventually("the standby has the new rows", || has_rows(&mut reader, "1500"));
        let refused = reader.execute("insert into t values (0)").unwrap_err().to_string();
        assert!(refused.contains("read-only"), "{refused}");

        made.promote(LIMIT).unwrap();
        assert!(!made.is_standby());
        let mut own = session(&made.conninfo());
        own.execute("insert into t values (0)").unwrap();
        assert!(has_rows(&mut own, "1501") && has_rows(&mut writer, "1500"));
        for not_a_standby in [&made, &server] {
            let error = not_a_standby.promote(LIMIT).unwrap_err();
            assert!(matches!(error, ServerError::NotAStandby { .. }), "{wanted}: {error}");
        }
        drop(made);
        server.drop_standby("one").unwrap();
        assert_eq!(ask(&mut writer, "select count(*) from pg_replication_slots"), "0");
        drop(server);
        assert!(place.homes().is_empty(), "{wanted}: {:?}", place.homes());
    }
}

#[test]
fn a_commit_waits_until_a_cascade_of_synchronous_standbys_has_it() {
    for wanted in Cluster::versions(["9.6", "18"]) {
        let place = Place::new();
        let mut server = primary(&place, wanted);
        let near = standby(&place, &server, &StandbyOptions { tcp: true, ..StandbyOptions::new("near") });
        // Over TCP, with a password, as through a relay.
        let address = Some(SocketAddr::from((Ipv4Addr::LOCALHOST, near.port())));
        let far = StandbyOptions { upstream: Some(&near), address, ..StandbyOptions::new("far") };
        let far = standby(&place, &server, &far);

        let major = Wanted::parse(wanted).unwrap().major();
        let names = ["near".to_owned()];
        let names = synchronous_standby_names(SynchronousMethod::First, 1, &names, major).unwrap();
        let mut wanted_settings = set("synchronous_standby_names", names);
        wanted_settings.extend(set("synchronous_commit", "remote_apply"));
        server.change_settings(&wanted_settings).unwrap();
        let mut writer = session(&server.conninfo());
        let state = "select string_agg(application_name || ' ' || sync_state, ',') from pg_stat_replication";
        eventually("the standby is synchronous", || ask(&mut writer, state) == "near sync");
        writer.execute("create table t (a int)").unwrap();
        let mut reader = session(&near.conninfo());
        for row in 1..=20 {
            writer.execute("insert into t values (1)").unwrap();
            assert!(has_rows(&mut reader, &row.to_string()), "{wanted}: row {row} was applied before");
        }
        let mut last = session(&far.conninfo());
        eventually("the last of the cascade has all rows", || has_rows(&mut last, "20"));
        let senders = "select application_name from pg_stat_replication";
        assert_eq!(ask(&mut reader, senders), "far");
    }
}

#[test]
fn a_standby_made_under_load_has_everything_that_was_written() {
    for wanted in Cluster::versions(["11", "18"]) {
        let place = Place::new();
        let server = primary(&place, wanted);
        let mut writer = session(&server.conninfo());
        writer.execute("create table t (a int)").unwrap();
        let over = AtomicBool::new(false);
        let made = std::thread::scope(|scope| {
            let load = scope.spawn(|| {
                let mut writer = session(&server.conninfo());
                let mut rounds = 0;
                while !over.load(Ordering::Relaxed) {
                    writer.execute("insert into t select generate_series(1, 100)").unwrap();
                    writer.execute("create table gone as select * from t limit 1000").unwrap();
                    writer.execute("drop table gone").unwrap();
                    rounds += 1;
                }
                rounds
            });
            let made = standby(&place, &server, &StandbyOptions::new("one"));
            over.store(true, Ordering::Relaxed);
            assert!(load.join().unwrap() > 0);
            made
        });
        let rows = ask(&mut writer, "select count(*) from t");
        let mut reader = session(&made.conninfo());
        eventually("the standby has all rows", || has_rows(&mut reader, &rows));
    }
}

#[test]
fn a_standby_has_tablespaces_of_its_own() {
    let place = Place::new();
    let elsewhere = place.base.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let tablespaces = vec![("near".to_owned(), None), ("far".to_owned(), Some(elsewhere.clone()))];
    let options = ServerOptions { replication: true, tablespaces, ..small(&[]) };
    let server = place.try_start("18", &options).unwrap();
    let mut writer = session(&server.conninfo());
    for (table, tablespace) in [("t", "near"), ("u", "far")] {
        writer.execute(&format!("create table {table} (a int) tablespace {tablespace}")).unwrap();
        writer.execute(&format!("insert into {table} values (1)")).unwrap();
    }
    let made = standby(&place, &server, &StandbyOptions::new("one"));
    let mut reader = session(&made.conninfo());
    let places = "select string_agg(pg_tablespace_location(oid), ' ' order by spcname) from pg_tablespace \
                  where spcname in ('near', 'far')";
    let (here, there) = (ask(&mut writer, places), ask(&mut reader, places));
    let (here, there): (Vec<_>, Vec<_>) = (here.split(' ').collect(), there.split(' ').collect());
    assert!(here.iter().all(|one| !there.contains(one)) && there.len() == 2, "{here:?} {there:?}");
    assert!(has_rows(&mut reader, "1"));
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 2);
    writer.execute("insert into t values (2)").unwrap();
    eventually("it is written to the standby's own files", || has_rows(&mut reader, "2"));
    drop(made);
    drop(server);
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn a_standby_that_cannot_attach_is_an_error_after_its_limit_and_leaves_nothing() {
    for wanted in Cluster::versions(["11", "18"]) {
        let place = Place::new();
        let server = primary(&place, wanted);
        let nobody = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        let limit = Duration::from_secs(3);
        let options = StandbyOptions { address: Some(nobody), limit, ..StandbyOptions::new("one") };
        let error = server.standby(&options, &place.locations).unwrap_err().to_string();
        let sentence = error.lines().next().unwrap();
        assert!(sentence.contains("one") && sentence.contains("within 3 s"), "{error}");
        assert!(error.contains("could not connect") && !error.contains("starting up"), "{error}");
        assert_eq!(place.homes(), [server.name()]);
        let slots = ask(&mut session(&server.conninfo()), "select count(*) from pg_replication_slots");
        assert_eq!(slots, "0");
    }
}

#[test]
fn a_server_without_replication_refuses_a_standby_in_one_sentence() {
    let place = Place::new();
    let server = place.start("9.6");
    let error = server.standby(&StandbyOptions::new("one"), &place.locations).unwrap_err().to_string();
    assert!(error.starts_with("cannot make the standby one: ") && error.contains("max_replication_slots"));
    for name in ["", "One", "a-b", "a b", "a'b"] {
        let error = server.standby(&StandbyOptions::new(name), &place.locations).unwrap_err();
        assert!(matches!(error, ServerError::BadStandbyName { .. }), "{name}: {error}");
    }
    assert_eq!(place.homes(), [server.name()]);
}

#[test]
fn a_promotion_that_does_not_end_is_an_error_after_its_limit_and_can_be_tried_again() {
    for wanted in Cluster::versions(["11", "18"]) {
        let place = Place::new();
        let server = primary(&place, wanted);
        let made = standby(&place, &server, &StandbyOptions::new("one"));
        let postmaster = Pid::from_raw(i32::try_from(made.pid().unwrap()).unwrap()).unwrap();
        kill_process(postmaster, Signal::STOP).unwrap();
        let error = made.promote(Duration::from_secs(1)).unwrap_err().to_string();
        assert!(error.contains("one was still in recovery 1 s after"), "{error}");
        assert!(!made.directory().join("data/promote").exists());
        kill_process(postmaster, Signal::CONT).unwrap();
        made.promote(LIMIT).unwrap();
        kill_process(postmaster, Signal::KILL).unwrap();
        eventually("the postmaster has ended", || !runs(made.pid().unwrap()));
    }
}

#[test]
fn a_standby_that_has_ended_cannot_be_promoted() {
    let place = Place::new();
    let server = primary(&place, "18");
    let mut made = standby(&place, &server, &StandbyOptions::new("one"));
    made.stop().unwrap();
    assert!(matches!(made.promote(LIMIT).unwrap_err(), ServerError::NotAStandby { .. }));
    made.restart().unwrap();
    kill_process(Pid::from_raw(i32::try_from(made.pid().unwrap()).unwrap()).unwrap(), Signal::KILL).unwrap();
    // Its end may be noticed before the request or after it.
    let error = made.promote(LIMIT).unwrap_err();
    assert!(
        matches!(error, ServerError::PromotionFailed { .. } | ServerError::NotAStandby { .. }),
        "{error}"
    );
}

#[test]
fn after_a_switchover_the_former_primary_follows() {
    for wanted in Cluster::versions(["11", "12", "18"]) {
        let place = Place::new();
        let mut server = primary(&place, wanted);
        let mut made = standby(&place, &server, &StandbyOptions::new("one"));
        let mut other = standby(&place, &server, &StandbyOptions::new("two"));
        session(&server.conninfo()).execute("create table t as select generate_series(1, 100) as a").unwrap();
        server.stop().unwrap();
        made.promote(LIMIT).unwrap();
        other.follow(&made, &StandbyOptions::new("two")).unwrap();
        server.follow(&made, &StandbyOptions::new("former")).unwrap();
        session(&made.conninfo()).execute("insert into t values (0)").unwrap();
        for follower in [&server, &other] {
            let mut reader = session(&follower.conninfo());
            eventually("it follows the new primary", || has_rows(&mut reader, "101"));
        }
        assert!(server.is_standby() && !made.is_standby());
        made.restart().unwrap();
        assert!(!made.is_standby());
        let still = ask(&mut session(&made.conninfo()), "select pg_is_in_recovery()");
        assert_eq!(still, "f", "a promoted server stays a primary after a restart");
    }
}
