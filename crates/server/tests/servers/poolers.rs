//! PgBouncer in front of a real server: how it is reached, what it writes, and that nothing of it is left.
//! Without an installed PgBouncer these tests say so, unless it is required.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use connect::{Overrides, Session, resolve};
use pgmeter_server::{
    Locations, PoolerListens, PoolerOptions, PoolerProgram, ServerOptions, find_pooler, sweep,
};
use stats::PoolMode;

use crate::harness::{
    Owner, Place, WITH_POOLER, ask, eventually, kill, listens, runs, session, small, user_of,
};

/// The installed PgBouncer; without it, the test says that it tested nothing.
#[allow(clippy::print_stderr)]
fn program(locations: &Locations) -> Option<PoolerProgram> {
    let found = find_pooler(None, locations);
    assert!(found.is_ok() || std::env::var_os("PGMETER_TEST_PGBOUNCER").is_none(), "{found:?}");
    if found.is_err() {
        eprintln!("SKIPPED: there is no pgbouncer, so no pooler was tested");
    }
    found.ok()
}

pub fn options(mode: PoolMode) -> PoolerOptions {
    PoolerOptions {
        mode,
        pool_size: 1,
        clients_max: 10,
        max_prepared_statements: None,
        settings: Vec::new(),
        listens: PoolerListens::Nowhere,
        stop: None,
    }
}

#[test]
fn a_pooler_is_reached_as_it_was_asked_for_and_leaves_nothing() {
    let place = Place::new();
    let Some(program) = program(&place.locations) else { return };
    for wanted in ["18", "9.6"] {
        let server = place.try_start(wanted, &ServerOptions { tls: true, ..small(&[]) }).unwrap();
        for listens_on in [PoolerListens::Nowhere, PoolerListens::Tcp, PoolerListens::Tls] {
            let options = PoolerOptions { listens: listens_on, ..options(PoolMode::Transaction) };
            let pooler = server.start_pooler(&program, &options).unwrap();
            let (pid, directory) = (pooler.pid(), pooler.directory().to_owned());
            assert_eq!(user_of(pid), user_of(server.pid().unwrap()), "it refuses to run as root");
            let places = [Some(pooler.conninfo()), pooler.conninfo_tcp()];
            assert_eq!(places[1].is_some(), listens_on != PoolerListens::Nowhere);
            for conninfo in places.iter().flatten() {
                let mut session = session(conninfo);
                // Two transactions on the only connection to the server.
                let backends = [(); 2].map(|()| ask(&mut session, "select pg_backend_pid()"));
                assert_eq!(backends[0], backends[1]);
            }
            let console = ask(&mut session(&pooler.conninfo_console()), "SHOW VERSION");
            assert!(console.contains(&program.version.to_string()), "{console}");
            drop(pooler);
            assert!(!runs(pid) && !directory.exists() && !directory.with_extension("log").exists());
            let left = fs::read_dir(server.socket_directory()).unwrap().count();
            assert_eq!(left, 2, "only the socket of the server and its lock file");
        }
    }
}

#[test]
fn nobody_else_can_read_the_files_of_a_pooler_and_over_tcp_it_asks_for_the_password() {
    let place = Place::new();
    let Some(program) = program(&place.locations) else { return };
    let server = place.try_start("18", &ServerOptions { tcp: true, ..small(&[]) }).unwrap();
    let options = PoolerOptions { listens: PoolerListens::Tcp, ..options(PoolMode::Session) };
    let pooler = server.start_pooler(&program, &options).unwrap();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(pooler.directory().to_owned()), 0o700);
    for file in ["pgbouncer.ini", "userlist.txt", "pg_hba.conf"] {
        assert_eq!(mode(pooler.directory().join(file)), 0o600, "{file}");
    }
    let password = fs::read_to_string(server.directory().join("pgpass")).unwrap();
    let password = password.trim_end().rsplit(':').next().unwrap().to_owned();
    let ini = fs::read_to_string(pooler.directory().join("pgbouncer.ini")).unwrap();
    assert!(!ini.contains(&password) && !pooler.log().contains(&password));
    assert!(!format!("{pooler:?}").contains(&password));
    let without = pooler
        .conninfo_tcp()
        .unwrap()
        .replace("passfile=", "password=wrong target_session_attrs=any passfile=");
    let target = resolve(Some(&without), &Overrides::default(), &connect::Environment::default()).unwrap();
    assert!(Session::connect(&target).is_err(), "a wrong password must be refused");
}

#[test]
fn a_pooler_that_cannot_start_shows_the_end_of_its_log_and_leaves_nothing() {
    let place = Place::new();
    let Some(program) = program(&place.locations) else { return };
    let server = place.start("18");
    let before = fs::read_dir(server.directory()).unwrap().count();
    for (settings, expected) in [
        (("no_such_setting", "1"), "no_such_setting"),
        (("pool_mode", "statement"), "use the key mode of [pooler]"),
        (("server_lifetime", "1\n[users]"), "one line"),
    ] {
        let settings = vec![(settings.0.to_owned(), settings.1.to_owned())];
        let options = PoolerOptions { settings, ..options(PoolMode::Transaction) };
        let error = server.start_pooler(&program, &options).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(fs::read_dir(server.directory()).unwrap().count(), before, "{expected}");
    }
}

#[test]
fn a_pooler_ends_with_its_server_and_may_have_ended_before() {
    let place = Place::new();
    let Some(program) = program(&place.locations) else { return };
    let mut server = place.start("18");
    let mut pooler = server.start_pooler(&program, &options(PoolMode::Transaction)).unwrap();
    kill(pooler.pid());
    eventually("it has ended", || !pooler.is_running());
    drop(pooler);
    let pooler = server.start_pooler(&program, &options(PoolMode::Statement)).unwrap();
    server.stop_and_remove().unwrap();
    assert!(!runs(pooler.pid()) && place.homes().is_empty());
}

#[test]
fn the_pooler_of_a_killed_process_is_ended_by_the_guard_or_by_the_sweep() {
    let place = Place::new();
    if program(&place.locations).is_none() {
        return;
    }
    let wanted = format!("18{WITH_POOLER}");
    let mut owner = Owner::start(&place, &wanted);
    let pooler = owner.pooler().unwrap();
    owner.kill();
    eventually("the pooler ends", || !runs(pooler));
    eventually("its home is removed", || place.homes().is_empty());

    let mut owner = Owner::start(&place, &wanted);
    let pooler = owner.pooler().unwrap();
    owner.kill_with_guard();
    assert!(runs(pooler) && runs(owner.postmaster));
    assert_eq!(sweep(&place.locations).len(), 1);
    assert!(!runs(pooler) && !listens(owner.port) && place.homes().is_empty());
}
