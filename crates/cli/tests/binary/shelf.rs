//! Each built-in workload of the shelf, as a user runs it: loaded, each of its scripts and queries executed, and
//! checked. What is special about one workload is tested in `workload`.

use results::{Record, RuleVerdict, SafeText, Status};
use testkit::cluster::Cluster;

use crate::harness::{Bench, finish};

/// The statements of a transaction in the originals, by script, with BEGIN and COMMIT.
const STATEMENTS_OF_SYSBENCH: [(&str, usize); 8] = [
    ("oltp_read_write", 20),
    ("oltp_read_only", 16),
    ("oltp_write_only", 6),
    ("oltp_point_select", 1),
    ("oltp_update_index", 1),
    ("oltp_update_non_index", 1),
    ("oltp_insert", 1),
    ("oltp_delete", 1),
];

/// Loads a workload at this scale on a server of this version, checks the data, and runs its mix and each script.
fn loads_runs_and_checks(major: &str, name: &str, scale: &str, scripts: &[&str]) -> Vec<Record> {
    let bench = Bench::new();
    let conninfo = Cluster::shared(major).database(&format!("shelf_{}", name.replace('-', "_")));
    bench.run(["init", "-q", "--workload", name, "--scale", scale, "--jobs", "2", &conninfo]).exits(0);
    bench.run(["check", "--workload", name, &conninfo]).exits(0);
    bench.run(["bench", "--workload", name, "-M", "prepared", "-c", "2", "-t", "5", &conninfo]).exits(0);
    for script in scripts {
        bench.run(["bench", "--workload", name, "-b", script, "-c", "2", "-t", "5", &conninfo]).exits(0);
    }
    let records = bench.records();
    assert_eq!(records.len(), 1 + scripts.len());
    for record in &records {
        let counts = &record.summary.counts;
        assert_eq!(
            (record.status.clone(), counts.succeeded, counts.failed),
            (Status::Complete, 10, 0),
            "{name}"
        );
    }
    records
}

#[test]
fn sysbench_oltp_has_the_statements_of_the_originals() {
    let scripts = STATEMENTS_OF_SYSBENCH.map(|(script, _)| script);
    for major in Cluster::versions(["18", "9.6"]) {
        let bench = Bench::new();
        let conninfo = Cluster::shared(major).database("shelf_sysbench");
        let workload = ["--workload", "sysbench-oltp"];
        let run = |words: &[&str]| {
            bench.run([&words[..1], &workload[..], &words[1..], &[&conninfo]].concat()).exits(0);
        };
        run(&["init", "-q", "--scale", "0.1", "--jobs", "2"]);
        run(&["check"]);
        // Its mix, and then all scripts.
        run(&["bench", "-M", "prepared", "-c", "2", "-t", "5"]);
        let all = scripts.iter().flat_map(|script| ["-b", script]);
        let load = ["bench", "-M", "prepared", "-c", "2", "-t", "50", "--random-seed", "1"];
        run(&load.into_iter().chain(all).collect::<Vec<_>>());
        let [mix, all] = &bench.records()[..] else { panic!("two runs") };
        for (record, succeeded) in [(mix, 10), (all, 100)] {
            let counts = &record.summary.counts;
            let found = (&record.status, counts.succeeded, counts.failed);
            assert_eq!(found, (&Status::Complete, succeeded, 0));
        }
        assert!(all.summary.scripts.iter().all(|script| script.counts.succeeded > 0), "each was executed");
        for (script, (name, statements)) in all.plan.scripts.iter().zip(STATEMENTS_OF_SYSBENCH) {
            assert_eq!((script.name.as_str(), script.text.matches(";\n").count()), (name, statements));
        }
    }
}

#[test]
fn scales_below_those_of_a_generator_are_refused_without_a_server() {
    let bench = Bench::new();
    for (name, scale, reason) in [
        ("sysbench-oltp", "0.01", "the smallest scale is 0.02"),
        ("jsonb", "0.0001", "the smallest scale is 0.001"),
        ("tpcds", "0.001", "the smallest scale is 0.01"),
        ("tpcc", "1.5", "the scale is the number of warehouses; use a whole number from 1"),
        ("tpcb2", "0.5", "the scale is the number of branches; use a whole number from 1 to 20000"),
    ] {
        let words = ["init", "--workload", name, "--scale", scale, "host=/nonexistent"];
        let sentence = format!("the workload {name} does not support scale {scale}: {reason}");
        bench.run(words).exits(1).says(&[&sentence]);
    }
}

/// Changes that violate all conditions of TPC-C, each of them in one warehouse.
const VIOLATIONS_OF_TPCC: [&str; 6] = [
    "update warehouse set w_ytd = w_ytd + 1",
    "update district set d_next_o_id = d_next_o_id + 1, d_ytd = d_ytd + 2 where d_id = 1",
    "delete from new_order where no_d_id = 2 and no_o_id = (select max(no_o_id) - 5 from new_order where no_d_id = 2)",
    "delete from order_line where ol_d_id = 3 and ol_o_id = 1 and ol_number = 1",
    "update order_line set ol_delivery_d = null where ol_d_id = 4 and ol_o_id = 1 and ol_number = 1",
    "update customer set c_balance = c_balance + 1 where c_d_id = 5 and c_id = 1",
];

#[test]
fn tpcb2_keeps_its_balances_and_most_accounts_are_of_the_branch_of_the_teller() {
    for major in Cluster::versions(["18", "9.6"]) {
        let bench = Bench::new();
        let conninfo = Cluster::shared(major).database("shelf_tpcb2");
        bench.run(["init", "-q", "--workload", "tpcb2", "--scale", "2", &conninfo]).exits(0);
        bench.run(["check", "--workload", "tpcb2", &conninfo]).exits(0);
        let words =
            ["bench", "--workload", "tpcb2", "-c", "4", "-t", "125", "-M", "prepared", "--random-seed", "1"];
        bench.run(words.into_iter().chain(["--check", conninfo.as_str()])).exits(0);
        let mut session = Cluster::session(&conninfo);
        let sizes = session.query(
            "select 12 + pg_column_size(b.filler), 16 + pg_column_size(t.filler), 16 + pg_column_size(a.filler), \
             28 + pg_column_size(h.filler) from tpcb2_branches b, tpcb2_tellers t, tpcb2_accounts a, tpcb2_history h limit 1",
        );
        let sizes: Vec<_> = (0..4).map(|column| sizes.as_ref().expect("rows")[0].get(column)).collect();
        assert_eq!(sizes, [Some("100"), Some("100"), Some("100"), Some("50")]);
        let own = "select count(*), count(*) filter (where (aid - 1) / 100000 + 1 = bid and (tid - 1) / 10 + 1 = bid) \
                   from tpcb2_history";
        let rows = session.query(own).expect("a query");
        let own: u32 = rows[0].get(1).and_then(|count| count.parse().ok()).expect("a number");
        assert_eq!(rows[0].get(0), Some("500"));
        assert!((400..=450).contains(&own), "about 85 % of 500, the same number each time: {own}");
        let violation = "update tpcb2_accounts set abalance = abalance + 1 where aid = 1; \
                         update tpcb2_tellers set tbalance = tbalance + 2 where tid = 1; \
                         update tpcb2_branches set bbalance = bbalance + 3 where bid = 1";
        session.execute(violation).expect("changes");
        let out = bench.run(["check", "--workload", "tpcb2", &conninfo]).exits(6);
        assert!(out.stderr.contains("5 checks of the workload tpcb2 failed"), "{}", out.stderr);
    }
}

/// The scripts of `objects` with the round trips of a transaction.
const ROUND_TRIPS_OF_OBJECTS: [(&str, f64); 15] = [
    ("post_columns", 1.0),
    ("post_row", 1.0),
    ("post_json", 1.0),
    ("invoice_queries", 2.0),
    ("invoice_join", 1.0),
    ("invoice_array", 1.0),
    ("invoice_json", 1.0),
    ("invoice_jsonb", 1.0),
    ("bank_queries", 3.0),
    ("bank_join", 1.0),
    ("bank_array", 1.0),
    ("bank_json", 1.0),
    ("bank_jsonb", 1.0),
    ("bank_nested", 1.0),
    ("bank_document", 1.0),
];

#[test]
fn objects_are_parsed_in_both_formats_and_damage_is_found() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("shelf_objects_parsed");
    bench.run(["init", "-q", "--workload", "objects", "--scale", "0.01", &conninfo]).exits(0);
    for format in ["text", "binary"] {
        let words = ["bench", "--workload", "objects", "-M", "prepared", "-t", "50", "--parse-results"];
        bench.run(words.into_iter().chain(["--result-format", format, conninfo.as_str()])).exits(0);
    }
    for record in bench.records() {
        assert_eq!((record.summary.counts.succeeded, record.plan.parse_results), (50, true));
        let of_scripts: Vec<f64> = record
            .summary
            .scripts
            .iter()
            .filter_map(|script| Some(script.traffic_per_transaction?.round_trips))
            .collect();
        assert!(of_scripts.iter().all(|round_trips| [1.0, 2.0, 3.0].contains(round_trips)), "{of_scripts:?}");
    }
    let mut session = Cluster::session(&conninfo);
    let violation = "update invoices set total = total + 1 where id = 1; \
                     update accounts set balance = balance + 1 where bank_id = 2 and position = 1";
    session.execute(violation).expect("changes");
    let out = bench.run(["check", "--workload", "objects", &conninfo]).exits(6);
    assert!(out.stderr.contains("4 checks of the workload objects failed"), "{}", out.stderr);
}

#[test]
fn events_say_what_is_wrong_with_a_parameter() {
    let bench = Bench::new();
    let wrong = [
        ("18", "partitions=0", "the parameter partitions is 0, and must be from 1 to 10000"),
        ("18", "inheritance=2", "the parameter inheritance is 2, and must be 0 or 1"),
        ("9.6", "partitions=3", "has no declarative partitions: add -D inheritance=1"),
    ];
    for (major, parameter, says) in Cluster::cases(wrong, |case| case.0) {
        let conninfo = Cluster::shared(major).database("shelf_events_wrong");
        bench.run(["init", "-q", "--workload", "events", "-D", parameter, &conninfo]).exits(1).says(&[says]);
    }
    let conninfo = Cluster::shared("18").database("shelf_events_wrong");
    let init = ["init", "-q", "--workload", "events", "--scale", "0.01", "-D", "partitions=5", &conninfo];
    bench.run(init).exits(0);
    let out = bench.run(["check", "--workload", "events", &conninfo]).exits(6);
    assert!(
        out.stderr.contains("events has 5 partitions; load it again, or give -D partitions=5"),
        "{}",
        out.stderr
    );
}

#[test]
fn a_run_of_tpcb2_is_judged_by_the_rules_of_its_standard() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("shelf_rules");
    bench.run(["init", "-q", "--workload", "tpcb2", "--scale", "2", &conninfo]).exits(0);
    let words =
        ["bench", "--workload", "tpcb2", "-c", "2", "-t", "100", "-M", "prepared", "--random-seed", "1"];
    let run =
        |more: &[&str]| bench.run(words.iter().chain(more).copied().chain([conninfo.as_str()])).exits(0);
    let verdicts = |record: &Record| -> Vec<RuleVerdict> {
        assert_eq!(record.plan.standard.as_ref().map(SafeText::as_str), Some("TPC-B 2.0"));
        record.summary.rules.iter().map(|result| result.verdict).collect()
    };
    use RuleVerdict::{Broken, Kept, NotChecked, NotMeasured};
    // Clusters of tests have no durability, and the run is too short for a steady state.
    run(&[]);
    let unchecked =
        [NotChecked, NotChecked, Broken, NotChecked, Broken, NotChecked, Kept, NotMeasured, Broken];
    assert_eq!(verdicts(&bench.record()), unchecked);
    let out = run(&["--check"]);
    let checked = [Kept, Kept, Broken, Kept, Broken, Kept, Kept, NotMeasured, Broken];
    assert_eq!(verdicts(&bench.records()[1]), checked);
    let text = out.stdout.replace('\u{a0}', " ");
    assert!(text.contains("5 of 9 rules of TPC-B 2.0 were kept, 3 were broken, 1 was not judged."), "{text}");
    for format in ["html", "markdown"] {
        let page = bench.run(["report", "last", "--format", format]).exits(0).stdout;
        assert!(page.contains("Rules of TPC-B 2.0"), "{format}");
    }
    // A script of the user is another load.
    bench.file("own.sql", "SELECT 1;\n");
    run(&["-f", "own.sql"]);
    let other = &bench.records()[2];
    assert_eq!((&other.plan.standard, other.summary.rules.len()), (&None, 0));

    let mut session = Cluster::session(&conninfo);
    session.execute("update tpcb2_history set aid = 1, bid = 1, tid = 1").expect("a change");
    let out = bench.run(words.into_iter().chain(["--check", conninfo.as_str()])).exits(6);
    let broken = [Kept, Broken, Broken, Kept, Broken, Broken, Kept, NotMeasured, Broken];
    assert_eq!(verdicts(&bench.records()[3]), broken, "{}", out.stdout);
}

#[test]
fn fulltext_refuses_numbers_of_queries_and_scales_without_rows() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("shelf_fulltext_refused");
    let run = |words: &[&str]| bench.run(words.iter().chain(&[conninfo.as_str()]).copied());
    run(&["init", "-q", "--workload", "fulltext", "--scale", "0.001"])
        .exits(1)
        .says(&["a unit of scale has 10,000 messages"]);
    run(&["init", "-q", "--workload", "fulltext", "--scale", "0.01"]).exits(0);
    for queries in ["0", "33001", "all"] {
        run(&["queries", "--workload", "fulltext", "-D", &format!("queries={queries}")])
            .exits(1)
            .says(&[&format!("queries is a number from 1 to 33000, not \"{queries}\"")]);
    }
}

/// At the smallest scale it has 2.7 million rows, which are loaded each night.
#[test]
fn tpcds_has_tables_and_refuses_what_it_cannot_load_or_query() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("shelf_tpcds_refused");
    let schema = include_str!("../../../workload/src/shelf/tpcds/schema.sql");
    Cluster::session(&conninfo).execute(schema).expect("the tables can be made");
    // Nothing is unpacked into this cache.
    let run = |arguments: &[&str]| {
        let mut command = bench.command(arguments);
        finish(command.env("PGMETER_CACHE_DIR", bench.path().join("own-cache")))
    };
    let listed = run(&["workload", "list"]).exits(0).stdout;
    let line = listed.lines().find(|line| line.starts_with("tpcds ")).expect("its line");
    assert!(line.contains(" no "), "{line}");
    let shown = run(&["workload", "show", "tpcds"]).exits(0).stdout;
    assert!(shown.contains("duckdb: duckdb-2.0.0.tar.gz, not unpacked"), "{shown}");
    run(&["init", "-q", "--workload", "tpcds", "--scale", "0.001", &conninfo])
        .exits(1)
        .says(&["the workload tpcds does not support scale 0.001: the smallest scale is 0.01"]);
    run(&["init", "-q", "--workload", "tpcds", "--scale", "0.01", "--random-seed", "1", &conninfo])
        .exits(1)
        .says(&["does not support --random-seed: its rows depend on the scale alone"]);
    run(&["queries", "--workload", "tpcds", &conninfo]).exits(1).says(&[
        "duckdb-2.0.0.tar.gz is not unpacked (SHA-256 09de511ef0dc76a5213e8d3d87a8b89bb4d3e8a6fe73a9f60dc001269946b44f)",
        "run `pgmeter workload prepare tpcds`",
    ]);
    // A file of another content is refused, and nothing is downloaded in its place.
    std::fs::write(bench.path().join("duckdb-2.0.0.tar.gz"), "other").expect("a file");
    run(&["workload", "prepare", "tpcds"]).exits(1).says(&["nothing was unpacked"]);
}

#[test]
fn workloads_of_which_more_is_tried_each_night_load_run_and_pass_their_checks() {
    // Those of queries have no scripts.
    let sizes = [
        ("events", "0.01", true),
        ("fulltext", "0.01", false),
        ("jsonb", "0.01", false),
        ("matview", "0.01", true),
    ];
    for (name, scale, has_scripts) in sizes {
        let bench = Bench::new();
        let conninfo = Cluster::shared("18").database(&format!("shelf_small_{name}"));
        bench.run(["init", "-q", "--workload", name, "--scale", scale, &conninfo]).exits(0);
        bench.run(["check", "--workload", name, &conninfo]).exits(0);
        if has_scripts {
            bench.run(["bench", "--workload", name, "-c", "2", "-t", "5", &conninfo]).exits(0);
        }
    }
}

mod nightly {
    use super::*;

    #[test]
    fn tpcds_loads_and_checks() {
        let bench = Bench::new();
        let conninfo = Cluster::shared("18").database("shelf_tpcds");
        for indexes in ["keys", "schema"] {
            let words =
                ["init", "-q", "--workload", "tpcds", "--scale", "0.01", "--jobs", "2", "--indexes", indexes];
            bench.run([&words[..], &[&*conninfo]].concat()).exits(0);
        }
        bench.run(["check", "--workload", "tpcds", &conninfo]).exits(0);
        bench.run(["bench", "--workload", "tpcds", "-t", "5", &conninfo]).exits(0);
    }

    #[test]
    fn tpcc_is_consistent_after_a_run_with_statements_and_with_functions() {
        for (major, indexes, ways) in [
            ("18", "foreign_keys", [("simple", "0"), ("prepared", "1")]),
            ("9.6", "schema", [("extended", "0"), ("prepared", "0")]),
        ] {
            let bench = Bench::new();
            let conninfo = Cluster::shared(major).database("shelf_tpcc");
            let init = ["init", "-q", "--workload", "tpcc", "--indexes", indexes, "--jobs", "2"];
            bench.run(init.into_iter().chain([conninfo.as_str()])).exits(0);
            bench.run(["check", "--workload", "tpcc", &conninfo]).exits(0);
            for (protocol, functions) in ways {
                let functions = format!("functions={functions}");
                let words = ["bench", "--workload", "tpcc", "-c", "4", "-t", "50", "-M", protocol, "-D"];
                bench.run(words.into_iter().chain([functions.as_str(), "--check", &conninfo])).exits(0);
            }
            for Record { status, summary, plan, .. } in bench.records() {
                assert_eq!(
                    (status, summary.counts.succeeded, summary.counts.failed),
                    (Status::Complete, 200, 0)
                );
                let weights: Vec<u32> = plan.scripts.iter().map(|script| script.weight).collect();
                assert_eq!(weights, [45, 43, 4, 4, 4]);
                let per_minute = plan.per_minute.expect("a script that is counted");
                assert_eq!((per_minute.script.as_str(), plan.notice.is_some()), ("new_order", true));
            }
            let mut session = Cluster::session(&conninfo);
            for violation in VIOLATIONS_OF_TPCC {
                session.execute(violation).expect("a change");
            }
            let out = bench.run(["check", "--workload", "tpcc", &conninfo]).exits(6);
            assert!(out.stderr.contains("12 checks of the workload tpcc failed"), "{}", out.stderr);
        }
    }

    #[test]
    fn objects_are_fetched_in_as_many_round_trips_as_the_manual_says() {
        let scripts = ROUND_TRIPS_OF_OBJECTS.map(|(script, _)| script);
        for major in Cluster::versions(["18", "9.6"]) {
            let records = loads_runs_and_checks(major, "objects", "1", &scripts);
            let exchange = |name: &str| {
                let record = records
                    .iter()
                    .find(|record| record.plan.scripts[0].name == name && record.plan.scripts.len() == 1);
                record.expect("its run").summary.traffic_per_transaction.expect("an exchange")
            };
            for (script, round_trips) in ROUND_TRIPS_OF_OBJECTS {
                let exchange = exchange(script);
                assert_eq!(exchange.round_trips, round_trips, "{script}");
                assert!(
                    exchange.sent_bytes > 30.0 && exchange.received_bytes > 100.0,
                    "{script}: {exchange:?}"
                );
            }
            let received = |name| exchange(name).received_bytes;
            assert!(received("bank_join") > 1.5 * received("bank_queries"), "a join repeats the parents");
        }
    }

    #[test]
    fn fulltext_has_its_index_sets_and_finds_the_expected_messages() {
        for (major, indexes) in
            [("18", "gin"), ("18", "gist_present"), ("9.6", "gin_present"), ("9.6", "schema")]
        {
            let bench = Bench::new();
            let conninfo = Cluster::shared(major).database(&format!("shelf_fulltext_{indexes}"));
            let init = ["init", "-q", "--workload", "fulltext", "--scale", "0.02", "--indexes", indexes];
            let seed = ["--random-seed", "7", conninfo.as_str()];
            bench.run(init.into_iter().chain(seed)).exits(0);
            bench.run(["check", "--workload", "fulltext", &conninfo]).exits(0);
            let mut session = Cluster::session(&conninfo);
            let method = indexes.split('_').next().unwrap_or_default();
            let rows = session.query(
                "select pg_get_indexdef(indexrelid) from pg_index where indrelid = 'messages'::regclass",
            );
            let found = rows
                .expect("indexes")
                .iter()
                .any(|row| row.get(0).is_some_and(|sql| sql.contains(&format!("USING {method} "))));
            assert_eq!(found, method != "schema", "{indexes}");
            if method != "gin" {
                continue;
            }
            let queries = ["queries", "--workload", "fulltext", "-D", "queries=210", "--answers", &conninfo];
            let out = bench.run(queries).exits(0);
            assert!(out.stdout.contains("210 of 210 equal to the expected ones"), "{}", out.stdout);
            // Most messages lose their words.
            let change =
                "alter table messages disable trigger user; update messages set body_tsv = '' where id > 10";
            session.execute(change).expect("a change");
            bench.run(["check", "--workload", "fulltext", &conninfo]).exits(6).says(&[
                "2 checks of the workload fulltext failed",
                "lexemes: ",
                "190 messages have no tsvector",
            ]);
            bench.run(queries).exits(6).says(&["more queries differ"]);
        }
    }

    #[test]
    fn matview_is_sound_before_and_after_its_refresh() {
        for major in Cluster::versions(["18", "9.6"]) {
            loads_runs_and_checks(major, "matview", "1", &["count_rows", "one_customer", "change_orders"]);
            let bench = Bench::new();
            let conninfo = Cluster::shared(major).database("shelf_matview_refreshed");
            bench.run(["init", "-q", "--workload", "matview", "--scale", "0.1", &conninfo]).exits(0);
            let refresh = "1s:sql=REFRESH MATERIALIZED VIEW CONCURRENTLY mv_sales";
            let words =
                ["bench", "--workload", "matview", "-b", "change_orders", "-c", "2", "-T", "6", "--check"];
            bench.run(words.into_iter().chain(["--action", refresh, &conninfo])).exits(0);
            let [refreshed] = &bench.record().summary.actions[..] else { panic!("one action") };
            // Not the dead rows, which autovacuum may have removed already.
            let deleted = |tables: &Option<results::TablesAt>| {
                let view = tables.as_ref()?.table(&"public.mv_sales".into())?.deleted_rows;
                view.filter(|rows| *rows > 0)
            };
            assert_eq!(refreshed.outcome, results::ActionOutcome::Succeeded, "{major}");
            assert!(
                deleted(&refreshed.before).is_none() && deleted(&refreshed.after).is_some(),
                "{major}: {refreshed:?}"
            );
            // A row that the orders do not have is found.
            let mut session = Cluster::session(&conninfo);
            session.execute("delete from mv_orders where customer = 1").expect("a change");
            let out = bench.run(["check", "--workload", "matview", &conninfo]).exits(6);
            assert!(out.stderr.contains("groups"), "{}", out.stderr);
        }
    }

    #[test]
    fn events_are_in_their_partitions_however_they_are_inserted() {
        let scripts = [
            "insert_parent",
            "insert_child",
            "insert_spread",
            "insert_parent_rows",
            "insert_child_rows",
            "select_day",
            "select_all_days",
        ];
        loads_runs_and_checks("18", "events", "1", &scripts);
        for (major, inheritance, partitions) in [("18", "0", "1"), ("18", "1", "12"), ("9.6", "1", "12")] {
            let bench = Bench::new();
            let conninfo =
                Cluster::shared(major).database(&format!("shelf_events_{inheritance}_{partitions}"));
            let parameters = [
                format!("inheritance={inheritance}"),
                format!("partitions={partitions}"),
                "rows=7".to_owned(),
            ];
            let parameters: Vec<&str> =
                parameters.iter().flat_map(|parameter| ["-D", parameter.as_str()]).collect();
            let run = |words: &[&str]| {
                bench.run(
                    [&words[..1], &["--workload", "events"], &parameters, &words[1..], &[&conninfo]].concat(),
                )
            };
            run(&["init", "-q", "--scale", "0.01"]).exits(0);
            for script in scripts {
                run(&["bench", "-b", script, "-M", "prepared", "-c", "2", "-t", "5", "--check"]).exits(0);
            }
            let rows = Cluster::session(&conninfo).query("select count(*) from events").expect("a query");
            // 1,000 rows, and 10 executions of each INSERT.
            assert_eq!(rows[0].get(0), Some("1170"), "{major} {inheritance}");
        }
    }

    #[test]
    fn jsonb_answers_the_same_on_all_index_sets_and_versions() {
        let mut answers: Option<Vec<String>> = None;
        for (major, indexes) in [("18", "gin"), ("18", "gin_path"), ("9.6", "btree"), ("9.6", "schema")] {
            let bench = Bench::new();
            let conninfo = Cluster::shared(major).database(&format!("shelf_jsonb_{indexes}"));
            let init =
                ["init", "-q", "--workload", "jsonb", "--scale", "0.1", "--indexes", indexes, &conninfo];
            bench.run(init).exits(0);
            bench.run(["check", "--workload", "jsonb", &conninfo]).exits(0);
            let out =
                bench.run(["queries", "--workload", "jsonb", "--repeat", "1", "--format", "json", &conninfo]);
            let report: serde_json::Value = serde_json::from_str(&out.exits(0).stdout).expect("JSON");
            let queries = report["queries"].as_array().expect("queries");
            let found: Vec<String> = queries
                .iter()
                .map(|query| format!("{} {} {}", query["query"], query["rows"], query["checksum"]))
                .collect();
            assert_eq!(found.len(), 10);
            assert_eq!(answers.get_or_insert(found.clone()), &found, "{major} {indexes}");
            let rows = |name: &str| {
                queries.iter().find(|query| query["query"] == name).map(|query| query["rows"].clone())
            };
            assert_eq!(rows("rating_by_title_length"), Some(6.into()));
            assert_ne!(rows("contains_category"), Some(0.into()));
        }
    }
}
