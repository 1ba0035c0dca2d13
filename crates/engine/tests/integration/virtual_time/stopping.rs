//! The user asks to stop: the run ends soon with the results so far,
//! and running transactions count as unfinished.

use std::cell::Cell;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use pgmeter_engine::{Compatibility, End, EngineError, Limit, Outcome, Plan, Progress, no_tracer, run_on};
use testkit::fake::{FakeServer, Service};

use super::support::{assert_close, ms, plan, run, run_until, seconds};

#[test]
fn a_stopped_run_keeps_what_it_measured_and_counts_the_rest_as_unfinished() {
    let ran = run_until(&Plan { clients: 5, ..plan("SELECT 1;") }, FakeServer::default(), seconds(3));
    assert_eq!(ran.outcome.end, End::Interrupted);
    assert_eq!(ran.counts().unfinished, 5);
    assert_close("duration", ran.summary().duration.as_secs_f64(), 3.0, 0.001);
    assert_close("tps", ran.summary().tps(), 10_000.0, 0.001);
}

#[test]
fn a_run_that_counts_transactions_stops_too() {
    let limit = Limit::TransactionsPerClient(u64::MAX);
    let ran = run_until(&Plan { limit, clients: 2, ..plan("SELECT 1;") }, FakeServer::default(), seconds(2));
    assert_eq!((ran.outcome.end.clone(), ran.counts().unfinished), (End::Interrupted, 2));
}

#[test]
fn a_server_that_answers_no_more_does_not_keep_the_run_from_stopping() {
    let server = FakeServer { service: Service::Fixed(seconds(3000)), ..FakeServer::default() };
    let ran = run_until(&Plan { clients: 4, ..plan("SELECT 1;") }, server, seconds(2));
    assert_eq!((ran.outcome.end.clone(), ran.counts().unfinished), (End::Interrupted, 4));
    assert!(ran.summary().duration < seconds(3));
}

#[test]
fn scripts_that_never_wait_stop_too() {
    for script in ["\\set a 1\n", "\\sleep 0\n", "\\sleep 10 s\n"] {
        let plan = Plan { limit: Limit::TransactionsPerClient(u64::MAX), ..plan(script) };
        let server = FakeServer { tick: ms(1), ..FakeServer::default() };
        let ran = run_until(&plan, server, seconds(2));
        assert_eq!(ran.outcome.end, End::Interrupted, "{script}");
        assert!(ran.summary().duration < ms(2200), "{script}: {:?}", ran.summary().duration);
    }
}

#[test]
fn a_run_stopped_in_its_warm_up_measured_nothing() {
    let plan = Plan { warmup: seconds(5), clients: 2, ..plan("SELECT 1;") };
    let ran = run_until(&plan, FakeServer::default(), seconds(2));
    assert_eq!(ran.outcome.end, End::Interrupted);
    assert_eq!((ran.counts().scheduled, ran.summary().duration), (0, seconds(0)));
    assert_close("warm-up", ran.outcome.warmup_transactions as f64, 8000.0, 0.001);
}

#[test]
fn a_run_stopped_while_connecting_says_that_nothing_was_measured() {
    let result = run_on(
        &plan("SELECT 1;"),
        FakeServer::default().driver(),
        &AtomicBool::new(true),
        &mut |_| {},
        &no_tracer,
    );
    assert!(matches!(result, Err(EngineError::InterruptedBeforeStart)), "{result:?}");
}

/// Runs until the observer has seen that many measured seconds.
fn run_until_enough(plan: &Plan, server: FakeServer, enough_s: u32) -> (Outcome, u32) {
    let seen = Cell::new(0);
    let mut observer = |progress: &Progress<'_>| {
        seen.set(seen.get() + u32::from(!progress.warmup));
        progress.enough.set(seen.get() >= enough_s);
    };
    let outcome = run_on(plan, server.driver(), &AtomicBool::new(false), &mut observer, &no_tracer);
    (outcome.expect("an outcome"), seen.get())
}

#[test]
fn a_run_that_its_observer_knows_enough_of_is_complete_at_the_end_of_the_next_second() {
    let plan =
        Plan { clients: 5, warmup: seconds(2), limit: Limit::Duration(seconds(1000)), ..plan("SELECT 1;") };
    let (outcome, _) = run_until_enough(&plan, FakeServer::default(), 3);
    assert_eq!((outcome.end, outcome.summary.total.counts.unfinished), (End::Complete, 0));
    assert_close("duration", outcome.summary.duration.as_secs_f64(), 4.0, 0.001);
    assert_close("tps", outcome.summary.tps(), 10_000.0, 0.001);
}

#[test]
fn under_a_rate_nobody_waits_for_an_arrival_after_the_early_end() {
    let limit = Limit::Duration(seconds(1000));
    let plan = Plan { clients: 20, rate_per_s: Some(2.0), limit, ..plan("SELECT 1;") };
    let (outcome, _) = run_until_enough(&plan, FakeServer::default(), 5);
    assert_eq!(outcome.end, End::Complete);
    assert_close("duration", outcome.summary.duration.as_secs_f64(), 6.0, 0.001);
    let counts = outcome.summary.total.counts;
    assert_eq!((counts.succeeded, counts.unfinished), (counts.scheduled, 0));
    assert!(outcome.elapsed < ms(6200), "{:?}", outcome.elapsed);
}

#[test]
fn enough_that_comes_too_late_changes_nothing() {
    let plan = Plan { limit: Limit::Duration(seconds(3)), ..plan("SELECT 1;") };
    let (outcome, seen) = run_until_enough(&plan, FakeServer::default(), 3);
    assert_eq!(outcome.end, End::Complete);
    assert!(seen <= 4 && outcome.summary.duration < ms(3100), "{:?}", outcome.summary.duration);
}

#[test]
fn a_transaction_that_ends_after_the_measured_time_counts_with_its_part_within() {
    let fixed = FakeServer { service: Service::Fixed(ms(700)), ..FakeServer::default() };
    let plan = Plan { clients: 2, limit: Limit::Duration(seconds(2)), ..plan("SELECT 1;") };
    let ran = run(&plan, fixed.clone());
    let summary = ran.summary();
    assert_close("duration", summary.duration.as_secs_f64(), 2.0, 0.001);
    assert_close("tail", summary.tail.as_secs_f64(), 0.1, 0.01);
    assert_close("tps", summary.tps(), 2.0 / 0.7, 0.001);
    assert_eq!((ran.counts().succeeded, ran.counts().tail), (6, 2));
    // pgbench divides by the time until the last one.
    let ran = run(&Plan { compatibility: Compatibility::Pgbench, ..plan }, fixed);
    assert_close("tps as pgbench's", ran.summary().tps(), 6.0 / 2.1, 0.01);
    assert_eq!((ran.summary().tail, ran.counts().tail), (Duration::ZERO, 0));
}

#[test]
fn a_backlog_that_is_worked_off_after_the_measured_time_is_no_throughput() {
    // One client that can do 50 per second, asked for 100.
    let server = FakeServer { service: Service::Fixed(ms(20)), ..FakeServer::default() };
    let limit = Limit::Duration(seconds(10));
    let plan = Plan { rate_per_s: Some(100.0), limit, ..plan("SELECT 1;") };
    let ran = run(&plan, server);
    assert_close("tps", ran.summary().tps(), 50.0, 0.02);
    assert!(ran.counts().tail <= 1 && ran.counts().unfinished > 400, "{:?}", ran.counts());
}
