//! Every command through PgBouncer in transaction mode with one connection to the server: what it leaves in that connection
//! for the application that gets it next. And settings that a pooler does not pass on.

use server::PoolerOptions;
use stats::PoolMode;
use testkit::cluster::Cluster;
use testkit::pooler::{PgBouncer, options};

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

/// A pooler that ignores the options of connections, as many are configured.
#[test]
#[allow(clippy::print_stderr)] // that it was skipped
fn settings_that_a_pooler_ignores_are_refused() {
    let cluster = Cluster::start("18");
    let ignores = vec![("ignore_startup_parameters".to_owned(), "options".to_owned())];
    let options = PoolerOptions { settings: ignores, ..options(PoolMode::Transaction, 3) };
    let Some(pooler) = PgBouncer::start_with(&cluster, &options) else {
        eprintln!("SKIPPED: there is no pgbouncer, so nothing was tested through a pooler");
        return;
    };
    let bench = Bench::new();
    bench.file("one.sql", "SELECT 1;\n");
    let dsn = pooler.conninfo();
    let why = ["goes through a connection pooler, so work_mem = ", "Connect to the server itself"];
    let words = ["compare", "--in-place", "--dsn", &dsn, "-f", "one.sql", "--budget", "3s", "--block", "0.1"];
    bench.run(words.iter().chain(&["--factor", "work_mem=1MB,2MB"])).exits(1).says(&why);
    bench.file("settings.toml", "work_mem = [\"1MB\", \"2MB\"]\nhash_mem_multiplier = [\"1\", \"2\"]\n");
    let words = ["screen", "--in-place", "--dsn", &dsn, "-f", "one.sql", "--budget", "30s"];
    let screened = ["goes through a connection pooler, so ", why[1]];
    bench.run(words.iter().chain(&["--settings", "settings.toml"])).exits(1).says(&screened);
    let experiment = format!(
        "name = \"e\"\n[server]\ndsn = \"{dsn}\"\nin_place = true\n[load]\nfiles = [\"one.sql\"]\nrate = 200\nduration = \"1s\"\n\
         [factors]\nwork_mem = [\"1MB\", \"2MB\"]\n[design]\nrepeats = 1\n"
    );
    bench.file("e.toml", &experiment.replace("files = [\"one.sql\"]", "script = \"one.sql\""));
    bench.run(["lab", "run", "e.toml"]).exits(1).says(&why);
    let with_options = format!("{dsn} options='-c work_mem=1MB'");
    bench.run(["bench", "-f", "one.sql", "-t", "1", &with_options]).exits(1).says(&why);
    // The drop-in sends them, as pgbench does.
    bench.run_pgbench(["-n", "-f", "one.sql", "-t", "1", &with_options]).exits(0);
    // PgBouncer passes these on.
    let zone = format!("{dsn} options='-c TimeZone=Asia/Tokyo'");
    let not_in_force =
        ["the setting TimeZone is not in force: ", "asks for Asia/Tokyo, and its session has "];
    bench.run(["bench", "-f", "one.sql", "-t", "1", &zone]).exits(1).says(&not_in_force);
}

#[test]
fn settings_of_connections_are_compared_as_the_server_reads_them() {
    let bench = Bench::new();
    bench.file("one.sql", "SELECT 1 / (current_setting('work_mem') = '2MB')::int;\n");
    let dsn = Cluster::shared("18").database("settings_in_force");
    let options = "-c work_mem=2048kB -c jit=0 -c ENABLE_SORT=true -c search_path=a,\\\\ b -c random-page-cost=1e0 \
                   -c ignore_system_indexes=off -c my.own=x --statement_timeout=1min";
    let dsn = format!("{dsn} options='{options}'");
    for words in [["-c", "2"], ["-C", "-n"], ["-M", "prepared"]] {
        let all = ["bench", "-f", "one.sql", "-t", "10", "--observe", "off"]
            .into_iter()
            .chain(words)
            .chain([dsn.as_str()]);
        bench.run(all).exits(0);
    }
}

/// The control session has the setting, and clients do not.
#[test]
fn each_client_reads_its_settings_back() {
    let bench = Bench::new();
    bench.file("one.sql", "SELECT 1;\n");
    let dsn = Cluster::shared("18").database("settings_of_clients");
    let mut session = Cluster::session(&dsn);
    let of_clients = "CREATE FUNCTION other() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN \
        IF current_setting('application_name') LIKE 'pgmeter %' \
        THEN PERFORM set_config('work_mem', '9MB', false); END IF; END $$; \
        CREATE EVENT TRIGGER other ON login EXECUTE FUNCTION other(); ALTER EVENT TRIGGER other ENABLE ALWAYS";
    session.execute(of_clients).expect("18 has such triggers");
    let with_options = format!("{dsn} options='-c work_mem=1MB'");
    let why = ["the setting work_mem is not in force: 1MB is wanted, and the session has 9MB"];
    bench.run(["bench", "-f", "one.sql", "-t", "1", &with_options]).exits(1).says(&why);
    bench.run(["bench", "-f", "one.sql", "-t", "1", "-C", &with_options]).exits(2).says(&why);
    bench.run(["bench", "-f", "one.sql", "-t", "1", &dsn]).exits(0);
}

/// In session pooling, each client keeps its connection to the server, and so does the observer.
#[test]
#[allow(clippy::print_stderr)] // that it was skipped
fn the_load_has_the_connections_of_a_session_pooler_before_the_observer() {
    let cluster = Cluster::start("18");
    let Some(pooler) = PgBouncer::start_with(&cluster, &options(PoolMode::Session, 3)) else {
        eprintln!("SKIPPED: there is no pgbouncer, so nothing was tested through a pooler");
        return;
    };
    let conninfo = pooler.conninfo();
    let run = |clients: &str| {
        let bench = Bench::new();
        bench.file("one.sql", "\\sleep 10 ms\nSELECT 1;\n");
        let words = ["bench", "-c", clients, "-T", "1", "--grace", "5", "-f", "one.sql", conninfo.as_str()];
        (bench.run(words), bench)
    };
    let is_observed = |bench: &Bench| {
        let observation = bench.record().observation.expect("an observation");
        !observation.missing.iter().any(|missing| missing.what == "everything")
    };
    let warning =
        "warning: no connection of the pooler was left for observing; raise its pool size by 1 or more";
    let (out, bench) = run("2");
    let out = out.exits(0);
    assert!(!out.stderr.contains(warning) && is_observed(&bench), "{}", out.stderr);
    let (out, bench) = run("3");
    out.exits(0).says(&[warning]);
    assert!(!is_observed(&bench));
    assert_eq!(bench.record().summary.counts.unfinished, 0, "all clients had a connection");
    let few =
        "error: the pooler gives only 3 further connections to the server, and -c 4 needs 4 at the same time";
    let (out, bench) = run("4");
    out.exits(1).says(&[warning, few]);
    let dsn = conninfo.as_str();
    let words =
        ["compare", "--in-place", "--dsn", dsn, "-f", "one.sql", "--factor", "protocol=simple,extended"];
    let compare =
        |clients: &str| bench.run(words.iter().chain(&["--budget", "2s", "--block", "0.1", "-c", clients]));
    compare("1")
        .exits(1)
        .says(&["the pooler gives only 1 further connection to the server, and the comparison needs 2 more"]);
}

/// The load of a superuser gets connections that the server keeps for superusers.
#[test]
fn a_load_that_takes_reserved_connections_is_warned_of() {
    let cluster = Cluster::start_with("18", &[("max_connections", "20"), ("max_wal_senders", "0")]);
    let (bench, conninfo) = (Bench::new(), cluster.conninfo());
    bench.file("one.sql", "SELECT 1;\n");
    let run = |clients: &str| {
        bench.run(["bench", "-c", clients, "-t", "1", "-f", "one.sql", conninfo.as_str()]).exits(0).stderr
    };
    let fits = run("10");
    assert!(!fits.contains("max_connections"), "{fits}");
    let warned = run("17");
    let words = "warning: 17 clients and the observer need 18 connections: max_connections is 20, ";
    assert!(warned.contains(words) && warned.contains(" and 3 reserved, "), "{warned}");
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
    run(&["bench", "--clients", "1", "--duration", "1", "-R", "50", dsn], &[0]);
    run(&["bench", "--clients", "1", "--duration", "1", "-R", "50", "--check", "-M", "extended", dsn], &[0]);
    // Debian's PgBouncer does not keep track of prepared statements.
    run(&["bench", "--clients", "1", "--duration", "1", "-M", "prepared", dsn], &[1])
        .says(&["does not keep track of prepared statements", "Use -M simple or -M extended"]);
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
    run(&[compare.as_slice(), &index].concat(), &[1, 2])
        .says(&["cannot be limited in its wait for locks behind a connection pooler"]);
    run(&["pgbench", "-c", "1", "-t", "5", dsn], &[0]);
}

/// SQL of users that sets what outlives a transaction, also through a function.
#[test]
fn sql_of_users_leaves_nothing_in_a_pooled_connection() {
    let cluster = Cluster::start("18");
    let Some((mut pooler, _)) = pooled(&cluster) else { return };
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path().join("rude/queries")).expect("a folder");
    std::fs::create_dir_all(bench.path().join("rude/checks")).expect("a folder");
    let rude = |number: u8| {
        format!(
            "SET work_mem = '{number}MB';\nSELECT set_config('enable_sort', 'off', false);\n\
             PREPARE rude_{number} AS SELECT 1;\nLISTEN rude;\nSELECT pg_advisory_lock({number});\n\
             CREATE TEMP TABLE rude_{number} (id integer);\nSET default_transaction_read_only = on;\n"
        )
    };
    bench.file(
        "rude/workload.toml",
        "name = \"rude\"\ntitle = \"Rude\"\n[[load]]\nfile = \"load.sql\"\n\n[[load]]\nfile = \"alone.sql\"\ntransaction = false\n",
    );
    bench.file(
        "rude/load.sql",
        &format!("{}DROP TABLE IF EXISTS rude;\nCREATE TABLE rude (id integer);\n", rude(1)),
    );
    bench.file("rude/alone.sql", &rude(2));
    bench.file(
        "rude/queries/q1.sql",
        "SET work_mem = '3MB';\nPREPARE rude_3 AS SELECT 1;\nLISTEN rude;\nSELECT pg_advisory_lock(3);\n\
         CREATE TYPE pg_temp.rude AS ENUM ('x');\nCREATE TEMP TABLE rude_3 (r pg_temp.rude);\n\
         SET default_transaction_read_only = on;\n",
    );
    bench.file(
        "rude/checks/rows.sql",
        "SET work_mem = '4MB';\nPREPARE rude_4 AS SELECT 1;\n\
         SELECT 1 FROM (SELECT pg_advisory_lock(4)::text AS got OFFSET 0) AS locked WHERE got = 'x';\n",
    );
    std::fs::create_dir_all(bench.path().join("schema")).expect("a folder");
    bench.file("schema/workload.toml", "name = \"schema\"\ntitle = \"Schema\"\n");
    bench.file(
        "schema/schema.sql",
        "SET statement_timeout = 0;\nSET work_mem = '9MB';\nSELECT set_config('search_path', '', false);\n\
         CREATE TABLE public.s (id integer PRIMARY KEY);\nCREATE TEMP TABLE t (id integer);\n",
    );
    let dsn = pooler.conninfo();
    let dsn = dsn.as_str();
    let mut run = |words: &[&str], statuses: &[i32]| leaves_nothing(&bench, &mut pooler, words, statuses);
    run(&["init", "--workload", "rude", "--scale", "1", dsn], &[0]);
    run(&["init", "--workload", "rude", "--scale", "1", "--drop", dsn], &[0]);
    run(&["check", "--workload", "rude", dsn], &[0]);
    run(&["queries", "--workload", "rude", dsn], &[0]);
    // What the first one made would be in the way.
    run(&["queries", "--workload", "rude", dsn], &[0]);
    run(&["init", "--workload", "schema", "--scale", "1", dsn], &[0]);
    let script = bench.file("one.sql", "\\sleep 10 ms\nSELECT 1;\n");
    let action = format!("0.3s:sql={}", rude(5));
    run(&["bench", "-n", "-c", "1", "-T", "1", "-f", script, "--action", &action, dsn], &[0]);
}
