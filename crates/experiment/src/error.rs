//! Errors of an experiment before it is executed: sentences with the position in the file, or with the option.
//! `lab` adds the errors of an execution.

use std::io;

use config::FileError;

/// Why an experiment cannot be planned.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
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
    /// Combinations of a command line are impossible; a complete sentence.
    #[error("{0}")]
    Combination(String),
}
