//! Errors of an experiment: before the start, sentences with the position in the file; afterwards the errors of
//! `run`.

use std::io;

use config::FileError;

/// Why an experiment cannot be planned.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The file cannot be read.
    #[error("cannot read the experiment {file}: {source}")]
    Read {
        /// Path as given.
        file: String,
        /// The system's error.
        source: io::Error,
    },
    /// The file is invalid.
    #[error(transparent)]
    File(#[from] FileError),
    /// The command line is invalid.
    #[error("{option}: {what}")]
    Typed {
        /// The quoted input.
        option: String,
        /// The error and the expected form.
        what: String,
    },
    /// An error during the execution.
    #[error(transparent)]
    Run(#[from] run::RunError),
}
