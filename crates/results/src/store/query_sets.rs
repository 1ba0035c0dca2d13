//! Query sets: each is a row with its record as JSON. Written once, when a query set has ended or was interrupted; the
//! record has the label and the note that it was started with, the columns have the current ones.

use rusqlite::{Connection, Row, params};

use super::process::Process;
use super::write::json;
use super::{Store, annotation, failed};
use crate::upgrade::STEPS;
use crate::{Annotation, Label, Note, ResultsError, Status, StepsRecord, UtcTime};

impl Store {
    /// Adds a query set; returns its number.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn add_query_set(&mut self, record: &StepsRecord) -> Result<i64, ResultsError> {
        let (ended_at, hostname) = (UtcTime::now().to_string(), Process::own().hostname);
        insert(&self.connection, record, &ended_at, &hostname).map_err(failed(&self.path))
    }

    /// Adds query sets and returns them with their names, such as `query set s7`.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn add_query_sets(
        &mut self,
        records: Vec<StepsRecord>,
    ) -> Result<Vec<(String, StepsRecord)>, ResultsError> {
        let add = |record| Ok((format!("query set s{}", self.add_query_set(&record)?), record));
        records.into_iter().map(add).collect()
    }

    /// A query set by its number, with the label and the note that it has in the store.
    ///
    /// # Errors
    /// The store cannot be read, or has no query set with this number, or one of another schema.
    pub fn query_set(&self, number: i64) -> Result<StepsRecord, ResultsError> {
        let sql = "SELECT record, label, note FROM query_sets WHERE query_set = ?1";
        let row = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, annotation(row, 1)?));
        let (record, annotation) =
            self.connection.query_row(sql, [number], row).map_err(failed(&self.path))?;
        Ok(StepsRecord { annotation, ..STEPS.read(record.as_bytes(), &self.path)? })
    }
}

/// Inserts the row of a query set; returns its number.
pub(super) fn insert(
    connection: &Connection,
    record: &StepsRecord,
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
        "INSERT INTO query_sets (name, status, started_at, ended_at, record, hostname, label, note) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            record.set_name(),
            status,
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
