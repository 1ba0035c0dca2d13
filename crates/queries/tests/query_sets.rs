//! Query sets against real servers: answers of all versions, limits, failures, streams, plans, interruption. The workload
//! is one of this test, whose tables are made by SQL.

#[path = "query_sets/bench.rs"]
mod bench;
#[path = "query_sets/disk.rs"]
mod disk;
#[path = "query_sets/regress.rs"]
mod regress;

use std::time::Duration;
use testkit::cluster::Cluster;

use bench::{Bench, Small, fails, queries};
use pgmeter_queries::{QueryPhase, QuerySetSpec, answer};
use results::{AnswerCheck, Status};
use run::ExitStatus;
use workload::{Answer, Query};

#[test]
fn each_query_is_timed_and_its_answer_is_the_same_on_the_oldest_and_the_newest_server() {
    let spec = QuerySetSpec { repeats: 2, ..QuerySetSpec::default() };
    let answers: Vec<Vec<_>> = ["9.6", "18"]
        .map(|version| {
            let bench = Bench::new(version, "answers");
            let measured = bench.run(Small::new(queries()), &spec);
            assert_eq!(measured.status, ExitStatus::Success, "{:?}", measured.problems);
            let record = measured.record;
            assert_eq!(record.status, Status::Complete);
            assert_eq!(record.streams[0].order, ["floats", "texts", "view", "empty"]);
            for step in &record.steps {
                let repeats: Vec<_> = step.times.iter().map(|time| time.repeat).collect();
                assert_eq!(repeats, [Some(1), Some(2)], "{}", step.name);
                let time = &step.times[0];
                assert!(time.error.is_none() && time.measured_us > 0 && time.stream == Some(0), "{time:?}");
                assert!(time.buffers.hit.is_some() && time.temp_bytes.is_some() && time.wal_bytes.is_some());
            }
            let answer = |step: &results::StepResult| (step.times[0].rows, step.times[0].checksum.clone());
            record.steps.iter().map(answer).collect()
        })
        .into();
    assert_eq!(answers[0], answers[1]);
    assert_eq!(
        answers[0].iter().map(|(rows, _)| *rows).collect::<Vec<_>>(),
        [Some(3), Some(4), Some(1), Some(0)]
    );
}

/// Constants of queries are read, and answers written, under the same settings on all servers.
#[test]
fn settings_of_the_database_change_no_answer() {
    let query = Query::new(
        "constants",
        r"select '01/02/2020'::date, timestamptz '2020-06-01 12:00', date '2020-01-31' + interval '-1 1:00',
          1.5::numeric::money, '\x00ff'::bytea, 1 / 3.0::float8, extract(hour from timestamptz '2020-06-01 12:00+02')",
    );
    let odd = [
        "TimeZone to 'Asia/Kolkata'",
        "DateStyle to 'SQL, DMY'",
        "IntervalStyle to 'sql_standard'",
        "bytea_output to 'escape'",
        "extra_float_digits to -10",
        "client_encoding to 'LATIN1'",
    ];
    for version in Cluster::versions(["9.6", "18"]) {
        let bench = Bench::new(version, "odd_settings");
        let mut sums = Vec::new();
        for settings in [&[][..], &odd[..]] {
            for setting in settings {
                let sql = format!(
                    "do $$ begin execute format('alter database %I set ', current_database()) || \
                     $set$ {setting} $set$; end $$"
                );
                bench.session().execute(&sql).expect("a setting");
            }
            let measured = bench.run(Small::new(vec![query.clone()]), &QuerySetSpec::default());
            assert_eq!(measured.status, ExitStatus::Success, "{:?}", measured.problems);
            sums.push(measured.record.steps[0].times[0].checksum.clone());
        }
        assert!(sums[0].is_some() && sums[0] == sums[1], "{version}: {sums:?}");
    }
}

#[test]
fn the_order_of_rows_does_not_matter_and_their_values_do() {
    let bench = Bench::new("18", "order");
    let mut session = bench.session();
    let mut sum = |sql: &str| answer(&mut session, sql).expect("rows").to_string();
    let up = sum("select n, n::text || 'x' from generate_series(1, 1000) n order by n");
    assert_eq!(up, sum("select n, n::text || 'x' from generate_series(1, 1000) n order by n desc"));
    assert_ne!(up, sum("select n, n::text || 'y' from generate_series(1, 1000) n"));
    assert_eq!(sum("select 1.50::numeric"), sum("select 1.5::numeric"));
    assert_ne!(sum("select null"), sum("select ''"));
}

#[test]
fn a_query_beyond_its_limit_is_a_censored_measurement_and_the_next_query_runs() {
    let set = vec![
        Query::new("slow", "select pg_sleep(600)"),
        Query {
            before: vec!["create view v as select 1".to_owned()],
            after: vec!["drop view v".to_owned()],
            ..Query::new("slow with a view", "select pg_sleep(600) from v")
        },
        Query::new("fast", "select 1"),
    ];
    let spec = QuerySetSpec { limit: Some(Duration::from_millis(300)), ..QuerySetSpec::default() };
    let bench = Bench::new("18", "limit");
    let measured = bench.run(Small::new(set), &spec);
    assert_eq!(measured.status, ExitStatus::Success, "{:?}", measured.problems);
    let [slow, view, fast] = measured.record.steps.as_slice() else { panic!("three queries") };
    for step in [slow, view] {
        let time = &step.times[0];
        assert!(time.limited && time.duration_us == 300_000 && time.measured_us >= 300_000, "{time:?}");
        assert_eq!((time.rows, &time.error), (None, &None));
    }
    assert!(!fast.times[0].limited && fast.times[0].rows == Some(1));
    let left = bench.session().query("select from pg_views where viewname = 'v'").expect("a catalog");
    assert!(left.is_empty(), "statements after a query are executed also if it was cancelled");
}

#[test]
fn a_query_that_fails_is_recorded_and_the_others_run() {
    let set = vec![Query::new("good", "select 1"), fails("bad"), Query::new("good too", "select 2")];
    let measured = Bench::new("18", "failure").run(Small::new(set), &QuerySetSpec::default());
    assert_eq!(measured.status, ExitStatus::Incomplete);
    assert_eq!(measured.problems, ["1 of 3 queries failed: bad"]);
    let [good, bad, too] = measured.record.steps.as_slice() else { panic!("three queries") };
    let error = bad.times[0].error.as_ref().map(|error| error.as_str().to_owned());
    assert!(error.is_some_and(|error| error.contains("division by zero")));
    assert_eq!((good.times[0].rows, too.times[0].rows), (Some(1), Some(1)));
}

#[test]
fn a_transaction_that_a_query_leaves_open_is_an_error_and_rolled_back() {
    let insert = "insert into numbers values (7, 7)".to_owned();
    let set = vec![
        Query { before: vec!["begin".to_owned(), insert], ..Query::new("open", "select 1") },
        Query::new("count", "select n from numbers where n = 7"),
    ];
    let measured = Bench::new("18", "open").run(Small::new(set), &QuerySetSpec::default());
    assert_eq!(measured.status, ExitStatus::Incomplete);
    let [open, count] = measured.record.steps.as_slice() else { panic!("two queries") };
    let error = open.times[0].error.as_ref().map(|error| error.as_str().to_owned()).expect("an error");
    assert!(error.contains("leave a transaction open"), "{error}");
    assert_eq!((count.times[0].rows, &count.times[0].error), (Some(0), &None));
}

#[test]
fn settings_of_a_query_do_not_reach_the_next_execution() {
    let sets = |before: &str| Query {
        before: vec![before.to_owned()],
        ..Query::new("sets", "select current_setting('work_mem'), current_setting('TimeZone')")
    };
    let set = vec![
        Query { name: "reads".to_owned(), before: Vec::new(), ..sets("") },
        sets("set work_mem = '77MB'; set TimeZone = 'Europe/Paris'"),
        Query { name: "reads again".to_owned(), before: Vec::new(), ..sets("") },
    ];
    let spec = QuerySetSpec { repeats: 2, plans: true, ..QuerySetSpec::default() };
    let record = Bench::new("18", "settings").run(Small::new(set), &spec).record;
    let answers = |step: usize| -> Vec<&str> {
        record.steps[step].times.iter().filter_map(|time| time.checksum.as_deref()).collect()
    };
    let [reads, sets, again] = [answers(0), answers(1), answers(2)];
    assert_eq!((reads.len(), sets.len()), (2, 2));
    assert!(reads.iter().chain(&again).all(|answer| *answer == reads[0]), "{reads:?} {again:?}");
    assert!(sets.iter().all(|answer| *answer == sets[0] && *answer != reads[0]), "{sets:?}");
}

#[test]
fn a_query_that_loses_its_connection_does_not_stop_the_others() {
    let set = vec![
        Query::new("end", "select pg_terminate_backend(pg_backend_pid())"),
        Query::new("good", "select 1"),
    ];
    let measured = Bench::new("18", "lost").run(Small::new(set), &QuerySetSpec::default());
    assert_eq!(measured.problems, ["1 of 2 queries failed: end"]);
    assert_eq!(measured.record.steps[1].times[0].rows, Some(1));
}

#[test]
fn answers_are_compared_with_the_expected_ones() {
    let bench = Bench::new("18", "expected");
    let expected = bench.run(Small::new(queries()), &QuerySetSpec::default()).record;
    let mut workload = Small::new(queries());
    workload.expect(&expected.steps[0]);
    workload.expect(&expected.steps[1]);
    workload.answers[1].checksum = Some("0".repeat(32).into());
    let spec = QuerySetSpec { answers: true, ..QuerySetSpec::default() };
    let measured = bench.run(workload, &spec);
    assert_eq!(measured.status, ExitStatus::Differs);
    assert_eq!(
        measured.problems,
        ["the answer of texts differs: 4 rows, expected 4 rows with another checksum"]
    );
    let checks: Vec<_> = measured.record.steps.iter().map(|step| step.answer.clone()).collect();
    assert_eq!(checks[0], Some(AnswerCheck::Equal));
    assert!(matches!(checks[1], Some(AnswerCheck::Different { expected_rows: 4, .. })));
    assert_eq!(checks[2..], [Some(AnswerCheck::Unknown), Some(AnswerCheck::Unknown)]);
}

#[test]
fn of_queries_with_ties_only_the_number_of_rows_is_an_answer() {
    let ties = |name: &str| Query {
        has_ties: true,
        ..Query::new(name, "select n from numbers order by 0 * n limit 3")
    };
    let mut workload = Small::new(vec![ties("three"), ties("four")]);
    for (query, rows) in [("three", 3), ("four", 4)] {
        workload.answers.push(Answer { query: query.into(), rows, checksum: None });
    }
    let spec = QuerySetSpec { answers: true, repeats: 2, ..QuerySetSpec::default() };
    let measured = Bench::new("18", "ties").run(workload, &spec);
    assert_eq!(measured.problems, ["the answer of four differs: 3 rows, expected 4"]);
    let steps = &measured.record.steps;
    assert!(
        steps.iter().flat_map(|step| &step.times).all(|time| time.rows == Some(3) && time.checksum.is_none())
    );
    let different = AnswerCheck::Different { expected_rows: 4, expected_checksum: None };
    assert_eq!([&steps[0].answer, &steps[1].answer], [&Some(AnswerCheck::Equal), &Some(different)]);
}

#[test]
fn different_answers_of_one_query_are_noted() {
    let set = vec![Query::new("sequence", "select nextval('counter')")];
    let spec = QuerySetSpec { repeats: 2, ..QuerySetSpec::default() };
    let measured = Bench::new("18", "several").run(Small::new(set), &spec);
    let note = "executions of sequence with the same parameters had different answers";
    assert!(measured.record.notes.iter().any(|found| found.as_str() == note), "{:?}", measured.record.notes);
    assert_eq!(measured.problems, [note]);
}

#[test]
fn streams_run_all_queries_in_orders_of_their_own_beside_the_refresh_functions() {
    let spec = QuerySetSpec { streams: 3, seed: Some(7), refresh: true, ..QuerySetSpec::default() };
    let bench = Bench::new("18", "streams");
    let measured = bench.run(Small::new(queries()), &spec);
    assert_eq!(measured.status, ExitStatus::Success, "{:?}", measured.problems);
    let record = measured.record;
    let streams: Vec<_> = record.streams.iter().map(|stream| stream.stream).collect();
    assert_eq!(streams, [Some(0), Some(1), Some(2), None]);
    assert_eq!(record.streams[3].order, ["rf1", "rf2", "rf1", "rf2", "rf1", "rf2"]);
    let again = bench.run(Small::new(queries()), &spec).record;
    let orders = |record: &results::StepsRecord| -> Vec<Vec<String>> {
        record.streams.iter().map(|stream| stream.order.clone()).collect()
    };
    assert_eq!(orders(&record), orders(&again), "the seed repeats the order");
    for step in &record.steps[..4] {
        let mut streams: Vec<_> = step.times.iter().map(|time| time.stream).collect();
        streams.sort_unstable();
        assert_eq!(streams, [Some(0), Some(1), Some(2)], "{}", step.name);
        assert!(step.times.iter().all(|time| time.wal_bytes.is_none() && time.buffers.hit.is_none()));
    }
    let is_told = |note: &results::SafeText| {
        let note = note.as_str();
        note.starts_with("not available: WAL, blocks,") && note.contains("for all streams together")
    };
    assert!(record.notes.iter().any(is_told), "{:?}", record.notes);
    let [rf1, rf2] = &record.steps[4..] else { panic!("two refresh functions") };
    for step in [rf1, rf2] {
        let times: Vec<_> = step.times.iter().map(|time| (time.stream, time.repeat, time.rows)).collect();
        assert_eq!(times, [1, 2, 3].map(|pair| (None, Some(pair), None)), "{}", step.name);
    }
}

#[test]
fn one_stream_runs_between_the_refresh_functions() {
    let spec = QuerySetSpec {
        refresh: true,
        select: vec!["f".to_owned(), "view".to_owned()],
        ..QuerySetSpec::default()
    };
    let bench = Bench::new("18", "power");
    let record = bench.run(Small::new(queries()), &spec).record;
    assert_eq!(record.streams.len(), 1);
    assert_eq!(record.streams[0].order, ["rf1", "floats", "view", "rf2"]);
    let names: Vec<_> = record.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["floats", "view", "rf1", "rf2"]);
    let left = bench.session().query("select count(*) from fresh").expect("a table");
    assert_eq!(left[0].get(0), Some("0"), "the second function removes the rows of the first");
}

#[test]
fn answers_are_not_compared_while_refresh_functions_change_the_tables() {
    let spec = QuerySetSpec { refresh: true, answers: true, ..QuerySetSpec::default() };
    let refusal = spec.check(&Small::new(queries())).expect_err("both").to_string();
    assert_eq!(
        refusal,
        "while the refresh functions run, answers differ from the expected ones: leave out --answers or --refresh"
    );
}

#[test]
fn plans_are_kept_of_an_execution_of_their_own() {
    let mut set = queries();
    set.push(Query::new("slow", "select pg_sleep(600)"));
    set.push(Query::new("no plan", "show work_mem"));
    let spec =
        QuerySetSpec { plans: true, limit: Some(Duration::from_millis(300)), ..QuerySetSpec::default() };
    let record = Bench::new("18", "plans").run(Small::new(set), &spec).record;
    let plan = |query: usize| record.steps[query].plan.as_ref().map(|plan| plan.as_str());
    assert!(plan(2).is_some_and(|plan| plan.contains("\"Actual Rows\"") && plan.starts_with('[')));
    assert!(plan(4).is_some_and(|plan| plan.contains("\"Node Type\"") && !plan.contains("\"Actual Rows\"")));
    assert_eq!(plan(5), None);
    for start in ["plan of slow: cancelled at the limit", "plan of no plan: "] {
        assert!(record.notes.iter().any(|note| note.as_str().starts_with(start)), "{:?}", record.notes);
    }
}

#[test]
fn an_interruption_cancels_the_running_queries_and_keeps_what_was_measured() {
    let set = vec![Query::new("fast", "select 1"), Query::new("slow", "select pg_sleep(600)")];
    let bench = Bench::new("18", "interrupted");
    for streams in [1, 2] {
        let spec = QuerySetSpec { streams, limit: None, ..QuerySetSpec::default() };
        let control = run::Control::default();
        let mut slow = 0;
        let measured = bench.run_with(Small::new(set.clone()), &spec, &control, &mut |event| {
            slow += u32::from(event.query == "slow" && event.phase == QueryPhase::Started);
            if slow == streams {
                control.interrupt();
            }
        });
        assert_eq!(measured.status, ExitStatus::INTERRUPTED);
        assert_eq!(measured.record.status, Status::Interrupted);
        assert!(measured.record.steps[1].times.is_empty(), "an interrupted execution is no measurement");
        assert_eq!(measured.record.streams.len(), streams as usize);
    }
    // Another test has the same query, in its own database.
    let sql = "select from pg_stat_activity where query like 'select pg_sleep(600)%' and state = 'active' \
               and datname = current_database()";
    assert!(bench.session().query(sql).expect("a catalog").is_empty(), "the server still runs it");
}

#[test]
fn rows_of_answers_are_written_to_files_of_their_own() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let directory = place.path().join("answers");
    let spec = QuerySetSpec { results: Some(directory.clone()), repeats: 2, ..QuerySetSpec::default() };
    let bench = Bench::new("18", "files");
    let record = bench.run(Small::new(queries()), &spec).record;
    let text = |name: &str| std::fs::read_to_string(directory.join(name)).expect("it is there");
    assert_eq!(text("texts.tsv"), "t\n\\N\n\nx\\ty\nz\n");
    assert_eq!(text("empty.tsv"), "id\n");
    assert!(record.notes.iter().all(|note| !note.as_str().contains("not written")), "{:?}", record.notes);
    let refusal = bench.refused(Small::new(queries()), &spec);
    assert!(refusal.contains("is not overwritten"), "{refusal}");
}

#[test]
fn what_the_workload_does_not_have_is_refused_with_the_nearest_name() {
    let check = |spec: QuerySetSpec, expected: &str| {
        assert_eq!(spec.check(&Small::new(queries())).expect_err(expected).to_string(), expected);
    };
    let base = QuerySetSpec::default;
    check(
        QuerySetSpec { select: vec!["float5".to_owned()], ..base() },
        "the workload small has no query \"float5\"; did you mean floats?",
    );
    check(
        QuerySetSpec { text: Some("givn".to_owned()), ..base() },
        "the workload small has no query text \"givn\"; did you mean given?",
    );
    check(
        QuerySetSpec { parameters: [("x".to_owned(), "1".to_owned())].into(), ..base() },
        "the workload small has no parameter \"x\"; it has none",
    );
    check(QuerySetSpec { streams: 0, ..base() }, "--streams: expected a number from 1 to 1000, not 0");
    check(
        QuerySetSpec { limit: Some(Duration::ZERO), ..base() },
        "--limit: expected a time above 0, such as 5min",
    );
    let refusal = QuerySetSpec::default().check(&Small::new(Vec::new())).expect_err("no queries").to_string();
    assert_eq!(
        refusal,
        "the workload small has no queries: write each query to a file of its directory, such as queries/q1.sql"
    );
    let tpcb = workload::WorkloadName::default().open().expect("it is built in");
    let refusal = QuerySetSpec::default().check(&*tpcb).expect_err("no queries").to_string();
    assert!(refusal.starts_with("the workload tpcb has no queries: use tpch, "), "{refusal}");
    assert!(
        refusal.ends_with(
            "or a directory of your own with files such as queries/q1.sql (pgmeter workload new DIR)"
        ),
        "{refusal}"
    );
}
