//! All that a run returns, as plain data.
//! Turned into a record by whoever asked for the run.

use std::time::Duration;

use stats::{Interval, Summary};

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// At the plan's limit.
    Complete,
    /// Because the user asked to stop.
    Interrupted,
    /// Because every client was aborted before the limit.
    AllClientsAborted,
}

/// A client that could not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbortedClient {
    /// Which one, from 0.
    pub client: usize,
    /// The whole sentence: where in which script, and what happened.
    pub reason: String,
}

/// What a run measured.
#[derive(Debug)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// Statistics of the whole measured window.
    pub summary: Summary,
    /// From the first connect until all clients were connected.
    pub connect_time: Duration,
    /// Transactions run but not measured, because they were scheduled during the warm-up.
    pub warmup_transactions: u64,
    /// CPU time, user and system, of this whole process during the measured window.
    pub client_cpu: Duration,
    /// Clients that could not go on, in the order of their numbers.
    pub aborted: Vec<AbortedClient>,
    /// Workers that were really started.
    pub workers: usize,
    /// The automatic variable `:default_seed` of this run.
    pub default_seed: i64,
}

/// What an observer is told each second while the run goes on. Whoever wants to keep the seconds keeps
/// them here: the outcome has only their sum.
#[derive(Debug)]
pub struct Progress<'a> {
    /// The second that has passed, merged over workers.
    pub interval: &'a Interval,
    /// It belongs to the warm-up and is not measured.
    pub warmup: bool,
    /// From the start of the first transaction to the end of the interval.
    pub elapsed: Duration,
}
