//! Sessions with fresh databases, and everything that can be seen of the tables as text.
//! Used by all modules of this test program.

use std::ops::ControlFlow;

use connect::{Address, Environment, Overrides, Session, Target};
use pgmeter_workload::{
    InitOptions, InitProgress, InitReport, Preparation, PreparedRun, Step, Tpcb, Truncation, Workload,
    WorkloadError,
};
use testkit::cluster::Cluster;

pub const NEWEST: &str = "18";
pub const OLDEST: &str = "9.6";

/// A session with a fresh database.
pub fn session(major: &str, name: &str) -> Session {
    Cluster::session(&Cluster::shared(major).database(name))
}

/// Where a session of a cluster goes, for others beside it.
pub fn target(session: &mut Session) -> Target {
    let user = lines(session, "select session_user").remove(0);
    let conninfo = conninfo(session, &user);
    connect::resolve(Some(&conninfo), &Overrides::default(), &Environment::default()).expect("a target")
}

/// The advisory locks of the database.
pub const LOCKS: &str = "select count(*) from pg_locks l join pg_database d on d.oid = l.database \
    where l.locktype = 'advisory' and d.datname = current_database()";

/// The connection string of another user to the database of a session.
pub fn conninfo(session: &mut Session, user: &str) -> String {
    let Address::Unix(socket) = session.address().clone() else { panic!("clusters are on Unix sockets") };
    let directory = socket.parent().expect("a directory").display();
    let port = socket.extension().expect("a port").to_string_lossy();
    let database = lines(session, "select current_database()").remove(0);
    format!("host={directory} port={port} dbname={database} user={user}")
}

/// Takes all steps, told as they go on.
pub fn init(
    session: &mut Session,
    options: &InitOptions,
    progress: &mut dyn FnMut(InitProgress<'_>) -> ControlFlow<()>,
) -> Result<InitReport, WorkloadError> {
    let target = target(session);
    Tpcb.load(&target, session, options, progress)
}

/// Takes all steps in silence.
pub fn make(session: &mut Session, options: &InitOptions) -> Result<(), WorkloadError> {
    init(session, options, &mut |_| ControlFlow::Continue(())).map(|_| ())
}

/// The tables with their keys, for tests whose rows do not matter.
pub fn without_rows() -> InitOptions {
    let steps = Step::parse_list("dtp").expect("letters of steps");
    InitOptions { steps, ..InitOptions::default() }
}

/// Vacuums and truncates before a run.
pub fn prepare(workload: &dyn Workload, session: &mut Session, truncation: Truncation) -> PreparedRun {
    let mut preparation = Preparation::new(session, truncation);
    preparation.carry_out(workload.name(), workload.prepared());
    preparation.take()
}

/// Vacuums the other tables too; returns what failed.
pub fn vacuum_all(workload: &dyn Workload, session: &mut Session) -> Vec<WorkloadError> {
    let mut preparation = Preparation::new(session, Truncation::OwnTables);
    preparation.carry_out(workload.name(), workload.vacuumed());
    preparation.take().failed
}

/// The first column of a query, one line for each row.
pub fn lines(session: &mut Session, sql: &str) -> Vec<String> {
    let rows = session.query(sql).unwrap_or_else(|error| panic!("{error}\n{sql}"));
    rows.iter().map(|row| row.get(0).unwrap_or("NULL").to_owned()).collect()
}

/// Tables in the order of their creation, then indexes by name (those of partitions are made side by side), with their
/// kind, persistence, options and tablespace.
pub const RELATIONS: &str = "\
    select c.relname || ' ' || c.relkind::text || ' ' || c.relpersistence::text \
        || coalesce(' ' || array_to_string(c.reloptions, ','), '') || coalesce(' in ' || s.spcname, '') \
    from pg_catalog.pg_class c left join pg_catalog.pg_tablespace s on s.oid = c.reltablespace \
    where c.relname like 'pgbench%' \
    order by c.relkind in ('i', 'I'), case when c.relkind in ('i', 'I') then 0 else c.oid::bigint end, c.relname";

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

/// Keys of partitions too, and what they have from their parents.
const INHERITED: &str = "\
    select conname || ' ' || contype::text || ' ' || conislocal || ' ' || coninhcount \
    from pg_catalog.pg_constraint where conname like 'pgbench%' order by conname, coninhcount";

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
    let mut queries = vec![RELATIONS, COLUMNS, KEYS, INHERITED, INDEXES];
    if session.server_version_num() >= 100_000 {
        queries.push(PARTITIONS);
    }
    queries.into_iter().flat_map(|sql| lines(session, sql)).collect()
}

/// Holds lines against lines, and shows only those that differ.
#[track_caller]
pub fn assert_same(ours: &[String], theirs: &[String], about: &str) {
    let only = |these: &[String], others: &[String]| -> Vec<String> {
        these.iter().filter(|line| !others.contains(line)).cloned().collect()
    };
    assert_eq!(only(ours, theirs), only(theirs, ours), "{about}");
    assert_eq!(ours, theirs, "{about}: the same in another order");
}
