//! From start to end in good order: what a server is given, where it can be reached, and that nothing is left.
//! What happens when its owner is killed is in `orphans`.

use std::os::unix::net::UnixStream;

use pgmeter_server::{Instrumentation, Server, ServerOptions, named, obtain};

use testkit::cluster::Cluster;

use crate::harness::{
    Owner, Place, ask, eventually, exists, kill, listens, runs, segments, session, shared_memory, small,
    socket, user_of,
};

const BOTH: [&str; 2] = ["18", "9.6"];

#[test]
fn a_server_is_reached_by_socket_and_tcp_until_it_is_dropped_and_leaves_nothing() {
    for wanted in BOTH {
        let place = Place::new();
        let options = ServerOptions { tcp: true, ..small(&[]) };
        let mut server = place.try_start(wanted, &options).unwrap();
        let (pid, port, socket) = (server.pid().unwrap(), server.port(), socket(&server));
        assert!(server.is_running() && runs(pid));
        for conninfo in [server.conninfo(), server.conninfo_tcp().unwrap()] {
            let answer = ask(&mut session(&conninfo), "select current_setting('server_version')");
            assert_eq!(answer, place.programs(wanted).version.text());
        }
        assert!(server.conninfo().contains(&format!("port={port} user=postgres")));
        assert!(server.conninfo_tcp().unwrap().starts_with("host=127.0.0.1 "));
        drop(server);
        assert!(!runs(pid) && !listens(port) && !exists(&socket));
        assert!(place.homes().is_empty(), "{wanted}: {:?}", place.homes());
    }
}

#[test]
fn stopping_twice_and_removing_twice_are_no_errors() {
    let place = Place::new();
    let mut server = place.start("18");
    let pid = server.pid().unwrap();
    server.stop().unwrap();
    server.stop().unwrap();
    assert!(!runs(pid) && exists(&server.directory().join("data")));
    server.stop_and_remove().unwrap();
    server.stop_and_remove().unwrap();
    assert!(!exists(server.directory()));
}

#[test]
fn two_servers_that_start_at_once_do_not_collide() {
    let place = Place::new();
    let (one, two) = std::thread::scope(|scope| {
        let start = || place.start("18");
        let (one, two) = (scope.spawn(start), scope.spawn(start));
        (one.join().unwrap(), two.join().unwrap())
    });
    assert_ne!(one.port(), two.port());
    assert_ne!(one.name(), two.name());
    assert_eq!(place.homes().len(), 2);
}

#[test]
fn a_server_never_runs_as_root() {
    let place = Place::new();
    let server = place.start("18");
    assert_ne!(user_of(server.pid().unwrap()), 0);
}

#[test]
fn an_ordinary_user_needs_nothing_but_a_directory_of_its_own() {
    for wanted in Cluster::versions(BOTH) {
        let place = Place::new();
        let mut owner = Owner::start_unprivileged(&place, wanted);
        assert!(runs(owner.postmaster) && !listens(owner.port));
        assert_ne!(user_of(owner.postmaster), 0);
        owner.end();
        assert!(!runs(owner.postmaster) && place.homes().is_empty());
    }
}

#[test]
fn settings_are_passed_on_and_ours_stay_where_nothing_else_is_said() {
    let place = Place::new();
    let server =
        place.try_start("18", &small(&[("work_mem", "5MB"), ("cluster_name", r"it's a \ test")])).unwrap();
    let value = |name| {
        server.settings().iter().find(|setting| setting.name == name).map(|found| found.value.as_str())
    };
    assert_eq!(value("work_mem"), Some("5MB"));
    let mut session = session(&server.conninfo());
    for (name, expected) in
        [("work_mem", "5MB"), ("cluster_name", r"it's a \ test"), ("checkpoint_timeout", "15min")]
    {
        assert_eq!(ask(&mut session, &format!("show {name}")), expected);
    }
    assert_eq!(value("shared_buffers"), Some("16MB"));
    assert_eq!(value("checkpoint_timeout"), Some("15min"));
}

#[test]
fn statements_are_counted_in_every_database_unless_instrumentation_is_off() {
    for wanted in Cluster::versions(BOTH) {
        let place = Place::new();
        for instrumentation in [Instrumentation::On, Instrumentation::Off] {
            let server = place.try_start(wanted, &ServerOptions { instrumentation, ..small(&[]) }).unwrap();
            let on = instrumentation == Instrumentation::On;
            assert_eq!(server.counts_statements(), on);
            let mut own = session(&server.conninfo());
            own.execute("create database made_later").unwrap();
            assert_eq!(ask(&mut own, "show track_io_timing"), if on { "on" } else { "off" });
            // Of version 14 and newer.
            let flushes = "select coalesce(current_setting('track_wal_io_timing', true), 'unknown')";
            let expected = if wanted == "9.6" {
                "unknown"
            } else if on {
                "on"
            } else {
                "off"
            };
            assert_eq!(ask(&mut own, flushes), expected);
            let mut later = session(&server.conninfo().replace("dbname=postgres", "dbname=made_later"));
            for database in [&mut own, &mut later] {
                let there =
                    ask(database, "select count(*) from pg_extension where extname = 'pg_stat_statements'");
                assert_eq!(there, if on { "1" } else { "0" });
            }
            if on {
                ask(&mut later, "select 4711 as seen");
                let sql = "select calls from pg_stat_statements where query like '%as seen' and dbid = \
                           (select oid from pg_database where datname = current_database())";
                assert_eq!(ask(&mut later, sql), "1");
            }
        }
    }
}

#[test]
fn programs_without_pg_stat_statements_are_started_all_the_same() {
    let place = Place::new();
    let whole = place.programs("18");
    let root = whole.bin_dir.parent().unwrap();
    let copy = place.base.path().join("programs");
    let copied = std::process::Command::new("cp").args(["-a"]).arg(root).arg(&copy).status().unwrap();
    assert!(copied.success());
    let find = std::process::Command::new("find")
        .arg(&copy)
        .args(["-name", "pg_stat_statements.so", "-delete"])
        .status();
    assert!(find.unwrap().success());
    let bin = copy.join("bin");
    let programs = obtain("18", Some(&bin), &place.locations, &mut |_| {}).unwrap();
    let server = Server::start(&programs, &small(&[]), &place.locations).unwrap();
    assert!(!server.counts_statements());
    assert_eq!(ask(&mut session(&server.conninfo()), "show track_io_timing"), "on");
}

#[test]
fn a_path_too_long_for_a_socket_is_no_obstacle() {
    let mut place = Place::new();
    place.locations.state_dir = place.base.path().join("long".repeat(20)).join("longer".repeat(10));
    let server = place.start("18");
    let sockets = server.socket_directory().to_owned();
    assert!(sockets.starts_with("/tmp/") && UnixStream::connect(socket(&server)).is_ok());
    drop(server);
    assert!(!exists(&sockets));
}

#[test]
fn a_kept_server_outlives_its_owner_and_is_stopped_by_name() {
    let place = Place::new();
    let status = place.start("18").keep().unwrap();
    let pid = status.pid.unwrap();
    assert!(!status.temporary && runs(pid) && !listens(status.port));
    assert_eq!(named::list(&place.locations).unwrap().len(), 1);
    assert_eq!(named::stop(&status.name, &place.locations).unwrap().pid, None);
    eventually("the server ends", || !runs(pid));
    assert!(exists(&status.data_dir));
    named::remove(&status.name, &place.locations).unwrap();
    assert!(place.homes().is_empty());
}

#[test]
fn a_server_that_was_killed_is_removed_all_the_same_with_its_shared_memory() {
    for wanted in BOTH {
        let place = Place::new();
        let mut server = place.start(wanted);
        let segment = shared_memory(&server);
        assert!(segments().contains(&segment), "{segment}");
        kill(server.pid().unwrap());
        eventually("the postmaster is seen to be gone", || !server.is_running());
        assert!(segments().contains(&segment) && exists(&server.directory().join("data")));
        drop(server);
        assert!(!segments().contains(&segment), "{wanted}: {segment}");
        assert!(place.homes().is_empty());
    }
}

#[test]
fn passwords_in_the_environment_are_not_handed_on_to_the_server() {
    let place = Place::new();
    let mut owner = Owner::start(&place, "18");
    let environment = std::fs::read(format!("/proc/{}/environ", owner.postmaster)).unwrap();
    let environment = String::from_utf8_lossy(&environment).into_owned();
    assert!(environment.contains("LC_ALL=C") && !environment.contains("PGPASSWORD"), "{environment}");
    owner.end();
}
