//! Whether functions of users exist that statements of pgmeter may call: as triggers, in constraints, defaults, domains,
//! generated columns and indexes. The server's own functions change no objects of others.

use connect::Session;

use crate::WorkloadError;
use crate::contract::load::{query, query_catalogs};

/// Whether the database has any function that is not the server's own.
pub(crate) fn exist(session: &mut Session) -> Result<bool, WorkloadError> {
    let found = query_catalogs(session, "select 1 from pg_proc where oid >= 16384 limit 1")?;
    Ok(!found.is_empty())
}

/// Whether a constraint trigger of a user may be deferred. The search path of the transaction stays.
pub(crate) fn may_defer(session: &mut Session) -> Result<bool, WorkloadError> {
    let sql = "select 1 from pg_catalog.pg_trigger where tgdeferrable and not tgisinternal limit 1";
    Ok(!query(session, sql)?.is_empty())
}
