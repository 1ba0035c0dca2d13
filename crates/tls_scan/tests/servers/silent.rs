//! Servers that do not answer as they should: each ending has an outcome of its own.
//! Each is a thread that serves a few connections.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use pgmeter_tls_scan::{Outcome, ScanOptions, Version, Way, scan};
use testkit::closed_port::ClosedPort;

use crate::outcome;

/// The outcomes for the versions, newest first, and the number of connections, of a server that does this with each.
fn outcomes(serve: fn(TcpStream), limit: Duration) -> (Vec<Outcome>, u32) {
    tried(serve, limit).expect("a scan")
}

/// The same, or the error of the scan.
fn tried(serve: fn(TcpStream), limit: Duration) -> Result<(Vec<Outcome>, u32), String> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("a port").port();
    thread::spawn(move || {
        listener.incoming().flatten().for_each(|socket| drop(thread::spawn(move || serve(socket))))
    });
    let environment = connect::Environment::default();
    let conninfo = format!("host=127.0.0.1 port={port} user=u");
    let target =
        connect::resolve(Some(&conninfo), &connect::Overrides::default(), &environment).expect("a target");
    let options = ScanOptions { ways: vec![Way::SslRequest], pause: Duration::ZERO, limit };
    let scan = scan(&target, &options, &mut |_| {}).map_err(|error| error.to_string())?;
    let way = &scan.ways[0];
    assert!(way.suites.is_empty() && scan.weaknesses.is_empty() && scan.chains.is_empty());
    let versions = Version::ALL.iter().rev().map(|(version, ..)| outcome(way, *version).clone()).collect();
    Ok((versions, way.connections))
}

/// Reads SSLRequest and answers it; reads the ClientHello.
fn agree(socket: &mut TcpStream) {
    let mut request = [0; 8];
    socket.read_exact(&mut request).expect("SSLRequest");
    assert_eq!(request, [0, 0, 0, 8, 4, 210, 22, 47]);
    socket.write_all(b"S").expect("an open connection");
    let mut hello = [0; 8192];
    assert!(socket.read(&mut hello).expect("a ClientHello") > 40);
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_closed_connection_is_no_refusal() {
    let closing = |mut socket: TcpStream| agree(&mut socket);
    assert_eq!(outcomes(closing, LONG), (vec![Outcome::Closed; 4], 4));
    // After a part of an answer, too.
    let cutting = |mut socket: TcpStream| {
        agree(&mut socket);
        socket.write_all(&[22, 3, 3, 0, 80, 2, 0]).expect("an open connection");
    };
    assert_eq!(outcomes(cutting, LONG), (vec![Outcome::Closed; 4], 4));
}

#[test]
fn a_silent_server_is_asked_three_times() {
    let silent = |mut socket: TcpStream| {
        agree(&mut socket);
        // Until the client gives up.
        let _ = socket.read(&mut [0; 8]);
    };
    let (outcomes, connections) = outcomes(silent, Duration::from_millis(300));
    assert_eq!(outcomes, [Outcome::NoAnswer, Outcome::NoAnswer, Outcome::NoAnswer, Outcome::NotTried]);
    assert_eq!(connections, 3);
}

#[test]
fn a_refusal_has_the_name_of_its_alert() {
    let refusing = |mut socket: TcpStream| {
        agree(&mut socket);
        socket.write_all(&[21, 3, 1, 0, 2, 2, 71]).expect("an open connection");
    };
    let expected = Outcome::Alert { alert: 71, alert_name: "insufficient_security".to_owned() };
    assert_eq!(outcomes(refusing, LONG).0, vec![expected; 4]);
}

#[test]
fn another_protocol_is_said_to_be_one() {
    let web = |mut socket: TcpStream| {
        let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        let _ = socket.read(&mut [0; 64]);
    };
    let reason = |outcome: &Outcome| match outcome {
        Outcome::Unreadable { reason } => reason.clone(),
        other => panic!("{other:?}"),
    };
    let refused = |serve, limit| tried(serve, limit).expect_err("no scan");
    let said = refused(web, LONG);
    assert!(said.contains("PostgreSQL's protocol") && said.contains("\"HTTP/1.1 400 Bad Request"), "{said}");
    let silent = |mut socket: TcpStream| drop(socket.read_to_end(&mut Vec::new()));
    let said = refused(silent, Duration::from_millis(300));
    assert!(said.contains("did not answer SSLRequest within 0.3 s; check host and port"), "{said}");
    let closing = |mut socket: TcpStream| drop(socket.read(&mut [0; 8]));
    assert!(refused(closing, LONG).contains("closed the connection after SSLRequest"));
    let plain = |mut socket: TcpStream| {
        agree(&mut socket);
        let _ = socket.write_all(b"Hello");
    };
    assert!(outcomes(plain, LONG).0.iter().all(|outcome| reason(outcome).contains("is not TLS")));
    let injecting = |mut socket: TcpStream| {
        let _ = socket.read_exact(&mut [0; 8]);
        let _ = socket.write_all(b"S\x15\x03\x01\0\x02\x02\x28");
        let _ = socket.read(&mut [0; 64]);
    };
    assert!(refused(injecting, LONG).contains("answered SSLRequest with \"S\\x15"));
}

#[test]
fn an_error_message_instead_of_an_answer_is_shown() {
    let full = |mut socket: TcpStream| {
        let _ = socket.read_exact(&mut [0; 8]);
        let fields = b"SFATAL\0C53300\0Mtoo many clients\0\0";
        let length = u32::try_from(fields.len() + 4).expect("short").to_be_bytes();
        let _ = socket.write_all(&[b"E", &length[..], fields].concat());
    };
    let expected = Outcome::ServerError { message: "too many clients".to_owned() };
    assert_eq!(outcomes(full, LONG).0, vec![expected; 4]);
    let unframed = |mut socket: TcpStream| {
        let _ = socket.read_exact(&mut [0; 8]);
        let _ = socket.write_all(b"Ecould not fork new process\n\0");
    };
    let expected = Outcome::ServerError { message: "could not fork new process".to_owned() };
    assert_eq!(outcomes(unframed, LONG).0, vec![expected; 4]);
}

#[test]
fn a_choice_that_was_not_offered_is_no_acceptance() {
    let choosing = |mut socket: TcpStream| {
        agree(&mut socket);
        // A ServerHello of TLS 1.0 with a suite of TLS 1.3, and its end.
        let hello = [&[3, 1][..], &[9; 32], &[0, 0x13, 1, 0]].concat();
        let hello = [&[2, 0, 0, 38][..], &hello, &[14, 0, 0, 0]].concat();
        let _ = socket.write_all(&[&[22, 3, 1, 0, 46][..], &hello].concat());
        let _ = socket.read(&mut [0; 64]);
    };
    let (outcomes, _) = outcomes(choosing, LONG);
    let older = Outcome::OlderVersion { version_code: 0x0301 };
    assert_eq!(outcomes[..3], [older.clone(), older.clone(), older]);
    assert!(
        matches!(&outcomes[3], Outcome::Unreadable { reason } if reason.contains("cipher suite")),
        "{outcomes:?}"
    );
}

#[test]
fn a_server_that_is_not_there_is_an_error() {
    let closed = ClosedPort::take();
    let port = closed.number();
    let conninfo = format!("host=127.0.0.1 port={port} user=u");
    let environment = connect::Environment::default();
    let target =
        connect::resolve(Some(&conninfo), &connect::Overrides::default(), &environment).expect("a target");
    let options = ScanOptions { ways: vec![Way::Direct], pause: Duration::ZERO, limit: LONG };
    let sentence = scan(&target, &options, &mut |_| {}).expect_err("no server").to_string();
    assert!(sentence.contains("connection refused") && sentence.contains(&port.to_string()), "{sentence}");
}
