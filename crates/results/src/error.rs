//! What can go wrong with records on disk, and what to do about it.
//! Every message is one sentence: what, where, what next; `cli` prints it as it is.

use std::io;
use std::path::PathBuf;

/// Why a record could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultsError {
    /// The directory for records could not be made or written.
    #[error("cannot write a record into {}: {}", directory.display(), write_advice(source))]
    Write {
        /// Which.
        directory: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Every file name for this second and script is taken.
    #[error(
        "cannot write a record into {}: {attempts} records of that second are there already; \
         choose another directory",
        directory.display()
    )]
    NoFreeName {
        /// Where.
        directory: PathBuf,
        /// Names tried.
        attempts: u32,
    },
    /// The directory for calibrations could not be made or written.
    #[error("cannot keep the calibration in {}: {}", directory.display(), write_advice(source))]
    Keep {
        /// Which.
        directory: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file could not be read.
    #[error("cannot read the record {}: {}", path.display(), read_advice(source))]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is larger than any record.
    #[error(
        "{} is not a record: it has {len} bytes, records have at most {len_max}; \
         name a file that pgmeter wrote",
        path.display()
    )]
    TooLarge {
        /// Which.
        path: PathBuf,
        /// Its length in bytes.
        len: u64,
        /// The longest that is read.
        len_max: u64,
    },
    /// A file is not a record, or a damaged one.
    #[error("{} is not a readable record: {what}; name a file that pgmeter wrote, unchanged", path.display())]
    NotARecord {
        /// Which.
        path: PathBuf,
        /// What is wrong with it, and where.
        what: String,
    },
    /// A record from the future.
    #[error(
        "{} has record schema {found}, and this pgmeter reads schemas up to {supported}; \
         read it with the pgmeter that wrote it, or a newer one",
        path.display()
    )]
    NewerSchema {
        /// Which.
        path: PathBuf,
        /// Its schema.
        found: u64,
        /// The newest that is understood.
        supported: u32,
    },
    /// A record whose parts contradict each other.
    #[error(
        "{} does not add up: {what}; it was changed or damaged after it was written, use another copy",
        path.display()
    )]
    DoesNotAddUp {
        /// Which.
        path: PathBuf,
        /// Which figures, and how they differ.
        what: String,
    },
}

fn write_advice(error: &io::Error) -> String {
    use io::ErrorKind::{
        AlreadyExists, NotADirectory, NotFound, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem,
        StorageFull,
    };
    let advice = match error.kind() {
        StorageFull => {
            "no space is left there; nothing half-written was kept; free some or choose another directory"
        }
        QuotaExceeded => {
            "your quota is used up; nothing half-written was kept; free some or choose another directory"
        }
        ReadOnlyFilesystem => "its file system is read-only; choose another directory",
        PermissionDenied => {
            "permission denied; choose another directory, or ask its owner for permission to write"
        }
        NotADirectory | AlreadyExists => {
            "something that is not a directory is in the way; choose another directory"
        }
        NotFound => "it does not exist and could not be made; choose another directory",
        _ => return format!("{error}; choose another directory"),
    };
    advice.to_owned()
}

fn read_advice(error: &io::Error) -> String {
    let advice = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => "there is no such file; check the path",
        io::ErrorKind::IsADirectory => "it is a directory; name a file in it",
        io::ErrorKind::PermissionDenied => "permission denied; ask its owner for permission to read",
        _ => return format!("{error}; check the path"),
    };
    advice.to_owned()
}
