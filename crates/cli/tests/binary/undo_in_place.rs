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
    // The kill may have come while the change was undone.
    session.execute(&change.replace("STATISTICS", "STATISTICS IF NOT EXISTS")).expect("as left");
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
    for (change, undo, told) in [
        (
            "CREATE TABLE IF NOT EXISTS kept (id int)",
            "DROP TABLE kept",
            "without IF NOT EXISTS and OR REPLACE",
        ),
        ("CREATE OR REPLACE VIEW v AS SELECT 1", "DROP VIEW v", "without IF NOT EXISTS and OR REPLACE"),
        (
            "CREATE INDEX CONCURRENTLY oc ON orders (customer); SELECT 1 / 0; CREATE TABLE kept (id int)",
            "DROP TABLE kept; DROP INDEX oc",
            "several statements of a change are one transaction",
        ),
        (
            "CREATE TABLE a (id int); CREATE TABLE kept (id int)",
            "DROP TABLE kept; DROP TABLE a",
            "already exists",
        ),
    ] {
        let mut words = changing(&dsn, change);
        words.extend(["--b-undo", undo]);
        bench.run(&words).exits(2).says(&[told]);
        assert_eq!(catalogs(&dsn), before, "{change}");
        assert_eq!(session.query("SELECT id FROM kept").expect("it is there").len(), 0);
    }
    let mut words = changing(&dsn, "ALTER TABLE orders ADD COLUMN z int");
    words.iter_mut().filter(|word| **word == "2min").for_each(|word| *word = "2s");
    words.extend(["--b-undo", "ALTER TABLE orders DROP COLUMN z"]);
    assert!(bench.run(&words).stderr.contains("more dropped columns than before"));
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
    }
    run.signal(Signal::KILL);
    run.finish();
    holder.execute("COMMIT").expect("it ends");
    let undo = ["compare", "--undo", "--dsn", &dsn, "--store", "out/"];
    bench.run(undo).exits(0).says(&["was killed before its change was complete", "DROP COLUMN customer;"]);
    assert!(session.query("SELECT customer FROM orders LIMIT 1").is_ok());
}
