//! Sessions with fresh databases, and everything that can be seen of the tables as text.
//! Used by all modules of this test program.

use std::ops::ControlFlow;

use connect::Session;
use pgmeter_workload::{InitOptions, WorkloadError, init};
use testkit::cluster::Cluster;

pub const NEWEST: &str = "18";
pub const OLDEST: &str = "9.6";

/// A session with a fresh database.
pub fn session(major: &str, name: &str) -> Session {
    Cluster::session(&Cluster::shared(major).database(name))
}

/// Takes all steps in silence.
pub fn make(session: &mut Session, options: &InitOptions) -> Result<(), WorkloadError> {
    init(session, options, &mut |_| ControlFlow::Continue(())).map(|_| ())
}

/// The first column of a query, one line for each row.
pub fn lines(session: &mut Session, sql: &str) -> Vec<String> {
    let rows = session.query(sql).unwrap_or_else(|error| panic!("{error}\n{sql}"));
    rows.iter().map(|row| row.get(0).unwrap_or("NULL").to_owned()).collect()
}

/// Tables and indexes in the order of their creation, with their kind, persistence, options and tablespace.
pub const RELATIONS: &str = "\
    select c.relname || ' ' || c.relkind::text || ' ' || c.relpersistence::text \
        || coalesce(' ' || array_to_string(c.reloptions, ','), '') || coalesce(' in ' || s.spcname, '') \
    from pg_catalog.pg_class c left join pg_catalog.pg_tablespace s on s.oid = c.reltablespace \
    where c.relname like 'pgbench%' order by c.oid";

/// Columns with their types.
pub const COLUMNS: &str = "\
    select c.relname || '.' || a.attname || ' ' || pg_catalog.format_type(a.atttypid, a.atttypmod) \
        || case when a.attnotnull then ' not null' else '' end \
    from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid \
    where c.relname in ('pgbench_accounts', 'pgbench_branches', 'pgbench_history', 'pgbench_tellers') \
        and a.attnum > 0 order by c.relname, a.attnum";

/// Keys with their definitions.
pub const KEYS: &str = "\
    select conname || ' ' || pg_catalog.pg_get_constraintdef(oid) from pg_catalog.pg_constraint \
    where contype in ('p', 'f') and conrelid::regclass::text in \
        ('pgbench_accounts', 'pgbench_branches', 'pgbench_history', 'pgbench_tellers') order by conname";

const INDEXES: &str =
    "select indexdef from pg_catalog.pg_indexes where tablename like 'pgbench%' order by indexname";

/// What each partition holds; needs PostgreSQL 10.
const PARTITIONS: &str = "\
    select c.relname || ' ' || pg_catalog.pg_get_expr(c.relpartbound, c.oid) \
    from pg_catalog.pg_class c where c.relispartition and c.relkind = 'r' and c.relname like 'pgbench%' order by c.oid";

/// Number and checksum of the rows of each table.
pub const ROWS: &str = "\
    select 'branches ' || count(*) || ' ' || md5(string_agg(t::text, ',' order by bid)) from pgbench_branches t \
    union all \
    select 'tellers ' || count(*) || ' ' || md5(string_agg(t::text, ',' order by tid)) from pgbench_tellers t \
    union all \
    select 'accounts ' || count(*) || ' ' || md5(string_agg(t::text, ',' order by aid)) from pgbench_accounts t \
    union all select 'history ' || count(*) from pgbench_history";

/// What the catalogs say about the tables.
pub fn definitions(session: &mut Session) -> Vec<String> {
    let mut queries = vec![RELATIONS, COLUMNS, KEYS, INDEXES];
    if session.server_version_num() >= 100_000 {
        queries.push(PARTITIONS);
    }
    queries.into_iter().flat_map(|sql| lines(session, sql)).collect()
}
