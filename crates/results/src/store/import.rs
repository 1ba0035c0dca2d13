//! Import of records that are not in the store: from older versions or other machines, or after the loss of the store.
//! Repeating an import changes nothing.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, params};

use super::Store;
use super::write::{NewRun, Rows, complete_row};
use crate::{Record, ResultsError};

/// Result of an import, with the run's number.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Imported {
    /// The record was added.
    New(i64),
    /// The store already had the record.
    Known(i64),
}

impl Store {
    /// Adds the record in a file to the store; the file stays in place.
    ///
    /// # Errors
    /// The file is not a record, or the store cannot be written.
    pub fn import(&mut self, path: &Path) -> Result<Imported, ResultsError> {
        // Opening a named pipe would block until another process writes to it.
        if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            let source = std::io::Error::other("only files are imported, and this is none");
            return Err(ResultsError::Read { path: path.to_owned(), source });
        }
        let record = Record::read(path)?;
        let rows = Rows::of(&record);
        let place = self.place_of(path);
        let bytes = std::fs::metadata(path).ok().and_then(|found| i64::try_from(found.len()).ok());
        self.in_transaction(|transaction| {
            let run = match known(transaction, &record)? {
                Some((run, true)) => return Ok(Imported::Known(run)),
                // The process was killed after writing the record and before completing its row.
                Some((run, false)) => run,
                None => NewRun::of(&record).insert(transaction, None)?,
            };
            complete_row(transaction, run, &record, &rows, (&place, bytes), None)?;
            Ok(Imported::New(run))
        })
    }
}

/// Files in a directory that may be records, oldest first by name.
///
/// # Errors
/// The directory cannot be listed.
pub fn records_in(directory: &Path) -> Result<Vec<PathBuf>, ResultsError> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let failed = |source| ResultsError::Read { path: directory.to_owned(), source };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !is_hidden && path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The run of this record, and whether it is complete.
fn known(connection: &Connection, record: &Record) -> rusqlite::Result<Option<(i64, bool)>> {
    let sql = "SELECT run, record_path IS NOT NULL FROM runs WHERE started_at = ?1 AND hostname = ?2 AND seed = ?3 \
               ORDER BY run LIMIT 1";
    let Record { started_at, environment, plan, .. } = record;
    let of_run = params![started_at.to_string(), environment.host.hostname, plan.seed.to_string()];
    connection.query_row(sql, of_run, |row| Ok((row.get(0)?, row.get(1)?))).optional()
}
