//! The store: an SQLite database with a row per run, next to the records. Several processes may use it at once.
//! docs/decisions/0010-store.md gives purpose and reasons; docs/store.md describes its tables and views, which users
//! query.

mod comparisons;
mod executions;
mod experiment;
mod find;
mod import;
mod join;
mod list;
mod process;
mod query_sets;
mod remove;
mod schema_changes;
mod searches;
mod steps;
mod tables;
mod trials;
mod undo;
mod write;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use config::OutputFolder;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Row};

use crate::error::shown;
use crate::{Annotation, ResultsError};

pub use executions::Execution;
pub use experiment::{StoredExperiment, StoredRun, StoredTrial, TableSizes};
pub use find::{Found, find, find_entry};
pub use import::{ImportEvent, ImportTotals, Imported, records_in};
pub use list::{
    ComparisonLine, Entry, ExperimentLine, ListFilter, QuerySetLine, RunLine, RunStatus, SearchLine,
    TrialOfRun, entries_json,
};
pub use remove::Removed;
pub use schema_changes::{ChangedDatabase, LeftChange, MadeObject};
pub use trials::{ExperimentRow, PlannedTrial, TrialFigures, TrialRow, TrialStatus, UnfinishedExperiment};
pub use undo::NewDirectories;
pub use write::RENEWAL;

/// Default path of the store.
pub const DEFAULT_STORE: &str = "pgmeter-results/results.sqlite";

/// Name of the database if a directory is specified.
const FILE_NAME: &str = "results.sqlite";

/// Time limit of waiting for another writer. Transactions take milliseconds, unless a user keeps one open.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Time limit of waiting for another writer with a sign of life; the next one follows soon.
const RENEWAL_TIMEOUT: Duration = Duration::from_millis(100);

/// The stored runs.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
}

impl Store {
    /// The database of `path`: the file itself, or that in the directory.
    pub fn path_of(path: &Path) -> PathBuf {
        let names_directory = path.as_os_str().as_encoded_bytes().ends_with(b"/") || path.is_dir();
        if names_directory { path.join(FILE_NAME) } else { path.to_owned() }
    }

    /// Opens the store for writing. Creates it if it is missing. Marks runs whose process has gone as killed.
    ///
    /// # Errors
    /// The store cannot be created or written, or is not a pgmeter store.
    pub fn create(path: &Path) -> Result<Store, ResultsError> {
        let path = file_name(path)?;
        let failed = |source| ResultsError::Write { directory: directory_of(&path).to_owned(), source };
        let folder = OutputFolder::create(directory_of(&path)).map_err(failed)?;
        make_private(&folder, &path).map_err(failed)?;
        // SQLite opens the file and its journals by name, so who can exchange the folder could still redirect it.
        let mut store = Store::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        tables::prepare(&store.path, &mut store.connection)?;
        store.mark_killed()?;
        Ok(store)
    }

    /// Opens an existing store for reading. Marks runs whose process has gone as killed, if the directory is writable.
    ///
    /// # Errors
    /// The store does not exist or is not a pgmeter store.
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
        let opened = Store::connect(path.clone(), readable).and_then(|mut store| {
            if !tables::check(&store.path, &store.connection)? {
                tables::prepare(&store.path, &mut store.connection)?;
            }
            Ok(store)
        });
        match opened {
            Ok(mut store) => {
                // If the store is read-only, reading functions compute the same status.
                let _ = store.mark_killed();
                Ok(store)
            }
            // In WAL mode readers write to the directory, too; if this is impossible, no process writes there.
            Err(ResultsError::Store { ref cause, .. }) if is_for_reading_only(cause) => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
                let store = Store::connect(immutable(&path), flags)?;
                tables::check(&path, &store.connection)?;
                Ok(Store { path, ..store })
            }
            Err(error) => Err(error),
        }
    }

    /// Opens an existing store to call only [`Store::renew`] while a run measures: it does not wait for other writers, and
    /// in WAL mode it flushes nothing, neither for a sign of life nor when it is closed.
    ///
    /// # Errors
    /// The store does not exist, or is not of the current format.
    pub fn open_for_renewals(path: &Path) -> Result<Store, ResultsError> {
        let store = Store::connect(file_name(path)?, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        tables::check(&store.path, &store.connection)?;
        let settle = || -> rusqlite::Result<()> {
            store.connection.busy_timeout(RENEWAL_TIMEOUT)?;
            store.connection.pragma_update(None, "synchronous", "NORMAL")?;
            store.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map(drop)
        };
        settle().map_err(failed(&store.path))?;
        Ok(store)
    }

    /// Path of the database.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Directory of the database and its records.
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

/// The result of [`Store::path_of`]; rejects names that SQLite interprets as an in-memory database, a temporary
/// database or a URI: <https://www.sqlite.org/inmemorydb.html>, <https://www.sqlite.org/uri.html>.
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

/// Creates an empty file readable by its owner only, if it is missing. SQLite gives its journals the same permissions
/// (`findCreateFileMode` in its os_unix.c).
fn make_private(folder: &OutputFolder, path: &Path) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default();
    folder.refuse_planted_link(name)?;
    match crate::write::private().open(folder.path().join(name)) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// The directory of a file; `.` for a bare file name.
fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn is_for_reading_only(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, PermissionDenied, ReadOnly};
    matches!(error.sqlite_error_code(), Some(CannotOpen | PermissionDenied | ReadOnly))
}

/// SQLite's URI for a file that no process changes: <https://www.sqlite.org/uri.html>.
fn immutable(path: &Path) -> PathBuf {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-".contains(byte);
    let encode = |byte: &u8| if plain(byte) { char::from(*byte).to_string() } else { format!("%{byte:02x}") };
    let name: String = path.as_os_str().as_encoded_bytes().iter().map(encode).collect();
    PathBuf::from(format!("file:{name}?immutable=1"))
}

/// Adds the path to an error.
fn failed(path: &Path) -> impl Fn(rusqlite::Error) -> ResultsError {
    let path = path.to_owned();
    move |cause| ResultsError::Store { path: path.clone(), cause }
}

/// From two columns of a row: label and note.
fn annotation(row: &Row<'_>, first_column: usize) -> rusqlite::Result<Annotation> {
    let text = |column| row.get::<_, Option<String>>(column);
    Ok(Annotation {
        label: text(first_column)?.and_then(|text| text.parse().ok()),
        note: text(first_column + 1)?.and_then(|text| text.parse().ok()),
    })
}
