//! What SQL of users leaves in a session, and that it does not stay in the connection of a pooler. Tried through PgBouncer,
//! by the functions that the loader, comparisons and checks use.

use pgmeter_connect::{LockWaits, LockingStatements, OwnSettings, Patience, Row, Session};
use testkit::cluster::Cluster;
use testkit::pooler::PgBouncer;

/// Each kind of state that outlives a transaction, some of it set by a function.
const LEAVES: &str = "SET work_mem = '9MB'; RESET maintenance_work_mem; SELECT set_config('search_path', 'pg_catalog', false); SET DateStyle = 'SQL, DMY'; \
    PREPARE left_behind AS SELECT 1; LISTEN \"A channel\"; SELECT pg_advisory_lock(5), pg_advisory_lock(5), \
    pg_advisory_lock(-6000000000), pg_advisory_lock_shared(-1, 7); CREATE TEMP TABLE left_table (id serial PRIMARY KEY); \
    CREATE TEMP VIEW left_view AS SELECT id FROM left_table; CREATE TYPE pg_temp.\"A mood\" AS ENUM ('x'); \
    CREATE DOMAIN pg_temp.d AS pg_temp.\"A mood\"; CREATE TYPE pg_temp.pair AS (a int, b pg_temp.d); \
    CREATE TYPE pg_temp.span AS RANGE (subtype = int); CREATE FUNCTION pg_temp.\"A f\"(pg_temp.pair) RETURNS int LANGUAGE sql \
    AS 'SELECT 1'; CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql AS 'SELECT 1'; \
    CREATE AGGREGATE pg_temp.total (int) (sfunc = int4pl, stype = int); \
    CREATE OPERATOR pg_temp.=== (procedure = int4pl, leftarg = int, rightarg = int); \
    CREATE OPERATOR FAMILY pg_temp.fam USING btree; CREATE COLLATION pg_temp.coll (locale = 'C'); \
    CREATE TEXT SEARCH DICTIONARY pg_temp.dict (template = simple); \
    CREATE TEXT SEARCH CONFIGURATION pg_temp.conf (copy = simple); \
    CREATE ROLE left_role; SET ROLE left_role; SET LOCAL jit = off; SET default_transaction_read_only = on";
/// The same, as it is found.
const FOUND: &str = "SELECT concat_ws(' ', current_setting('work_mem'), current_setting('DateStyle'), \
    current_setting('search_path'), current_setting('role'), current_setting('jit'), \
    (SELECT string_agg(name, ',' ORDER BY name) FROM pg_settings WHERE source = 'session'), \
    (SELECT count(*) FROM pg_prepared_statements), (SELECT count(*) FROM pg_listening_channels()), \
    (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'), \
    (SELECT count(*) FROM pg_class WHERE relnamespace = pg_my_temp_schema()), \
    (SELECT count(*) FROM pg_depend WHERE refclassid = 'pg_namespace'::regclass AND refobjid = pg_my_temp_schema()))";

#[test]
#[allow(clippy::print_stderr)] // that it was skipped
fn a_transaction_leaves_nothing_in_the_connection_of_a_pooler() {
    for version in Cluster::versions(["9.6", "18"]) {
        let cluster = Cluster::start(version);
        let Some(mut pooler) = PgBouncer::start(&cluster) else {
            eprintln!("SKIPPED: there is no pgbouncer");
            return;
        };
        let mut application = pooler.session();
        // What the application has set in this connection stays.
        let set = "SET maintenance_work_mem = '99MB'; SET work_mem = '7MB'; SELECT pg_advisory_lock(99)";
        let jit =
            if version == "9.6" { "SET enable_sort = off" } else { "SET enable_sort = off; SET jit = on" };
        application.execute(&format!("{set}; {jit}")).expect("settings");
        let found = if version == "9.6" { FOUND.replace("'jit'", "'enable_sort'") } else { FOUND.to_owned() };
        let leaves = match version {
            "9.6" => LEAVES.replace("jit", "enable_sort"),
            _ => format!("{LEAVES}; SET transaction_timeout = '1h'"),
        };
        let before = application.query(&found).expect("an answer")[0].get(0).map(str::to_owned);
        let mut session = pooler.session();
        assert!(session.is_pooled());
        let mut check = |how: &str| {
            let now = application.query(&found).expect("an answer")[0].get(0).map(str::to_owned);
            assert_eq!(now, before, "{version}, {how}");
            application.execute("DROP ROLE IF EXISTS left_role").expect("nobody has it");
        };
        session.begin_own(OwnSettings::Limits).expect("a transaction");
        session.execute(&leaves).expect("it is executed");
        session.commit().expect("a commit");
        check("COMMIT");
        session.begin_own(OwnSettings::Limits).expect("a transaction");
        session.execute(&leaves).expect("it is executed");
        session.execute("SELECT 1 / 0").expect_err("the transaction fails");
        session.rollback().expect("a rollback");
        check("ROLLBACK");
        let mut waits = LockWaits::default();
        LockingStatements::new(Patience::default(), &|| true, &mut waits)
            .execute_in_transaction(&mut session, std::slice::from_ref(&leaves))
            .expect("nobody has a lock");
        check("locking");
        session.execute_of_user(&leaves).expect("it is executed");
        check("alone");
        session.execute_of_user("VACUUM").expect("it needs no transaction of pgmeter");
        let deferred = "CREATE TABLE IF NOT EXISTS d (i int UNIQUE DEFERRABLE INITIALLY DEFERRED)";
        session.execute(deferred).expect("a table");
        session
            .execute_of_user(&format!("{leaves}; RESET ROLE; INSERT INTO public.d VALUES (1), (1)"))
            .expect_err("not unique");
        check("a failed COMMIT");
    }
}

#[test]
#[allow(clippy::print_stderr)] // that it was skipped
fn the_state_is_read_as_often_as_something_is_undone() {
    let libraries = ("shared_preload_libraries", "pg_stat_statements");
    let cluster = Cluster::start_with("18", &[libraries, ("pg_stat_statements.track", "all")]);
    let Some(mut pooler) = PgBouncer::start(&cluster) else {
        eprintln!("SKIPPED: there is no pgbouncer");
        return;
    };
    let mut session = pooler.session();
    session.begin_own(OwnSettings::Limits).expect("a transaction");
    session.execute(LEAVES).expect("it is executed");
    session.commit().expect("a commit");
    let restores =
        "SELECT max(calls) FROM pg_stat_statements WHERE query LIKE '%state.undo%' AND NOT toplevel";
    let calls = Cluster::session(&cluster.conninfo()).query(restores).expect("an answer")[0]
        .get(0)
        .map(str::to_owned);
    // The first lock was taken twice, and the last round finds nothing.
    assert_eq!(calls.as_deref(), Some("3"));
}

/// The value of `jit` for a question of pgmeter's own, and for a statement of the user afterwards.
fn jit(session: &mut Session) -> [String; 2] {
    let first = |rows: Vec<Row>| rows[0].get(0).unwrap_or_default().to_owned();
    let own = first(session.query_catalogs("SELECT current_setting('jit')").expect("an answer"));
    [own, first(session.query("SELECT pg_catalog.current_setting('jit')").expect("an answer"))]
}

#[test]
fn only_queries_of_catalogs_are_not_compiled() {
    let mut session = Cluster::session(&Cluster::shared("18").database("jit"));
    session.execute("SET jit = on").expect("a setting");
    assert_eq!(jit(&mut session), ["off", "on"]);
    session.execute("BEGIN").expect("a transaction");
    assert_eq!(jit(&mut session), ["off", "on"], "in a transaction of statements of the user");
    session.execute("SET LOCAL jit = off").expect("a setting");
    assert_eq!(jit(&mut session), ["off", "off"], "the user's own setting");
    session.execute("ROLLBACK; BEGIN; SAVEPOINT a").expect("a savepoint");
    session.query_catalogs("SELECT 1 / 0").expect_err("it fails");
    session.execute("ROLLBACK TO a").expect("a rollback");
    assert_eq!(jit(&mut session), ["off", "on"], "after an error");
    session.execute("COMMIT").expect("a commit");
    assert_eq!(jit(&mut session), ["off", "on"]);
    let mut oldest = Cluster::session(&Cluster::shared("9.6").database("jit"));
    let rows = oldest.query_catalogs("SELECT 'there is no such setting'").expect("an answer");
    assert_eq!(rows[0].get(0), Some("there is no such setting"));
}
