//! The server's errors and notices: the received fields, and an owned copy. Copies are created only to report an error,
//! never during a successful transaction.

use std::borrow::Cow;
use std::fmt;

use super::sqlstate::SqlState;

/// The received fields of an ErrorResponse or NoticeResponse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorFields<'a> {
    body: &'a [u8],
}

impl<'a> ErrorFields<'a> {
    pub(super) fn new(body: &'a [u8]) -> Self {
        ErrorFields { body }
    }

    /// The fields in order: the protocol manual's letter, and the value. Ends at a malformed field.
    pub fn iter(&self) -> impl Iterator<Item = (u8, &'a [u8])> + use<'a> {
        self.body.split(|&byte| byte == 0).map_while(|field| {
            let (&letter, value) = field.split_first()?;
            Some((letter, value))
        })
    }

    /// Total length of the fields in bytes.
    pub fn body_length(&self) -> usize {
        self.body.len()
    }

    /// The value of one field.
    pub fn get(&self, letter: u8) -> Option<&'a [u8]> {
        self.iter().find(|&(found, _)| found == letter).map(|(_, value)| value)
    }

    /// The SQLSTATE; XX000 if it is missing.
    pub fn sqlstate(&self) -> SqlState {
        self.get(b'C').and_then(SqlState::from_bytes).unwrap_or(SqlState::INTERNAL_ERROR)
    }

    /// Whether the server acknowledges a commit that is perhaps not on a synchronous standby, because its wait was
    /// cancelled. PostgreSQL's warning has no SQLSTATE of its own, and its texts are in the server's language; the name
    /// of the function that reports it is not translated (`SyncRepWaitForLSN` in syncrep.c, since 9.1).
    pub fn is_reservation(&self) -> bool {
        self.get(b'R') == Some(b"SyncRepWaitForLSN")
    }

    /// Whether the server announces the end of the session (57P01, 57P02): after a crash of another process as a warning.
    pub fn is_farewell(&self) -> bool {
        matches!(self.sqlstate(), SqlState::ADMIN_SHUTDOWN | SqlState::CRASH_SHUTDOWN)
    }

    /// The primary message.
    pub fn message(&self) -> Cow<'a, str> {
        encoding::decode(self.get(b'M').unwrap_or_default())
    }
}

/// An error or notice of the server, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerError {
    /// ERROR, FATAL, WARNING, …, in the server's language.
    pub severity: String,
    /// The code.
    pub sqlstate: SqlState,
    /// The primary message.
    pub message: String,
    /// Details of the problem.
    pub detail: Option<String>,
    /// A suggestion.
    pub hint: Option<String>,
    /// Error position in the statement, in characters from 1.
    pub position: Option<u32>,
    /// Error position in [`ServerError::internal_query`], in characters from 1.
    pub internal_position: Option<u32>,
    /// The internally generated statement that failed, for example in a function.
    pub internal_query: Option<String>,
    /// The context, such as a call stack.
    pub context: Option<String>,
}

impl From<ErrorFields<'_>> for ServerError {
    fn from(fields: ErrorFields<'_>) -> ServerError {
        let text = |letter| fields.get(letter).map(|value| encoding::decode(value).into_owned());
        let number = |letter| text(letter).and_then(|position| position.parse().ok());
        ServerError {
            severity: text(b'S').unwrap_or_else(|| "ERROR".to_owned()),
            sqlstate: fields.sqlstate(),
            message: text(b'M').unwrap_or_else(|| "the server gave no message".to_owned()),
            detail: text(b'D'),
            hint: text(b'H'),
            position: number(b'P'),
            internal_position: number(b'p'),
            internal_query: text(b'q'),
            context: text(b'W'),
        }
    }
}

impl ServerError {
    /// An error that a client found itself, in the form of the server's.
    pub fn of_client(sqlstate: SqlState, message: String) -> ServerError {
        ServerError {
            severity: "FATAL".to_owned(),
            sqlstate,
            message,
            detail: None,
            hint: None,
            position: None,
            internal_position: None,
            internal_query: None,
            context: None,
        }
    }

    /// Whether the server refused to write, as a standby does (25006).
    pub fn is_read_only(&self) -> bool {
        self.sqlstate == SqlState::READ_ONLY_SQL_TRANSACTION
    }
}

impl std::error::Error for ServerError {}

/// `ERROR: message`, then DETAIL, HINT and CONTEXT on separate lines, as in psql.
impl fmt::Display for ServerError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:  {}", self.severity, self.message)?;
        let more = [("DETAIL", &self.detail), ("HINT", &self.hint), ("CONTEXT", &self.context)];
        for (label, text) in more {
            if let Some(text) = text {
                write!(formatter, "\n{label}:  {text}")?;
            }
        }
        Ok(())
    }
}
