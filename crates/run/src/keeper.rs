//! Saves runs: the steps that add one run to the store and its record to a directory, and signs of life in between.
//! `results` defines the formats.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};

use results::{Annotation, EntryId, EntryKind, RENEWAL, Record, Store};

use crate::error::RunError;
use crate::prepared::Prepared;
use crate::store_places::StorePlaces;

/// Saves one run: its row in the store when it starts, its record when it ends.
#[derive(Debug)]
pub struct Keeper {
    places: StorePlaces,
    /// The run's number, after it has started.
    run: Option<i64>,
    renewals: Option<Renewals>,
}

/// Stores signs of life of a run until it is dropped. Errors are ignored: a run does not fail because of them.
#[derive(Debug)]
struct Renewals {
    /// Without it, the thread ends.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Renewals {
    /// `None` if the store or the system refuses.
    fn start(store: &Path, run: i64) -> Option<Renewals> {
        let store = Store::open_for_renewals(store).ok()?;
        let (end, ended) = channel::<()>();
        let renew = move || {
            let _ = store.renew(run);
            while ended.recv_timeout(RENEWAL) == Err(RecvTimeoutError::Timeout) {
                let _ = store.renew(run);
            }
        };
        let thread = thread::Builder::new().name("renewals".to_owned()).spawn(renew).ok()?;
        Some(Renewals { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for Renewals {
    fn drop(&mut self) {
        drop(self.end.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
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
    pub fn new(places: StorePlaces) -> Self {
        Self { places, run: None, renewals: None }
    }

    /// Directory of the record.
    pub fn records(&self) -> PathBuf {
        self.places.records().to_owned()
    }

    /// Adds the run to the store and returns its number, before the measurement starts: a store that cannot be
    /// written is reported immediately.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn begin(&mut self, prepared: &Prepared) -> Result<i64, RunError> {
        let (plan, environment) = (prepared.plan(), prepared.environment());
        let mut store = self.places.open()?;
        let run = store.begin(prepared.started_at(), plan, environment)?;
        self.run = Some(run);
        if *prepared.annotation() != Annotation::default() {
            store.annotate(EntryId { kind: EntryKind::Run, number: run }, prepared.annotation())?;
        }
        self.renewals = Renewals::start(store.path(), run);
        Ok(run)
    }

    /// Marks the run as failed. An error of the store is ignored here, because the run's own failure matters more.
    pub fn break_off(&mut self, error: &RunError) {
        self.renewals = None;
        if let Some(run) = self.run.take() {
            let stored = Store::create(self.places.store());
            let _ = stored.and_then(|mut store| store.break_off(run, &error.to_string()));
        }
    }

    /// Saves the record. The record is written before the store, because a store can be rebuilt from records.
    ///
    /// # Errors
    /// The record or the store cannot be written.
    pub fn finish(&mut self, record: &Record) -> Result<Kept, RunError> {
        self.renewals = None;
        let path = record.write_into(self.places.records())?;
        let run = self.run.take().unwrap_or_default();
        let stored = Store::create(self.places.store());
        match stored.and_then(|mut store| store.finish(run, record, &path)) {
            Ok(run) => Ok(Kept { run, record: path }),
            Err(error) => Err(RunError::NotStored { record: path, error }),
        }
    }
}
