//! How a server answers, the same for all its sessions: the rows it returns and the password it wants,
//! made into messages once, so that a session only copies them.

use super::result_set::{ResultSet, UNNAMED};

/// What reads as a version, to clients, and as what it is, to people.
pub(super) const SERVER_VERSION: &str = "18.0 (pgmeter null server)";
/// The same as a number.
pub(super) const SERVER_VERSION_NUM: &str = "180000";

/// Settings that a server reports when a session begins.
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
    /// How many.
    pub count: u32,
    /// The length of each value, in bytes.
    pub bytes: u32,
}

impl Default for Rows {
    fn default() -> Self {
        Self { count: 1, bytes: 1 }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    pub(super) password: Option<String>,
    /// What a `SELECT` returns that does not say what its rows are.
    pub(super) result: ResultSet,
}

impl SessionConfig {
    /// A server that returns these rows and, if a password is given, asks for it in clear text.
    pub fn new(rows: Rows, password: Option<String>) -> Self {
        let value = "1".repeat(rows.bytes as usize);
        let result = ResultSet::new(&[UNNAMED], (0..rows.count).map(|_| [Some(value.as_str())]));
        Self { password, result }
    }
}
