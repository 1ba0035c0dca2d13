//! The user asks to stop: the run ends soon, with what was measured so far, and what was under way is counted
//! as unfinished.

use std::sync::atomic::AtomicBool;

use pgmeter_engine::{End, EngineError, Limit, Plan, no_witness, run_on};
use testkit::fake::{FakeServer, Service};

use super::support::{assert_close, ms, plan, run_until, seconds};

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
        &no_witness,
    );
    assert!(matches!(result, Err(EngineError::InterruptedBeforeStart)), "{result:?}");
}
