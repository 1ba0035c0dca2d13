//! One connection of the fake server: its session and the data in transit.
//! The driver transfers data between both ends.

use std::collections::VecDeque;
use std::io;

use script::Random;
use stats::Timestamp;

use crate::session::Session;

/// State of a connection.
#[derive(Debug)]
pub(super) struct Line {
    /// Distinguishes this connection from earlier ones with the same number.
    pub(super) generation: u64,
    pub(super) session: Session,
    /// Random numbers for service times and pieces.
    pub(super) random: Random,
    /// The server's end is open.
    pub(super) server_open: bool,
    /// End of the server's current work.
    pub(super) free_at: Timestamp,
    /// Arrival time of the last piece in transit to the client; later pieces do not arrive earlier.
    pub(super) last_arrival: Timestamp,
    /// Data that the client's socket has not accepted yet.
    pub(super) unsent: VecDeque<u8>,
    /// Data that has arrived and was not read.
    pub(super) inbox: VecDeque<Vec<u8>>,
    /// The data of the last read.
    pub(super) reading: Vec<u8>,
    /// Set when the end of the connection has arrived.
    pub(super) ended: Option<End>,
    /// An event for the worker is pending.
    pub(super) signalled: bool,
}

/// How a connection ends, as the client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Closed,
    Broken(io::ErrorKind),
}

impl Line {
    pub(super) fn new(generation: u64, session: Session, random: Random, now: Timestamp) -> Self {
        Self {
            generation,
            session,
            random,
            server_open: true,
            free_at: now,
            last_arrival: now,
            unsent: VecDeque::new(),
            inbox: VecDeque::new(),
            reading: Vec::new(),
            ended: None,
            signalled: false,
        }
    }
}
