//! Configuration of a server, shared by all its sessions: the rows and the password, encoded as messages once, so that
//! a session only copies them.

use super::result_set::{ResultSet, SERVER_VERSION, UNNAMED};

/// Parameters reported at the start of a session.
pub(super) const PARAMETERS: [(&str, &str); 5] = [
    ("server_version", SERVER_VERSION),
    ("server_encoding", "UTF8"),
    ("client_encoding", "UTF8"),
    ("standard_conforming_strings", "on"),
    ("integer_datetimes", "on"),
];

/// The rows that every `SELECT` returns: one column of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Number of rows.
    pub count: u32,
    /// Length of each value in bytes.
    pub bytes: u32,
}

impl Default for Rows {
    fn default() -> Self {
        Self { count: 1, bytes: 1 }
    }
}

/// Configuration of a server.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    pub(super) password: Option<String>,
    /// Result of a `SELECT` that does not define its rows.
    pub(super) result: ResultSet,
    /// Rows of a `COPY … TO STDOUT`.
    pub(super) rows: Rows,
}

impl SessionConfig {
    /// A server that returns these rows and, if a password is given, requests it in clear text.
    pub fn new(rows: Rows, password: Option<String>) -> Self {
        let value = "1".repeat(rows.bytes as usize);
        let result = ResultSet::new(&[UNNAMED], (0..rows.count).map(|_| [Some(value.as_str())]));
        Self { password, result, rows }
    }
}
