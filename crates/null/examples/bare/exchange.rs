//! Exchanges requests and answers on many sockets: each sends the next request after the complete answer. Counts bytes
//! without parsing them.

use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use sockets::thread_cpu_time;
use wire::frontend;

use crate::Figures;
use crate::session::{Server, wait_for_ready};

/// Name of the statement of the built-in select-only script, and a value of its variable.
const STATEMENT: &[u8] = b"P_0";
const SQL: &[u8] = b"SELECT abalance FROM pgbench_accounts WHERE aid = $1;";
const AID: &[u8] = b"654321";
/// As in pgmeter's epoll driver.
const EVENTS_PER_WAIT: usize = 1024;
const READ_MAX: usize = 16 * 1024;

/// Sockets with sessions that have prepared the statement, and the bytes that are exchanged.
pub struct Setup {
    pub sockets: Vec<UnixStream>,
    pub request: Vec<u8>,
    pub reply_bytes: usize,
    pub duration: Duration,
}

/// Results of a loop, without its start and end.
pub struct Exchanged {
    pub count: u64,
    pub cpu: Duration,
}

pub fn run(way: &str, clients: usize, seconds: u64, connection: &str) -> Result<Figures, String> {
    let setup = Setup::new(clients, Duration::from_secs(seconds), connection)?;
    let Exchanged { count, cpu } = match way {
        "epoll" => over_epoll(&setup).map_err(|error| error.to_string())?,
        #[cfg(target_os = "linux")]
        "io_uring" => crate::rings::over_ring(&setup).map_err(|error| error.to_string())?,
        _ => return Err(format!("there is no way \"{way}\" here")),
    };
    let count = count as f64;
    Ok(vec![("exchanges", count), ("cpu_us", cpu.as_secs_f64() * 1e6 / count)])
}

impl Setup {
    fn new(clients: usize, duration: Duration, connection: &str) -> Result<Self, String> {
        let server = Server::new(connection)?;
        let mut request = Vec::new();
        let mut bind = frontend::bind(&mut request, b"", STATEMENT);
        bind.parameter(Some(AID));
        bind.finish().expect("a short message");
        frontend::describe_and_execute(&mut request);
        frontend::sync(&mut request);
        let mut prepare = Vec::new();
        frontend::parse(&mut prepare, STATEMENT, SQL).expect("a short message");
        frontend::sync(&mut prepare);
        let mut setup = Self { sockets: Vec::with_capacity(clients), request, reply_bytes: 0, duration };
        for _ in 0..clients {
            let mut socket = server.start_connect()?;
            wait_for_ready(&mut socket)?;
            for said in [&prepare, &setup.request] {
                socket.write_all(said).map_err(|error| error.to_string())?;
                setup.reply_bytes = wait_for_ready(&mut socket)?;
            }
            socket.set_nonblocking(true).map_err(|error| error.to_string())?;
            setup.sockets.push(socket);
        }
        Ok(setup)
    }
}

/// One `write` and one `read` each, and a share of a wait; each socket is registered once, edge-triggered.
fn over_epoll(setup: &Setup) -> io::Result<Exchanged> {
    let mut poll = Poll::new()?;
    for (number, socket) in setup.sockets.iter().enumerate() {
        let fd = socket.as_raw_fd();
        poll.registry().register(&mut SourceFd(&fd), Token(number), Interest::READABLE)?;
    }
    let (mut heard, mut count) = (vec![0; setup.sockets.len()], 0);
    let (mut events, mut buffer) = (Events::with_capacity(EVENTS_PER_WAIT), vec![0; READ_MAX]);
    for mut socket in &setup.sockets {
        socket.write_all(&setup.request)?;
    }
    let (started, cpu_before) = (Instant::now(), thread_cpu_time());
    while started.elapsed() < setup.duration {
        poll.poll(&mut events, Some(setup.duration))?;
        for event in &events {
            let Token(number) = event.token();
            let mut socket = &setup.sockets[number];
            heard[number] += match socket.read(&mut buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
                Err(error) => return Err(error),
            };
            if heard[number] == setup.reply_bytes {
                heard[number] = 0;
                count += 1;
                socket.write_all(&setup.request)?;
            }
        }
    }
    Ok(Exchanged { count, cpu: thread_cpu_time().saturating_sub(cpu_before) })
}
