//! `pgmeter runs` and the store that it lists: runs that ended well, that were killed, that came to nothing, and those
//! that are imported.

use results::{RunStatus, Store, Warning, find};
use rustix::process::Signal;
use testkit::cluster::Cluster;

use crate::harness::{Bench, Running, finish};

fn statuses(bench: &Bench) -> Vec<RunStatus> {
    let store = Store::open(&bench.path().join("pgmeter-results")).expect("there is a store");
    store.runs(100).expect("it can be read").iter().map(|run| run.status).collect()
}

#[test]
fn runs_are_listed_with_their_numbers_and_found_by_them() {
    let bench = Bench::new();
    bench.run(["runs"]).exits(1).says(&["there is no store pgmeter-results/results.sqlite", "--store"]);
    let conninfo = Cluster::shared("18").database("listed");
    let script = bench.file("one.sql", "SELECT 1;");
    for (number, clients) in [(1, "2"), (2, "3")] {
        let out = bench.run(["bench", "-n", "-c", clients, "-t", "5", "-f", script, &conninfo]).exits(0);
        assert!(out.stdout.contains(&format!("\n  run {number}  ")), "{}", out.stdout);
    }
    let list = bench.run(["runs"]).exits(0).stdout;
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines[1].starts_with(" 1 ") && lines[2].starts_with(" 2 "), "{list}");
    assert!(lines[1].contains(" run ") && lines[1].contains("one.sql"), "{list}");
    assert_eq!(bench.run(["runs", "list"]).exits(0).stdout, list);
    let narrow = finish(bench.command(["runs"]).env("COLUMNS", "60")).exits(0).stdout;
    assert!(narrow.lines().all(|line| line.chars().count() <= 60) && narrow.lines().count() == 3, "{narrow}");
    let newest_only = bench.run(["runs", "list", "-n", "1"]).exits(0).stdout;
    assert_eq!(newest_only.lines().count(), 2, "{newest_only}");
    let csv = bench.run(["report", "2", "--format", "csv"]).exits(0).stdout;
    assert!(csv.lines().skip(1).all(|line| line.starts_with("2,")), "{csv}");
    let by_words = bench.run(["report", "last-1", "last", "--format", "csv"]).exits(0).stdout;
    let runs: Vec<&str> = by_words.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    assert!(runs.iter().all(|run| *run == "1" || *run == "2"), "{by_words}");
    assert!(runs.contains(&"1") && runs.contains(&"2"), "{by_words}");
    let newest = bench.run(["runs", "-n", "1", "--format", "json"]).exits(0).stdout;
    assert!(newest.contains("\"run\": 2,") && !newest.contains("\"run\": 1,"), "{newest}");
    assert!(newest.contains("\"status\": \"complete\""), "{newest}");
    assert!(newest.contains("\"limited_by\"") && !newest.contains("\"limit\""), "{newest}");
    let store = bench.path().join("pgmeter-results");
    assert_eq!(find(&store, "last-1").expect("it is stored").plan.clients, 2);
    assert_eq!(find(&store, "2").expect("it is stored").plan.clients, 3);
}

#[test]
fn a_run_that_was_killed_is_listed_as_killed() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("killed");
    let script = bench.file("one.sql", "SELECT 1;");
    let flags = ["bench", "-n", "-T", "600", "-P", "1", "-f", script, &conninfo];
    let mut run = Running::start(&mut bench.command(flags));
    run.hear("tps");
    assert_eq!(statuses(&bench), [RunStatus::Running]);
    run.signal(Signal::KILL);
    run.finish();
    let report = bench.run(["report", "1"]).exits(1).stderr;
    assert!(report.contains("killed") && !report.contains("running"), "{report}");
    assert_eq!(statuses(&bench), [RunStatus::Killed]);
    let list = bench.run(["runs"]).exits(0).stdout;
    assert!(list.contains("killed"), "{list}");
    bench.run(["bench", "-n", "-t", "1", "-f", script, &conninfo]).exits(0);
    assert_eq!(statuses(&bench), [RunStatus::Killed, RunStatus::Complete]);
}

#[test]
fn a_run_that_came_to_nothing_is_listed_as_failed() {
    let bench = Bench::new();
    let script = bench.file("one.sql", "SELECT 1;");
    let conninfo = Cluster::shared("18").database("nothing");
    Cluster::session(&conninfo)
        .execute("create role only_two login connection limit 2")
        .expect("the role is new");
    let conninfo = conninfo.replace("user=postgres", "user=only_two");
    bench.run(["bench", "-n", "-c", "5", "-t", "1", "-f", script, &conninfo]).exits(1);
    assert_eq!(statuses(&bench), [RunStatus::Failed]);
}

#[test]
fn a_store_that_is_lost_is_imported_again_and_what_is_no_record_is_told() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("imported");
    let script = bench.file("one.sql", "SELECT 1;");
    for _ in 0..2 {
        bench.run(["bench", "-n", "-t", "1", "-f", script, "--store", "kept/my.db", &conninfo]).exits(0);
    }
    std::fs::remove_file(bench.path().join("kept/my.db")).expect("it is there");
    let import = ["runs", "import", "--store", "kept/my.db"];
    bench.run(import).exits(0).says(&["kept/my.db: 2 runs imported, 0 already stored, 0 rejected"]);
    std::fs::remove_file(bench.path().join("kept/my.db")).expect("it is there");
    let one = bench.records_of("kept").swap_remove(0);
    let one = ["runs", "import", "--store", "kept/my.db", one.as_str()];
    bench.run(one).exits(0).says(&["kept/my.db: 1 run imported, 0 already stored, 0 rejected"]);
    bench.run(import).exits(0).says(&["1 run imported, 1 already stored, 0 rejected"]);
    bench.file("kept/none.json", "{}");
    let out = bench.run(import).exits(1);
    out.says(&["kept/none.json is not a readable record", "0 runs imported, 2 already stored, 1 rejected"]);
    let no_file = bench.run(["runs", "import", "/dev/null", "--store", "kept/my.db"]).exits(1);
    no_file.says(&["/dev/null", "not a regular file"]);
    let list = bench.run(["runs", "--store", "kept/my.db"]).exits(0).stdout;
    assert_eq!(list.lines().filter(|line| line.contains("one.sql")).count(), 2, "{list}");
}

#[test]
fn the_record_says_where_it_was_made_and_its_command_repeats_the_run() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("repeated");
    let script =
        bench.file("draw it.sql", "\\set drawn random(1, 1000000)\nINSERT INTO drawn VALUES (:drawn);");
    let mut session = Cluster::session(&conninfo);
    session.execute("create table drawn (drawn int)").expect("the table is new");
    bench.run(["bench", "-n", "-c", "2", "-t", "5", "-f", script, &conninfo]).exits(0);
    let record = bench.record();
    let environment = &record.environment;
    let connection = environment.connection.as_ref().expect("it is known");
    assert!(connection.same_host && connection.tls.is_none(), "{connection:?}");
    let disk = environment.disk.as_ref().expect("it was looked at");
    assert!(disk.flush_us.is_some_and(|time| time.flushes > 0) && disk.path.ends_with("pg_wal"), "{disk:?}");
    assert!(environment.conditions.processors.is_some() && environment.conditions.clock_source.is_some());
    let server = environment.server.as_ref().expect("it was asked");
    assert!(server.extensions.contains_key("plpgsql") && server.main_settings.get("fsync").is_some());
    // A note, or a warning where pgmeter got much of a busy machine's processors.
    let is_shared = |it: &Warning| matches!(it, Warning::SharedHost | Warning::ClientUsesCpu { .. });
    assert!(record.warnings.iter().any(is_shared), "{record:?}");

    let command = record.plan.command_line.expect("it is kept");
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_pgmeter"));
    let mut shell = bench.program(std::path::Path::new("/bin/sh"), ["-c", command.as_str()]);
    finish(shell.env("PATH", program.parent().expect("it is in a directory"))).exits(0);
    let records = bench.records();
    assert_eq!(records[0].plan.seed, records[1].plan.seed);
    let twice = "select count(*) from (select drawn from drawn group by drawn having count(*) = 2) as pairs";
    let pairs = session.query(twice).expect("the query is right");
    assert_eq!(pairs[0].get(0), Some("10"), "the same was drawn again");
}
