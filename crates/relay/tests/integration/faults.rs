//! Faults of a running relay, on real sockets: what arrives during a fault, which ends of connections are seen, and
//! that healing delivers what was kept.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use pgmeter_relay::{Address, Config, Direction, Fault, Network, Relay};

/// So long a socket is watched for data that must not arrive.
const WATCHED: Duration = Duration::from_millis(150);
/// Far longer than any data takes that does arrive.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server's listener and a relay in front of it, over TCP.
struct Place {
    listener: TcpListener,
    relay: Relay,
}

impl Place {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let to = Address::Tcp(listener.local_addr().expect("it has one"));
        let free = Address::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)));
        let relay = Relay::start(Config::new(free, to, Network::default())).expect("a relay");
        Self { listener, relay }
    }

    fn client(&self) -> TcpStream {
        let Address::Tcp(address) = *self.relay.address() else { panic!("a TCP address") };
        let client = TcpStream::connect(address).expect("the relay listens");
        client.set_read_timeout(Some(PATIENCE)).expect("a socket has one");
        client
    }

    /// A client and its connection at the server.
    fn pair(&self) -> (TcpStream, TcpStream) {
        let client = self.client();
        let (server, _) = self.listener.accept().expect("a client");
        server.set_read_timeout(Some(PATIENCE)).expect("a socket has one");
        (client, server)
    }
}

fn passes(from: &mut TcpStream, to: &mut TcpStream, byte: u8) {
    from.write_all(&[byte]).expect("it takes it");
    let mut got = [0];
    to.read_exact(&mut got).expect("it arrives");
    assert_eq!(got, [byte]);
}

/// Nothing arrives, and the connection neither ends nor is reset.
fn hears_nothing(stream: &mut TcpStream) {
    stream.set_read_timeout(Some(WATCHED)).expect("a socket has one");
    let heard = stream.read(&mut [0; 8]).map_err(|error| error.kind());
    assert!(matches!(heard, Err(ErrorKind::WouldBlock | ErrorKind::TimedOut)), "{heard:?}");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket has one");
}

fn is_reset(stream: &mut TcpStream) {
    let error = stream.read(&mut [0; 8]).expect_err("no proper end");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn after_a_cut_all_connections_are_reset_and_new_ones_until_it_ends() {
    let place = Place::new();
    let (mut client, mut server) = place.pair();
    passes(&mut client, &mut server, 1);
    let cut = place.relay.begin(Fault::Cut).expect("it runs");
    is_reset(&mut client);
    is_reset(&mut server);
    is_reset(&mut place.client());
    assert!(place.relay.end(cut).expect("it runs"));
    let (mut client, mut server) = place.pair();
    passes(&mut client, &mut server, 2);
    let statistics = place.relay.take_statistics().expect("it runs");
    assert_eq!((statistics.connections, statistics.cut, statistics.refused, statistics.open), (3, 2, 0, 1));
    assert!(statistics.summary().contains("2 reset by a fault"));
}

#[test]
fn in_a_black_hole_nothing_arrives_nothing_is_reset_and_healing_delivers_what_was_sent() {
    let place = Place::new();
    let (mut client, mut server) = place.pair();
    passes(&mut client, &mut server, 1);
    place.relay.begin(Fault::Blackhole(None)).expect("it runs");
    client.write_all(b"question").expect("the system takes it");
    server.write_all(b"answer").expect("the system takes it");
    hears_nothing(&mut server);
    hears_nothing(&mut client);
    assert_eq!(place.relay.heal().expect("it runs"), 1);
    let mut heard = [0; 8];
    server.read_exact(&mut heard).expect("it was kept");
    assert_eq!(&heard, b"question");
    client.read_exact(&mut heard[..6]).expect("it was kept");
    assert_eq!(&heard[..6], b"answer");
    passes(&mut client, &mut server, 3);
    let late = place.relay.take_statistics().expect("it runs").late_us(1.0).expect("pieces");
    assert!(late < WATCHED.as_micros() as f64, "the fault counts as lateness of the relay: {late} µs");
}

#[test]
fn in_a_black_hole_the_end_of_a_connection_is_not_seen_until_it_ends() {
    let place = Place::new();
    let (mut client, mut server) = place.pair();
    passes(&mut client, &mut server, 1);
    place.relay.begin(Fault::Blackhole(None)).expect("it runs");
    drop(client);
    hears_nothing(&mut server);
    place.relay.heal().expect("it runs");
    assert_eq!(server.read(&mut [0]).expect("a proper end"), 0);
}

#[test]
fn a_connection_that_is_requested_in_a_black_hole_is_made_after_it() {
    let place = Place::new();
    let hole = place.relay.begin(Fault::Blackhole(Some(Direction::ToServer))).expect("it runs");
    let mut client = place.client();
    client.write_all(b"x").expect("the system takes it");
    place.listener.set_nonblocking(true).expect("a listener");
    let begun = Instant::now();
    while begun.elapsed() < WATCHED {
        assert!(place.listener.accept().is_err(), "the request has arrived");
        testkit::condition::pause();
    }
    place.listener.set_nonblocking(false).expect("a listener");
    assert!(place.relay.end(hole).expect("it runs"));
    let (mut server, _) = place.listener.accept().expect("the client");
    let mut heard = [0];
    server.read_exact(&mut heard).expect("it was kept");
    assert_eq!(&heard, b"x");
}

#[test]
fn one_direction_may_be_lost_alone() {
    let place = Place::new();
    let (mut client, mut server) = place.pair();
    passes(&mut client, &mut server, 1);
    for (direction, is_to_server) in [(Direction::ToServer, true), (Direction::ToClient, false)] {
        let hole = place.relay.begin(Fault::Blackhole(Some(direction))).expect("it runs");
        let (lost, passing) =
            if is_to_server { (&mut client, &mut server) } else { (&mut server, &mut client) };
        passes(passing, lost, 7);
        lost.write_all(&[8]).expect("the system takes it");
        hears_nothing(passing);
        assert!(place.relay.end(hole).expect("it runs"));
        let mut heard = [0];
        passing.read_exact(&mut heard).expect("it was kept");
        assert_eq!(heard, [8]);
    }
}

#[test]
fn a_slow_network_delays_each_direction_until_it_ends() {
    let place = Place::new();
    let (mut client, mut server) = place.pair();
    passes(&mut client, &mut server, 1);
    let delay = Duration::from_millis(60);
    let slow = place.relay.begin(Fault::Slow { delay, bandwidth_bits_per_s: None }).expect("it runs");
    let begun = Instant::now();
    passes(&mut client, &mut server, 2);
    passes(&mut server, &mut client, 3);
    assert!(begun.elapsed() >= 2 * delay);
    assert!(place.relay.end(slow).expect("it runs") && !place.relay.end(slow).expect("it runs"));
    passes(&mut client, &mut server, 4);
}

#[test]
fn a_fault_limits_the_bandwidth_until_it_ends_and_loses_nothing() {
    let place = Place::new();
    let (mut client, mut server) = place.pair();
    passes(&mut client, &mut server, 1);
    // 100 kB take 1 s at 800 kbit/s.
    let fault = Fault::Slow { delay: Duration::ZERO, bandwidth_bits_per_s: Some(800_000) };
    let slow = place.relay.begin(fault).expect("it runs");
    let begun = Instant::now();
    let bytes: Vec<u8> = (0..100_000).map(|at| u8::try_from(at % 251).expect("it is small")).collect();
    client.write_all(&bytes).expect("the system takes it");
    let mut got = vec![0; bytes.len()];
    server.read_exact(&mut got).expect("all of it");
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
    assert!(got == bytes);
    // More than the queue before the link takes: the rest waits, and goes on when the fault ends.
    const BYTES: usize = 8 << 20;
    let begun = Instant::now();
    let sending = std::thread::spawn(move || {
        client.write_all(&vec![7; BYTES]).expect("it takes it");
        client
    });
    assert!(place.relay.end(slow).expect("it runs"));
    let mut got = vec![0; BYTES];
    server.read_exact(&mut got).expect("all of it");
    assert!(got.iter().all(|byte| *byte == 7));
    // At 800 kbit/s it would take 84 s.
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
    let mut client = sending.join().expect("it ends");
    passes(&mut client, &mut server, 2);
}

#[test]
fn data_of_a_black_hole_beyond_the_buffer_waits_in_the_sockets_and_is_whole_afterwards() {
    let place = Place::new();
    let (client, mut server) = place.pair();
    place.relay.begin(Fault::Blackhole(None)).expect("it runs");
    const BYTES: usize = 12 << 20;
    let sending = std::thread::spawn(move || {
        let bytes: Vec<u8> = (0..BYTES).map(|at| u8::try_from(at % 251).expect("it is small")).collect();
        let mut client = client;
        client.write_all(&bytes).expect("it takes it");
        client
    });
    hears_nothing(&mut server);
    assert!(!sending.is_finished(), "more than the relay may keep");
    place.relay.heal().expect("it runs");
    let mut got = vec![0; BYTES];
    server.read_exact(&mut got).expect("all of it");
    assert!(got.iter().enumerate().all(|(at, byte)| usize::from(*byte) == at % 251));
    sending.join().expect("it ends");
}

#[test]
fn faults_are_ordered_by_lines_of_text_too() {
    let place = Place::new();
    let mut all = pgmeter_relay::Statistics::default();
    let (mut client, mut server) = place.pair();
    passes(&mut client, &mut server, 1);
    let mut answer = |line: &str| place.relay.answer(line, &mut all).expect("it runs");
    assert_eq!(answer("blackhole to-client"), "fault 1 began");
    server.write_all(b"x").expect("the system takes it");
    hears_nothing(&mut client);
    assert_eq!(answer("end 1"), "fault 1 ended");
    assert_eq!(answer("end 1"), "fault 1 was not active");
    client.read_exact(&mut [0]).expect("it was kept");
    assert_eq!(answer("slow 1h"), "error: expected a delay with a unit, such as slow 50ms");
    assert!(answer("slow 9000s").starts_with("error: a delay of 9000s is too long"));
    assert_eq!((answer("cut").as_str(), answer("heal").as_str()), ("fault 2 began", "1 fault ended"));
    assert!(answer("").starts_with("connections=1 refused=0 "));
    assert_eq!(all.cut, 1);
}
