//! Searches: each is a row with its record as JSON. Written while the search goes on and when it ends; the record has
//! the label and the note that it was started with, the columns have the current ones.

use rusqlite::{Connection, Row, params};

use super::process::Process;
use super::trials::end;
use super::write::json;
use super::{Store, annotation, failed};
use crate::upgrade::SEARCH;
use crate::{Annotation, Label, Note, ResultsError, SearchRecord, Status, UtcTime};

impl Store {
    /// Adds a search; returns its number.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn add_search(&mut self, record: &SearchRecord) -> Result<i64, ResultsError> {
        let (ended_at, hostname) = (UtcTime::now().to_string(), Process::own().hostname);
        insert(&self.connection, record, &ended_at, &hostname).map_err(failed(&self.path))
    }

    /// Writes a search that has gone on in place of its last state; its label and note stay. False if its row was removed
    /// since.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn replace_search(&mut self, number: i64, record: &SearchRecord) -> Result<bool, ResultsError> {
        let sql =
            "UPDATE searches SET status = ?2, answer = ?3, ended_at = ?4, record = ?5 WHERE search = ?1";
        let values = params![
            number,
            status(record),
            record.search.answer.name(),
            UtcTime::now().to_string(),
            json(record)
        ];
        self.connection.execute(sql, values).map(|rows| rows > 0).map_err(failed(&self.path))
    }

    /// The newest searches, the last one first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn newest_searches(&self) -> Result<Vec<(i64, SearchRecord)>, ResultsError> {
        let read = || -> rusqlite::Result<Vec<i64>> {
            let sql = "SELECT search FROM searches ORDER BY search DESC LIMIT ?1";
            let mut statement = self.connection.prepare(sql)?;
            let rows = statement.query_map([NEWEST_MAX], |row| row.get(0))?;
            rows.collect()
        };
        let numbers = read().map_err(failed(&self.path))?;
        numbers.into_iter().map(|number| Ok((number, self.search(number)?))).collect()
    }

    /// Ends a trial that is a search: complete, or failed with this reason. The search is stored in both cases.
    ///
    /// # Errors
    /// The store cannot be written, or has no such trial.
    pub fn end_search(
        &mut self,
        trial: i64,
        record: &SearchRecord,
        failure: Option<&str>,
    ) -> Result<(), ResultsError> {
        let record = json(record);
        self.in_transaction(|transaction| {
            let sql = "INSERT OR REPLACE INTO trial_searches (trial, record) VALUES (?1, ?2)";
            transaction.execute(sql, params![trial, record])?;
            end(transaction, trial, failure)
        })
    }

    /// A search by its number, with the label and the note that it has in the store.
    ///
    /// # Errors
    /// The store cannot be read, or has no search with this number, or one of another schema.
    pub fn search(&self, number: i64) -> Result<SearchRecord, ResultsError> {
        let sql = "SELECT record, label, note FROM searches WHERE search = ?1";
        let row = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, annotation(row, 1)?));
        let (record, annotation) =
            self.connection.query_row(sql, [number], row).map_err(failed(&self.path))?;
        Ok(SearchRecord { annotation, ..SEARCH.read(record.as_bytes(), &self.path)? })
    }
}

/// Searches among which one to continue is looked for.
const NEWEST_MAX: u32 = 20;

fn status(record: &SearchRecord) -> &'static str {
    match record.status {
        Status::Complete => "complete",
        Status::Interrupted => "interrupted",
        Status::Failed { .. } => "failed",
    }
}

/// Inserts the row of a search; returns its number.
pub(super) fn insert(
    connection: &Connection,
    record: &SearchRecord,
    ended_at: &str,
    hostname: &str,
) -> rusqlite::Result<i64> {
    let Annotation { label, note } = &record.annotation;
    connection.execute(
        "INSERT INTO searches (name, status, answer, started_at, ended_at, record, hostname, label, note) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            record.name(),
            status(record),
            record.search.answer.name(),
            record.started_at.to_string(),
            ended_at,
            json(record),
            hostname,
            label.as_ref().map(Label::as_str),
            note.as_ref().map(Note::as_str),
        ],
    )?;
    Ok(connection.last_insert_rowid())
}
