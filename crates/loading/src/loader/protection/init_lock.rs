//! At most one `init` of a workload runs in a database: a session-level advisory lock of its first connection. Behind a
//! connection pooler there is no such lock, because it would remain in a connection that others use later.

use connect::Session;

use crate::WorkloadError;
use crate::contract::load::query_catalogs;

/// First number of the locks: `pgmi` in ASCII. The second is a checksum of the workload's name.
const CLASS: u32 = 0x7067_6d69;

/// Longest wait for the lock: the backend of an `init` that was killed needs a moment to end.
const WAIT_MS: u32 = 1000;

/// Does the work while no other `init` of the workload runs in the database.
///
/// # Errors
/// Another one is running; errors of the work.
pub fn hold<T>(
    session: &mut Session,
    workload: &str,
    work: impl FnOnce(&mut Session) -> Result<T, WorkloadError>,
) -> Result<T, WorkloadError> {
    if !take(session, workload)? {
        let process = holder(session, workload)?;
        return Err(WorkloadError::InitRunning { workload: workload.to_owned(), process });
    }
    let done = work(session);
    if !session.is_lost() {
        // The lock ends with the connection in any case. The server warns if a statement of the work has released it.
        let _ = query_catalogs(session, &format!("select pg_advisory_unlock({CLASS}, {})", number(workload)));
        session.take_notices();
    }
    done
}

/// Takes the lock; false if another session has it. Behind a pooler nothing is locked.
pub(crate) fn take(session: &mut Session, workload: &str) -> Result<bool, WorkloadError> {
    let process_id = session.cancel_key().process_id;
    let sql = format!(
        "select set_config('lock_timeout', '{WAIT_MS}', true); \
         select pg_advisory_lock({CLASS}, {}) where pg_backend_pid() = {process_id}",
        number(workload)
    );
    match query_catalogs(session, &sql) {
        Ok(_) => Ok(true),
        Err(WorkloadError::Query { source, .. }) if source.is_lock_timeout() => Ok(false),
        Err(error) => Err(error),
    }
}

/// The process of the session that has the lock; `unknown` if it has ended meanwhile.
pub(crate) fn holder(session: &mut Session, workload: &str) -> Result<String, WorkloadError> {
    let sql = format!(
        "select l.pid from pg_locks l join pg_database d on d.oid = l.database where l.locktype = 'advisory' and l.granted \
         and l.classid = {CLASS} and l.objid = {} and l.objsubid = 2 and d.datname = current_database()",
        number(workload)
    );
    let rows = query_catalogs(session, &sql)?;
    Ok(rows.first().and_then(|row| row.get(0)).unwrap_or("unknown").to_owned())
}

/// A checksum of the name (FNV-1a) without its sign bit: the server's numbers have signs.
fn number(workload: &str) -> u32 {
    const OFFSET: u32 = 0x811c_9dc5;
    const PRIME: u32 = 0x0100_0193;
    let sum = workload.bytes().fold(OFFSET, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(PRIME));
    sum & i32::MAX.unsigned_abs()
}
