//! The interface that receives single transactions during a run, for logs and messages about errors.
//!
//! A tracer is called immediately, on the worker's thread, and cannot affect the run or its measurement.

use std::io;
use std::time::Duration;

use script::{Command, Random};
use stats::{Sample, Timestamp};
use wire::{ServerError, SqlState};

use crate::abort::AbortedClient;
use crate::part::ClientNumbers;
use crate::token::Token;

/// Receives the events of one worker's clients. Every method has an empty default.
pub trait Tracer: Send {
    /// Whether [`Tracer::transaction`] should be called; asked once at the start.
    fn wants_transactions(&self) -> bool {
        true
    }

    /// Whether each step of each client should be reported ([`ClientEvent::Stepped`]); asked once at the start.
    fn wants_steps(&self) -> bool {
        false
    }

    /// A transaction succeeded, failed or was skipped, also in the warm-up. Unfinished ones are not reported.
    fn transaction(&mut self, _ended: &EndedTransaction<'_>) {}

    /// Any other event of a client.
    fn on_event(&mut self, _event: &ClientEvent<'_>) {}

    /// A commit with a token is about to be sent, or its outcome is known. Only with [`Plan::tokens`](crate::Plan::tokens).
    fn commit(&mut self, _event: &CommitEvent) {}

    /// The commits that were reported as about to be sent are sent now, all of one pass of the worker's loop.
    ///
    /// # Errors
    /// They could not be noted: they are not sent, and the run ends.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// The worker is done; no more events follow.
    fn end(&mut self, _now: Timestamp) {}
}

/// An ended transaction.
#[derive(Clone, Copy, Debug)]
pub struct EndedTransaction<'a> {
    /// Number of the client, from 0 over all ranks and workers.
    pub client: usize,
    /// Sequence number within the client, from 1; counts every outcome, warm-up included.
    pub number: u64,
    /// Its sample.
    pub sample: &'a Sample,
}

/// An event of a commit with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitEvent {
    /// It will be sent after the next [`Tracer::flush`].
    Sending {
        /// Its token.
        token: Token,
        /// Start of the pass.
        began: Timestamp,
        /// Now.
        now: Timestamp,
    },
    /// Its reply is complete, or will not arrive any more.
    Ended {
        /// Its token.
        token: Token,
        /// Now.
        now: Timestamp,
        /// The outcome.
        reply: CommitReply,
    },
}

/// The outcome of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitReply {
    /// The server confirmed it.
    Acknowledged,
    /// The server confirmed it, and warned that it may not have been replicated.
    Reserved,
    /// The server refused it, or the system refused to send it (08006 unless the server said more).
    Refused(SqlState),
    /// It may have been applied or not: the error that says so, or the last one before the connection was lost.
    Unknown(Option<SqlState>),
}

/// An event of a client.
#[derive(Clone, Copy, Debug)]
pub enum ClientEvent<'a> {
    /// The client connects for its next transaction ([`Plan::reconnect`](crate::Plan::reconnect)). Connections before
    /// the run are made before the tracer exists.
    Connects {
        /// Number of the client.
        client: usize,
    },
    /// The client is aborted.
    Aborted(&'a AbortedClient),
    /// An SQL command failed, and the client continues.
    Failed {
        /// Number of the client.
        client: usize,
        /// Index of the script in the plan.
        script: usize,
        /// Index of the command in the script.
        command: usize,
        /// The server's error.
        error: &'a ServerError,
        /// The statement's text, if known.
        statement: Option<&'a [u8]>,
    },
    /// A statement could not be parsed before its execution, which is tried anyway
    /// ([`Compatibility::Pgbench`](crate::Compatibility::Pgbench) only).
    Unprepared {
        /// Number of the client.
        client: usize,
        /// The server's error.
        error: &'a ServerError,
        /// The statement's text.
        statement: &'a [u8],
    },
    /// The transaction is retried after such an error.
    Retried {
        /// Number of the client.
        client: usize,
        /// Number of failed tries.
        tries: u32,
        /// Time since the transaction was scheduled.
        elapsed: Duration,
    },
    /// The transaction has failed after such an error and is not retried.
    GaveUp {
        /// Number of the client.
        client: usize,
        /// Number of tries.
        tries: u32,
        /// Time since the transaction was scheduled.
        elapsed: Duration,
    },
    /// A script called `debug()`.
    Debugged {
        /// Number of the client.
        client: usize,
        /// Index of the script in the plan.
        script: usize,
        /// Index of the command in the script.
        command: usize,
        /// The value, as text.
        value: &'a str,
    },
    /// A step of a client; reported only on request.
    Stepped {
        /// Number of the client.
        client: usize,
        /// The step.
        what: ClientStep<'a>,
    },
    /// The server sent a notice.
    Notice {
        /// Number of the client.
        client: usize,
        /// The notice.
        notice: &'a ServerError,
    },
}

/// A step of a client, as in pgbench's debug messages.
#[derive(Clone, Copy, Debug)]
pub enum ClientStep<'a> {
    /// It starts a transaction.
    Begins {
        /// The script's name.
        script: &'a str,
    },
    /// It executes a meta command.
    Executes(&'a Command),
    /// It sends a Parse message.
    Prepares {
        /// The statement's name.
        name: &'a str,
    },
    /// It sends a statement.
    Sends {
        /// The statement's text, or its name if it is prepared.
        statement: &'a [u8],
    },
    /// It receives the server's reply.
    Receives,
    /// One Sync of its pipeline was answered.
    Synchronized {
        /// Number of unanswered Syncs before this one.
        left: u32,
    },
}

/// A tracer that ignores everything.
impl Tracer for () {
    fn wants_transactions(&self) -> bool {
        false
    }
}

/// Facts about a tracer's worker.
#[derive(Clone, Debug)]
pub struct WorkerIntro {
    /// Number of the worker within its rank, from 0.
    pub number: usize,
    /// Its clients' numbers in the run.
    pub clients: ClientNumbers,
    /// The worker's third random stream, for selecting the transactions to log.
    pub sampler: Random,
    /// Start of the first transactions: now.
    pub start: Timestamp,
}

/// For runs without a tracer.
pub fn no_tracer(_: WorkerIntro) -> Box<dyn Tracer> {
    Box::new(())
}
