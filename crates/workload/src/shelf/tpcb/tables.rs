//! Preparation of the tables before a run: determining scale and partitions, then vacuuming and truncating as
//! `pgbench` does.

use connect::Session;

use super::Tpcb;
use super::schema::{ACCOUNTS, BRANCHES, HISTORY, TELLERS};
use crate::WorkloadError;
use loading::contract::load::query;
use loading::contract::table_name::TableName;
use loading::contract::workload::{TablePreparation, Tables, Workload, counted, missing_table};
use stats::PartitionMethod;

/// The table that `--vacuum-all` adds.
pub const ACCOUNTS_NAME: &str = ACCOUNTS.name;

/// The query for the scale, as in `pgbench`.
pub const COUNT_BRANCHES: &str = "select count(*) from pgbench_branches";

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

/// A statement that `pgbench` runs before each run without `-n`.
const TRUNCATE_BEFORE_RUN: &str = "truncate pgbench_history";
/// The columns of pgbench_history as `pgbench -i` makes it, with either type of aid.
const HISTORY_COLUMNS: [&str; 2] = [
    "tid integer, bid integer, aid integer, delta integer, mtime timestamp without time zone, filler character(22)",
    "tid integer, bid integer, aid bigint, delta integer, mtime timestamp without time zone, filler character(22)",
];

/// Facts about the tables before a run of built-in scripts.
///
/// # Errors
/// [`WorkloadError::TablesMissing`] with the missing table; [`WorkloadError::Query`] only for the count of
/// pgbench_branches; [`WorkloadError::UnknownPartitionMethod`]. As in `pgbench`, accounts whose partitions cannot be
/// looked up count as unpartitioned.
pub(super) fn find(session: &mut Session) -> Result<Tables, WorkloadError> {
    let scale = Some(count_branches(session)?.into());
    let Ok(found) = query(session, FIND_PARTITIONS) else { return Ok(Tables { scale, partitioning: None }) };
    let Some(accounts) = found.first() else {
        return Err(missing_table(session, ACCOUNTS.name, &Tpcb, None));
    };
    let method = match accounts.get(0) {
        None => None,
        Some("r") => Some(PartitionMethod::Range),
        Some("h") => Some(PartitionMethod::Hash),
        Some(other) => {
            let (table, strategy) = (ACCOUNTS.name, other.to_owned());
            return Err(WorkloadError::UnknownPartitionMethod { table, strategy });
        }
    };
    let partitions = accounts.get(1).and_then(|count| count.parse().ok()).unwrap_or(0);
    Ok(Tables { scale, partitioning: method.map(|method| (method, partitions)) })
}

fn count_branches(session: &mut Session) -> Result<u32, WorkloadError> {
    let rows = counted(session, COUNT_BRANCHES, BRANCHES.name, &Tpcb)?;
    let unusable = |_| {
        let (table, init) = (BRANCHES.name.to_owned(), Tpcb.init_command());
        WorkloadError::ScaleUnusable { table, rows: rows.clone(), init }
    };
    rows.parse().map_err(unusable)
}

/// Branches and tellers are vacuumed, and the history is truncated. As with `pgbench`, errors do not stop the run: the tables
/// may be absent if only the user's own scripts run.
pub(super) fn prepared() -> Vec<TablePreparation> {
    let vacuumed = [BRANCHES, TELLERS].map(|table| TablePreparation::Vacuum(table.name.to_owned()));
    let (table, by_name) = (TableName::new(HISTORY.name), Some(TRUNCATE_BEFORE_RUN));
    let truncated = TablePreparation::Truncate { table, columns: &HISTORY_COLUMNS, by_name };
    vacuumed.into_iter().chain([truncated]).collect()
}
