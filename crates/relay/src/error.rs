//! Why there is no relay, or no more: what is wrong with its configuration, or what the system refused.
//! What goes wrong with single connections is no error of the relay; it is passed on to their other end.

use std::io;

use thiserror::Error;

/// Why there is no relay.
#[derive(Debug, Error)]
pub enum RelayError {
    /// What was asked for makes no sense.
    #[error("{0}")]
    Config(String),
    /// Nobody can listen there.
    #[error("cannot listen at {address}: {error}; {}", listen_advice(error))]
    Listen {
        /// Where.
        address: String,
        /// What the system says.
        error: io::Error,
    },
    /// The system refused something else.
    #[error("cannot {what}: {error}")]
    System {
        /// What was to be done.
        what: &'static str,
        /// What the system says.
        error: io::Error,
    },
    /// Its thread has ended before it was asked to.
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
    /// For `map_err`.
    pub(crate) fn system(what: &'static str) -> impl Fn(io::Error) -> Self {
        move |error| Self::System { what, error }
    }
}
