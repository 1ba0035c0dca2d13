//! What happens to the tables before a run of the built-in scripts: finding their scale and partitions, then
//! the vacuuming and emptying that `pgbench` does. Makes nothing new; that is `init`.

use connect::{Session, SqlState};

use crate::init::{execute, query};
use crate::schema::{ACCOUNTS, BRANCHES};
use crate::{PartitionMethod, WorkloadError};

const COUNT_BRANCHES: &str = "select count(*) from pgbench_branches";

/// How the pgbench_accounts that a script would find is partitioned: `r`, `h` or another letter, NULL if it is
/// not; and how many partitions it has. No row if there is no such table in the search path. A server
/// before 10 does not know the catalog.
const FIND_PARTITIONS: &str = "\
    select partitioned.partstrat, (select pg_catalog.count(*) from pg_catalog.pg_inherits \
    where inhparent operator(pg_catalog.=) accounts.oid) \
    from pg_catalog.pg_class accounts \
    left join pg_catalog.pg_partitioned_table partitioned \
    on partitioned.partrelid operator(pg_catalog.=) accounts.oid \
    where accounts.oid operator(pg_catalog.=) pg_catalog.to_regclass('pgbench_accounts')";

/// What `pgbench` does before each run that was not told to leave it (`-n`).
const BEFORE_RUN: [&str; 3] =
    ["vacuum pgbench_branches", "vacuum pgbench_tellers", "truncate pgbench_history"];

/// The tables that built-in scripts will work on.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    /// The rows of pgbench_branches. 0 if the table is empty: built-in scripts then have nothing to draw from.
    pub scale: u32,
    /// How pgbench_accounts is partitioned, and into how many partitions.
    pub partitioning: Option<(PartitionMethod, u32)>,
}

/// What there is to know about the tables before a run of built-in scripts.
///
/// # Errors
/// [`WorkloadError::TablesMissing`] with the table that is not there; [`WorkloadError::Query`] only about the count of
/// pgbench_branches; [`WorkloadError::UnknownPartitionMethod`]. As in `pgbench`, accounts whose partitions
/// cannot be looked up count as unpartitioned.
pub fn detect_tables(session: &mut Session) -> Result<Tables, WorkloadError> {
    let scale = count_branches(session)?;
    let Ok(found) = query(session, FIND_PARTITIONS) else { return Ok(Tables { scale, partitioning: None }) };
    let Some(accounts) = found.first() else {
        let database = current_database(session);
        return Err(WorkloadError::TablesMissing { database, table: ACCOUNTS.name, source: None });
    };
    let method = match accounts.get(0) {
        None => None,
        Some("r") => Some(PartitionMethod::Range),
        Some("h") => Some(PartitionMethod::Hash),
        Some(other) => return Err(WorkloadError::UnknownPartitionMethod { strategy: other.to_owned() }),
    };
    let partitions = accounts.get(1).and_then(|count| count.parse().ok()).unwrap_or(0);
    Ok(Tables { scale, partitioning: method.map(|method| (method, partitions)) })
}

/// The scale that the tables were made with: the number of branches, at least 1.
pub fn detect_scale(session: &mut Session) -> Result<u32, WorkloadError> {
    match count_branches(session)? {
        0 => Err(WorkloadError::ScaleUnusable { branches: "0".to_owned() }),
        scale => Ok(scale),
    }
}

fn count_branches(session: &mut Session) -> Result<u32, WorkloadError> {
    let rows = match query(session, COUNT_BRANCHES) {
        Ok(rows) => rows,
        Err(WorkloadError::Query { source, .. }) if source.sqlstate() == Some(SqlState::UNDEFINED_TABLE) => {
            let (database, source) = (current_database(session), Some(source));
            return Err(WorkloadError::TablesMissing { database, table: BRANCHES.name, source });
        }
        Err(other) => return Err(other),
    };
    let branches = rows.first().and_then(|row| row.get(0)).unwrap_or("no");
    branches.parse().map_err(|_| WorkloadError::ScaleUnusable { branches: branches.to_owned() })
}

/// Vacuums branches and tellers and empties the history. As with `pgbench`, a failure does not stop the
/// run (the tables may be absent when only own scripts are run): all failures are returned, to be shown.
#[must_use = "the caller shows what failed"]
pub fn prepare_run(session: &mut Session) -> Vec<WorkloadError> {
    session.patiently(|session| BEFORE_RUN.iter().filter_map(|sql| execute(session, sql).err()).collect())
}

/// Vacuums and analyzes the accounts too (`-v`).
pub fn vacuum_accounts(session: &mut Session) -> Result<(), WorkloadError> {
    session.patiently(|session| execute(session, "vacuum analyze pgbench_accounts"))
}

fn current_database(session: &mut Session) -> String {
    let rows = query(session, "select pg_catalog.current_database()").unwrap_or_default();
    rows.first().and_then(|row| row.get(0)).unwrap_or("?").to_owned()
}
