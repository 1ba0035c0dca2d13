//! Statements on a workload's tables before a run. A truncation destroys rows, so it acts only on tables that `init` made, or
//! that have exactly the columns of pgbench's; the drop-in truncates what has the name, as pgbench does.

use connect::quote::literal;
use connect::{LockWaits, LockingStatements, Patience, Session};

use crate::WorkloadError;
use crate::load::{failed, query_catalogs};
use crate::loader::TableName;
use crate::marks;
use crate::protection;

/// Which tables may be truncated before a run.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Truncation {
    /// Any table with the name, as in pgbench.
    ByName,
    /// Tables that `init` made for the workload, or that `pgbench -i` made.
    OwnTables,
}

/// What was done before a run.
#[derive(Debug, Default)]
#[must_use = "the caller shows what failed"]
pub struct PreparedRun {
    /// The tables that were truncated, with their schemas, quoted.
    pub truncated: Vec<String>,
    /// Statements that failed; the run continues.
    pub failed: Vec<WorkloadError>,
}

impl PreparedRun {
    /// Notes the result of a statement, and the table that it truncated.
    pub(crate) fn add(&mut self, done: Result<Option<String>, WorkloadError>) {
        match done {
            Ok(table) => self.truncated.extend(table),
            Err(error) => self.failed.push(error),
        }
    }
}

/// Truncates a table if it is the workload's own; returns it, or `None` if there is none. A table with one of the
/// lists of `columns` counts as own: another program made it for the same purpose.
pub(crate) fn truncate_own(
    session: &mut Session,
    table: &TableName,
    workload: &str,
    columns: &[&str],
) -> Result<Option<String>, WorkloadError> {
    let Some(relation) = protection::find(session, table)? else { return Ok(None) };
    let identity = relation.identity;
    let mut marked = marks::find(session, workload)?.into_iter().filter(|object| object.is_like_made);
    let is_own = marked.any(|object| object.identity == identity)
        || !columns.is_empty() && columns.contains(&&*columns_of(session, &relation.oid)?);
    if !is_own {
        return Err(WorkloadError::NotTruncated { table: identity, workload: workload.to_owned() });
    }
    let sql = format!("truncate {identity}");
    let mut waits = LockWaits::default();
    // An interruption cancels the statement or closes the session.
    let mut locking = LockingStatements::new(Patience::default(), &|| true, &mut waits);
    let done = locking.execute_in_transaction(session, std::slice::from_ref(&sql));
    done.map_err(|failure| failed(&sql)(*failure.error))?;
    Ok(Some(identity))
}

/// `name type, name type, …`.
fn columns_of(session: &mut Session, oid: &str) -> Result<String, WorkloadError> {
    let sql = format!(
        "select string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' order by attnum) \
         from pg_attribute where attrelid = {}::oid and attnum > 0 and not attisdropped",
        literal(oid)
    );
    let rows = query_catalogs(session, &sql)?;
    Ok(rows.first().and_then(|row| row.get(0)).unwrap_or_default().to_owned())
}
