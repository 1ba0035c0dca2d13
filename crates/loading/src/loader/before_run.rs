//! Statements on a workload's tables before a run. A truncation destroys rows, so it acts only on tables that `init` made, or
//! that have exactly the columns of pgbench's; the drop-in truncates what has the name, as pgbench does. A statement that does
//! not get its lock in time is left out: all wait together as long as [`Patience`] allows, but in the drop-in without a limit.

use connect::quote::literal;
use connect::{LockWaits, LockingStatements, Patience, Session};

use crate::WorkloadError;
use crate::contract::load::{execute, failed, query_catalogs};
use crate::contract::marks;
use crate::contract::table_name::TableName;
use crate::contract::workload::TablePreparation;
use crate::loader::protection::existing_tables::{self, Relation};

/// Which tables may be truncated before a run.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Truncation {
    /// Any table with the name, as in pgbench, which waits for locks without a limit.
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

/// Executes the statements before a run, and notes their results.
#[derive(Debug)]
pub struct Preparation<'a> {
    session: &'a mut Session,
    truncation: Truncation,
    patience: Patience,
    waits: LockWaits,
    prepared: PreparedRun,
}

impl<'a> Preparation<'a> {
    /// Begins; the statements' waits for locks have one limit in common.
    pub fn new(session: &'a mut Session, truncation: Truncation) -> Self {
        let before = session.set_statement_limit(session.patient_limit());
        let patience = Patience::for_session(session);
        session.set_statement_limit(before);
        Self { session, truncation, patience, waits: LockWaits::default(), prepared: PreparedRun::default() }
    }

    /// What was done since the last call.
    pub fn take(&mut self) -> PreparedRun {
        std::mem::take(&mut self.prepared)
    }

    /// Vacuums and truncates tables of a workload.
    pub fn carry_out(&mut self, workload: &str, tables: Vec<TablePreparation>) {
        for table in tables {
            match table {
                TablePreparation::Vacuum(table) => self.vacuum("vacuum", &table),
                TablePreparation::VacuumAnalyze(table) => self.vacuum("vacuum analyze", &table),
                TablePreparation::Truncate { table, columns, by_name } => match (self.truncation, by_name) {
                    (Truncation::ByName, Some(sql)) => self.execute(sql),
                    _ => self.truncate_own(&table, workload, columns),
                },
            }
        }
    }

    /// Executes a statement as it is.
    fn execute(&mut self, sql: &str) {
        let done = self.session.patiently(|session| execute(session, sql));
        self.prepared.failed.extend(done.err());
    }

    /// Vacuums a table: `verb` is VACUUM or VACUUM ANALYZE.
    fn vacuum(&mut self, verb: &str, table: &str) {
        let sql = format!("{verb} {table}");
        if self.truncation == Truncation::ByName {
            return self.execute(&sql);
        }
        let lock = format!("lock table {table} in share update exclusive mode");
        self.with_locks(|session, locking| {
            let done = session.patiently(|session| {
                if !session.is_pooled() {
                    // Readers and writers do not wait behind it.
                    return locking.execute_beside_others(session, &sql);
                }
                // A limit would stay in a connection that others get later, so a transaction shows that the lock is free.
                locking.execute_in_transaction(session, &[lock]).map_err(|failure| *failure.error)?;
                session.execute(&sql).map(drop)
            });
            done.map_err(failed(&sql)).map(|()| None)
        });
    }

    /// Truncates a table if it is the workload's own. A table with one of the lists of `columns` counts as own: another
    /// program made it for the same purpose.
    fn truncate_own(&mut self, table: &TableName, workload: &str, columns: &[&str]) {
        self.with_locks(|session, locking| {
            session.patiently(|session| {
                let Some(identity) = find_own(session, table, workload, columns)? else { return Ok(None) };
                let sql = format!("truncate {identity}");
                let done = locking.execute_in_transaction(session, std::slice::from_ref(&sql));
                done.map_err(|failure| failed(&sql)(*failure.error))?;
                Ok(Some(identity))
            })
        });
    }

    /// Notes the table that the work truncated, or its error.
    fn with_locks(
        &mut self,
        work: impl FnOnce(&mut Session, &mut LockingStatements<'_>) -> Result<Option<String>, WorkloadError>,
    ) {
        if self.session.is_lost() {
            // The statement before has said why.
            return;
        }
        let patience = self.patience.after(&self.waits);
        // An interruption cancels the statement or closes the session.
        let mut locking = LockingStatements::new(patience, &|| true, &mut self.waits);
        match work(self.session, &mut locking) {
            Ok(table) => self.prepared.truncated.extend(table),
            Err(error) => self.prepared.failed.push(error),
        }
    }
}

/// The workload's own table of this name; `None` if there is no table.
fn find_own(
    session: &mut Session,
    table: &TableName,
    workload: &str,
    columns: &[&str],
) -> Result<Option<String>, WorkloadError> {
    let Some(relation) = existing_tables::find(session, table)? else { return Ok(None) };
    let identity = relation.identity;
    let mut marked = marks::find(session, workload)?;
    marked.retain(|object| object.is_own);
    let is_own = marked.iter().any(|object| object.identity == identity)
        || !columns.is_empty() && columns.contains(&&*columns_of(session, &relation.oid)?);
    // TRUNCATE also empties partitions and tables that inherit.
    let is_marked = |child: &Relation| marked.iter().any(|object| object.identity == child.identity);
    let mut children =
        existing_tables::children(session, &relation.oid)?.into_iter().map(|child| child.relation);
    let child = children.find(|child| !is_marked(child)).map(|child| child.identity);
    if !is_own || child.is_some() {
        let child = child.filter(|_| is_own);
        return Err(WorkloadError::NotTruncated { table: identity, workload: workload.to_owned(), child });
    }
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
