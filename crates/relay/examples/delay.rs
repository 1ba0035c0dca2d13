//! A round trip to an echo server, without and with a relay that delays each way by 20 ms:
//! `cargo run -p pgmeter-relay --example delay`.
#![allow(clippy::print_stdout, reason = "its output")]

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use pgmeter_relay::{Address, Config, Network, Relay};

fn main() -> Result<(), Box<dyn Error>> {
    let server = TcpListener::bind("127.0.0.1:0")?;
    let to = server.local_addr()?;
    thread::spawn(move || {
        for mut client in server.incoming().flatten() {
            thread::spawn(move || io::copy(&mut client.try_clone()?, &mut client));
        }
    });
    let network = Network { delay: Duration::from_millis(20), ..Network::default() };
    let listen = Address::Tcp("127.0.0.1:0".parse()?);
    let relay = Relay::start(Config::new(listen, Address::Tcp(to), network))?;
    println!("directly: {:.1?}", round_trip(to)?);
    if let Address::Tcp(address) = relay.address() {
        println!("through the relay: {:.1?}", round_trip(*address)?);
    }
    relay.stop()?;
    Ok(())
}

/// The time of one byte to the server and back.
fn round_trip(address: SocketAddr) -> io::Result<Duration> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut byte = [0];
    stream.write_all(b"a")?;
    stream.read_exact(&mut byte)?;
    let begin = Instant::now();
    stream.write_all(b"b")?;
    stream.read_exact(&mut byte)?;
    Ok(begin.elapsed())
}
