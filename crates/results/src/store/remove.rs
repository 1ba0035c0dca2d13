//! Removal of runs, comparisons, experiments and query sets that a user names by their numbers: their rows, and the files of their
//! records. A row of `removals` says when; without it, triggers refuse the removal.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rusqlite::{OptionalExtension, Transaction, params};

use super::executions::{may_be_worked_on_elsewhere, worked_on_by};
use super::{Store, directory_of};
use crate::error::shown;
use crate::{EntryId, EntryKind, Record, ResultsError, UtcTime};

/// An entry that was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// Its number.
    pub id: EntryId,
    /// Number of runs that were removed with it: those of an experiment's trials.
    pub runs: u64,
    /// Files of records that were deleted.
    pub deleted: Vec<PathBuf>,
    /// Files of records that were not deleted, with the reason.
    pub left: Vec<(PathBuf, String)>,
}

/// A run whose row is removed.
struct RemovedRun {
    run: i64,
    started_at: String,
    seed: String,
    record_path: Option<String>,
}

/// Why an entry cannot be removed, as a sentence.
type Refusal = String;

impl Store {
    /// Removes these entries, or none of them, and then the files of their records. `distrust` says why a file must not be
    /// deleted, if another user could change its path.
    ///
    /// # Errors
    /// An entry does not exist, is running, or is a trial of an experiment that stays; or the store cannot be written.
    pub fn remove(
        &mut self,
        ids: &[EntryId],
        distrust: impl Fn(&Path) -> Option<String>,
    ) -> Result<Vec<Removed>, ResultsError> {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        ids.dedup();
        let missing = |id: &&EntryId| !self.exists(**id).unwrap_or(true);
        if let Some(id) = ids.iter().find(missing) {
            // The message says whether it was removed before.
            self.entry(&id.to_string(), &EntryKind::ALL)?;
        }
        self.mark_killed()?;
        let removed = self.in_transaction(|transaction| {
            for id in &ids {
                if let Some(refusal) = refusal(transaction, *id, &ids)? {
                    return Ok(Err(refusal));
                }
            }
            // Experiments first, with the runs of their trials.
            let removed = ids.iter().rev().map(|id| Ok((*id, remove_rows(transaction, *id)?)));
            removed.collect::<rusqlite::Result<Vec<_>>>().map(Ok)
        })?;
        let removed = removed.map_err(|refusal| {
            ResultsError::Refused(format!(
                "{refusal}; nothing was removed from the store {}",
                shown(&self.path)
            ))
        })?;
        let directory = directory_of(&self.path).to_owned();
        // Its paths may be those of other users.
        let of_store = distrust(&self.path);
        let distrust = |path: &Path| {
            distrust(path).or_else(|| of_store.clone().filter(|_| path.parent() != Some(directory.as_path())))
        };
        Ok(removed
            .into_iter()
            .rev()
            .map(|(id, runs)| delete_records(id, &runs, &directory, distrust))
            .collect())
    }
}

/// Why this entry cannot be removed together with the others.
fn refusal(transaction: &Transaction<'_>, id: EntryId, all: &[EntryId]) -> rusqlite::Result<Option<Refusal>> {
    match id.kind {
        EntryKind::Comparison | EntryKind::QuerySet | EntryKind::Search => Ok(None),
        EntryKind::Run => {
            let sql = "SELECT runs.status, experiment FROM runs LEFT JOIN trials USING (run) WHERE run = ?1";
            let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, Option<i64>>(1)?));
            let Some((status, experiment)) = transaction.query_row(sql, [id.number], row).optional()? else {
                return Ok(None);
            };
            if status == "running" {
                return Ok(Some(format!("run {id} is running: stop it before you remove it")));
            }
            let of = experiment.map(|number| EntryId { kind: EntryKind::Experiment, number });
            let stays = of.filter(|experiment| !all.contains(experiment));
            Ok(stays.map(|experiment| {
                format!("run {id} is a trial of the experiment {experiment}: remove {experiment}")
            }))
        }
        EntryKind::Experiment => {
            if let Some(pid) = worked_on_by(transaction, id.number)? {
                return Ok(Some(format!(
                    "process {pid} is running the experiment {id}: stop it before you remove it"
                )));
            }
            let sql = "SELECT count(*) > 0 FROM trials JOIN runs USING (run) \
                       WHERE experiment = ?1 AND runs.status = 'running'";
            let is_running: bool = transaction.query_row(sql, [id.number], |row| row.get(0))?;
            // Every broken execution has ended, or its process is on another host.
            let is_elsewhere = || may_be_worked_on_elsewhere(transaction, id.number);
            Ok((is_running || is_elsewhere()?).then(|| {
                format!(
                    "a process of another host or container may be running the experiment {id}: if it has ended, run \
                     pgmeter lab resume --take-over"
                )
            }))
        }
    }
}

/// Removes the rows of an entry; returns its runs.
fn remove_rows(transaction: &Transaction<'_>, id: EntryId) -> rusqlite::Result<Vec<RemovedRun>> {
    let number = id.number;
    let runs = "SELECT run, started_at, seed, record_path FROM runs WHERE";
    let sql = match id.kind {
        EntryKind::Run => format!("{runs} run = ?1"),
        EntryKind::Experiment => format!("{runs} run IN (SELECT run FROM trials WHERE experiment = ?1)"),
        EntryKind::Comparison | EntryKind::QuerySet | EntryKind::Search => format!("{runs} ?1 IS NULL"),
    };
    let runs = transaction
        .prepare(&sql)?
        .query_map([number], |row| {
            Ok(RemovedRun {
                run: row.get(0)?,
                started_at: row.get(1)?,
                seed: row.get(2)?,
                record_path: row.get(3)?,
            })
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    if id.kind == EntryKind::Experiment {
        let trials = "SELECT trial FROM trials WHERE experiment = ?1";
        for of_trials in ["steps", "trial_searches"] {
            transaction.execute(&format!("DELETE FROM {of_trials} WHERE trial IN ({trials})"), [number])?;
        }
        transaction.execute("DELETE FROM trials WHERE experiment = ?1", [number])?;
        transaction.execute("DELETE FROM executions WHERE experiment = ?1", [number])?;
    }
    for RemovedRun { run, .. } in &runs {
        transaction.execute("DELETE FROM intervals WHERE run = ?1", [run])?;
        transaction.execute("DELETE FROM samples WHERE run = ?1", [run])?;
        remove_row(transaction, EntryId { kind: EntryKind::Run, number: *run })?;
    }
    if id.kind != EntryKind::Run {
        remove_row(transaction, id)?;
    }
    Ok(runs)
}

/// Notes the removal and removes the row, if there is one: that of a trial is removed with its experiment.
fn remove_row(transaction: &Transaction<'_>, EntryId { kind, number }: EntryId) -> rusqlite::Result<()> {
    let (table, column) = (kind.table(), kind.column());
    let sql = format!(
        "INSERT INTO removals (kind, number, started_at, removed_at) \
         SELECT '{column}', {column}, started_at, ?2 FROM {table} WHERE {column} = ?1"
    );
    transaction.execute(&sql, params![number, UtcTime::now().to_string()])?;
    transaction.execute(&format!("DELETE FROM {table} WHERE {column} = ?1"), [number]).map(drop)
}

/// Deletes the records of these runs. Other programs may have changed the store: only files that are records of these
/// runs are deleted.
fn delete_records(
    id: EntryId,
    runs: &[RemovedRun],
    directory: &Path,
    distrust: impl Fn(&Path) -> Option<String>,
) -> Removed {
    let mut removed = Removed { id, runs: runs.len() as u64, deleted: Vec::new(), left: Vec::new() };
    for RemovedRun { run, started_at, seed, record_path } in runs {
        let Some(path) = record_path.as_ref().map(|path| directory.join(path)) else { continue };
        if fs::symlink_metadata(&path).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            continue;
        }
        let is_its_record = |record: Record| {
            record.started_at.to_string() == *started_at && record.plan.seed.to_string() == *seed
        };
        let done = match (distrust(&path), Record::read_regular(&path).map(is_its_record)) {
            (Some(reason), _) => Err(reason),
            (None, Ok(true)) => fs::remove_file(&path).map_err(|error| error.to_string()),
            (None, Ok(false)) => Err(format!("it is not the record of run {run}")),
            (None, Err(error)) => Err(error.to_string()),
        };
        match done {
            Ok(()) => removed.deleted.push(path),
            Err(reason) => removed.left.push((path, reason)),
        }
    }
    removed
}
