//! Faults of real servers: killed, shut down, paused and started again through a handle. The port, the data and the
//! ownership stay, and no process is left stopped or as a zombie.

use std::fs;
use std::path::Path;

use pgmeter_server::{Server, ServerError, ServerHandle, Shutdown, named};

use crate::harness::{Place, ask, eventually, runs, session, small};

/// The states of the processes whose working directory is this data directory, such as `S` or `T`.
fn states(data: &Path) -> Vec<char> {
    let data = data.canonicalize().unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let ours = processes.filter(|process| fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == data));
    let state = |process: std::path::PathBuf| {
        let stat = fs::read_to_string(process.join("stat")).ok()?;
        stat.rsplit_once(") ")?.1.chars().next()
    };
    ours.filter_map(state).collect()
}

fn data(server: &Server) -> std::path::PathBuf {
    server.directory().join("data")
}

const NEVER: &dyn Fn() -> bool = &|| false;

#[test]
fn a_killed_server_starts_again_with_its_port_and_its_data() {
    for wanted in ["18", "9.6"] {
        let place = Place::new();
        let mut server = place.start(wanted);
        let handle = server.handle();
        let (pid, port) = (server.pid().unwrap(), server.port());
        session(&server.conninfo()).execute("create table kept as select 42 as value").unwrap();
        handle.kill().unwrap();
        assert!(!server.is_running() && !runs(pid) && !Path::new(&format!("/proc/{pid}")).exists(), "reaped");
        assert!(matches!(handle.kill(), Err(ServerError::NotRunning { .. })));
        assert!(matches!(handle.pause(), Err(ServerError::NotRunning { .. })));
        handle.start().unwrap();
        handle.start().unwrap();
        assert!(server.is_running());
        assert_ne!(server.pid().unwrap(), pid);
        assert_eq!((server.port(), handle.conninfo()), (port, server.conninfo()));
        assert_eq!(ask(&mut session(&server.conninfo()), "select value from kept"), "42");
        server.stop_and_remove().unwrap();
        assert!(place.homes().is_empty());
    }
}

#[test]
fn a_server_shuts_down_in_the_three_ways_of_postgresql() {
    let place = Place::new();
    let server = place.start("18");
    let handle = server.handle();
    let recovered = |log: &str| log.matches("database system was not properly shut down").count();
    let log = || fs::read_to_string(server.directory().join("log")).unwrap();
    for (how, recoveries) in [(Shutdown::Fast, 0), (Shutdown::Immediate, 1)] {
        let _waiting = session(&server.conninfo());
        handle.shut_down(how, NEVER).unwrap();
        assert!(!handle.is_running());
        assert!(matches!(handle.shut_down(how, NEVER), Err(ServerError::NotRunning { .. })));
        handle.start().unwrap();
        assert_eq!(recovered(&log()), recoveries, "{how:?}");
    }
    let waiting = session(&server.conninfo());
    // The run is over while the server waits for the session.
    let over = handle.shut_down(Shutdown::Smart, &|| log().contains("smart shutdown request"));
    assert!(matches!(over, Err(ServerError::Interrupted)), "{over:?}");
    assert!(handle.is_running());
    drop(waiting);
    eventually("the server ends", || !handle.is_running());
    assert_eq!(recovered(&log()), 1);
}

#[test]
fn a_paused_server_is_stopped_as_a_whole_and_continues() {
    let place = Place::new();
    let mut server = place.start("18");
    let handle = server.handle();
    let mut open = session(&server.conninfo());
    handle.pause().unwrap();
    assert!(states(&data(&server)).len() > 3);
    eventually("all of it is stopped", || states(&data(&server)).iter().all(|state| *state == 'T'));
    assert!(server.is_running());
    handle.resume();
    assert_eq!(ask(&mut open, "select 'here'"), "here");
    eventually("all of it continues", || !states(&data(&server)).contains(&'T'));
    // It is removed although it is paused.
    handle.pause().unwrap();
    server.stop_and_remove().unwrap();
    assert!(place.homes().is_empty());
}

#[test]
fn a_killed_backend_makes_the_server_restart_and_other_processes_are_not_touched() {
    let place = Place::new();
    let server = place.start("18");
    let handle = server.handle();
    let pid = server.pid();
    let mut victim = session(&server.conninfo());
    let backend: i32 = ask(&mut victim, "select pg_backend_pid()").parse().unwrap();
    for foreign in [i32::try_from(std::process::id()).unwrap(), 1, 0, -1, i32::MAX] {
        assert!(!handle.kill_process(foreign), "{foreign}");
    }
    assert!(handle.kill_process(backend));
    assert!(victim.query("select 1").is_err());
    let log = || fs::read_to_string(server.directory().join("log")).unwrap();
    eventually("the server restarts", || log().contains("all server processes terminated; reinitializing"));
    eventually("it accepts connections", || {
        log().matches("database system is ready to accept connections").count() == 2
    });
    assert_eq!(server.pid(), pid, "the postmaster stays");
}

#[test]
fn a_permanent_server_is_adopted_by_its_socket_alone_and_stays_afterwards() {
    let place = Place::new();
    named::install("mine", &place.programs("18"), &small(&[]), &place.locations).unwrap();
    let started = named::start("mine", false, &place.locations).unwrap();
    session(&started.conninfo).execute("create table kept as select 42 as value").unwrap();
    let socket = place.locations.state_dir.join("servers/mine/socket");
    let socket = if socket.exists() { socket } else { socket_of(&started.conninfo) };
    let adopt = |port| ServerHandle::adopt(&socket, port, &place.locations).unwrap();
    assert!(adopt(started.port + 1).is_none());
    assert!(ServerHandle::adopt(place.base.path(), started.port, &place.locations).unwrap().is_none());

    let handle = adopt(started.port).expect("it is managed");
    assert!(matches!(named::stop("mine", &place.locations), Err(ServerError::InUse { .. })));
    // This process has started it and does not wait for it, so it becomes a zombie.
    handle.kill().unwrap();
    assert!(!handle.is_running());
    handle.start().unwrap();
    assert_eq!(ask(&mut session(&started.conninfo), "select value from kept"), "42");
    drop(handle);
    let status = named::status("mine", &place.locations).unwrap();
    assert!(status.pid.is_some() && status.pid != started.pid && status.port == started.port);
    named::remove("mine", &place.locations).unwrap();
}

/// The directory in `host=… port=…`, without quotes.
fn socket_of(conninfo: &str) -> std::path::PathBuf {
    let host = conninfo.split_whitespace().next().unwrap().strip_prefix("host=").unwrap();
    host.into()
}

#[test]
fn a_paused_permanent_server_continues_when_its_owner_is_gone() {
    let place = Place::new();
    named::install("mine", &place.programs("18"), &small(&[]), &place.locations).unwrap();
    let started = named::start("mine", false, &place.locations).unwrap();
    let handle = ServerHandle::adopt(&socket_of(&started.conninfo), started.port, &place.locations).unwrap();
    let handle = handle.expect("it is managed");
    handle.pause().unwrap();
    eventually("all of it is stopped", || states(&started.data_dir).iter().all(|state| *state == 'T'));
    // As the end of this process would, which closes the pipe of the guard.
    drop(handle);
    eventually("it continues", || !states(&started.data_dir).contains(&'T'));
    assert_eq!(ask(&mut session(&started.conninfo), "select 'here'"), "here");
    named::remove("mine", &place.locations).unwrap();
}
