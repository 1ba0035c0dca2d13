//! Memory for building keys: an index whose keys are sorted in memory is built with far less work than one whose sort
//! goes through files. Raised for the transactions that build keys alone, within bounds, and never against a wish of the
//! user.

use connect::Session;

use super::phase::LoadPhase;
use super::step::Step;
use crate::load::{InitOptions, query_catalogs};

/// What all sessions of a loading may take together. A server that serves several hundred megabytes of tables has as
/// much to spare for the moment in which their keys are made.
const BUDGET_KB: u64 = 256 * 1024;
/// What the sort of one account's key takes in memory, its share of arrays that grow by doubling included.
const BYTES_PER_KEY: u64 = 64;

/// Statements that each transaction of a phase that builds keys begins with; empty where the server's own settings
/// will do. They end with the transaction: a session that stayed changed would be handed to others by a pooler.
pub(crate) fn settings(
    session: &mut Session,
    options: &InitOptions,
    phase: &LoadPhase,
    sessions: usize,
) -> String {
    if !phase.steps.contains(&Step::PrimaryKeys) {
        return String::new();
    }
    let sessions = sessions as u64;
    let partitions = options.partitioning.map_or(1, |partitioning| u64::from(partitioning.partitions));
    let accounts = u64::from(options.scale) * super::schema::ACCOUNTS_PER_BRANCH;
    let needed_kb = (accounts.div_ceil(partitions.max(1)) * BYTES_PER_KEY).div_ceil(1024);
    let wanted_kb = needed_kb.min(BUDGET_KB / sessions);
    let mut settings = String::new();
    if configured_kb(session).is_some_and(|configured_kb| configured_kb < wanted_kb) {
        settings.push_str(&format!("set local maintenance_work_mem = '{wanted_kb}kB'; "));
    }
    // The sessions are as many as there are processors: helpers of each would only stand in the others' way.
    if sessions > 1 && session.server_version_num() >= 110_000 {
        settings.push_str("set local max_parallel_maintenance_workers = 0; ");
    }
    settings
}

/// What the server's configuration gives; nothing where it was set for this user, database or session on purpose.
fn configured_kb(session: &mut Session) -> Option<u64> {
    let sql = "select setting from pg_catalog.pg_settings where name = 'maintenance_work_mem' \
               and source in ('default', 'configuration file', 'command line', 'environment variable')";
    let rows = query_catalogs(session, sql).ok()?;
    rows.first()?.get(0)?.parse().ok()
}
