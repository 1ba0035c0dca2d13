//! The history of a list-append workload: transactions that read lists and append elements to them. An element is
//! appended at most once, so that a list shows the order of the transactions that wrote it. Filled by `client`, checked
//! by `check`, written by `elle`.

use serde::Serialize;

/// Name of a list.
pub type Key = u32;
/// An element of a list; unique in its list.
pub type Element = u32;

/// An operation of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Appends an element to a list.
    Append {
        /// The list.
        key: Key,
        /// The element.
        element: Element,
    },
    /// Reads a list.
    Read {
        /// The list.
        key: Key,
        /// The elements, oldest first; `None` if the transaction ended before the answer.
        elements: Option<Vec<Element>>,
    },
}

impl Operation {
    /// The list.
    pub fn key(&self) -> Key {
        match *self {
            Operation::Append { key, .. } | Operation::Read { key, .. } => key,
        }
    }
}

/// How a transaction ended, as its client knows.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The server acknowledged COMMIT.
    Committed,
    /// It has certainly not been committed.
    Aborted,
    /// The connection was lost after COMMIT was sent.
    Unknown,
}

/// The server that executed a transaction.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The primary.
    Primary,
    /// A replica, by its number from 1. It has no SERIALIZABLE, so its transactions are REPEATABLE READ at most.
    Replica(u16),
}

/// A transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Transaction {
    /// Number of the client, from 0.
    pub client: u32,
    /// The server.
    pub place: Place,
    /// In the order of their execution.
    pub operations: Vec<Operation>,
    /// How it ended.
    pub ending: Ending,
    /// Position of its begin among the begins and ends of all transactions.
    pub begun: u64,
    /// Position of its end.
    pub ended: u64,
    /// Whether it began after all other transactions had ended: then it must read every acknowledged element.
    pub is_final: bool,
}

/// A history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct History {
    /// In any order.
    pub transactions: Vec<Transaction>,
}
