//! Errors of connecting and of control sessions. Each message names the target, the reason and the remedy, which `advice`
//! gives; none contains a password.

mod libpq;

use std::fmt::Write;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

use wire::{ProtocolError, ServerError, SqlState, StartupError};

use crate::address::Address;
use crate::lock_wait::LockNotGranted;
use crate::tls::TlsError;

/// Why one attempt failed; with a target and an address it becomes a [`ConnectError`].
#[derive(Debug)]
pub enum Cause {
    /// An error of the operating system.
    Io(io::Error),
    /// The server closed the connection before it was ready.
    Closed,
    /// No answer within the limit.
    TimedOut(Duration),
    /// TLS failed.
    Tls(TlsError),
    /// Start-up or authentication failed.
    Startup(StartupError),
    /// The peer is not a PostgreSQL server.
    Protocol(ProtocolError),
}

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The connection string, a flag or a variable is invalid.
    #[error("{0}")]
    Settings(String),
    /// No connection could be made.
    #[error("{sentence}")]
    Failed {
        /// Target, reason and remedy.
        sentence: String,
        /// Cause of the last attempt; `None` if no address was found or the server did not meet `target_session_attrs`.
        cause: Option<Box<Cause>>,
        /// libpq's message, one paragraph for each attempt.
        libpq: String,
    },
    /// The server returned an error for a statement.
    #[error("{0}")]
    Server(Box<ServerError>),
    /// The connection was lost or closed; the session cannot be used any more.
    #[error("{0}")]
    Lost(String),
    /// The statement has an unexpected effect for this call; the session can still be used.
    #[error("{0}")]
    WrongStatement(&'static str),
    /// A statement did not get its lock within the limit of a [`crate::Patience`].
    #[error("{0}")]
    LockNotGranted(Box<LockNotGranted>),
}

impl ConnectError {
    /// The error for all failed attempts.
    pub(crate) fn of_attempts(user: &str, database: &str, attempts: Vec<Attempt>) -> ConnectError {
        let who = format!("as user \"{user}\" to database \"{database}\"");
        let mut sentence = match attempts.as_slice() {
            [] => format!("cannot connect {who}: the host names resolve to no address"),
            [.., refused] if refused.is_of_a_setting() => {
                format!("the server at {} refused the value of a setting: {}", refused.place, refused.why)
            }
            [Attempt { place, why, .. }] => format!("cannot connect to {place} {who}: {why}"),
            several => {
                let reasons: Vec<_> =
                    several.iter().map(|attempt| format!("{}: {}", attempt.place, attempt.why)).collect();
                format!("cannot connect {who}: {}", reasons.join("; "))
            }
        };
        let libpq = attempts.iter().map(|attempt| attempt.libpq.as_str()).collect::<Vec<_>>().join("\n");
        // The last attempt ended the search, and has the newest error of the server.
        let Some(Attempt { next, cause, .. }) = attempts.into_iter().last() else {
            return ConnectError::Failed { libpq: sentence.clone(), sentence, cause: None };
        };
        if !next.is_empty() {
            // Writing to a String cannot fail.
            let _ = write!(sentence, ". {next}");
        }
        ConnectError::Failed { sentence, cause, libpq }
    }

    /// The message in libpq's words, possibly several lines, without advice. For programs that are compatible with
    /// libpq programs.
    pub fn as_libpq(&self) -> String {
        match self {
            ConnectError::Failed { libpq, .. } => libpq.clone(),
            other => other.to_string(),
        }
    }

    fn cause(&self) -> Option<&Cause> {
        match self {
            ConnectError::Failed { cause, .. } => cause.as_deref(),
            _ => None,
        }
    }

    /// The server's error, if it returned one.
    pub fn server_error(&self) -> Option<&ServerError> {
        match (self, self.cause()) {
            (ConnectError::Server(error), _) | (_, Some(Cause::Startup(StartupError::Server(error)))) => {
                Some(error)
            }
            _ => None,
        }
    }

    /// The code of the server's error, if it returned one.
    pub fn sqlstate(&self) -> Option<SqlState> {
        self.server_error().map(|error| error.sqlstate)
    }

    /// Whether a statement did not get a lock within `lock_timeout`, or at once with NOWAIT.
    pub fn is_lock_timeout(&self) -> bool {
        const LOCK_NOT_AVAILABLE: &[u8; 5] = b"55P03";
        self.sqlstate().is_some_and(|state| Some(state) == SqlState::from_bytes(LOCK_NOT_AVAILABLE))
    }

    /// True if the server ended or refused the connection for a limited time: a server that has crashed or is
    /// restarting accepts connections again soon.
    pub fn is_of_a_restart(&self) -> bool {
        let states = [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW];
        let was_broken = match self.cause() {
            Some(Cause::Io(error)) => {
                matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
            }
            cause => matches!((self, cause), (ConnectError::Lost(_), _) | (_, Some(Cause::Closed))),
        };
        was_broken || self.sqlstate().is_some_and(|state| states.contains(&state))
    }

    /// True if the server requires a password and none is given.
    pub fn is_password_needed(&self) -> bool {
        matches!(self.cause(), Some(Cause::Startup(StartupError::PasswordNeeded)))
    }
}

/// A failed attempt: the parts of a sentence.
#[derive(Debug)]
pub(crate) struct Attempt {
    place: String,
    why: String,
    next: String,
    cause: Option<Box<Cause>>,
    libpq: String,
}

const CHECK_THE_NAME: &str = "Check the name, or start a server on this host with \"pgmeter quickstart\"";

impl Attempt {
    /// `why` is the cause in words, `next` the remedy.
    pub(crate) fn of_cause(address: &Address, cause: Cause, (why, next): (String, String)) -> Attempt {
        let libpq = libpq::failed(address, &cause);
        Attempt { place: address.to_string(), why, next, cause: Some(Box::new(cause)), libpq }
    }

    /// The server accepts connections, but does not meet `target_session_attrs`.
    pub(crate) fn unsuitable(address: &Address, why: String) -> Attempt {
        let next = "target_session_attrs selects the acceptable servers".to_owned();
        let libpq = libpq::place(address, &why);
        Attempt { libpq, ..Attempt::plain(address.to_string(), why, next) }
    }

    /// Adds the earlier attempt at the same address with another encryption mode; its message is added if it differs.
    pub(crate) fn after(mut self, first: Attempt, how: &str) -> Attempt {
        if self.why != first.why {
            self.why = format!("{}; {how}: {}", self.why, first.why);
        }
        self
    }

    pub(crate) fn name_not_found(name: &str, error: &io::Error) -> Attempt {
        let why = format!("its address could not be found ({})", in_words(error));
        let libpq = format!("could not translate host name \"{name}\" to address: {}", in_words(error));
        Attempt { libpq, ..Attempt::plain(format!("host \"{name}\""), why, CHECK_THE_NAME.to_owned()) }
    }

    pub(crate) fn socket_path_too_long(path: &Path) -> Attempt {
        let why = "its path exceeds the system's limit of 107 bytes".to_owned();
        let next = "Set a shorter directory in the server's unix_socket_directories".to_owned();
        Attempt::plain(format!("socket \"{}\"", path.display()), why, next)
    }

    fn plain(place: String, why: String, next: String) -> Attempt {
        let libpq = format!("connection to {place} failed: {why}");
        Attempt { place, why, next, cause: None, libpq }
    }

    /// The server can be reached, and refuses the value of a setting in the start-up packet.
    fn is_of_a_setting(&self) -> bool {
        let state = match self.cause.as_deref() {
            Some(Cause::Startup(StartupError::Server(error))) => Some(error.sqlstate),
            _ => None,
        };
        state == Some(SqlState::INVALID_PARAMETER_VALUE)
    }

    /// libpq's rule: after an answer of a server its refusal is final, unless the server is starting up.
    pub(crate) fn ends_the_search(&self) -> bool {
        match self.cause.as_deref() {
            Some(Cause::Startup(StartupError::Server(error))) => {
                error.sqlstate != SqlState::CANNOT_CONNECT_NOW
            }
            cause => matches!(cause, Some(Cause::Startup(StartupError::PasswordNeeded))),
        }
    }
}

/// The system's message without its number, in lower case for use within a sentence.
pub(crate) fn in_words(error: &io::Error) -> String {
    let text = match error.kind() {
        ErrorKind::NotFound => return "the socket does not exist".to_owned(),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            return "the peer closed the connection".to_owned();
        }
        _ => error.to_string(),
    };
    let text = text.split_once(" (os error").map_or(text.as_str(), |(text, _)| text);
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}
