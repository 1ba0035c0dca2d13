//! What can go wrong with records on disk, and what to do about it.
//! Every message is one sentence: what, where, what next; `cli` prints it as it is.

use std::io;
use std::path::{Path, PathBuf};

use crate::safe_text::in_one_line;

/// Why a record could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultsError {
    /// The directory for records could not be made or written.
    #[error("cannot write a record into {}: {}", shown(directory), write_advice(source))]
    Write {
        /// Which.
        directory: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file could not be read.
    #[error("cannot read the record {}: {}", shown(path), read_advice(source))]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is not a record, or a damaged one.
    #[error("{} is not a readable record: {what}; name a file that pgmeter wrote, unchanged", shown(path))]
    NotARecord {
        /// Which.
        path: PathBuf,
        /// What is wrong with it, and where.
        what: String,
    },
    /// A document of a version that is not known: of a newer pgmeter, or of one from before the first release, whose
    /// versions were counted apart.
    #[error(
        "{} has schema {found}, and this pgmeter reads schemas up to {supported}: a newer pgmeter wrote it, or one from \
         before the first release; read it with the pgmeter that wrote it",
        shown(path)
    )]
    OtherSchema {
        /// Which.
        path: PathBuf,
        /// Its schema.
        found: u64,
        /// The newest that is understood.
        supported: u32,
    },
    /// The store could not be read or written.
    #[error("cannot use the store {}: {}", shown(path), store_advice(cause, || is_full(path)))]
    Store {
        /// Which.
        path: PathBuf,
        /// Why.
        cause: rusqlite::Error,
    },
    /// Somebody else is at work.
    #[error(
        "process {pid} is at work on this experiment in the store {}: wait for it, or end it and go on with \
         pgmeter lab resume",
        shown(store)
    )]
    ExperimentBusy {
        /// Where.
        store: PathBuf,
        /// Who.
        pid: i64,
    },
    /// Anything else, in a sentence.
    #[error("{0}")]
    Refused(String),
}

const NO_SPACE: &str = "no space is left there; free some, or name another place with --store";

/// A path that others may have chosen, on one line.
pub(crate) fn shown(path: &Path) -> String {
    in_one_line(&path.to_string_lossy())
}

/// Whether the file system of a file has no space left. SQLite needs some even to read, for the memory that it shares
/// with other processes, and then says only that input or output failed.
fn is_full(file: &Path) -> bool {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    rustix::fs::statvfs(directory).is_ok_and(|about| about.f_bavail == 0)
}

fn store_advice(error: &rusqlite::Error, is_full: impl FnOnce() -> bool) -> String {
    use rusqlite::ErrorCode::{
        CannotOpen, DatabaseBusy, DatabaseCorrupt, DatabaseLocked, DiskFull, NotADatabase, PermissionDenied,
        ReadOnly, SystemIoFailure,
    };
    let advice = match error.sqlite_error_code() {
        Some(DatabaseBusy | DatabaseLocked) => {
            "another program keeps it locked; end what that program does with it, and try again"
        }
        Some(DiskFull) => NO_SPACE,
        Some(SystemIoFailure) if is_full() => NO_SPACE,
        Some(ReadOnly | PermissionDenied) => {
            "it cannot be written; name another place with --store, or ask its owner for permission"
        }
        Some(CannotOpen) => "it cannot be opened; check the path and its permissions",
        Some(NotADatabase) => "it is not an SQLite database; name another place with --store",
        Some(DatabaseCorrupt) => {
            "it is damaged; move it away, and `pgmeter runs import` makes a new one from the records beside it"
        }
        Some(SystemIoFailure) => {
            "the disk or its file system does not do what it should; look at the system's log"
        }
        _ => return one_line(error),
    };
    advice.to_owned()
}

/// SQLite's message without the statement, which is pgmeter's own and long.
fn one_line(error: &rusqlite::Error) -> String {
    let text = match error {
        rusqlite::Error::SqlInputError { msg, .. } => {
            format!("{msg}; it is damaged, or another program's: name another place with --store")
        }
        other => other.to_string(),
    };
    in_one_line(&text)
}

pub(crate) fn write_advice(error: &io::Error) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_read_on_a_full_disk_names_the_disk() {
        // SQLITE_IOERR_SHMSIZE: the memory shared with other processes could not get its size.
        let error = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(4874), None);
        assert_eq!(store_advice(&error, || true), NO_SPACE);
        assert!(store_advice(&error, || false).starts_with("the disk or its file system"));
    }
}
