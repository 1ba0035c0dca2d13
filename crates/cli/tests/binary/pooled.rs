//! Every command through PgBouncer in transaction mode with one connection to the server: what it leaves in that connection
//! for the application that gets it next. And settings that a pooler does not pass on.

use testkit::cluster::Cluster;
use testkit::pooler::PgBouncer;

use crate::harness::{Bench, Finished};

/// PgBouncer and a direct way to the same database; `None` if PgBouncer is not installed.
#[allow(clippy::print_stderr)] // that it was skipped
fn pooled(cluster: &Cluster) -> Option<(PgBouncer, String)> {
    let Some(pooler) = PgBouncer::start(cluster) else {
        eprintln!("SKIPPED: there is no pgbouncer, so nothing was tested through a pooler");
        return None;
    };
    let target = pooler.target();
    let direct = cluster.conninfo().replace("dbname=postgres", &format!("dbname={}", target.database));
    Some((pooler, direct))
}

/// Runs a command through the pooler and asserts that its connection to the server is as before.
#[track_caller]
fn leaves_nothing(bench: &Bench, pooler: &mut PgBouncer, words: &[&str], statuses: &[i32]) -> Finished {
    let before = pooler.connection();
    let out = bench.run(words);
    let status = out.status.code().unwrap_or(-1);
    assert!(statuses.contains(&status), "{words:?}: {status}\n{}\n{}", out.stdout, out.stderr);
    let after = pooler.connection();
    assert_eq!(after.settings, before.settings, "{words:?} left settings behind");
    assert_eq!(after.prepared, before.prepared, "{words:?} left prepared statements behind");
    assert_eq!(after.locks, before.locks, "{words:?} left locks behind");
    assert_eq!(after.backend, before.backend, "{words:?}: the pooler closed the connection");
    out
}

#[test]
fn no_command_leaves_anything_in_a_pooled_connection() {
    let cluster = Cluster::start("18");
    let Some((mut pooler, _)) = pooled(&cluster) else { return };
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path().join("tiny/queries")).expect("a folder");
    std::fs::create_dir_all(bench.path().join("tiny/checks")).expect("a folder");
    bench.file("tiny/workload.toml", "name = \"tiny\"\ntitle = \"Tiny\"\n");
    bench.file("tiny/schema.sql", "CREATE TABLE tiny (id integer PRIMARY KEY, d date NOT NULL);\n");
    bench.file("tiny/queries/q1.sql", "SELECT count(*), min(d) FROM tiny;\n");
    bench.file("tiny/queries/q2.sql", "CREATE VIEW v AS SELECT 1;\nSELECT * FROM v;\nDROP VIEW v;\n");
    bench.file("tiny/checks/rows.sql", "SELECT 1 WHERE (SELECT count(*) FROM tiny) = 0;\n");
    bench.file("one.sql", "SELECT 1;\n");
    let dsn = pooler.conninfo();
    let dsn = dsn.as_str();
    let mut run = |words: &[&str], statuses: &[i32]| leaves_nothing(&bench, &mut pooler, words, statuses);
    run(&["init", "--scale", "1", dsn], &[0]);
    run(&["check", dsn], &[0]);
    run(&["bench", "--clients", "1", "--duration", "1", dsn], &[0]);
    run(&["bench", "--clients", "1", "--duration", "1", "--check", "-M", "extended", dsn], &[0]);
    run(&["bench", "--clients", "1", "--transactions", "20", "--verify", dsn], &[0]);
    run(&["verify", "--clean", "-d", dsn], &[0]);
    run(&["verify", "--isolation", "serializable", "-c", "2", "-t", "50", "-d", dsn], &[0]);
    run(&["init", "--workload", "tiny", "--scale", "20", dsn], &[0]);
    run(&["check", "--workload", "tiny", dsn], &[0]);
    run(&["queries", "--workload", "tiny", "--repeat", "2", "--plans", "--limit", "30s", dsn], &[0]);
    run(&["data", "learn", "--values", "-d", dsn, "tiny"], &[0]);
    let compare =
        ["compare", "--in-place", "--dsn", dsn, "-f", "one.sql", "--budget", "3s", "--block", "0.1"];
    let index = ["--allow-ddl", "--b-sql", "CREATE INDEX pooled_index ON tiny (d)", "--clients", "1"];
    run(&[compare.as_slice(), &index].concat(), &[0, 1, 3]);
    run(&["pgbench", "-c", "1", "-t", "5", dsn], &[0]);
}
