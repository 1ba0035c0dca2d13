//! Commands of pgmeter that change a database know of each other by one advisory lock in it: exclusive for a comparison or
//! an experiment in place, shared for an `init`. The lock belongs to the session and ends with it.
//!
//! Behind a connection pooler nothing is locked, because the lock would remain in a connection that others use later.

use crate::error::ConnectError;
use crate::lock_wait::LockHolder;
use crate::session::Session;

/// First number of the lock: `pgmd` in ASCII. The second is 1.
const CLASS: u32 = 0x7067_6d64;
/// Longest wait for the lock: the backend of a process that was killed needs a moment to end.
const WAIT_MS: u32 = 1000;

/// How a command uses a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseUse {
    /// No other command at the same time.
    Alone,
    /// Beside others that share it.
    Shared,
}

/// Takes the lock for as long as the session lasts, or until [`release_database`]. Returns the sessions that have it
/// already; empty if the lock was taken, or cannot be taken because of a pooler.
///
/// # Errors
/// The connection is lost.
pub fn claim_database(session: &mut Session, how: DatabaseUse) -> Result<Vec<LockHolder>, ConnectError> {
    let process_id = session.cancel_key().process_id;
    let shared = if how == DatabaseUse::Shared { "_shared" } else { "" };
    let claimed = session.query_catalogs(&format!(
        "SELECT set_config('lock_timeout', '{WAIT_MS}', true); \
         SELECT pg_advisory_lock{shared}({CLASS}, 1) WHERE pg_backend_pid() = {process_id}"
    ));
    match claimed {
        Ok(_) => Ok(Vec::new()),
        Err(error) if error.is_lock_timeout() => {
            let mut holders = database_holders(session)?;
            if holders.is_empty() {
                // It has ended since, or is hidden.
                holders.push(LockHolder::unknown());
            }
            Ok(holders)
        }
        Err(error) => Err(error),
    }
}

/// Releases the lock.
pub fn release_database(session: &mut Session, how: DatabaseUse) {
    let shared = if how == DatabaseUse::Shared { "_shared" } else { "" };
    if !session.is_lost() {
        // The lock ends with the connection in any case. The server warns if a statement has released it already.
        let _ = session.query_catalogs(&format!("SELECT pg_advisory_unlock{shared}({CLASS}, 1)"));
        session.take_notices();
    }
}

/// The other sessions that have the lock in this database.
///
/// # Errors
/// The connection is lost.
pub fn database_holders(session: &mut Session) -> Result<Vec<LockHolder>, ConnectError> {
    let rows = session.query_catalogs(&format!(
        "SELECT l.pid, a.application_name, to_char(a.backend_start, 'YYYY-MM-DD HH24:MI:SS') FROM pg_locks AS l \
         JOIN pg_database AS d ON d.oid = l.database LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid \
         WHERE l.locktype = 'advisory' AND l.granted AND l.classid = {CLASS} AND l.objid = 1 AND l.objsubid = 2 \
         AND d.datname = current_database() AND l.pid <> pg_backend_pid() ORDER BY 1"
    ))?;
    Ok(rows.iter().map(LockHolder::of).collect())
}
