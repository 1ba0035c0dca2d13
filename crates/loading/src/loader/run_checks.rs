//! Executes the checks of a workload on its data, each in a read-only transaction that is rolled back. Freshly loaded data have
//! further checks: those of the workload, and those of what the marks say about the tables.

use std::collections::BTreeMap;

use connect::{OwnSettings, Session};
use script::Statement;
use stats::Scale;

use crate::contract::check::{Check, FailedCheck};
use crate::contract::load;
use crate::loader::loaded_tables::loaded;
use crate::loader::mark_checks;
use crate::loader::protection::step_guard;
use crate::{Workload, WorkloadError};

impl dyn Workload + '_ {
    /// Runs all checks on loaded data, those of freshly loaded data too; returns their number. The scale is that of the
    /// tables, or `scale` if they do not determine it.
    ///
    /// # Errors
    /// As `run_checks`; or the tables are missing or incomplete.
    pub fn check_data(
        &self,
        session: &mut Session,
        parameters: &BTreeMap<String, String>,
        scale: Option<Scale>,
    ) -> Result<usize, WorkloadError> {
        let tables = self.find_tables(session)?;
        let loaded = loaded(session, self)?;
        let marked = loaded.as_ref().map(|loaded| loaded.scale);
        let found = tables.scale.or(marked);
        if let (Some(found), Some(asked)) = (found, scale)
            && found != asked
        {
            let (workload, init) = (self.name().to_owned(), self.init_command());
            return Err(WorkloadError::OtherScale { workload, found, asked, init });
        }
        let scale = found.or(scale).unwrap_or_default();
        let mut checks = self.checks().to_vec();
        if let Some(loaded) = &loaded {
            checks.extend(self.data_checks(loaded));
        }
        checks.extend(mark_checks::checks(session, self.name())?);
        if checks.is_empty() {
            let (workload, init) = (self.name().to_owned(), self.init_command());
            return Err(WorkloadError::NoChecks { workload, init });
        }
        self.run(session, &checks, &self.variables(parameters, scale))?;
        Ok(checks.len())
    }

    /// Runs all checks.
    ///
    /// # Errors
    /// [`WorkloadError::ChecksFailed`] with those that returned rows; or the first that cannot be executed.
    pub fn run_checks(
        &self,
        session: &mut Session,
        variables: &BTreeMap<String, String>,
    ) -> Result<(), WorkloadError> {
        self.run(session, self.checks(), variables)
    }

    fn run(
        &self,
        session: &mut Session,
        checks: &[Check],
        variables: &BTreeMap<String, String>,
    ) -> Result<(), WorkloadError> {
        let mut failed = Vec::new();
        for check in checks {
            for Statement { sql, line } in script::statements(&check.name, &check.sql, variables)? {
                if let Some(word) = step_guard::transaction_control(&sql) {
                    return Err(WorkloadError::CheckControl {
                        place: format!("{}:{line}", check.name),
                        word,
                    });
                }
                let sets = session.patiently(|session| {
                    if session.is_in_transaction() {
                        // The caller's transaction must not end here.
                        return step_guard::query_singly(session, &sql);
                    }
                    session.begin_own(OwnSettings::Limits)?;
                    let sets = session
                        .execute("SET TRANSACTION READ ONLY")
                        .and_then(|_| step_guard::query_singly(session, &sql));
                    if !session.is_lost() {
                        // Not all functions that change something respect READ ONLY: before version 16, lo_unlink does not.
                        let ended = session.rollback();
                        return sets.and_then(|sets| ended.map(|()| sets));
                    }
                    sets
                });
                let sets = sets.map_err(load::failed(&sql));
                let sets = sets.map_err(|error| {
                    error.not_permitted(&format!("cannot check {}", check.name)).of_check(&check.name, line)
                })?;
                failed.extend(FailedCheck::new(&check.name, &sets));
            }
        }
        let workload = self.name().to_owned();
        if failed.is_empty() { Ok(()) } else { Err(WorkloadError::ChecksFailed { workload, failed }) }
    }
}
