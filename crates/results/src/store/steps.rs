//! Trials of timed steps: their record is kept in the store itself, in the same commit that ends the trial. So a trial is
//! complete with all its figures, or it is made again.

use rusqlite::params;

use super::Store;
use super::trials::end;
use super::write::json;
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
}
