//! Trials of timed steps: their record is kept in the store itself, in the same commit that ends the trial. So a trial is
//! complete with all its figures, or it is made again.

use rusqlite::{OptionalExtension, params};

use super::trials::end;
use super::write::json;
use super::{Store, failed};
use crate::{ResultsError, StepsRecord};

impl Store {
    /// A trial of steps is over: complete, or failed for this reason; what it measured until then is kept either way.
    ///
    /// # Errors
    /// If the store cannot be written, or has no such trial.
    pub fn end_steps(
        &mut self,
        trial: i64,
        record: &StepsRecord,
        failure: Option<&str>,
    ) -> Result<(), ResultsError> {
        let record = json(record);
        self.in_transaction(|transaction| {
            let sql = "INSERT OR REPLACE INTO steps (trial, record) VALUES (?1, ?2)";
            transaction.execute(sql, params![trial, record])?;
            end(transaction, trial, failure)
        })
    }

    /// What was measured of a trial of steps; `None` if it is one of load, or was not made yet.
    ///
    /// # Errors
    /// If the store cannot be read, or the record is of a newer schema.
    pub fn steps_of(&self, trial: i64) -> Result<Option<StepsRecord>, ResultsError> {
        let sql = "SELECT record FROM steps WHERE trial = ?1";
        let found = self.connection.query_row(sql, [trial], |row| row.get::<_, String>(0)).optional();
        let json = found.map_err(failed(&self.path))?;
        json.map(|json| StepsRecord::from_json(json.as_bytes(), &self.path)).transpose()
    }
}
