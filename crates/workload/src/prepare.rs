//! What happens to the tables before a run of the built-in scripts: finding their scale, then the
//! vacuuming and emptying that `pgbench` does. Makes nothing new; that is `init`.

use connect::{Session, SqlState};

use crate::WorkloadError;
use crate::init::{execute, query};

const COUNT_BRANCHES: &str = "select count(*) from pgbench_branches";

/// What `pgbench` does before each run that was not told to leave it (`-n`).
const BEFORE_RUN: [&str; 3] =
    ["vacuum pgbench_branches", "vacuum pgbench_tellers", "truncate pgbench_history"];

/// The scale that the tables were made with: the number of branches.
pub fn detect_scale(session: &mut Session) -> Result<u32, WorkloadError> {
    let rows = match query(session, COUNT_BRANCHES) {
        Ok(rows) => rows,
        Err(WorkloadError::Query { source, .. }) if source.sqlstate() == Some(SqlState::UNDEFINED_TABLE) => {
            return Err(WorkloadError::TablesMissing { database: current_database(session) });
        }
        Err(other) => return Err(other),
    };
    let branches = rows.first().and_then(|row| row.get(0)).unwrap_or("no");
    match branches.parse() {
        Ok(scale) if scale > 0 => Ok(scale),
        _ => Err(WorkloadError::ScaleUnusable { branches: branches.to_owned() }),
    }
}

/// Vacuums branches and tellers and empties the history. As with `pgbench`, a failure does not stop the
/// run (the tables may be absent when only own scripts are run): all failures are returned, to be shown.
#[must_use = "the caller shows what failed"]
pub fn prepare_run(session: &mut Session) -> Vec<WorkloadError> {
    BEFORE_RUN.iter().filter_map(|sql| execute(session, sql).err()).collect()
}

/// Vacuums and analyzes the accounts too (`-v`).
pub fn vacuum_accounts(session: &mut Session) -> Result<(), WorkloadError> {
    execute(session, "vacuum analyze pgbench_accounts")
}

fn current_database(session: &mut Session) -> String {
    let rows = query(session, "select pg_catalog.current_database()").unwrap_or_default();
    rows.first().and_then(|row| row.get(0)).unwrap_or("?").to_owned()
}
