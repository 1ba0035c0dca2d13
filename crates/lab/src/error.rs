//! What can go wrong with an experiment: before anything is started, sentences with the place in the file; afterwards the
//! errors of `run`.

use std::io;

use config::FileError;

/// Why an experiment cannot be planned.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The file cannot be read.
    #[error("cannot read the experiment {file}: {source}")]
    Read {
        /// As it was named.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// Something in the file is wrong.
    #[error(transparent)]
    File(#[from] FileError),
    /// Something that was typed is wrong.
    #[error("{option}: {what}")]
    Typed {
        /// What was typed.
        option: String,
        /// What is wrong with it, and what would be right.
        what: String,
    },
    /// It was planned, and could not be carried out.
    #[error(transparent)]
    Run(#[from] run::RunError),
}
