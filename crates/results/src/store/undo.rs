//! Takes back what a command added to the store before it failed: an experiment without a measurement, an empty store,
//! new directories. Measured results are never removed here. Called by `lab`.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Store, failed};
use crate::ResultsError;

impl Store {
    /// Removes an experiment of which no trial was measured, completed or failed; returns whether it was removed.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn forget_experiment(&mut self, experiment: i64) -> Result<bool, ResultsError> {
        self.in_transaction(|transaction| {
            let sql = "SELECT count(*) FROM trials LEFT JOIN steps USING (trial) WHERE experiment = ?1 \
                       AND (run IS NOT NULL OR steps.trial IS NOT NULL OR status NOT IN ('planned', 'running'))";
            if transaction.query_row(sql, [experiment], |row| row.get::<_, i64>(0))? > 0 {
                return Ok(false);
            }
            for table in ["executions", "trials", "experiments"] {
                transaction.execute(&format!("DELETE FROM {table} WHERE experiment = ?1"), [experiment])?;
            }
            Ok(true)
        })
    }

    /// Removes the files of a store that has no run, experiment and comparison, and that no other process has open;
    /// returns whether they were removed.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn remove_if_empty(self) -> Result<bool, ResultsError> {
        let Self { path, connection } = self;
        // The numbers of removed entries are not used again.
        let sql = "SELECT (SELECT count(*) FROM runs) + (SELECT count(*) FROM experiments) \
                   + (SELECT count(*) FROM comparisons) + (SELECT count(*) FROM removals) \
                   + (SELECT count(*) FROM schema_changes)";
        let rows: i64 = connection.query_row(sql, [], |row| row.get(0)).map_err(failed(&path))?;
        if rows > 0 {
            return Ok(false);
        }
        // Only the last connection can leave the write-ahead log; the lock then keeps others out.
        let alone = connection
            .pragma_update(None, "locking_mode", "exclusive")
            .and_then(|()| {
                connection
                    .pragma_update_and_check(None, "journal_mode", "delete", |row| row.get::<_, String>(0))
            })
            .and_then(|mode| connection.execute_batch("BEGIN EXCLUSIVE").map(|()| mode == "delete"));
        Ok(matches!(alone, Ok(true)) && fs::remove_file(&path).is_ok())
    }
}

/// The parts of a path that do not exist yet, to be removed again if they stay empty.
#[derive(Clone, Debug)]
pub struct NewDirectories(Vec<PathBuf>);

impl NewDirectories {
    /// Those of this directory; the innermost first.
    pub fn of(directory: &Path) -> Self {
        let missing = directory.ancestors().take_while(|it| !it.as_os_str().is_empty() && !it.exists());
        Self(missing.map(Path::to_owned).collect())
    }

    /// Removes these files of the innermost directory, if it is new, and directories that are then empty.
    pub fn remove_with_files<'a>(&self, files: impl Iterator<Item = &'a str>) {
        let Some(directory) = self.0.first() else { return };
        // A file that was not written is not there.
        files.for_each(|file| drop(fs::remove_file(directory.join(file))));
        self.remove_empty();
    }

    /// Removes those that are empty.
    pub fn remove_empty(&self) {
        // Fails for directories with files.
        self.0.iter().take_while(|directory| fs::remove_dir(directory).is_ok()).for_each(drop);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::PlannedTrial;

    #[test]
    fn an_experiment_without_a_measurement_and_an_empty_store_leave_nothing() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("a/b/results.sqlite");
        let directories = NewDirectories::of(path.parent().unwrap());
        let open = || Store::create(&path).unwrap();
        let trials = [PlannedTrial { factors: BTreeMap::new(), repeat: 1 }];
        let experiment = open().begin_experiment("x", "full", &BTreeMap::new(), &trials, None).unwrap();
        let other = open();
        assert!(!open().remove_if_empty().unwrap(), "it has an experiment");
        open().begin_execution(experiment).unwrap();
        assert!(open().forget_experiment(experiment).unwrap());
        assert!(!open().remove_if_empty().unwrap(), "another connection is open");
        drop(other);
        assert!(open().remove_if_empty().unwrap());
        directories.remove_empty();
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
    }

    #[test]
    fn an_experiment_with_a_failed_trial_stays() {
        let base = tempfile::tempdir().unwrap();
        let mut store = Store::create(&base.path().join("results.sqlite")).unwrap();
        let trials = [PlannedTrial { factors: BTreeMap::new(), repeat: 1 }];
        let experiment = store.begin_experiment("x", "full", &BTreeMap::new(), &trials, None).unwrap();
        store.end_trial(1, Some("it failed")).unwrap();
        assert!(!store.forget_experiment(experiment).unwrap());
        assert!(store.newest_experiment("x", "full").unwrap().is_some());
    }
}
