//! Why a run, or what leads to it, came to nothing. A run that was measured and is not whole is no error: its record
//! says so.

use std::path::PathBuf;

use connect::ConnectError;
use engine::EngineError;
use results::ResultsError;
use script::{ParseError, StatementsError};
use server::ServerError;
use thiserror::Error;
use workload::WorkloadError;

/// A run that was not made. The message is the sentence for the user.
#[derive(Debug, Error)]
pub enum RunError {
    /// The specification contradicts itself, or names something that is not there.
    #[error("{0}")]
    Usage(String),
    /// A script cannot be parsed.
    #[error("{0}")]
    Script(ParseError),
    /// No connection, or a statement of pgmeter's own failed.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A server of ours cannot be managed.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The tables are missing or cannot be loaded.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The engine did not run.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The operating system refused something.
    #[error("cannot {what}: {error}")]
    System {
        /// The verb and its object, as in `start a thread`.
        what: String,
        /// Why.
        error: std::io::Error,
    },
    /// A record or the store cannot be read or written.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The run was measured and its record is kept, but the store does not know of it.
    #[error(
        "the record {} is kept, but {error}; then `pgmeter runs import {}` takes it into the store",
        record.display(),
        record.display()
    )]
    NotStored {
        /// Where the record is.
        record: PathBuf,
        /// Why the store cannot be written.
        error: ResultsError,
    },
    /// Not all was done, and it can be continued.
    #[error("{0}")]
    Unfinished(String),
    /// It was stopped, or did not come to its end.
    #[error("{0}")]
    Aborted(String),
    /// The user asked to stop.
    #[error("{0}")]
    Interrupted(&'static str),
}

impl From<StatementsError> for RunError {
    fn from(error: StatementsError) -> Self {
        match error {
            StatementsError::Parse(error) => Self::Script(error),
            StatementsError::MetaCommand { .. } => Self::Usage(error.to_string()),
        }
    }
}

impl RunError {
    /// Whether the user asked to stop.
    #[must_use]
    pub fn is_interruption(&self) -> bool {
        matches!(
            self,
            Self::Interrupted(_)
                | Self::Engine(EngineError::InterruptedBeforeStart)
                | Self::Server(ServerError::Interrupted)
                | Self::Workload(WorkloadError::Interrupted | WorkloadError::InterruptedForGood { .. })
        )
    }
}
