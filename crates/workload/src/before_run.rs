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
    let mut marked = marks::find(session, workload)?;
    marked.retain(|object| object.is_own);
    let is_own = marked.iter().any(|object| object.identity == identity)
        || !columns.is_empty() && columns.contains(&&*columns_of(session, &relation.oid)?);
    // TRUNCATE also empties partitions and tables that inherit.
    let is_marked = |child: &String| marked.iter().any(|object| object.identity == *child);
    let child = children_of(session, &relation.oid)?.into_iter().find(|child| !is_marked(child));
    if !is_own || child.is_some() {
        let child = child.filter(|_| is_own);
        return Err(WorkloadError::NotTruncated { table: identity, workload: workload.to_owned(), child });
    }
    let sql = format!("truncate {identity}");
    let mut waits = LockWaits::default();
    // An interruption cancels the statement or closes the session.
    let mut locking = LockingStatements::new(Patience::for_session(session), &|| true, &mut waits);
    let done = locking.execute_in_transaction(session, std::slice::from_ref(&sql));
    done.map_err(|failure| failed(&sql)(*failure.error))?;
    Ok(Some(identity))
}

/// The partitions of a table and the tables that inherit from it, at all levels, with their schemas, quoted.
fn children_of(session: &mut Session, oid: &str) -> Result<Vec<String>, WorkloadError> {
    let sql = format!(
        "with recursive child(oid) as (select inhrelid from pg_inherits where inhparent = {}::oid \
         union select inhrelid from pg_inherits join child on inhparent = oid) \
         select (pg_identify_object('pg_class'::regclass, oid, 0)).identity from child",
        literal(oid)
    );
    let rows = query_catalogs(session, &sql)?;
    Ok(rows.iter().map(|row| row.get(0).unwrap_or_default().to_owned()).collect())
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
