//! Why a client could not go on, and where: data, for whoever shows it in words of their own.
//! `Display` is the sentence of `pgmeter bench`. Made by the client state machine and by the worker.

use std::fmt;

use connect::Address;
use script::{CaptureKind, EvaluationError};
use thiserror::Error;
use wire::frontend::MessageTooLong;
use wire::{ProtocolError, ServerError};

/// A client that could not go on.
#[derive(Clone, Debug, PartialEq)]
pub struct AbortedClient {
    /// Which one, from 0.
    pub client: usize,
    /// The command that it was at; `None` between transactions and where no command is to blame.
    pub place: Option<CommandPosition>,
    /// What happened.
    pub cause: AbortCause,
}

impl From<MessageTooLong> for AbortCause {
    fn from(error: MessageTooLong) -> AbortCause {
        AbortCause::StatementTooLong(error)
    }
}

/// A command of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandPosition {
    /// The script, from 0.
    pub script: usize,
    /// As messages call the script.
    pub script_name: Box<str>,
    /// The command, from 0.
    pub command: usize,
    /// As messages call the command: `SQL`, or a meta command as typed; `gset` or `aset` where that is to blame.
    pub name: Box<str>,
    /// Which statement of the command, from 0; several travel in one where `\;` joins them. Within a pipeline
    /// always 0.
    pub query: u32,
    /// The transaction was being rolled back after an error.
    pub rolling_back: bool,
}

/// What ended a client.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum AbortCause {
    /// The server refused a command. The errors of a pipeline have its `\endpipeline` as their place.
    #[error("{error}")]
    Sql {
        /// In its words.
        error: Box<ServerError>,
        /// The text that it was sent, if it is known which it was.
        statement: Option<Box<[u8]>>,
    },
    /// The server refused the `ROLLBACK` after an error.
    #[error("ROLLBACK failed: {0}")]
    Rollback(Box<ServerError>),
    /// The connection is gone.
    #[error("{}", Lost { last_word: last_word.as_deref(), error: error.as_deref() })]
    ConnectionLost {
        /// What the server said before.
        last_word: Option<Box<ServerError>>,
        /// What the system says about it.
        error: Option<Box<str>>,
    },
    /// Bytes that mean nothing.
    #[error("the server sent something that is not PostgreSQL's protocol: {0}")]
    Protocol(ProtocolError),
    /// Answers and commands no longer correspond.
    #[error("the server answered a question that nobody asked")]
    Unasked,
    /// A script wants to COPY.
    #[error("COPY is not supported in a script")]
    Copy,
    /// A statement, with its variables' values, does not fit into a message of the protocol.
    #[error("the statement with the values of its variables is too long: {0}")]
    StatementTooLong(MessageTooLong),
    /// A meta command could not be evaluated, or its command of the shell gave no value.
    #[error("{0}")]
    Evaluation(EvaluationError),
    /// A command of the shell could not be run or, with `\shell`, ended with another status than 0.
    #[error("shell command \"{command}\" failed: {reason}")]
    Shell {
        /// Its first word.
        command: Box<str>,
        /// What happened.
        reason: Box<str>,
    },
    /// `\gset` of another number of rows.
    #[error("\\gset: expected one row, got {rows}")]
    RowCount {
        /// The rows of the last result; 0 if it was none that has rows.
        rows: u64,
    },
    /// `\gset` or `\aset` of a column whose name, with the prefix, no variable may have.
    #[error("\\{}: invalid variable name: \"{name}\"", capture_name(*kind))]
    VariableName {
        /// Which of the two.
        kind: CaptureKind,
        /// Prefix and name of the column.
        name: Box<str>,
    },
    /// `\startpipeline` with the simple protocol.
    #[error("pipelines need the extended or the prepared protocol (-M)")]
    PipelineInSimpleProtocol,
    /// `\startpipeline` within a pipeline.
    #[error("already in pipeline mode")]
    PipelineInPipeline,
    /// `\syncpipeline` or `\endpipeline` outside of a pipeline.
    #[error("not in pipeline mode")]
    NoPipeline,
    /// `\gset` or `\aset` within a pipeline.
    #[error("\\{} is not allowed in pipeline mode", capture_name(*.0))]
    CaptureInPipeline(CaptureKind),
    /// The script is over, its pipeline is not.
    #[error("end of script reached with pipeline open")]
    UnfinishedPipeline,
    /// It did not get in for its next transaction.
    #[error("it could not connect to {address}: {reason}")]
    Connecting {
        /// Where to.
        address: Address,
        /// Why not.
        reason: Box<str>,
    },
    /// The system refused its worker something that it cannot do without.
    #[error("the load generator cannot wait for its sockets: {0}")]
    System(Box<str>),
    /// A defect of pgmeter ended its worker.
    #[error("worker {worker} of the load generator ended by a defect of pgmeter, please report it: {reason}")]
    WorkerLost {
        /// Which one, from 0.
        worker: usize,
        /// What its panic said.
        reason: Box<str>,
    },
    /// The script is over, its transaction block is not.
    #[error("end of script reached without completing the last transaction")]
    UnfinishedTransaction,
}

impl AbortCause {
    /// Whether the server named a status of the transaction that there is none of.
    pub fn is_unknown_status(&self) -> bool {
        matches!(self, Self::Protocol(ProtocolError::Malformed { message: "ReadyForQuery" }))
    }

    /// Whether it is a command that is to blame, whatever the client was doing.
    pub(crate) fn is_of_a_command(&self) -> bool {
        match self {
            Self::Sql { .. }
            | Self::Rollback(_)
            | Self::Copy
            | Self::StatementTooLong(_)
            | Self::Evaluation(_)
            | Self::Shell { .. }
            | Self::RowCount { .. }
            | Self::VariableName { .. }
            | Self::PipelineInSimpleProtocol
            | Self::PipelineInPipeline
            | Self::NoPipeline
            | Self::CaptureInPipeline(_) => true,
            Self::ConnectionLost { .. }
            | Self::Protocol(_)
            | Self::Unasked
            | Self::Connecting { .. }
            | Self::System(_)
            | Self::WorkerLost { .. }
            | Self::UnfinishedPipeline
            | Self::UnfinishedTransaction => false,
        }
    }
}

impl fmt::Display for AbortedClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { client, place, cause } = self;
        write!(f, "client {client} aborted")?;
        if let Some(CommandPosition { script_name, command, name, .. }) = place {
            write!(f, " in command {command} ({name}) of script {script_name}")?;
        }
        write!(f, ": {cause}")
    }
}

/// The meta command.
pub(crate) fn capture_name(kind: CaptureKind) -> &'static str {
    match kind {
        CaptureKind::Gset => "gset",
        CaptureKind::Aset => "aset",
    }
}

/// Who is to blame for a lost connection: the server, then the system, then nobody known.
struct Lost<'a> {
    last_word: Option<&'a ServerError>,
    error: Option<&'a str>,
}

impl fmt::Display for Lost<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.last_word, self.error) {
            (Some(error), _) => write!(f, "the server closed the connection: {error}"),
            (None, Some(error)) => write!(f, "the connection to the server was lost: {error}"),
            (None, None) => f.write_str("the server closed the connection unexpectedly; its log says why"),
        }
    }
}
