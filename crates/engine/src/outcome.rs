//! All that a run returns, as plain data.
//! Turned into a record by whoever asked for the run.

use std::cell::Cell;
use std::fmt;
use std::time::Duration;

use stats::{CommandTable, Gaps, Interval, Summary, WorkerHealth};

use crate::abort::AbortedClient;
use crate::driver::EventLoop;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// At the plan's limit, or where the observer knew enough.
    Complete,
    /// With clients that had to be cut off.
    CutOff(CutOff),
    /// Because the user asked to stop.
    Interrupted,
    /// Because every client was aborted before the limit.
    AllClientsAborted,
    /// Because a client was aborted, which the plan wants to end the run.
    AbortedOnError {
        /// The worker of that client, from 0.
        worker: usize,
    },
}

/// Clients whose transactions did not end in time: these were cancelled, and count as unfinished with the time that
/// they had run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutOff {
    /// How many clients.
    pub clients: usize,
    /// Of so many.
    pub of: usize,
    /// What they had exceeded.
    pub exceeded: Exceeded,
}

/// What transactions have exceeded that were cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exceeded {
    /// The grace period after the end of the run.
    Grace(Duration),
    /// The time for which no transaction may have ended.
    Silence(Duration),
    /// The time of the whole run, its warm-up included.
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

/// What connecting for each measured transaction took, over all clients. Transactions of the warm-up and their
/// connections are not in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reconnects {
    /// How many connections were made.
    pub count: u64,
    /// The time it took to make and to close them, all together.
    pub time: Duration,
}

impl Reconnects {
    /// These and more.
    pub(crate) fn and(self, more: Self) -> Self {
        let Self { count, time } = more;
        Self { count: self.count + count, time: self.time + time }
    }
}

/// What a run measured.
#[derive(Debug)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// Statistics of the whole measured window.
    pub summary: Summary,
    /// Where nothing was completed in it.
    pub gaps: Gaps,
    /// From the first connect until all clients were connected.
    pub connect_time: Duration,
    /// From the start of the first transaction to the end of the last, the warm-up included.
    pub elapsed: Duration,
    /// Connections of the measured transactions, one for each; none unless the plan wants that.
    pub reconnects: Reconnects,
    /// What the single commands took, in the measured window.
    pub commands: CommandTable,
    /// Transactions run but not measured, because they were scheduled during the warm-up.
    pub warmup_transactions: u64,
    /// CPU time, user and system, of this whole process during the measured window.
    pub client_cpu: Duration,
    /// How each worker's own loop fared during the measured window, by the workers' numbers.
    pub health: Vec<WorkerHealth>,
    /// Clients that could not go on, in the order of their numbers.
    pub aborted: Vec<AbortedClient>,
    /// Sessions whose statement was running at the end and whose server took no request to cancel it: it may run on.
    pub uncancelled: usize,
    /// Workers that were really started.
    pub workers: usize,
    /// How they waited for their sockets.
    pub event_loop: EventLoop,
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
    /// Set by an observer who knows enough: the run is complete at the end of the next interval, whatever its limit.
    pub enough: &'a Cell<bool>,
    /// From the start of the first transaction to the end of the interval; compatible with pgbench, from before
    /// connecting.
    pub elapsed: Duration,
}
