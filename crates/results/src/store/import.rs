//! Records that lie somewhere and are not in the store: of older versions, of other machines, or because the store was
//! lost. Importing one twice changes nothing.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, params};

use super::Store;
use super::write::{NewRun, Rows, complete_row};
use crate::{Record, ResultsError};

/// What became of a record that was to be imported; the number of its run.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Imported {
    /// It is in the store now.
    New(i64),
    /// It was there already.
    Known(i64),
}

impl Store {
    /// Takes the record in a file into the store; the file stays where it is.
    ///
    /// # Errors
    /// If it is no record, or the store cannot be written.
    pub fn import(&mut self, path: &Path) -> Result<Imported, ResultsError> {
        // A pipe with a name would be waited for until somebody writes to it.
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
                // Its process was killed between writing the record and telling the store.
                Some((run, false)) => run,
                None => NewRun::of(&record).insert(transaction, None)?,
            };
            complete_row(transaction, run, &record, &rows, (&place, bytes), None)?;
            Ok(Imported::New(run))
        })
    }
}

/// The files of a directory that may be records, by their names oldest first.
///
/// # Errors
/// If the directory cannot be listed.
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
