//! Import of the runs, comparisons, experiments and query sets of another store. Entries that this store has are left as
//! they are, so repeating an import changes nothing. Numbers may differ; labels and notes are imported too.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::{OptionalExtension, Transaction, params, params_from_iter};

use super::import::{Identity, known};
use super::{Imported, Store, failed};
use crate::{EntryId, EntryKind, Environment, Plan, ResultsError};

/// Result of importing another store.
#[derive(Debug, Default)]
pub(super) struct Joined {
    /// Entries that were added: their numbers in the other store, and here.
    pub(super) new: Vec<(EntryId, EntryId)>,
    /// Number of entries that the store already had.
    pub(super) known: u64,
    /// Entries that were not added, with the reasons.
    pub(super) refused: Vec<(EntryId, String)>,
}

/// Why an entry was not added.
enum JoinError {
    /// This store or the directory of records cannot be written, so no other entry can be added either.
    Unwritable(ResultsError),
    /// Something about the entry, as a sentence.
    Entry(String),
}

/// The numbers here of the runs of the other store.
type RunNumbers = BTreeMap<i64, i64>;

/// A statement of this store failed; that a value violates a constraint concerns the entry alone.
fn unwritable(error: ResultsError) -> JoinError {
    match error {
        ResultsError::Store { cause, .. }
            if cause.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) =>
        {
            invalid(cause)
        }
        error => JoinError::Unwritable(error),
    }
}

/// A statement of the other store failed, or it contains something invalid.
fn invalid(error: impl ToString) -> JoinError {
    JoinError::Entry(error.to_string())
}

impl Store {
    /// Adds the runs, comparisons, experiments, query sets and searches of another store that this one does not have. Records of
    /// runs are copied into the directory `records`. Running entries, and those that this version cannot read, are not added.
    ///
    /// # Errors
    /// The other store cannot be read, or this store or `records` cannot be written.
    pub(super) fn join(&mut self, other: &Store, records: &Path) -> Result<Joined, ResultsError> {
        let mut joined = Joined::default();
        let mut runs = RunNumbers::new();
        for kind in EntryKind::ALL {
            for number in other.numbers(kind)? {
                let id = EntryId { kind, number };
                let added = match kind {
                    EntryKind::Run => self.join_run(other, number, records),
                    EntryKind::Comparison => self.join_comparison(other, number),
                    EntryKind::Experiment => self.join_experiment(other, number, &runs),
                    EntryKind::QuerySet => self.join_query_set(other, number),
                    EntryKind::Search => self.join_search(other, number),
                };
                let own = match added {
                    Ok(Imported::New(own)) => {
                        joined.new.push((id, EntryId { kind, number: own }));
                        own
                    }
                    Ok(Imported::Known(own)) => {
                        joined.known += 1;
                        own
                    }
                    Err(JoinError::Entry(reason)) => {
                        joined.refused.push((id, reason));
                        continue;
                    }
                    Err(JoinError::Unwritable(error)) => return Err(error),
                };
                if kind == EntryKind::Run {
                    runs.insert(number, own);
                }
            }
        }
        Ok(joined)
    }

    fn numbers(&self, kind: EntryKind) -> Result<Vec<i64>, ResultsError> {
        let (table, column) = (kind.table(), kind.column());
        let numbers = || -> rusqlite::Result<Vec<i64>> {
            let sql = format!("SELECT {column} FROM {table} ORDER BY {column}");
            self.connection.prepare(&sql)?.query_map([], |row| row.get(0))?.collect()
        };
        numbers().map_err(failed(&self.path))
    }

    fn join_run(&mut self, other: &Store, run: i64, records: &Path) -> Result<Imported, JoinError> {
        let sql =
            "SELECT status, started_at, hostname, seed, record_path IS NOT NULL FROM runs WHERE run = ?1";
        let read = other.connection.query_row(sql, [run], |row| {
            let identity = Identity { started_at: row.get(1)?, hostname: row.get(2)?, seed: row.get(3)? };
            Ok((row.get::<_, String>(0)?, identity, row.get::<_, bool>(4)?))
        });
        let (status, identity, has_record) = read.map_err(invalid)?;
        let own = known(&self.connection, &identity).map_err(failed(&self.path)).map_err(unwritable)?;
        match own {
            Some((own, is_complete)) if is_complete || !has_record => return Ok(Imported::Known(own)),
            _ if status == "running" && !other.gone().map_err(invalid)?.contains(&run) => {
                return Err(JoinError::Entry("it is running: import it when it has ended".to_owned()));
            }
            _ => {}
        }
        if !has_record {
            return self.join_run_without_record(other, run);
        }
        let record = other.record(run).map_err(invalid)?;
        let path = record.write_into(records).map_err(unwritable)?;
        let imported = self.import_record(&record, &path).map_err(unwritable)?;
        if let Imported::New(own) = imported {
            let id = EntryId { kind: EntryKind::Run, number: own };
            self.annotate(id, &record.annotation).map_err(unwritable)?;
        }
        Ok(imported)
    }

    /// A run that failed or was killed.
    fn join_run_without_record(&mut self, other: &Store, run: i64) -> Result<Imported, JoinError> {
        let columns: [&str; 10] = [
            "iif(status = 'running', 'killed', status)",
            "reason",
            "started_at",
            "ended_at",
            "pgmeter_version",
            "hostname",
            "seed",
            "plan",
            "environment",
            "alive_at",
        ];
        let sql = format!("SELECT {} FROM runs WHERE run = ?1", columns.join(", "));
        let read = other.connection.query_row(&sql, [run], |row| {
            (0..columns.len())
                .map(|column| row.get::<_, Option<String>>(column))
                .collect::<Result<Vec<_>, _>>()
        });
        let texts = read.map_err(invalid)?;
        let json = |column: usize| texts[column].as_deref().unwrap_or_default();
        serde_json::from_str::<Plan>(json(7)).map_err(invalid)?;
        serde_json::from_str::<Environment>(json(8)).map_err(invalid)?;
        let annotation = other.annotation(EntryId { kind: EntryKind::Run, number: run }).map_err(invalid)?;
        let added = self.in_transaction(|transaction| {
            transaction.execute(
                "INSERT INTO runs (status, reason, started_at, ended_at, pgmeter_version, hostname, seed, plan, \
                 environment, alive_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                params_from_iter(&texts),
            )?;
            Ok(transaction.last_insert_rowid())
        });
        let own = added.map_err(unwritable)?;
        self.annotate(EntryId { kind: EntryKind::Run, number: own }, &annotation).map_err(unwritable)?;
        Ok(Imported::New(own))
    }

    fn join_comparison(&mut self, other: &Store, comparison: i64) -> Result<Imported, JoinError> {
        let record = other.comparison(comparison).map_err(invalid)?;
        let sql = "SELECT ended_at, files, hostname FROM comparisons WHERE comparison = ?1";
        let row = |row: &rusqlite::Row<'_>| -> rusqlite::Result<[String; 3]> {
            Ok([row.get(0)?, row.get(1)?, row.get(2)?])
        };
        let [ended_at, files, hostname] =
            other.connection.query_row(sql, [comparison], row).map_err(invalid)?;
        let added = self.in_transaction(|transaction| {
            let sql =
                "SELECT comparison FROM comparisons WHERE started_at = ?1 AND name = ?2 AND hostname = ?3";
            let identity = params![record.started_at.to_string(), record.name, hostname];
            if let Some(own) = transaction.query_row(sql, identity, |row| row.get(0)).optional()? {
                return Ok(Imported::Known(own));
            }
            super::comparisons::insert(transaction, &record, &ended_at, &files, &hostname).map(Imported::New)
        });
        added.map_err(unwritable)
    }

    fn join_query_set(&mut self, other: &Store, number: i64) -> Result<Imported, JoinError> {
        let record = other.query_set(number).map_err(invalid)?;
        let sql = "SELECT ended_at, hostname FROM query_sets WHERE query_set = ?1";
        let row =
            |row: &rusqlite::Row<'_>| -> rusqlite::Result<[String; 2]> { Ok([row.get(0)?, row.get(1)?]) };
        let [ended_at, hostname] = other.connection.query_row(sql, [number], row).map_err(invalid)?;
        let added = self.in_transaction(|transaction| {
            let sql =
                "SELECT query_set FROM query_sets WHERE started_at = ?1 AND name = ?2 AND hostname = ?3";
            let identity = params![record.started_at.to_string(), record.set_name(), hostname];
            if let Some(own) = transaction.query_row(sql, identity, |row| row.get(0)).optional()? {
                return Ok(Imported::Known(own));
            }
            super::query_sets::insert(transaction, &record, &ended_at, &hostname).map(Imported::New)
        });
        added.map_err(unwritable)
    }

    fn join_search(&mut self, other: &Store, number: i64) -> Result<Imported, JoinError> {
        let record = other.search(number).map_err(invalid)?;
        let sql = "SELECT ended_at, hostname FROM searches WHERE search = ?1";
        let row =
            |row: &rusqlite::Row<'_>| -> rusqlite::Result<[String; 2]> { Ok([row.get(0)?, row.get(1)?]) };
        let [ended_at, hostname] = other.connection.query_row(sql, [number], row).map_err(invalid)?;
        let added = self.in_transaction(|transaction| {
            let sql = "SELECT search FROM searches WHERE started_at = ?1 AND name = ?2 AND hostname = ?3";
            let identity = params![record.started_at.to_string(), record.name(), hostname];
            if let Some(own) = transaction.query_row(sql, identity, |row| row.get(0)).optional()? {
                return Ok(Imported::Known(own));
            }
            super::searches::insert(transaction, &record, &ended_at, &hostname).map(Imported::New)
        });
        added.map_err(unwritable)
    }

    fn join_experiment(
        &mut self,
        other: &Store,
        number: i64,
        runs: &RunNumbers,
    ) -> Result<Imported, JoinError> {
        let found = OtherExperiment::read(other, number).map_err(invalid)?;
        let annotation =
            other.annotation(EntryId { kind: EntryKind::Experiment, number }).map_err(invalid)?;
        let imported = self.in_transaction(|transaction| found.add(transaction, runs)).map_err(unwritable)?;
        if let Imported::New(own) = imported {
            let id = EntryId { kind: EntryKind::Experiment, number: own };
            self.annotate(id, &annotation).map_err(unwritable)?;
        }
        Ok(imported)
    }
}

/// The rows of an experiment in another store.
struct OtherExperiment {
    /// Name, profile, files, start and host.
    columns: [String; 5],
    design: Option<String>,
    trials: Vec<OtherTrial>,
}

/// A trial; the texts are JSON.
struct OtherTrial {
    position: i64,
    factors: String,
    repeat: u32,
    status: String,
    reason: Option<String>,
    run: Option<i64>,
    steps: Option<String>,
    search: Option<String>,
}

impl OtherExperiment {
    fn read(other: &Store, experiment: i64) -> rusqlite::Result<Self> {
        let sql = "SELECT name, profile, files, started_at, hostname, design FROM experiments WHERE experiment = ?1";
        let (columns, design) = other.connection.query_row(sql, [experiment], |row| {
            Ok(([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?], row.get(5)?))
        })?;
        let sql = "SELECT position, factors, repeat, status, reason, run, steps.record, trial_searches.record \
                   FROM trials LEFT JOIN steps USING (trial) LEFT JOIN trial_searches USING (trial) \
                   WHERE experiment = ?1 ORDER BY position";
        let mut statement = other.connection.prepare(sql)?;
        let trials = statement.query_map([experiment], |row| {
            Ok(OtherTrial {
                position: row.get(0)?,
                factors: row.get(1)?,
                repeat: row.get(2)?,
                status: row.get(3)?,
                reason: row.get(4)?,
                run: row.get(5)?,
                steps: row.get(6)?,
                search: row.get(7)?,
            })
        })?;
        Ok(Self { columns, design, trials: trials.collect::<Result<_, _>>()? })
    }

    fn add(&self, transaction: &Transaction<'_>, runs: &RunNumbers) -> rusqlite::Result<Imported> {
        let [name, profile, files, started_at, hostname] = &self.columns;
        let sql = "SELECT experiment FROM experiments WHERE name = ?1 AND profile = ?2 AND started_at = ?3 AND hostname = ?4";
        let identity = [name, profile, started_at, hostname];
        if let Some(own) = transaction.query_row(sql, identity, |row| row.get(0)).optional()? {
            return Ok(Imported::Known(own));
        }
        let sql = "INSERT INTO experiments (name, profile, files, started_at, hostname, design) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        transaction.execute(sql, params![name, profile, files, started_at, hostname, self.design])?;
        let experiment = transaction.last_insert_rowid();
        for trial in &self.trials {
            let OtherTrial { position, factors, repeat, status, reason, run, steps, search } = trial;
            let own = run.and_then(|run| runs.get(&run));
            // A running trial cannot end here, and one whose run is missing has no figures.
            let is_lost = status == "running"
                || (status == "complete" && own.is_none() && steps.is_none() && search.is_none());
            let status = if is_lost { "planned" } else { status };
            transaction.execute(
                "INSERT INTO trials (experiment, position, factors, repeat, status, reason, run) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![experiment, position, factors, repeat, status, reason, own],
            )?;
            let trial = transaction.last_insert_rowid();
            for (table, record) in [("steps", steps), ("trial_searches", search)] {
                let Some(record) = record else { continue };
                let sql = format!("INSERT INTO {table} (trial, record) VALUES (?1, ?2)");
                transaction.execute(&sql, params![trial, record])?;
            }
        }
        Ok(Imported::New(experiment))
    }
}
