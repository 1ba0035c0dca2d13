//! A complete experiment for reports: trials and their measurements, from the database alone. It contains everything
//! except the intervals; the records are not opened. `trials` has what running an experiment requires.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, Row, params};
use serde::de::DeserializeOwned;

use super::{Store, TrialStatus, annotation, failed};
use crate::{
    Annotation, BackendMemory, Ceiling, CounterTable, Environment, ExperimentDesign, KeptText, LimitedBy,
    Observation, PerTransaction, Plan, ResultsError, SearchRecord, StandbyFigures, StepsRecord, Summary,
    Waits, Warning,
};

/// An experiment with all its trials.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredExperiment {
    /// Its number.
    pub experiment: i64,
    /// Label and note.
    pub annotation: Annotation,
    /// The name in its file.
    pub name: String,
    /// `full` or `quick`.
    pub profile: String,
    /// Start of the experiment.
    pub started_at: String,
    /// Contents of its file and of referenced files, by name, with masked secrets.
    pub files: BTreeMap<String, String>,
    /// What its file says; `None` if this version cannot read it.
    pub design: Option<ExperimentDesign>,
    /// Trials in the order of execution.
    pub trials: Vec<StoredTrial>,
}

/// A trial and its result.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredTrial {
    /// Factors and levels.
    pub factors: BTreeMap<String, String>,
    /// Number of the repeat, from 1.
    pub repeat: u32,
    /// Its status; a trial of a killed process counts as planned.
    pub status: TrialStatus,
    /// Why it failed.
    pub reason: Option<String>,
    /// Its latest run.
    pub run: Option<StoredRun>,
    /// Measurements of a trial of timed steps.
    pub steps: Option<StepsRecord>,
    /// The search of a trial that is one.
    pub search: Option<SearchRecord>,
}

/// The columns of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRun {
    /// Its number.
    pub run: i64,
    /// The plan.
    pub plan: Option<Plan>,
    /// The statistics; `None` if the run failed, or if this version cannot read them.
    pub summary: Option<Summary>,
    /// Client's host and server.
    pub environment: Option<Environment>,
    /// Wait events of the backends.
    pub waits: Option<Waits>,
    /// The server's cost per transaction.
    pub costs: PerTransaction,
    /// Upper bounds of the throughput.
    pub ceilings: Vec<Ceiling>,
    /// Memory of the backends.
    pub backend_memory: Option<BackendMemory>,
    /// The figures of the server's standbys.
    pub standbys: StandbyFigures,
    /// Sizes of its tables and their indexes, at its end.
    pub sizes: Option<TableSizes>,
    /// Its cautions.
    pub warnings: Vec<Warning>,
    /// The version of pgmeter.
    pub pgmeter_version: String,
}

/// Sizes of tables and of their indexes, in bytes.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub struct TableSizes {
    /// Size of the tables, with TOAST tables, free space and visibility maps.
    pub table_bytes: f64,
    /// All indexes of these tables.
    pub index_bytes: f64,
}

impl TableSizes {
    /// The sum over all observed tables; `None` without any.
    fn of(counters: &[CounterTable]) -> Option<TableSizes> {
        let tables = counters.iter().find(|table| table.view == "pg_stat_user_tables")?;
        let sizes = tables.rows.iter().filter_map(|row| {
            let size = |column: &str| row.values.get(column).copied();
            Some((size("table_bytes_at_end")?, size("indexes_bytes_at_end")?))
        });
        sizes.fold(None, |sum, (tables, indexes)| {
            let TableSizes { table_bytes, index_bytes } = sum.unwrap_or_default();
            Some(TableSizes { table_bytes: table_bytes + tables, index_bytes: index_bytes + indexes })
        })
    }
}

impl StoredRun {
    /// What limited the run, if known.
    pub fn limited_by(&self) -> Option<LimitedBy> {
        Some(self.summary.as_ref()?.generator.as_ref()?.verdict.limit)
    }
}

const TRIALS: &str = "SELECT factors, repeat, trials.status, trials.reason, trials.run, runs.status, \
                      runs.summary, runs.environment, runs.observation, runs.warnings, runs.pgmeter_version, \
                      runs.plan, steps.record, trial_searches.record \
                      FROM trials LEFT JOIN runs ON runs.run = trials.run \
                      LEFT JOIN steps ON steps.trial = trials.trial \
                      LEFT JOIN trial_searches ON trial_searches.trial = trials.trial \
                      WHERE experiment = ?1 ORDER BY position";

impl Store {
    /// Names of the stored experiments, newest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn experiment_names(&self) -> Result<Vec<String>, ResultsError> {
        let names = || -> rusqlite::Result<Vec<String>> {
            let sql = "SELECT name FROM experiments GROUP BY name ORDER BY max(experiment) DESC";
            self.connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
        };
        names().map_err(failed(&self.path))
    }

    /// The newest experiment of this name in this profile, or in any profile.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn stored_experiment(
        &self,
        name: &str,
        profile: Option<&str>,
    ) -> Result<Option<StoredExperiment>, ResultsError> {
        let sql = "SELECT experiment FROM experiments \
                   WHERE name = ?1 AND profile = coalesce(?2, profile) ORDER BY experiment DESC LIMIT 1";
        let found = self.connection.query_row(sql, params![name, profile], |row| row.get(0)).optional();
        match found.map_err(failed(&self.path))? {
            Some(experiment) => self.experiment(experiment).map(Some),
            None => Ok(None),
        }
    }

    /// The experiment of this number.
    ///
    /// # Errors
    /// The store cannot be read, or has none of that number.
    pub fn experiment(&self, experiment: i64) -> Result<StoredExperiment, ResultsError> {
        let read = || -> rusqlite::Result<StoredExperiment> {
            let sql = "SELECT name, profile, started_at, files, label, note, design FROM experiments \
                       WHERE experiment = ?1";
            let stored = self.connection.query_row(sql, [experiment], |row| {
                Ok(StoredExperiment {
                    experiment,
                    annotation: annotation(row, 4)?,
                    name: row.get(0)?,
                    profile: row.get(1)?,
                    started_at: row.get(2)?,
                    files: texts(json(row.get(3)?).unwrap_or_default()),
                    design: json(row.get(6)?),
                    trials: Vec::new(),
                })
            })?;
            let mut statement = self.connection.prepare(TRIALS)?;
            let trials = statement.query_map([experiment], trial)?.collect::<Result<_, _>>()?;
            Ok(StoredExperiment { trials, ..stored })
        };
        read().map_err(failed(&self.path))
    }
}

fn texts(files: BTreeMap<String, KeptText>) -> BTreeMap<String, String> {
    files.into_iter().map(|(name, kept)| (name, kept.text().to_owned())).collect()
}

fn trial(row: &Row<'_>) -> rusqlite::Result<StoredTrial> {
    let stored = TrialStatus::of(&row.get::<_, String>(2)?);
    let of_run: Option<String> = row.get(5)?;
    let status = match (stored, of_run.as_deref()) {
        (TrialStatus::Running, Some("running")) => TrialStatus::Running,
        (TrialStatus::Running, Some("complete")) => TrialStatus::Complete,
        (TrialStatus::Running, _) => TrialStatus::Planned,
        (status, _) => status,
    };
    Ok(StoredTrial {
        factors: json(row.get(0)?).unwrap_or_default(),
        repeat: row.get(1)?,
        status,
        reason: row.get(3)?,
        run: row.get::<_, Option<i64>>(4)?.map(|run| stored_run(run, row)).transpose()?,
        steps: json(row.get(12)?),
        search: json(row.get(13)?),
    })
}

fn stored_run(run: i64, row: &Row<'_>) -> rusqlite::Result<StoredRun> {
    let observation: Option<Observation> = json(row.get(8)?);
    let sizes = observation.as_ref().and_then(|seen| TableSizes::of(&seen.counters));
    let standbys = observation.as_ref().map(StandbyFigures::of).unwrap_or_default();
    let backend_memory = observation.as_ref().and_then(|seen| seen.backend_memory);
    let (waits, costs, ceilings) = match observation {
        Some(seen) => (seen.waits, seen.per_transaction, seen.ceilings),
        None => (None, PerTransaction::default(), Vec::new()),
    };
    Ok(StoredRun {
        run,
        plan: json(row.get(11)?),
        summary: json(row.get(6)?),
        environment: json(row.get(7)?),
        waits,
        costs,
        ceilings,
        backend_memory,
        standbys,
        sizes,
        warnings: json(row.get(9)?).unwrap_or_default(),
        pgmeter_version: row.get::<_, Option<String>>(10)?.unwrap_or_default(),
    })
}

/// Unreadable values are `None`: reports mention them and show the rest.
fn json<T: DeserializeOwned>(text: Option<String>) -> Option<T> {
    serde_json::from_str(&text?).ok()
}
