//! What the fake server heard, and when: the test keeps a handle while the engine owns the driver.
//! It records and judges nothing.

use std::cell::RefCell;
use std::rc::Rc;

use stats::Timestamp;

use crate::request_log::Received;

/// A message of a client as it reached the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When, in virtual time.
    pub at: Timestamp,
    /// On which connection.
    pub connection: usize,
    /// What.
    pub message: Received,
}

/// A handle to all that was heard, in the order in which it was.
#[derive(Clone, Debug, Default)]
pub struct Log(Rc<RefCell<Vec<Entry>>>);

impl Log {
    pub(super) fn add(&self, entry: Entry) {
        self.0.borrow_mut().push(entry);
    }

    /// Everything.
    pub fn entries(&self) -> Vec<Entry> {
        self.0.borrow().clone()
    }

    /// The messages of one connection.
    pub fn messages(&self, connection: usize) -> Vec<Received> {
        let entries = self.0.borrow();
        entries
            .iter()
            .filter(|entry| entry.connection == connection)
            .map(|entry| entry.message.clone())
            .collect()
    }

    /// The statements that were run, of all connections, with the time at which each reached the server.
    pub fn statements(&self) -> Vec<(Timestamp, usize, String)> {
        let entries = self.0.borrow();
        let run = |entry: &Entry| Some((entry.at, entry.connection, entry.message.statement()?.to_owned()));
        entries.iter().filter_map(run).collect()
    }

    /// The texts of the statements that one connection ran.
    pub fn statements_of(&self, connection: usize) -> Vec<String> {
        let entries = self.0.borrow();
        let of_connection = entries.iter().filter(|entry| entry.connection == connection);
        of_connection.filter_map(|entry| entry.message.statement().map(str::to_owned)).collect()
    }
}
