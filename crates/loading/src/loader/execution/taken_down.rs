//! Drops objects that slow the loading of rows or would act on each row, if they can be restored exactly: keys, foreign
//! keys, indexes and triggers. The server's own definitions restore them after the rows.

use std::collections::BTreeMap;

use connect::quote::literal;
use connect::{ConnectError, Row, Session};

use super::statement::LoadStatement;
use super::table_set::{AfterRows, LoadTable, Purpose, TableSet};
use crate::WorkloadError;
use crate::contract::load::{execute, failed, query_catalogs, text};
use crate::contract::table_name::TableName;
use crate::loader::protection::existing_objects::Object;

/// Version whose catalogs name the trigger of the partitioned table.
const PARENT_VERSION: u32 = 130_000;

/// What can be restored.
struct Restorable {
    purpose: Purpose,
    relation: String,
    down: String,
    up: String,
}

/// Removes keys and foreign keys that the schema has created: one index build and one check at the end are faster than
/// work for each row. Those with properties that their definition does not show stay. If the statements of the schema were
/// executed in their order, the same is done with indexes and triggers, and materialized views are refreshed afterwards.
pub(super) fn take_down(
    session: &mut Session,
    set: &TableSet,
    made: &[Object],
    relations: &BTreeMap<TableName, String>,
) -> Result<Vec<AfterRows>, WorkloadError> {
    let oids = |kind: &str| {
        let own = made.iter().filter(|object| object.kind == kind);
        own.map(|object| object.oid.as_str()).collect::<Vec<_>>().join(", ")
    };
    let tables = oids("table");
    if tables.is_empty() {
        return Ok(Vec::new());
    }
    let mut all = keys(session, set, &tables, relations)?;
    if set.is_in_order {
        all.extend(indexes(session, set, relations)?);
        all.extend(views(session, &oids("materialized view"))?);
        if !set.keeps_triggers {
            all.extend(triggers(session, relations)?);
        }
    }
    let downs: Vec<&str> = all.iter().map(|own| own.down.as_str()).filter(|down| !down.is_empty()).collect();
    let are_done = is_done(session, &downs.join("; "))?;
    let mut after = Vec::new();
    for Restorable { purpose, relation, down, up } in all {
        if are_done || down.is_empty() || is_done(session, &down)? {
            after.push(restored(purpose, relations, &up, &relation));
        }
    }
    Ok(after)
}

/// Whether statements were executed: another object, such as a view, may depend on what they drop.
fn is_done(session: &mut Session, sql: &str) -> Result<bool, WorkloadError> {
    execute(session, "savepoint pgmeter_taken_down")?;
    let is_done = match session.execute(sql) {
        Ok(_) => true,
        Err(ConnectError::Server(_)) => {
            execute(session, "rollback to savepoint pgmeter_taken_down")?;
            false
        }
        Err(source) => return Err(failed(sql)(source)),
    };
    execute(session, "release savepoint pgmeter_taken_down")?;
    Ok(is_done)
}

/// A statement after the rows, for the table of this relation.
pub(super) fn restored(
    purpose: Purpose,
    relations: &BTreeMap<TableName, String>,
    sql: &str,
    relation: &str,
) -> AfterRows {
    let table = relations.iter().find(|(_, known)| *known == relation).map(|(table, _)| table.clone());
    AfterRows { purpose, table, statement: LoadStatement::new(sql) }
}

/// A query of the OIDs of tables with their partitions, as `with recursive NAME`.
fn tree<'a>(name: &str, relations: impl Iterator<Item = &'a String>) -> String {
    let tables: Vec<String> = relations.map(|relation| format!("{}::regclass", literal(relation))).collect();
    format!(
        "{name} as (select unnest(array[{}]::oid[]) as oid \
         union select inhrelid from pg_inherits join {name} on inhparent = {name}.oid)",
        tables.join(", ")
    )
}

/// The relations whose rows the server judges.
fn judged<'a>(
    set: &'a TableSet,
    relations: &'a BTreeMap<TableName, String>,
) -> impl Iterator<Item = &'a String> {
    let judged = set.tables.iter().filter(|table| table.judge.is_some());
    judged.filter_map(|table| relations.get(&table.table))
}

/// Those whose primary keys no row violates. A trigger could change the rows.
fn with_met_primary<'a>(
    set: &'a TableSet,
    relations: &'a BTreeMap<TableName, String>,
) -> impl Iterator<Item = &'a String> {
    let is_met = |table: &&LoadTable| {
        !set.keeps_triggers && table.judge.as_ref().is_some_and(|judge| judge.primary_is_met)
    };
    set.tables.iter().filter(is_met).filter_map(|table| relations.get(&table.table))
}

fn keys(
    session: &mut Session,
    set: &TableSet,
    tables: &str,
    relations: &BTreeMap<TableName, String>,
) -> Result<Vec<Restorable>, WorkloadError> {
    // A foreign key to a table of others stays: to drop and to add it would lock that table, for as long as rows are checked.
    // The keys of partitions may have names of their own, which are lost with the key of the partitioned table.
    let whole = if set.is_in_order { "and (k.contype = 'f' or c.relkind = 'r')" } else { "" };
    let sql = format!(
        "with recursive {}, {} \
         select k.contype, quote_ident(n.nspname) || '.' || quote_ident(c.relname), quote_ident(k.conname), \
         pg_get_constraintdef(k.oid) from pg_constraint k join pg_class c on c.oid = k.conrelid \
         join pg_namespace n on n.oid = c.relnamespace \
         left join pg_index i on i.indexrelid = k.conindid and k.contype <> 'f' \
         left join pg_class x on x.oid = i.indexrelid \
         where k.conrelid in ({tables}) and c.relpersistence <> 't' and k.contype in ('p', 'u', 'x', 'f') and k.coninhcount = 0 \
         and x.reloptions is null and coalesce(x.reltablespace, 0) = 0 \
         and not coalesce(i.indisclustered, false) and not coalesce(i.indisreplident, false) \
         and obj_description(k.oid, 'pg_constraint') is null and obj_description(x.oid, 'pg_class') is null \
         and (k.contype <> 'f' or k.confrelid in ({tables})) \
         and (k.contype = 'f' or k.conrelid not in (select oid from judged) \
           or (k.contype = 'p' and k.conrelid in (select oid from met))) {whole} \
         order by k.contype <> 'f', k.contype <> 'p', k.oid",
        tree("judged", judged(set, relations)),
        tree("met", with_met_primary(set, relations)),
    );
    let key = |row: &Row| {
        let (relation, name, definition) = (text(row, 1), text(row, 2), text(row, 3));
        Restorable {
            purpose: if row.get(0) == Some("f") { Purpose::ForeignKey } else { Purpose::Key },
            down: format!("alter table {relation} drop constraint {name}"),
            up: format!("alter table {relation} add constraint {name} {definition}"),
            relation,
        }
    };
    Ok(query_catalogs(session, &sql)?.iter().map(key).collect())
}

/// Indexes of ordinary tables that get rows, but for unique ones of tables whose rows the server judges.
fn indexes(
    session: &mut Session,
    set: &TableSet,
    relations: &BTreeMap<TableName, String>,
) -> Result<Vec<Restorable>, WorkloadError> {
    let sql = format!(
        "with recursive {}, {} \
         select quote_ident(n.nspname) || '.' || quote_ident(c.relname), \
         quote_ident(n.nspname) || '.' || quote_ident(x.relname), pg_get_indexdef(x.oid) \
         from pg_index i join pg_class x on x.oid = i.indexrelid join pg_class c on c.oid = i.indrelid \
         join pg_namespace n on n.oid = c.relnamespace \
         where i.indrelid in (select oid from own) and c.relkind = 'r' and x.relkind = 'i' and i.indisvalid \
         and not exists (select from pg_inherits h where h.inhrelid in (c.oid, x.oid)) \
         and not exists (select from pg_constraint k where k.conindid = x.oid) \
         and not i.indisclustered and not i.indisreplident and x.reltablespace = 0 \
         and obj_description(x.oid, 'pg_class') is null \
         and not exists (select from pg_attribute a where a.attrelid = x.oid and coalesce(a.attstattarget, -1) <> -1) \
         and not (i.indisunique and i.indrelid in (select oid from judged)) order by x.oid",
        tree("own", relations.values()),
        tree("judged", judged(set, relations)),
    );
    let index = |row: &Row| Restorable {
        purpose: Purpose::Index,
        relation: text(row, 0),
        down: format!("drop index {}", text(row, 1)),
        up: text(row, 2),
    };
    Ok(query_catalogs(session, &sql)?.iter().map(index).collect())
}

/// Materialized views show the rows.
fn views(session: &mut Session, views: &str) -> Result<Vec<Restorable>, WorkloadError> {
    if views.is_empty() {
        return Ok(Vec::new());
    }
    let sql = format!(
        "select quote_ident(n.nspname) || '.' || quote_ident(c.relname) from pg_class c \
         join pg_namespace n on n.oid = c.relnamespace where c.oid in ({views}) and c.relispopulated order by c.oid"
    );
    let view = |row: &Row| Restorable {
        purpose: Purpose::Last,
        relation: text(row, 0),
        down: String::new(),
        up: format!("refresh materialized view {}", text(row, 0)),
    };
    Ok(query_catalogs(session, &sql)?.iter().map(view).collect())
}

/// Triggers of tables that get rows, and of their partitions. Disabled ones stay as they are.
fn triggers(
    session: &mut Session,
    relations: &BTreeMap<TableName, String>,
) -> Result<Vec<Restorable>, WorkloadError> {
    // Before, those of partitions that belong to one of the partitioned table are internal.
    let own = if session.server_version_num() >= PARENT_VERSION { "and t.tgparentid = 0" } else { "" };
    let sql = format!(
        "with recursive {} \
         select quote_ident(n.nspname) || '.' || quote_ident(c.relname), \
         string_agg('disable trigger ' || quote_ident(t.tgname), ', ' order by t.oid), \
         string_agg('enable ' || case t.tgenabled when 'A' then 'always ' else '' end || 'trigger ' \
         || quote_ident(t.tgname), ', ' order by t.oid) \
         from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace \
         where c.oid in (select oid from own) and not t.tgisinternal and t.tgenabled in ('O', 'A') {own} \
         group by 1 order by min(t.oid)",
        tree("own", relations.values()),
    );
    // One statement for each table: a loading checks much around each.
    let trigger = |row: &Row| {
        let relation = text(row, 0);
        Restorable {
            purpose: Purpose::Last,
            down: format!("alter table {relation} {}", text(row, 1)),
            up: format!("alter table {relation} {}", text(row, 2)),
            relation,
        }
    };
    Ok(query_catalogs(session, &sql)?.iter().map(trigger).collect())
}
