//! A relay between real sockets: what comes through, when at the earliest, how connections end, what is left.
//! How punctual it is, a benchmark tells (`examples/each_way`), not a test.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pgmeter_relay::{Address, Config, JitterShape, Network, Relay, RelayError};
use proptest::prelude::*;
use tempfile::TempDir;
use testkit::null::{NullOptions, NullServer};

const PORT: u16 = 5432;

fn ms(delay: u64) -> Network {
    Network { delay: Duration::from_millis(delay), ..Network::default() }
}

/// A relay in a directory of its own, in front of a server on a Unix socket there.
struct Place {
    directory: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().expect("a directory") }
    }

    fn listen(&self) -> Address {
        Address::in_directory(self.directory.path(), PORT)
    }

    fn server(&self) -> PathBuf {
        self.directory.path().join("server")
    }

    fn listener(&self) -> UnixListener {
        UnixListener::bind(self.server()).expect("a listener")
    }

    fn relay(&self, network: Network) -> Relay {
        self.relay_with(Config::new(self.listen(), Address::Unix(self.server()), network))
    }

    fn relay_with(&self, config: Config) -> Relay {
        Relay::start(config).expect("a relay")
    }
}

fn connect(relay: &Relay) -> UnixStream {
    let Address::Unix(path) = relay.address() else { panic!("a Unix socket") };
    UnixStream::connect(path).expect("somebody listens")
}

/// A server that lets so many in and sends back what each sends, up to its end.
fn echo(listener: UnixListener, clients: usize) -> JoinHandle<()> {
    thread::spawn(move || {
        let echoes = (0..clients).map(|_| {
            let (stream, _) = listener.accept().expect("a client");
            thread::spawn(move || {
                let _ = std::io::copy(&mut &stream, &mut &stream);
            })
        });
        echoes.collect::<Vec<_>>().into_iter().for_each(|echo| echo.join().expect("it ends"));
    })
}

#[test]
fn through_512_connections_nothing_arrives_before_its_delay() {
    const CONNECTIONS: usize = 512;
    let delay = Duration::from_millis(10);
    let server = NullServer::on_unix_socket(NullOptions::default()).expect("a server");
    let connect::Address::Unix(path) = server.address() else { panic!("a Unix socket") };
    let place = Place::new();
    let relay = place.relay_with(Config::new(place.listen(), Address::Unix(path.clone()), ms(10)));
    let asked = Instant::now();
    let mut clients = (0..CONNECTIONS).map(|_| connect(&relay)).collect::<Vec<_>>();
    let startup = b"\0\0\0\x16\0\x03\0\0user\0pgmeter\0\0";
    clients.iter_mut().for_each(|client| client.write_all(startup).expect("it takes it"));
    for client in &mut clients {
        read_until_ready(client);
    }
    assert!(asked.elapsed() >= 4 * delay, "a round trip to connect, another one to start");
    let query = b"Q\0\0\0\x0dSELECT 1\0";
    let sent = clients.iter_mut().map(|client| {
        let now = Instant::now();
        client.write_all(query).expect("it takes it");
        now
    });
    let sent = sent.collect::<Vec<_>>();
    for (client, sent) in clients.iter_mut().zip(sent) {
        client.read_exact(&mut [0]).expect("an answer");
        assert!(sent.elapsed() >= 2 * delay);
    }
    let statistics = relay.stop().expect("it ran");
    assert_eq!((statistics.connections, statistics.refused), (CONNECTIONS as u64, 0));
    assert_eq!(statistics.bytes_to_server, (CONNECTIONS * (startup.len() + query.len())) as u64);
    assert!(statistics.late.count() >= 4 * CONNECTIONS as u64 && statistics.cpu_per_piece().is_some());
}

/// Up to `ReadyForQuery`, which is the last that comes.
fn read_until_ready(client: &mut UnixStream) {
    let mut heard = Vec::new();
    while !heard.ends_with(b"Z\0\0\0\x05I") {
        let mut byte = [0];
        client.read_exact(&mut byte).expect("the server goes on");
        heard.extend(byte);
    }
}

#[test]
fn a_connection_is_open_after_a_round_trip_and_what_was_sent_before_waits() {
    let place = Place::new();
    let listener = place.listener();
    let relay = place.relay(ms(20));
    let begun = Instant::now();
    let mut client = connect(&relay);
    client.write_all(b"x").expect("it takes it");
    let (mut stream, _) = listener.accept().expect("a client");
    assert!(begun.elapsed() >= Duration::from_millis(20), "the wish has come to the server");
    stream.read_exact(&mut [0]).expect("a byte");
    assert!(begun.elapsed() >= Duration::from_millis(60), "the answer went back, and the byte came after it");
}

#[test]
fn a_client_may_close_its_side_and_still_be_answered() {
    let place = Place::new();
    let server = echo(place.listener(), 1);
    let relay = place.relay(ms(1));
    let mut client = connect(&relay);
    client.write_all(b"last words").expect("it takes them");
    client.shutdown(std::net::Shutdown::Write).expect("it is open");
    let mut heard = String::new();
    client.read_to_string(&mut heard).expect("the server closes too");
    assert_eq!(heard, "last words");
    server.join().expect("it saw the end");
}

#[test]
fn a_connection_that_breaks_off_breaks_off_at_the_other_end() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let to = Address::Tcp(listener.local_addr().expect("it has one"));
    let free = Address::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)));
    let relay = Relay::start(Config::new(free, to, ms(1))).expect("a relay");
    let Address::Tcp(address) = *relay.address() else { panic!("a TCP address") };
    let mut client = TcpStream::connect(address).expect("somebody listens");
    let (stream, _) = listener.accept().expect("a client");
    // What was not read makes the system reset the connection.
    client.write_all(b"x").expect("it takes it");
    stream.peek(&mut [0]).expect("it has come");
    drop(stream);
    let error = client.read(&mut [0]).expect_err("no proper end");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn a_server_that_is_not_there_turns_clients_away_and_one_that_comes_later_takes_them() {
    let place = Place::new();
    let relay = place.relay(ms(1));
    assert_eq!(connect(&relay).read(&mut [0]).ok(), Some(0), "it is closed");
    assert_eq!(relay.take_statistics().expect("it runs").refused, 1);
    let server = echo(place.listener(), 1);
    let mut client = connect(&relay);
    client.write_all(b"x").expect("it takes it");
    client.read_exact(&mut [0]).expect("the echo");
    drop(client);
    server.join().expect("it saw the end");
}

#[test]
fn a_sender_whose_receiver_takes_nothing_is_held_back_before_memory_is_full() {
    let place = Place::new();
    let listener = place.listener();
    let mut config = Config::new(place.listen(), Address::Unix(place.server()), ms(1));
    config.buffer_bytes = 64 << 10;
    let relay = place.relay_with(config);
    let mut client = connect(&relay);
    let (mut stream, _) = listener.accept().expect("a client");
    client.set_write_timeout(Some(Duration::from_millis(300))).expect("a socket has one");
    let chunk = (0..=255).collect::<Vec<u8>>();
    let mut sent = 0_usize;
    let error = loop {
        match client.write(&chunk[sent % 256..]) {
            Ok(count) => sent += count,
            Err(error) => break error,
        }
    };
    assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
    assert!(sent < 4 << 20, "{sent} bytes are in the relay and the sockets");
    client.shutdown(std::net::Shutdown::Write).expect("it is open");
    let mut got = Vec::new();
    stream.read_to_end(&mut got).expect("all of it");
    assert_eq!(got.len(), sent);
    assert!(got.iter().enumerate().all(|(place, byte)| usize::from(*byte) == place % 256));
}

#[test]
fn a_link_of_limited_bandwidth_takes_its_time_for_all_connections_together() {
    const BYTES: usize = 40_000;
    let place = Place::new();
    let listener = place.listener();
    // 100,000 bytes a second.
    let network = Network { bandwidth_bits_per_s: Some(800_000), ..Network::default() };
    let mut config = Config::new(place.listen(), Address::Unix(place.server()), network);
    config.queue_bytes = 2000;
    let relay = place.relay_with(config);
    let begun = Instant::now();
    let senders = [1_u8, 2].map(|byte| {
        let mut client = connect(&relay);
        thread::spawn(move || client.write_all(&[byte; BYTES / 2]).expect("it takes it"))
    });
    let takers = [(), ()].map(|()| {
        let (mut stream, _) = listener.accept().expect("a client");
        thread::spawn(move || {
            let mut got = Vec::new();
            stream.read_to_end(&mut got).expect("all of it");
            got
        })
    });
    senders.into_iter().for_each(|sender| sender.join().expect("it ends"));
    for got in takers.map(|taker| taker.join().expect("it ends")) {
        assert_eq!(got, vec![got[0]; BYTES / 2]);
    }
    assert!(begun.elapsed() >= Duration::from_millis(400));
}

#[test]
fn nothing_is_left_of_a_relay_and_its_connections_are_closed() {
    let place = Place::new();
    let server = echo(place.listener(), 1);
    let relay = place.relay(ms(1));
    let mut client = connect(&relay);
    client.write_all(b"x").expect("it takes it");
    client.read_exact(&mut [0]).expect("the echo");
    assert_eq!(relay.take_statistics().expect("it runs").open, 1);
    drop(relay);
    assert_eq!(client.read(&mut [0]).expect("an end"), 0);
    server.join().expect("it saw the end");
    let Address::Unix(path) = place.listen() else { panic!("a Unix socket") };
    assert!(!path.exists());
}

#[test]
fn the_socket_file_of_a_killed_relay_is_replaced() {
    let place = Place::new();
    let Address::Unix(path) = place.listen() else { panic!("a Unix socket") };
    drop(UnixListener::bind(path).expect("a file that stays behind"));
    let server = echo(place.listener(), 1);
    let relay = place.relay(ms(1));
    let mut client = connect(&relay);
    client.write_all(b"x").expect("it takes it");
    client.read_exact(&mut [0]).expect("the echo");
    drop((client, relay));
    server.join().expect("it saw the end");
}

#[test]
fn two_relays_do_not_share_a_socket_and_the_second_says_so() {
    let place = Place::new();
    let _relay = place.relay(ms(1));
    let config = Config::new(place.listen(), Address::Unix(place.server()), ms(1));
    let error = Relay::start(config).err().expect("it is taken");
    assert!(matches!(error, RelayError::Listen { .. }), "{error}");
    assert!(error.to_string().contains("choose another address"), "{error}");
}

fn network() -> impl Strategy<Value = Network> {
    let delay_us = prop_oneof![Just(0), 1_u64..3000];
    let bandwidth = prop::option::of(4_000_000_u64..4_000_000_000);
    (delay_us, 0.0_f64..1.0, any::<bool>(), bandwidth, any::<u64>()).prop_map(
        |(delay_us, share, normal, bandwidth_bits_per_s, seed)| Network {
            delay: Duration::from_micros(delay_us),
            jitter: Duration::from_micros(delay_us).mul_f64(share),
            jitter_shape: if normal { JitterShape::Normal } else { JitterShape::Uniform },
            bandwidth_bits_per_s,
            seed,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn whatever_is_sent_comes_back_whole_and_in_order(
        network in network(),
        buffer_bytes in 1_usize..100_000,
        clients in prop::collection::vec(prop::collection::vec(1_usize..6000, 1..8), 1..5),
    ) {
        let place = Place::new();
        let server = echo(place.listener(), clients.len());
        let mut config = Config::new(place.listen(), Address::Unix(place.server()), network);
        config.buffer_bytes = buffer_bytes.max(clients.iter().flatten().sum::<usize>() / 50);
        let relay = place.relay_with(config);
        let (done, results) = mpsc::channel();
        for (number, chunks) in clients.into_iter().enumerate() {
            let (client, done) = (connect(&relay), done.clone());
            thread::spawn(move || done.send(talk(&client, number, &chunks)));
        }
        drop(done);
        for (sent, got) in results {
            prop_assert!(sent == got, "{} bytes of {} came back", got.len(), sent.len());
        }
        server.join().expect("it ends");
    }
}

/// Sends the chunks, closes, and reads what comes back.
fn talk(mut client: &UnixStream, number: usize, chunks: &[usize]) -> (Vec<u8>, Vec<u8>) {
    let mut reader = client.try_clone().expect("a second handle");
    let reading = thread::spawn(move || {
        let mut got = Vec::new();
        reader.read_to_end(&mut got).map(|_| got)
    });
    let mut sent = Vec::new();
    for length in chunks {
        let chunk = (0..*length).map(|place| byte(place * 7 + sent.len() + number)).collect::<Vec<_>>();
        client.write_all(&chunk).expect("it takes it");
        sent.extend(chunk);
    }
    client.shutdown(std::net::Shutdown::Write).expect("it is open");
    (sent, reading.join().expect("it ends").expect("no error"))
}

/// Some byte.
fn byte(number: usize) -> u8 {
    u8::try_from(number % 251).expect("it is small")
}
