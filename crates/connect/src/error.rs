//! Errors of connecting and of control sessions. Each message names the target, the reason and the remedy; none
//! contains a password.

mod libpq;

use std::fmt::Write;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

use wire::{ProtocolError, ServerError, SqlState, StartupError};

use crate::address::Address;
use crate::patience::LockNotGranted;
use crate::target::Target;
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
    /// The error for one failed attempt.
    pub fn failed(target: &Target, address: &Address, cause: Cause) -> ConnectError {
        ConnectError::of_attempts(target, vec![Attempt::new(target, address, cause)])
    }

    /// The error for all failed attempts.
    pub(crate) fn of_attempts(target: &Target, attempts: Vec<Attempt>) -> ConnectError {
        let who = format!("as user \"{}\" to database \"{}\"", target.user, target.database);
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
    #[must_use]
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

const IS_A_SERVER_THERE: &str =
    "Is a server running there? To start an embedded one, run \"pgmeter quickstart\"";
const NOT_A_SERVER: &str = "Check host and port: another service listens there";
const GIVE_A_PASSWORD: &str = "Set PGPASSWORD, or add a line to ~/.pgpass";

impl Attempt {
    pub(crate) fn new(target: &Target, address: &Address, cause: Cause) -> Attempt {
        let libpq = libpq::failed(address, &cause);
        let (why, next) = match &cause {
            Cause::Io(error) => (in_words(error), advice_of_system(error).to_owned()),
            Cause::Closed => (
                "the server closed the connection during startup".to_owned(),
                "See the server's log".to_owned(),
            ),
            Cause::TimedOut(limit) => (
                format!("no answer within {} s", limit.as_secs_f64()),
                "Check host and port, or raise connect_timeout".to_owned(),
            ),
            Cause::Tls(error) => error.parts(),
            Cause::Protocol(error) | Cause::Startup(StartupError::Protocol(error)) => why_of_protocol(*error),
            Cause::Startup(StartupError::Server(error)) => {
                (why_of_server(error), advice(target, address, error))
            }
            Cause::Startup(error @ StartupError::PasswordNeeded) => match &target.password_file_unused {
                Some(reason) => (error.to_string(), format!("{GIVE_A_PASSWORD}: {reason}")),
                None => (error.to_string(), GIVE_A_PASSWORD.to_owned()),
            },
            Cause::Startup(error) => (error.to_string(), advice_of_startup(error).to_owned()),
        };
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
        Attempt { libpq, ..Attempt::plain(format!("host \"{name}\""), why, "Check the name".to_owned()) }
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

fn advice_of_system(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::ConnectionRefused | ErrorKind::NotFound => IS_A_SERVER_THERE,
        ErrorKind::PermissionDenied => "The socket's directory must be accessible to this user",
        ErrorKind::TimedOut | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
            "Check host, port and firewalls"
        }
        _ => "See the server's log for more",
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

fn why_of_protocol(error: ProtocolError) -> (String, String) {
    match error {
        ProtocolError::UnframedError => (error.to_string(), String::new()),
        _ => (
            format!("the service there does not use PostgreSQL's protocol ({error})"),
            NOT_A_SERVER.to_owned(),
        ),
    }
}

/// The server's message and detail, on one line.
fn why_of_server(error: &ServerError) -> String {
    let mut why = error.message.clone();
    if let Some(detail) = &error.detail {
        let _ = write!(why, " ({})", detail.replace('\n', " "));
    }
    why
}

/// Remedy for a refusal, by its code.
fn advice(target: &Target, address: &Address, error: &ServerError) -> String {
    let Target { user, database, .. } = target;
    match error.sqlstate {
        SqlState::INVALID_PASSWORD if target.password.is_some() => {
            "Check the password given by PGPASSWORD or the connection string".to_owned()
        }
        SqlState::INVALID_PASSWORD if target.host_of(address).password.is_some() => {
            "Check the password's line in the password file".to_owned()
        }
        SqlState::INVALID_PASSWORD => GIVE_A_PASSWORD.to_owned(),
        SqlState::INVALID_CATALOG_NAME if is_script(database) => {
            format!("If it is a script, give it with -f {database}")
        }
        SqlState::INVALID_CATALOG_NAME => {
            format!("Create it with \"createdb {database}\", or give another one with -d")
        }
        // Messages name pg_hba.conf in every language.
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION if error.message.contains("pg_hba.conf") => {
            "A line there must allow this user; some lines require TLS (sslmode=require), others require its \
             absence (sslmode=disable)"
                .to_owned()
        }
        // Only the English text distinguishes a missing role from a refused one; in other languages the advice is less
        // specific.
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION if error.message.starts_with("role ") => {
            format!("Create it with \"createuser {user}\", or give another one with -U")
        }
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            "See the server's pg_hba.conf for the method of this user, or give another user with -U"
                .to_owned()
        }
        SqlState::TOO_MANY_CONNECTIONS => {
            format!("Use fewer clients, or raise {}", connection_limit(&error.message))
        }
        SqlState::CANNOT_CONNECT_NOW => "Try again when the server is ready".to_owned(),
        SqlState::INVALID_PARAMETER_VALUE => error.hint.clone().unwrap_or_default(),
        // The words of connection poolers; servers say "unrecognized configuration parameter".
        _ if error.message.contains("unsupported startup parameter") => {
            "A connection pooler probably refuses it: leave the setting out, or connect to the server itself"
                .to_owned()
        }
        _ => error.hint.clone().unwrap_or_else(|| "See the server's log for more".to_owned()),
    }
}

/// The limit that a server's message with SQLSTATE 53300 is about. In other languages than English, those of roles and
/// databases are not distinguished from that of the server.
pub fn connection_limit(message: &str) -> &'static str {
    if message.starts_with("too many connections for role") {
        "the role's CONNECTION LIMIT"
    } else if message.starts_with("too many connections for database") {
        "the database's CONNECTION LIMIT"
    } else {
        "the server's max_connections"
    }
}

/// Whether the name of a database is more likely that of a script.
fn is_script(database: &str) -> bool {
    let path = Path::new(database);
    path.extension().is_some_and(|extension| extension == "sql") || path.is_file()
}

fn advice_of_startup(error: &StartupError) -> &'static str {
    match error {
        StartupError::UnsupportedAuthentication { .. } => {
            "Add a line with scram-sha-256 for this user to the server's pg_hba.conf"
        }
        StartupError::MethodNotAccepted { .. } => "See the server's pg_hba.conf for the method of this user",
        StartupError::NotBound { .. } => {
            "It requires TLS (a TCP connection, sslmode=require), PostgreSQL 11 or newer, and a password stored \
             for scram-sha-256"
        }
        StartupError::Scram { .. } => "Check that this is the intended server",
        _ => NOT_A_SERVER,
    }
}
