//! Waits of pgmeter's own statements for locks: how long they may take, who holds the lock, and one sentence for the user
//! while the wait lasts. Used by all statements with a limit, and by those that are tried again.

use std::fmt;
use std::time::Duration;

/// Wait of a statement after which the user is told whom it waits for.
pub(crate) const TOLD_AFTER: Duration = Duration::from_secs(2);
/// Process of a lock whose transaction is prepared (`pg_blocking_pids`).
const PREPARED: &str = "0";

/// What stands for the name of an autovacuum worker, which has none.
pub(crate) const AUTOVACUUM: &str = "autovacuum";

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

/// A statement did not get its lock within the limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockNotGranted {
    /// Its tries.
    pub tries: u64,
    /// The longest wait of a try.
    pub longest: Duration,
    /// Who held the lock when it was last looked at.
    pub holders: Vec<LockHolder>,
}

impl fmt::Display for LockNotGranted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tries, longest, holders } = self;
        let times = if *tries == 1 { "1 try" } else { &format!("{tries} tries") };
        write!(
            formatter,
            "the lock was not granted in {times}, the longest wait was {:.1} s",
            longest.as_secs_f64()
        )?;
        match holders.as_slice() {
            [] => Ok(()),
            holders => write!(formatter, "; it is held by {}", in_words(holders)),
        }
    }
}

/// How long statements wait for locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Longest wait of one try.
    pub lock_timeout: Duration,
    /// Time after which no further try begins.
    pub limit: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { lock_timeout: Duration::from_secs(1), limit: Duration::from_secs(60) }
    }
}

impl Patience {
    /// The default, or less if sessions wait for the server for a shorter time.
    pub(crate) fn within(limit: Duration) -> Self {
        let usual = Self::default();
        Self { lock_timeout: usual.lock_timeout.min(limit), limit }
    }
}

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
        let mut wait = LockWait { statement: "vacuum pgbench_branches".to_owned(), holders };
        let held = "waiting for a lock that is held by a prepared transaction (see pg_prepared_xacts), process 7 \
                    (application_name \"psql\", since 2026-01-02 03:04:05)";
        assert_eq!(wait.to_string(), format!("{held}; statement: vacuum pgbench_branches …"));
        wait.statement.clear();
        assert_eq!(wait.to_string(), held);
    }
}
