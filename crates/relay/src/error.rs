//! Errors of the relay: invalid configuration, or errors of the operating system. Errors of single connections are
//! forwarded to their other end instead.

use std::io;

use thiserror::Error;

/// An error that prevents the relay from starting or ends it.
#[derive(Debug, Error)]
pub enum RelayError {
    /// The configuration is invalid.
    #[error("{0}")]
    Config(String),
    /// The relay cannot listen on the address.
    #[error("cannot listen at {address}: {error}; {}", listen_advice(error))]
    Listen {
        /// The address.
        address: String,
        /// The system's error.
        error: io::Error,
    },
    /// Another system call failed.
    #[error("cannot {what}: {error}")]
    System {
        /// The failed operation.
        what: &'static str,
        /// The system's error.
        error: io::Error,
    },
    /// The relay's thread has ended unexpectedly.
    #[error("the relay ended unexpectedly; it forwards no more data")]
    Gone,
}

fn listen_advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "create the directory first",
        io::ErrorKind::PermissionDenied => "choose a writable directory",
        _ => "another relay or server may already use it: choose another address",
    }
}

impl RelayError {
    /// Adapter for `map_err`.
    pub(crate) fn system(what: &'static str) -> impl Fn(io::Error) -> Self {
        move |error| Self::System { what, error }
    }
}
