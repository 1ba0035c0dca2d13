//! How a command can fail, and what exit status that is.
//! The sentences are the libraries' own; `main` shows them.

use std::path::PathBuf;
use std::process::ExitCode;

use ::lab::LabError;
use connect::ConnectError;
use engine::EngineError;
use results::ResultsError;
use script::ParseError;
use server::ServerError;
use thiserror::Error;
use workload::WorkloadError;

/// The status after an interruption without a signal, as after Ctrl-C.
const INTERRUPTED: u8 = 130;

/// A command that did not do all that it was asked to. The message is the sentence for the user.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// Something typed makes no sense.
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Script(ParseError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The system refused something.
    #[error("cannot {what}: {error}")]
    System { what: String, error: std::io::Error },
    /// The run was measured and its record is kept, but the store does not know of it.
    #[error(
        "the record {} is kept, but {error}; then `pgmeter runs import {}` takes it into the store",
        record.display(),
        record.display()
    )]
    NotStored { record: PathBuf, error: ResultsError },
    /// Some files were no records.
    #[error("{}", not_imported(*refused, *files))]
    NotImported { refused: usize, files: usize },
    /// A log file cannot be made.
    #[error("cannot make log file \"{path}\": {reason}; --log-prefix names another place")]
    LogFile { path: String, reason: String },
    /// A page or table cannot be written.
    #[error("cannot write the report to \"{path}\": {error}")]
    Report { path: String, error: std::io::Error },
    #[error(transparent)]
    Picture(#[from] report::PngError),
    /// The run was measured, but its log is not whole; why was said when it happened.
    #[error("a log file could not be written ({0}): the log is not whole; the results above are")]
    LogCut(String),
    /// The run was measured, but not all of its clients came through.
    #[error("{0}")]
    Aborted(String),
    /// What was asked for is not all done, and can be gone on with.
    #[error("{0}")]
    Unfinished(String),
    /// The comparison came to nothing.
    #[error(transparent)]
    NotCompared(Box<Failure>),
    /// The user asked to stop.
    #[error("{0}")]
    Interrupted(&'static str),
}

fn not_imported(refused: usize, files: usize) -> String {
    match (refused, files) {
        (_, 1) => "the file was not imported".to_owned(),
        (refused, files) if refused == files => format!("none of the {files} files was imported"),
        (1, files) => format!("1 of {files} files was not imported; the others were"),
        (refused, files) => format!("{refused} of {files} files were not imported; the others were"),
    }
}

impl Failure {
    /// 1: nothing was measured, or it could not be kept; 2: measured, but clients were aborted, as pgbench has it, or
    /// nothing was compared, since 1 says there that B is worse; 3: there was not time enough; 128 and the signal's number:
    /// interrupted, as shells have it.
    pub(crate) fn exit_code(&self, interrupted: Option<u8>) -> ExitCode {
        ExitCode::from(match self {
            Self::Aborted(_) | Self::NotCompared(_) => 2,
            Self::Unfinished(_) => 3,
            failure if failure.is_interruption() => interrupted.unwrap_or(INTERRUPTED),
            _ => 1,
        })
    }

    /// Whether the user asked to stop.
    pub(crate) fn is_interruption(&self) -> bool {
        matches!(
            self,
            Self::Interrupted(_)
                | Self::Engine(EngineError::InterruptedBeforeStart)
                | Self::Server(ServerError::Interrupted)
                | Self::Workload(WorkloadError::Interrupted)
        )
    }
}
