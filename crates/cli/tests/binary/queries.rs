//! Query sets through the binary: of a folder of the user and of tpch, reported, listed, labelled, with other answers than
//! expected; and experiments whose trials are query sets. How queries are timed is tested in `queries`.

use results::{EntryKind, Found, Store, find_entry};
use testkit::cluster::Cluster;

use crate::harness::{Bench, Running};
use crate::processes::ends;

/// A directory to run in, with a workload of two queries in the folder `tiny`.
fn with_tiny() -> Bench {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path().join("tiny/queries")).expect("a folder");
    bench.file("tiny/workload.toml", "name = \"tiny\"\ntitle = \"Tiny\"\n");
    bench.file("tiny/schema.sql", "CREATE TABLE tiny (id integer PRIMARY KEY, n numeric(9, 2));\n");
    bench.file("tiny/queries/q1.sql", "SELECT count(*) FROM tiny;\n");
    bench.file("tiny/queries/q2.sql", "SELECT id, n FROM tiny ORDER BY n;\n");
    bench
}

fn loaded(bench: &Bench, name: &str) -> String {
    let conninfo = Cluster::shared("18").database(name);
    bench.run(["init", "--workload", "tiny", "--scale", "0.2", &conninfo]).exits(0);
    conninfo
}

/// A file where the store's directory is or would be: nothing can be stored any more.
fn take_store_away(bench: &Bench, store: &str) {
    // A query set creates it at its end.
    let _ = std::fs::remove_dir_all(bench.path().join(store));
    bench.file(store, "");
}

/// The path of the copy that the message names; the file is removed.
fn copy_in(stderr: &str) -> String {
    let (_, rest) = stderr.split_once("a copy as JSON is in ").unwrap_or_else(|| panic!("{stderr}"));
    let path = rest.lines().next().expect("a path");
    let text = std::fs::read_to_string(path).expect("a copy");
    std::fs::remove_file(path).expect("it is ours");
    text
}

#[test]
fn a_result_that_cannot_be_stored_is_shown_and_copied() {
    let bench = with_tiny();
    bench.file("tiny/queries/q3.sql", "SELECT pg_advisory_lock_shared(4711);\n");
    let conninfo = loaded(&bench, "tiny_not_stored");
    let (mut holder, mut observer) = (Cluster::session(&conninfo), Cluster::session(&conninfo));
    holder.execute("select pg_advisory_lock(4711)").expect("a lock");
    let words = ["queries", "--workload", "tiny", "--store", "gone/", "--limit", "0", &conninfo];
    let run = Running::start(&mut bench.command(words));
    let waiting = "select 1 from pg_locks where locktype = 'advisory' and objid = 4711 and not granted";
    while observer.query(waiting).expect("an answer").is_empty() {
        testkit::condition::pause();
    }
    take_store_away(&bench, "gone");
    holder.execute("select pg_advisory_unlock(4711)").expect("no lock");
    let out = ends(run).exits(2);
    assert!(out.stdout.contains("q1") && out.stdout.contains("q3"), "{}", out.stdout);
    assert!(out.stderr.contains("the result was not stored: "), "{}", out.stderr);
    assert!(copy_in(&out.stderr).contains("\"q3\""), "a query set");

    bench.file("one.sql", "SELECT 1;\n");
    let words =
        ["compare", "--in-place", "--dsn", &conninfo, "--factor", "enable_seqscan=on,off", "-f", "one.sql"];
    let more = ["--budget", "4s", "--store", "lost/"];
    let mut run = Running::start(&mut bench.command(words.iter().chain(&more)));
    run.hear("comparing: ");
    take_store_away(&bench, "lost");
    let out = ends(run).exits(2);
    assert!(
        out.stdout.contains(" pairs") && out.stderr.contains("the result was not stored: "),
        "{} {}",
        out.stdout,
        out.stderr
    );
    assert!(copy_in(&out.stderr).contains("\"pairs\""), "a comparison");
}

#[test]
fn queries_of_a_folder_are_timed_stored_listed_and_reported() {
    let bench = with_tiny();
    let conninfo = loaded(&bench, "tiny_queries");
    let words =
        ["queries", "--workload", "tiny", "--repeat", "2", "--plans", "--results", "rows", "--label", "one"];
    let out = bench.run(words.iter().copied().chain([conninfo.as_str()])).exits(0);
    assert!(out.stderr.contains("q2 (2 of 2), execution 2: "), "{}", out.stderr);
    assert!(out.stderr.contains("query set s1; show it again with: pgmeter report s1"), "{}", out.stderr);
    assert!(out.stdout.contains("q1") && out.stdout.contains("20"), "{}", out.stdout);
    let rows = std::fs::read_to_string(bench.path().join("rows/q1.tsv")).expect("the rows");
    assert_eq!(rows, "count\n20\n");
    let words = ["queries", "--workload", "tiny", "--streams", "2", "--answers", "-q", "--format", "json"];
    let out = bench.run(words.iter().copied().chain([conninfo.as_str()])).exits(0);
    for part in ["\"query\": \"q2\"", "\"rows\": 20", "\"answer\": \"unknown\"", "\"scale\": 0.2"] {
        assert!(out.stdout.contains(part), "{part}: {}", out.stdout);
    }
    let list = bench.run(["runs"]).exits(0).stdout;
    assert!(list.contains("query set") && list.contains("tiny: scale 0.2, 2 str"), "{list}");
    for which in [["report", "one", "-q"].as_slice(), &["report", "s1", "s2", "-o", "page.html"]] {
        let which: Vec<&str> = which.iter().copied().filter(|word| *word != "-q").collect();
        bench.run(which).exits(0);
    }
    bench.run(["runs", "label", "s2", "two"]).exits(0);
    let store = bench.path().join("pgmeter-results/results.sqlite");
    assert_eq!(find_entry(&store, "two", &EntryKind::ALL).expect("it is there"), Found::QuerySet(2));
    let record = Store::open(&store).and_then(|store| store.query_set(1)).expect("it is there");
    assert!(record.steps.iter().all(|step| step.plan.is_some() && step.times.len() == 2));
    let command = record.query_set.and_then(|plan| plan.command_line).expect("a command");
    assert!(command.as_str().contains("pgmeter queries --workload tiny --repeat 2"), "{}", command.as_str());
    let out = bench.run(["runs", "rm", "s1"]).exits(0);
    assert_eq!(out.stdout, "removed query set s1\n");
}

#[test]
fn a_query_that_fails_or_reaches_its_limit_is_told_and_names_are_checked_first() {
    let bench = with_tiny();
    let conninfo = loaded(&bench, "tiny_failures");
    bench.file("tiny/queries/q3.sql", "SELECT pg_sleep(600);\n");
    let run = |words: &[&str], status: i32| {
        let fixed = ["queries", "--workload", "tiny", &conninfo];
        bench.run(fixed.iter().chain(words).copied()).exits(status)
    };
    let out = run(&["--limit", "100ms"], 0);
    assert!(out.stderr.contains("q3 (3 of 3): cancelled at the limit, > 100.0 ms"), "{}", out.stderr);
    bench.file("tiny/queries/q3.sql", "SELECT 1 / 0;\n");
    let out = run(&[], 2);
    assert!(out.stderr.contains("1 of 3 queries failed: q3"), "{}", out.stderr);
    let out = run(&["--select", "q5"], 1);
    assert!(
        out.stderr.contains("the workload tiny has no query \"q5\"; it has q1, q2, q3"),
        "{}",
        out.stderr
    );
    let out = run(&["--refresh"], 1);
    assert!(out.stderr.contains("the workload tiny has no refresh functions"), "{}", out.stderr);
}

#[test]
fn other_answers_than_expected_have_the_exit_status_of_a_failed_check() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("tpch_answers");
    // Two queries find their rows as fast without indexes.
    bench.run(["init", "--workload", "tpch", "--scale", "0.01", "--indexes", "none", &conninfo]).exits(0);
    let words = ["queries", "--workload", "tpch", "--select", "q1,q22", "--answers", "-q", &conninfo];
    let out = bench.run(words).exits(0);
    assert!(out.stdout.contains("2 of 2 equal to the expected ones"), "{}", out.stdout);
    assert!(out.stdout.contains("not TPC results"), "{}", out.stdout);
    let mut session = Cluster::session(&conninfo);
    session
        .execute("update lineitem set l_quantity = l_quantity + 1 where l_orderkey = 1")
        .expect("a change");
    let out = bench.run(words).exits(6);
    assert!(out.stderr.contains("the answer of q1 differs: 4 rows, expected 4 rows"), "{}", out.stderr);
}

const EXPERIMENT: &str = r#"
name = "tiny"
[server]
dsn = "DSN"
[data]
workload = "tiny"
scale = 30
[queries]
limit = "1min"
select = ["q"]
[factors]
"queries.repeat" = [1, 2]
work_mem = ["64kB", "4MB"]
[design]
repeats = 2
[quick]
repeats = 1
"#;

#[test]
fn trials_of_an_experiment_are_passes_over_the_queries() {
    let bench = with_tiny();
    let conninfo = Cluster::shared("18").conninfo();
    let file = bench.file("tiny.toml", &EXPERIMENT.replace("DSN", &conninfo));
    let out = bench.run(["lab", "plan", file, "--quick"]).exits(0);
    assert!(out.stdout.contains("queries     2 queries, one stream, cancelled after 60s"), "{}", out.stdout);
    let out = bench.run(["lab", "run", file, "--quick", "--store", "out/"]).exits(0);
    assert!(out.stdout.contains("tiny (quick): 4 of 4 trials complete"), "{}", out.stdout);
    let store = Store::open(&bench.path().join("out/results.sqlite")).expect("it can be opened");
    let stored =
        store.stored_experiment("tiny", Some("quick")).expect("it can be read").expect("it is there");
    for trial in stored.trials {
        let record = trial.steps.expect("a record");
        let plan = record.query_set.expect("a query set");
        assert_eq!((plan.scale, plan.workload.as_str()), (30.into(), "tiny"));
        let repeats: usize = trial.factors["queries.repeat"].parse().expect("a number");
        assert!(record.steps.iter().all(|step| step.times.len() == repeats), "{repeats}");
        assert_eq!(record.steps[0].times[0].rows, Some(1));
    }
    let file = bench.file("bad.toml", &EXPERIMENT.replace("DSN", &conninfo).replace("repeat\"", "repeats\""));
    let out = bench.run(["lab", "plan", file]).exits(1);
    assert!(out.stderr.contains("did you mean \"queries.repeat\"?"), "{}", out.stderr);
    let file = bench.file("load.toml", "name = \"x\"\n[queries]\n[load]\nclients = 2\n");
    let out = bench.run(["lab", "plan", file]).exits(1);
    assert!(
        out.stderr.contains(
            "load.toml:4:1: \"clients\" has no effect in an experiment with [queries], which uses only setup and \
             network of [load]: remove \"clients\" or [queries]"
        ),
        "{}",
        out.stderr
    );
    let select = EXPERIMENT.replace("[\"q\"]", "[\"q1\", \"q9\"]");
    let file = bench.file("select.toml", &select);
    let out = bench.run(["lab", "plan", file]).exits(1);
    let expected = "select.toml:10:10: the workload tiny has no query \"q9\"";
    assert!(out.stderr.contains(expected), "{}", out.stderr);
    let file = bench.file(
        "factor.toml",
        &select
            .replace("select =", "answers =")
            .replace("[\"q1\", \"q9\"]", "true")
            .replace("\"queries.repeat\" = [1, 2]", "\"queries.text\" = [\"given\", \"other\"]"),
    );
    let out = bench.run(["lab", "plan", file]).exits(1);
    assert!(out.stderr.contains("factor.toml:12:19: "), "{}", out.stderr);
    let file = bench.file("tpcb.toml", "name = \"x\"\n[data]\nworkload = \"tpcb\"\n[queries]\n");
    let out = bench.run(["lab", "plan", file]).exits(1);
    assert!(
        out.stderr.contains("tpcb.toml:3:12: the workload tpcb has no queries: use tpch"),
        "{}",
        out.stderr
    );
}
