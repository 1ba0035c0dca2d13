//! The store: an SQLite database with a row for each run, beside the records. What it is for and why SQLite:
//! docs/decisions/0010-store.md; its tables and views, which people query: docs/store.md.
//! Opened by `cli` at the beginning and the end of a run, and by whatever lists or compares runs. Several processes may
//! have it open at once.

mod comparisons;
mod executions;
mod experiment;
mod find;
mod import;
mod list;
mod process;
mod steps;
mod tables;
mod trials;
mod write;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::ResultsError;
use crate::error::shown;

pub use executions::Execution;
pub use experiment::{StoredExperiment, StoredRun, StoredTrial, TableSizes};
pub use find::{find, find_numbered};
pub use import::{Imported, records_in};
pub use list::{RunLine, RunStatus, TrialOfRun, runs_json};
pub use trials::{ExperimentRow, PlannedTrial, TrialFigures, TrialRow, TrialStatus};

/// Where runs are stored if nobody says otherwise.
pub const DEFAULT_STORE: &str = "pgmeter-results/results.sqlite";

/// The name of the database in a directory that is given instead of one.
const FILE_NAME: &str = "results.sqlite";

/// How long another writer is waited for. One transaction takes milliseconds, unless somebody holds one open by hand.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// The runs that are kept.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
}

impl Store {
    /// The database that `path` means: itself, or the one in that directory.
    pub fn path_of(path: &Path) -> PathBuf {
        let names_directory = path.as_os_str().as_encoded_bytes().ends_with(b"/") || path.is_dir();
        if names_directory { path.join(FILE_NAME) } else { path.to_owned() }
    }

    /// Opens the store for writing; it is made if it is missing, and brought to today's form if it is older. Runs whose
    /// process is gone are marked as killed.
    ///
    /// # Errors
    /// If it cannot be made or written, or is not a store of ours.
    pub fn create(path: &Path) -> Result<Store, ResultsError> {
        let path = file_name(path)?;
        let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
        if let Some(directory) = directory {
            let failed = |source| ResultsError::Write { directory: directory.to_owned(), source };
            fs::create_dir_all(directory).map_err(failed)?;
        }
        make_private(&path)?;
        let mut store = Store::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        tables::prepare(&store.path, &mut store.connection)?;
        store.mark_killed()?;
        Ok(store)
    }

    /// Opens a store that exists, to read it; an older one is brought to today's form, and runs whose process is gone
    /// are marked as killed. A directory that cannot be written does not matter.
    ///
    /// # Errors
    /// If there is none, or it is not a store of ours.
    pub fn open(path: &Path) -> Result<Store, ResultsError> {
        let path = file_name(path)?;
        if !path.exists() {
            return Err(ResultsError::Refused(format!(
                "there is no store {}: run something first, name another place with --store, or make one from records \
                 with `pgmeter runs import`",
                shown(&path)
            )));
        }
        let readable = OpenFlags::SQLITE_OPEN_READ_WRITE;
        let opened = Store::connect(path.clone(), readable)
            .and_then(|mut store| tables::bring_up(&store.path, &mut store.connection).map(|()| store));
        match opened {
            Ok(mut store) => {
                // Where it cannot be written, whoever asks for a run is told all the same.
                let _ = store.mark_killed();
                Ok(store)
            }
            // Readers of a write-ahead log write beside it; where they cannot, nobody else writes either.
            Err(ResultsError::Store { ref cause, .. }) if is_for_reading_only(cause) => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
                let store = Store::connect(immutable(&path), flags)?;
                tables::check(&path, &store.connection)?;
                Ok(Store { path, ..store })
            }
            Err(error) => Err(error),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory it is in, where its records are too.
    pub fn directory(&self) -> &Path {
        directory_of(&self.path)
    }

    fn connect(path: PathBuf, flags: OpenFlags) -> Result<Store, ResultsError> {
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(&path, flags);
        let settled = opened.and_then(|connection| {
            connection.busy_timeout(BUSY_TIMEOUT)?;
            connection.pragma_update(None, "foreign_keys", true)?;
            Ok(connection)
        });
        let connection = settled.map_err(failed(&path))?;
        Ok(Store { path, connection })
    }
}

/// What [`Store::path_of`] means, unless SQLite would take it for a database in memory, a temporary one or a URI:
/// <https://www.sqlite.org/inmemorydb.html>, <https://www.sqlite.org/uri.html>.
fn file_name(path: &Path) -> Result<PathBuf, ResultsError> {
    let name = path.as_os_str().as_encoded_bytes();
    if name.is_empty() || name.starts_with(b":memory:") || name.starts_with(b"file:") {
        let name = shown(path);
        return Err(ResultsError::Refused(format!(
            "a store is a file, and \"{name}\" means something else to SQLite; for a file of that name write ./{name} in \
             its place"
        )));
    }
    Ok(Store::path_of(path))
}

/// Makes an empty file that only its owner can read, if there is none. SQLite gives its journals the same permissions
/// (`findCreateFileMode` in its os_unix.c).
fn make_private(path: &Path) -> Result<(), ResultsError> {
    match crate::write::private().open(path) {
        Err(source) if source.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(ResultsError::Write { directory: directory_of(path).to_owned(), source })
        }
        _ => Ok(()),
    }
}

/// The directory of a file, `.` if it has none.
fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn is_for_reading_only(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, PermissionDenied, ReadOnly};
    matches!(error.sqlite_error_code(), Some(CannotOpen | PermissionDenied | ReadOnly))
}

/// SQLite's name for a file that nobody changes: <https://www.sqlite.org/uri.html>.
fn immutable(path: &Path) -> PathBuf {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-".contains(byte);
    let encode = |byte: &u8| if plain(byte) { char::from(*byte).to_string() } else { format!("%{byte:02x}") };
    let name: String = path.as_os_str().as_encoded_bytes().iter().map(encode).collect();
    PathBuf::from(format!("file:{name}?immutable=1"))
}

/// Adds where it happened.
fn failed(path: &Path) -> impl Fn(rusqlite::Error) -> ResultsError {
    let path = path.to_owned();
    move |cause| ResultsError::Store { path: path.clone(), cause }
}
