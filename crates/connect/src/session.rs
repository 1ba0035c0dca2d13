//! A blocking connection for everything that is not the load. One statement at a time, results as text.

use std::time::Duration;

use wire::ServerError;

use crate::{Address, ConnectError, CopyIn, Target};

/// A session under control of one caller.
#[derive(Debug)]
pub struct Session {
    address: Address,
}

/// What a cancel request must show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelKey {
    /// The server process.
    pub process_id: u32,
    /// The key as the server gave it.
    pub secret_key: Vec<u8>,
}

/// One row, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    values: Vec<Option<Box<str>>>,
}

impl Row {
    /// The value of a column from 0; `None` for NULL and for a column that is not there.
    pub fn get(&self, column: usize) -> Option<&str> {
        self.values.get(column)?.as_deref()
    }

    /// The number of columns.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True for a row without columns.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// What one statement of a query returned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultSet {
    /// The columns' names; empty for a statement that returns no rows.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Row>,
    /// What the server says it did, such as `SELECT 1`.
    pub tag: String,
}

impl Session {
    /// Tries the target's addresses in order, with the limit `connect_timeout` for each.
    pub fn connect(target: &Target) -> Result<Session, ConnectError> {
        Err(ConnectError::Settings(target.to_string()))
    }

    /// Where the session went.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// A setting that the server reports, such as `server_version`.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let _ = name;
        None
    }

    /// The server's version as libpq counts: 180000 for 18.0, 90624 for 9.6.24; 0 if the server did not say.
    pub fn server_version_num(&self) -> u32 {
        0
    }

    /// Runs one or several statements, rows thrown away; returns the rows that the last one counts (0 if none).
    pub fn execute(&mut self, sql: &str) -> Result<u64, ConnectError> {
        let _ = sql;
        Ok(0)
    }

    /// Runs one or several statements; returns the rows of the last that returned rows.
    pub fn query(&mut self, sql: &str) -> Result<Vec<Row>, ConnectError> {
        let _ = sql;
        Ok(Vec::new())
    }

    /// Runs several statements; returns one result set for each.
    pub fn query_sets(&mut self, sql: &str) -> Result<Vec<ResultSet>, ConnectError> {
        let _ = sql;
        Ok(Vec::new())
    }

    /// Begins a `COPY … FROM STDIN`.
    pub fn copy_in(&mut self, sql: &str) -> Result<CopyIn<'_>, ConnectError> {
        let _ = sql;
        Ok(CopyIn { session: self })
    }

    /// The notices and warnings since the last call, oldest first.
    pub fn take_notices(&mut self) -> Vec<ServerError> {
        Vec::new()
    }

    /// What [`cancel`] needs to stop this session's statement from elsewhere.
    pub fn cancel_key(&self) -> CancelKey {
        CancelKey { process_id: 0, secret_key: Vec::new() }
    }

    /// The longest silence of the server while an answer is awaited; afterwards the session is of no more use.
    pub fn set_read_timeout(&mut self, limit: Option<Duration>) -> Result<(), ConnectError> {
        let _ = limit;
        Ok(())
    }
}

/// Asks the server at this address to cancel what the session with this key is doing. The server does not say
/// whether there was anything to cancel.
pub fn cancel(address: &Address, key: &CancelKey) -> Result<(), ConnectError> {
    let _ = (address, key);
    Ok(())
}
