//! Goals of runs: verdicts, and the end of runs that cannot meet them any more.
//! Most limits are so far from what a null server does that chance does not matter.

use std::time::Duration;

use pgmeter_run::RunSpec;
use results::Status;
use stats::goals::{Goal, GoalVerdict};
use stats::load::Limit;
use testkit::null::{NullOptions, Stalls};

use crate::on_null::{run, run_on, script, spec};

fn goals(texts: &[&str]) -> Vec<Goal> {
    texts.iter().map(|text| text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))).collect()
}

fn verdicts(spec: RunSpec) -> Vec<GoalVerdict> {
    run(spec).record.summary.goals.iter().map(|goal| goal.verdict).collect()
}

#[test]
fn a_goal_is_met_missed_or_undecided_by_its_interval() {
    let limit = Limit::TransactionsPerClient(2_000);
    let texts = ["p99 < 1h", "p50 < 1us", "failed < 1%"];
    let of_many = verdicts(RunSpec { goals: goals(&texts), limit, ..spec("SELECT 1;") });
    assert_eq!(of_many, [GoalVerdict::Met, GoalVerdict::Missed, GoalVerdict::Met]);
    // Five transactions say nothing about one in a thousand.
    let limit = Limit::TransactionsPerClient(5);
    let of_few = verdicts(RunSpec { goals: goals(&["p99.9 < 1h"]), limit, ..spec("SELECT 1;") });
    assert_eq!(of_few, [GoalVerdict::Undecided]);
}

#[test]
fn a_goal_of_a_script_is_about_its_transactions_only() {
    let scripts = vec![script("fast", "SELECT 1;", 1), script("slow", "\\sleep 40 ms\nSELECT 2;", 1)];
    let (goals, limit) =
        (goals(&["script=fast: p50 < 40ms", "script=slow: p50 < 40ms"]), Limit::TransactionsPerClient(60));
    let of_scripts = verdicts(RunSpec { scripts, goals, limit, ..spec("") });
    assert_eq!(of_scripts, [GoalVerdict::Met, GoalVerdict::Missed]);
}

#[test]
fn a_run_ends_when_its_goal_cannot_be_met_any_more_if_it_was_asked_to() {
    let limit = Limit::Duration(Duration::from_secs(600));
    let spec = RunSpec {
        goals: goals(&["p50 < 1us"]),
        stop_on_miss: true,
        rate_tps: Some(200.0),
        limit,
        ..spec("SELECT 1;")
    };
    let record = run(spec).record;
    assert!(record.summary.goal_stop.is_some() && record.summary.duration_s < 500.0);
    assert_eq!(record.summary.goals[0].verdict, GoalVerdict::Missed);
    assert_eq!(record.status, Status::Complete);
}

#[test]
fn skipped_transactions_miss_a_goal_that_the_others_meet() {
    let stalls = Some(Stalls { every: Duration::from_millis(300), length: Duration::from_millis(300) });
    let spec = RunSpec {
        clients: 2,
        goals: goals(&["p90 < 40ms", "skipped < 1%"]),
        limit: Limit::Duration(Duration::from_millis(1_500)),
        rate_tps: Some(400.0),
        latency_limit: Some(Duration::from_millis(40)),
        ..spec("SELECT 1;")
    };
    let record = run_on(NullOptions { stalls, ..NullOptions::default() }, spec).expect("a run").record;
    let verdicts: Vec<_> = record.summary.goals.iter().map(|goal| goal.verdict).collect();
    assert_eq!(verdicts, [GoalVerdict::Missed, GoalVerdict::Missed]);
}
