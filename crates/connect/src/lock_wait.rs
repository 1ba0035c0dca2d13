//! Who makes a statement of pgmeter's own wait for a lock: one query of another connection, and one sentence for the user
//! while the wait lasts. Used by all statements with a limit, and by those that are tried again.

use std::fmt;
use std::time::Duration;

use crate::error::ConnectError;
use crate::session::{Row, Session, first_words};

/// Wait of a statement after which the user is told whom it waits for.
pub(crate) const TOLD_AFTER: Duration = Duration::from_secs(2);
/// Process of a lock whose transaction is prepared (`pg_blocking_pids`).
const PREPARED: &str = "0";

/// What stands for the name of an autovacuum worker, which has none.
const AUTOVACUUM: &str = "autovacuum";

/// A session that held a lock for which a statement waited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockHolder {
    /// Its process; 0 for a prepared transaction.
    pub pid: String,
    /// Its `application_name`, or that it is an autovacuum worker; empty if it has none or it is hidden from the role.
    pub application_name: String,
    /// Begin of its transaction, otherwise of its session; empty if hidden.
    pub since: String,
}

impl LockHolder {
    /// A session of which nothing is known.
    pub(crate) fn unknown() -> Self {
        Self { pid: "unknown".to_owned(), application_name: String::new(), since: String::new() }
    }

    pub(crate) fn is_autovacuum(&self) -> bool {
        self.application_name == AUTOVACUUM
    }

    /// From columns `pid`, `application_name` and `since`.
    pub(crate) fn of(row: &Row) -> Self {
        let text = |at| row.get(at).unwrap_or_default().to_owned();
        Self { pid: text(0), application_name: text(1), since: text(2) }
    }
}

impl fmt::Display for LockHolder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pid == PREPARED {
            return write!(formatter, "a prepared transaction (see pg_prepared_xacts)");
        }
        write!(formatter, "process {}", self.pid)?;
        let Self { application_name, since, .. } = self;
        match (application_name.is_empty(), since.is_empty()) {
            (true, true) => Ok(()),
            (true, false) => write!(formatter, " (since {since})"),
            (false, true) => write!(formatter, " (application_name {application_name:?})"),
            (false, false) => write!(formatter, " (application_name {application_name:?}, since {since})"),
        }
    }
}

/// Several sessions as a list.
#[must_use]
pub fn in_words(holders: &[LockHolder]) -> String {
    holders.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// A statement that waits for a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockWait {
    /// Its first words; empty if the server does not show them.
    pub statement: String,
    /// For whom it waits. Never empty.
    pub holders: Vec<LockHolder>,
}

impl LockWait {
    /// Asks on another connection whom the statement of a process waits for; `None` if it waits for no lock.
    pub(crate) fn of(session: &mut Session, pid: u32) -> Result<Option<LockWait>, ConnectError> {
        let rows = session.query_catalogs(&format!(
            "SELECT blocking.holder, CASE WHEN activity.datid IS NOT NULL AND activity.usesysid IS NULL \
             OR activity.query LIKE 'autovacuum: %' THEN '{AUTOVACUUM}' ELSE activity.application_name END, \
             pg_catalog.to_char(coalesce(activity.xact_start, activity.backend_start), 'YYYY-MM-DD HH24:MI:SS'), \
             (SELECT query FROM pg_catalog.pg_stat_activity WHERE pid = {pid}) \
             FROM (SELECT DISTINCT pg_catalog.unnest(pg_catalog.pg_blocking_pids({pid})) AS holder) AS blocking \
             LEFT JOIN pg_catalog.pg_stat_activity AS activity ON activity.pid = blocking.holder ORDER BY 1"
        ))?;
        let Some(first) = rows.first() else { return Ok(None) };
        let statement = first_words(first.get(3).unwrap_or_default());
        Ok(Some(LockWait { statement, holders: rows.iter().map(LockHolder::of).collect() }))
    }
}

impl fmt::Display for LockWait {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "waiting for a lock that is held by {}", in_words(&self.holders))?;
        match self.statement.as_str() {
            "" => Ok(()),
            statement => write!(formatter, "; statement: {statement} …"),
        }
    }
}

/// A limit for waits for locks that is shorter than that of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockWaitLimit {
    /// The limit.
    pub limit: Duration,
    /// What changes it, for messages.
    pub setting: &'static str,
}

/// Tells the user that a statement waits.
pub type TellLockWait = fn(&LockWait);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_names_the_statement_and_all_holders() {
        let named = LockHolder {
            pid: "7".to_owned(),
            application_name: "psql".to_owned(),
            since: "2026-01-02 03:04:05".to_owned(),
        };
        let holders = vec![LockHolder { pid: "0".to_owned(), ..LockHolder::unknown() }, named];
        let mut wait = LockWait { statement: first_words("vacuum  pgbench_branches"), holders };
        let held = "waiting for a lock that is held by a prepared transaction (see pg_prepared_xacts), process 7 \
                    (application_name \"psql\", since 2026-01-02 03:04:05)";
        assert_eq!(wait.to_string(), format!("{held}; statement: vacuum pgbench_branches …"));
        wait.statement.clear();
        assert_eq!(wait.to_string(), held);
    }
}
