//! A journal on disk: the directory `journals/TABLE` beside the records, with `run.json` and one file for each worker.
//! `writer` and `reader` have the form of the files.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::description::Description;
use super::reader::Attempts;
use super::writer::JournalFile;
use crate::error::VerifyError;
use crate::token_table::NAME_PREFIX;

/// Directory of all journals, in that of the records.
const JOURNALS: &str = "journals";
const DESCRIPTION: &str = "run.json";
/// Name of the description while it is written.
const DRAFT: &str = ".run.json.part";
/// A file whose space is given back at the end, so that a record can be written even if the journal has filled the disk.
const RESERVE: &str = "reserve";
/// Length of that file in bytes; records of long runs have about as much.
const RESERVE_LENGTH: usize = 4 << 20;
/// Prefix of the workers' files.
const WORKER: &str = "worker-";
/// Maximum length of a description, in bytes.
const DESCRIPTION_LENGTH_MAX: u64 = 16 * 1024 * 1024;

/// A journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal {
    directory: PathBuf,
    description: Description,
}

/// The journals in a directory of records.
#[derive(Debug, Default)]
pub struct Journals {
    /// Those with a valid description, in order of their names.
    pub valid: Vec<Journal>,
    /// Reasons why the descriptions of the others cannot be read.
    pub invalid: Vec<VerifyError>,
}

impl Journal {
    /// Creates the journal of a run in the directory of records.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn create(records: &Path, description: Description) -> Result<Self, VerifyError> {
        let directory = records.join(JOURNALS).join(description.table.name());
        let failed = |error| VerifyError::Write { path: directory.clone(), error };
        DirBuilder::new().recursive(true).mode(0o700).create(&directory).map_err(failed)?;
        let text = serde_json::to_vec_pretty(&description).map_err(|error| failed(error.into()))?;
        let written = write_description(&directory, &text)
            .and_then(|()| fs::write(directory.join(RESERVE), vec![0; RESERVE_LENGTH]));
        let journal = Self { directory: directory.clone(), description };
        match written {
            Ok(()) => Ok(journal),
            Err(error) => {
                // The reason matters more than what is left.
                let _ = journal.remove();
                Err(failed(error))
            }
        }
    }

    /// Opens the journal of a table in the directory of records; `None` if there is none.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(records: &Path, table: &str) -> Result<Option<Self>, VerifyError> {
        // The name comes from a record, and must not lead to another place.
        if !table.starts_with(NAME_PREFIX) || table.contains(['/', '\0']) {
            return Ok(None);
        }
        let directory = records.join(JOURNALS).join(table);
        if !directory.is_dir() {
            return Ok(None);
        }
        Self::of_directory(directory).map(Some)
    }

    /// The journals in a directory of records. Directories without a description are left out.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn all(records: &Path) -> Result<Journals, VerifyError> {
        let directory = records.join(JOURNALS);
        let failed = |error| VerifyError::Read { path: directory.clone(), error };
        let entries = match fs::read_dir(&directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Journals::default()),
            entries => entries.map_err(failed)?,
        };
        let mut paths = Vec::new();
        for entry in entries {
            let path = entry.map_err(failed)?.path();
            if path.join(DESCRIPTION).is_file() {
                paths.push(path);
            }
        }
        paths.sort();
        let mut journals = Journals::default();
        for path in paths {
            match Self::of_directory(path) {
                Ok(journal) => journals.valid.push(journal),
                Err(error) => journals.invalid.push(error),
            }
        }
        Ok(journals)
    }

    fn of_directory(directory: PathBuf) -> Result<Self, VerifyError> {
        let path = directory.join(DESCRIPTION);
        let failed = |error| VerifyError::Read { path: path.clone(), error };
        let damaged = |what: String| VerifyError::Damaged { path: path.clone(), what };
        if fs::metadata(&path).map_err(failed)?.len() > DESCRIPTION_LENGTH_MAX {
            return Err(damaged("it is too long".to_owned()));
        }
        let bytes = fs::read(&path).map_err(failed)?;
        let description: Description =
            serde_json::from_slice(&bytes).map_err(|error| damaged(format!("it is not valid: {error}")))?;
        if description.version != Description::VERSION {
            let (found, known) = (description.version, Description::VERSION);
            return Err(damaged(format!("it has version {found}, and this pgmeter reads version {known}")));
        }
        Ok(Self { directory, description })
    }

    /// The description of its run.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Creates the file of a worker.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn worker(&self, number: usize) -> Result<JournalFile, VerifyError> {
        let path = self.directory.join(format!("{WORKER}{number}"));
        let worker = u32::try_from(number).unwrap_or(u32::MAX);
        JournalFile::create(&path, worker).map_err(|error| VerifyError::Write { path, error })
    }

    /// Tells other processes that its run has not ended, until the file is closed. `None` if the file system has no locks.
    pub fn occupied(&self) -> Option<File> {
        let file = File::open(self.directory.join(DESCRIPTION)).ok()?;
        file.try_lock().is_ok().then_some(file)
    }

    /// Whether another process has it [occupied](Journal::occupied).
    pub fn is_occupied(&self) -> bool {
        let file = File::open(self.directory.join(DESCRIPTION));
        file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// Whether its run was killed: it is known not to be in use, and its load has not ended.
    pub fn is_left(&self) -> bool {
        let file = File::open(self.directory.join(DESCRIPTION));
        file.is_ok_and(|file| file.try_lock().is_ok()) && self.directory.join(RESERVE).exists()
    }

    /// Gives back the reserved space: nothing more is written to the journal.
    pub fn free_reserve(&self) {
        // Without it, only a full disk has less room.
        let _ = fs::remove_file(self.directory.join(RESERVE));
    }

    /// Reads all workers' files.
    ///
    /// # Errors
    /// A file cannot be read, or is damaged.
    pub fn read(&self) -> Result<Attempts, VerifyError> {
        let failed = |error| VerifyError::Read { path: self.directory.clone(), error };
        let mut attempts = Attempts::default();
        for entry in fs::read_dir(&self.directory).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let is_worker = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(WORKER));
            if is_worker {
                attempts.read_file(&path)?;
            }
        }
        Ok(attempts)
    }

    /// Removes the journal.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn remove(self) -> Result<(), VerifyError> {
        fs::remove_dir_all(&self.directory)
            .map_err(|error| VerifyError::Write { path: self.directory.clone(), error })
    }
}

/// Writes the description under another name first: if pgmeter is killed or the disk is full, there is no description, and
/// not a part of one.
fn write_description(directory: &Path, text: &[u8]) -> io::Result<()> {
    let draft = directory.join(DRAFT);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    file.write_all(text)?;
    file.sync_all()?;
    fs::rename(&draft, directory.join(DESCRIPTION))?;
    match File::open(directory)?.sync_all() {
        // Some file systems cannot flush directories.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            Ok(())
        }
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token_table::TokenTable;

    fn create(records: &Path, run: u64) -> Journal {
        let table = TokenTable::new("public", run);
        let (version, started_at) = (Description::VERSION, "2026-01-01T00:00:00Z".to_owned());
        let description = Description { version, table, started_at, scripts: Vec::new() };
        Journal::create(records, description).expect("there is room")
    }

    #[test]
    fn a_damaged_description_does_not_hide_the_journals_of_other_runs() {
        let records = tempfile::tempdir().expect("a directory");
        let journals: Vec<Journal> = (1..=3).map(|run| create(records.path(), run)).collect();
        let damaged = journals[1].directory().join(DESCRIPTION);
        let text = fs::read(&damaged).expect("it was written");
        fs::write(&damaged, &text[..text.len() / 2]).expect("it can be written");
        let found = Journal::all(records.path()).expect("the directory can be read");
        assert_eq!(found.valid, [journals[0].clone(), journals[2].clone()]);
        let [error] = &found.invalid[..] else { panic!("{:?}", found.invalid) };
        assert!(error.to_string().contains(&damaged.display().to_string()), "{error}");
        let name = journals[1].description().table.name();
        assert!(matches!(Journal::open(records.path(), name), Err(VerifyError::Damaged { .. })));
    }

    #[test]
    fn an_unfinished_description_is_none() {
        let records = tempfile::tempdir().expect("a directory");
        let journal = create(records.path(), 1);
        let names = || fs::read_dir(journal.directory()).expect("a directory").count();
        assert_eq!(names(), 2, "run.json and the reserve");
        fs::rename(journal.directory().join(DESCRIPTION), journal.directory().join(DRAFT)).expect("a file");
        let found = Journal::all(records.path()).expect("the directory can be read");
        assert!(found.valid.is_empty() && found.invalid.is_empty(), "{found:?}");
    }
}
