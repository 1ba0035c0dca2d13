//! COPY in scripts of `pgmeter bench`: rows of a file beside the script and generated ones, the figures of the report,
//! and the refusals. The drop-in refuses all of it, as pgbench does.

use testkit::cluster::Cluster;

use crate::harness::Bench;

const LOAD: &str = "\
\\set first 1000 * :client_id
COPY items (id, colour) FROM STDIN;
\\copy_rows 1000 (:first + :copy_row, random_element('red,green,blue'))
COPY colours FROM STDIN WITH (FORMAT csv, HEADER);
\\copy_file data/colours.csv
COPY (SELECT * FROM colours) TO STDOUT;
";

#[test]
fn rows_of_both_origins_are_loaded_and_reported() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("copy");
    let mut session = Cluster::session(&conninfo);
    session
        .execute(
            "create table items (id int primary key, colour text); create table colours (name text, n int)",
        )
        .expect("tables");
    std::fs::create_dir_all(bench.path().join("scripts/data")).expect("a directory");
    bench.file("scripts/load.sql", LOAD);
    bench.file("scripts/data/colours.csv", "name,n\n\"deep, red\",1\nblue,\n");
    let out =
        bench.run(["bench", "-c", "4", "-t", "1", "-M", "prepared", "-f", "scripts/load.sql", &conninfo]);
    let out = out.exits(0);
    let line = out.stdout.lines().find(|line| line.trim_start().starts_with("copied")).expect("a line");
    assert!(line.contains("rows") && line.contains("rows/s"), "{line}");
    let record = bench.record();
    let copied = record.summary.copied();
    let commands = &record.summary.scripts[0].commands;
    assert_eq!(commands[1].copied.map(|it| it.rows), Some(4000));
    assert_eq!(commands[2].copied.map(|it| (it.rows, it.bytes)), Some((8, 4 * 27)));
    assert!(commands[3].copied.is_some_and(|it| it.rows >= 8 && it.rows <= 32), "{:?}", commands[3]);
    assert_eq!(copied.rows, 4008 + commands[3].copied.map_or(0, |it| it.rows));
    let rows =
        session.query("select count(*), max(id) from items union all select count(*), count(n) from colours");
    let rows = rows.expect("rows");
    let found = |row: usize| (rows[row].get(0).map(str::to_owned), rows[row].get(1).map(str::to_owned));
    assert_eq!(found(0), (Some("4000".into()), Some("4000".into())));
    assert_eq!(found(1), (Some("8".into()), Some("4".into())));
}

#[test]
fn a_script_of_a_workload_finds_its_file() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("copy_workload");
    std::fs::create_dir_all(bench.path().join("shop/scripts")).expect("a directory");
    bench.file(
        "shop/workload.toml",
        "name = \"shop\"\nload = [\"tables.sql\"]\nscripts = [\"scripts/order.sql\"]\n",
    );
    bench.file("shop/tables.sql", "create table orders (id int, note text);\n");
    bench.file("shop/scripts/order.sql", "COPY orders FROM STDIN;\n\\copy_file orders.tsv\n");
    bench.file("shop/scripts/orders.tsv", "1\tone\n2\t\\N\n");
    bench.run(["init", "--workload", "shop", &conninfo]).exits(0);
    bench.run(["bench", "--workload", "shop", "-t", "3", &conninfo]).exits(0);
    assert_eq!(bench.record().summary.copied().rows, 6);
}

#[test]
fn a_copy_that_cannot_run_is_refused_in_a_sentence() {
    let bench = Bench::new();
    for (script, sentence) in [
        (
            "COPY t FROM STDIN;\n",
            "s.sql:1: COPY … FROM STDIN needs rows; write \\copy_rows NUMBER (VALUE, …) or \\copy_file NAME below it",
        ),
        ("COPY t FROM STDIN;\n\\copy_file none.tsv\n", "s.sql:2: cannot read "),
        (
            "COPY t FROM STDIN;\n\\copy_file /dev/zero\n",
            "s.sql:2: cannot read /dev/zero: it is not a regular file",
        ),
        ("SELECT 1;\n\\copy_rows 1 (1)\n", "s.sql:2: \\copy_rows must follow a COPY … FROM STDIN"),
    ] {
        bench.file("s.sql", script);
        bench.run(["bench", "-f", "s.sql", "host=/nowhere"]).exits(1).says(&[sentence]);
    }
}

#[test]
fn the_drop_in_refuses_copy_as_pgbench_does() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("copy_drop_in");
    Cluster::session(&conninfo).execute("create table t (a int)").expect("a table");
    for (script, sentence) in [
        ("COPY t FROM STDIN;\n\\copy_rows 1 (1)\n", "invalid command in command \"copy_rows\""),
        ("COPY t FROM STDIN;\n", "COPY is not supported in pgbench, aborting"),
        ("COPY t TO STDOUT;\n", "COPY is not supported in pgbench, aborting"),
    ] {
        bench.file("s.sql", script);
        let out = bench.run_pgbench(["-n", "-t", "1", "-f", "s.sql", &conninfo]);
        assert_ne!(out.status.code(), Some(0));
        out.says(&[sentence]);
    }
}
