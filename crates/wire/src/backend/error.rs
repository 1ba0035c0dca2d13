//! The server's errors and notices: the fields as received, and an owned error to keep.
//! Owned ones are made only when an error is reported, never on the way of a successful transaction.

use std::borrow::Cow;
use std::fmt;

use super::sqlstate::SqlState;

/// The fields of an ErrorResponse or NoticeResponse as received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorFields<'a> {
    body: &'a [u8],
}

impl<'a> ErrorFields<'a> {
    pub(super) fn new(body: &'a [u8]) -> Self {
        ErrorFields { body }
    }

    /// The fields in order: the letter of the protocol manual and the value. Stops at what is malformed.
    pub fn iter(&self) -> impl Iterator<Item = (u8, &'a [u8])> + use<'a> {
        self.body.split(|&byte| byte == 0).map_while(|field| {
            let (&letter, value) = field.split_first()?;
            Some((letter, value))
        })
    }

    /// The length of all fields together, in bytes.
    pub fn body_length(&self) -> usize {
        self.body.len()
    }

    /// The value of one field.
    pub fn get(&self, letter: u8) -> Option<&'a [u8]> {
        self.iter().find(|&(found, _)| found == letter).map(|(_, value)| value)
    }

    /// The error's code; without one, XX000.
    pub fn sqlstate(&self) -> SqlState {
        self.get(b'C').and_then(SqlState::from_bytes).unwrap_or(SqlState::INTERNAL_ERROR)
    }

    /// The primary message.
    pub fn message(&self) -> Cow<'a, str> {
        encoding::decode(self.get(b'M').unwrap_or_default())
    }
}

/// An error or notice of the server, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerError {
    /// ERROR, FATAL, WARNING, … in the server's language.
    pub severity: String,
    /// The code.
    pub sqlstate: SqlState,
    /// The primary message.
    pub message: String,
    /// More about the problem.
    pub detail: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// Where in the statement, in characters from 1.
    pub position: Option<u32>,
    /// Where in [`ServerError::internal_query`], in characters from 1.
    pub internal_position: Option<u32>,
    /// The statement that a function of the server's ran, if the error is there.
    pub internal_query: Option<String>,
    /// What the server was doing.
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

impl std::error::Error for ServerError {}

/// `ERROR:  message`, then DETAIL, HINT and CONTEXT on lines of their own, as psql shows them.
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
