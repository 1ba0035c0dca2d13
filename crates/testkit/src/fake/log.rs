//! Log of the messages that the fake server received, with times. The test keeps a handle while the engine owns the
//! driver.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use stats::Timestamp;

use crate::request_log::Received;

/// A message received by the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Virtual time of its arrival.
    pub at: Timestamp,
    /// Number of the connection.
    pub connection: usize,
    /// The message.
    pub message: Received,
}

/// A handle to the log; entries are in order of arrival.
#[derive(Clone, Debug, Default)]
pub struct Log(Rc<RefCell<Vec<Entry>>>, Rc<Cell<usize>>);

impl Log {
    pub(super) fn add(&self, entry: Entry) {
        self.0.borrow_mut().push(entry);
    }

    /// A client's socket has not accepted this number of bytes.
    pub(super) fn held_back(&self, bytes: usize) {
        self.1.set(self.1.get().max(bytes));
    }

    /// Maximum number of bytes that a client's socket had not accepted.
    pub fn held_back_max(&self) -> usize {
        self.1.get()
    }

    /// The data of COPYs that one connection sent.
    pub fn copied_by(&self, connection: usize) -> String {
        let data = |message| if let Received::CopyData(data) = message { Some(data) } else { None };
        self.messages(connection).into_iter().filter_map(data).collect()
    }

    /// All entries.
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

    /// The executed statements of all connections, with the time of their arrival.
    pub fn statements(&self) -> Vec<(Timestamp, usize, String)> {
        let entries = self.0.borrow();
        let run = |entry: &Entry| Some((entry.at, entry.connection, entry.message.statement()?.to_owned()));
        entries.iter().filter_map(run).collect()
    }

    /// The executed statements of one connection.
    pub fn statements_of(&self, connection: usize) -> Vec<String> {
        let entries = self.0.borrow();
        let of_connection = entries.iter().filter(|entry| entry.connection == connection);
        of_connection.filter_map(|entry| entry.message.statement().map(str::to_owned)).collect()
    }
}
