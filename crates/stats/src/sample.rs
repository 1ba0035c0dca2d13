//! The result of one transaction, however it ended.
//! The engine makes it, the recorder counts it, and it is not kept.

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// One transaction: three times, the number of tries, and its ending.
///
/// `scheduled ≤ started ≤ finished` always; the recorder asserts it. Without a rate `scheduled` equals `started`. A
/// skipped transaction was started and finished at the moment of the decision.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Index of its script in the plan.
    pub script: usize,
    /// Scheduled start; response time counts from here.
    pub scheduled: Timestamp,
    /// Actual start; service time counts from here.
    pub started: Timestamp,
    /// Time of its last reply.
    pub finished: Timestamp,
    /// Number of tries: 1 without retries, 0 for a skipped one.
    pub tries: u32,
    /// Business transactions it represents: 1, unless its script has a `\batch`.
    pub business: u64,
    /// Its ending.
    pub ending: Ending,
    /// What it exchanged with the server.
    pub traffic: Traffic,
}

/// What transactions exchanged with the server.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Number of times that the client waited for replies; a pipeline counts once.
    pub round_trips: u64,
    /// Bytes of PostgreSQL's protocol that the client sent, before TLS encrypts them.
    pub sent_bytes: u64,
    /// Bytes of PostgreSQL's protocol that the client received, after TLS has decrypted them.
    pub received_bytes: u64,
}

impl Traffic {
    /// Adds `more`.
    #[inline]
    pub fn add(&mut self, more: &Traffic) {
        let Traffic { round_trips, sent_bytes, received_bytes } = *more;
        self.round_trips = self.round_trips.saturating_add(round_trips);
        self.sent_bytes = self.sent_bytes.saturating_add(sent_bytes);
        self.received_bytes = self.received_bytes.saturating_add(received_bytes);
    }
}

/// The ending of a transaction.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The script was completed.
    Succeeded,
    /// An error ended it, after all its tries.
    Failed(Failure),
    /// It was already later than the latency limit when it was due, so it was not run.
    Skipped,
    /// The run ended while it was running.
    Unfinished,
    /// The connection was lost after its COMMIT was sent: the server may have applied it or not.
    Unknown,
}

/// The kind of error that ended a transaction.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// SQLSTATE 40001.
    Serialization,
    /// SQLSTATE 40P01.
    Deadlock,
    /// The connection was lost before its COMMIT was sent, or could not be made: nothing of it was applied.
    Connection,
    /// Any other error of an SQL command.
    Other,
}
