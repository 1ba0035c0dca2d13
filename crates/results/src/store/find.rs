//! Finds a run, a comparison, an experiment or a query set by its number, by its distance from the newest run, by its
//! label, or a run by the file of its record. All commands on stored results use this.

use std::path::{Path, PathBuf};

use rusqlite::{OptionalExtension, Row, params};

use super::{RunStatus, Store, annotation, directory_of, failed};
use crate::entry_id::{Called, called};
use crate::error::shown;
use crate::safe_text::in_one_line;
use crate::{Annotation, EntryId, EntryKind, Record, ResultsError};

/// An entry that was named in a command.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// A run; its number is `None` if its record was named by its path.
    Run(Option<i64>, Box<Record>),
    /// The number of a comparison.
    Comparison(i64),
    /// The number of an experiment.
    Experiment(i64),
    /// The number of a query set.
    QuerySet(i64),
    /// The number of a search.
    Search(i64),
}

/// The entry `which` of one of these kinds: `12`, `c3`, `e2`, `s4`, `h5`, `last`, `last-1`, the path of a record, which
/// requires no store, or a label, which means the newest entry that has it. `last` counts only runs with a record, and not running,
/// killed or failed ones.
///
/// # Errors
/// There is no such entry, or its record cannot be read.
pub fn find_entry(store: &Path, which: &str, kinds: &[EntryKind]) -> Result<Found, ResultsError> {
    if called(which).is_none() && is_path(which) {
        let record = Record::read(Path::new(which)).map_err(|error| or_label(error, store, which, kinds))?;
        return Ok(Found::Run(None, Box::new(record)));
    }
    let opened = Store::open(store)?;
    let EntryId { kind, number } = opened.entry(which, kinds)?;
    Ok(match kind {
        EntryKind::Run => Found::Run(Some(number), Box::new(opened.record(number)?)),
        EntryKind::Comparison => Found::Comparison(number),
        EntryKind::Experiment => Found::Experiment(number),
        EntryKind::QuerySet => Found::QuerySet(number),
        EntryKind::Search => Found::Search(number),
    })
}

/// The error of a file, with the entry that has the file's name as its label, if there is one.
fn or_label(error: ResultsError, store: &Path, which: &str, kinds: &[EntryKind]) -> ResultsError {
    let labelled = Store::open(store).ok().and_then(|store| store.labelled(which, kinds).ok().flatten());
    match labelled {
        None => error,
        Some(id) => ResultsError::Refused(format!(
            "{error}; a file comes before a label: to name the {} that has the label {which}, use {id}",
            id.kind.name()
        )),
    }
}

/// The record of a run, named as in [`find_entry`].
///
/// # Errors
/// There is no such run, or its record cannot be read.
pub fn find(store: &Path, which: &str) -> Result<Record, ResultsError> {
    match find_entry(store, which, &[EntryKind::Run])? {
        Found::Run(_, record) => Ok(*record),
        Found::Comparison(_) | Found::Experiment(_) | Found::QuerySet(_) | Found::Search(_) => {
            unreachable!("only runs are looked for")
        }
    }
}

/// Whether this is a path and not a label: it names a file, or is written as no label can be.
fn is_path(which: &str) -> bool {
    which.parse::<crate::Label>().is_err() || Path::new(which).is_file()
}

impl Store {
    /// The entry `which` of one of these kinds, by its number, its age or its label.
    ///
    /// # Errors
    /// The store has no such entry.
    pub fn entry(&self, which: &str, kinds: &[EntryKind]) -> Result<EntryId, ResultsError> {
        let found = match called(which) {
            Some(Called::Id(id)) if kinds.contains(&id.kind) => {
                self.exists(id).map(|exists| exists.then_some(id))
            }
            Some(Called::Id(_)) => Ok(None),
            Some(Called::Ago(ago)) if kinds.contains(&EntryKind::Run) => self.run_ago(ago),
            Some(Called::Ago(ago)) => self.newest(kinds, ago),
            None => self.labelled(which, kinds),
        };
        found.map_err(failed(&self.path))?.ok_or_else(|| self.missing(which, kinds))
    }

    /// The message that the store has no such entry.
    fn missing(&self, which: &str, kinds: &[EntryKind]) -> ResultsError {
        let store = shown(&self.path);
        let id = which.parse::<EntryId>();
        let removed = id.as_ref().ok().and_then(|id| self.removed_at(*id).ok().flatten());
        let kind = match (&id, kinds) {
            (Ok(id), _) => id.kind.name(),
            (Err(_), [only]) => only.name(),
            (Err(_), _) => "run",
        };
        let shown = in_one_line(which);
        ResultsError::Refused(match (called(which), removed) {
            (Some(_), Some(at)) => format!("{kind} {shown} was removed from the store {store} on {at}"),
            (Some(_), None) => {
                format!(
                    "there is no {kind} {shown} in the store {store}: `pgmeter runs` lists those that are"
                )
            }
            (None, _) => {
                let kinds: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
                format!(
                    "there is no file {shown}, and no {} of the store {store} has this label: `pgmeter runs` lists \
                     the labels",
                    kinds.join(" or ")
                )
            }
        })
    }

    /// When a run started, in the words of its record; runs without a record have it too.
    ///
    /// # Errors
    /// The store has no such run, or cannot be read.
    pub fn started_at(&self, run: i64) -> Result<String, ResultsError> {
        let sql = "SELECT started_at FROM runs WHERE run = ?1";
        self.connection.query_row(sql, [run], |row| row.get(0)).map_err(failed(&self.path))
    }

    pub(super) fn exists(&self, id: EntryId) -> rusqlite::Result<bool> {
        let (table, column) = (id.kind.table(), id.kind.column());
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE {column} = ?1)");
        self.connection.query_row(&sql, [id.number], |row| row.get(0))
    }

    fn removed_at(&self, id: EntryId) -> rusqlite::Result<Option<String>> {
        let sql = "SELECT removed_at FROM removals WHERE kind = ?1 AND number = ?2";
        let found = self.connection.query_row(sql, params![id.kind.column(), id.number], |row| row.get(0));
        found.optional()
    }

    fn run_ago(&self, ago: i64) -> rusqlite::Result<Option<EntryId>> {
        let sql = "SELECT run FROM runs WHERE record_path IS NOT NULL ORDER BY run DESC LIMIT 1 OFFSET ?1";
        let found = self.connection.query_row(sql, [ago], |row| row.get(0)).optional()?;
        Ok(found.map(|number| EntryId { kind: EntryKind::Run, number }))
    }

    /// The newest entry of the first of these kinds, or one before it.
    fn newest(&self, kinds: &[EntryKind], ago: i64) -> rusqlite::Result<Option<EntryId>> {
        let Some(kind) = kinds.first().copied() else { return Ok(None) };
        let (table, column) = (kind.table(), kind.column());
        let sql = format!("SELECT {column} FROM {table} ORDER BY {column} DESC LIMIT 1 OFFSET ?1");
        let found = self.connection.query_row(&sql, [ago], |row| row.get(0)).optional()?;
        Ok(found.map(|number| EntryId { kind, number }))
    }

    /// The newest entry with this label; runs with a record come first, since only these can be shown.
    fn labelled(&self, label: &str, kinds: &[EntryKind]) -> rusqlite::Result<Option<EntryId>> {
        let Ok(label) = label.parse::<crate::Label>() else { return Ok(None) };
        let mut newest: Option<((bool, String, i64), EntryId)> = None;
        for &kind in kinds {
            let has_record = if kind == EntryKind::Run { "record_path IS NOT NULL" } else { "1" };
            let (table, column) = (kind.table(), kind.column());
            let sql = format!(
                "SELECT {has_record}, started_at, {column} FROM {table} WHERE label = ?1 ORDER BY 1 DESC, 2 DESC, 3 DESC \
                 LIMIT 1"
            );
            let row = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            let found = self.connection.query_row(&sql, [label.as_str()], row).optional()?;
            if let Some(found) =
                found.filter(|found| newest.as_ref().is_none_or(|(newest, _)| found > newest))
            {
                let id = EntryId { kind, number: found.2 };
                newest = Some((found, id));
            }
        }
        Ok(newest.map(|(_, id)| id))
    }

    /// The record of a stored run, with the label and the note that it has in the store.
    pub(super) fn record(&self, run: i64) -> Result<Record, ResultsError> {
        let path = self.record_path(run)?;
        let annotation = self.annotation(EntryId { kind: EntryKind::Run, number: run })?;
        Ok(Record { annotation, ..Record::read_regular(&path)? })
    }

    /// The path of the record of a stored run.
    fn record_path(&self, run: i64) -> Result<PathBuf, ResultsError> {
        let read = || {
            let sql = "SELECT status, record_path, alive_at FROM runs WHERE run = ?1";
            self.connection.query_row(sql, [run], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        };
        let (status, path, alive_at): (String, Option<String>, Option<String>) =
            read().map_err(failed(&self.path))?;
        match path {
            Some(path) => Ok(directory_of(&self.path).join(path)),
            None => {
                let is_gone = self.gone().map_err(failed(&self.path))?.contains(&run);
                let status = if is_gone { RunStatus::Killed.name() } else { &status };
                let alive_at = alive_at.filter(|_| status == RunStatus::Killed.name());
                let alive_at =
                    alive_at.map(|at| format!(", and its last sign of life was at {}", in_one_line(&at)));
                let store = shown(&self.path);
                Err(ResultsError::Refused(format!(
                    "run {run} in the store {store} has no record: it is {status}{}",
                    alive_at.unwrap_or_default()
                )))
            }
        }
    }

    /// The label and the note of an entry. Texts that are none are ignored: others may have changed the store.
    ///
    /// # Errors
    /// The store cannot be read, or has no such entry.
    pub fn annotation(&self, id: EntryId) -> Result<Annotation, ResultsError> {
        let (table, column) = (id.kind.table(), id.kind.column());
        let sql = format!("SELECT label, note FROM {table} WHERE {column} = ?1");
        self.connection.query_row(&sql, [id.number], |row| annotation(row, 0)).map_err(failed(&self.path))
    }

    /// Sets the label and the note of an entry.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn annotate(&mut self, id: EntryId, annotation: &Annotation) -> Result<(), ResultsError> {
        let (table, column) = (id.kind.table(), id.kind.column());
        let sql = format!("UPDATE {table} SET label = ?2, note = ?3 WHERE {column} = ?1");
        let Annotation { label, note } = annotation;
        let (label, note) =
            (label.as_ref().map(crate::Label::as_str), note.as_ref().map(crate::Note::as_str));
        self.connection.execute(&sql, params![id.number, label, note]).map(drop).map_err(failed(&self.path))
    }
}
