//! The numbers of rows that `init` has loaded. It counts them at the end of a load, whatever statements made them, and keeps
//! them in the marks of the tables; `check` compares.

use std::collections::BTreeMap;

use connect::Session;
use connect::quote::literal;

use crate::WorkloadError;
use crate::contract::check::{Check, PROBLEM};
use crate::contract::load::{query_catalogs, with_commas};
use crate::contract::marks;

/// Counts the rows of the workload's tables, by the OID of the table. Those of partitions and of inherited tables belong to
/// the table above. Without tables that the role may not read, or whose policies hide rows.
pub(crate) fn read(session: &mut Session, workload: &str) -> Result<BTreeMap<String, u64>, WorkloadError> {
    let marked = marks::find(session, workload)?;
    let oids = marked.iter().filter(|table| table.kind == "table" && table.is_same());
    let oids: Vec<String> = oids.map(|table| literal(&table.object.oid)).collect();
    let sql = format!(
        "select c.oid, format('%I.%I', n.nspname, c.relname) from pg_class c \
         join pg_namespace n on n.oid = c.relnamespace where c.oid = any (array[{}]::oid[]) \
         and has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select') \
         and not row_security_active(c.oid) and not exists (select from pg_inherits where inhrelid = c.oid)",
        oids.join(", ")
    );
    let mut counts = BTreeMap::new();
    for table in query_catalogs(session, &sql)? {
        let (Some(oid), Some(name)) = (table.get(0), table.get(1)) else { continue };
        let counted = query_catalogs(session, &format!("select count(*) from {name}"))?;
        let rows = counted.first().and_then(|row| row.get(0)?.parse().ok());
        counts.extend(rows.map(|rows| (oid.to_owned(), rows)));
    }
    Ok(counts)
}

/// Checks of the numbers of rows in the marks, also in those of a restored dump.
pub(crate) fn checks(session: &mut Session, workload: &str) -> Result<Vec<Check>, WorkloadError> {
    let check = |table: marks::MarkedObject| {
        let is_named_alike = table.mark.object.as_ref()?.name == table.object.name;
        let rows = table.mark.object.as_ref()?.rows.filter(|_| table.is_same() || is_named_alike)?;
        Some(row_count(&table.object.oid, &table.identity, rows))
    };
    Ok(marks::find(session, workload)?.into_iter().filter_map(check).collect())
}

/// Returns a sentence about the number of rows, if it is not that of the load.
fn row_count(oid: &str, identity: &str, rows: u64) -> Check {
    let loaded = literal(&format!(
        "; init loaded {}, and a run that inserts or deletes changes this number",
        with_commas(rows)
    ));
    Check {
        name: format!("rows of {identity}"),
        sql: format!(
            "select pg_catalog.concat({}::pg_catalog.regclass, ' has ', pg_catalog.to_char(found, \
             'FM999,999,999,999,990'), case found when 1 then ' row' else ' rows' end, {loaded}) as {PROBLEM} \
             from (select pg_catalog.count(*) as found from {identity}) as counted where found <> {rows}",
            literal(oid)
        ),
    }
}
