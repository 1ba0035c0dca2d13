//! Checks of freshly loaded tables, by what `init` has kept in their marks: the numbers of rows, which it counts at
//! the end of a load, whatever statements made them, and the foreign keys of the schema. With some index sets, or after
//! changes, the database has no constraint that enforces these.

use std::collections::BTreeMap;

use connect::Session;
use connect::quote::literal;

use crate::WorkloadError;
use crate::contract::check::{Check, PROBLEM};
use crate::contract::load::{query_catalogs, with_commas};
use crate::contract::marks;

/// Counts the rows of the workload's tables, by the OID of the table. Those of partitions and of inherited tables belong to
/// the table above. Without tables that the role may not read, or whose policies hide rows.
pub(crate) fn count_rows(
    session: &mut Session,
    workload: &str,
) -> Result<BTreeMap<String, u64>, WorkloadError> {
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

/// A foreign key for a mark: its rows, the referenced rows, its columns and as many referenced ones, all as SQL.
pub(crate) fn key_text(rows: &str, referenced_rows: &str, columns: [&[String]; 2]) -> String {
    let columns = columns.into_iter().flatten().map(String::as_str);
    let word = |name: &str| marks::escaped(name).replace(',', "%2C").replace(';', "%3B");
    [rows, referenced_rows].into_iter().chain(columns).map(word).collect::<Vec<_>>().join(",")
}

/// The checks of all marks, also of those of a restored dump.
pub(crate) fn checks(session: &mut Session, workload: &str) -> Result<Vec<Check>, WorkloadError> {
    let mut checks = Vec::new();
    for table in marks::find(session, workload)? {
        let known = table.mark.object.as_ref();
        let Some(known) = known.filter(|own| table.is_same() || own.name == table.object.name) else {
            continue;
        };
        checks.extend(known.rows.map(|rows| row_count(&table.object.oid, &table.identity, rows)));
        let keys = known.foreign_keys.split(';');
        checks.extend(keys.filter_map(|key| without_partner(&table.object.oid, &table.identity, key)));
    }
    Ok(checks)
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
            "select {}, {loaded}) as {PROBLEM} \
             from (select pg_catalog.count(*) as found from {identity}) as counted where found <> {rows}",
            has_rows(oid)
        ),
    }
}

/// Returns a sentence about rows whose reference has no partner; `None` if the mark is not one of [`key_text`].
fn without_partner(oid: &str, identity: &str, key: &str) -> Option<Check> {
    let names: Option<Vec<String>> = key.split(',').map(marks::unescaped).collect();
    let names = names?;
    let [rows, referenced_rows, columns @ ..] = &names[..] else { return None };
    let (columns, referenced) = columns.split_at(columns.len() / 2);
    let all = |words: Vec<String>| words.join(" and ");
    let pairs = columns.iter().zip(referenced).map(|(own, other)| format!("r.{other} = t.{own}"));
    let pairs = all(pairs.collect());
    let given = all(columns.iter().map(|column| format!("t.{column} is not null")).collect());
    let values: Vec<String> = columns.iter().map(|column| format!("t.{column}")).collect();
    let of_key = columns.join(", ").replace('"', "");
    let partner = referenced_rows.strip_prefix("only ").unwrap_or(referenced_rows);
    Some(Check {
        name: format!("foreign key of {identity} ({of_key}) to {partner}"),
        sql: format!(
            "select {}, ' without a partner in ', {}::pg_catalog.regclass, {}, example, ')') as {PROBLEM} \
             from (select pg_catalog.count(*) as found, \
             pg_catalog.min(pg_catalog.concat_ws(', ', {})) as example from {rows} as t \
             where {given} and not exists (select from {referenced_rows} as r where {pairs})) as missing where found > 0",
            has_rows(oid),
            literal(partner),
            literal(&format!(", such as ({of_key}) = (")),
            values.join(", ")
        ),
    })
}

/// SQL: the beginning of a sentence, `orders has 10,263 rows`, whose end is the end of a call.
fn has_rows(oid: &str) -> String {
    format!(
        "pg_catalog.concat({}::pg_catalog.regclass, ' has ', pg_catalog.to_char(found, \
         'FM999,999,999,999,990'), case found when 1 then ' row' else ' rows' end",
        literal(oid)
    )
}
