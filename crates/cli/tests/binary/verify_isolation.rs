//! `pgmeter verify --isolation`: its report in several formats, its exit statuses, and its error messages. What it finds is
//! tested in `isolation`.

use serde_json::Value;
use testkit::cluster::Cluster;

use crate::harness::Bench;

#[test]
fn a_level_that_is_kept_has_status_0_and_its_permitted_anomalies_are_shown() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("verify_kept");
    let arguments = ["verify", "--isolation", "repeatable-read", "--transactions", "2000", "--seed", "1"];
    let files = ["--history", "history.json", "-o", "report.json"];
    let shown = bench.run(arguments.into_iter().chain(files).chain([conninfo.as_str()])).exits(0);
    for expected in ["REPEATABLE READ was kept", "write skew (G2)", "permitted", "T1 -rw-> T2: T1 read list"]
    {
        assert!(shown.stdout.contains(expected), "{expected}: {}", shown.stdout);
    }
    let read = |name: &str| std::fs::read_to_string(bench.path().join(name)).expect("it was written");
    let report: Value = serde_json::from_str(&read("report.json")).expect("JSON");
    assert_eq!((&report["schema_version"], &report["run"]["seed"]), (&1.into(), &1.into()));
    assert_eq!(report["findings"]["endings"]["total"], 2001);
    let history: Value = serde_json::from_str(&read("history.json")).expect("JSON");
    assert_eq!(history.as_array().map(Vec::len), Some(2 * 2001));
}

#[test]
fn a_level_that_is_violated_has_status_4_and_a_failed_case_in_junit() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("verify_violated");
    let arguments =
        ["verify", "--isolation", "serializable", "--reads", "on-conflict", "--transactions", "2000"];
    let shown = bench.run(arguments.into_iter().chain(["-o", "report.xml", conninfo.as_str()])).exits(4);
    assert!(shown.stdout.starts_with("SERIALIZABLE was violated: "), "{}", shown.stdout);
    let xml = std::fs::read_to_string(bench.path().join("report.xml")).expect("it was written");
    assert!(xml.contains("tests=\"14\" failures=\"1\" errors=\"0\""), "{xml}");
}

#[test]
fn a_check_that_cannot_start_has_status_1_and_a_reason() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("verify_refused");
    let check = |arguments: &[&str], expected: &[&str]| {
        let level = ["verify", "--isolation", "serializable"];
        bench.run(level.iter().chain(arguments)).exits(1).says(expected);
    };
    check(&["host=127.0.0.1 port=1"], &["127.0.0.1", "port 1"]);
    check(&[&conninfo, "--clients", "0"], &["--clients 0", "from 1 to 1000"]);
    check(&[&conninfo, "--transactions", "99999999"], &["--transactions 99999999", "from 1 to 10000000"]);
    check(&[&conninfo, "--history", "missing/history.json"], &["cannot write the history", "missing"]);
    check(&[&conninfo, "--replica", "nonsense=1"], &["nonsense"]);
    check(&[&conninfo, "--reads", "x"], &["select", "on-conflict", "savepoint"]);
    bench.run(["verify", "--isolation", "snapshot"]).exits(1).says(&["serializable", "repeatable-read"]);
}
