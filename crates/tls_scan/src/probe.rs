//! One question to a server: a new connection, SSLRequest or none, a ClientHello, and the answer. Each ending has an
//! outcome of its own.

use std::hash::{BuildHasher, RandomState};
use std::io::ErrorKind;
use std::thread;
use std::time::Duration;

use connect::{Address, Cause, RawConnection};
use wire::{Decoder, Message, frontend};

use crate::answer::{self, Reply, ServerFlight};
use crate::finding::{Accepted, Outcome, Way};
use crate::hello::Question;
use crate::suite;
use crate::version::Version;

/// Bytes per read: a record with its header.
const INPUT_LENGTH: usize = 17 * 1024;
/// After this many silent questions in a row, a server is asked no more: each takes as long as the time limit.
const SILENT_MAX: u32 = 3;
/// Length of the part of an unexpected answer that an error shows, in bytes.
const ANSWER_SHOWN: usize = 40;
/// Longest error message that is read.
const ERROR_LENGTH_MAX: usize = 32 * 1024;

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer<'a> {
    pub(crate) version: Version,
    pub(crate) suites: &'a [u16],
    /// Whether an older version than the offered one is no acceptance.
    pub(crate) is_exact: bool,
}

/// Asks one server by one way.
#[derive(Debug)]
pub(crate) struct Prober<'a> {
    pub(crate) address: &'a Address,
    pub(crate) way: Way,
    pub(crate) server_name: Option<&'a str>,
    pub(crate) pause: Duration,
    pub(crate) limit: Duration,
    pub(crate) connections: u32,
    /// Whether SSLRequest was answered as PostgreSQL does.
    pub(crate) is_postgresql: bool,
    silent: u32,
    random: RandomState,
}

impl<'a> Prober<'a> {
    pub(crate) fn new(
        address: &'a Address,
        way: Way,
        server_name: Option<&'a str>,
        pause: Duration,
        limit: Duration,
    ) -> Prober<'a> {
        let random = RandomState::new();
        Prober {
            address,
            way,
            server_name,
            pause,
            limit,
            connections: 0,
            is_postgresql: false,
            silent: 0,
            random,
        }
    }

    /// The outcome, and the server's messages if it continued.
    pub(crate) fn ask(&mut self, offer: Offer<'_>) -> (Outcome, Option<ServerFlight>) {
        if self.silent >= SILENT_MAX {
            return (Outcome::NotTried, None);
        }
        let (outcome, flight) = match self.exchange(offer) {
            Ok(Reply::Alert(alert)) => (Outcome::alert(alert), None),
            Ok(Reply::Hello(flight)) => (judged(&flight, offer), Some(*flight)),
            Err(outcome) => (outcome, None),
        };
        self.silent = if outcome.is_silence() { self.silent + 1 } else { 0 };
        (outcome, flight)
    }

    fn exchange(&mut self, offer: Offer<'_>) -> Result<Reply, Outcome> {
        let mut connection = self.open()?;
        let Offer { version, suites, .. } = offer;
        let question = Question { version, suites, server_name: self.server_name, random: self.random() };
        connection.send(&question.bytes()).map_err(interrupted)?;
        let mut received = Vec::new();
        loop {
            receive(&mut connection, &mut received)?;
            match answer::read(&received) {
                Ok(Some(reply)) => return Ok(reply),
                Ok(None) => {}
                Err(error) => return Err(Outcome::Unreadable { reason: error.words() }),
            }
        }
    }

    /// A connection on which TLS may start.
    pub(crate) fn open(&mut self) -> Result<RawConnection, Outcome> {
        if self.connections > 0 && !self.pause.is_zero() {
            thread::sleep(self.pause);
        }
        self.connections += 1;
        let mut connection = RawConnection::open(self.address, self.limit).map_err(not_connected)?;
        if self.way == Way::SslRequest {
            let mut request = Vec::new();
            frontend::ssl_request(&mut request);
            connection.send(&request).map_err(interrupted)?;
            let mut received = Vec::new();
            receive(&mut connection, &mut received)?;
            self.is_postgresql |= matches!(received[..], [b'S' | b'N'] | [b'E', ..]);
            match *received.as_slice() {
                [b'S'] => {}
                [b'N', ..] => return Err(Outcome::NotOffered),
                [b'E', ..] => return Err(server_error(&mut connection, received)),
                _ => {
                    let answer = &received[..received.len().min(ANSWER_SHOWN)];
                    let reason =
                        "the service there does not use PostgreSQL's protocol: it answered SSLRequest with";
                    return Err(unreadable(&format!("{reason} \"{}\"", answer.escape_ascii())));
                }
            }
        }
        Ok(connection)
    }

    fn random(&self) -> [u8; 32] {
        let mut random = [0; 32];
        for (number, part) in (0_u64..).zip(random.chunks_exact_mut(8)) {
            part.copy_from_slice(&self.random.hash_one((self.connections, number)).to_be_bytes());
        }
        random
    }
}

/// Appends what has arrived; an outcome if nothing more will.
pub(crate) fn receive(connection: &mut RawConnection, received: &mut Vec<u8>) -> Result<(), Outcome> {
    let mut buffer = [0; INPUT_LENGTH];
    match connection.receive(&mut buffer) {
        Ok(0) => Err(Outcome::Closed),
        Ok(length) => {
            received.extend_from_slice(&buffer[..length]);
            Ok(())
        }
        Err(cause) => Err(interrupted(cause)),
    }
}

/// Whether the server chose what was offered.
fn judged(flight: &ServerFlight, offer: Offer<'_>) -> Outcome {
    let Some(version) = Version::of_code(flight.version).filter(|version| *version <= offer.version) else {
        return match flight.version {
            code if code < Version::V10.code() => Outcome::OlderVersion { version_code: code },
            _ => unreadable("the server chose a version that was not offered"),
        };
    };
    if offer.version == Version::V13 && version != Version::V13 || offer.is_exact && version != offer.version
    {
        return Outcome::OlderVersion { version_code: flight.version };
    }
    if !offer.suites.contains(&flight.suite) {
        return unreadable("the server chose a cipher suite that was not offered");
    }
    let of_12 = |has: bool| (version < Version::V13).then_some(has);
    Outcome::Accepted(Accepted {
        version,
        suite: suite::name(flight.suite).unwrap_or_else(|| format!("0x{:04x}", flight.suite)),
        key_exchange: flight.key_exchange.clone(),
        extended_master_secret: of_12(flight.has_extended_master_secret),
        secure_renegotiation: of_12(flight.has_secure_renegotiation),
        compression: flight.compresses,
    })
}

fn unreadable(reason: &str) -> Outcome {
    Outcome::Unreadable { reason: reason.to_owned() }
}

/// The server's message instead of an answer to SSLRequest.
fn server_error(connection: &mut RawConnection, mut received: Vec<u8>) -> Outcome {
    while received.len() < ERROR_LENGTH_MAX && receive(connection, &mut received).is_ok() {}
    let mut message = None;
    // Bytes that are no message leave the first error that was found, or none.
    let _ = Decoder::new().decode(&received, &mut |decoded| {
        if let Message::ErrorResponse(fields) = decoded {
            message.get_or_insert(fields.message().into_owned());
        }
    });
    // Servers that cannot start a process send a text without a frame.
    let unframed = || String::from_utf8_lossy(&received[1..]).trim_matches(['\0', '\n']).to_owned();
    Outcome::ServerError { message: message.unwrap_or_else(unframed) }
}

fn not_connected(cause: Cause) -> Outcome {
    let reason = match cause {
        Cause::Io(error) => error.to_string(),
        Cause::TimedOut(limit) => format!("no connection within {} s", limit.as_secs_f64()),
        _ => "the connection was closed".to_owned(),
    };
    Outcome::NotConnected { reason }
}

/// Of an established connection.
fn interrupted(cause: Cause) -> Outcome {
    match cause {
        Cause::TimedOut(_) => Outcome::NoAnswer,
        Cause::Io(error) if !matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => {
            Outcome::NotConnected { reason: error.to_string() }
        }
        _ => Outcome::Closed,
    }
}
