//! The stored runs, one line each, for people who look for one.
//! Not the figures of a run, which are in its record.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Store, failed};
use crate::ResultsError;
use crate::safe_text::indented;

/// A stored run with what tells it from others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunLine {
    /// What it is called.
    pub run: i64,
    /// How it ended, if it did.
    pub status: RunStatus,
    /// When it began, UTC.
    pub started_at: String,
    /// The names of its scripts, joined by `+`.
    pub scripts: String,
    /// Its server's version.
    pub server_version: Option<String>,
    /// Its clients.
    pub clients: u32,
    /// Seconds it measured.
    pub duration_s: Option<f64>,
    /// Transactions per second.
    pub tps: Option<f64>,
    /// The 95 % interval of that.
    pub tps_low: Option<f64>,
    /// The 95 % interval of that.
    pub tps_high: Option<f64>,
    /// The 99th percentile of its response times.
    pub p99_us: Option<f64>,
    /// Transactions that failed.
    pub failed: Option<i64>,
    /// Who limited it, called as in the views.
    #[serde(rename = "limited_by")]
    pub limit: Option<String>,
    /// How many warnings its record has.
    pub warnings: Option<i64>,
    /// Its record, beside the store unless this is a whole path.
    pub record_path: Option<String>,
    /// The trial that it was made for, if it was one of an experiment.
    pub trial: Option<TrialOfRun>,
}

/// What a run was a trial of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrialOfRun {
    /// The experiment's name.
    pub experiment: String,
    /// Factors and levels.
    pub factors: BTreeMap<String, String>,
    /// Which of its kind, from 1.
    pub repeat: u32,
}

/// How a run stands in the store.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Its process has not told its end yet.
    Running,
    /// It ran as long as it was asked to.
    Complete,
    /// The user stopped it.
    Interrupted,
    /// It could not go on.
    Failed,
    /// Its process went away without a word.
    Killed,
}

impl RunStatus {
    /// As it is stored and shown.
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
    /// The newest `count_max` runs, oldest of them first. One whose process is gone is killed, whether or not that could
    /// be stored.
    ///
    /// # Errors
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
