//! The null server with independent clients: blocking sockets of the standard library. The engine's tests run the real
//! driver with it.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};

use connect::Address;
use pgmeter_null::session::{Fault, FaultEffect, FaultTrigger, Rows};
use pgmeter_null::{ListenAddress, NullOptions};
use testkit::null::NullServer;
use testkit::request_log::RequestLog;
use wire::{Decoder, Message, frontend};

trait Socket: Read + Write {}
impl<T: Read + Write> Socket for T {}

/// A blocking client.
struct Client {
    socket: Box<dyn Socket>,
    decoder: Decoder,
}

impl Client {
    fn connect(address: &Address) -> Self {
        let socket: Box<dyn Socket> = match address {
            Address::Unix(path) => Box::new(UnixStream::connect(path).expect("a connection")),
            Address::Tcp { address, .. } => Box::new(TcpStream::connect(address).expect("a connection")),
        };
        let mut client = Self { socket, decoder: Decoder::new() };
        let mut hello = Vec::new();
        frontend::startup(&mut hello, &[("user", "u")]);
        client.say(&hello);
        client
    }

    fn say(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).expect("the server reads");
    }

    fn query(&mut self, sql: &str) {
        let mut out = Vec::new();
        frontend::query(&mut out, sql.as_bytes()).unwrap();
        self.say(&out);
    }

    /// Reads until the server is ready; false if it has closed the connection.
    fn wait(&mut self) -> bool {
        let mut ready = false;
        let mut buffer = [0; 4096];
        while !ready {
            match self.socket.read(&mut buffer).expect("the server answers") {
                0 => return false,
                count => self
                    .decoder
                    .decode(&buffer[..count], &mut |message| {
                        ready |= matches!(message, Message::ReadyForQuery(_));
                    })
                    .expect("the server speaks the protocol"),
            }
        }
        true
    }
}

#[test]
fn hundreds_of_connections_are_served_at_once() {
    for server in
        [NullServer::on_unix_socket(NullOptions::default()), NullServer::on_tcp(NullOptions::default())]
    {
        let server = server.expect("a null server");
        let mut clients: Vec<_> = (0..200).map(|_| Client::connect(server.address())).collect();
        assert!(clients.iter_mut().all(Client::wait));
        for _ in 0..3 {
            clients.iter_mut().for_each(|client| client.query("SELECT 1"));
            assert!(clients.iter_mut().all(Client::wait));
        }
    }
}

#[test]
fn clients_come_and_go_and_those_who_stay_are_served() {
    let server = NullServer::on_unix_socket(NullOptions::default()).expect("a null server");
    let mut steady = Client::connect(server.address());
    assert!(steady.wait());
    for _ in 0..300 {
        assert!(Client::connect(server.address()).wait());
        steady.query("SELECT 1");
        assert!(steady.wait());
    }
}

#[test]
fn who_says_no_more_after_a_question_is_still_answered() {
    let server = NullServer::on_unix_socket(NullOptions::default()).expect("a null server");
    let Address::Unix(path) = server.address().clone() else { panic!("not a Unix socket") };
    let mut bytes = Vec::new();
    frontend::startup(&mut bytes, &[("user", "u")]);
    frontend::query(&mut bytes, b"SELECT 1").unwrap();
    let mut socket = UnixStream::connect(path).expect("a connection");
    socket.write_all(&bytes).expect("the server reads");
    socket.shutdown(Shutdown::Write).expect("our half is closed");
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).expect("the server answers and closes");
    assert!(answer.windows(8).any(|window| window == b"SELECT 1"));
}

#[test]
fn long_answers_wait_for_a_client_that_reads_slowly() {
    let rows = Rows { count: 2000, bytes: 100 };
    let options = NullOptions { rows, ..NullOptions::default() };
    let server = NullServer::on_tcp(options).expect("a null server");
    let mut client = Client::connect(server.address());
    assert!(client.wait());
    // More than socket buffers hold, before reading.
    for _ in 0..50 {
        client.query("SELECT 1");
    }
    for _ in 0..50 {
        assert!(client.wait());
    }
}

#[test]
fn what_a_client_said_is_remembered_when_asked_for() {
    let log = RequestLog::default();
    let options = NullOptions { on_request: log.recorder(), ..NullOptions::default() };
    let server = NullServer::on_unix_socket(options).expect("a null server");
    let mut client = Client::connect(server.address());
    assert!(client.wait());
    client.query("SELECT 'heard'");
    assert!(client.wait());
    let heard = log.requests();
    assert_eq!(heard[1].0, 0);
    assert_eq!(heard[1].1.statement(), Some("SELECT 'heard'"));
}

#[test]
fn a_trouble_befalls_its_connection_over_real_sockets_too() {
    let faults =
        vec![Fault { connection: Some(1), trigger: FaultTrigger::Statement(0), effect: FaultEffect::Close }];
    let options = NullOptions { faults, ..NullOptions::default() };
    let server = NullServer::on_unix_socket(options).expect("a null server");
    let mut clients: Vec<_> = (0..3).map(|_| Client::connect(server.address())).collect();
    assert!(clients.iter_mut().all(Client::wait));
    clients.iter_mut().for_each(|client| client.query("SELECT 1"));
    assert_eq!(clients.iter_mut().map(Client::wait).collect::<Vec<_>>(), [true, false, true]);
}

#[test]
fn nothing_is_left_of_a_server_that_was_dropped() {
    let server = NullServer::on_unix_socket(NullOptions::default()).expect("a null server");
    let Address::Unix(path) = server.address().clone() else { panic!("not a Unix socket") };
    assert!(path.exists());
    let mut client = Client::connect(server.address());
    assert!(client.wait());
    drop(server);
    assert!(!path.parent().expect("a directory").exists());
    assert!(!client.wait(), "the connection is closed");
}

#[test]
fn the_socket_file_of_a_killed_server_is_replaced_and_a_running_server_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = ListenAddress::Unix(folder.path().to_owned());
    drop(UnixListener::bind(folder.path().join(".s.PGSQL.5432")).expect("a file that stays behind"));
    let server =
        pgmeter_null::NullServer::listen(&place, NullOptions::default()).expect("nobody listens there");
    let mut client = Client::connect(server.address());
    assert!(client.wait());
    let second = pgmeter_null::NullServer::listen(&place, NullOptions::default());
    assert_eq!(second.err().map(|error| error.kind()), Some(ErrorKind::AddrInUse));
    client.query("SELECT 1");
    assert!(client.wait(), "the first is not disturbed");
    assert!(server.is_running() && server.take_error().is_none());
}
