//! Finds tables that a transaction has changed and that `init` did not make, whichever statement changed them: also DROP
//! TYPE … CASCADE, a trigger, or a function. `protection` examines statements before they run; this is used before COMMIT.

use std::collections::{BTreeMap, BTreeSet};

use connect::Session;

use crate::WorkloadError;
use crate::load::query_catalogs;
use crate::marks;

/// The tables of others, as they were before a transaction.
#[derive(Debug)]
pub(crate) struct ForeignTables {
    workload: String,
    /// By OID.
    tables: BTreeMap<String, Table>,
}

#[derive(Debug)]
struct Table {
    /// With its schema, quoted.
    identity: String,
    definition: String,
    /// The OIDs of the tables that it is a partition of, or inherits from.
    parents: Vec<String>,
    /// Rows that the session has changed and not yet reported to the server's statistics: those of the current
    /// transaction, and of ones shortly before it.
    changed_rows: u64,
}

/// Everything of a table that ALTER, TRUNCATE and the removal of other objects change, and VACUUM, ANALYZE and a foreign
/// key that references it do not. Of `pg_attribute`, whose columns depend on the version, whole rows.
const DEFINITION: &str = "\
    md5(concat_ws('|', n.nspname, c.relname, c.relowner, c.relfilenode, c.reltablespace, c.relpersistence, c.relchecks, \
    c.relrowsecurity, c.relforcerowsecurity, c.relreplident, c.reloptions, c.relacl, \
    (select string_agg(a::text, ',' order by attnum) from pg_attribute a where attrelid = c.oid), \
    (select string_agg(oid::text, ',' order by oid) from pg_attrdef where adrelid = c.oid), \
    (select string_agg(oid::text, ',' order by oid) from pg_constraint where conrelid = c.oid), \
    (select string_agg(indexrelid::text, ',' order by indexrelid) from pg_index where indrelid = c.oid), \
    (select string_agg(oid::text, ',' order by oid) from pg_trigger where tgrelid = c.oid and not tgisinternal), \
    (select string_agg(oid::text, ',' order by oid) from pg_rewrite where ev_class = c.oid), \
    (select string_agg(oid::text, ',' order by oid) from pg_policy where polrelid = c.oid), \
    (select string_agg(inhrelid::text, ',' order by inhrelid) from pg_inherits where inhparent = c.oid)))";

impl ForeignTables {
    /// The tables without a mark of the workload. Like [`Session::query_catalogs`], it changes the search path of an open
    /// transaction.
    pub(crate) fn read(session: &mut Session, workload: &str) -> Result<ForeignTables, WorkloadError> {
        let marked = marks::find(session, workload)?.into_iter().filter(|object| object.is_own);
        let marked: BTreeSet<String> = marked.map(|object| object.identity).collect();
        let mut tables = tables(session)?;
        let is_marked = |(_, table): &(&String, &Table)| marked.contains(&table.identity);
        let mut own: BTreeSet<String> = tables.iter().filter(is_marked).map(|(oid, _)| oid.clone()).collect();
        // Partitions of its tables can have been made without a mark, by a statement that DO executes.
        loop {
            let is_child = |table: &Table| table.parents.iter().any(|parent| own.contains(parent));
            let children: Vec<String> = tables
                .iter()
                .filter(|(oid, table)| !own.contains(*oid) && is_child(table))
                .map(|(oid, _)| oid.clone())
                .collect();
            if children.is_empty() {
                break;
            }
            own.extend(children);
        }
        tables.retain(|oid, _| !own.contains(oid));
        Ok(ForeignTables { workload: workload.to_owned(), tables })
    }

    /// Looks at the tables again, before the transaction is committed.
    ///
    /// # Errors
    /// One was dropped or changed.
    pub(crate) fn check(&self, session: &mut Session) -> Result<(), WorkloadError> {
        if self.tables.is_empty() {
            return Ok(());
        }
        let now = tables(session)?;
        let is_changed = |(oid, before): &(&String, &Table)| {
            now.get(*oid).is_none_or(|table| {
                let has_new_rows = table.changed_rows > 0 && table.changed_rows != before.changed_rows;
                has_new_rows || table.definition != before.definition
            })
        };
        let changed = self.tables.iter().find(is_changed);
        changed.map_or(Ok(()), |(_, table)| {
            let (table, workload) = (table.identity.clone(), self.workload.clone());
            Err(WorkloadError::ForeignTableChanged { table, workload })
        })
    }
}

/// All tables of users by OID.
fn tables(session: &mut Session) -> Result<BTreeMap<String, Table>, WorkloadError> {
    let rows = query_catalogs(
        session,
        &format!(
            "select c.oid, quote_ident(n.nspname) || '.' || quote_ident(c.relname), {DEFINITION}, \
             pg_stat_get_xact_tuples_inserted(c.oid) + pg_stat_get_xact_tuples_updated(c.oid) \
             + pg_stat_get_xact_tuples_deleted(c.oid), \
             (select string_agg(inhparent::text, ' ') from pg_inherits where inhrelid = c.oid) \
             from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind in ('r', 'p', 'f') \
             and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_(toast|temp_)'"
        ),
    )?;
    let text = |row: &connect::Row, column| row.get(column).unwrap_or_default().to_owned();
    let table = |row: &connect::Row| {
        let table = Table {
            identity: text(row, 1),
            definition: text(row, 2),
            parents: text(row, 4).split_whitespace().map(str::to_owned).collect(),
            changed_rows: text(row, 3).parse().unwrap_or(0),
        };
        (text(row, 0), table)
    };
    Ok(rows.iter().map(table).collect())
}
