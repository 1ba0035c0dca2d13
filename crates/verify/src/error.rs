//! Why a run could not be verified. Each message says what to do next.
//! Used by the whole crate.

use std::io;
use std::path::PathBuf;

use connect::ConnectError;
use thiserror::Error;

use crate::roles::Refusal;

/// No verification, or an incomplete one.
#[derive(Debug, Error)]
pub enum VerifyError {
    /// The load cannot be verified.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// A file of the journal cannot be written.
    #[error("cannot write the journal {}: {error}", path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A file of the journal cannot be read.
    #[error("cannot read the journal {}: {error}", path.display())]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A file of the journal has invalid contents.
    #[error("the journal {} is damaged: {what}; this run cannot be verified", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damage, as a clause.
        what: String,
    },
    /// The server did not come back in time.
    #[error(
        "the server was not ready within {seconds} s: {reason}; verify the run later with `pgmeter verify {table}`, or allow \
         more time with --verify-timeout"
    )]
    NotReady {
        /// The time limit.
        seconds: u64,
        /// The last error or state.
        reason: String,
        /// The name of the table of the tokens.
        table: String,
    },
    /// The table of the tokens is not there.
    #[error(
        "there is no table {table} in this database: connect to the database of the run; if it is this one, the tokens were \
         removed, or the server has lost them"
    )]
    NoTable {
        /// The table's name.
        table: String,
    },
    /// A statement of the verification failed.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The user asked to stop.
    #[error("the verification was interrupted; repeat it with `pgmeter verify {table}`")]
    Interrupted {
        /// The name of the table of the tokens.
        table: String,
    },
}
