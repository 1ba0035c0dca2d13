//! What one transaction leaves behind when it is over, however it ended.
//! It is not an aggregate and is not kept: the engine makes it, the recorder counts it, and it is gone.

use crate::Timestamp;

/// One transaction: three points of time, how often it was tried, and how it ended.
///
/// `scheduled ≤ started ≤ finished` always; the recorder asserts it. Without a rate `scheduled`
/// equals `started`. A skipped transaction never ran: it was started and finished at the moment of the decision.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Which script of the plan ran, by its index.
    pub script: usize,
    /// When it should have started; response time counts from here.
    pub scheduled: Timestamp,
    /// When it did start; service time counts from here.
    pub started: Timestamp,
    /// When its last answer was there.
    pub finished: Timestamp,
    /// Attempts made, 1 for a transaction that needed no retry, 0 for one that was skipped.
    pub tries: u32,
    /// Business transactions it stands for: 1, unless its script says that it does the work of more.
    pub business: u64,
    /// How it ended.
    pub ending: Ending,
}

/// How a transaction ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The server did all that the script asked.
    Succeeded,
    /// An error ended it, after all its tries.
    Failed(Failure),
    /// It was already later than the latency limit allows when its turn came, so it was not run.
    Skipped,
    /// The run ended while it was still under way.
    Unfinished,
}

/// The kind of error that ended a transaction.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// SQLSTATE 40001.
    Serialization,
    /// SQLSTATE 40P01.
    Deadlock,
    /// Any other error of an SQL command.
    Other,
}
