//! Trials: runs that belong to an experiment, each with the factors that it was made with.
//! Here they are only kept; which are made, and in which order, is decided elsewhere.

use std::collections::BTreeMap;

use rusqlite::params;

use super::write::json;
use super::{Store, failed};
use crate::ResultsError;

/// How a trial stands.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum TrialStatus {
    /// It is to be made.
    Planned,
    /// It is going on.
    Running,
    /// Its run is complete.
    Complete,
    /// It came to nothing.
    Failed,
    /// It will not be made.
    Skipped,
}

impl TrialStatus {
    /// As it is stored.
    pub fn name(self) -> &'static str {
        match self {
            TrialStatus::Planned => "planned",
            TrialStatus::Running => "running",
            TrialStatus::Complete => "complete",
            TrialStatus::Failed => "failed",
            TrialStatus::Skipped => "skipped",
        }
    }
}

impl Store {
    /// Plans a trial of an experiment with these factors, the `repeat`th of its kind from 0; returns its number.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn plan_trial(
        &mut self,
        experiment: &str,
        factors: &BTreeMap<String, serde_json::Value>,
        repeat: u32,
    ) -> Result<i64, ResultsError> {
        let inserted = self.connection.execute(
            "INSERT INTO trials (experiment, factors, repeat, status) VALUES (?1, ?2, ?3, 'planned')",
            params![experiment, json(factors), repeat],
        );
        inserted.map_err(failed(&self.path))?;
        Ok(self.connection.last_insert_rowid())
    }

    /// Says how a trial stands now, and of which run it is.
    ///
    /// # Errors
    /// If the store cannot be written, or has no such run.
    pub fn mark_trial(
        &mut self,
        trial: i64,
        status: TrialStatus,
        run: Option<i64>,
    ) -> Result<(), ResultsError> {
        let sql = "UPDATE trials SET status = ?2, run = coalesce(?3, run) WHERE trial = ?1";
        let updated = self.connection.execute(sql, params![trial, status.name(), run]);
        updated.map(drop).map_err(failed(&self.path))
    }
}
