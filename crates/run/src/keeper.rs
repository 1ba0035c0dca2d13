//! Saves runs: the location of the store and of the records, and the steps that add one run to them. `results`
//! defines the formats.

use std::path::{Path, PathBuf};

use results::{DEFAULT_STORE, Record, Store};

use crate::error::RunError;
use crate::runner::Prepared;

/// The database of all runs and the directory of their records, as given by the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorePlaces {
    /// The database, or its directory.
    pub store: Option<PathBuf>,
    /// Directory of the records.
    pub records: Option<PathBuf>,
}

impl StorePlaces {
    /// Path of the database.
    #[must_use]
    pub fn store(&self) -> PathBuf {
        let default = Path::new(DEFAULT_STORE);
        match (&self.store, &self.records) {
            (Some(store), _) => Store::path_of(store),
            (None, Some(records)) => records.join(default.file_name().unwrap_or_default()),
            (None, None) => default.to_owned(),
        }
    }

    /// Directory of the records: that of the database by default.
    #[must_use]
    pub fn records(&self) -> PathBuf {
        let beside = || self.store().parent().map_or_else(PathBuf::new, Path::to_owned);
        self.records.clone().unwrap_or_else(beside)
    }

    /// Opens or creates the database.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(&self) -> Result<Store, RunError> {
        Ok(Store::create(&self.store())?)
    }
}

/// Saves one run: its row in the store when it starts, its record when it ends.
#[derive(Debug)]
pub struct Keeper {
    places: StorePlaces,
    /// The run's number, after it has started.
    run: Option<i64>,
}

/// A saved run.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Number in the store.
    pub run: i64,
    /// Path of the record.
    pub record: PathBuf,
}

impl Keeper {
    /// For a run that has not started.
    #[must_use]
    pub fn new(places: StorePlaces) -> Self {
        Self { places, run: None }
    }

    /// Directory of the record.
    #[must_use]
    pub fn records(&self) -> PathBuf {
        self.places.records()
    }

    /// Adds the run to the store and returns its number, before the measurement starts: a store that cannot be
    /// written is reported immediately.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn begin(&mut self, prepared: &Prepared) -> Result<i64, RunError> {
        let (plan, environment) = (prepared.plan(), prepared.environment());
        let run = self.places.open()?.begin(prepared.started_at(), plan, environment)?;
        self.run = Some(run);
        Ok(run)
    }

    /// Marks the run as failed. An error of the store is ignored here, because the run's own failure matters more.
    pub fn break_off(&mut self, error: &RunError) {
        if let Some(run) = self.run.take() {
            let stored = Store::create(&self.places.store());
            let _ = stored.and_then(|mut store| store.break_off(run, &error.to_string()));
        }
    }

    /// Saves the record. The record is written before the store, because a store can be rebuilt from records.
    ///
    /// # Errors
    /// The record or the store cannot be written.
    pub fn finish(&mut self, record: &Record) -> Result<Kept, RunError> {
        let path = record.write_into(&self.places.records())?;
        let run = self.run.take().unwrap_or_default();
        let stored = Store::create(&self.places.store());
        match stored.and_then(|mut store| store.finish(run, record, &path)) {
            Ok(run) => Ok(Kept { run, record: path }),
            Err(error) => Err(RunError::NotStored { record: path, error }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(store: Option<&str>, records: Option<&str>, expected: (&str, &str)) {
        let places = StorePlaces { store: store.map(PathBuf::from), records: records.map(PathBuf::from) };
        assert_eq!((places.store(), places.records()), (expected.0.into(), expected.1.into()));
    }

    #[test]
    fn store_and_records_are_together_unless_both_are_named() {
        check(None, None, ("pgmeter-results/results.sqlite", "pgmeter-results"));
        check(None, Some("there"), ("there/results.sqlite", "there"));
        check(Some("there/my.db"), None, ("there/my.db", "there"));
        check(Some("my.db"), None, ("my.db", ""));
        check(Some("there/"), None, ("there/results.sqlite", "there"));
        check(Some("a/my.db"), Some("b"), ("a/my.db", "b"));
    }
}
