//! Goals of whole runs in virtual time: met and missed ones, work that did not succeed, and the early end of a run
//! whose goal cannot be met any more.

use std::sync::atomic::AtomicBool;

use pgmeter_engine::{End, Limit, Outcome, Plan, Progress, no_tracer, run_on};
use stats::goals::{GoalMeter, GoalVerdict, StopBasis};
use testkit::fake::{FakeServer, Service};

use super::support::{ms, plan, seconds};

/// Runs the plan with these goals, as `run` does.
fn run(
    plan: &Plan,
    service_ms: u64,
    goals: &[&str],
    stops: fn(GoalMeter) -> GoalMeter,
) -> (Outcome, GoalMeter) {
    let goals = goals.iter().map(|goal| (goal.parse().expect("a goal"), None));
    let mut meter = stops(GoalMeter::new(goals));
    let mut observer = |progress: &Progress<'_>| {
        if !progress.warmup {
            progress.enough.set(meter.take(progress.interval));
        }
    };
    let server = FakeServer { service: Service::Fixed(ms(service_ms)), ..FakeServer::default() };
    let outcome = run_on(plan, server.driver(), &AtomicBool::new(false), &mut observer, &no_tracer);
    (outcome.expect("the run has a result"), meter)
}

fn verdicts(meter: &GoalMeter) -> Vec<GoalVerdict> {
    meter.evaluate().iter().map(|result| result.verdict).collect()
}

use GoalVerdict::{Met, Missed, Undecided};

#[test]
fn goals_of_a_run_are_met_missed_and_undecided() {
    let goals = [
        "p99 < 20ms",
        "p99 < 4ms",
        "mean < 5500us",
        "over(4ms) < 1%",
        "max < 20ms",
        "tps > 500",
        "p99.99 < 1s",
    ];
    let (outcome, meter) = run(&Plan { clients: 4, ..plan("SELECT 1;") }, 5, &goals, |meter| meter);
    assert_eq!((outcome.end, meter.stop()), (End::Complete, None));
    assert_eq!(verdicts(&meter), [Met, Missed, Met, Missed, Met, Met, Undecided]);
    assert_eq!(meter.evaluate()[0].transactions, outcome.summary.total.counts.scheduled);
}

#[test]
fn an_overloaded_server_misses_its_goals_also_by_the_work_that_it_did_not_do() {
    // 200 per second are possible; half of the load is skipped, and the rest is fast enough.
    let load = Plan { rate_per_s: Some(400.0), latency_limit: Some(ms(20)), ..plan("SELECT 1;") };
    let goals = ["service p99 < 20ms", "skipped < 1%", "over(30ms) < 5%", "p40 < 30ms", "lag p30 < 30ms"];
    let (outcome, meter) = run(&load, 5, &goals, |meter| meter);
    assert!(outcome.summary.total.counts.skipped > 1000, "{:?}", outcome.summary.total.counts);
    assert_eq!(verdicts(&meter), [Missed, Missed, Missed, Met, Met]);
}

#[test]
fn a_run_ends_once_a_goal_cannot_be_met() {
    let long = Plan { limit: Limit::Duration(seconds(300)), ..plan("SELECT 1;") };
    let (outcome, meter) = run(&long, 5, &["p99 < 20ms", "p99 < 4ms"], GoalMeter::stopping);
    let stop = meter.stop().expect("it was ended");
    assert_eq!((stop.goal, stop.basis, outcome.end), (1, StopBasis::Sequential, End::Complete));
    assert!(outcome.summary.duration <= seconds(8), "{:?}", outcome.summary.duration);
    assert_eq!(verdicts(&meter), [Met, Missed]);
    let patient = Plan { limit: Limit::Duration(seconds(30)), ..plan("SELECT 1;") };
    let (outcome, meter) = run(&patient, 5, &["p99 < 20ms"], GoalMeter::stopping);
    assert_eq!(meter.stop(), None);
    assert!(outcome.summary.duration >= seconds(30), "{:?}", outcome.summary.duration);
}

#[test]
fn with_a_number_of_transactions_the_end_is_exact() {
    let counted = Plan { limit: Limit::TransactionsPerClient(1000), ..plan("SELECT 1;") };
    let of_thousand = |meter: GoalMeter| meter.stopping().of_transactions(1000);
    let (outcome, meter) = run(&counted, 5, &["over(4ms) < 10%"], of_thousand);
    assert_eq!(meter.stop().map(|stop| stop.basis), Some(StopBasis::Exact));
    let scheduled = outcome.summary.total.counts.scheduled;
    assert!((100..1000).contains(&scheduled), "{scheduled}");
    assert_eq!(verdicts(&meter), [Missed]);
}
