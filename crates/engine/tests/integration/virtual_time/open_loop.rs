//! The open loop: arrivals are independent of the server, none is lost, and a stalled server delays all that are
//! scheduled during the stall. Response time shows this; service time does not.

use std::num::NonZeroU32;
use std::time::Duration;

use pgmeter_engine::{End, Limit, Plan};
use stats::Timestamp;
use testkit::fake::{FakeServer, FaultEffect, FaultTrigger, Service, Stall};

use super::arrivals;
use super::support::{Ran, assert_close, at_ms, fault, faulty, ms, plan, run, run_until, seconds};

fn paced(clients: usize, rate_per_s: f64) -> Plan {
    Plan { clients, rate_per_s: Some(rate_per_s), ..plan("SELECT 1;") }
}

fn stalling(from_ms: u64, until_ms: u64) -> FakeServer {
    FakeServer {
        stalls: vec![Stall { from: at_ms(from_ms), until: at_ms(until_ms) }],
        ..FakeServer::default()
    }
}

/// Arrivals before the end of the run.
fn due(plan: &Plan, ran: &Ran) -> u64 {
    arrivals::count(plan, plan.warmup, plan.warmup + ran.summary().duration)
}

#[test]
fn every_arrival_of_the_poisson_stream_is_served() {
    for (clients, rate_per_s) in [(1, 20.0), (8, 500.0), (50, 3000.0)] {
        let plan = paced(clients, rate_per_s);
        let ran = run(&plan, FakeServer::default());
        assert_eq!(ran.counts().scheduled, arrivals::count(&plan, Duration::ZERO, seconds(10)));
        assert_eq!(ran.counts().succeeded, ran.counts().scheduled);
        assert_eq!(ran.outcome.end, End::Complete);
        assert!(ran.summary().duration >= seconds(10), "the window is measured to its end");
    }
}

#[test]
fn transactions_start_when_they_are_scheduled() {
    let plan = Plan { limit: Limit::Duration(ms(500)), ..paced(10, 1000.0) };
    let ran = run(&plan, FakeServer::default());
    let scheduled = arrivals::scheduled(&plan, ms(500));
    let statements = ran.log.statements();
    assert_eq!(statements.len(), scheduled.len());
    let start = |k: usize| statements[k].0.since(statements[0].0);
    for (k, at) in scheduled.iter().enumerate() {
        assert_eq!(start(k), *at - scheduled[0], "arrival {k}");
    }
}

#[test]
fn arrivals_of_the_warm_up_are_run_and_not_measured() {
    let plan = Plan { warmup: seconds(3), limit: Limit::Duration(seconds(4)), ..paced(20, 800.0) };
    let ran = run(&plan, FakeServer::default());
    assert_eq!(ran.outcome.warmup_transactions, arrivals::count(&plan, Duration::ZERO, seconds(3)));
    assert_eq!(ran.counts().scheduled, arrivals::count(&plan, seconds(3), seconds(7)));
}

#[test]
fn a_stall_of_two_seconds_shows_in_the_response_time_of_all_that_were_scheduled_in_it() {
    let plan = paced(20, 500.0);
    let ran = run(&plan, stalling(3000, 5000));
    let (counts, total) = (ran.counts(), &ran.summary().total);
    assert_eq!(counts.scheduled, arrivals::count(&plan, Duration::ZERO, seconds(10)));
    assert_eq!(counts.succeeded, counts.scheduled, "none is lost, none unfinished");
    let response = |q| total.response.quantile_ns(q).unwrap() as f64 / 1e9;
    assert_close("longest response", response(1.0), 2.0, 0.01);
    // A tenth of the arrivals came in the first second of the stall, a fifth in both.
    assert!(response(0.99) > 1.7, "p99 of {} s", response(0.99));
    assert!(response(0.82) > 0.01 && response(0.79) < 0.01, "a fifth of the transactions waited");
}

#[test]
fn a_stall_does_not_show_in_the_service_time_of_those_that_waited_for_a_client() {
    let plan = paced(20, 500.0);
    let ran = run(&plan, stalling(3000, 5000));
    let service = &ran.summary().total.service;
    // Only the twenty that were running when the stall began, or started during it.
    let all_but_twenty = (ran.counts().succeeded - 20) as f64 / ran.counts().succeeded as f64;
    assert!(service.quantile_ns(all_but_twenty - 1e-9).unwrap() < 510_000);
    assert_close("longest service", service.max_ns().unwrap() as f64, 2e9, 0.03);
}

#[test]
fn twenty_thousand_starts_per_second_survive_a_stall_of_two_seconds_without_losing_one() {
    let plan = Plan { limit: Limit::Duration(seconds(3)), ..paced(64, 20_000.0) };
    let ran = run(&plan, stalling(200, 2200));
    assert_eq!(ran.counts().scheduled, arrivals::count(&plan, Duration::ZERO, seconds(3)));
    assert_eq!(ran.counts().succeeded, ran.counts().scheduled);
    assert_close("longest lag", ran.summary().total.lag_max_ns as f64, 2e9, 0.01);
    let undisturbed = run(&plan, FakeServer::default());
    assert_eq!(undisturbed.counts().scheduled, ran.counts().scheduled, "the server has no say in it");
    assert_eq!(undisturbed.summary().total.lag_quantile_ns(0.99), Some(0), "each began in its nanosecond");
}

#[test]
fn what_was_scheduled_and_never_started_is_unfinished() {
    let plan = paced(20, 500.0);
    let ran = run(&plan, stalling(8000, 12_000));
    let counts = ran.counts();
    assert_eq!(counts.scheduled, arrivals::count(&plan, Duration::ZERO, seconds(10)));
    let in_stall = arrivals::count(&plan, seconds(8), seconds(10));
    assert!(counts.unfinished.abs_diff(in_stall - 20) <= 2, "{} of {in_stall}", counts.unfinished);
    let whole = ran.summary().duration + ran.summary().tail;
    assert_close("duration and tail", whole.as_secs_f64(), 12.0, 0.001);
    assert_eq!(ran.outcome.end, End::Complete);
}

#[test]
fn a_rate_beyond_the_server_is_not_thinned_out() {
    let plan = Plan { limit: Limit::Duration(seconds(5)), ..paced(1, 4000.0) };
    let ran = run(&plan, FakeServer::default());
    let counts = ran.counts();
    assert_eq!(counts.scheduled, arrivals::count(&plan, Duration::ZERO, seconds(5)));
    assert_close("succeeded", counts.succeeded as f64, 10_000.0, 0.01);
    assert_eq!(counts.unfinished, counts.scheduled - counts.succeeded);
    // The last served one had waited for half of the time.
    assert_close("longest response", ran.summary().total.response.max_ns().unwrap() as f64, 2.5e9, 0.03);
    assert_close("longest service", ran.summary().total.service.max_ns().unwrap() as f64, 5e5, 0.01);
}

#[test]
fn each_client_runs_exactly_the_number_of_transactions_asked_for_under_a_rate_too() {
    let plan = Plan { limit: Limit::TransactionsPerClient(50), ..paced(4, 1000.0) };
    let ran = run(&plan, FakeServer::default());
    assert_eq!((ran.counts().scheduled, ran.counts().succeeded), (200, 200));
}

#[test]
fn an_arrival_that_waited_for_its_time_at_a_client_is_not_lost_with_the_client() {
    // Both clients wait for an arrival nearly all of the time; one of them loses its connection.
    let plan = paced(2, 5.0);
    let ran = run(&plan, faulty(vec![fault(0, FaultTrigger::Time(at_ms(4000)), FaultEffect::Close)]));
    assert_eq!(ran.outcome.aborted.len(), 1);
    assert_eq!(ran.counts().scheduled, arrivals::count(&plan, Duration::ZERO, seconds(10)));
    assert_eq!(ran.counts().succeeded, ran.counts().scheduled, "the other client was free to take it");
    assert_eq!(ran.summary().total.response.max_ns(), Some(500_000), "the other client took it in time");
}

#[test]
fn an_arrival_that_is_given_back_goes_to_a_client_that_had_found_none_left() {
    // The last arrival waits at one client while the other is done; then the one loses its connection.
    let plan = Plan { limit: Limit::Duration(seconds(4)), ..paced(2, 2.0) };
    let scheduled = arrivals::scheduled(&plan, seconds(4));
    let [.., before, last] = scheduled[..] else { panic!("two arrivals, not {scheduled:?}") };
    let waits = (scheduled.len() - 1) % 2;
    let between = Timestamp::ZERO + (before + last) / 2;
    let ran = run(&plan, faulty(vec![fault(waits, FaultTrigger::Time(between), FaultEffect::Close)]));
    assert_eq!(ran.outcome.aborted.len(), 1);
    assert_eq!(ran.counts().scheduled, scheduled.len() as u64);
    assert_eq!(ran.counts().unfinished, 0, "the client that had nothing left to do has done it");
    assert_eq!(ran.summary().total.response.max_ns(), Some(500_000), "and in time");
}

#[test]
fn each_arrival_draws_for_itself_whoever_runs_it_and_a_retry_draws_the_same() {
    let script = "\\set x random(1, 1000000000)\nSELECT :x;\n";
    let plan = |clients: usize, max_tries| Plan {
        clients,
        limit: Limit::TransactionsPerClient(200 / clients as u64),
        rate_per_s: Some(100.0),
        max_tries: NonZeroU32::new(max_tries),
        ..plan(script)
    };
    let drawn =
        |ran: &Ran| -> Vec<String> { ran.log.statements().into_iter().map(|(_, _, text)| text).collect() };
    let one = drawn(&run(&plan(1, 1), FakeServer::default()));
    assert_eq!(drawn(&run(&plan(5, 1), FakeServer::default())), one, "with five clients");
    let error = FaultEffect::error("40001", "could not serialize access");
    let ran = run(&plan(1, 2), faulty(vec![fault(0, FaultTrigger::Statement(70), error)]));
    let mut retried = drawn(&ran);
    assert_eq!(retried.remove(71), one[70], "the retry is the same statement");
    assert_eq!(retried, one, "and those after it are not changed by it");
}

#[test]
fn when_the_last_client_is_gone_the_arrivals_up_to_then_are_accounted_for() {
    let plan = paced(2, 200.0);
    let faults = [4000, 6000].map(|ms| FaultTrigger::Time(at_ms(ms)));
    let faults = faults.into_iter().enumerate().map(|(client, at)| fault(client, at, FaultEffect::Close));
    let ran = run(&plan, faulty(faults.collect()));
    assert_eq!(ran.outcome.end, End::AllClientsAborted);
    assert_close("duration", ran.summary().duration.as_secs_f64(), 6.0, 0.001);
    assert_eq!(ran.counts().scheduled, due(&plan, &ran));
}

#[test]
fn when_the_user_stops_a_run_the_arrivals_up_to_then_are_accounted_for() {
    // A slow clock: nearly every reading finds an arrival due that was not due when the worker woke.
    for (clients, rate_per_s) in [(4, 900.0), (400, 900.0), (2, 9000.0)] {
        let plan = paced(clients, rate_per_s);
        let server = FakeServer { tick: ms(5), ..FakeServer::default() };
        let ran = run_until(&plan, server, seconds(4));
        assert_eq!(ran.outcome.end, End::Interrupted);
        assert_eq!(ran.counts().scheduled, due(&plan, &ran), "{clients} clients");
    }
}

#[test]
fn when_the_user_stops_a_run_that_counts_transactions_the_arrivals_that_nobody_took_are_accounted_for() {
    let plan = Plan { limit: Limit::TransactionsPerClient(u64::MAX), ..paced(20, 500.0) };
    let ran = run_until(&plan, stalling(3000, 100_000), seconds(6));
    assert_eq!(ran.outcome.end, End::Interrupted);
    assert_eq!(ran.counts().scheduled, due(&plan, &ran));
    // Not more than the clients would have run.
    let plan = Plan { limit: Limit::TransactionsPerClient(100), ..plan };
    let ran = run_until(&plan, stalling(3000, 100_000), seconds(6));
    assert_eq!((ran.outcome.end.clone(), ran.counts().scheduled), (End::Interrupted, 2000));
}

#[test]
fn stopped_in_a_stall_a_run_counts_what_waits_as_unfinished() {
    let plan = paced(20, 500.0);
    let ran = run_until(&plan, stalling(3000, 100_000), seconds(6));
    assert_eq!(ran.outcome.end, End::Interrupted);
    let counts = ran.counts();
    assert_eq!(counts.scheduled, due(&plan, &ran));
    let in_stall = arrivals::count(&plan, seconds(3), ran.summary().duration);
    assert!(
        counts.unfinished.abs_diff(in_stall) <= 2,
        "{} unfinished, {in_stall} in the stall",
        counts.unfinished
    );
}

#[test]
fn a_slow_transaction_delays_only_its_own_client() {
    // One client works for five seconds, the other serves all arrivals meanwhile.
    let server = FakeServer {
        service: Service::Exponential(ms(1)),
        ..faulty(vec![fault(0, FaultTrigger::Statement(10), FaultEffect::Silence)])
    };
    let plan = Plan { limit: Limit::Duration(seconds(5)), ..paced(2, 100.0) };
    let ran = run_until(&plan, server, seconds(8));
    assert_eq!(ran.counts().unfinished, 1);
    assert_eq!(ran.counts().scheduled, arrivals::count(&plan, Duration::ZERO, seconds(5)));
}
