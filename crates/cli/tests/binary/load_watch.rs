//! Loads that watch conditions of a real server: they pause, go on, and end with a status of their own.
//! Pauses themselves are tested in `engine` in virtual time, and decisions in `run`.

use results::{LoadPause, Record, Status, Warning, WatchReason};
use testkit::cluster::Cluster;
use testkit::extent::choose;

use crate::harness::Bench;

const FLAG: &str = "select exists (select from flag)";

/// A database with an empty table, whose rows are the condition.
fn database(major: &str, name: &str) -> String {
    let conninfo = Cluster::shared(major).database(name);
    Cluster::session(&conninfo)
        .execute("create table flag (a int); create table t (a int)")
        .expect("the tables");
    conninfo
}

fn adds_up(record: &Record) {
    let counts = record.summary.counts;
    let endings = counts.succeeded + counts.failed + counts.skipped + counts.unfinished + counts.unknown;
    assert_eq!(counts.scheduled, endings, "{counts:?}");
}

#[test]
fn a_load_pauses_while_its_condition_holds_and_the_report_says_so() {
    for (major, rate) in [("18", None), (choose("18", "9.6"), Some("200"))] {
        let bench = Bench::new();
        let conninfo = database(major, "load_pauses");
        let script = bench.file("one.sql", "SELECT 1;\n\\sleep 5 ms\n");
        let mut words = vec!["bench", "-n", "-c", "2", "-T", "8", "-f", script, "--pause-when", FLAG];
        words.extend([
            "--action",
            "1s:sql=insert into flag values (1)",
            "--action",
            "4s:sql=delete from flag",
        ]);
        words.extend(rate.into_iter().flat_map(|rate| ["-R", rate]));
        words.push(&conninfo);
        let out = bench.run(words).exits(0);
        let record = bench.record();
        adds_up(&record);
        assert_eq!((&record.status, &record.summary.watch_stop), (&Status::Complete, &None), "{major}");
        let pauses = record.summary.pauses.as_ref().expect("a pause");
        let [LoadPause { from_s, until_s, reason: WatchReason::PauseWhen }] = &pauses.first[..] else {
            panic!("{pauses:?}")
        };
        assert!(*from_s >= 1.0 && *until_s >= 4.0 && from_s < until_s, "{pauses:?}");
        let is_warned = |warning: &Warning| matches!(warning, Warning::LoadPaused { pauses: 1, .. });
        assert!(record.warnings.iter().any(is_warned), "{:?}", record.warnings);
        let text = out.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("The load was paused once for"), "{text}");
        assert!(text.contains("because the query of --pause-when returned true"), "{text}");
        let page = bench.run(["report", "--format", "markdown", "1"]).exits(0).stdout;
        assert!(page.contains(&format!("--pause-when '{FLAG}'")), "the command repeats it: {page}");
        // The pause is no stall of the server.
        let is_stall =
            |warning: &Warning| matches!(warning, Warning::Stalled { longest_s, .. } if *longest_s > 2.0);
        assert!(!record.warnings.iter().any(is_stall), "{:?}", record.warnings);
        assert_eq!(record.summary.response_with_stalls_us, None);
        // Workers notice within a tenth of a second; in the seconds inside of the pause nothing starts.
        let inside = |start_s: f64, end_s: f64| start_s >= from_s + 0.5 && end_s <= *until_s;
        let quiet = record.intervals.iter().filter(|it| inside(it.start_s, it.end_s));
        let begun: Vec<u64> = quiet.map(|it| it.counts.succeeded + it.counts.failed).collect();
        assert!(!begun.is_empty() && begun.iter().all(|number| *number == 0), "{major}: {begun:?}");
        let last = record.intervals.last().expect("intervals");
        assert!(last.counts.succeeded > 0, "{major}: the load goes on");
        if rate.is_some() {
            assert!(record.summary.counts.skipped > 100, "{:?}", record.summary.counts);
        }
        // The watch ends with the run: without this the test does not end. Its backend needs a moment to leave.
        let mut session = Cluster::session(&conninfo);
        let is_there = "select from pg_stat_activity where application_name = 'pgmeter watch'";
        while !session.query(is_there).expect("an answer").is_empty() {
            testkit::condition::pause();
        }
    }
}

#[test]
fn a_condition_ends_the_load_with_its_own_status_and_a_record() {
    let bench = Bench::new();
    let conninfo = database("18", "load_stops");
    let script = bench.file("one.sql", "INSERT INTO t VALUES (1);\n\\sleep 1 ms\n");
    let words =
        ["bench", "-n", "-T", "600", "-f", script, "--stop-when", "select count(*) > 100 from t", &conninfo];
    let out = bench.run(words).exits(7).says(&["the load was ended after", "--stop-when returned true"]);
    assert!(out.stdout.contains("tps"), "{}", out.stdout);
    let record = bench.record();
    adds_up(&record);
    let stop = record.summary.watch_stop.as_ref().expect("an end");
    assert_eq!((&stop.reason, stop.paused_s), (&WatchReason::StopWhen, None));
    let Status::Failed { reason } = &record.status else { panic!("{:?}", record.status) };
    assert!(reason.as_str().contains("--stop-when"), "{reason}");
    assert!(record.summary.counts.succeeded > 100 && record.summary.counts.unfinished == 0);
}

#[test]
fn a_pause_that_lasts_too_long_ends_the_load_and_a_run_of_transactions_too() {
    let bench = Bench::new();
    let conninfo = database("18", "load_waits");
    Cluster::session(&conninfo).execute("insert into flag values (1)").expect("a row");
    let script = bench.file("one.sql", "SELECT 1;\n");
    let words =
        ["bench", "-n", "-t", "1000000", "-f", script, "--pause-when", FLAG, "--max-pause", "1s", &conninfo];
    bench.run(words).exits(7).says(&["longer than --max-pause", "--pause-when returned true"]);
    let record = bench.record();
    adds_up(&record);
    // It held before the first transaction.
    assert_eq!(record.summary.counts.scheduled, 0);
    let stop = record.summary.watch_stop.as_ref().expect("an end");
    assert!(stop.paused_s > Some(1.0), "{stop:?}");
}

#[test]
fn waiting_locks_and_the_lag_of_a_standby_are_watched() {
    let bench = Bench::new();
    let cluster = Cluster::start("18");
    let conninfo = cluster.database("load_locks");
    let script = bench.file("lock.sql", "SELECT pg_advisory_xact_lock(1), pg_sleep(0.7);\n");
    let watch = ["--max-waiting-locks", "2"];
    let words = ["bench", "-n", "-c", "6", "-T", "4", "-f", script];
    bench.run(words.into_iter().chain(watch).chain([conninfo.as_str()])).exits(0);
    let record = bench.record();
    adds_up(&record);
    let pauses = record.summary.pauses.expect("a pause");
    assert!(
        matches!(pauses.first[0].reason, WatchReason::WaitingLocks { waiting: 3..=5, max: 2 }),
        "{pauses:?}"
    );

    let lag = ["bench", "-n", "-T", "1", "-f", script, "--max-lag", "5s", &conninfo];
    bench.run(lag).exits(1).says(&["--max-lag cannot be used: the server has no standby"]);
    let standby = cluster.standby("behind", &[]);
    bench.run(lag).exits(0);
    let record = bench.records().pop().expect("a record");
    assert_eq!(record.plan.watch.as_ref().and_then(|watch| watch.max_lag_s), Some(5.0));
    drop(standby);
}

#[test]
fn a_standby_that_lags_pauses_the_load_until_it_has_caught_up() {
    let bench = Bench::new();
    let cluster = Cluster::start("18");
    let conninfo = cluster.database("lagging");
    Cluster::session(&conninfo).execute("create table t (a int)").expect("a table");
    let standby = cluster
        .standby("delayed", &[("recovery_min_apply_delay", "3s"), ("wal_receiver_status_interval", "1s")]);
    let script = bench.file("insert.sql", "insert into t values (1);\n\\sleep 10 ms\n");
    let out = bench.run(["bench", "-n", "-T", "12", "-f", script, "--max-lag", "1s", &conninfo]).exits(0);
    let record = bench.record();
    adds_up(&record);
    let pauses = record.summary.pauses.as_ref().expect("a pause");
    let first = pauses.first.first().expect("a pause");
    let WatchReason::Lag { lag_s, max_s } = first.reason else { panic!("{pauses:?}") };
    assert!(lag_s > 1.0 && max_s == 1.0, "{pauses:?}");
    assert!(first.until_s > first.from_s, "{pauses:?}");
    assert!(out.stdout.contains("paused"), "{}", out.stdout);
    let last = record.intervals.iter().filter(|it| it.start_s >= first.until_s);
    assert!(last.map(|it| it.counts.succeeded).sum::<u64>() > 0, "the load goes on: {pauses:?}");
    drop(standby);
}

#[test]
fn a_condition_that_cannot_be_read_is_refused_before_the_run() {
    let bench = Bench::new();
    let conninfo = database("18", "load_refuses");
    let script = bench.file("one.sql", "INSERT INTO t VALUES (1);\n");
    for (option, sql, reason) in [
        ("--pause-when", "select 1", "one boolean"),
        ("--pause-when", "select null::boolean", "one boolean"),
        ("--pause-when", "select true, false", "one boolean"),
        ("--stop-when", "select true from generate_series(1, 2)", "one boolean"),
        ("--stop-when", "select true where false", "one boolean"),
        ("--pause-when", "selct", "syntax error"),
        ("--pause-when", "select from nowhere", "nowhere"),
        ("--pause-when", "commit; insert into t values (2); select false", "multiple commands"),
        ("--pause-when", "insert into t values (2) returning false", "read-only transaction"),
        ("--stop-when", "select pg_sleep(60) is null", "statement timeout"),
    ] {
        let words = ["bench", "-n", "-T", "1", "-f", script, option, sql, &conninfo];
        bench.run(words).exits(1).says(&[&format!("{option} cannot be used"), reason]);
    }
    let rows = Cluster::session(&conninfo).query("select count(*) from t").expect("an answer");
    assert_eq!(rows[0].get(0), Some("0"), "no load has run");
}
