//! Where runs are kept: the places of the store and of the records, and the way of one run into them. What is kept, and
//! how, is `results`' affair.

use std::path::{Path, PathBuf};

use results::{DEFAULT_STORE, Record, Store};

use crate::error::RunError;
use crate::runner::Prepared;

/// The database of all runs and the directory of their records, as they were named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorePlaces {
    /// The database, or the directory it is in.
    pub store: Option<PathBuf>,
    /// The directory of the records.
    pub records: Option<PathBuf>,
}

impl StorePlaces {
    /// The database.
    #[must_use]
    pub fn store(&self) -> PathBuf {
        let default = Path::new(DEFAULT_STORE);
        match (&self.store, &self.records) {
            (Some(store), _) => Store::path_of(store),
            (None, Some(records)) => records.join(default.file_name().unwrap_or_default()),
            (None, None) => default.to_owned(),
        }
    }

    /// The directory of the records: that of the database unless it is named.
    #[must_use]
    pub fn records(&self) -> PathBuf {
        let beside = || self.store().parent().map_or_else(PathBuf::new, Path::to_owned);
        self.records.clone().unwrap_or_else(beside)
    }

    /// Opens the database, or makes it.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(&self) -> Result<Store, RunError> {
        Ok(Store::create(&self.store())?)
    }
}

/// Keeps one run: its row in the store from its beginning on, its record at its end.
#[derive(Debug)]
pub struct Keeper {
    places: StorePlaces,
    /// Its number, once it has begun.
    run: Option<i64>,
}

/// A run that was kept.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Its number in the store.
    pub run: i64,
    /// Its record.
    pub record: PathBuf,
}

impl Keeper {
    /// Of a run that has not begun.
    #[must_use]
    pub fn new(places: StorePlaces) -> Self {
        Self { places, run: None }
    }

    /// The directory of its record.
    #[must_use]
    pub fn records(&self) -> PathBuf {
        self.places.records()
    }

    /// The run begins; its number. That nothing can be kept is found out here, before anybody waits for a run.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn begin(&mut self, prepared: &Prepared) -> Result<i64, RunError> {
        let (plan, environment) = (prepared.plan(), prepared.environment());
        let run = self.places.open()?.begin(prepared.started_at(), plan, environment)?;
        self.run = Some(run);
        Ok(run)
    }

    /// The run came to nothing. If that cannot be stored, the failure itself matters more.
    pub fn break_off(&mut self, error: &RunError) {
        if let Some(run) = self.run.take() {
            let stored = Store::create(&self.places.store());
            let _ = stored.and_then(|mut store| store.break_off(run, &error.to_string()));
        }
    }

    /// The run is over. The record comes first: a store can be made from records.
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
