//! Finds the tables that statements use, without executing them: the server parses each statement in a transaction, which
//! then holds the locks of its tables. Works from 9.6 on, also for views and their tables. Called by `run` before the load.

use std::collections::BTreeSet;
use std::time::Duration;

use connect::{ConnectError, ResultSet, Row, Session};
use results::{Index, Relation, RelationKind, Relations, SafeText, StatementPlace, UtcTime};

use crate::clock;

/// Statements that are examined; a script may have a hundred thousand.
const STATEMENTS_MAX: usize = 200;
/// Time for the examination, so that the run starts soon.
const TIME_MAX: Duration = Duration::from_secs(1);
/// Tables that are described.
pub(crate) const TABLES_MAX: usize = 64;
/// Indexes of all tables together.
pub(crate) const INDEXES_MAX: usize = 512;
/// Partitions of a table whose sizes and statistics are added up; with more, the figures of the table are unknown.
pub(crate) const PARTITIONS_MAX: usize = 1_000;
/// Characters of a definition.
const DEFINITION_LENGTH_MAX: usize = 4_000;

/// Version 11.
const FIRST_WITH_JIT: u32 = 110_000;

/// Starts a transaction that changes nothing and does not wait for locks.
const BEGIN: &str = "begin read only; select pg_catalog.set_config('lock_timeout', '100ms', true), \
                     pg_catalog.set_config('statement_timeout', '1s', true), \
                     pg_catalog.set_config('client_min_messages', 'error', true)";

/// The tables and views that this transaction has locked, except for system catalogs.
const LOCKED: &str = "select distinct c.oid from pg_locks as l join pg_class as c on c.oid = l.relation \
                      join pg_namespace as n on n.oid = c.relnamespace \
                      where l.pid = pg_backend_pid() and l.locktype = 'relation' \
                      and c.relkind in ('r', 'p', 'v', 'm', 'f') \
                      and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_toast'";

/// A statement to be examined.
#[derive(Clone, Debug)]
pub struct StatementText {
    /// Where it is.
    pub place: StatementPlace,
    /// Its text in the forms that may be parsed, the best first: with parameters, with values.
    pub forms: Vec<String>,
}

/// The tables of these statements and their indexes. `None` if the session was lost or the tables cannot be described.
pub fn relations(session: &mut Session, statements: &[StatementText]) -> Option<Relations> {
    let begun = clock::now();
    let mut oids = BTreeSet::new();
    let mut unknown = Vec::new();
    for (at, StatementText { place, forms }) in statements.iter().enumerate() {
        let has_time = clock::now().saturating_duration_since(begun) < TIME_MAX;
        if at >= STATEMENTS_MAX || !has_time {
            unknown.extend(statements[at..].iter().take(STATEMENTS_MAX).map(|statement| statement.place));
            break;
        }
        match forms.iter().find_map(|form| locked_by(session, form).ok()) {
            Some(found) => oids.extend(found),
            None => unknown.push(*place),
        }
        if session.is_lost() {
            return None;
        }
    }
    let tables = if oids.is_empty() { Vec::new() } else { describe(session, &oids).ok()? };
    Some(Relations { tables, unknown })
}

/// The tables that a statement uses, by OID.
fn locked_by(session: &mut Session, statement: &str) -> Result<Vec<u32>, ConnectError> {
    let result = session.query(BEGIN).and_then(|_| {
        session.analyze(statement)?;
        session.query_catalogs(LOCKED)
    });
    session.execute("rollback")?;
    Ok(result?.iter().filter_map(|row| row.get(0)?.parse().ok()).collect())
}

fn describe(session: &mut Session, oids: &BTreeSet<u32>) -> Result<Vec<Relation>, ConnectError> {
    let list: Vec<String> = oids.iter().map(u32::to_string).collect();
    let list = format!("any ('{{{}}}'::oid[])", list.join(","));
    let members = with_members(&list);
    let tables = format!(
        "{members} select c.oid, quote_ident(n.nspname) || '.' || quote_ident(c.relname), c.relkind, \
           array_to_string(c.reloptions, ', '), s.members - 1, s.bytes, s.rows, s.pages, s.dead, s.changed, \
           (extract(epoch from s.analyzed) * 1000)::bigint, \
           case when c.relkind in ('v', 'm') then pg_get_viewdef(c.oid) else \
             (select string_agg(quote_ident(a.attname) || ' ' || format_type(a.atttypid, a.atttypmod) || \
                case when a.attnotnull then ' not null' else '' end, ', ' order by a.attnum) \
              from pg_attribute as a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) end \
         from pg_class as c join pg_namespace as n on n.oid = c.relnamespace cross join lateral ( \
           select count(*) as members, \
             sum(case when k.relkind in ('r', 'm') then pg_table_size(k.oid) end)::bigint as bytes, \
             sum(case when k.relkind in ('r', 'm') and k.reltuples >= 0 and k.relpages + k.reltuples > 0 \
                 then k.reltuples end)::bigint as rows, \
             sum(case when k.relkind in ('r', 'm') then k.relpages end)::bigint as pages, \
             sum(pg_stat_get_dead_tuples(k.oid))::bigint as dead, \
             sum(pg_stat_get_mod_since_analyze(k.oid))::bigint as changed, \
             max(greatest(pg_stat_get_last_analyze_time(k.oid), pg_stat_get_last_autoanalyze_time(k.oid))) as analyzed \
           from members as m left join pg_class as k on k.oid = m.member and m.number <= {PARTITIONS_MAX} + 1 \
           where m.root = c.oid) as s \
         where c.oid = {list} order by 2 limit {TABLES_MAX}"
    );
    let indexes = format!(
        "select i.indrelid, quote_ident(n.nspname) || '.' || quote_ident(c.relname), \
           pg_get_indexdef(i.indexrelid), i.indisvalid, \
           case when c.relkind = 'i' then pg_relation_size(c.oid) end \
         from pg_index as i join pg_class as c on c.oid = i.indexrelid \
         join pg_namespace as n on n.oid = c.relnamespace where i.indrelid = {list} order by 2 limit {INDEXES_MAX}"
    );
    let path = "select pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)";
    // The estimated costs of a recursive query are high, and compiling it takes longer than running it.
    let is_compiled = session.server_version_num() >= FIRST_WITH_JIT;
    let jit = if is_compiled { "select set_config('jit', 'off', true)" } else { "" };
    let sets = session.query_sets(&format!("{BEGIN}; {path}; {jit}; {tables}; {indexes}"));
    session.execute("rollback")?;
    let mut sets: Vec<ResultSet> = sets?.into_iter().filter(|set| set.returns_rows).collect();
    let indexes = sets.pop().map(|set| set.rows).unwrap_or_default();
    let tables = sets.pop().map(|set| set.rows).unwrap_or_default();
    Ok(tables.iter().filter_map(|row| relation(row, &indexes)).collect())
}

/// The beginning of a query: `members` has each of these tables as `root`, with itself and its partitions on all levels
/// as `member`, and their `number`. `list` is `any (…)` of OIDs.
pub(crate) fn with_members(list: &str) -> String {
    format!(
        "with recursive family (root, member, level) as ( \
           select oid, oid, 0 from pg_class where oid = {list} \
           union all select f.root, i.inhrelid, f.level + 1 from family as f \
           join pg_inherits as i on i.inhparent = f.member where f.level < 8), \
         members as (select root, member, count(*) over (partition by root) as number from family)"
    )
}

/// The kind of a table or view in `pg_class.relkind`.
pub(crate) fn relation_kind(relkind: &str) -> Option<RelationKind> {
    Some(match relkind {
        "r" => RelationKind::Table,
        "p" => RelationKind::PartitionedTable,
        "v" => RelationKind::View,
        "m" => RelationKind::MaterializedView,
        "f" => RelationKind::ForeignTable,
        _ => return None,
    })
}

fn relation(row: &Row, indexes: &[Row]) -> Option<Relation> {
    let number = |column: usize| row.get(column)?.parse::<u64>().ok();
    let kind = relation_kind(row.get(2)?)?;
    let of_table = indexes.iter().filter(|index| index.get(0) == row.get(0));
    let has_rows = !matches!(kind, RelationKind::View | RelationKind::ForeignTable);
    Some(Relation {
        name: row.get(1)?.into(),
        kind,
        definition: definition(row.get(11).unwrap_or_default()),
        options: row.get(3).map(SafeText::from),
        partitions: number(4).and_then(|members| u32::try_from(members).ok()).unwrap_or(0),
        bytes: number(5).filter(|_| has_rows),
        rows: number(6),
        pages: number(7).filter(|_| has_rows),
        dead_rows: number(8).filter(|_| has_rows),
        changed_rows: number(9).filter(|_| has_rows),
        analyzed_at: row.get(10).and_then(|millis| millis.parse().ok()).map(UtcTime::from_unix_millis),
        indexes: of_table.filter_map(index).collect(),
    })
}

fn index(row: &Row) -> Option<Index> {
    Some(Index {
        name: row.get(1)?.into(),
        definition: definition(row.get(2)?),
        valid: row.get(3) == Some("t"),
        bytes: row.get(4).and_then(|bytes| bytes.parse().ok()),
    })
}

fn definition(text: &str) -> SafeText {
    SafeText::sql(&text.chars().take(DEFINITION_LENGTH_MAX).collect::<String>())
}
