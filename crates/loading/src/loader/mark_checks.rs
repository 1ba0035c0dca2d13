//! Checks of freshly loaded tables, by what `init` has kept in their marks: the numbers of rows, which it counts at
//! the end of a load, whatever statements made them, and the foreign keys of the schema. With some index sets, or after
//! changes, the database has no constraint that enforces these.

use std::collections::BTreeMap;

use connect::Session;
use connect::quote::{identifier, literal};

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

/// A foreign key for a mark: its rows, the referenced rows, its columns and as many referenced ones. Tables are named as
/// `quote_ident` does it, columns as the catalogs have them.
pub(crate) fn key_text(rows: &str, referenced_rows: &str, columns: [&[String]; 2]) -> String {
    let columns = columns.into_iter().flatten().map(|column| sql::unquoted(column));
    let word = |name: String| marks::escaped(&name).replace(',', "%2C").replace(';', "%3B");
    [rows, referenced_rows]
        .into_iter()
        .map(str::to_owned)
        .chain(columns)
        .map(word)
        .collect::<Vec<_>>()
        .join(",")
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
        for key in known.foreign_keys.split(';').filter(|key| !key.is_empty()) {
            checks.push(foreign_key(session, &table, key)?);
        }
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

/// The check of a foreign key of a mark. Everybody who owns a table can write its comment, so nothing of it is SQL: tables and
/// columns are looked up in the catalogs.
fn foreign_key(
    session: &mut Session,
    table: &marks::MarkedObject,
    key: &str,
) -> Result<Check, WorkloadError> {
    let names: Vec<String> = key.split(',').filter_map(marks::unescaped).collect();
    if let [rows, referenced_rows, columns @ ..] = &names[..]
        && let (columns, referenced) = columns.split_at(columns.len() / 2)
        && !columns.is_empty()
        && columns.len() == referenced.len()
        && let Some(rows) = from_clause(session, rows, columns)?
        && let Some(referenced_rows) = from_clause(session, referenced_rows, referenced)?
    {
        return Ok(without_partner(table, (&rows, columns), (&referenced_rows, referenced)));
    }
    Ok(Check {
        name: format!("foreign keys of {}", table.identity),
        sql: format!(
            "select pg_catalog.concat({}::pg_catalog.regclass, ' has lost a foreign key that init loaded: a table or a column \
             of it is not there any more') as {PROBLEM}",
            literal(&table.object.oid)
        ),
    })
}

/// The rows of a table, if it exists and has these columns.
fn from_clause(
    session: &mut Session,
    rows: &str,
    columns: &[String],
) -> Result<Option<String>, WorkloadError> {
    let (only, name) = rows.strip_prefix("only ").map_or(("", rows), |name| ("only ", name));
    let listed: Vec<String> = columns.iter().map(|column| literal(column)).collect();
    let sql = format!(
        "select t.name from (select c.oid, quote_ident(n.nspname) || '.' || quote_ident(c.relname) as name from pg_class c \
         join pg_namespace n on n.oid = c.relnamespace where c.relkind in ('r', 'p')) as t where t.name = {} and \
         (select count(*) from pg_attribute where attrelid = t.oid and attnum > 0 and not attisdropped \
         and attname = any (array[{}]::name[])) = {}",
        literal(name),
        listed.join(", "),
        columns.len()
    );
    let found = query_catalogs(session, &sql)?;
    Ok(found.first().and_then(|row| row.get(0)).map(|name| format!("{only}{name}")))
}

/// Returns a sentence about rows whose reference has no partner.
fn without_partner(
    table: &marks::MarkedObject,
    (rows, columns): (&str, &[String]),
    (referenced_rows, referenced): (&str, &[String]),
) -> Check {
    let all = |words: Vec<String>| words.join(" and ");
    let names = columns.iter().map(|column| identifier(column));
    let pairs = columns.iter().zip(referenced);
    let pairs =
        all(pairs.map(|(own, other)| format!("r.{} = t.{}", identifier(other), identifier(own))).collect());
    let given = all(names.clone().map(|column| format!("t.{column} is not null")).collect());
    let values: Vec<String> = names.map(|column| format!("t.{column}")).collect();
    let of_key = columns.join(", ");
    let partner = referenced_rows.strip_prefix("only ").unwrap_or(referenced_rows);
    Check {
        name: format!("foreign key of {} ({of_key}) to {partner}", table.identity),
        sql: format!(
            "select {}, ' without a partner in ', {}::pg_catalog.regclass, {}, example, ')') as {PROBLEM} \
             from (select pg_catalog.count(*) as found, \
             pg_catalog.min(pg_catalog.concat_ws(', ', {})) as example from {rows} as t \
             where {given} and not exists (select from {referenced_rows} as r where {pairs})) as missing where found > 0",
            has_rows(&table.object.oid),
            literal(partner),
            literal(&format!(", such as ({of_key}) = (")),
            values.join(", ")
        ),
    }
}

/// SQL: the beginning of a sentence, `orders has 10,263 rows`, whose end is the end of a call.
fn has_rows(oid: &str) -> String {
    format!(
        "pg_catalog.concat({}::pg_catalog.regclass, ' has ', pg_catalog.to_char(found, \
         'FM999,999,999,999,990'), case found when 1 then ' row' else ' rows' end",
        literal(oid)
    )
}
