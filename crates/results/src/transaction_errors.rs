//! The server's errors in the transactions of a run: each SQLSTATE of each command once, with its first message, its place
//! in the script, and counts. Made by `run` from the engine's table, checked when a record is read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SafeText;

/// The errors of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransactionErrors {
    /// The kinds, the most frequent first, at most 32.
    pub kinds: Vec<TransactionError>,
    /// Errors of further kinds.
    pub others: ErrorCounts,
}

/// A kind of error: one SQLSTATE of one command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransactionError {
    /// The SQLSTATE.
    pub sqlstate: String,
    /// The message of the first such error, in the server's language.
    pub message: SafeText,
    /// Its DETAIL; `null` without one.
    pub detail: Option<SafeText>,
    /// Its HINT; `null` without one.
    pub hint: Option<SafeText>,
    /// Index of the script in the plan, from 0.
    pub script: u32,
    /// The line of the script, from 1: where the server found the error, or the first line of the command.
    pub line: u32,
    /// That line of the statement; a long one is cut.
    pub text: SafeText,
    /// The character of `text` where the server found the error, from 1; `null` if it named no position.
    pub column: Option<u32>,
    /// How many there were.
    #[serde(flatten)]
    pub counts: ErrorCounts,
}

/// What became of transactions with an error.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorCounts {
    /// Transactions that failed.
    pub failed: u64,
    /// Further tries.
    pub retried: u64,
    /// Clients that were aborted.
    pub aborted: u64,
}

impl TransactionErrors {
    /// Transactions that failed; `None` on overflow, which only a damaged file can cause.
    pub(crate) fn failed(&self) -> Option<u64> {
        self.kinds.iter().try_fold(self.others.failed, |sum, kind| sum.checked_add(kind.counts.failed))
    }
}
