//! Sizes, statistics and cached blocks of tables, read before and after an action of a run: what a VACUUM or a REFRESH
//! changed. Called by `run` on the action's connection.

use connect::quote::literal;
use connect::{ConnectError, ResultSet, Row, Session};
use results::{IndexState, Missing, RelationKind, SafeText, TableState, TablesAt};

use crate::extension::extension_schema;
use crate::normal_form::qualified_names;
use crate::relations::{INDEXES_MAX, PARTITIONS_MAX, TABLES_MAX, relation_kind, with_members};

/// Names in the SQL of an action that are looked up.
const NAMES_MAX: usize = 1_000;

/// Prefix of each message, which is one transaction: nothing is changed, and nothing waits for long.
const LIMITS: &str = "select pg_catalog.set_config('transaction_read_only', 'on', true), \
                      pg_catalog.set_config('lock_timeout', '200ms', true), \
                      pg_catalog.set_config('statement_timeout', '5s', true), \
                      pg_catalog.set_config('client_min_messages', 'error', true)";
const CATALOGS_ALONE: &str = "select pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)";

/// The tables that `sql` names, then those in `others` (as SQL writes them), at most 64; and what could not be read.
pub fn tables_now(session: &mut Session, sql: &str, others: &[String]) -> (Vec<TableState>, Vec<Missing>) {
    let mut names = qualified_names(sql);
    names.truncate(NAMES_MAX);
    names.extend(others.iter().take(TABLES_MAX).cloned());
    let mut tables = match oids(session, &names).and_then(|oids| states(session, &oids)) {
        Ok(tables) => tables,
        Err(error) => return (Vec::new(), vec![Missing::new(TablesAt::ALL, error.to_string())]),
    };
    let cached = add_cached_bytes(session, &mut tables);
    let missing = cached.err().map(|why| Missing::new("pg_buffercache", why));
    (tables.into_iter().map(|known| known.state).collect(), missing.into_iter().collect())
}

/// The next statement has the server publish this session's statistics. Servers before 15 do so after half a second.
///
/// # Errors
/// The session was lost.
pub fn flush_statistics(session: &mut Session) -> Result<(), ConnectError> {
    const FIRST_WITH_FLUSH: u32 = 150_000;
    let has_flush = session.server_version_num() >= FIRST_WITH_FLUSH;
    session
        .execute(if has_flush { "select pg_catalog.pg_stat_force_next_flush()" } else { "select 1" })
        .map(drop)
}

/// A table with its OID and those of its indexes.
struct Known {
    oid: String,
    state: TableState,
    indexes: Vec<String>,
}

/// OIDs of the tables, views and indexes with these names, in order; other words of a statement are none.
fn oids(session: &mut Session, names: &[String]) -> Result<Vec<String>, ConnectError> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let list: Vec<String> = names.iter().map(|name| literal(name)).collect();
    let list = list.join(", ");
    // With the user's search_path, so all names in this statement have a schema.
    let rows = session.query(&format!(
        "{LIMITS}; select pg_catalog.to_regclass(name)::pg_catalog.oid from pg_catalog.unnest(array[{list}]::pg_catalog.text[]) \
         as names (name)"
    ))?;
    Ok(rows.iter().filter_map(|row| row.get(0).map(str::to_owned)).collect())
}

/// A partition of another one of these tables has no state of its own, because that of the other one includes it.
fn states(session: &mut Session, oids: &[String]) -> Result<Vec<Known>, ConnectError> {
    if oids.is_empty() {
        return Ok(Vec::new());
    }
    let all = format!("any ('{{{}}}'::oid[])", oids.join(","));
    // An index stands for its table.
    let rows = session.query(&format!(
        "{LIMITS}; {CATALOGS_ALONE}; select coalesce(i.indrelid, c.oid) from pg_class as c \
         left join pg_index as i on i.indexrelid = c.oid \
         where c.oid = {all} and c.relkind in ('r', 'p', 'v', 'm', 'f', 'i', 'I') group by 1 \
         order by min(array_position('{{{}}}'::oid[], c.oid)) limit {TABLES_MAX}",
        oids.join(",")
    ))?;
    let ordered: Vec<&str> = rows.iter().filter_map(|row| row.get(0)).collect();
    let ordered = ordered.join(",");
    let list = format!("any ('{{{ordered}}}'::oid[])");
    let members = with_members(&list);
    let tables = format!(
        "{members} select c.oid, quote_ident(n.nspname) || '.' || quote_ident(c.relname), c.relkind, \
           s.bytes, s.live, s.dead, s.inserted, s.updated, s.deleted \
         from pg_class as c join pg_namespace as n on n.oid = c.relnamespace cross join lateral ( \
           select sum(case when k.relkind in ('r', 'm') then pg_table_size(k.oid) end)::bigint as bytes, \
             sum(pg_stat_get_live_tuples(k.oid))::bigint as live, \
             sum(pg_stat_get_dead_tuples(k.oid))::bigint as dead, \
             sum(pg_stat_get_tuples_inserted(k.oid))::bigint as inserted, \
             sum(pg_stat_get_tuples_updated(k.oid))::bigint as updated, \
             sum(pg_stat_get_tuples_deleted(k.oid))::bigint as deleted \
           from members as m left join pg_class as k on k.oid = m.member and m.number <= {PARTITIONS_MAX} + 1 \
           where m.root = c.oid) as s \
         where c.oid = {list} and not exists (select from members as m where m.member = c.oid and m.root <> c.oid) \
         order by array_position('{{{ordered}}}'::oid[], c.oid)"
    );
    let indexes = format!(
        "select i.indrelid, c.oid, quote_ident(n.nspname) || '.' || quote_ident(c.relname), \
           case when c.relkind = 'i' then pg_relation_size(c.oid) end \
         from pg_index as i join pg_class as c on c.oid = i.indexrelid \
         join pg_namespace as n on n.oid = c.relnamespace where i.indrelid = {list} order by 3 limit {INDEXES_MAX}"
    );
    let sets = session.query_sets(&format!("{LIMITS}; {CATALOGS_ALONE}; {tables}; {indexes}"))?;
    let mut sets: Vec<ResultSet> = sets.into_iter().filter(|set| set.returns_rows).collect();
    let indexes = sets.pop().map(|set| set.rows).unwrap_or_default();
    let tables = sets.pop().map(|set| set.rows).unwrap_or_default();
    Ok(tables.iter().filter_map(|row| known(row, &indexes)).collect())
}

fn known(row: &Row, indexes: &[Row]) -> Option<Known> {
    let kind = relation_kind(row.get(2)?)?;
    let has_rows =
        matches!(kind, RelationKind::Table | RelationKind::PartitionedTable | RelationKind::MaterializedView);
    let number = |column: usize| row.get(column)?.parse::<u64>().ok().filter(|_| has_rows);
    let of_table: Vec<&Row> = indexes.iter().filter(|index| index.get(0) == row.get(0)).collect();
    let index = |index: &&Row| IndexState {
        name: SafeText::from(index.get(2).unwrap_or_default()),
        bytes: index.get(3).and_then(|bytes| bytes.parse().ok()),
        cached_bytes: None,
    };
    Some(Known {
        oid: row.get(0)?.to_owned(),
        indexes: of_table.iter().map(|index| index.get(1).unwrap_or_default().to_owned()).collect(),
        state: TableState {
            name: row.get(1)?.into(),
            kind,
            bytes: number(3),
            live_rows: number(4),
            dead_rows: number(5),
            inserted_rows: number(6),
            updated_rows: number(7),
            deleted_rows: number(8),
            cached_bytes: None,
            indexes: of_table.iter().map(index).collect(),
        },
    })
}

/// Adds the bytes in shared buffers, if pg_buffercache is installed; `Err` says why they could not be read.
fn add_cached_bytes(session: &mut Session, tables: &mut [Known]) -> Result<(), String> {
    let Some(schema) = extension_schema(session, "pg_buffercache")?.filter(|_| !tables.is_empty()) else {
        return Ok(());
    };
    let oids = |of: &dyn Fn(&Known) -> Vec<String>| tables.iter().flat_map(of).collect::<Vec<_>>().join(",");
    let list = format!("any ('{{{}}}'::oid[])", oids(&|known| vec![known.oid.clone()]));
    let indexes = oids(&|known| known.indexes.clone());
    let members = with_members(&list);
    let rows = session.query(&format!(
        "{LIMITS}; {CATALOGS_ALONE}; {members}, files (oid, file) as ( \
           select m.root, pg_relation_filenode(m.member) from members as m \
           union select m.root, pg_relation_filenode(k.reltoastrelid) from members as m \
           join pg_class as k on k.oid = m.member where k.reltoastrelid <> 0 \
           union select i, pg_relation_filenode(i) from unnest('{{{indexes}}}'::oid[]) as i) \
         select f.oid, count(*) * current_setting('block_size')::bigint \
         from files as f join {schema}.pg_buffercache as b on b.relfilenode = f.file \
         where b.reldatabase = (select oid from pg_database where datname = current_database()) group by 1"
    ));
    let rows = rows.map_err(|error| error.to_string())?;
    let cached = |oid: &str| {
        let row = rows.iter().find(|row| row.get(0) == Some(oid));
        row.and_then(|row| row.get(1)?.parse().ok()).unwrap_or(0)
    };
    for Known { oid, state, indexes } in tables {
        state.cached_bytes = state.bytes.map(|_| cached(oid));
        for (index, oid) in state.indexes.iter_mut().zip(indexes) {
            index.cached_bytes = index.bytes.map(|_| cached(oid));
        }
    }
    Ok(())
}
