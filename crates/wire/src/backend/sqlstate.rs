//! SQLSTATE codes: five characters, independent of language and version. The constants are those that clients handle;
//! the manual's appendix "PostgreSQL Error Codes" lists all.

use std::fmt;

/// An error code of the server.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState([u8; 5]);

impl SqlState {
    /// A serialization failure; a retry may succeed.
    pub const SERIALIZATION_FAILURE: SqlState = SqlState(*b"40001");
    /// A deadlock; a retry may succeed.
    pub const DEADLOCK_DETECTED: SqlState = SqlState(*b"40P01");
    /// The table, view or sequence does not exist.
    pub const UNDEFINED_TABLE: SqlState = SqlState(*b"42P01");
    /// The column does not exist.
    pub const UNDEFINED_COLUMN: SqlState = SqlState(*b"42703");
    /// No function has this name and these types.
    pub const UNDEFINED_FUNCTION: SqlState = SqlState(*b"42883");
    /// A type, or another object, does not exist.
    pub const UNDEFINED_OBJECT: SqlState = SqlState(*b"42704");
    /// The schema does not exist.
    pub const INVALID_SCHEMA_NAME: SqlState = SqlState(*b"3F000");
    /// The statement does not follow the grammar.
    pub const SYNTAX_ERROR: SqlState = SqlState(*b"42601");
    /// The role lacks a privilege.
    pub const INSUFFICIENT_PRIVILEGE: SqlState = SqlState(*b"42501");
    /// The server refuses the role: it does not exist, or no line of `pg_hba.conf` matches.
    pub const INVALID_AUTHORIZATION_SPECIFICATION: SqlState = SqlState(*b"28000");
    /// Wrong password.
    pub const INVALID_PASSWORD: SqlState = SqlState(*b"28P01");
    /// The database does not exist.
    pub const INVALID_CATALOG_NAME: SqlState = SqlState(*b"3D000");
    /// The value of a setting is invalid.
    pub const INVALID_PARAMETER_VALUE: SqlState = SqlState(*b"22023");
    /// The server's disk is full.
    pub const DISK_FULL: SqlState = SqlState(*b"53100");
    /// A connection was lost; made by the client, not sent by the server.
    pub const CONNECTION_FAILURE: SqlState = SqlState(*b"08006");
    /// It is unknown whether the transaction has committed.
    pub const TRANSACTION_RESOLUTION_UNKNOWN: SqlState = SqlState(*b"08007");
    /// It is unknown whether the statement has completed.
    pub const STATEMENT_COMPLETION_UNKNOWN: SqlState = SqlState(*b"40003");
    /// A statement that writes, in a read-only transaction.
    pub const READ_ONLY_SQL_TRANSACTION: SqlState = SqlState(*b"25006");
    /// No connection slot is free.
    pub const TOO_MANY_CONNECTIONS: SqlState = SqlState(*b"53300");
    /// A statement was cancelled by a request or by a timeout.
    pub const QUERY_CANCELED: SqlState = SqlState(*b"57014");
    /// The server is shutting down.
    pub const ADMIN_SHUTDOWN: SqlState = SqlState(*b"57P01");
    /// Another server process crashed.
    pub const CRASH_SHUTDOWN: SqlState = SqlState(*b"57P02");
    /// The server is starting up, shutting down or in recovery.
    pub const CANNOT_CONNECT_NOW: SqlState = SqlState(*b"57P03");
    /// Default for an error without a code.
    pub const INTERNAL_ERROR: SqlState = SqlState(*b"XX000");

    /// From the five bytes of an error's `C` field; `None` unless these are ASCII letters and digits.
    pub fn from_bytes(bytes: &[u8]) -> Option<SqlState> {
        let code: [u8; 5] = bytes.try_into().ok()?;
        code.iter().all(u8::is_ascii_alphanumeric).then_some(SqlState(code))
    }

    /// Whether the server does not know if a statement has completed: statement_completion_unknown (40003),
    /// transaction_resolution_unknown (08007).
    pub fn leaves_in_doubt(self) -> bool {
        matches!(self, SqlState::STATEMENT_COMPLETION_UNKNOWN | SqlState::TRANSACTION_RESOLUTION_UNKNOWN)
    }

    /// Whether the outcome of a commit is unknown that was answered with this code, or after which the connection was
    /// lost with it. Besides [`SqlState::leaves_in_doubt`], these are admin_shutdown (57P01) and crash_shutdown
    /// (57P02): PostgreSQL may have committed before it ends the session, for example while it waits for a standby.
    pub fn leaves_commit_in_doubt(self) -> bool {
        self.leaves_in_doubt() || matches!(self, SqlState::ADMIN_SHUTDOWN | SqlState::CRASH_SHUTDOWN)
    }

    /// The five bytes.
    pub const fn bytes(self) -> [u8; 5] {
        self.0
    }

    /// The five characters.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("XX000")
    }

    /// The first two characters: the class of the error.
    pub fn class(&self) -> &str {
        &self.as_str()[..2]
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_codes_leave_open_whether_the_server_has_committed() {
        for (code, expected) in [
            (b"40003", (true, true)),
            (b"08007", (true, true)),
            (b"57P01", (false, true)),
            (b"57P02", (false, true)),
            (b"57P03", (false, false)),
            (b"40001", (false, false)),
        ] {
            let state = SqlState(*code);
            assert_eq!((state.leaves_in_doubt(), state.leaves_commit_in_doubt()), expected, "{state}");
        }
    }

    #[test]
    fn five_letters_and_digits_are_a_code_and_nothing_else_is() {
        assert_eq!(SqlState::from_bytes(b"40P01"), Some(SqlState::DEADLOCK_DETECTED));
        assert_eq!(SqlState::from_bytes(b"40P0"), None);
        assert_eq!(SqlState::from_bytes(b"40P011"), None);
        assert_eq!(SqlState::from_bytes(b"40\xffP1"), None);
        assert_eq!(SqlState::UNDEFINED_TABLE.class(), "42");
        assert_eq!(SqlState::UNDEFINED_TABLE.to_string(), "42P01");
    }
}
