//! Comparisons and experiments on a database as it is: what they answer, what they refuse, and that they leave nothing
//! behind.

use results::{
    ComparisonDecision, ComparisonNote, ComparisonRecord, ComparisonStatus, DrawnAnew, ExperimentRow, Store,
    TrialStatus,
};
use rustix::process::Signal;
use testkit::cluster::Cluster;

use crate::compare::told;
use crate::harness::{Bench, Running};

/// A database with a table of the user's own.
pub(crate) fn orders(cluster: &Cluster) -> String {
    let dsn = cluster.database("shop");
    let rows = "CREATE TABLE orders AS SELECT i AS id, i % 1000 AS customer FROM generate_series(1, 2000) i";
    let mut session = Cluster::session(&dsn);
    session.execute(rows).expect("it is made");
    session.execute("VACUUM ANALYZE orders").expect("it is vacuumed");
    dsn
}

/// A pause, because most tests do not look at the throughput.
pub(crate) const COUNT: &str =
    "\\set c random(0, 999)\nSELECT count(*) FROM orders WHERE customer = :c;\n\\sleep 5 ms\n";

/// All that a comparison could leave in a database or on its server.
pub(crate) fn catalogs(dsn: &str) -> Vec<String> {
    let all = "SELECT concat_ws(' ', 'relation', oid, relname, relfilenode) FROM pg_class WHERE oid >= 16384 \
               UNION ALL SELECT concat_ws(' ', 'function', oid, proname) FROM pg_proc WHERE oid >= 16384 \
               UNION ALL SELECT concat_ws(' ', 'schema', oid, nspname) FROM pg_namespace WHERE oid >= 16384 \
               UNION ALL SELECT concat_ws(' ', 'statistics', oid, stxname) FROM pg_statistic_ext \
               UNION ALL SELECT concat_ws(' ', 'extension', extname) FROM pg_extension \
               UNION ALL SELECT concat_ws(' ', 'setting', setrole, setconfig) FROM pg_db_role_setting \
               UNION ALL SELECT concat_ws(' ', 'vacuums', relname, vacuum_count) FROM pg_stat_user_tables \
               UNION ALL SELECT concat_ws(' ', 'database', datname) FROM pg_database ORDER BY 1";
    let rows = Cluster::session(dsn).query(all).expect("the server answers");
    rows.iter().map(|row| row.get(0).unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_setting_is_compared_on_the_users_own_table_and_nothing_is_left_there() {
    let bench = Bench::new();
    // Nobody else makes databases there.
    let cluster = Cluster::start("18");
    let dsn = orders(&cluster);
    let before = catalogs(&dsn);
    bench.file("count.sql", COUNT);
    let words = ["compare", "--in-place", "--factor", "enable_seqscan=on,off", "-f", "count.sql"];
    let mut command =
        bench.command(words.iter().chain(&["--budget", "3s", "--block", "0.1", "--store", "out/"]));
    // The server of the environment.
    for word in dsn.split(' ') {
        let (name, value) = word.split_once('=').expect("a keyword and a value");
        let variable = [("host", "PGHOST"), ("port", "PGPORT"), ("user", "PGUSER"), ("dbname", "PGDATABASE")]
            .into_iter()
            .find_map(|(keyword, variable)| (keyword == name).then_some(variable));
        command.env(variable.expect("a variable"), value);
    }
    let out = crate::harness::finish(&mut command);
    assert!(matches!(out.status.code(), Some(0 | 3 | 5)), "{}{}", out.stdout, out.stderr);
    assert!(out.stderr.contains("in place: database "), "{}", out.stderr);
    let record = bench.newest_comparison();
    assert_eq!(record.method.session_settings, ["enable_seqscan"]);
    assert_eq!(record.method.draws, DrawnAnew::Connections);
    assert!(record.pairs.iter().flat_map(|pair| &pair.blocks).any(|block| block.figures.tps.is_some()));
    assert_eq!(catalogs(&dsn), before);
}

#[test]
fn two_scripts_are_compared_on_the_users_own_table() {
    let bench = Bench::new();
    let dsn = orders(Cluster::shared("18"));
    let count = "SELECT count(*) FROM orders;\n\\sleep 2 ms\n";
    bench.file("count.sql", count);
    bench.file("ten.sql", &count.repeat(10));
    let words = ["compare", "--in-place", "--dsn", &dsn, "--factor", "script=ten.sql,count.sql"];
    let out = bench.run(words.iter().chain(&["--budget", "1min", "--block", "0.1", "--store", "out/"]));
    let out = out.exits(0);
    assert!(told(&out.stdout).contains(" times as fast as ten.sql ("), "{}", out.stdout);
    let record = bench.newest_comparison();
    assert_eq!((record.decision, record.status), (ComparisonDecision::Better, ComparisonStatus::Complete));
    assert!(record.findings[0].ratio > 2.0, "{:?}", record.findings);
    assert!(record.findings.iter().any(|finding| finding.different == Some(true)), "{:?}", record.findings);
}

#[test]
fn what_a_session_cannot_set_is_refused_with_what_to_do() {
    let bench = Bench::new();
    let dsn = orders(Cluster::shared("18"));
    Cluster::session(&dsn).execute("CREATE ROLE in_place_app LOGIN").expect("it is made");
    let app = dsn.replace("user=postgres", "user=in_place_app");
    bench.file("count.sql", COUNT);
    let tell = |dsn: &str, factor: &str, more: &[&str]| {
        let words = ["compare", "--dsn", dsn, "--factor", factor, "-f", "count.sql", "--budget", "2s"];
        bench.run(words.iter().chain(more)).exits(1).says(&["pgmeter: error: "]).stderr
    };
    let own = tell(&dsn, "shared_buffers=16MB,32MB", &["--in-place"]);
    assert!(
        own.contains("a session cannot set shared_buffers") && own.contains("leave out the dsn"),
        "{own}"
    );
    let role = tell(&app, "log_min_duration_statement=0,-1", &["--in-place"]);
    assert!(role.contains("the role in_place_app may not set log_min_duration_statement"), "{role}");
    assert!(role.contains("GRANT SET ON PARAMETER"), "{role}");
    let near = tell(&dsn, "settings.wrk_mem=1MB,2MB", &["--in-place"]);
    assert!(near.contains("this server has no setting \"wrk_mem\"; did you mean \"work_mem\"?"), "{near}");
    let data = tell(&dsn, "fillfactor=50,100", &["--in-place"]);
    assert!(data.contains("fillfactor changes the database"), "{data}");
    let tables = tell(&dsn, "work_mem=1MB,2MB", &[]);
    assert!(tables.contains("relation \"orders\" does not exist"), "{tables}");
    assert!(tables.contains("--in-place") && tables.contains("workload"), "{tables}");
}

#[test]
fn an_experiment_in_place_sets_settings_per_connection_and_leaves_nothing() {
    let bench = Bench::new();
    // Nobody else makes databases there.
    let cluster = Cluster::start("18");
    let dsn = orders(&cluster);
    let before = catalogs(&dsn);
    // Fails if the connection has another setting than the cell.
    let script = "SELECT 1 / (current_setting('work_mem') = :wanted)::int FROM orders LIMIT 1;\n";
    bench.file("count.sql", script);
    let text = |server: &str, data: &str| {
        format!(
            "name = \"clients\"\nload = {{ script = \"count.sql\", transactions = 3, warmup = \"0s\" }}\n\
             factors = {{ memory = [\"small\", \"large\"] }}\ndesign = {{ repeats = 1 }}\n[server]\n{server}\n{data}\
             [levels.memory]\nsmall = {{ work_mem = \"1MB\", \"variables.wanted\" = \"'1MB'\" }}\n\
             large = {{ work_mem = \"64MB\", \"variables.wanted\" = \"'64MB'\" }}\n"
        )
    };
    let stored = || -> ExperimentRow {
        let mut store = Store::create(&bench.path().join("out/results.sqlite")).expect("it can be opened");
        store.newest_experiment("clients", "full").expect("it can be read").expect("it is there")
    };
    bench.file("table.sql", "CREATE TABLE orders AS SELECT 1 AS id;\n");
    for (server, data, count) in [
        (format!("dsn = \"{dsn}\"\nin_place = true"), "", 2),
        (
            "version = \"18\"\nsettings = { shared_buffers = \"64MB\" }".to_owned(),
            "[data]\nworkload = \"none\"\ndata_setup = \"table.sql\"\n",
            1,
        ),
    ] {
        let file = bench.file("clients.toml", &text(&server, data));
        let plan = bench.run(["lab", "plan", file]).exits(0).stdout;
        assert!(plan.contains("  server 1 ") && !plan.contains("  server 2 "), "{plan}");
        assert_eq!(plan.contains("the database as it is"), count == 2, "{plan}");
        bench.run(["lab", "run", file, "--store", "out/"]).exits(0);
        let row = stored();
        for trial in &row.trials {
            assert_eq!(trial.status, TrialStatus::Complete, "{trial:?}");
            let number = trial.run.expect("it is a run").to_string();
            let record =
                results::find(&bench.path().join("out/results.sqlite"), &number).expect("it is kept");
            let server = record.environment.server.expect("it was asked");
            let wanted = if trial.factors["memory"] == "small" { "1MB" } else { "64MB" };
            assert_eq!(server.non_default_settings.get("work_mem"), Some(wanted));
        }
    }
    assert_eq!(catalogs(&dsn), before);
}

/// The usual length, which is not chosen by itself for a load that pauses.
const BLOCK: &str = "0.25";

pub(crate) const INDEX: &str = "CREATE INDEX orders_customer ON orders (customer)";

/// Options of a comparison of the schema as it is with this change.
pub(crate) fn changing<'a>(dsn: &'a str, change: &'a str) -> Vec<&'a str> {
    let words = ["compare", "--in-place", "--allow-ddl", "--dsn", dsn, "--b-sql", change, "-f", "count.sql"];
    let more = ["--budget", "2min", "--block", BLOCK, "--store", "out/"];
    words.into_iter().chain(more).collect()
}

/// The same options with blocks that are as short as they may be.
fn quickly(words: Vec<&str>) -> Vec<&str> {
    words.into_iter().map(|word| if word == BLOCK { "0.1" } else { word }).collect()
}

#[test]
fn an_index_is_compared_with_none_and_is_gone_afterwards() {
    let bench = Bench::new();
    let cluster = Cluster::start("18");
    let dsn = orders(&cluster);
    let before = catalogs(&dsn);
    // Quick where the index is, whatever the machine does.
    let script = "SELECT count(*), pg_sleep(CASE WHEN to_regclass('orders_customer') IS NULL THEN 0.03 ELSE 0.001 END) FROM \
                  orders WHERE customer = 7;\n";
    bench.file("count.sql", script);
    let out = bench.run(quickly(changing(&dsn, INDEX))).exits(0);
    let undo =
        "changing the schema in place; at the end: DROP INDEX CONCURRENTLY IF EXISTS public.orders_customer;";
    assert!(out.stderr.contains(undo), "{}", out.stderr);
    assert!(out.stdout.contains("as it is (A) against CREATE INDEX orders_customer"), "{}", out.stdout);
    let record = bench.newest_comparison();
    assert_eq!(record.decision, ComparisonDecision::Better);
    assert!(record.findings[0].ratio > 2.0, "{:?}", record.findings[0]);
    for sequence in record.pairs.chunks(2).filter(|pairs| pairs.iter().all(|pair| !pair.is_noise_floor)) {
        let sides: Vec<bool> =
            sequence.iter().flat_map(|pair| &pair.blocks).map(|block| block.is_candidate).collect();
        assert!(sides == [true, false, false, true] || sides == [false, true, true, false], "{sides:?}");
    }
    let switched = |note: &ComparisonNote| matches!(note, ComparisonNote::SchemaChanged { switches, .. } if *switches > 8);
    assert!(record.notes.iter().any(switched), "{:?}", record.notes);
    assert_eq!(catalogs(&dsn), before);
    // No transaction may be open for it, so it is made and dropped one by one.
    bench.file("index.sql", "CREATE INDEX CONCURRENTLY orders_expression ON orders ((customer + 1));\n");
    let words: Vec<&str> = quickly(changing(&dsn, "index.sql"))
        .into_iter()
        .map(|word| if word == "2min" { "1s" } else { word })
        .collect();
    let out = bench.run(words);
    assert!(
        out.stderr.contains("at the end: DROP INDEX CONCURRENTLY IF EXISTS public.orders_expression;"),
        "{}",
        out.stderr
    );
    assert_eq!(catalogs(&dsn), before);
}

#[test]
fn the_schema_is_as_before_after_an_interruption_and_after_a_failure() {
    let bench = Bench::new();
    let cluster = Cluster::start("18");
    let dsn = orders(&cluster);
    let before = catalogs(&dsn);
    bench.file("count.sql", COUNT);
    let told = "cannot derive the SQL that undoes this: CREATE STATISTICS; give its undo with --a-undo";
    bench.run(changing(&dsn, "CREATE STATISTICS")).exits(1).says(&[told]);
    let statistics = "CREATE STATISTICS of_orders ON id, customer FROM orders";
    let words = [changing(&dsn, statistics), vec!["--b-undo", "DROP STATISTICS of_orders"]].concat();
    let mut run = Running::start(&mut bench.command(quickly(words)));
    run.hear("comparing: ");
    run.signal(Signal::INT);
    run.finish().exits(130);
    assert_eq!(catalogs(&dsn), before);
    // Fails in the first block of B.
    bench.file("count.sql", "SELECT 1 / (to_regclass('orders_customer') IS NULL)::int;\n\\sleep 5 ms\n");
    bench.run(changing(&dsn, INDEX)).exits(2).says(&["division by zero"]);
    assert_eq!(catalogs(&dsn), before);
    let words =
        [changing(&dsn, "CREATE TABLE orders (id int)"), vec!["--b-undo", "DROP TABLE orders"]].concat();
    bench
        .run(words)
        .exits(2)
        .says(&["the change of the schema failed: ", "relation \"orders\" already exists"]);
    assert_eq!(catalogs(&dsn), before, "what was there is not undone");
}

#[test]
fn changes_of_the_schema_that_are_not_allowed_or_cannot_be_undone_are_told() {
    let bench = Bench::new();
    let cluster = Cluster::start("18");
    let dsn = orders(&cluster);
    bench.file("count.sql", COUNT);
    let not_allowed: Vec<&str> =
        changing(&dsn, INDEX).into_iter().filter(|word| *word != "--allow-ddl").collect();
    bench.run(not_allowed).exits(1).says(&["ddl changes the schema of your database", "--allow-ddl"]);
    Cluster::session(&dsn).execute(INDEX).expect("it is made");
    bench
        .run(changing(&dsn, INDEX))
        .exits(1)
        .says(&["the index public.orders_customer exists already", "DROP INDEX"]);
    let other = "CREATE INDEX other ON orders (id)";
    let words = [changing(&dsn, other), vec!["--b-undo", "DROP INDEX nowhere"]].concat();
    let out = bench.run(words).exits(2);
    let sentence = "the change of the schema could not be undone: ERROR:  index \"nowhere\" does not exist; run this in the \
                    database shop_0: DROP INDEX nowhere;";
    assert!(out.stderr.contains(sentence), "{}", out.stderr);
}

#[test]
fn a_change_that_fails_half_way_is_undone_and_what_existed_before_is_kept() {
    let bench = Bench::new();
    let cluster = Cluster::start("18");
    let dsn = orders(&cluster);
    bench.file("count.sql", COUNT);
    Cluster::session(&dsn).execute("CREATE INDEX existing ON orders (id)").expect("it is made");
    let before = catalogs(&dsn);
    let fails = |change: &str, undo: &str| {
        let words = [changing(&dsn, change), vec!["--b-undo", undo]].concat();
        bench.run(words).exits(2).says(&["the change of the schema failed: "]).stderr
    };
    let not_undone = "the change of the schema could not be undone: ";
    for (change, undo) in [
        // The last statement is undone first, which fails without IF EXISTS. It leaves no index.
        (
            "CREATE INDEX CONCURRENTLY o1 ON orders (customer); CREATE UNIQUE INDEX CONCURRENTLY o2 ON orders (customer, nosuch)",
            "DROP INDEX CONCURRENTLY o2; DROP INDEX CONCURRENTLY o1",
        ),
        // It leaves an invalid index.
        ("CREATE UNIQUE INDEX CONCURRENTLY o3 ON orders (customer)", "DROP INDEX CONCURRENTLY o3"),
        ("CREATE TABLE x_n (a int); VACUUM x_n; SELECT 1 / 0", "DROP TABLE x_other; DROP TABLE x_n"),
    ] {
        let said = fails(change, undo);
        assert!(!said.contains(not_undone), "{said}");
        let without_counts = |all: Vec<String>| -> Vec<String> {
            all.into_iter().filter(|line| !line.starts_with("vacuums")).collect()
        };
        assert_eq!(without_counts(catalogs(&dsn)), without_counts(before.clone()), "{change}");
    }
    let said = fails("CREATE TABLE x_left (a int); VACUUM x_left", "DROP TABLE x_left");
    assert!(said.contains("several statements of a change are one transaction"), "{said}");
    for change in
        ["CREATE INDEX CONCURRENTLY existing ON orders (id)", "CREATE INDEX existing ON orders (id)"]
    {
        let words = [changing(&dsn, change), vec!["--b-undo", "DROP INDEX existing"]].concat();
        bench.run(words).exits(1).says(&["the index public.existing exists already"]);
    }
    assert!(catalogs(&dsn).iter().any(|line| line.contains(" existing ")));
}

#[test]
fn transaction_control_and_empty_changes_are_refused_before_anything_is_changed() {
    let bench = Bench::new();
    let cluster = Cluster::start("18");
    let dsn = orders(&cluster);
    let before = catalogs(&dsn);
    bench.file("count.sql", COUNT);
    bench.file("change.sql", "CREATE TABLE x_t (i int);\n\n/* now */ COMMIT;\n");
    for (change, undo, told) in [
        (
            "CREATE TABLE x_t (i int); COMMIT; garbage here",
            "DROP TABLE x_t",
            "COMMIT is not allowed in ddl (--a-sql, --b-sql), line 1: ",
        ),
        ("CREATE TABLE x_t (i int)\\; ABORT", "DROP TABLE x_t", "ABORT is not allowed in ddl"),
        ("CREATE TABLE x_t (i int)", "BEGIN; DROP TABLE x_t; COMMIT", "BEGIN is not allowed in ddl_undo"),
        ("change.sql", "DROP TABLE x_t", "change.sql, line 3: "),
        ("", "DROP TABLE x_t", "--b-sql: it is empty"),
        (";;", "DROP TABLE x_t", "ddl (--a-sql, --b-sql) has no SQL statement"),
        ("CREATE TABLE x_t (i int)", " ", "--b-undo: it is empty"),
        ("CREATE TABLE x_t (i int)", "/* none */;", "ddl_undo (--a-undo, --b-undo) has no SQL statement"),
    ] {
        let words = [changing(&dsn, change), vec!["--b-undo", undo]].concat();
        let out = bench.run(words);
        assert!(matches!(out.status.code(), Some(1 | 2)), "{change}: {}", out.stderr);
        assert!(out.stderr.contains(told) && !out.stderr.contains("in place: "), "{change}: {}", out.stderr);
        assert_eq!(catalogs(&dsn), before);
    }
    let text = format!(
        "name = \"clients\"\nload = {{ script = \"count.sql\", transactions = 3, warmup = \"0s\" }}\n\
         server = {{ dsn = \"{dsn}\", in_place = true }}\ndata = {{ allow_ddl = true }}\n\
         factors = {{ index = [\"without\", \"with\"] }}\n[levels.index]\nwithout = {{}}\n\
         with = {{ ddl = \"CREATE TABLE x_t (i int)\", ddl_undo = \"DROP TABLE x_t; END\" }}\n"
    );
    let file = bench.file("clients.toml", &text);
    let told = "END is not allowed in ddl_undo (--a-undo, --b-undo), line 1: ";
    bench.run(["lab", "run", file, "--store", "out/"]).exits(1).says(&[told]);
    assert_eq!(catalogs(&dsn), before);
}

#[test]
fn an_interrupted_change_of_the_schema_keeps_the_pairs_so_far() {
    let bench = Bench::new();
    let cluster = Cluster::start("18");
    let dsn = orders(&cluster);
    bench.file("count.sql", COUNT);
    let mut session = Cluster::session(&dsn);
    session.execute("CREATE TABLE made (i int)").expect("it is made");
    let before = catalogs(&dsn);
    let change = "SELECT pg_advisory_xact_lock_shared(1); INSERT INTO made VALUES (1); CREATE INDEX other ON orders (id)";
    let undo = "SELECT pg_advisory_xact_lock_shared(2); DROP INDEX other";
    let waiting = "SELECT coalesce(min(pid), 0) FROM pg_locks WHERE NOT granted AND locktype = 'advisory'";
    // The change waits for the first lock, the undo for the second.
    for (signal, status, lock) in [(Signal::INT, 130, 1), (Signal::TERM, 143, 2)] {
        session.execute("DELETE FROM made").expect("it is emptied");
        let words = [quickly(changing(&dsn, change)), vec!["--b-undo", undo]].concat();
        let mut run = Running::start(&mut bench.command(words));
        let mut count = |sql: &str| -> u32 {
            let rows = session.query(sql).expect("the server answers");
            rows[0].get(0).and_then(|text| text.parse().ok()).expect("a number")
        };
        // The two pairs of the first sequence are complete by then.
        while count("SELECT count(*) FROM made") < 4 {
            assert!(!run.has_ended(), "{}", run.heard());
            testkit::condition::pause();
        }
        let mut blocker = Cluster::session(&dsn);
        blocker.execute(&format!("SELECT pg_advisory_lock({lock})")).expect("it is locked");
        let pid = loop {
            let pid = count(waiting);
            if pid > 0 {
                break pid;
            }
            assert!(!run.has_ended(), "{}", run.heard());
            testkit::condition::pause();
        };
        run.signal(signal);
        while count(waiting) == pid {
            testkit::condition::pause();
        }
        drop(blocker);
        let out = run.finish().exits(status);
        assert!(!out.stderr.contains("canceling statement"), "{}", out.stderr);
        let record = bench.newest_comparison();
        assert_eq!(record.status, ComparisonStatus::Interrupted);
        assert!(record.pairs.len() >= 2, "{:?}", record.pairs);
        assert_eq!(catalogs(&dsn), before);
    }
}

#[test]
fn trials_in_place_have_the_schema_of_their_level_and_the_first_failure_that_repeats_ends_them() {
    let bench = Bench::new();
    let cluster = Cluster::start("18");
    let dsn = orders(&cluster);
    let before = catalogs(&dsn);
    bench.file("count.sql", "SELECT 1 / ((to_regclass('orders_customer') IS NOT NULL) = :wanted)::int;\n");
    let text = format!(
        "name = \"clients\"\nload = {{ script = \"count.sql\", transactions = 3, warmup = \"0s\" }}\n\
         server = {{ dsn = \"{dsn}\", in_place = true }}\ndata = {{ allow_ddl = true }}\n\
         factors = {{ index = [\"without\", \"with\"] }}\ndesign = {{ repeats = 2 }}\n\
         [levels.index]\nwithout = {{ \"variables.wanted\" = \"false\" }}\n\
         with = {{ ddl = \"{INDEX}\", \"variables.wanted\" = \"true\" }}\n"
    );
    let file = bench.file("clients.toml", &text);
    let out = bench.run(["lab", "run", file, "--store", "out/"]).exits(0);
    assert!(out.stdout.contains("4 of 4 trials complete"), "{}", out.stdout);
    assert_eq!(catalogs(&dsn), before);
    // A branch is not checked before the first trial.
    bench.file("count.sql", "\\if true\nSELECT count(*) FROM order;\n\\endif\n");
    let out = bench.run(["lab", "run", file, "--store", "out/"]).exits(2);
    assert!(out.stderr.contains("syntax error") && !out.stderr.contains("trial 2/4"), "{}", out.stderr);
    assert!(
        out.stderr.contains("this failure would repeat, so the other 3 trials were not run"),
        "{}",
        out.stderr
    );
    assert_eq!(catalogs(&dsn), before);
}

#[test]
fn a_plan_names_the_rights_settings_and_tablespaces_that_are_missing_before_anything_starts() {
    let bench = Bench::new();
    let cluster = Cluster::start("18");
    let dsn = orders(&cluster);
    Cluster::session(&dsn).execute("CREATE ROLE modest LOGIN").expect("it is made");
    let modest = dsn.replace("user=postgres", "user=modest");
    let text = format!(
        "name = \"clients\"\nload = {{ script = \"select-only\", clients = 4000 }}\n[server]\ndsn = \"{modest}\"\n\
         [data]\ntablespace = \"fast\"\n[factors]\nlog_statement = [\"none\", \"all\"]\n"
    );
    let file = bench.file("clients.toml", &text);
    for action in ["plan", "run"] {
        let out = bench.run(["lab", action, file]).exits(1).says(&[
            "the experiment cannot run: ",
            "the role modest may not create databases",
            "the role modest may not request checkpoints",
            "the role modest may not set log_statement",
            "4000 clients need more connections than the server has",
            "the server has no tablespace fast",
        ]);
        assert!(!out.stderr.contains("trial 1/"), "{}", out.stderr);
    }
    assert!(!bench.path().join("pgmeter-results/results.sqlite").exists());
    let text = format!(
        "name = \"clients\"\nload = {{ script = \"select-only\" }}\nserver = {{ dsn = \"{dsn}\", in_place = true }}\n\
         factors = {{ work_mem = [\"1MB\", \"much\"] }}\n"
    );
    let file = bench.file("clients.toml", &text);
    bench.run(["lab", "plan", file]).exits(1).says(&["invalid value for parameter \"work_mem\": \"much\""]);
}

/// Number of tries and longest wait in a record.
fn lock_waits(record: &ComparisonRecord) -> (u64, f64) {
    let found = record.notes.iter().find_map(|note| match note {
        ComparisonNote::SchemaChanged { tries, longest_wait_s, .. } => Some((*tries, *longest_wait_s)),
        _ => None,
    });
    found.expect("the schema was changed")
}

/// Whether a session of the comparison waits for a lock that the process holds.
fn waits_for(watcher: &mut connect::Session, holder: &str) -> bool {
    let sql = format!("SELECT 1 FROM pg_stat_activity WHERE {holder} = ANY (pg_blocking_pids(pid))");
    !watcher.query(&sql).expect("the server answers").is_empty()
}

/// A session of the name `holder` that holds a lock of readers on `orders`, and its process.
fn holder(dsn: &str) -> (connect::Session, String) {
    let mut holder = Cluster::session(&format!("{dsn} application_name=holder"));
    holder.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM orders LIMIT 1").expect("it reads");
    let rows = holder.query("SELECT pg_backend_pid()").expect("the server answers");
    let pid = rows[0].get(0).expect("a number").to_owned();
    (holder, pid)
}

#[test]
fn an_application_reads_and_writes_while_a_change_waits_for_the_transaction_of_another_session() {
    let bench = Bench::new();
    let cluster = Cluster::start("18");
    let dsn = orders(&cluster);
    let before = catalogs(&dsn);
    bench.file("count.sql", COUNT);
    // CREATE INDEX becomes concurrent and waits beside others; ALTER TABLE cannot, and is tried for a moment each time.
    let alter =
        "ALTER TABLE orders ALTER customer SET STATISTICS 200; ALTER TABLE orders ADD COLUMN x_more int";
    let undo = "ALTER TABLE orders DROP COLUMN x_more; ALTER TABLE orders ALTER customer SET STATISTICS -1";
    for change in [vec![INDEX], vec![alter, "--b-undo", undo]] {
        let (holder, pid) = holder(&dsn);
        let words =
            [changing(&dsn, change[0]), change[1..].to_vec(), vec!["--lock-timeout", "20ms"]].concat();
        let words = words.into_iter().map(|word| if word == "2min" { "3s" } else { word });
        let mut run = Running::start(&mut bench.command(words));
        let mut application = Cluster::session(&dsn);
        application.execute("SET statement_timeout = '20s'").expect("it is set");
        let mut watcher = Cluster::session(&dsn);
        // The concurrent change waits once: until a look of pgmeter's has seen who blocks it. The other one is tried.
        let look = "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%AS blocking LEFT JOIN%' AND state = 'idle' AND \
                    pid <> pg_backend_pid()";
        let (mut tries, mut was_waiting) = (0, false);
        while tries < 3 {
            assert!(!run.has_ended(), "{}", run.heard());
            let is_waiting = waits_for(&mut watcher, &pid);
            let is_concurrent = change[0] == INDEX;
            let is_seen = is_concurrent && !watcher.query(look).expect("the server answers").is_empty();
            tries += u32::from(is_seen || (is_waiting && !was_waiting));
            was_waiting = is_waiting || is_concurrent;
            if is_waiting {
                application.execute("SELECT FROM orders LIMIT 1").expect("it does not wait for the change");
                application.execute("UPDATE orders SET id = id WHERE id = 1").expect("it does not wait");
            }
            testkit::condition::pause();
        }
        drop(holder);
        let out = run.finish();
        assert!(matches!(out.status.code(), Some(0 | 3)), "{}", out.stderr);
        let (tries, longest_s) = lock_waits(&bench.newest_comparison());
        assert!(tries > 1 && longest_s > 0.0, "{tries} {longest_s}");
        assert!(out.stdout.contains("tries to get their locks; the longest wait was "), "{}", out.stdout);
    }
    let relations = |all: Vec<String>| -> Vec<String> {
        all.into_iter().filter(|line| !line.starts_with("vacuums")).collect()
    };
    assert_eq!(relations(catalogs(&dsn)), relations(before));
}

#[test]
fn a_change_that_does_not_get_its_lock_is_given_up_with_who_holds_it_and_the_sql_that_undoes_it() {
    let bench = Bench::new();
    let cluster = Cluster::start("18");
    let dsn = orders(&cluster);
    let before = catalogs(&dsn);
    bench.file("count.sql", COUNT);
    let limits = ["--lock-timeout", "20ms", "--lock-limit", "1s"];
    let held = |pid: &str| format!("it is held by process {pid} (application_name \"holder\", since ");
    let (session, pid) = holder(&dsn);
    let out = bench.run(changing(&dsn, INDEX).iter().chain(&limits)).exits(2);
    assert!(
        out.stderr.contains("the change of the schema failed: the lock was not granted in "),
        "{}",
        out.stderr
    );
    assert!(out.stderr.contains(&held(&pid)), "{}", out.stderr);
    // The server made an invalid index, which could not be dropped as long as the other transaction lasts.
    let is_left = catalogs(&dsn).iter().any(|line| line.contains(" orders_customer "));
    assert_eq!(
        out.stderr.contains(": DROP INDEX CONCURRENTLY public.orders_customer;"),
        is_left,
        "{}",
        out.stderr
    );
    drop(session);
    Cluster::session(&dsn).execute("DROP INDEX IF EXISTS orders_customer").expect("it is dropped");
    assert_eq!(catalogs(&dsn), before);
    // The undo waits for a reader that came while B was in force.
    let mut run = Running::start(&mut bench.command(changing(&dsn, INDEX).iter().chain(&limits)));
    let mut watcher = Cluster::session(&dsn);
    let is_there = "SELECT 1 FROM pg_index WHERE indexrelid = to_regclass('orders_customer') AND indisvalid";
    while watcher.query(is_there).expect("the server answers").is_empty() {
        assert!(!run.has_ended(), "{}", run.heard());
        testkit::condition::pause();
    }
    let (session, pid) = holder(&dsn);
    let out = run.finish().exits(2);
    assert!(out.stderr.contains(&held(&pid)), "{}", out.stderr);
    let undo = "run this in the database shop_0: DROP INDEX CONCURRENTLY public.orders_customer;";
    assert!(out.stderr.contains("the change of the schema could not be undone: "), "{}", out.stderr);
    assert!(out.stderr.contains(undo), "{}", out.stderr);
    drop(session);
    watcher.execute("DROP INDEX CONCURRENTLY public.orders_customer").expect("as the sentence says");
    assert_eq!(catalogs(&dsn), before);
}

#[test]
fn an_index_of_a_partitioned_table_needs_an_undo_and_what_was_made_is_dropped_and_no_namesake() {
    let bench = Bench::new();
    let cluster = Cluster::start("18");
    let dsn = orders(&cluster);
    let mut session = Cluster::session(&dsn);
    let parts = "CREATE TABLE parted (id int, customer int) PARTITION BY RANGE (id); \
                 CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (9)";
    session.execute(parts).expect("they are made");
    let before = catalogs(&dsn);
    bench.file("count.sql", COUNT);
    let mut words = changing(&dsn, "CREATE INDEX parted_customer ON parted (customer)");
    words.iter_mut().filter(|word| **word == "2min").for_each(|word| *word = "2s");
    bench.run(&words).exits(1).says(&["parted is partitioned, so PostgreSQL cannot make the index"]);
    words.extend(["--b-undo", "DROP INDEX parted_customer"]);
    let out = bench.run(&words);
    assert!(matches!(out.status.code(), Some(0 | 3 | 5)), "{}", out.stderr);
    assert_eq!(catalogs(&dsn), before);
    // Somebody renames the index and makes another one with its name.
    let mut run = Running::start(&mut bench.command(changing(&dsn, INDEX)));
    // The comment shows that pgmeter knows its index by now. Before, it could not tell it from the other one.
    let is_there = "SELECT 1 FROM pg_index WHERE indexrelid = to_regclass('orders_customer') AND indisvalid \
                    AND obj_description(indexrelid, 'pg_class') LIKE 'pgmeter compare: %'";
    while session.query(is_there).expect("the server answers").is_empty()
        || session.execute("ALTER INDEX orders_customer RENAME TO x_renamed").is_err()
    {
        assert!(!run.has_ended(), "{}", run.heard());
        testkit::condition::pause();
    }
    session.execute("CREATE INDEX orders_customer ON orders (id)").expect("it is made");
    run.signal(Signal::INT);
    run.finish();
    let left = catalogs(&dsn);
    assert!(left.iter().any(|line| line.contains(" orders_customer ")), "the user's own is kept: {left:?}");
    assert!(!left.iter().any(|line| line.contains(" x_renamed ")), "what was made is dropped: {left:?}");
}

#[test]
fn a_second_comparison_and_an_init_beside_a_comparison_in_place_are_refused_with_who_is_there() {
    let bench = Bench::new();
    let cluster = Cluster::start("18");
    let dsn = orders(&cluster);
    bench.file("count.sql", COUNT);
    let mut first = Running::start(&mut bench.command(changing(&dsn, INDEX)));
    first.hear("comparing: ");
    let rows = Cluster::session(&dsn)
        .query("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND granted")
        .expect("the server answers");
    let pid = rows[0].get(0).expect("a number").to_owned();
    let told = format!(
        "another pgmeter command changes or compares this database: process {pid} (application_name "
    );
    bench.run(changing(&dsn, "CREATE INDEX other ON orders (id)")).exits(1).says(&[&told, "since "]);
    let out = bench.run(["init", "-d", &dsn]);
    assert!(!out.status.success() && out.stderr.contains(&told), "{}", out.stderr);
    first.signal(Signal::INT);
    first.finish().exits(130);
    bench.run(["init", "-q", "-d", &dsn]).exits(0);
}
