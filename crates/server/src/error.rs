//! What can go wrong with a server, as sentences: what, where, and what to do next.
//! One enum for the crate; `cli` prints it as it is.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// A failure to find, fetch, start or stop a server.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServerError {
    /// Not a version number, or one that is too old.
    #[error(
        "\"{text}\" is no version of PostgreSQL that can be started here; ask for 9.6, 10, 11 … 18, or for an exact one such as 16.4"
    )]
    NoSuchVersion {
        /// As it was asked for.
        text: String,
    },
    /// Something the operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// Verb and object: "create the directory".
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}
