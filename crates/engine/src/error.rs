//! Errors that prevent or end a run.
//! Errors of single clients during a run are part of the outcome.

use std::io;

use connect::Address;
use thiserror::Error;
use wire::{SqlState, StartupError};

/// A run without an outcome.
#[derive(Debug, Error)]
pub enum EngineError {
    /// The plan is contradictory.
    #[error("{0}")]
    Plan(String),
    /// The operating system refused a required resource.
    #[error("the load generator cannot {what}: {error}")]
    System {
        /// The requested action, as a verb phrase.
        what: &'static str,
        /// The system's error.
        error: io::Error,
    },
    /// The plan requires io_uring, which is not available.
    #[error(
        "io_uring cannot be used: {0}; select the event loop epoll, or auto to use io_uring where possible"
    )]
    NoIoUring(String),
    /// A client could not connect before the run.
    #[error("could not create connection for client {client} to {address}: {reason}")]
    Connect {
        /// Number of the client, from 0.
        client: usize,
        /// Address of the server.
        address: Address,
        /// The error.
        reason: ConnectReason,
    },
    /// A bug in pgmeter ended a worker.
    #[error(
        "worker {worker} of the load generator failed because of a bug in pgmeter, please report it: {reason}"
    )]
    Panicked {
        /// Number of the worker, from 0.
        worker: usize,
        /// Message of the panic.
        reason: Box<str>,
    },
    /// Another rank of a distributed run failed or was lost.
    #[error("{}", of_rank(*rank, reason))]
    Rank {
        /// Its number.
        rank: usize,
        /// Why.
        reason: Box<str>,
    },
    /// The user asked to stop while the clients were connecting.
    #[error("interrupted while the clients were connecting; nothing was measured")]
    InterruptedBeforeStart,
}

/// The reason of another rank. Sentences of the exchange are complete: they name the ranks, or say that it is not known
/// which one is the cause.
fn of_rank(rank: usize, reason: &str) -> String {
    const WHOLE: [&str; 3] = ["rank", "the exchange with", "the process manager"];
    match WHOLE.iter().any(|beginning| reason.starts_with(beginning)) {
        true => reason.to_owned(),
        false => format!("rank {rank} failed: {reason}"),
    }
}

impl EngineError {
    /// Whether the other workers can continue.
    pub(crate) fn is_of_one_worker(&self) -> bool {
        matches!(self, Self::Panicked { .. })
    }

    /// Whether the server rejected a client for lack of connections.
    pub fn is_too_many_connections(&self) -> bool {
        self.too_many_connections().is_some()
    }

    /// The server's message with which it rejected a client for lack of connections.
    pub fn too_many_connections(&self) -> Option<&str> {
        let Self::Connect { reason: ConnectReason::Startup(StartupError::Server(error)), .. } = self else {
            return None;
        };
        (error.sqlstate == SqlState::TOO_MANY_CONNECTIONS).then_some(&error.message)
    }
}

/// Why a client could not connect.
#[derive(Debug, Error)]
pub enum ConnectReason {
    /// The transport failed.
    #[error("{0}")]
    Transport(io::Error),
    /// The server closed the connection during start-up.
    #[error("the server closed the connection during start-up; see the server's log")]
    Closed,
    /// It took longer than allowed.
    #[error("no answer within {} s", .0.as_secs_f64())]
    TimedOut(std::time::Duration),
    /// The server is not in the state that `target_session_attrs` requires.
    #[error("{0}")]
    Unsuitable(&'static str),
    /// The session does not have a required setting: which, and both values.
    #[error(
        "the setting {0}; probably a connection pooler ignores the options of connections: connect to the server itself"
    )]
    Setting(Box<str>),
    /// The server refused, or violated the protocol.
    #[error("{0}")]
    Startup(#[from] StartupError),
}
