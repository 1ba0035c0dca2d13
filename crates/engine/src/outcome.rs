//! The result of a run, as plain data.
//! The caller turns it into a record.

use std::cell::Cell;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use stats::{CommandTable, Gaps, Interval, Outages, ScriptStats, Summary, WorkerHealth};

use crate::abort::AbortedClient;
use crate::driver::EventLoop;
use crate::errors::ErrorTable;
use crate::renewals::SessionRenewals;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// At the plan's limit, or when the observer ended it.
    Complete,
    /// With cancelled transactions.
    CutOff(CutOff),
    /// The user asked to stop.
    Interrupted,
    /// Every client was aborted before the limit.
    AllClientsAborted,
    /// A client was aborted, and the plan ends the run in this case.
    AbortedOnError {
        /// Number of that client's worker, from 0; of several ranks, the workers are numbered in the order of the ranks.
        worker: usize,
    },
}

/// Clients whose transactions did not end in time. These were cancelled, and count as unfinished with their time so
/// far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutOff {
    /// Number of these clients.
    pub clients: usize,
    /// Number of all clients.
    pub of: usize,
    /// The exceeded limit.
    pub exceeded: Exceeded,
}

/// The limit that cancelled transactions exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exceeded {
    /// The grace period after the end of the run.
    Grace(Duration),
    /// The maximum time without an ended transaction.
    Silence(Duration),
    /// The maximum time of the whole run, including the warm-up.
    Deadline(Duration),
}

impl fmt::Display for CutOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { clients, of, exceeded } = self;
        match exceeded {
            Exceeded::Grace(grace) => write!(
                f,
                "transactions of {clients} of {of} clients were still running {} s after the end of the run: they were \
                 cancelled, and count as unfinished",
                grace.as_secs_f64()
            ),
            Exceeded::Silence(silence) => write!(
                f,
                "no transaction had ended for {} s: those of {clients} of {of} clients were cancelled, and count as \
                 unfinished",
                silence.as_secs_f64()
            ),
            Exceeded::Deadline(deadline) => write!(
                f,
                "the run was not over after {} s: transactions of {clients} of {of} clients were cancelled, and count as \
                 unfinished",
                deadline.as_secs_f64()
            ),
        }
    }
}

/// Connection times of the measured transactions, over all clients. The warm-up is excluded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reconnects {
    /// Number of connections.
    pub count: u64,
    /// Total time of connecting and closing.
    pub time: Duration,
}

impl Reconnects {
    /// Adds the counts of another worker or rank.
    pub(crate) fn and(self, more: Self) -> Self {
        let Self { count, time } = more;
        Self { count: self.count.saturating_add(count), time: self.time.saturating_add(time) }
    }
}

/// Results of a run.
#[derive(Debug)]
pub struct Outcome {
    /// How the run ended.
    pub end: End,
    /// Statistics of the whole measured window.
    pub summary: Summary,
    /// Periods of the window in which nothing was completed.
    pub gaps: Gaps,
    /// Time from the first connect until all clients were connected; of several ranks, the longest.
    pub connect_time: Duration,
    /// Time from the start of the first transaction to the end of the last, including the warm-up.
    pub elapsed: Duration,
    /// Connections of the measured transactions, one for each; none unless the plan reconnects.
    pub reconnects: Reconnects,
    /// Lost connections and the attempts to replace them; `None` unless the plan reconnects.
    pub outages: Option<Outages>,
    /// Sessions that ended and were made anew; `None` unless the plan has a population.
    pub renewals: Option<SessionRenewals>,
    /// Statistics of single commands in the measured window.
    pub commands: CommandTable,
    /// Errors of the measured transactions, and those that aborted a client. The failures add up to those of the summary.
    pub errors: ErrorTable,
    /// Number of transactions that were run but not measured, because they were scheduled during the warm-up.
    pub warmup_transactions: u64,
    /// CPU time, user and system, of the workers' threads during the measured window, without waiting actively for
    /// scheduled times; of several ranks, the sum.
    pub client_cpu: Duration,
    /// Statistics of each worker's loop during the measured window, by worker number. Of several ranks, the workers are
    /// numbered in the order of the ranks.
    pub health: Vec<WorkerHealth>,
    /// Aborted clients by number.
    pub aborted: Vec<AbortedClient>,
    /// Number of sessions whose server did not accept the cancel request at the end; their statements may still run.
    pub uncancelled: usize,
    /// Number of workers that were started.
    pub workers: usize,
    /// How the workers waited for their sockets.
    pub event_loop: EventLoop,
    /// The automatic variable `:default_seed` of this run.
    pub default_seed: i64,
    /// Each rank of a distributed run, in order; empty for a process alone.
    pub ranks: Vec<RankFigures>,
}

/// The figures of one rank of a distributed run: one load generator.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RankFigures {
    /// Its number.
    pub rank: usize,
    /// Number of its clients.
    pub clients: usize,
    /// Number of its workers.
    pub workers: usize,
    /// Its measured transactions.
    pub total: ScriptStats,
    /// CPU time, user and system, of its workers' threads during the measured window.
    pub client_cpu: Duration,
    /// Statistics of each worker's loop during the measured window, by the worker's number within the rank.
    pub health: Vec<WorkerHealth>,
    /// Statistics of single commands in the measured window.
    pub commands: CommandTable,
    /// Connections of its measured transactions, one for each; none unless the plan reconnects.
    pub reconnects: Reconnects,
    /// How its workers waited for their sockets.
    pub event_loop: EventLoop,
    /// Time from the first connect until all its clients were connected.
    pub connect_time: Duration,
}

/// What an observer receives each second. The outcome has only the sum, so the observer must store the seconds if
/// they are needed.
#[derive(Debug)]
pub struct Progress<'a> {
    /// The statistics of the second, merged over workers.
    pub interval: &'a Interval,
    /// It belongs to the warm-up and is not measured.
    pub warmup: bool,
    /// Set by an observer to end the run at the end of the next interval; in a distributed run
    /// [`DISTRIBUTED_LEAD`](crate::DISTRIBUTED_LEAD) later. Only rank 0 reads it.
    pub enough: &'a Cell<bool>,
    /// Time from the start of the first transaction to the end of the interval; in pgbench's compatibility from
    /// before connecting.
    pub elapsed: Duration,
}
