//! Screenings on real servers: which settings are tried, that each trial has its own, and what is refused.
//! The statistics are tested in `stats`, by simulation.

use std::os::unix::fs::PermissionsExt as _;

use results::{Store, TrialStatus};
use testkit::cluster::Cluster;

use crate::harness::Bench;

const SETTINGS: &str = "shared_buffers = [\"16MB\", \"32MB\"]\nwork_mem = [\"1MB\", \"2MB\"]\n";

#[test]
fn one_server_has_the_settings_of_each_trial_in_turns() {
    let bench = Bench::new();
    bench.file("settings.toml", SETTINGS);
    // A transaction fails where the trial's settings are not in force.
    bench.file(
        "check.sql",
        "SELECT 1 / (current_setting('shared_buffers') IN ('16MB', '32MB') AND current_setting('work_mem') IN ('1MB', \
         '2MB'))::int;\n\\sleep 20 ms\n",
    );
    let words =
        ["screen", "-f", "check.sql", "--settings", "settings.toml", "--budget", "1min", "--seed", "1"];
    let out = bench.run(words.iter().chain(&["--store", "out/"]));
    assert!(matches!(out.status.code(), Some(0 | 3)), "{}{}", out.stdout, out.stderr);
    assert!(out.stderr.contains("4 combinations of 2 settings"), "{}", out.stderr);
    // A busy machine makes some of the trials within the budget.
    let experiment = "out/screens/screen-check/experiment.toml";
    let all = bench.run(["lab", "resume", experiment, "--store", "out/"]).exits(0);
    assert!(all.stdout.contains("Effects on throughput: level ÷ base"), "{}", all.stdout);
    let file = std::fs::metadata(bench.path().join(experiment)).expect("it is there");
    assert_eq!(file.permissions().mode() & 0o077, 0, "it may contain a password");
    let mut store = Store::create(&bench.path().join("out/results.sqlite")).expect("the store is there");
    let row = store.newest_experiment("screen-check", "full").expect("it can be read").expect("it is there");
    let complete: Vec<_> = row.trials.iter().filter(|it| it.status == TrialStatus::Complete).collect();
    assert!(complete.len() >= 4 && row.trials.len().is_multiple_of(4), "{}", row.trials.len());
    for trial in complete {
        let run = trial.run.expect("a run").to_string();
        let record = results::find(&bench.path().join("out/results.sqlite"), &run).expect("a record");
        let server = record.environment.server.expect("the server's facts");
        for (factor, level) in &trial.factors {
            let name = factor.strip_prefix("settings.").expect("a setting");
            let settings = [&server.main_settings, &server.non_default_settings];
            let value = settings.into_iter().find_map(|settings| settings.get(name));
            assert_eq!(value, Some(level.as_str()), "{name} in run {run}");
        }
    }
    let out = bench.run(["lab", "status", experiment, "--store", "out/"]);
    assert!(out.stdout.contains("screen-check"), "{}{}", out.stdout, out.stderr);
}

#[test]
fn in_place_only_settings_of_a_session_are_tried() {
    let bench = Bench::new();
    let dsn = Cluster::shared("18").database("screened");
    bench.file("settings.toml", SETTINGS);
    bench.file("one.sql", "SELECT 1;\n\\sleep 20 ms\n");
    let words = ["screen", "--in-place", "--dsn", &dsn, "-f", "one.sql", "--settings", "settings.toml"];
    let out = bench.run(words.iter().chain(&["--budget", "25s", "--store", "out/"]));
    assert!(matches!(out.status.code(), Some(0 | 3)), "{}{}", out.stdout, out.stderr);
    assert!(out.stderr.contains("shared_buffers is not tried: a session cannot set"), "{}", out.stderr);
    assert!(out.stdout.contains("work_mem") && !out.stdout.contains("shared_buffers"), "{}", out.stdout);
}

#[test]
fn a_budget_that_is_too_small_is_refused_with_one_that_is_not() {
    let bench = Bench::new();
    bench.file("settings.toml", SETTINGS);
    let words = ["screen", "-S", "--settings", "settings.toml", "--budget", "1s", "--store", "out/"];
    let out = bench.run(words).exits(1);
    assert!(
        out.stderr
            .contains("a budget of 1 s is too short for one trial of each of the 4 combinations; at least "),
        "{}",
        out.stderr
    );
    bench.file("wrong.toml", "wrk_mem = [1, 2]\n");
    let out = bench.run(["screen", "-S", "--settings", "wrong.toml", "--store", "out/"]).exits(1);
    assert!(out.stderr.contains("did you mean \"work_mem\"?"), "{}", out.stderr);
}
