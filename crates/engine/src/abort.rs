//! Why and where a client was aborted, as data. `Display` is the message of `pgmeter bench`; the drop-in has its own.
//! Created by the client state machine and by the worker.

use std::fmt;

use connect::Address;
use script::{CaptureKind, EvaluationError};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;
use wire::frontend::MessageError;
use wire::{ProtocolError, ServerError};

/// Maximum number of repetitions in one pipeline: its commands are kept in memory until the server has read them.
pub(crate) const PIPELINE_REPETITIONS_MAX: u32 = 100_000;

/// An aborted client.
#[derive(Clone, Debug, PartialEq)]
pub struct AbortedClient {
    /// Number of the client, from 0.
    pub client: usize,
    /// The command that caused it; `None` between transactions or if no command did.
    pub place: Option<CommandPosition>,
    /// The cause.
    pub cause: AbortCause,
}

impl From<MessageError> for AbortCause {
    fn from(error: MessageError) -> AbortCause {
        AbortCause::StatementTooLong(error)
    }
}

/// A command of a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandPosition {
    /// Index of the script, from 0.
    pub script: usize,
    /// Name of the script in messages.
    pub script_name: Box<str>,
    /// Index of the command, from 0.
    pub command: usize,
    /// Name of the command in messages: `SQL`, or a meta command as typed; `gset` or `aset` if that caused the error.
    pub name: Box<str>,
    /// Index of the statement in the command, from 0; `\;` joins several. Always 0 within a pipeline.
    pub query: u32,
    /// The transaction was being rolled back after an error.
    pub rolling_back: bool,
}

/// Why a client was aborted.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum AbortCause {
    /// The server rejected a command. Errors of a pipeline have its `\endpipeline` as their place.
    #[error("{error}")]
    Sql {
        /// The server's error.
        error: Box<ServerError>,
        /// The statement's text, if known.
        statement: Option<Box<[u8]>>,
    },
    /// The server rejected the `ROLLBACK` after an error.
    #[error("ROLLBACK failed: {0}")]
    Rollback(Box<ServerError>),
    /// The connection was lost.
    #[error("{}", Lost { last_word: last_word.as_deref(), error: error.as_deref() })]
    ConnectionLost {
        /// The server's last error.
        last_word: Option<Box<ServerError>>,
        /// The system's error.
        error: Option<Box<str>>,
    },
    /// Invalid bytes.
    #[error("the server violated PostgreSQL's protocol: {0}")]
    Protocol(ProtocolError),
    /// Replies and commands no longer correspond.
    #[error("the server sent a response without a request")]
    Unasked,
    /// A script executed COPY in pgbench's compatibility, or started a replication stream.
    #[error("COPY is not supported in a script")]
    Copy,
    /// The server waits for rows, and the script has none.
    #[error("COPY … FROM STDIN needs rows; write \\copy_rows or \\copy_file below it")]
    CopyWithoutRows,
    /// COPY within a pipeline.
    #[error("COPY is not allowed in pipeline mode")]
    CopyInPipeline,
    /// `\copy_rows` with another number of columns than the COPY.
    #[error("\\copy_rows has {}, but the COPY needs {columns}", values_of(*values))]
    CopyColumns {
        /// Columns of the COPY.
        columns: u16,
        /// Values of `\copy_rows`.
        values: usize,
    },
    /// `\copy_rows` with a binary COPY.
    #[error(
        "\\copy_rows writes the text format, but the COPY is binary; remove FORMAT binary, or use \\copy_file"
    )]
    CopyIsBinary,
    /// A statement with the values of its variables, or the data of its COPY, exceeds a limit of the protocol.
    #[error("the command cannot be sent with the values of its variables: {0}")]
    StatementTooLong(MessageError),
    /// A meta command could not be evaluated, or its shell command returned no value.
    #[error("{0}")]
    Evaluation(EvaluationError),
    /// A shell command could not be run or, with `\shell`, its exit status was not 0.
    #[error("shell command \"{command}\" failed: {reason}")]
    Shell {
        /// Its first word.
        command: Box<str>,
        /// The error.
        reason: Box<str>,
    },
    /// `\gset` with a number of rows other than 1.
    #[error("\\gset: expected one row, got {rows}")]
    RowCount {
        /// Rows of the last result; 0 if it was a command without rows.
        rows: u64,
    },
    /// `\gset` or `\aset` with a column whose name, with the prefix, is not a valid variable name.
    #[error("\\{}: invalid variable name: \"{name}\"", capture_name(*kind))]
    VariableName {
        /// `gset` or `aset`.
        kind: CaptureKind,
        /// Prefix and name of the column.
        name: Box<str>,
    },
    /// `\startpipeline` with the simple protocol.
    #[error("pipelines require the extended or prepared protocol (-M)")]
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
    /// A loop sends too many commands in one pipeline.
    #[error(
        "\\repeat exceeds {PIPELINE_REPETITIONS_MAX} repetitions in one pipeline; end the pipeline within the loop"
    )]
    PipelineTooLong,
    /// The script ended within a pipeline.
    #[error("end of script reached with pipeline open")]
    UnfinishedPipeline,
    /// It could not connect for its next transaction.
    #[error("it could not connect to {address}: {reason}")]
    Connecting {
        /// Address of the server.
        address: Address,
        /// The error.
        reason: Box<str>,
    },
    /// The system refused its worker a required resource.
    #[error("the load generator cannot wait for its sockets: {0}")]
    System(Box<str>),
    /// The journal of commits cannot be written.
    #[error("the journal cannot be written: {0}; free some space, or choose another place with --store")]
    Journal(Box<str>),
    /// A bug in pgmeter ended its worker.
    #[error(
        "worker {worker} of the load generator failed because of a bug in pgmeter, please report it: {reason}"
    )]
    WorkerLost {
        /// Number of the worker, from 0.
        worker: usize,
        /// Message of the panic.
        reason: Box<str>,
    },
    /// The cause of a client of another rank, as text.
    #[error("{0}")]
    OnOtherRank(Box<str>),
    /// The script ended within a transaction block.
    #[error("end of script reached without completing the last transaction")]
    UnfinishedTransaction,
}

impl AbortCause {
    /// The server's last error, if the connection was lost.
    pub(crate) fn last_word(&self) -> Option<&ServerError> {
        match self {
            Self::ConnectionLost { last_word, .. } => last_word.as_deref(),
            _ => None,
        }
    }

    /// Whether the server sent an invalid transaction status.
    pub fn is_unknown_status(&self) -> bool {
        matches!(self, Self::Protocol(ProtocolError::Malformed { message: "ReadyForQuery" }))
    }

    /// Whether a command caused it, whatever the client was doing.
    pub(crate) fn is_of_a_command(&self) -> bool {
        match self {
            Self::Sql { .. }
            | Self::Rollback(_)
            | Self::Copy
            | Self::CopyWithoutRows
            | Self::CopyInPipeline
            | Self::CopyColumns { .. }
            | Self::CopyIsBinary
            | Self::StatementTooLong(_)
            | Self::Evaluation(_)
            | Self::Shell { .. }
            | Self::RowCount { .. }
            | Self::VariableName { .. }
            | Self::PipelineInSimpleProtocol
            | Self::PipelineInPipeline
            | Self::NoPipeline
            | Self::PipelineTooLong
            | Self::CaptureInPipeline(_) => true,
            Self::ConnectionLost { .. }
            | Self::Protocol(_)
            | Self::Unasked
            | Self::Connecting { .. }
            | Self::System(_)
            | Self::Journal(_)
            | Self::WorkerLost { .. }
            | Self::OnOtherRank(_)
            | Self::UnfinishedPipeline
            | Self::UnfinishedTransaction => false,
        }
    }
}

/// An aborted client as another process sees it.
#[derive(Serialize, Deserialize)]
struct EncodedAbort {
    client: usize,
    place: Option<CommandPosition>,
    cause: String,
}

impl Serialize for AbortedClient {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { client, place, cause } = self;
        EncodedAbort { client: *client, place: place.clone(), cause: cause.to_string() }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for AbortedClient {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let EncodedAbort { client, place, cause } = EncodedAbort::deserialize(deserializer)?;
        Ok(Self { client, place, cause: AbortCause::OnOtherRank(cause.into()) })
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

/// A number of values, in words.
fn values_of(values: usize) -> String {
    if values == 1 { "1 value".to_owned() } else { format!("{values} values") }
}

/// Name of the meta command.
pub(crate) fn capture_name(kind: CaptureKind) -> &'static str {
    match kind {
        CaptureKind::Gset => "gset",
        CaptureKind::Aset => "aset",
    }
}

/// The cause of a lost connection: the server's message, otherwise the system's error.
struct Lost<'a> {
    last_word: Option<&'a ServerError>,
    error: Option<&'a str>,
}

impl fmt::Display for Lost<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.last_word, self.error) {
            (Some(error), _) => write!(f, "the server closed the connection: {error}"),
            (None, Some(error)) => write!(f, "the connection to the server was lost: {error}"),
            (None, None) => {
                f.write_str("the server closed the connection unexpectedly; see the server's log")
            }
        }
    }
}
