//! Other users of this machine: none of them gets into a server, by its socket or by TCP, or reads its password. To be
//! another user a test has to be root; otherwise it looks at what keeps them out, and says so.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use connect::{Overrides, Session, resolve};

use pgmeter_server::{Server, ServerOptions, StandbyOptions};

use testkit::cluster::Cluster;

use crate::harness::{Place, ask, listens, session, small, user_of};

/// Tells a copy of this test program what to try; its value is a connection string.
const TARGET: &str = "PGMETER_TEST_INTRUDER";
/// What such a copy exits with if it gets in.
const GOT_IN: i32 = 42;
/// Accounts that exist everywhere and may do nothing.
const STRANGERS: [u32; 2] = [65534, 1];

/// Not a test of its own: the other end of [`gets_in`].
#[test]
#[allow(clippy::exit)]
fn a_process_that_tries_to_get_in() {
    let Ok(conninfo) = std::env::var(TARGET) else { return };
    let target = resolve(Some(&conninfo), &Overrides::default(), &connect::Environment::default()).unwrap();
    if Session::connect(&target).is_ok() {
        std::process::exit(GOT_IN);
    }
}

/// Whether a process of this user can connect.
fn gets_in(place: &Place, uid: u32, conninfo: &str) -> bool {
    let program = place.base.path().join("intruder");
    if !program.exists() {
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    }
    let status = Command::new(program)
        .args(["--exact", "intruders::a_process_that_tries_to_get_in"])
        .env(TARGET, conninfo)
        .current_dir("/")
        .uid(uid)
        .gid(uid)
        .output()
        .unwrap()
        .status;
    assert!(status.success() || status.code() == Some(GOT_IN), "{status}");
    !status.success()
}

/// All that a stranger may try.
fn tries(server: &Server) -> Vec<String> {
    let socket = server.conninfo();
    let tcp = format!("host=127.0.0.1 port={} user=postgres dbname=postgres", server.port());
    let mut all = vec![socket.clone(), socket.replace("user=postgres", "user=guest"), tcp.clone()];
    all.extend(["password=", "password=postgres"].map(|password| format!("{tcp} {password}")));
    all.push(tcp.replace("user=postgres", "user=guest"));
    all.extend(server.conninfo_tcp());
    all
}

#[test]
#[allow(clippy::print_stderr)]
fn another_local_user_gets_in_neither_by_the_socket_nor_by_tcp() {
    for wanted in Cluster::versions(["18", "9.6"]) {
        for tcp in [false, true] {
            let place = Place::new();
            let server = place.try_start(wanted, &ServerOptions { tcp, ..small(&[]) }).unwrap();
            let mut own = session(&server.conninfo());
            own.execute("create role guest login").unwrap();
            assert_eq!(listens(server.port()), tcp);
            let rules = fs::read_to_string(server.hba_file()).unwrap();
            assert!(!rules.lines().any(|line| line.starts_with("host") && line.contains("trust")), "{rules}");
            let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(server.socket_directory()), 0o700);
            assert_eq!(mode(&server.directory().join("pgpass")), 0o600);
            if tcp {
                for text in [server.conninfo_tcp(), server.conninfo_tcp_guarded()] {
                    assert_eq!(ask(&mut session(&text.unwrap()), "select current_user"), "postgres");
                }
                let kept =
                    ask(&mut own, "select left(rolpassword, 3) from pg_authid where rolname = 'postgres'");
                assert_eq!(kept, if wanted == "18" { "SCR" } else { "md5" });
            }
            if !rustix::process::geteuid().is_root() {
                eprintln!("NOT TESTED: to try to get in as another user needs root");
                continue;
            }
            let runs_as = user_of(server.pid().unwrap());
            let stranger = STRANGERS.into_iter().find(|&uid| uid != runs_as).unwrap();
            for text in tries(&server) {
                assert!(!gets_in(&place, stranger, &text), "{wanted}: user {stranger} got in by {text}");
            }
            // The attempts are real ones: the server's own user gets in.
            assert!(gets_in(&place, runs_as, &server.conninfo()));
        }
    }
}

#[test]
fn a_program_that_took_the_servers_port_is_not_given_the_password() {
    let place = Place::new();
    let mut server = place.try_start("18", &ServerOptions { tcp: true, ..small(&[]) }).unwrap();
    let text = server.conninfo_tcp_guarded().unwrap();
    let target = resolve(Some(&text), &Overrides::default(), &connect::Environment::default()).unwrap();
    let port = server.port();
    server.stop().unwrap();
    let listener = std::net::TcpListener::bind(("127.0.0.1", port)).expect("the port is free again");
    let thief = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("pgmeter connects");
        let mut request = [0; 4096];
        let _ = client.read(&mut request);
        // No TLS; then AuthenticationCleartextPassword.
        client.write_all(b"N").expect("it reads");
        let length = client.read(&mut request).expect("a startup message");
        assert!(request[..length].windows(8).any(|it| it == b"postgres"), "a startup message");
        client.write_all(b"R\0\0\0\x08\0\0\0\x03").expect("it reads");
        let mut heard = Vec::new();
        let _ = client.read_to_end(&mut heard);
        heard
    });
    let error = Session::connect(&target).expect_err("it asks for too much").to_string();
    assert!(error.contains("require_auth"), "{error}");
    assert_eq!(thief.join().expect("it hears"), b"", "nothing was sent");
}

#[test]
fn a_program_that_took_the_port_of_a_relay_is_not_given_the_password_by_a_standby() {
    // The libpq of version 14 has no require_auth: it shows that the thief's question is a real one.
    for (wanted, gives) in [("14", true), ("18", false)] {
        let place = Place::new();
        let options = ServerOptions { tcp: true, replication: true, ..small(&[]) };
        let server = place.try_start(wanted, &options).unwrap();
        let kept = fs::read_to_string(server.directory().join("pgpass")).unwrap();
        let password = kept.trim().rsplit(':').next().unwrap();
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let over = AtomicBool::new(false);
        let (startups, heard) = std::thread::scope(|scope| {
            let thief = scope.spawn(|| {
                let (mut startups, mut heard) = (0, Vec::new());
                while let Ok((mut standby, _)) = listener.accept() {
                    if over.load(Ordering::SeqCst) {
                        break;
                    }
                    let mut request = [0; 4096];
                    let length = standby.read(&mut request).unwrap_or(0);
                    startups += usize::from(request[..length].windows(11).any(|it| it == b"replication"));
                    // AuthenticationCleartextPassword; the standby may be gone already.
                    let _ = standby.write_all(b"R\0\0\0\x08\0\0\0\x03");
                    let _ = standby.read_to_end(&mut heard);
                }
                (startups, heard)
            });
            let limit = Duration::from_secs(5);
            let options = StandbyOptions { address: Some(address), limit, ..StandbyOptions::new("one") };
            let made = server.standby(&options, &place.locations);
            over.store(true, Ordering::SeqCst);
            let _wakes_the_thief = std::net::TcpStream::connect(address).unwrap();
            assert!(made.is_err(), "{wanted}: it streams from a thief");
            thief.join().unwrap()
        });
        assert!(startups > 0, "{wanted}: the standby connected");
        let given = heard.windows(password.len()).any(|it| it == password.as_bytes());
        assert_eq!((given, heard.is_empty()), (gives, !gives), "{wanted}");
    }
}

#[test]
fn nothing_that_root_writes_for_a_server_stands_where_the_servers_user_can_exchange_it() {
    let place = Place::new();
    let options = ServerOptions { tls: true, ..small(&[]) };
    let server = place.try_start("18", &options).unwrap();
    let own = rustix::process::geteuid().as_raw();
    assert_eq!(fs::metadata(server.directory()).unwrap().uid(), own);
    for name in
        ["server.crt", "server.key", "pgmeter.conf", "pg_hba.conf", "pg_ident.conf", "pgpass", "server.json"]
    {
        let path = server.directory().join(name);
        assert!(fs::symlink_metadata(&path).unwrap().is_file(), "{name}");
    }
    assert!(!server.directory().join("initdb-password").exists());
    for name in ["server.crt", "server.key"] {
        assert!(!server.directory().join("data").join(name).exists(), "{name}");
    }
    let encrypted = server.conninfo_tls().unwrap();
    let sql = "select ssl from pg_stat_ssl where pid = pg_backend_pid()";
    assert_eq!(ask(&mut session(&encrypted), sql), "t");
}
