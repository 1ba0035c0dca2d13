//! Searches: each is a row with its record as JSON. Written once, when a search has ended or was interrupted; the record has
//! the label and the note that it was started with, the columns have the current ones.

use rusqlite::{Connection, Row, params};

use super::process::Process;
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

/// Inserts the row of a search; returns its number.
pub(super) fn insert(
    connection: &Connection,
    record: &SearchRecord,
    ended_at: &str,
    hostname: &str,
) -> rusqlite::Result<i64> {
    let Annotation { label, note } = &record.annotation;
    let status = match record.status {
        Status::Complete => "complete",
        Status::Interrupted => "interrupted",
        Status::Failed { .. } => "failed",
    };
    connection.execute(
        "INSERT INTO searches (name, status, answer, started_at, ended_at, record, hostname, label, note) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            record.name(),
            status,
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
