//! Where runs are kept: the store's and the records' places, and what becomes of a run in them.
//! What is kept, and how, is `results`' affair.

use std::path::{Path, PathBuf};

use clap::Args;
use results::{DEFAULT_STORE, Environment, Plan, Record, Store, UtcTime};

use crate::failure::Failure;

/// Where runs are kept.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct StoreArguments {
    /// Database of all runs, or the directory it is in [default: results.sqlite among the records]
    #[arg(long, value_name = "PATH")]
    store: Option<PathBuf>,
    /// Directory of the records, one JSON file for each run [default: that of the database, else pgmeter-results]
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
}

impl StoreArguments {
    /// The database.
    pub(crate) fn store(&self) -> PathBuf {
        let default = Path::new(DEFAULT_STORE);
        match (&self.store, &self.results) {
            (Some(store), _) => Store::path_of(store),
            (None, Some(results)) => results.join(default.file_name().unwrap_or_default()),
            (None, None) => default.to_owned(),
        }
    }

    /// The directory of the records.
    pub(crate) fn records(&self) -> PathBuf {
        let beside = || self.store().parent().map_or_else(PathBuf::new, Path::to_owned);
        self.results.clone().unwrap_or_else(beside)
    }
}

/// Keeps one run: its row in the store from its beginning on, its record at its end.
#[derive(Debug)]
pub(crate) struct Keeper {
    places: StoreArguments,
    /// Its number, once it has begun.
    run: Option<i64>,
}

/// A run that was kept.
pub(crate) struct Kept {
    pub(crate) run: i64,
    pub(crate) record: PathBuf,
}

impl Keeper {
    pub(crate) fn new(places: StoreArguments) -> Self {
        Self { places, run: None }
    }

    /// The directory of its record.
    pub(crate) fn records(&self) -> PathBuf {
        self.places.records()
    }

    /// The run begins; its number. That nothing can be kept is found out here, before anybody waits for a run.
    pub(crate) fn begin(
        &mut self,
        started_at: UtcTime,
        plan: &Plan,
        environment: &Environment,
    ) -> Result<i64, Failure> {
        let mut store = Store::create(&self.places.store())?;
        let run = store.begin(started_at, plan, environment)?;
        self.run = Some(run);
        Ok(run)
    }

    /// The run came to nothing. If that cannot be stored, the failure itself matters more.
    pub(crate) fn break_off(&mut self, failure: &Failure) {
        if let Some(run) = self.run.take() {
            let stored = Store::create(&self.places.store());
            let _ = stored.and_then(|mut store| store.break_off(run, &failure.to_string()));
        }
    }

    /// The run is over. The record comes first: a store can be made from records.
    pub(crate) fn finish(&mut self, record: &Record) -> Result<Kept, Failure> {
        let path = record.write_into(&self.places.records())?;
        let run = self.run.take().unwrap_or_default();
        let stored = Store::create(&self.places.store());
        match stored.and_then(|mut store| store.finish(run, record, &path)) {
            Ok(run) => Ok(Kept { run, record: path }),
            Err(error) => Err(Failure::NotStored { record: path, error }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(store: Option<&str>, results: Option<&str>, expected: (&str, &str)) {
        let places = StoreArguments { store: store.map(PathBuf::from), results: results.map(PathBuf::from) };
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
