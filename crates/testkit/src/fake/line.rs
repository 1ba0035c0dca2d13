//! One connection of the fake server: the session behind it, and what has arrived in front of it.
//! It keeps times and bytes apart for both ends; the driver carries them from one to the other.

use std::collections::VecDeque;
use std::io;

use script::Random;
use stats::Timestamp;

use crate::session::Session;

/// See the module.
#[derive(Debug)]
pub(super) struct Line {
    /// Tells this connection from earlier ones of the same number.
    pub(super) generation: u64,
    pub(super) session: Session,
    /// Draws service times and cuts.
    pub(super) random: Random,
    /// The server's end is open.
    pub(super) server_open: bool,
    /// The server is busy with earlier statements until then.
    pub(super) free_at: Timestamp,
    /// The last piece on its way to the client arrives then; later ones not earlier.
    pub(super) last_arrival: Timestamp,
    /// What the client's socket has not taken yet.
    pub(super) unsent: VecDeque<u8>,
    /// What has arrived and was not read.
    pub(super) inbox: VecDeque<Vec<u8>>,
    /// What was read last.
    pub(super) reading: Vec<u8>,
    /// The end of the connection has arrived.
    pub(super) ended: Option<End>,
    /// An event is waiting for the worker.
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
