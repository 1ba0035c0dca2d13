//! Memory for building keys: sorting in memory is much faster than sorting with files. It is raised only for
//! transactions that build keys, within limits, and never against the user's settings.

use connect::Session;

use crate::contract::load::query_catalogs;

/// Maximum memory of all loading sessions together. A server with several hundred megabytes of tables can spare this
/// while keys are built.
const BUDGET_KB: u64 = 256 * 1024;
/// Memory for sorting one row's key, including the spare capacity of arrays that grow by doubling.
const BYTES_PER_KEY: u64 = 64;

/// Settings at the start of each transaction that builds the key of `rows` rows; empty if the server's settings are
/// sufficient. They end with the transaction, because a pooler would hand a changed session to others.
pub(super) fn settings(session: &mut Session, rows: u64, sessions: usize) -> String {
    let sessions = sessions as u64;
    let needed_kb = rows.saturating_mul(BYTES_PER_KEY).div_ceil(1024);
    let wanted_kb = needed_kb.min(BUDGET_KB / sessions);
    let mut settings = String::new();
    if configured_kb(session).is_some_and(|configured_kb| configured_kb < wanted_kb) {
        settings.push_str(&format!("set local maintenance_work_mem = '{wanted_kb}kB'; "));
    }
    // There are as many sessions as processors, so parallel workers would only compete with them.
    if sessions > 1 && session.server_version_num() >= 110_000 {
        settings.push_str("set local max_parallel_maintenance_workers = 0; ");
    }
    settings
}

/// The setting of the server's configuration; `None` if it was set for this user, database or session on purpose.
fn configured_kb(session: &mut Session) -> Option<u64> {
    let sql = "select setting from pg_catalog.pg_settings where name = 'maintenance_work_mem' \
               and source in ('default', 'configuration file', 'command line', 'environment variable')";
    let rows = query_catalogs(session, sql).ok()?;
    rows.first()?.get(0)?.parse().ok()
}
