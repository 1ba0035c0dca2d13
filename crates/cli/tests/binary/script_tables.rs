//! The tables and indexes that a script's statements use, its undefined variables, and the vacuum of tables that are not
//! there. Real servers of several versions.

use results::{Record, RelationKind};
use testkit::cluster::Cluster;

use crate::harness::{Bench, tables_of_pgbench};

/// Names of the tables with their kinds, and of their indexes.
fn tables(record: &Record) -> Vec<(String, RelationKind, Vec<String>)> {
    let relations = record.relations.as_ref().expect("they are known");
    let table = |table: &results::Relation| {
        let indexes = table.indexes.iter().map(|index| index.name.as_str().to_owned()).collect();
        (table.name.as_str().to_owned(), table.kind, indexes)
    };
    relations.tables.iter().map(table).collect()
}

const SCRIPT: &str = "\\set id random(1, 10)
BEGIN;
SELECT n FROM v WHERE id = :id AND n <> ':id';
UPDATE t SET n = 'x' WHERE id = :id;
SELECT count(*) FROM :named;
SELECT interval ':id days', * FROM pg_class LIMIT 1;
END;
";

#[test]
fn the_record_has_the_tables_of_the_statements_and_what_differs_names_a_new_index() {
    for version in Cluster::versions(["9.6", "13", "18"]) {
        let bench = Bench::new();
        let conninfo = Cluster::shared(version).database("script_tables");
        let mut session = Cluster::session(&conninfo);
        for sql in [
            "create schema s",
            "create table s.base (id int primary key, n text)",
            "create view v as select * from s.base",
            "create table t (id int, n text) with (fillfactor = 80)",
            "create table \"Other one\" (id int)",
            "create table never_used (id int)",
            "insert into t select g, g from generate_series(1, 1000) as g",
        ] {
            session.execute(sql).expect(sql);
        }
        let script = bench.file("mix.sql", SCRIPT);
        let flags = ["bench", "-t", "2", "-D", "named=\"Other one\"", "-f", script, &conninfo];
        let out = bench.run(flags).exits(0);
        assert!(!out.stderr.contains("warning: query failed"), "{}", out.stderr);
        let other = ("public.\"Other one\"".to_owned(), RelationKind::Table, Vec::new());
        let of_view = [
            ("public.v".to_owned(), RelationKind::View, Vec::new()),
            ("s.base".to_owned(), RelationKind::Table, vec!["s.base_pkey".to_owned()]),
        ];
        let t = |indexes| ("public.t".to_owned(), RelationKind::Table, indexes);
        let record = bench.record();
        let expected: Vec<_> = [other.clone(), t(Vec::new())].into_iter().chain(of_view.clone()).collect();
        assert_eq!(tables(&record), expected, "{version}");
        let relations = record.relations.expect("they are known");
        assert_eq!(relations.unknown, [], "{version}");
        assert_eq!(
            relations.tables[1].options.as_ref().map(results::SafeText::as_str),
            Some("fillfactor=80")
        );
        assert_eq!((relations.tables[1].rows, relations.tables[1].analyzed_at), (None, None));
        assert!(relations.tables[1].bytes.is_some_and(|bytes| bytes > 8_192));

        session.execute("create index t_by_id on t (id)").expect("an index");
        session.execute("analyze t").expect("statistics");
        // Up to version 14 another process keeps these figures, and gets them later.
        let since = std::time::Instant::now();
        let known = "select 1 from pg_stat_user_tables where relname = 't' and last_analyze is not null";
        while session.query(known).expect("the query is right").is_empty() {
            assert!(since.elapsed() < std::time::Duration::from_secs(120), "{version}: not analyzed");
            testkit::condition::pause();
        }
        bench.run(flags).exits(0);
        let compared = bench.run(["report", "1", "2"]).exits(0).stdout.replace("\n    ", " ");
        let index = "index public.t_by_id: none in run 1 and CREATE INDEX t_by_id ON public.t USING btree (id) in run 2";
        assert!(compared.contains(index), "{compared}");
        assert!(compared.contains("public.t analyzed: never in run 1 and yes in run 2"), "{compared}");
        let page = bench.run(["report", "2", "--format", "markdown"]).exits(0).stdout;
        assert!(page.contains("## Tables and indexes") && page.contains("s.base"), "{page}");
    }
}

#[test]
fn partitions_are_summed_up_and_statements_that_cannot_be_parsed_are_named() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("script_partitions");
    let mut session = Cluster::session(&conninfo);
    for sql in [
        "create table p (id int, n text) partition by range (id)",
        "create table p1 partition of p for values from (0) to (10)",
        "create table p2 partition of p for values from (10) to (20) partition by range (id)",
        "create table p21 partition of p2 for values from (10) to (20)",
        "insert into p select g from generate_series(0, 19) as g",
        "analyze p",
    ] {
        session.execute(sql).expect(sql);
    }
    let script = bench.file("p.sql", "SELECT count(*) FROM p;\nSELECT 1\\; SELECT 2;\n");
    bench.run(["bench", "-t", "1", "-f", script, &conninfo]).exits(0);
    let relations = bench.record().relations.expect("they are known");
    let [table] = &relations.tables[..] else { panic!("{relations:?}") };
    assert_eq!((table.kind, table.partitions, table.rows), (RelationKind::PartitionedTable, 3, Some(20)));
    let unknown: Vec<_> = relations.unknown.iter().map(|place| (place.script, place.line)).collect();
    assert_eq!(unknown, [(0, 2)]);
}

#[test]
fn finding_the_tables_neither_executes_statements_nor_waits_for_locks() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("script_locked");
    let mut session = Cluster::session(&conninfo);
    session.execute("create table t (id int)").expect("a table");
    let script = bench.file("never.sql", "\\if false\nDELETE FROM t;\nDROP TABLE t;\n\\endif\nSELECT 1;\n");
    session.execute("insert into t values (1)").expect("a row");
    bench.run(["bench", "-t", "1", "-f", script, &conninfo]).exits(0);
    assert_eq!(session.query("select count(*) from t").expect("it is there")[0].get(0), Some("1"));
    session.execute("begin; lock table t in access exclusive mode").expect("a lock");
    bench.run(["bench", "-n", "-t", "1", "-f", script, &conninfo]).exits(0);
}

#[test]
fn an_undefined_variable_is_named_before_the_run_and_the_drop_in_sends_it_as_pgbench_does() {
    let bench = Bench::new();
    let text =
        "\\set name 1\nSELECT '{\"a\":true}', 1::int, (ARRAY[1,2])[1:2];\nSELECT 1\n  WHERE 1 = :nme;\n";
    let script = bench.file("shop.sql", text);
    let out = bench.run(["bench", "-f", script, "host=/nowhere"]).exits(1);
    out.says(&[
        "shop.sql:4: undefined variable \":nme\"",
        "  WHERE 1 = :nme;\n            ^ error found here",
        "did you mean \":name\"?",
    ]);
    let conninfo = Cluster::shared("18").database("undefined_variable");
    bench.run(["bench", "-n", "-t", "1", "-D", "nme=1", "-f", script, &conninfo]).exits(0);
    let out = bench.run_pgbench(["-n", "-t", "1", "-f", script, &conninfo]).exits(2);
    assert!(out.stderr.contains("syntax error at or near \":\""), "{}", out.stderr);
}

/// The script stores its scale. Without `-s` it is that of the tables; the drop-in has 1, as pgbench.
#[test]
fn the_scale_of_a_users_script_is_that_of_the_tables() {
    let conninfo = tables_of_pgbench(Cluster::shared("18"), "script_scale", 3);
    let mut session = Cluster::session(&conninfo);
    session.execute("create table seen (scale int)").expect("a table");
    let text = "\\set n :scale * 10\nINSERT INTO seen VALUES (:n / 10);\n";
    let mut run = |text: &str, words: &[&str]| {
        let bench = Bench::new();
        let further = ["-t", "1", "-n", "-f", "scale.sql", conninfo.as_str()];
        let words = words.iter().chain(&further);
        bench.file("scale.sql", text);
        let out = bench.run(words).exits(0);
        let seen = session.query("delete from seen returning scale").expect("rows");
        let seen = seen.first().and_then(|row| row.get(0)).map(str::to_owned);
        (seen, bench.records().pop(), out.stderr)
    };
    let scale_of = |record: &Record| record.tables.scale.map(|scale| scale.to_string());
    let variable_of = |record: &Record| record.plan.variables.get("scale").cloned();
    for (words, scale) in [(&["bench"][..], "3"), (&["bench", "-s", "7"], "7")] {
        let (seen, record, _) = run(text, words);
        let record = record.expect("a record");
        assert_eq!(seen.as_deref(), Some(scale), "{words:?}");
        assert_eq!((scale_of(&record), variable_of(&record)), (Some(scale.to_owned()), seen), "{words:?}");
    }
    assert_eq!(run(text, &["bench", "-D", "scale=9"]).0.as_deref(), Some("9"));
    assert_eq!(run(text, &["pgbench"]).0.as_deref(), Some("1"));
    let (_, record, stderr) = run("INSERT INTO seen VALUES (0);\n", &["bench"]);
    let record = record.expect("a record");
    assert_eq!((scale_of(&record), variable_of(&record)), (None, None), "nobody looked at the tables");
    assert!(!stderr.contains(":scale"), "{stderr}");
    let mut other = Cluster::session(&conninfo);
    other.execute("drop table pgbench_accounts").expect("a table");
    let (seen, record, stderr) = run(text, &["bench"]);
    assert_eq!(seen.as_deref(), Some("1"));
    assert!(stderr.contains("warning: the scripts use :scale, which is 1 here"), "{stderr}");
    assert_eq!(scale_of(&record.expect("a record")), None);
}
