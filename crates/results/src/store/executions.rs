//! Processes that execute an experiment: prevents concurrent executions, and identifies objects that a killed process
//! left on external servers.

use rusqlite::{Transaction, params};

use super::process::Process;
use super::{Store, failed};
use crate::{ResultsError, UtcTime};

/// A process's execution of an experiment, possibly continuing that of a killed process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// Its number in the store.
    pub execution: i64,
    /// Unique part of the names of its objects: letters, digits and `_`.
    pub mark: String,
}

impl Store {
    /// Starts an execution of an experiment by this process.
    ///
    /// # Errors
    /// Another process is executing it, or the store cannot be written.
    pub fn begin_execution(&mut self, experiment: i64) -> Result<Execution, ResultsError> {
        let own = Process::own();
        let begun = self.in_transaction(|transaction| {
            if let Some(pid) = worked_on_by(transaction, experiment)? {
                return Ok(Err(pid));
            }
            let Process { hostname, boot_id, pid_namespace, pid, pid_started_ticks } = &own;
            let mark: String = transaction.query_row(
                "SELECT ?1 || '_' || lower(hex(randomblob(4)))",
                [pid.unwrap_or_default()],
                |row| row.get(0),
            )?;
            transaction.execute(
                "INSERT INTO executions (experiment, mark, started_at, hostname, boot_id, pid_namespace, pid, \
                 pid_started_ticks) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                params![
                    experiment,
                    mark,
                    UtcTime::now().to_string(),
                    hostname,
                    boot_id,
                    pid_namespace,
                    pid,
                    pid_started_ticks
                ],
            )?;
            Ok(Ok(Execution { execution: transaction.last_insert_rowid(), mark }))
        })?;
        begun.map_err(|pid| ResultsError::ExperimentBusy { store: self.path.clone(), pid })
    }

    /// Ends an execution: it was completed, or its objects have been removed.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn end_execution(&mut self, execution: i64) -> Result<(), ResultsError> {
        let sql = "UPDATE executions SET ended_at = ?2 WHERE execution = ?1";
        let updated = self.connection.execute(sql, params![execution, UtcTime::now().to_string()]);
        updated.map(drop).map_err(failed(&self.path))
    }

    /// Executions of all experiments with this one's name and profile that were not ended and whose process has gone.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn broken_executions(&mut self, experiment: i64) -> Result<Vec<Execution>, ResultsError> {
        let own = Process::own();
        let open = self.in_transaction(|transaction| {
            let sql = "SELECT same.experiment FROM experiments AS this JOIN experiments AS same USING (name, profile) \
                       WHERE this.experiment = ?1";
            let mut statement = transaction.prepare(sql)?;
            let same = statement.query_map([experiment], |row| row.get(0))?;
            let open = same.map(|experiment| open_executions(transaction, experiment?));
            open.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        let gone = open.into_iter().flatten().filter(|(_, process)| process.is_gone(&own));
        Ok(gone.map(|(execution, _)| execution).collect())
    }

    /// Names the executions whose process has gone before they ended, if they may have left databases: each in a sentence.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn left_executions(&self) -> Result<Vec<String>, ResultsError> {
        let own = Process::own();
        let read = || -> rusqlite::Result<Vec<(String, Process)>> {
            // Pgmeter's own servers end with their process; only on others, databases stay.
            let sql = "SELECT name, profile, mark, e.hostname, e.boot_id, e.pid_namespace, e.pid, e.pid_started_ticks \
                       FROM executions AS e JOIN experiments USING (experiment) \
                       WHERE ended_at IS NULL AND files LIKE '%dsn%' ORDER BY execution";
            let mut statement = self.connection.prepare(sql)?;
            let rows = statement.query_map([], |row| {
                let (name, profile, mark): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
                let sentence = format!(
                    "an execution of the experiment {name} ({profile}) was killed, so databases whose names begin with \
                     pgmeter_lab_{mark}_ may be left on its servers; the next pgmeter lab run or resume of this experiment \
                     removes them, or drop them yourself with DROP DATABASE"
                );
                Ok((sentence, Process::read(row, 3)?))
            })?;
            rows.collect()
        };
        let open = read().map_err(failed(&self.path))?;
        Ok(open.into_iter().filter(|(_, process)| process.is_gone(&own)).map(|(left, _)| left).collect())
    }

    /// Declares the executing processes of an experiment as gone, for processes on other hosts and in other containers,
    /// whose state is not visible here. Their trials return to planned, and their objects are to be removed.
    ///
    /// # Errors
    /// A process is known to be executing it, or the store cannot be written.
    pub fn take_over(&mut self, experiment: i64) -> Result<(), ResultsError> {
        let own = Process::own();
        let taken = self.in_transaction(|transaction| {
            if let Some(pid) = worked_on_by(transaction, experiment)? {
                return Ok(Err(pid));
            }
            let sql = "UPDATE trials SET status = 'planned' WHERE experiment = ?1 AND status = 'running'";
            transaction.execute(sql, [experiment])?;
            // Identifies the process as one of this host before its last boot, and therefore as gone.
            let sql = "UPDATE executions SET hostname = ?2, boot_id = 'taken over' \
                       WHERE experiment = ?1 AND ended_at IS NULL";
            transaction.execute(sql, params![experiment, own.hostname])?;
            Ok(Ok(()))
        })?;
        taken.map_err(|pid| ResultsError::ExperimentBusy { store: self.path.clone(), pid })
    }
}

/// Process ID of a process that is known to be executing an experiment.
pub(super) fn worked_on_by(transaction: &Transaction<'_>, experiment: i64) -> rusqlite::Result<Option<i64>> {
    let own = Process::own();
    let open = open_executions(transaction, experiment)?;
    Ok(open.iter().find(|(_, process)| process.runs(&own)).and_then(|(_, process)| process.pid))
}

/// Whether a process on another host or in another container may be executing an experiment; its state is not visible
/// here.
pub(super) fn may_be_worked_on_elsewhere(
    transaction: &Transaction<'_>,
    experiment: i64,
) -> rusqlite::Result<bool> {
    let own = Process::own();
    Ok(open_executions(transaction, experiment)?.iter().any(|(_, process)| !process.is_gone(&own)))
}

fn open_executions(
    transaction: &Transaction<'_>,
    experiment: i64,
) -> rusqlite::Result<Vec<(Execution, Process)>> {
    let sql = "SELECT execution, mark, hostname, boot_id, pid_namespace, pid, pid_started_ticks FROM executions \
               WHERE experiment = ?1 AND ended_at IS NULL ORDER BY execution";
    let mut statement = transaction.prepare(sql)?;
    let rows = statement.query_map([experiment], |row| {
        Ok((Execution { execution: row.get(0)?, mark: row.get(1)? }, Process::read(row, 2)?))
    })?;
    rows.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{PlannedTrial, TrialStatus};

    #[test]
    fn what_a_process_of_another_host_had_begun_is_made_again_once_somebody_says_that_it_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::create(&directory.path().join("s.sqlite")).unwrap();
        let trial = PlannedTrial { factors: BTreeMap::new(), repeat: 1 };
        let begin = |store: &mut Store| {
            store.begin_experiment("e", "full", &BTreeMap::new(), std::slice::from_ref(&trial), None).unwrap()
        };
        let experiment = begin(&mut store);
        let execution = store.begin_execution(experiment).unwrap();
        assert!(matches!(store.take_over(experiment), Err(ResultsError::ExperimentBusy { .. })));
        let elsewhere = "UPDATE executions SET hostname = 'elsewhere'; UPDATE trials SET status = 'running'";
        store.connection.execute_batch(elsewhere).unwrap();
        let status =
            |store: &mut Store| store.newest_experiment("e", "full").unwrap().unwrap().trials[0].status;
        assert_eq!(store.broken_executions(experiment).unwrap(), []);
        store.take_over(experiment).unwrap();
        assert_eq!(status(&mut store), TrialStatus::Planned);
        assert_eq!(store.broken_executions(experiment).unwrap().len(), 1);
        // The next execution removes the objects of the previous one.
        let anew = begin(&mut store);
        assert_eq!(store.broken_executions(anew).unwrap(), [execution]);
    }

    #[test]
    fn two_hosts_on_one_store_do_not_reset_each_others_trials() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::create(&directory.path().join("s.sqlite")).unwrap();
        let trial = |repeat| PlannedTrial { factors: BTreeMap::new(), repeat };
        let experiment =
            store.begin_experiment("e", "full", &BTreeMap::new(), &[trial(1), trial(2)], None).unwrap();
        store.begin_execution(experiment).unwrap();
        let statuses = |store: &mut Store| -> Vec<TrialStatus> {
            let row = store.newest_experiment("e", "full").unwrap().unwrap();
            row.trials.iter().map(|trial| trial.status).collect()
        };
        let first = store.newest_experiment("e", "full").unwrap().unwrap().trials[0].trial;
        assert!(store.take_trial(first).unwrap());
        store.connection.execute_batch("UPDATE executions SET hostname = 'elsewhere'").unwrap();
        // A trial of steps has no run that would show the end.
        assert_eq!(statuses(&mut store), [TrialStatus::Running, TrialStatus::Planned]);
        assert!(!store.take_trial(first).unwrap(), "it is the other's");
        // The same process, on this host, and gone.
        let gone =
            format!("UPDATE executions SET hostname = '{}', boot_id = 'another'", Process::own().hostname);
        store.connection.execute_batch(&gone).unwrap();
        assert_eq!(statuses(&mut store), [TrialStatus::Planned, TrialStatus::Planned]);
        assert!(store.take_trial(first).unwrap());
    }
}
