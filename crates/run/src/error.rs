//! Errors before and during a run. A run that was measured but is incomplete is not an error: its record contains the
//! reason.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use connect::{ConnectError, SqlState};
use engine::EngineError;
use ranks::RanksError;
use results::{LoadStop, ResultsError};
use script::{ParseError, StatementsError};
use server::ServerError;
use thiserror::Error;
use verify::VerifyError;
use workload::{DataError, WorkloadError};

/// A run without a result. The message is complete and meant for the user.
#[derive(Debug, Error)]
pub enum RunError {
    /// The specification is contradictory, or names something that does not exist.
    #[error("{0}")]
    Usage(String),
    /// A script cannot be parsed.
    #[error("{0}")]
    Script(ParseError),
    /// A statement of a script fails on this server.
    #[error("{0}")]
    Statement(StatementError),
    /// A connection or one of pgmeter's own statements failed.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A server managed by pgmeter failed.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The tables are missing or cannot be loaded.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A system call failed.
    #[error("cannot {what}: {error}")]
    System {
        /// Verb and object, such as `start a thread`.
        what: String,
        /// The system's error.
        error: std::io::Error,
    },
    /// A record or the store cannot be read or written.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The run was measured and its record is saved, but the store has no row for it.
    #[error(
        "the record {} was saved, but the run was not added to the store: {error}; import it later with `pgmeter runs import {}`",
        record.display(),
        record.display()
    )]
    NotStored {
        /// Path of the record.
        record: PathBuf,
        /// The store's error.
        error: ResultsError,
    },
    /// The result was shown, and could not be stored.
    #[error("the result was not stored: {error}; {copy}")]
    ResultNotStored {
        /// Where a copy is, as a clause.
        copy: String,
        /// Why.
        error: Box<RunError>,
    },
    /// The work is incomplete and can be continued.
    #[error("{0}")]
    Unfinished(String),
    /// The work is complete, and a goal was missed: which.
    #[error("a goal was missed: {0}")]
    GoalMissed(String),
    /// The work is complete, no goal was missed, and one is undecided: which.
    #[error("a goal is undecided: {0}")]
    GoalUndecided(String),
    /// The run was not verified.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// The server lost transactions that it had acknowledged.
    #[error(
        "the server lost {lost} of {acknowledged} acknowledged commits; the verification in the report has examples"
    )]
    WorkLost {
        /// Lost commits.
        lost: u64,
        /// Acknowledged commits.
        acknowledged: u64,
    },
    /// A watched condition ended the load.
    #[error("{0}")]
    Stopped(String),
    /// The work was stopped before its end.
    #[error("{0}")]
    Aborted(String),
    /// The user asked to stop.
    #[error("{0}")]
    Interrupted(Cow<'static, str>),
}

/// A statement that fails on this server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementError {
    /// The code.
    pub sqlstate: SqlState,
    /// Place, reason and remedy.
    pub(crate) message: String,
}

impl StatementError {
    /// With more about the remedy.
    #[must_use]
    pub fn with_advice(self, advice: &str) -> Self {
        Self { message: self.message + advice, ..self }
    }
}

impl fmt::Display for StatementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<DataError> for RunError {
    fn from(error: DataError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl RunError {
    /// An error of loading with what to do about it.
    #[must_use]
    pub fn with_advice(self) -> Self {
        match self {
            Self::Workload(error) => Self::Workload(error.with_advice()),
            other => other,
        }
    }
}

impl From<&LoadStop> for RunError {
    fn from(stop: &LoadStop) -> Self {
        Self::Stopped(stop.to_string())
    }
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
    /// A result that could not be stored; its documents are copied to another place.
    #[must_use]
    pub fn not_stored(error: RunError, documents: impl IntoIterator<Item = String>) -> Self {
        let documents: Vec<String> = documents.into_iter().collect();
        let json = if let [one] = &*documents { one.clone() } else { format!("[{}]", documents.join(",")) };
        let copy = match results::write_copy(&json) {
            Some(path) => format!("a copy as JSON is in {}", path.display()),
            None => "no copy could be written either, so keep what is shown".to_owned(),
        };
        Self::ResultNotStored { copy, error: Box::new(error) }
    }

    /// The process manager of the ranks is not usable.
    pub(crate) fn ranks(error: RanksError) -> Self {
        Self::Usage(error.to_string())
    }

    /// Whether the user asked to stop.
    pub fn is_interruption(&self) -> bool {
        matches!(
            self,
            Self::Interrupted(_)
                | Self::Engine(EngineError::InterruptedBeforeStart)
                | Self::Server(ServerError::Interrupted)
                | Self::Verify(VerifyError::Interrupted { .. })
                | Self::Workload(
                    WorkloadError::Interrupted { .. }
                        | WorkloadError::InterruptedTables { .. }
                        | WorkloadError::InterruptedForGood { .. }
                )
        )
    }
}
