//! What is shown single transactions while a run goes on: logs, messages about errors.
//!
//! A tracer is called at once, on the worker's own thread; it decides nothing about the run. What is measured is
//! the same whether somebody looks or not.

use std::time::Duration;

use script::{Command, Random};
use stats::{Sample, Timestamp};
use wire::ServerError;

use crate::abort::AbortedClient;

/// Sees what one worker's clients do. Every method has a body that does nothing.
pub trait Tracer: Send {
    /// Whether [`Tracer::transaction`] is to be called; asked once, when the run begins.
    fn wants_transactions(&self) -> bool {
        true
    }

    /// Whether each step of each client is to be told ([`ClientEvent::Stepped`]); asked once, when the run begins.
    fn wants_steps(&self) -> bool {
        false
    }

    /// A transaction is over: it succeeded, failed or was skipped, in the warm-up too. The unfinished ones are not
    /// shown.
    fn transaction(&mut self, _ended: &EndedTransaction<'_>) {}

    /// Something that is not the end of a transaction, or not only.
    fn on_event(&mut self, _event: &ClientEvent<'_>) {}

    /// The worker is done; nothing more will be shown.
    fn end(&mut self, _now: Timestamp) {}
}

/// A transaction that is over.
#[derive(Clone, Copy, Debug)]
pub struct EndedTransaction<'a> {
    /// Whose it was, from 0 over all workers.
    pub client: usize,
    /// Sequence number within the client, from 1; counts every outcome, warm-up included.
    pub number: u64,
    /// What it left behind.
    pub sample: &'a Sample,
}

/// An event of a client that is worth a message.
#[derive(Clone, Copy, Debug)]
pub enum ClientEvent<'a> {
    /// It makes a connection for its next transaction ([`Plan::reconnect`](crate::Plan::reconnect)). Those before the
    /// run are made when there is no tracer yet.
    Connects {
        /// Which client.
        client: usize,
    },
    /// It cannot go on.
    Aborted(&'a AbortedClient),
    /// An SQL command got an error after which the client goes on.
    Failed {
        /// Which client.
        client: usize,
        /// The script, by its index in the plan.
        script: usize,
        /// The command, by its index in the script.
        command: usize,
        /// What the server said.
        error: &'a ServerError,
        /// The text that it was sent, if it is known which it was.
        statement: Option<&'a [u8]>,
    },
    /// A statement could not be parsed ahead of its execution, which is tried nonetheless
    /// ([`Compatibility::Pgbench`](crate::Compatibility::Pgbench) only).
    Unprepared {
        /// Which client.
        client: usize,
        /// What the server said.
        error: &'a ServerError,
        /// The text that it was sent.
        statement: &'a [u8],
    },
    /// After such an error the transaction is tried again.
    Retried {
        /// Which client.
        client: usize,
        /// Tries that have failed so far.
        tries: u32,
        /// Time since the transaction was scheduled.
        elapsed: Duration,
    },
    /// After such an error the transaction is given up, and counted as failed.
    GaveUp {
        /// Which client.
        client: usize,
        /// Tries that were made.
        tries: u32,
        /// Time since the transaction was scheduled.
        elapsed: Duration,
    },
    /// A script called `debug()`.
    Debugged {
        /// Which client.
        client: usize,
        /// The script, by its index in the plan.
        script: usize,
        /// The command, by its index in the script.
        command: usize,
        /// The value, as text.
        value: &'a str,
    },
    /// A client takes a step; told only to who wants it.
    Stepped {
        /// Which client.
        client: usize,
        /// What it does.
        what: ClientStep<'a>,
    },
    /// The server said something that is no answer.
    Notice {
        /// Which client.
        client: usize,
        /// What it said.
        notice: &'a ServerError,
    },
}

/// One step of a client, as pgbench's debug messages show them.
#[derive(Clone, Copy, Debug)]
pub enum ClientStep<'a> {
    /// It begins a transaction.
    Begins {
        /// The script's name.
        script: &'a str,
    },
    /// It executes a meta command.
    Executes(&'a Command),
    /// It asks the server to parse a statement.
    Prepares {
        /// The statement's name.
        name: &'a str,
    },
    /// It sends a statement.
    Sends {
        /// The statement's text, or its name if it is prepared.
        statement: &'a [u8],
    },
    /// It looks for the server's answer.
    Receives,
    /// One Sync of its pipeline has been answered.
    Synchronized {
        /// Syncs that had not been answered before this one was.
        left: u32,
    },
}

/// Nobody looks.
impl Tracer for () {
    fn wants_transactions(&self) -> bool {
        false
    }
}

/// The worker whose events a tracer will get.
#[derive(Clone, Debug)]
pub struct WorkerIntro {
    /// Which one, from 0.
    pub number: usize,
    /// Its clients' numbers.
    pub clients: std::ops::Range<usize>,
    /// The worker's third random stream, for drawing which transactions a log keeps.
    pub sampler: Random,
    /// When the first transactions start: just now.
    pub start: Timestamp,
}

/// For runs that nobody wants to look at closely.
pub fn no_tracer(_: WorkerIntro) -> Box<dyn Tracer> {
    Box::new(())
}
