//! `pgmeter data`: rows of a schema on standard output or in a file, explanations of columns, errors with their place.
//! The generators are tested in their own crate.

use std::fs::File;
use std::io::{Read, Write};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use testkit::cluster::Cluster;

use rustix::process::Signal;

use crate::harness::{Bench, Running};
use crate::processes::ends;

const SCHEMA: &str = "CREATE TABLE customer( -- df: mult=2\n  id serial PRIMARY KEY,\n  \
    language char(2) NOT NULL -- df: word=:en,de,fr sub=power rate=0.7\n);\n\
    CREATE TABLE orders(\n  customer integer NOT NULL REFERENCES customer, note text -- df: const='a\\tb'\n);\n";

#[test]
fn rows_of_all_tables_are_a_script_that_a_server_accepts() {
    let bench = Bench::new();
    let schema = bench.file("schema.sql", SCHEMA).to_owned();
    let printed = bench.run(["data", "--schema", &schema, "--size", "3", "--null", "0"]).exits(0);
    assert_eq!(printed.stdout.matches("FROM stdin;").count(), 2, "{}", printed.stdout);
    assert!(printed.stdout.contains("a\\tb\n"), "{}", printed.stdout);
    let mut session = Cluster::session(&Cluster::shared("18").database("data_script"));
    session.execute(SCHEMA).expect("the schema is right");
    // What psql does with the script.
    let mut lines = printed.stdout.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("COPY") {
            let mut copy = session.copy_in(line).expect("COPY begins");
            for row in lines.by_ref().take_while(|row| *row != "\\.") {
                copy.write_all(format!("{row}\n").as_bytes()).expect("the row is sent");
            }
            copy.finish().expect("the rows are right");
        } else {
            session.execute(line).expect("the statement is right");
        }
    }
    let rows = session.query("SELECT nextval('customer_id_seq'), (SELECT count(*) FROM orders)").unwrap();
    assert_eq!((rows[0].get(0), rows[0].get(1)), (Some("7"), Some("3")));
}

/// Statements that depend on each other: the server of the user describes the same tables as a temporary one.
#[test]
fn a_server_reads_the_schema() {
    let bench = Bench::new();
    let schema = bench.file(
        "schema.sql",
        "create table kinds (code text primary key);\ninsert into kinds values ('x'), ('y');\n\
         create table t (id int, kind text references kinds, old int);\n\
         alter table t drop column old;\nalter table t rename to items;\n",
    );
    let schema = schema.to_owned();
    let conninfo = Cluster::shared("18").database("data_on");
    let own = bench.run(["data", "--schema", &schema, "--size", "20", "--null", "0"]).exits(0);
    assert!(own.stdout.starts_with("COPY \"items\" (\"id\", \"kind\") FROM stdin;\n"), "{}", own.stdout);
    let kinds = own.stdout.lines().filter(|line| line.ends_with("\tx") || line.ends_with("\ty"));
    assert_eq!(kinds.count(), 20, "{}", own.stdout);
    let on =
        bench.run(["data", "--schema", &schema, "--size", "20", "--null", "0", "--on", &conninfo]).exits(0);
    assert_eq!(on.stdout, own.stdout);
    let tables = Cluster::session(&conninfo).query("select to_regclass('items')").expect("an answer");
    assert_eq!(tables[0].get(0), None, "nothing was changed");
    bench.file("schema.sql", "create table t (id int);\ncreate tabel u (id int);\n");
    let wrong = bench.run(["data", "--schema", &schema, "--on", &conninfo]).exits(1);
    wrong.says(&["schema.sql:2: ", "syntax error at or near \"tabel\""]);
}

#[test]
fn one_table_goes_to_a_file_as_csv_and_threads_do_not_change_it() {
    let bench = Bench::new();
    let schema = bench.file("schema.sql", SCHEMA).to_owned();
    // Three pieces, so that each thread has one.
    let one = ["data", "--schema", &schema, "--size", "15000", "--table", "customer", "--format", "csv"];
    let printed = bench.run(one).exits(0);
    assert!(printed.stdout.starts_with("id,language\n1,"), "{}", &printed.stdout[..40]);
    assert_eq!(printed.stdout.lines().count(), 30_001);
    bench.run(one.iter().chain(&["--jobs", "3", "-o", "rows.csv"])).exits(0);
    let file = std::fs::read_to_string(bench.path().join("rows.csv")).expect("the file is there");
    assert!(file == printed.stdout, "threads change the rows");
    let seeded = bench.run(one.iter().chain(&["--seed", "other"])).exits(0);
    assert!(seeded.stdout != printed.stdout, "the seed changes nothing");
}

#[test]
fn a_reader_that_ends_early_is_no_error() {
    let bench = Bench::new();
    let schema = bench.file("schema.sql", SCHEMA).to_owned();
    let mut command = bench.command(["data", "--schema", &schema, "--size", "1000000"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().expect("the binary runs");
    let mut stdout = process.stdout.take().expect("a pipe");
    stdout.read_exact(&mut [0; 10]).expect("a line");
    drop(stdout);
    let ended = process.wait_with_output().expect("it ends");
    assert!(ended.status.success(), "{:?}", ended.status);
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert!(stderr.lines().all(|line| line.starts_with("PostgreSQL 18")), "{stderr}");
}

#[test]
fn a_signal_ends_it_while_it_writes_and_while_it_waits_for_its_schema() {
    let bench = Bench::new();
    let schema = bench.file("schema.sql", SCHEMA).to_owned();
    let long = ["data", "--schema", &schema, "--size", "1000000000", "-o", "rows.sql"];
    let pipe_path = bench.path().join("waits.sql");
    mknodat(CWD, &pipe_path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a named pipe");
    // A writer keeps the pipe open, so that its reader waits.
    let open = File::options().read(true).write(true).open(&pipe_path).expect("it is ours");
    for (arguments, signal, status) in
        [(&long[..], Signal::INT, 130), (&["data", "--schema", "-"], Signal::TERM, 143)]
    {
        let mut command = bench.command(arguments);
        let running = Running::start(command.stdin(open.try_clone().expect("it is open")));
        let rows = bench.path().join("rows.sql");
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(300) || (signal == Signal::INT && !rows.exists()) {
            assert!(begun.elapsed() < Duration::from_secs(60), "it does not begin to write");
            thread::sleep(Duration::from_millis(10));
        }
        running.signal(signal);
        ends(running).exits(status);
    }
}

#[test]
fn an_explanation_names_the_generator_and_its_reason() {
    let bench = Bench::new();
    let schema = bench.file("schema.sql", SCHEMA).to_owned();
    let explain = |column: &str| {
        bench.run(["data", "--schema", &schema, "--size", "10000", "--explain", column]).exits(0).stdout
    };
    let language = explain("customer.language");
    for part in [
        "generator: word=:en,de,fr sub=power rate=0.7\nby:        its directives\n",
        "values:    10000 of 20000 rows: 3 distinct, 0.00 % NULL\n",
        "en   ",
        "####",
    ] {
        assert!(language.contains(part), "{part}: {language}");
    }
    let reference = explain("orders.customer");
    assert!(
        reference.contains("generator: values of customer.id\nby:        its foreign key\n"),
        "{reference}"
    );
}

#[test]
fn errors_name_the_file_the_line_and_the_nearest_name() {
    let bench = Bench::new();
    let wrong = bench.file("wrong.sql", "CREATE TABLE t(\n  a int -- df: sise=3\n);").to_owned();
    bench
        .run(["data", "--schema", &wrong])
        .exits(1)
        .says(&["wrong.sql:2:16: unknown directive sise; the nearest known name is size"]);
    let schema = bench.file("schema.sql", SCHEMA).to_owned();
    bench
        .run(["data", "--schema", &schema, "--table", "order"])
        .exits(1)
        .says(&["nearest known name is orders"]);
    bench
        .run(["data", "--schema", &schema, "--explain", "orders.custmer"])
        .exits(1)
        .says(&["the table orders has no column custmer; the nearest known name is customer"]);
    bench
        .run(["data", "--schema", &schema, "--format", "csv"])
        .exits(1)
        .says(&["CSV has one table; select it with --table: customer, orders"]);
    let outside =
        bench.file("outside.sql", "CREATE TABLE t(\n a text -- df: word=/etc/hostname\n);").to_owned();
    bench.run(["data", "--schema", &outside]).exits(1).says(&["outside.sql:2:16:", "--allow-files"]);
    let empty = bench.file("empty.sql", "SELECT 1;").to_owned();
    bench
        .run(["data", "--schema", &empty])
        .exits(1)
        .says(&["the schema creates no table; write CREATE TABLE"]);
    bench.run(["data", "--schema", "none.sql"]).exits(1).says(&["cannot read the schema none.sql"]);
}

#[test]
fn a_learnt_schema_makes_rows_again() {
    let bench = Bench::new();
    let cluster = Cluster::shared("18");
    let target = cluster.database("data_learn");
    let mut session = Cluster::session(&target);
    session
        .execute(
            "CREATE TABLE visits(id serial PRIMARY KEY, page text NOT NULL, at timestamptz); \
             INSERT INTO visits(page, at) SELECT 'page' || i % 7, now() + i * interval '1 min' \
             FROM generate_series(1, 700) i",
        )
        .expect("the table is made");
    bench
        .run(["data", "learn", "visits", "-d", &target])
        .exits(1)
        .says(&["visits has no statistics; run ANALYZE visits first"]);
    session.execute("ANALYZE visits").expect("statistics");
    let printed = bench.run(["data", "learn", "visits", "-d", &target]).exits(0);
    bench.run(["data", "learn", "--all", "-d", &target, "-o", "learnt.sql"]).exits(0);
    let file = std::fs::read_to_string(bench.path().join("learnt.sql")).expect("the file is there");
    assert_eq!(file, printed.stdout);
    let rows = bench.run(["data", "--schema", "learnt.sql", "--table", "visits"]).exits(0).stdout;
    let mut pages: Vec<&str> = rows.lines().filter_map(|row| row.split('\t').nth(1)).collect();
    assert_eq!(pages.len(), 700);
    pages.sort_unstable();
    pages.dedup();
    assert_eq!(pages.len(), 7, "{pages:?}");
    bench.run(["data", "learn", "vists", "-d", &target]).exits(1).says(&["did you mean visits?"]);
    bench.run(["data", "learn", "-d", &target]).exits(1).says(&["--all"]);
    let said = bench.run(["workload", "learn", "copy", "-d", &target]).exits(0).stderr;
    assert!(said.contains("wrote schema.sql to copy"), "{said}");
    let other = cluster.database("data_learn_copy");
    bench.run(["init", "--workload", "copy", &other]).exits(0);
    let rows = Cluster::session(&other).query("SELECT count(*) FROM visits").expect("the table is loaded");
    assert_eq!(rows[0].get(0), Some("700"));
}

#[test]
fn rows_do_not_replace_the_schema_that_they_are_made_of() {
    let bench = Bench::new();
    let schema = bench.file("own.sql", "CREATE TABLE t (id int PRIMARY KEY);\n");
    let refused = bench.run(["data", "--schema", schema, "-o", "./own.sql"]).exits(1);
    assert!(
        refused.stderr.contains("the rows are made of this file; name another one"),
        "{}",
        refused.stderr
    );
    let kept = std::fs::read_to_string(bench.path().join(schema)).expect("it is there");
    assert!(kept.starts_with("CREATE TABLE"), "{kept}");
}
