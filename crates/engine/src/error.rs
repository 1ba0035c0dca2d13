//! Why a run could not be started or carried on.
//! What befell single clients during a run is no error of it, but part of the outcome.

use std::io;

use connect::Address;
use thiserror::Error;
use wire::{SqlState, StartupError};

/// A run that gave no outcome.
#[derive(Debug, Error)]
pub enum EngineError {
    /// The plan contradicts itself.
    #[error("{0}")]
    Plan(String),
    /// The operating system refused something the engine cannot do without.
    #[error("the load generator cannot {what}: {error}")]
    System {
        /// What was asked of the system, as a verb phrase.
        what: &'static str,
        /// Its answer.
        error: io::Error,
    },
    /// The plan insists on io_uring.
    #[error("io_uring cannot be used: {0}; choose the event loop epoll, or auto to have it where it can be")]
    NoIoUring(String),
    /// A client did not get in before the run.
    #[error("could not create connection for client {client} to {address}: {reason}")]
    Connect {
        /// Which client, from 0.
        client: usize,
        /// Where to.
        address: Address,
        /// Why not.
        reason: ConnectReason,
    },
    /// A defect of pgmeter ended a worker.
    #[error("worker {worker} of the load generator ended by a defect of pgmeter, please report it: {reason}")]
    Panicked {
        /// Which one, from 0.
        worker: usize,
        /// What its panic said.
        reason: Box<str>,
    },
    /// The user asked to stop while the clients were still connecting.
    #[error("interrupted while the clients were connecting; nothing was measured")]
    InterruptedBeforeStart,
}

impl EngineError {
    /// Whether the other workers can go on.
    pub(crate) fn is_of_one_worker(&self) -> bool {
        matches!(self, Self::Panicked { .. })
    }

    /// Whether the server has no room for so many clients.
    pub fn is_too_many_connections(&self) -> bool {
        let Self::Connect { reason: ConnectReason::Startup(StartupError::Server(error)), .. } = self else {
            return false;
        };
        error.sqlstate == SqlState::TOO_MANY_CONNECTIONS
    }
}

/// Why a client did not get in.
#[derive(Debug, Error)]
pub enum ConnectReason {
    /// The transport failed.
    #[error("{0}")]
    Transport(io::Error),
    /// The server closed the connection during start-up.
    #[error("the server closed the connection during start-up; its log says why")]
    Closed,
    /// It took longer than allowed.
    #[error("no answer within {} s", .0.as_secs_f64())]
    TimedOut(std::time::Duration),
    /// The server refused, or spoke something else.
    #[error("{0}")]
    Startup(StartupError),
}
