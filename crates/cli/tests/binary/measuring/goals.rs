//! Goals of a comparison, one of which the faster side must meet.
//! The others are in `goals` beside this folder.

use results::Store;
use testkit::cluster::Cluster;

use crate::goals::{SLOW, elements, first_line};
use crate::harness::Bench;

#[test]
fn a_comparison_has_the_goals_of_both_sides_and_the_exit_status_of_those_of_b() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("goals_compare");
    bench.file("slow.sql", SLOW);
    bench.file("slower.sql", "SELECT pg_sleep(0.02);\n");
    let compare = |goals: &[&str]| {
        let options = ["--factor", "script=slower.sql,slow.sql", "--budget", "10s", "--block", "0.1"];
        let words = ["compare", "--in-place", "--dsn", conninfo.as_str()];
        bench.run(words.iter().chain(&options).chain(goals).copied())
    };
    let met = compare(&["--goal", "p50 < 15ms", "--goal", "failed < 50%", "-o", "goals.xml"]).exits(0);
    first_line(&met, "B: BOTH GOALS MET: p50 is ");
    assert!(met.stdout.contains("A: 1/2 goals missed."), "{}", met.stdout);
    let xml = std::fs::read_to_string(bench.path().join("goals.xml")).expect("it was written");
    let cases = elements(&xml);
    let store = Store::open(&bench.path().join("pgmeter-results/")).expect("the store is there");
    let record = store.comparison(1).expect("it is kept");
    let metrics = record.findings.len() + record.unjudged.len();
    assert_eq!(cases.iter().filter(|(name, _)| name == "testcase").count(), metrics + 2, "{xml}");
    assert!(!cases.iter().any(|(name, _)| name == "error"), "{xml}");
    // B is better, and not good enough.
    let missed = compare(&["--goal", "p50 < 1ms"]).exits(5).says(&["a goal of B was missed: p50 < 1ms"]);
    first_line(&missed, "B: GOAL MISSED: p50 is ");
    assert!(
        missed.stdout.contains("slow.sql is ") && missed.stdout.contains("as fast as slower.sql"),
        "{}",
        missed.stdout
    );
    compare(&["--goal", "late < 1%"]).exits(1).says(&["only with a latency limit (-L)"]);
}
