//! Trials of timed steps: the store itself contains their record, written in the commit that ends the trial. So a
//! complete trial has all its figures.

use rusqlite::params;

use super::Store;
use super::trials::end;
use super::write::json;
use crate::{ResultsError, StepsRecord};

impl Store {
    /// Ends a trial of steps: complete, or failed with this reason. Measurements are stored in both cases.
    ///
    /// # Errors
    /// The store cannot be written, or has no such trial.
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
}
