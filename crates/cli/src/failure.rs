//! Errors of commands and their exit statuses.
//! The messages come from the libraries; `main` prints them.

use std::process::ExitCode;

use ::lab::LabError;
use connect::ConnectError;
use engine::EngineError;
use results::ResultsError;
use run::RunError;
use server::ServerError;
use thiserror::Error;
use workload::WorkloadError;

/// Exit status after an interruption without a signal number, as after Ctrl-C.
const INTERRUPTED: u8 = 130;

/// A command that did not do everything it was asked to. The message is complete and meant for the user.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// The command line is invalid, or requested work was not done; exit status 1.
    #[error("{0}")]
    Usage(String),
    /// A run or its preparation failed.
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Lab(LabError),
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
    /// The run was measured, but clients were aborted.
    #[error("{0}")]
    Aborted(String),
    /// The comparison has no result.
    #[error(transparent)]
    NotCompared(Box<Failure>),
    #[error("{0}")]
    Interrupted(&'static str),
}

impl Failure {
    /// Exit status. 1: nothing was measured or stored. 2: measured, but clients were aborted, as in pgbench; or a
    /// comparison without result, where 1 means that B is worse. 3: the time was insufficient. 128 plus the signal
    /// number: interrupted, as in shells.
    pub(crate) fn exit_code(&self, interrupted: Option<u8>) -> ExitCode {
        ExitCode::from(match self {
            Self::Aborted(_) | Self::NotCompared(_) | Self::Run(RunError::Aborted(_)) => 2,
            Self::Run(RunError::Unfinished(_)) => 3,
            failure if failure.is_interruption() => interrupted.unwrap_or(INTERRUPTED),
            _ => 1,
        })
    }

    pub(crate) fn is_interruption(&self) -> bool {
        match self {
            Self::Interrupted(_) => true,
            Self::Run(error) => error.is_interruption(),
            _ => false,
        }
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Run(error) => Self::Run(error),
            error => Self::Lab(error),
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

through_run_error!(ConnectError, EngineError, ServerError, WorkloadError);
