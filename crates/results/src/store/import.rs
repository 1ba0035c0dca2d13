//! Import of records that are not in the store: from older versions or other machines, or after the loss of the store.
//! Repeating an import changes nothing. `join` imports whole stores.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, params};

use super::Store;
use super::write::{NewRun, Rows, complete_row};
use crate::error::shown;
use crate::{EntryId, EntryKind, Record, ResultsError};

/// Result of an import, with the run's number.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Imported {
    /// The record was added.
    New(i64),
    /// The store already had the record.
    Known(i64),
}

/// A step of an import.
#[derive(Debug)]
pub enum ImportEvent<'a> {
    /// The record in this file was added as this run.
    Record(i64, &'a Path),
    /// An entry of the store at this path was added; its number there, and here.
    Entry(&'a Path, EntryId, EntryId),
    /// Something was not added, with the reason.
    Refused(ResultsError),
}

/// Numbers of records and entries of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportTotals {
    /// Entries that were added.
    pub new: Vec<EntryId>,
    /// Entries that the store already had.
    pub known: u64,
    /// Files and entries that were not added.
    pub refused: u64,
}

/// The beginning of each SQLite database: <https://www.sqlite.org/fileformat.html>.
const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";

/// Whether this is a file with an SQLite database.
fn is_database(path: &Path) -> bool {
    let mut magic = [0; SQLITE_MAGIC.len()];
    // Opening a named pipe would block until another process writes to it.
    let file = path.is_file().then(|| File::open(path).ok()).flatten();
    file.is_some_and(|mut file| file.read_exact(&mut magic).is_ok()) && magic == SQLITE_MAGIC
}

impl Store {
    /// Adds records, and the entries of other stores; a directory is that of a store or of records. Records of other
    /// stores are copied into `records`. `distrust` says why a store must not be opened, if another user could change its
    /// path. A source that cannot be imported is told, and the others are still imported.
    ///
    /// # Errors
    /// This store or `records` cannot be written.
    pub fn import_all(
        &mut self,
        sources: &[PathBuf],
        records: &Path,
        distrust: impl Fn(&Path) -> Option<String>,
        tell: &mut dyn FnMut(ImportEvent<'_>),
    ) -> Result<ImportTotals, ResultsError> {
        let mut totals = ImportTotals::default();
        for source in sources {
            let database = Store::path_of(source);
            let files = match (is_database(&database), source.is_dir()) {
                (true, _) => {
                    self.import_store(&database, records, &distrust, &mut totals, tell)?;
                    continue;
                }
                (false, true) => records_in(source).unwrap_or_else(|_| vec![source.clone()]),
                (false, false) => vec![source.clone()],
            };
            for file in files {
                match self.import(&file) {
                    Ok(Imported::New(number)) => {
                        tell(ImportEvent::Record(number, &file));
                        totals.new.push(EntryId { kind: EntryKind::Run, number });
                    }
                    Ok(Imported::Known(_)) => totals.known += 1,
                    Err(error) => {
                        tell(ImportEvent::Refused(error));
                        totals.refused += 1;
                    }
                }
            }
        }
        Ok(totals)
    }

    fn import_store(
        &mut self,
        path: &Path,
        records: &Path,
        distrust: impl Fn(&Path) -> Option<String>,
        totals: &mut ImportTotals,
        tell: &mut dyn FnMut(ImportEvent<'_>),
    ) -> Result<(), ResultsError> {
        let refused =
            |what: String| ResultsError::Refused(format!("cannot import the store {}: {what}", shown(path)));
        let opened = match distrust(path) {
            Some(reason) => Err(refused(format!(
                "{reason}; import it as that user, or copy it to a directory of your own"
            ))),
            None => Store::open(path),
        };
        let other = match opened {
            Ok(other) if other.is_at(self) => Err(refused("it is the store itself".to_owned())),
            opened => opened,
        };
        let other = match other {
            Ok(other) => other,
            Err(error) => {
                tell(ImportEvent::Refused(error));
                totals.refused += 1;
                return Ok(());
            }
        };
        let joined = self.join(&other, records)?;
        for (there, here) in joined.new {
            tell(ImportEvent::Entry(path, there, here));
            totals.new.push(here);
        }
        totals.known += joined.known;
        for (id, reason) in joined.refused {
            let what =
                format!("{} {id} of the store {} is not imported: {reason}", id.kind.name(), shown(path));
            tell(ImportEvent::Refused(ResultsError::Refused(what)));
            totals.refused += 1;
        }
        Ok(())
    }

    /// Whether both are the same file.
    fn is_at(&self, other: &Store) -> bool {
        let place = |store: &Store| store.path.canonicalize().unwrap_or_else(|_| store.path.clone());
        place(self) == place(other)
    }

    /// Adds the record in a file to the store; the file stays in place.
    ///
    /// # Errors
    /// The file is not a record, or the store cannot be written.
    pub fn import(&mut self, path: &Path) -> Result<Imported, ResultsError> {
        self.import_record(&Record::read_regular(path)?, path)
    }

    /// Adds this record, which is the file at `path`.
    pub(super) fn import_record(&mut self, record: &Record, path: &Path) -> Result<Imported, ResultsError> {
        let rows = Rows::of(record);
        let place = self.place_of(path);
        let bytes = std::fs::metadata(path).ok().and_then(|found| i64::try_from(found.len()).ok());
        self.in_transaction(|transaction| {
            let run = match known(transaction, &Identity::from(record))? {
                Some((run, true)) => return Ok(Imported::Known(run)),
                // The process was killed after writing the record and before completing its row.
                Some((run, false)) => run,
                None => NewRun::of(record).insert(transaction, None)?,
            };
            complete_row(transaction, run, record, &rows, (&place, bytes), None)?;
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

/// What identifies a run in any store.
pub(super) struct Identity {
    pub(super) started_at: String,
    pub(super) hostname: String,
    pub(super) seed: String,
}

impl From<&Record> for Identity {
    fn from(record: &Record) -> Self {
        let Record { started_at, environment, plan, .. } = record;
        let hostname = environment.host.hostname.clone();
        Self { started_at: started_at.to_string(), hostname, seed: plan.seed.to_string() }
    }
}

/// The run, and whether it has a record.
pub(super) fn known(connection: &Connection, run: &Identity) -> rusqlite::Result<Option<(i64, bool)>> {
    let sql = "SELECT run, record_path IS NOT NULL FROM runs WHERE started_at = ?1 AND hostname = ?2 AND seed = ?3 \
               ORDER BY run LIMIT 1";
    let Identity { started_at, hostname, seed } = run;
    let row = params![started_at, hostname, seed];
    connection.query_row(sql, row, |row| Ok((row.get(0)?, row.get(1)?))).optional()
}
