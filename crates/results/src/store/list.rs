//! The stored runs, one line each, with identification and main figures.
//! The complete figures are in the records.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Store, failed};
use crate::ResultsError;
use crate::safe_text::indented;

/// A stored run in the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunLine {
    /// Its number.
    pub run: i64,
    /// Its status.
    pub status: RunStatus,
    /// Start time, UTC.
    pub started_at: String,
    /// Names of its scripts, joined by `+`.
    pub scripts: String,
    /// Server version.
    pub server_version: Option<String>,
    /// Number of clients.
    pub clients: u32,
    /// Measured seconds.
    pub duration_s: Option<f64>,
    /// Transactions per second.
    pub tps: Option<f64>,
    /// Lower bound of its 95 % interval.
    pub tps_low: Option<f64>,
    /// Upper bound of its 95 % interval.
    pub tps_high: Option<f64>,
    /// 99th percentile of the response times.
    pub p99_us: Option<f64>,
    /// Failed transactions.
    pub failed: Option<i64>,
    /// The limit, with the name in the views.
    #[serde(rename = "limited_by")]
    pub limit: Option<String>,
    /// Number of warnings in its record.
    pub warnings: Option<i64>,
    /// Path of its record; relative to the store's directory unless it is absolute.
    pub record_path: Option<String>,
    /// Its trial, if it belongs to an experiment.
    pub trial: Option<TrialOfRun>,
}

/// The trial of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrialOfRun {
    /// The experiment's name.
    pub experiment: String,
    /// Factors and levels.
    pub factors: BTreeMap<String, String>,
    /// Number of the repeat, from 1.
    pub repeat: u32,
}

/// Status of a run in the store.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Its process has not stored its end yet.
    Running,
    /// It ran to its planned end.
    Complete,
    /// The user interrupted it.
    Interrupted,
    /// It failed.
    Failed,
    /// Its process ended without storing the run's end.
    Killed,
}

impl RunStatus {
    /// The name in the store and in output.
    pub fn name(self) -> &'static str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Complete => "complete",
            RunStatus::Interrupted => "interrupted",
            RunStatus::Failed => "failed",
            RunStatus::Killed => "killed",
        }
    }

    fn of(name: &str) -> RunStatus {
        let all = [RunStatus::Running, RunStatus::Complete, RunStatus::Interrupted, RunStatus::Failed];
        all.into_iter().find(|status| status.name() == name).unwrap_or(RunStatus::Killed)
    }
}

/// The list as JSON, for programs.
pub fn runs_json(runs: &[RunLine]) -> String {
    indented(&runs)
}

const LINES: &str = "SELECT run, runs.status, runs.started_at, scripts, server_version, clients, duration_s, tps, \
                     tps_low, tps_high, p99_us, failed, limited_by, warnings, record_path, \
                     experiments.name, factors, repeat \
                     FROM (SELECT * FROM run_summary ORDER BY run DESC LIMIT ?1) AS runs \
                     LEFT JOIN trials USING (run) LEFT JOIN experiments USING (experiment) ORDER BY run DESC";

/// From the last columns of [`LINES`].
fn trial(row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<TrialOfRun>> {
    let Some(experiment) = row.get::<_, Option<String>>(15)? else { return Ok(None) };
    let factors: String = row.get(16)?;
    Ok(Some(TrialOfRun {
        experiment,
        factors: serde_json::from_str(&factors).unwrap_or_default(),
        repeat: row.get(17)?,
    }))
}

impl Store {
    /// The newest `count_max` runs in ascending order. A run whose process has gone is returned as killed, even if the
    /// store is read-only.
    ///
    /// # Errors
    /// The store cannot be read.
    /// If the store cannot be read.
    pub fn runs(&self, count_max: u32) -> Result<Vec<RunLine>, ResultsError> {
        let lines = || -> rusqlite::Result<Vec<RunLine>> {
            let gone = self.gone()?;
            let mut statement = self.connection.prepare(LINES)?;
            let rows = statement.query_map([count_max], |row| {
                let run = row.get(0)?;
                let status = RunStatus::of(&row.get::<_, String>(1)?);
                Ok(RunLine {
                    run,
                    status: if gone.contains(&run) { RunStatus::Killed } else { status },
                    started_at: row.get(2)?,
                    scripts: row.get::<_, Option<String>>(3)?.unwrap_or_default(),
                    server_version: row.get(4)?,
                    clients: row.get(5)?,
                    duration_s: row.get(6)?,
                    tps: row.get(7)?,
                    tps_low: row.get(8)?,
                    tps_high: row.get(9)?,
                    p99_us: row.get(10)?,
                    failed: row.get(11)?,
                    limit: row.get(12)?,
                    warnings: row.get(13)?,
                    record_path: row.get(14)?,
                    trial: trial(row)?,
                })
            })?;
            rows.collect()
        };
        let mut lines = lines().map_err(failed(&self.path))?;
        lines.reverse();
        Ok(lines)
    }
}
