//! A whole experiment, read back for whoever reports it: its trials, and of each what was measured. From the database
//! alone, which has all but the course over time; the records are not opened. `trials` is what running it needs.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, Row, params};
use serde::de::DeserializeOwned;

use super::{Store, TrialStatus, failed};
use crate::{
    Ceiling, CounterTable, Environment, KeptText, LimitedBy, Observation, PerTransaction, Plan, ResultsError,
    StepsRecord, Summary, Waits, Warning,
};

/// An experiment with all its trials.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredExperiment {
    /// Its number.
    pub experiment: i64,
    /// As its file calls it.
    pub name: String,
    /// `full` or `quick`.
    pub profile: String,
    /// When it was begun.
    pub started_at: String,
    /// Texts of its file and of the files beside it, by name, secrets masked.
    pub files: BTreeMap<String, String>,
    /// In the order in which they run.
    pub trials: Vec<StoredTrial>,
}

/// A trial and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredTrial {
    /// Factors and levels.
    pub factors: BTreeMap<String, String>,
    /// Which of its kind, from 1.
    pub repeat: u32,
    /// How it stands; one that a killed process left behind is to be made again.
    pub status: TrialStatus,
    /// Why it failed.
    pub reason: Option<String>,
    /// The run that was made for it last.
    pub run: Option<StoredRun>,
    /// What was measured of it, if it is one of timed steps.
    pub steps: Option<StepsRecord>,
}

/// What the database has of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRun {
    /// Its number.
    pub run: i64,
    /// What was asked.
    pub plan: Option<Plan>,
    /// What was measured; `None` if it came to nothing, or another pgmeter wrote it in a form that this one cannot read.
    pub summary: Option<Summary>,
    /// Where it ran.
    pub environment: Option<Environment>,
    /// What the backends did.
    pub waits: Option<Waits>,
    /// What a transaction cost the server.
    pub costs: PerTransaction,
    /// What would bound it.
    pub ceilings: Vec<Ceiling>,
    /// Sizes of the tables that it used, and of their indexes, at its end.
    pub sizes: Option<TableSizes>,
    /// Those of its warnings that are cautions.
    pub warnings: Vec<Warning>,
    /// The pgmeter that measured.
    pub pgmeter_version: String,
}

/// Sizes of tables and of their indexes, in bytes.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub struct TableSizes {
    /// With TOAST tables and maps.
    pub table_bytes: f64,
    /// All indexes of these tables.
    pub index_bytes: f64,
}

impl TableSizes {
    /// The sum over all tables that were observed; `None` if there are none.
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
    /// Who kept it from being faster, if that is known.
    pub fn limited_by(&self) -> Option<LimitedBy> {
        Some(self.summary.as_ref()?.generator.as_ref()?.verdict.limit)
    }
}

const TRIALS: &str = "SELECT factors, repeat, trials.status, trials.reason, trials.run, runs.status, \
                      runs.summary, runs.environment, runs.observation, runs.warnings, runs.pgmeter_version, \
                      runs.plan, steps.record \
                      FROM trials LEFT JOIN runs ON runs.run = trials.run \
                      LEFT JOIN steps ON steps.trial = trials.trial \
                      WHERE experiment = ?1 ORDER BY position";

impl Store {
    /// Names of the experiments that were begun here, the newest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn experiment_names(&self) -> Result<Vec<String>, ResultsError> {
        let names = || -> rusqlite::Result<Vec<String>> {
            let sql = "SELECT name FROM experiments GROUP BY name ORDER BY max(experiment) DESC";
            self.connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
        };
        names().map_err(failed(&self.path))
    }

    /// The newest experiment of this name, in this profile or in whichever was begun last.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn stored_experiment(
        &self,
        name: &str,
        profile: Option<&str>,
    ) -> Result<Option<StoredExperiment>, ResultsError> {
        let read = || -> rusqlite::Result<Option<StoredExperiment>> {
            let sql = "SELECT experiment, profile, started_at, files FROM experiments \
                       WHERE name = ?1 AND profile = coalesce(?2, profile) ORDER BY experiment DESC LIMIT 1";
            let found = self.connection.query_row(sql, params![name, profile], |row| {
                Ok(StoredExperiment {
                    experiment: row.get(0)?,
                    name: name.to_owned(),
                    profile: row.get(1)?,
                    started_at: row.get(2)?,
                    files: texts(json(row.get(3)?).unwrap_or_default()),
                    trials: Vec::new(),
                })
            });
            let Some(mut experiment) = found.optional()? else { return Ok(None) };
            let mut statement = self.connection.prepare(TRIALS)?;
            let trials = statement.query_map([experiment.experiment], trial)?;
            experiment.trials = trials.collect::<Result<_, _>>()?;
            Ok(Some(experiment))
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
    })
}

fn stored_run(run: i64, row: &Row<'_>) -> rusqlite::Result<StoredRun> {
    let observation: Option<Observation> = json(row.get(8)?);
    let sizes = observation.as_ref().and_then(|seen| TableSizes::of(&seen.counters));
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
        sizes,
        warnings: json(row.get(9)?).unwrap_or_default(),
        pgmeter_version: row.get::<_, Option<String>>(10)?.unwrap_or_default(),
    })
}

/// What cannot be read is not there: a report says so, and shows the rest.
fn json<T: DeserializeOwned>(text: Option<String>) -> Option<T> {
    serde_json::from_str(&text?).ok()
}
