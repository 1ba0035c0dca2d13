//! How a command can fail, and what exit status that is.
//! The sentences are the libraries' own; `main` shows them.

use std::process::ExitCode;

use ::lab::LabError;
use connect::ConnectError;
use engine::EngineError;
use results::ResultsError;
use run::RunError;
use server::ServerError;
use thiserror::Error;
use workload::WorkloadError;

/// The status after an interruption without a signal, as after Ctrl-C.
const INTERRUPTED: u8 = 130;

/// A command that did not do all that it was asked to. The message is the sentence for the user.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// The command line makes no sense, or something that it asks for was not done; no other status than 1 says it.
    #[error("{0}")]
    Usage(String),
    /// A run, or what leads to one, failed.
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Lab(LabError),
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The system refused something.
    #[error("cannot {what}: {error}")]
    System { what: String, error: std::io::Error },
    /// A log file cannot be made.
    #[error("cannot make log file \"{path}\": {reason}; --log-prefix names another place")]
    LogFile { path: String, reason: String },
    #[error(transparent)]
    Picture(#[from] report::PngError),
    /// The run was measured, but not all of its clients came through.
    #[error("{0}")]
    Aborted(String),
    /// The comparison came to nothing.
    #[error(transparent)]
    NotCompared(Box<Failure>),
    /// The user asked to stop.
    #[error("{0}")]
    Interrupted(&'static str),
}

impl Failure {
    /// 1: nothing was measured, or it could not be kept; 2: measured, but clients were aborted, as pgbench has it, or
    /// nothing was compared, since 1 says there that B is worse; 3: there was not time enough; 128 and the signal's number:
    /// interrupted, as shells have it.
    pub(crate) fn exit_code(&self, interrupted: Option<u8>) -> ExitCode {
        ExitCode::from(match self {
            Self::Aborted(_) | Self::NotCompared(_) | Self::Run(RunError::Aborted(_)) => 2,
            Self::Run(RunError::Unfinished(_)) => 3,
            failure if failure.is_interruption() => interrupted.unwrap_or(INTERRUPTED),
            _ => 1,
        })
    }

    /// Whether the user asked to stop.
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

/// Errors of the libraries below a run.
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
