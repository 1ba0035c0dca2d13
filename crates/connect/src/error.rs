//! What can go wrong on the way into a server and in a control session. Each message says what was tried, why
//! it failed and what to do next; none holds a password.

use std::io;
use std::time::Duration;

use wire::{ProtocolError, ServerError, SqlState, StartupError};

use crate::{Address, Target};

/// Why one attempt to connect failed; together with a target and an address it makes a [`ConnectError`].
#[derive(Debug)]
pub enum Cause {
    /// The operating system's word.
    Io(io::Error),
    /// The server closed the connection before it was ready.
    Closed,
    /// No answer within the limit.
    TimedOut(Duration),
    /// Start-up or authentication failed.
    Startup(StartupError),
    /// What answers is not a PostgreSQL server.
    Protocol(ProtocolError),
}

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The connection string or a setting cannot be used.
    #[error("{0}")]
    Settings(String),
    /// No connection came about.
    #[error("{sentence}")]
    Failed {
        /// What was tried, why it failed, what to do next.
        sentence: String,
        /// The server's own error, if it was the server that refused.
        server: Option<Box<ServerError>>,
        /// True if the server asks for a password and none is known.
        needs_password: bool,
    },
    /// The server answered a statement with an error.
    #[error("{0}")]
    Server(Box<ServerError>),
    /// The connection broke in the middle.
    #[error("{0}")]
    Lost(String),
}

impl ConnectError {
    /// The one sentence for a connection that did not come about.
    pub fn failed(target: &Target, address: &Address, cause: Cause) -> ConnectError {
        let _ = (target, address);
        ConnectError::Lost(format!("{cause:?}"))
    }

    /// The server's own error, if there is one.
    pub fn server_error(&self) -> Option<&ServerError> {
        match self {
            ConnectError::Server(error) => Some(error),
            ConnectError::Failed { server, .. } => server.as_deref(),
            _ => None,
        }
    }

    /// The code of the server's error, if there is one.
    pub fn sqlstate(&self) -> Option<SqlState> {
        self.server_error().map(|error| error.sqlstate)
    }

    /// True if the server asks for a password and none is known: prompting may help.
    pub fn needs_password(&self) -> bool {
        matches!(self, ConnectError::Failed { needs_password: true, .. })
    }
}
