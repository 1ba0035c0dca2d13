//! Why an attempt to connect to a target failed, in words, and what to do next: the remedy depends on the target, its
//! password and its database.

use std::fmt::Write;
use std::io::{self, ErrorKind};
use std::path::Path;

use wire::{ProtocolError, ServerError, SqlState, StartupError};

use crate::address::Address;
use crate::error::{Attempt, Cause, ConnectError, in_words};
use crate::target::Target;

const IS_A_SERVER_THERE: &str =
    "Is a server running there? To start an embedded one, run \"pgmeter quickstart\"";
const NOT_A_SERVER: &str = "Check host and port: another service listens there";
const GIVE_A_PASSWORD: &str =
    "Set it before the command, as in PGPASSWORD=… pgmeter bench, or add a line to ~/.pgpass";

impl ConnectError {
    /// The error for one failed attempt.
    pub fn failed(target: &Target, address: &Address, cause: Cause) -> ConnectError {
        let attempts = vec![Attempt::new(target, address, cause)];
        ConnectError::of_attempts(&target.user, &target.database, attempts)
    }
}

impl Attempt {
    pub(crate) fn new(target: &Target, address: &Address, cause: Cause) -> Attempt {
        let words = match &cause {
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
        Attempt::of_cause(address, cause, words)
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
