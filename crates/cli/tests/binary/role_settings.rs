//! Roles with settings of their own: pgmeter's own statements do not inherit their time limits, and what a role may not do is
//! said with what to do.

use testkit::cluster::Cluster;

use crate::harness::{Bench, tables_of_pgbench};

/// A database, and a role that owns it and has this setting.
fn with_role(name: &str, setting: &str) -> String {
    let cluster = Cluster::shared("18");
    let dsn = cluster.database(name);
    let database = Cluster::session(&dsn).query("SELECT current_database()").expect("it answers");
    let database = connect::quote::identifier(database[0].get(0).unwrap_or_default());
    let role = format!("limited_{name}");
    let sql = format!(
        "CREATE ROLE {role} LOGIN; ALTER ROLE {role} SET {setting}; ALTER DATABASE {database} OWNER TO {role}"
    );
    let mut session = Cluster::session(&dsn);
    for sql in sql.split("; ") {
        session.execute(sql).expect("it is made");
    }
    dsn.replace("user=postgres", &format!("user={role}"))
}

#[test]
fn a_statement_timeout_of_the_role_does_not_end_statements_of_pgmeter() {
    let bench = Bench::new();
    let dsn = with_role("timeout", "statement_timeout = '100ms'");
    let dsn = dsn.as_str();
    std::fs::create_dir_all(bench.path().join("slow/checks")).expect("a folder");
    bench.file("slow/workload.toml", "name = \"slow\"\ntitle = \"Slow\"\n");
    bench.file("slow/schema.sql", "CREATE TABLE slow (id integer PRIMARY KEY);\nSELECT pg_sleep(0.3);\n");
    bench.file("slow/checks/a.sql", "SELECT 1 WHERE pg_sleep(0.3) IS NULL;\n");
    bench.file("one.sql", "SELECT count(*) FROM slow;\n");
    // COPY takes longer than the role allows.
    bench.run(["init", "-s", "2", dsn]).exits(0);
    bench.run(["check", dsn]).exits(0);
    bench.run(["bench", "-t", "5", "--check", "--verify", dsn]).exits(0);
    bench.run(["init", "--workload", "slow", "--scale", "20", dsn]).exits(0);
    bench.run(["check", "--workload", "slow", dsn]).exits(0);
    bench.run(["bench", "--workload", "slow", "-f", "one.sql", "-t", "5", "--check", dsn]).exits(0);
    // The load has the settings of the role.
    bench.file("sleep.sql", "SELECT pg_sleep(0.3);\n");
    bench.run(["bench", "-f", "sleep.sql", "-t", "1", dsn]).exits(2).says(&["statement timeout"]);
}

#[test]
fn a_failure_after_a_complete_run_is_not_one_of_starting() {
    let bench = Bench::new();
    let dsn = Cluster::shared("18").database("failing_check");
    std::fs::create_dir_all(bench.path().join("bad/checks")).expect("a folder");
    bench.file("bad/workload.toml", "name = \"bad\"\ntitle = \"Bad\"\n");
    bench.file("bad/schema.sql", "CREATE TABLE bad (id integer PRIMARY KEY);\n");
    bench.file("bad/checks/a.sql", "SELECT 1 / count(*) FROM bad WHERE id < 0;\n");
    bench.file("one.sql", "SELECT 1;\n");
    bench.run(["init", "--workload", "bad", "--scale", "20", &dsn]).exits(0);
    let out = bench.run(["bench", "--workload", "bad", "-f", "one.sql", "-t", "5", "--check", &dsn]).exits(2);
    let out = out.says(&["the run is complete and its record has the results, but ", "division by zero"]);
    assert!(out.stdout.contains("tps"), "{}", out.stdout);
    assert_eq!(bench.records().len(), 1);
}

#[test]
fn read_only_sessions_do_not_try_to_vacuum() {
    let bench = Bench::new();
    let dsn = with_role("read_only", "work_mem = '4MB'");
    bench.run(["init", "-s", "1", "-I", "dtGvp", &dsn]).exits(0);
    let read_only = "ALTER ROLE limited_read_only SET default_transaction_read_only = on";
    Cluster::session(&dsn).execute(read_only).expect("a role may change itself");
    let out = bench.run(["bench", "-S", "-t", "5", &dsn]).exits(0);
    assert!(!out.stderr.contains("vacuum") && !out.stderr.contains("read-only"), "{}", out.stderr);
}

#[test]
fn a_standby_is_not_vacuumed() {
    let bench = Bench::new();
    let cluster = Cluster::start("18");
    let conninfo = tables_of_pgbench(&cluster, "read", 1);
    let standby = cluster.standby("reader", &[]);
    let database = conninfo.split_whitespace().find(|word| word.starts_with("dbname=")).expect("it has one");
    let dsn = standby.conninfo().replace("dbname=postgres", database);
    let out = bench.run(["bench", "-S", "-t", "5", &dsn]).exits(0);
    assert!(!out.stderr.contains("vacuum") && !out.stderr.contains("recovery"), "{}", out.stderr);
}

#[test]
fn a_role_without_a_schema_is_told_how_to_get_one() {
    let bench = Bench::new();
    let dsn = Cluster::shared("18").database("no_schema");
    Cluster::session(&dsn).execute("CREATE ROLE without_schema LOGIN").expect("it is made");
    let dsn = dsn.replace("user=postgres", "user=without_schema");
    std::fs::create_dir_all(bench.path().join("own")).expect("a folder");
    bench.file("own/workload.toml", "name = \"own\"\ntitle = \"Own\"\n");
    bench.file("own/schema.sql", "CREATE TABLE own (id integer PRIMARY KEY);\n");
    let what =
        ["permission denied for schema public", "CREATE SCHEMA role AUTHORIZATION role", "search_path"];
    bench.run(["init", "-s", "1", &dsn]).exits(1).says(&what);
    bench.run(["init", "--workload", "own", "--scale", "20", &dsn]).exits(1).says(&what);
    let nowhere = format!("{dsn} options='-c search_path=nowhere'");
    bench.run(["init", "-s", "1", &nowhere]).exits(1).says(&what[1..]);
}
