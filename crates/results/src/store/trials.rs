//! Experiments and their trials. One commit plans all trials; each trial is marked before and after it runs, so that an
//! experiment can continue after its process was killed. The caller decides which trials run, in which order.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};

use super::executions::{may_be_worked_on_elsewhere, worked_on_by};
use super::process::Process;
use super::write::json;
use super::{Store, failed};
use crate::{ExperimentDesign, KeptText, ResultsError, SafeText, UtcTime};

/// Status of a trial.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum TrialStatus {
    /// It has not run yet.
    Planned,
    /// It is running.
    Running,
    /// Its run is complete.
    Complete,
    /// It failed.
    Failed,
}

const STATUSES: [TrialStatus; 4] =
    [TrialStatus::Planned, TrialStatus::Running, TrialStatus::Complete, TrialStatus::Failed];

impl TrialStatus {
    /// The name in the store.
    pub fn name(self) -> &'static str {
        match self {
            TrialStatus::Planned => "planned",
            TrialStatus::Running => "running",
            TrialStatus::Complete => "complete",
            TrialStatus::Failed => "failed",
        }
    }

    /// From the name; the table's constraint excludes other names.
    pub(super) fn of(name: &str) -> Self {
        STATUSES.into_iter().find(|known| known.name() == name).unwrap_or(TrialStatus::Planned)
    }
}

/// A planned trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedTrial {
    /// Factors and levels.
    pub factors: BTreeMap<String, String>,
    /// Number of the repeat, from 1.
    pub repeat: u32,
}

/// An experiment with planned trials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedExperiment {
    /// Its name.
    pub name: String,
    /// Its profile.
    pub profile: String,
    /// Names of its files, relative to its directory.
    pub files: Vec<String>,
    /// Number of planned trials.
    pub left: i64,
    /// Number of all trials.
    pub trials: i64,
}

/// A stored experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentRow {
    /// Its number.
    pub experiment: i64,
    /// Start of the experiment.
    pub started_at: String,
    /// Contents of its file and of referenced files, by name.
    pub files: BTreeMap<String, KeptText>,
    /// Number of the process that is known to be running it, if any.
    pub worked_on_by: Option<i64>,
    /// Trials in the planned order.
    pub trials: Vec<TrialRow>,
}

/// A stored trial.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialRow {
    /// Its number in the store.
    pub trial: i64,
    /// Factors and levels.
    pub factors: BTreeMap<String, String>,
    /// Number of the repeat, from 1.
    pub repeat: u32,
    /// Its status.
    pub status: TrialStatus,
    /// Why it failed.
    pub reason: Option<String>,
    /// Its run.
    pub run: Option<i64>,
    /// The main figures of that run, if it is complete.
    pub figures: Option<TrialFigures>,
}

/// The main figures of a trial of load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialFigures {
    /// Transactions per second.
    pub tps: f64,
    /// Median response time in microseconds; `None` if no transaction succeeded.
    pub p50_us: Option<f64>,
    /// 99th percentile, like `p50_us`.
    pub p99_us: Option<f64>,
}

impl Store {
    /// Adds an experiment with all its trials in one transaction. Returns its number.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn begin_experiment(
        &mut self,
        name: &str,
        profile: &str,
        files: &BTreeMap<String, String>,
        trials: &[PlannedTrial],
        design: Option<&ExperimentDesign>,
    ) -> Result<i64, ResultsError> {
        let started_at = UtcTime::now().to_string();
        self.in_transaction(|transaction| {
            transaction.execute(
                "INSERT INTO experiments (name, profile, files, started_at, hostname, design) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    name,
                    profile,
                    json(&kept(files)),
                    started_at,
                    Process::own().hostname,
                    design.map(json)
                ],
            )?;
            let experiment = transaction.last_insert_rowid();
            let sql = "INSERT INTO trials (experiment, position, factors, repeat, status) \
                       VALUES (?1, ?2, ?3, ?4, 'planned')";
            let mut statement = transaction.prepare(sql)?;
            for (position, trial) in (1_i64..).zip(trials) {
                statement.execute(params![experiment, position, json(&trial.factors), trial.repeat])?;
            }
            Ok(experiment)
        })
    }

    /// The newest experiment of this name in this profile. Trials that a killed process left as running become complete
    /// if their runs are complete, otherwise planned.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub fn newest_experiment(
        &mut self,
        name: &str,
        profile: &str,
    ) -> Result<Option<ExperimentRow>, ResultsError> {
        self.in_transaction(|transaction| {
            let sql = "SELECT experiment, started_at, files FROM experiments \
                       WHERE name = ?1 AND profile = ?2 ORDER BY experiment DESC LIMIT 1";
            let found = transaction.query_row(sql, [name, profile], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
            });
            let Some((experiment, started_at, files)) = found.optional()? else { return Ok(None) };
            let worked_on_by = worked_on_by(transaction, experiment)?;
            if worked_on_by.is_none() {
                // A process on another host keeps its trials, unless its run has ended.
                let otherwise = if may_be_worked_on_elsewhere(transaction, experiment)? {
                    "WHEN 'killed' THEN 'planned' ELSE 'running'"
                } else {
                    "WHEN 'running' THEN 'running' ELSE 'planned'"
                };
                let sql = format!(
                    "UPDATE trials SET status = CASE (SELECT runs.status FROM runs WHERE runs.run = trials.run) \
                     WHEN 'complete' THEN 'complete' {otherwise} END WHERE experiment = ?1 AND status = 'running'"
                );
                transaction.execute(&sql, [experiment])?;
            }
            let sql = "SELECT trial, factors, repeat, trials.status, trials.reason, run, \
                       tps, p50_us, p99_us \
                       FROM trials LEFT JOIN run_summary USING (run) WHERE experiment = ?1 ORDER BY position";
            let mut statement = transaction.prepare(sql)?;
            let trials = statement.query_map([experiment], trial_row)?.collect::<Result<_, _>>()?;
            let files = serde_json::from_str(&files).unwrap_or_default();
            Ok(Some(ExperimentRow { experiment, started_at, files, worked_on_by, trials }))
        })
    }

    /// Experiments whose newest execution has planned trials, newest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn unfinished_experiments(&self) -> Result<Vec<UnfinishedExperiment>, ResultsError> {
        let read = || {
            let sql = "SELECT name, profile, files, sum(status = 'planned'), count(*) \
                       FROM experiments AS it JOIN trials USING (experiment) \
                       WHERE experiment = (SELECT max(experiment) FROM experiments AS same \
                                           WHERE same.name = it.name AND same.profile = it.profile) \
                       GROUP BY experiment HAVING sum(status = 'planned') > 0 ORDER BY experiment DESC";
            let mut statement = self.connection.prepare(sql)?;
            let rows = statement.query_map([], |row| {
                let files: String = row.get(2)?;
                let files: BTreeMap<String, KeptText> = serde_json::from_str(&files).unwrap_or_default();
                Ok(UnfinishedExperiment {
                    name: row.get(0)?,
                    profile: row.get(1)?,
                    files: files.into_keys().collect(),
                    left: row.get(3)?,
                    trials: row.get(4)?,
                })
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(failed(&self.path))
    }

    /// Reserves a planned trial before its preparation; false if another process has reserved it.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn take_trial(&mut self, trial: i64) -> Result<bool, ResultsError> {
        let sql = "UPDATE trials SET status = 'running', reason = NULL, run = NULL \
                   WHERE trial = ?1 AND status = 'planned'";
        self.connection.execute(sql, [trial]).map(|taken| taken == 1).map_err(failed(&self.path))
    }

    /// Marks the start of a trial with this run.
    ///
    /// # Errors
    /// The store cannot be written, or has no such run.
    pub fn begin_trial(&mut self, trial: i64, run: i64) -> Result<(), ResultsError> {
        let sql = "UPDATE trials SET status = 'running', reason = NULL, run = ?2 WHERE trial = ?1";
        self.connection.execute(sql, [trial, run]).map(drop).map_err(failed(&self.path))
    }

    /// Marks the end of a trial: complete, or failed with this reason.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn end_trial(&mut self, trial: i64, failure: Option<&str>) -> Result<(), ResultsError> {
        end(&self.connection, trial, failure).map_err(failed(&self.path))
    }

    /// Resets failed trials of an experiment to planned.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn retry_failed(&mut self, experiment: i64) -> Result<(), ResultsError> {
        let sql = "UPDATE trials SET status = 'planned' WHERE experiment = ?1 AND status = 'failed'";
        self.connection.execute(sql, [experiment]).map(drop).map_err(failed(&self.path))
    }
}

/// Marks the trial as complete, or as failed with this reason.
pub(super) fn end(connection: &Connection, trial: i64, failure: Option<&str>) -> rusqlite::Result<()> {
    let status = if failure.is_none() { TrialStatus::Complete } else { TrialStatus::Failed };
    let reason = failure.map(|reason| SafeText::from(reason).as_str().to_owned());
    let sql = "UPDATE trials SET status = ?2, reason = ?3 WHERE trial = ?1";
    connection.execute(sql, params![trial, status.name(), reason]).map(drop)
}

/// Contents of files in the form for the store.
pub(super) fn kept(files: &BTreeMap<String, String>) -> BTreeMap<&String, KeptText> {
    files.iter().map(|(name, text)| (name, KeptText::of_file(name, text))).collect()
}

fn trial_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<TrialRow> {
    Ok(TrialRow {
        trial: row.get(0)?,
        factors: serde_json::from_str(&row.get::<_, String>(1)?).unwrap_or_default(),
        repeat: row.get(2)?,
        status: TrialStatus::of(&row.get::<_, String>(3)?),
        reason: row.get(4)?,
        run: row.get(5)?,
        figures: match row.get(6)? {
            Some(tps) => Some(TrialFigures { tps, p50_us: row.get(7)?, p99_us: row.get(8)? }),
            None => None,
        },
    })
}
