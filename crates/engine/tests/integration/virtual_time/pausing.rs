//! Pauses that the caller of a run requests: no transaction starts, those in progress finish, and every arrival of an open
//! loop is counted.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use pgmeter_engine::{End, GateState, Limit, LoadGate, Outcome, Plan, Progress, StopRequest, run_on};
use stats::{Ending, Timestamp};
use testkit::fake::{Down, FakeServer, FaultEffect, Refusal, Service};

use super::arrivals;
use super::disconnects::returning;
use super::onlooker::{Onlooker, Seen};
use super::support::{at_ms, ms, plan, seconds, slow};

/// Runs a plan whose gate changes at whole seconds of the run; returns the transactions that the tracer received.
fn run_gated(plan: &Plan, server: FakeServer, changes: &[(u64, GateState)]) -> (Outcome, Vec<Seen>) {
    let (stop, gate) = (AtomicBool::new(false), LoadGate::default());
    let mut observer = |progress: &Progress<'_>| {
        let due = changes.iter().rev().find(|(at, _)| progress.elapsed >= seconds(*at));
        due.into_iter().for_each(|(_, state)| gate.set(*state));
    };
    let onlooker = Onlooker::default();
    let request = StopRequest { gate: Some(&gate), ..StopRequest::from(&stop) };
    let outcome = run_on(plan, server.driver(), request, &mut observer, &|intro| onlooker.attend(intro));
    let outcome = outcome.expect("an outcome");
    outcome.summary.total.counts.check();
    (outcome, onlooker.testify().seen)
}

/// Workers notice a change within this time.
const NOTICED: Duration = Duration::from_millis(150);

fn started_between(seen: &[Seen], from: Timestamp, until: Timestamp) -> usize {
    let starts =
        seen.iter().filter(|seen| seen.sample.ending == Ending::Succeeded).map(|seen| seen.sample.started);
    starts.filter(|started| (from..until).contains(started)).count()
}

const PAUSE_3_TO_6: [(u64, GateState); 2] = [(3, GateState::Paused), (6, GateState::Open)];

#[test]
fn no_transaction_starts_in_a_pause_and_those_in_progress_finish() {
    // A transaction takes 400 ms, so that all clients are inside one when the pause begins.
    let server = FakeServer { service: Service::Fixed(ms(400)), ..slow() };
    let (outcome, seen) = run_gated(&Plan { clients: 5, ..plan("SELECT 1;") }, server, &PAUSE_3_TO_6);
    assert_eq!(outcome.end, End::Complete);
    let counts = outcome.summary.total.counts;
    assert_eq!((counts.failed, counts.skipped, counts.unfinished), (0, 0, 0), "{counts:?}");
    assert_eq!(started_between(&seen, at_ms(3_000) + NOTICED, at_ms(6_000)), 0);
    let finished = seen.iter().filter(|seen| (at_ms(3_200)..at_ms(3_600)).contains(&seen.sample.finished));
    assert_eq!(finished.count(), 5, "the five transactions in progress");
    assert!(started_between(&seen, at_ms(6_000), at_ms(6_000) + NOTICED) >= 5, "all five continue");
    assert!(started_between(&seen, at_ms(8_000), at_ms(9_000)) >= 10);
}

#[test]
fn arrivals_of_a_pause_are_skipped_and_none_is_lost_or_comes_in_a_burst() {
    let plan = Plan { clients: 20, rate_per_s: Some(500.0), ..plan("SELECT 1;") };
    let (outcome, seen) = run_gated(&plan, slow(), &PAUSE_3_TO_6);
    let counts = outcome.summary.total.counts;
    assert_eq!(outcome.end, End::Complete);
    assert_eq!(counts.scheduled, arrivals::count(&plan, ms(0), seconds(10)), "none is lost");
    assert_eq!((counts.unfinished, counts.failed), (0, 0), "{counts:?}");
    let in_pause = arrivals::count(&plan, seconds(3), seconds(6));
    let noticed =
        arrivals::count(&plan, seconds(3), ms(3_150)) + arrivals::count(&plan, seconds(6), ms(6_150));
    assert!(counts.skipped.abs_diff(in_pause) <= noticed, "{} skipped of {in_pause}", counts.skipped);
    assert_eq!(started_between(&seen, at_ms(3_000) + NOTICED, at_ms(6_000)), 0);
    let after = started_between(&seen, at_ms(6_000), at_ms(6_500));
    assert!(
        after < 400,
        "{after} transactions began within half a second after the pause, at 500 per second"
    );
}

#[test]
fn a_run_that_is_paused_at_its_end_ends_in_time_and_counts_all_arrivals() {
    for (rate_per_s, clients) in [(None, 3), (Some(500.0), 20)] {
        let plan = Plan { clients, rate_per_s, ..plan("SELECT 1;") };
        let (outcome, _) = run_gated(&plan, slow(), &[(3, GateState::Paused)]);
        assert_eq!(outcome.end, End::Complete, "no client is cut off");
        assert!((seconds(10)..ms(10_200)).contains(&outcome.elapsed), "{:?}", outcome.elapsed);
        let counts = outcome.summary.total.counts;
        assert_eq!((counts.unfinished, counts.failed), (0, 0), "{counts:?}");
        if rate_per_s.is_some() {
            assert_eq!(counts.scheduled, arrivals::count(&plan, ms(0), seconds(10)), "none is lost");
            assert!(counts.skipped > 3_000, "{counts:?}");
        }
    }
}

#[test]
fn a_number_of_transactions_is_reached_after_a_pause() {
    let limit = Limit::TransactionsPerClient(10_000);
    let plan = Plan { clients: 4, limit, silence_limit: Some(seconds(5)), ..plan("SELECT 1;") };
    let changes = [(1, GateState::Paused), (60, GateState::Open)];
    let (outcome, _) = run_gated(&plan, slow(), &changes);
    // The silence of a pause is not the server's.
    assert_eq!(outcome.end, End::Complete);
    assert_eq!(outcome.summary.total.counts.succeeded, 40_000);
    assert!(outcome.elapsed >= seconds(60), "{:?}", outcome.elapsed);
}

#[test]
fn a_script_without_sql_pauses_too() {
    let plan = Plan { clients: 2, limit: Limit::Duration(seconds(4)), ..plan("\\sleep 10 ms\n") };
    let (outcome, seen) = run_gated(&plan, slow(), &[(1, GateState::Paused), (3, GateState::Open)]);
    assert_eq!(outcome.end, End::Complete);
    assert_eq!(started_between(&seen, at_ms(1_000) + NOTICED, at_ms(3_000)), 0);
    assert!(started_between(&seen, at_ms(3_200), at_ms(4_000)) > 100);
}

#[test]
fn a_connection_that_is_lost_in_a_pause_is_made_again_and_its_client_goes_on_once() {
    let server = FakeServer {
        downs: vec![Down {
            from: at_ms(4_000),
            until: at_ms(4_500),
            effect: FaultEffect::Reset,
            refusal: Refusal::Refused,
        }],
        ..slow()
    };
    let plan = returning("immediate", Plan { clients: 5, ..plan("SELECT 1;") });
    let (outcome, seen) = run_gated(&plan, server, &PAUSE_3_TO_6);
    assert_eq!((outcome.end, outcome.aborted.len()), (End::Complete, 0));
    assert_eq!(started_between(&seen, at_ms(3_000) + NOTICED, at_ms(6_000)), 0);
    for client in 0..5 {
        let own: Vec<_> = seen.iter().filter(|seen| seen.client == client).map(|seen| seen.sample).collect();
        assert!(own.iter().any(|sample| sample.started >= at_ms(6_000)), "client {client} goes on");
        assert!(own.windows(2).all(|pair| pair[0].finished <= pair[1].started), "one after the other");
    }
}

#[test]
fn a_gate_that_is_ended_ends_the_run_as_its_limit_would() {
    for limit in [Limit::Duration(seconds(600)), Limit::TransactionsPerClient(u64::MAX)] {
        let plan = Plan { clients: 3, limit, ..plan("SELECT 1;") };
        // Also out of a pause.
        for changes in [&[(4, GateState::Ended)][..], &[(2, GateState::Paused), (4, GateState::Ended)]] {
            let (outcome, _) = run_gated(&plan, slow(), changes);
            assert_eq!((outcome.end, outcome.summary.total.counts.unfinished), (End::Complete, 0));
            assert!((seconds(4)..ms(4_200)).contains(&outcome.elapsed), "{:?}", outcome.elapsed);
        }
    }
}
