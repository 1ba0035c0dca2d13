//! The errors of a run's transactions by SQLSTATE and command: the first of each kind, and how many transactions it
//! failed, retried or aborted. Only a client with an error touches it. Workers have a table each, merged at the end.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use stats::COUNT_MAX;
use wire::{ServerError, SqlState};

/// Maximum number of kinds of a run, so that errors with random SQLSTATEs cannot fill memory or a report. Further kinds
/// are only counted.
pub const ERROR_KINDS_MAX: usize = 32;

/// What became of the transactions with an error.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCounts {
    /// Measured transactions that failed.
    pub failed: u64,
    /// Further tries of measured transactions.
    pub retried: u64,
    /// Clients that were aborted, in the warm-up too.
    pub aborted: u64,
}

impl ErrorCounts {
    fn add(&mut self, more: ErrorCounts) {
        let ErrorCounts { failed, retried, aborted } = more;
        self.failed += failed;
        self.retried += retried;
        self.aborted += aborted;
    }
}

/// A kind of error: the same SQLSTATE of the same command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorKind {
    /// Index of the script in the plan.
    pub script: usize,
    /// Index of the command in the script.
    pub command: usize,
    /// The first such error.
    #[serde(with = "server_error")]
    pub error: Box<ServerError>,
    /// Byte of the command's text, as written in the script, where the server found the first error; `None` if it named
    /// no position.
    pub offset: Option<usize>,
    /// How many there were.
    pub counts: ErrorCounts,
}

/// The kinds of errors of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorTable {
    kinds: Vec<ErrorKind>,
    others: ErrorCounts,
}

impl ErrorTable {
    /// The kinds that were kept, at most [`ERROR_KINDS_MAX`], the most frequent first.
    pub fn kinds(&self) -> &[ErrorKind] {
        &self.kinds
    }

    /// The counts of the kinds that were not kept.
    pub fn others(&self) -> ErrorCounts {
        self.others
    }

    /// Number of the kind of an error, which [`ErrorTable::count`] accepts; `first` makes one that is new.
    pub(crate) fn kind(
        &mut self,
        (script, command): (usize, usize),
        sqlstate: SqlState,
        first: impl FnOnce() -> (Box<ServerError>, Option<usize>),
    ) -> usize {
        let is_it = |kind: &ErrorKind| {
            kind.script == script && kind.command == command && kind.error.sqlstate == sqlstate
        };
        if let Some(known) = self.kinds.iter().position(is_it) {
            return known;
        }
        if self.kinds.len() < ERROR_KINDS_MAX {
            let (error, offset) = first();
            self.kinds.push(ErrorKind { script, command, error, offset, counts: ErrorCounts::default() });
            return self.kinds.len() - 1;
        }
        ERROR_KINDS_MAX
    }

    /// The counts of a kind.
    pub(crate) fn count(&mut self, kind: usize) -> &mut ErrorCounts {
        self.kinds.get_mut(kind).map_or(&mut self.others, |kind| &mut kind.counts)
    }

    /// Whether these can be the errors of a rank with so many failed transactions.
    pub(crate) fn is_plausible(&self, failed: u64) -> bool {
        let all = || self.kinds.iter().map(|kind| &kind.counts).chain([&self.others]);
        let sum = all().fold(0, |sum: u64, counts| sum.saturating_add(counts.failed));
        let fits = |counts: &ErrorCounts| counts.retried <= COUNT_MAX && counts.aborted <= COUNT_MAX;
        self.kinds.len() <= ERROR_KINDS_MAX && sum <= failed && all().all(fits)
    }

    /// Adds the errors of another worker or rank.
    pub(crate) fn merge(&mut self, other: ErrorTable) {
        let ErrorTable { kinds, others } = other;
        self.others.add(others);
        for ErrorKind { script, command, error, offset, counts } in kinds {
            let kind = self.kind((script, command), error.sqlstate, || (error, offset));
            self.count(kind).add(counts);
        }
    }

    /// Removes kinds without an effect that counts, sorts the others, and makes up for the failures of workers that were
    /// lost with their tables.
    ///
    /// # Panics
    /// If more failures were counted here than transactions failed, which is a bug in this program.
    pub(crate) fn conclude(&mut self, failed: u64) {
        self.kinds.retain(|kind| kind.counts != ErrorCounts::default());
        let ErrorTable { kinds, others } = self;
        kinds.sort_by_key(|kind| {
            let ErrorCounts { failed, retried, aborted } = kind.counts;
            (std::cmp::Reverse((failed, aborted, retried)), kind.script, kind.command)
        });
        let counted = kinds.iter().map(|kind| kind.counts.failed).sum::<u64>() + others.failed;
        assert!(counted <= failed, "{counted} errors failed {failed} transactions");
        others.failed += failed - counted;
    }
}

/// A server's error as text for another process.
mod server_error {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct EncodedError {
        severity: String,
        sqlstate: String,
        message: String,
        detail: Option<String>,
        hint: Option<String>,
        position: Option<u32>,
        internal_position: Option<u32>,
        internal_query: Option<String>,
        context: Option<String>,
    }

    pub(super) fn serialize<S: Serializer>(error: &ServerError, serializer: S) -> Result<S::Ok, S::Error> {
        let ServerError {
            severity,
            sqlstate,
            message,
            detail,
            hint,
            position,
            internal_position,
            internal_query,
            context,
        } = error.clone();
        let sqlstate = sqlstate.to_string();
        EncodedError {
            severity,
            sqlstate,
            message,
            detail,
            hint,
            position,
            internal_position,
            internal_query,
            context,
        }
        .serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Box<ServerError>, D::Error> {
        let EncodedError {
            severity,
            sqlstate,
            message,
            detail,
            hint,
            position,
            internal_position,
            internal_query,
            context,
        } = EncodedError::deserialize(deserializer)?;
        let sqlstate = SqlState::from_bytes(sqlstate.as_bytes())
            .ok_or_else(|| de::Error::custom("an SQLSTATE has five letters or digits"))?;
        Ok(Box::new(ServerError {
            severity,
            sqlstate,
            message,
            detail,
            hint,
            position,
            internal_position,
            internal_query,
            context,
        }))
    }
}
