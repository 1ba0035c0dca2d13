//! Errors of commands and their exit statuses.
//! The messages come from the libraries; `main` prints them.

use ::experiment::ExperimentError;
use ::lab::LabError;
use connect::ConnectError;
use engine::EngineError;
use output::SelectionError;
use results::ResultsError;
use run::{ExitStatus, RunError};
use server::ServerError;
use thiserror::Error;
use workload::{DataError, WorkloadError};

/// A command that did not do everything it was asked to. The message is complete and meant for the user.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// The command line is invalid, or requested work was not done.
    #[error("{0}")]
    Usage(String),
    /// A run or its preparation failed.
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// A system call failed.
    #[error("cannot {what}: {error}")]
    System { what: String, error: std::io::Error },
    /// A log file cannot be created.
    #[error("cannot create log file \"{path}\": {reason}; choose another place with --log-prefix")]
    LogFile { path: String, reason: String },
    #[error(transparent)]
    Picture(#[from] report::PngError),
    /// The run was measured, but its results are incomplete, or everything failed.
    #[error("{0}")]
    Aborted(String),
}

impl Failure {
    /// The exit status; `signal` interrupted the program.
    pub(crate) fn exit_status(&self, signal: Option<u8>) -> ExitStatus {
        match self {
            _ if self.is_interruption() => signal.map_or(ExitStatus::INTERRUPTED, ExitStatus::Interrupted),
            Self::Run(error) => error.into(),
            Self::Aborted(_) => ExitStatus::Incomplete,
            Self::Usage(_)
            | Self::Experiment(_)
            | Self::Results(_)
            | Self::System { .. }
            | Self::LogFile { .. }
            | Self::Picture(_) => ExitStatus::NotStarted,
        }
    }

    pub(crate) fn is_interruption(&self) -> bool {
        matches!(self, Self::Run(error) if error.is_interruption())
    }
}

impl From<SelectionError> for Failure {
    fn from(error: SelectionError) -> Self {
        match error {
            SelectionError::Invalid(text) => Self::Usage(text),
            SelectionError::Results(error) => error.into(),
            SelectionError::Experiment(error) => error.into(),
        }
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Run(error) => Self::Run(error),
            LabError::Experiment(error) => Self::Experiment(error),
        }
    }
}

/// Errors of libraries that `run` uses.
macro_rules! through_run_error {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::Run(error.into())
            }
        })*
    };
}

through_run_error!(ConnectError, DataError, EngineError, ServerError, WorkloadError);
