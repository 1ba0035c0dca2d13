//! What a comparison in place undoes after the kill of another one, and which undo it refuses because something existed
//! before. `in_place` has the comparisons themselves.

use rustix::process::Signal;
use testkit::cluster::Cluster;

use crate::harness::{Bench, Running};
use crate::in_place::{COUNT, INDEX, catalogs, changing, orders};

#[test]
fn what_a_killed_comparison_left_is_told_by_the_next_one_and_dropped_by_undo() {
    let bench = Bench::new();
    let cluster = Cluster::start("18");
    let dsn = orders(&cluster);
    let before = catalogs(&dsn);
    bench.file("count.sql", COUNT);
    let mut session = Cluster::session(&dsn);
    let mut run = Running::start(&mut bench.command(changing(&dsn, INDEX)));
    let is_marked = "SELECT 1 FROM pg_description WHERE objoid = to_regclass('orders_customer')";
    while session.query(is_marked).expect("the server answers").is_empty() {
        assert!(!run.has_ended(), "{}", run.heard());
        testkit::condition::pause();
    }
    run.signal(Signal::KILL);
    run.finish();
    // The kill may have come while a DROP INDEX was under way, whose backend ends it.
    if session.query(is_marked).expect("the server answers").is_empty() {
        let comment = "DO $$ BEGIN EXECUTE format('COMMENT ON INDEX orders_customer IS %L', \
                       format('pgmeter compare: index %s of database %s, ', 'orders_customer'::regclass::oid, \
                       (SELECT oid FROM pg_database WHERE datname = current_database()))); END $$";
        session.execute(&format!("{INDEX}; {comment}")).expect("as left");
    }
    // A comment of others is not executed, and an index without one is not touched.
    session
        .execute("CREATE INDEX kept ON orders (id); COMMENT ON INDEX kept IS 'of pgmeter compare'")
        .expect("made");
    session.execute("ALTER INDEX orders_customer RENAME TO \"x; y\"").expect("it is renamed");
    // The copy of the index has the comment, but is not what the comparison made.
    session.execute("CREATE TABLE copy (LIKE orders INCLUDING ALL)").expect("it is made");
    let change = "CREATE INDEX other ON orders (id)";
    drop(session);
    let words = changing(&dsn, change).into_iter().map(|word| if word == "2min" { "1s" } else { word });
    let told = "left the index public.\"x; y\" in this database";
    let out = bench.run(words);
    assert!(out.stderr.contains(told) && out.stderr.contains("pgmeter compare --undo"), "{}", out.stderr);
    assert!(out.stderr.contains("or with: DROP INDEX CONCURRENTLY public.\"x; y\";"), "{}", out.stderr);
    assert!(out.stderr.contains("is a copy of it or was rebuilt, so pgmeter keeps it"), "{}", out.stderr);
    // All commands on this database tell of it, and so does the list.
    let out = bench.run(["bench", "-n", "-t", "1", "-f", "count.sql", &dsn]).exits(0);
    assert!(out.stdout.contains("did not end left in the database: index public.\"x; y\""), "{}", out.stdout);
    bench.run(["init", "-q", "-d", &dsn]).exits(0).says(&[told]);
    bench
        .run(["runs", "--store", "out/"])
        .exits(0)
        .says(&["the schema of the database shop_0", "DROP INDEX CONCURRENTLY IF EXISTS"]);
    Cluster::session(&dsn)
        .execute("DROP TABLE pgbench_accounts, pgbench_branches, pgbench_tellers, pgbench_history")
        .expect("there");
    // A copy of the database has the OIDs of the original.
    let elsewhere = dsn.replace("dbname=shop_0", "dbname=shop_copy");
    assert_ne!(elsewhere, dsn);
    Cluster::session(&dsn.replace("dbname=shop_0", "dbname=postgres"))
        .execute("CREATE DATABASE shop_copy TEMPLATE shop_0")
        .expect("nobody else is connected");
    bench.run(["compare", "--undo", "--dsn", &elsewhere, "--store", "out/"]).exits(0).says(&[
        "the index public.\"x; y\" has the comment",
        "no change of a comparison is left in the database shop_copy",
    ]);
    let mut session = Cluster::session(&dsn);
    let undo = ["compare", "--undo", "--dsn", &dsn, "--store", "out/"];
    bench.run(undo).exits(0).says(&["dropped the index public.\"x; y\""]);
    bench.run(undo).exits(0).says(&["no change of a comparison is left in the database shop_0"]);
    let copied = "SELECT 1 FROM pg_description JOIN pg_index ON indexrelid = objoid \
                  WHERE indrelid = 'copy'::regclass AND description LIKE 'pgmeter compare: %'";
    assert_eq!(session.query(copied).expect("the server answers").len(), 1, "the copy is kept");
    session.execute("DROP INDEX kept; DROP TABLE copy").expect("they are there");
    session.execute("DROP DATABASE shop_copy").expect("it is there");
    assert_eq!(catalogs(&dsn), before);
}

#[test]
fn the_store_knows_the_undo_of_a_killed_comparison_that_changed_no_index() {
    let bench = Bench::new();
    let cluster = Cluster::start("18");
    let dsn = orders(&cluster);
    let before = catalogs(&dsn);
    bench.file("count.sql", COUNT);
    let mut session = Cluster::session(&dsn);
    let change = "CREATE STATISTICS of_orders (dependencies) ON id, customer FROM orders";
    let mut words = changing(&dsn, change);
    words.extend(["--b-undo", "DROP STATISTICS of_orders"]);
    let mut run = Running::start(&mut bench.command(&words));
    // The load of B runs, so the change is complete.
    let is_there = "SELECT 1 FROM pg_statistic_ext WHERE stxname = 'of_orders' AND EXISTS (SELECT FROM pg_stat_activity \
                    WHERE state = 'active' AND query LIKE '%FROM orders WHERE%' AND pid <> pg_backend_pid())";
    while session.query(is_there).expect("the server answers").is_empty() {
        assert!(!run.has_ended(), "{}", run.heard());
        testkit::condition::pause();
    }
    run.signal(Signal::KILL);
    run.finish();
    let told = "which runs: DROP STATISTICS of_orders;";
    bench.run(["runs", "--store", "out/"]).exits(0).says(&["the schema of the database shop_0", told]);
    let out = bench.run(words.iter().map(|word| if *word == "2min" { "1s" } else { word }));
    assert!(!out.status.success() && out.stderr.contains(told), "{}", out.stderr);
    let elsewhere = dsn.replace("dbname=shop_0", "dbname=postgres");
    bench
        .run(["compare", "--undo", "--dsn", &elsewhere])
        .exits(0)
        .says(&["no change of a comparison is left"]);
    bench
        .run(["compare", "--undo", "--dsn", &dsn, "--store", "out/"])
        .exits(0)
        .says(&["done: DROP STATISTICS of_orders;"]);
    assert_eq!(catalogs(&dsn), before);
    assert!(!bench.run(["runs", "--store", "out/"]).exits(0).stderr.contains("did not end"));
}

#[test]
fn an_undo_that_would_drop_what_existed_before_is_refused_and_a_failed_change_is_undone_as_a_whole() {
    let bench = Bench::new();
    let cluster = Cluster::start("18");
    let dsn = orders(&cluster);
    let mut session = Cluster::session(&dsn);
    session.execute("CREATE TABLE kept (id int)").expect("it is made");
    let before = catalogs(&dsn);
    bench.file("count.sql", COUNT);
    let or_replace = "without IF NOT EXISTS and OR REPLACE";
    for (change, undo, told, status) in [
        ("CREATE TABLE IF NOT EXISTS kept (id int)", "DROP TABLE kept", or_replace, 1),
        ("CREATE OR REPLACE VIEW v AS SELECT 1", "DROP VIEW v", or_replace, 1),
        (
            "CREATE INDEX CONCURRENTLY oc ON orders (customer); SELECT 1 / 0; CREATE TABLE kept (id int)",
            "DROP TABLE kept; DROP INDEX oc",
            "several statements of a change are one transaction",
            2,
        ),
        (
            "CREATE TABLE a (id int); CREATE TABLE kept (id int)",
            "DROP TABLE kept; DROP TABLE a",
            "already exists",
            2,
        ),
    ] {
        let mut words = changing(&dsn, change);
        words.extend(["--b-undo", undo]);
        bench.run(&words).exits(status).says(&[told]);
        assert_eq!(catalogs(&dsn), before, "{change}");
        assert_eq!(session.query("SELECT id FROM kept").expect("it is there").len(), 0);
    }
    let mut words = changing(&dsn, "ALTER TABLE orders ADD COLUMN z int");
    words.iter_mut().filter(|word| **word == "2min").for_each(|word| *word = "1s");
    words.extend(["--b-undo", "ALTER TABLE orders DROP COLUMN z"]);
    // The last block is one of A or of B.
    for seed in ["1", "2", "3"] {
        let out = bench.run(words.iter().chain(&["--random-seed", seed]));
        assert!(out.stderr.contains("more dropped columns than before"), "{seed}: {}", out.stderr);
    }
}

#[test]
fn the_undo_of_a_change_that_was_not_complete_is_shown_and_not_executed() {
    let bench = Bench::new();
    let cluster = Cluster::start("18");
    let dsn = orders(&cluster);
    bench.file("count.sql", COUNT);
    let mut holder = Cluster::session(&dsn);
    holder.execute("BEGIN; SELECT FROM orders LIMIT 1").expect("it reads");
    // The column exists already: its undo would destroy it.
    let mut words = changing(&dsn, "ALTER TABLE orders ADD COLUMN customer int");
    words.extend(["--b-undo", "ALTER TABLE orders DROP COLUMN customer"]);
    let mut run = Running::start(&mut bench.command(&words));
    let mut session = Cluster::session(&dsn);
    let waits = "SELECT 1 FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'";
    while session.query(waits).expect("the server answers").is_empty() {
        assert!(!run.has_ended(), "{}", run.heard());
        testkit::condition::pause();
    }
    run.signal(Signal::KILL);
    run.finish();
    holder.execute("COMMIT").expect("it ends");
    let undo = ["compare", "--undo", "--dsn", &dsn, "--store", "out/"];
    bench.run(undo).exits(0).says(&["was killed before its change was complete", "DROP COLUMN customer;"]);
    assert!(session.query("SELECT customer FROM orders LIMIT 1").is_ok());
}

/// Starts a comparison, and kills it when the query has a row; it is not waited for.
fn killed_when(bench: &Bench, words: &[&str], session: &mut connect::Session, is_time: &str) -> Running {
    let mut run = Running::start(&mut bench.command(words));
    while session.query(is_time).expect("the server answers").is_empty() {
        assert!(!run.has_ended(), "{}", run.heard());
        testkit::condition::pause();
    }
    run.signal(Signal::KILL);
    run
}

const COLUMN: &str = "ALTER TABLE orders ADD COLUMN z int";
/// The change is complete: the load of B runs.
const HAS_COLUMN: &str = "SELECT 1 FROM pg_attribute WHERE attname = 'z' AND attrelid = 'orders'::regclass AND EXISTS \
                          (SELECT FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%FROM orders WHERE%' \
                          AND pid <> pg_backend_pid())";

fn undo(dsn: &str) -> [&str; 6] {
    ["compare", "--undo", "--dsn", dsn, "--store", "out/"]
}

fn adding_column(dsn: &str) -> Vec<&str> {
    [changing(dsn, COLUMN), vec!["--b-undo", "ALTER TABLE orders DROP COLUMN z"]].concat()
}

#[test]
fn nothing_is_undone_after_a_statement_that_failed_by_itself() {
    let bench = Bench::new();
    let cluster = Cluster::start("18");
    let dsn = orders(&cluster);
    let mut session = Cluster::session(&dsn);
    session.execute("CREATE DATABASE users_own").expect("it is made");
    session.execute("ALTER SYSTEM SET work_mem = '7MB'").expect("it is set");
    bench.file("count.sql", COUNT);
    for (change, undo, told) in [
        ("CREATE DATABASE users_own", "DROP DATABASE users_own", "already exists"),
        (
            "CREATE DATABASE users_own ENCODING 'nonsense'",
            "DROP DATABASE users_own",
            "not a valid encoding name",
        ),
        ("ALTER SYSTEM SET work_mem = 'bogus'", "ALTER SYSTEM RESET work_mem", "invalid value"),
        ("DELETE FROM orders", "SELECT 1", "no undo brings back the rows of this: DELETE FROM orders"),
    ] {
        let words = [changing(&dsn, change), vec!["--b-undo", undo]].concat();
        let out = bench.run(words);
        assert!(!out.status.success() && out.stderr.contains(told), "{change}: {}", out.stderr);
    }
    let databases = session.query("SELECT 1 FROM pg_database WHERE datname = 'users_own'");
    assert_eq!(databases.expect("the server answers").len(), 1);
    let set = session.query("SELECT 1 FROM pg_file_settings WHERE name = 'work_mem' AND setting = '7MB'");
    assert_eq!(set.expect("the server answers").len(), 1);
    assert_eq!(session.query("SELECT 1 FROM orders LIMIT 1").expect("it is there").len(), 1);
}

#[test]
fn a_change_whose_session_is_ended_before_its_commit_is_not_undone() {
    let bench = Bench::new();
    let cluster = Cluster::start("18");
    let dsn = orders(&cluster);
    bench.file("count.sql", COUNT);
    let mut session = Cluster::session(&dsn);
    let mut holder = Cluster::session(&dsn);
    holder.execute("BEGIN; SELECT FROM orders LIMIT 1").expect("it reads");
    let undo = "ALTER TABLE orders DROP COLUMN customer";
    let change = "ALTER TABLE orders ADD COLUMN customer text";
    let words =
        [changing(&dsn, change), vec!["--b-undo", undo, "--lock-timeout", "30s", "--lock-limit", "40s"]];
    let run = Running::start(&mut bench.command(words.concat()));
    let ends =
        "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'";
    while session.query(ends).expect("the server answers").is_empty() {
        testkit::condition::pause();
    }
    run.finish().exits(2).says(&["the change of the schema failed"]);
    holder.execute("COMMIT").expect("it ends");
    assert!(session.query("SELECT customer FROM orders LIMIT 1").is_ok());
    // The session ends itself in its COMMIT.
    let change = "CREATE FUNCTION x_f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                  PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$; CREATE TABLE x_d (i int); \
                  CREATE CONSTRAINT TRIGGER x_c AFTER INSERT ON x_d DEFERRABLE INITIALLY DEFERRED FOR EACH ROW \
                  EXECUTE FUNCTION x_f(); INSERT INTO x_d VALUES (1)";
    let out = bench.run([changing(&dsn, change), vec!["--b-undo", undo]].concat()).exits(2);
    assert!(!out.stderr.contains("not known"), "the server says that it was rolled back: {}", out.stderr);
    assert!(session.query("SELECT customer FROM orders LIMIT 1").is_ok());
    assert!(!bench.run(["runs", "--store", "out/"]).exits(0).stderr.contains("did not end"));
}

#[test]
fn an_undo_that_restores_less_than_there_was_is_told() {
    let bench = Bench::new();
    let dsn = orders(Cluster::shared("18"));
    bench.file("count.sql", COUNT);
    let mut session = Cluster::session(&dsn);
    let identity = "CREATE UNIQUE INDEX orders_id ON orders (id); ALTER TABLE orders ALTER id SET NOT NULL; \
                    ALTER TABLE orders REPLICA IDENTITY USING INDEX orders_id";
    session.execute(identity).expect("it is made");
    let short =
        |change| changing(&dsn, change).into_iter().map(|word| if word == "2min" { "1s" } else { word });
    let words: Vec<&str> = short("DROP INDEX orders_id")
        .chain(["--b-undo", "CREATE UNIQUE INDEX orders_id ON orders (id)"])
        .collect();
    let told =
        ["differs from before", "index public.orders_id: replica identity changed from true to nothing"];
    let out = bench.run(words).exits(2).says(&told);
    assert!(out.stdout.contains("public.orders_id: replica"), "the report has it too: {}", out.stdout);
    let words: Vec<&str> = short("ALTER TABLE orders SET (fillfactor = 50)")
        .chain(["--b-undo", "ALTER TABLE orders RESET (fillfactor)"])
        .collect();
    let out = bench.run(words);
    assert!(out.stdout.contains("fillfactor"), "both sides ran: {}\n{}", out.stdout, out.stderr);
    assert!(!out.stderr.contains("differs from before"), "{}", out.stderr);
}

#[test]
fn an_undo_is_executed_only_if_what_the_change_made_is_still_there() {
    let bench = Bench::new();
    let cluster = Cluster::start("18");
    let dsn = orders(&cluster);
    bench.file("count.sql", COUNT);
    let mut session = Cluster::session(&dsn);
    // The killed process has not been waited for.
    let run = killed_when(&bench, &adding_column(&dsn), &mut session, HAS_COLUMN);
    session.execute("ALTER TABLE orders DROP COLUMN z; ALTER TABLE orders ADD COLUMN z text").expect("done");
    let told = ["is not executed: the column \"z\" (number ", "is not there any more", "DROP COLUMN z;"];
    bench.run(undo(&dsn)).exits(2).says(&told);
    run.finish();
    assert!(session.query("SELECT z FROM orders LIMIT 1").is_ok());
    bench.run(undo(&dsn)).exits(0).says(&["no change of a comparison is left"]);
    session.execute("ALTER TABLE orders DROP COLUMN z").expect("it is dropped");
    // A column that was renamed.
    let run = killed_when(&bench, &adding_column(&dsn), &mut session, HAS_COLUMN);
    run.finish();
    session.execute("ALTER TABLE orders RENAME z TO y; ALTER TABLE orders ADD z text").expect("done");
    bench.run(undo(&dsn)).exits(2).says(&["is now called \"y\"", "DROP COLUMN z;"]);
    session.execute("ALTER TABLE orders DROP z; ALTER TABLE orders RENAME y TO z").expect("done");
    bench.run(undo(&dsn)).exits(0).says(&["done: ALTER TABLE orders DROP COLUMN z;"]);
    assert!(session.query("SELECT z FROM orders LIMIT 1").is_err());
}

#[test]
fn a_column_of_the_users_own_is_kept_by_the_undo_of_a_comparison_that_runs() {
    let bench = Bench::new();
    let cluster = Cluster::start("18");
    let dsn = orders(&cluster);
    bench.file("count.sql", COUNT);
    let mut session = Cluster::session(&dsn);
    session.execute("SET lock_timeout = '2s'").expect("it is set");
    let mut run = Running::start(&mut bench.command(adding_column(&dsn)));
    loop {
        assert!(!run.has_ended(), "{}", run.heard());
        if session.query(HAS_COLUMN).expect("the server answers").is_empty() {
            testkit::condition::pause();
            continue;
        }
        // A stopped comparison cannot end before the other command has seen it.
        run.signal(Signal::STOP);
        if session.execute("ALTER TABLE orders DROP COLUMN z; ALTER TABLE orders ADD COLUMN z text").is_ok() {
            break;
        }
        run.signal(Signal::CONT);
    }
    bench.run(undo(&dsn)).exits(1).says(&["another pgmeter command changes or compares this database"]);
    run.signal(Signal::CONT);
    run.finish().exits(2).says(&["is not there any more", "DROP COLUMN z;"]);
    assert!(session.query("SELECT z FROM orders LIMIT 1").is_ok());
}

#[test]
fn an_index_that_the_server_still_builds_after_a_kill_stays_in_the_store_until_it_is_gone() {
    let bench = Bench::new();
    let cluster = Cluster::start("18");
    let dsn = orders(&cluster);
    bench.file("count.sql", COUNT);
    let mut session = Cluster::session(&dsn);
    let mut holder = Cluster::session(&dsn);
    holder.execute("BEGIN; UPDATE orders SET customer = customer WHERE id = 1").expect("it writes");
    let exists = "SELECT 1 WHERE to_regclass('orders_customer') IS NOT NULL";
    let run = killed_when(&bench, &changing(&dsn, INDEX), &mut session, exists);
    let told = "is still building the index public.orders_customer of a comparison that was killed";
    bench.run(undo(&dsn)).exits(2).says(&[told, "pg_terminate_backend("]);
    run.finish();
    holder.execute("COMMIT").expect("it ends");
    let builds = "SELECT 1 FROM pg_stat_progress_create_index";
    while !session.query(builds).expect("the server answers").is_empty() {
        testkit::condition::pause();
    }
    let told = "DROP INDEX CONCURRENTLY IF EXISTS public.orders_customer;";
    bench.run(["runs", "--store", "out/"]).exits(0).says(&["the schema of the database shop_0", told]);
    bench.run(undo(&dsn)).exits(2).says(&["an index public.orders_customer exists", told]);
    session.execute("DROP INDEX orders_customer").expect("it is there");
    bench.run(undo(&dsn)).exits(0);
    bench.run(undo(&dsn)).exits(0).says(&["no change of a comparison is left"]);
}
