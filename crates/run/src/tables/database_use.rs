//! The lock by which commands that change a database know of each other, and the sentence for those that come second. `connect`
//! takes the lock; experiments and comparisons in place and the loading of tables call this module.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use connect::{DatabaseUse, Session, claim_database, database_holders, holders_in_words, release_database};

use crate::error::RunError;

/// Server processes of the sessions of this process that have the lock: a comparison may use one database twice, as with
/// and without a pooler.
static OWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

fn own() -> MutexGuard<'static, BTreeSet<String>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the lock of the session's database for as long as the session lasts.
///
/// # Errors
/// Another command has it: who.
pub fn use_alone(session: &mut Session) -> Result<(), RunError> {
    claim(session, DatabaseUse::Alone, "a comparison or an experiment in place")
}

/// Does the work, such as an `init`, while no comparison in place uses the session's database.
///
/// # Errors
/// A comparison uses it: who. Errors of the work.
pub(crate) fn use_shared<T>(
    session: &mut Session,
    work: impl FnOnce(&mut Session) -> Result<T, RunError>,
) -> Result<T, RunError> {
    claim(session, DatabaseUse::Shared, "init")?;
    let done = work(session);
    release_database(session, DatabaseUse::Shared);
    done
}

/// Whether another session, possibly of this process, has the lock, or it is not known.
pub(crate) fn is_used(session: &mut Session) -> bool {
    database_holders(session).map_or(true, |holders| !holders.is_empty())
}

fn claim(session: &mut Session, how: DatabaseUse, what: &str) -> Result<(), RunError> {
    let holders = claim_database(session, how)?;
    if holders.iter().any(|holder| !own().contains(&holder.pid)) {
        return Err(RunError::Usage(format!(
            "another pgmeter command changes or compares this database: {}; {what} cannot run beside it: wait until it \
             ends, or end that process with pg_terminate_backend",
            holders_in_words(&holders)
        )));
    }
    own().insert(session.cancel_key().process_id.to_string());
    Ok(())
}
