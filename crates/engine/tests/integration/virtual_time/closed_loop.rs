//! The closed loop: each client starts its next transaction when the previous one has ended. With a server of known
//! times all results can be calculated by hand.

use pgmeter_engine::{End, Limit, Plan};
use testkit::fake::{FakeServer, FaultEffect, FaultTrigger, Service, Stall};

use super::support::{Second, assert_close, at_ms, fault, faulty, ms, plan, run, seconds, us};

/// The default server: 50 µs there, 400 µs of work, 50 µs back.
const STATEMENT_S: f64 = 500e-6;

#[test]
fn throughput_is_clients_over_the_time_of_a_transaction() {
    for clients in [1, 7, 64] {
        let limit = Limit::Duration(seconds(1));
        let ran = run(&Plan { clients, limit, ..plan("SELECT 1;") }, FakeServer::default());
        let expected = clients as f64 / STATEMENT_S;
        assert_close("tps", ran.summary().tps(), expected, 0.002);
        assert_eq!(ran.outcome.end, End::Complete);
        assert_eq!(ran.counts().succeeded, ran.counts().scheduled);
    }
}

#[test]
fn a_transaction_takes_the_time_of_all_its_statements() {
    let ran = run(&plan("BEGIN;\nSELECT 1;\nUPDATE t SET a = 1;\nEND;\n"), FakeServer::default());
    assert_close("tps", ran.summary().tps(), 0.25 / STATEMENT_S, 0.001);
    assert_close("mean", ran.summary().total.service.mean_ns().unwrap(), 4.0 * STATEMENT_S * 1e9, 0.001);
}

#[test]
fn with_exponential_service_times_the_mean_and_the_deviation_are_theirs() {
    let server = FakeServer { service: Service::Exponential(ms(2)), ..FakeServer::default() };
    let limit = Limit::Duration(seconds(3));
    let ran = run(&Plan { clients: 32, limit, ..plan("SELECT 1;") }, server);
    let service = &ran.summary().total.service;
    assert_close("mean", service.mean_ns().unwrap(), 2.1e6, 0.02);
    assert_close("standard deviation", service.stddev_ns().unwrap(), 2.0e6, 0.02);
    // Of an exponential distribution 1 % are above mean · ln 100.
    assert_close("p99", service.quantile_ns(0.99).unwrap() as f64, 0.1e6 + 2.0e6 * 100_f64.ln(), 0.03);
}

#[test]
fn without_a_rate_response_and_service_times_are_the_same() {
    let ran = run(&Plan { clients: 3, ..plan("SELECT 1;\nSELECT 2;") }, FakeServer::default());
    assert_eq!(ran.summary().total.response, ran.summary().total.service);
}

#[test]
fn each_client_runs_exactly_the_number_of_transactions_asked_for() {
    let limit = Limit::TransactionsPerClient(100);
    let ran = run(&Plan { clients: 5, limit, ..plan("SELECT 1;\nSELECT 2;") }, FakeServer::default());
    assert_eq!(ran.counts().succeeded, 500);
    assert_eq!(ran.counts().scheduled, 500);
    for client in 0..5 {
        assert_eq!(ran.log.statements_of(client).len(), 200);
    }
    assert_close("duration", ran.summary().duration.as_secs_f64(), 200.0 * STATEMENT_S, 0.001);
}

#[test]
fn failed_transactions_count_towards_the_number_asked_for() {
    let limit = Limit::TransactionsPerClient(10);
    let server = faulty(vec![fault(0, FaultTrigger::Statement(4), FaultEffect::error("40001", "not now"))]);
    let ran = run(&Plan { limit, ..plan("SELECT 1;") }, server);
    assert_eq!((ran.counts().succeeded, ran.counts().failures.serialization), (9, 1));
    assert_eq!(ran.log.statements_of(0).len(), 10);
}

#[test]
fn transactions_of_the_warm_up_do_not_count_towards_the_number_asked_for() {
    let limit = Limit::TransactionsPerClient(30);
    let ran =
        run(&Plan { clients: 4, limit, warmup: seconds(1), ..plan("SELECT 1;") }, FakeServer::default());
    assert_eq!(ran.counts().scheduled, 120);
    assert_close("warm-up", ran.outcome.warmup_transactions as f64, 4.0 / STATEMENT_S, 0.001);
    assert_eq!(ran.log.statements().len() as u64, 120 + ran.outcome.warmup_transactions);
}

#[test]
fn nothing_that_was_scheduled_before_the_end_of_the_warm_up_is_measured() {
    let server = FakeServer { service: Service::Fixed(ms(400)), ..FakeServer::default() };
    let limit = Limit::Duration(seconds(2));
    let ran = run(&Plan { limit, warmup: seconds(1), ..plan("SELECT 1;") }, server);
    // Scheduled at 0, 0.4 and 0.8 s in the warm-up, the last of which ends in the measured window; then at
    // 1.2, 1.6, 2.0, 2.4 and 2.8 s, the last of which ends at 3.2 s.
    assert_eq!(ran.outcome.warmup_transactions, 3);
    assert_eq!(ran.counts().succeeded, 5);
    assert_close("duration", ran.summary().duration.as_secs_f64(), 2.0, 0.001);
    assert_close("tail", ran.summary().tail.as_secs_f64(), 0.2, 0.01);
    // Half of the third and half of the last are in the measured time.
    assert_close("tps", ran.summary().tps(), 2.5, 0.001);
    let seen: Vec<_> = ran.seconds.iter().map(|second| (second.warmup, succeeded(second))).collect();
    assert_eq!(seen, [(true, 2), (false, 1), (false, 3), (false, 1)]);
}

fn succeeded(second: &Second) -> u64 {
    second.interval.total().counts.succeeded
}

#[test]
fn seconds_of_the_warm_up_are_shown_and_flagged_and_the_last_is_cut_where_it_ends() {
    let limit = Limit::Duration(seconds(2));
    let ran = run(&Plan { limit, warmup: ms(1500), ..plan("SELECT 1;") }, FakeServer::default());
    let seen: Vec<_> = ran
        .seconds
        .iter()
        .map(|second| (second.warmup, second.elapsed.as_millis(), succeeded(second)))
        .collect();
    assert_eq!(seen[0], (true, 1000, seen[0].2));
    let shape: Vec<_> = seen.iter().map(|(warmup, elapsed, _)| (*warmup, *elapsed)).collect();
    assert_eq!(shape[..4], [(true, 1000), (true, 1500), (false, 2500), (false, 3500)]);
    for (expected, (_, elapsed, found)) in [2000.0, 1000.0, 2000.0, 2000.0].iter().zip(&seen) {
        assert!((*found as f64 - expected).abs() <= 2.0, "{found} until {elapsed} ms, expected {expected}");
    }
}

#[test]
fn the_cpu_time_is_that_of_the_measured_window() {
    // In virtual time the processor is busy for a quarter of the time.
    for script in ["SELECT 1;", "\\set a 1\n"] {
        for warmup in [ms(0), ms(2500)] {
            let limit = Limit::Duration(seconds(2));
            let server = FakeServer { tick: us(200), ..FakeServer::default() };
            let ran = run(&Plan { limit, warmup, clients: 5, ..plan(script) }, server);
            let busy_s = ran.summary().duration.as_secs_f64() / 4.0;
            assert_close("CPU time", ran.outcome.client_cpu.as_secs_f64(), busy_s, 0.001);
        }
    }
}

#[test]
fn a_run_without_a_measured_window_measures_nothing() {
    let limit = Limit::Duration(seconds(0));
    let ran = run(&Plan { limit, clients: 2, ..plan("SELECT 1;") }, FakeServer::default());
    assert_eq!(ran.counts().scheduled, 0);
    assert_eq!(ran.outcome.end, End::Complete);
}

#[test]
fn every_second_has_its_share_of_the_transactions() {
    let ran = run(&Plan { clients: 2, ..plan("SELECT 1;") }, FakeServer::default());
    assert!((10..=11).contains(&ran.seconds.len()), "{} seconds", ran.seconds.len());
    for second in &ran.seconds[..10] {
        assert_close("a second's transactions", succeeded(second) as f64, 2.0 / STATEMENT_S, 0.002);
    }
}

#[test]
fn a_transaction_under_way_at_the_end_is_finished_and_counted() {
    let server = FakeServer { service: Service::Fixed(seconds(3)), ..FakeServer::default() };
    let ran = run(&Plan { clients: 2, ..plan("SELECT 1;") }, server);
    assert_eq!(ran.counts().succeeded, 8);
    assert_eq!(ran.counts().unfinished, 0);
    assert_close("duration", ran.summary().duration.as_secs_f64(), 10.0, 0.001);
    assert_close("tail", ran.summary().tail.as_secs_f64(), 2.0, 0.001);
    assert_close("tps", ran.summary().tps(), 2.0 / 3.0, 0.001);
}

#[test]
fn a_stall_shows_once_per_client_since_they_all_wait_in_it() {
    let stalls = vec![Stall { from: at_ms(3000), until: at_ms(5000) }];
    let server = FakeServer { stalls, ..FakeServer::default() };
    let latency_limit = Some(seconds(1));
    let ran = run(&Plan { clients: 6, latency_limit, ..plan("SELECT 1;") }, server);
    assert_eq!(ran.counts().late, 6);
    assert_close("the longest", ran.summary().total.response.max_ns().unwrap() as f64, 2e9, 0.001);
    let total = &ran.summary().total;
    assert_eq!(total.response, total.service, "nothing was scheduled that could have waited");
    assert!(total.response.quantile_ns(0.999).unwrap() < 1_000_000, "those not sent are not made up");
    assert_close("transactions", ran.counts().succeeded as f64, 6.0 * 8.0 / STATEMENT_S, 0.001);
    // The server's clock and the run's begin within a millisecond of each other.
    let per_second: Vec<_> = ran.seconds[..10].iter().map(|second| succeeded(second) > 100).collect();
    assert_eq!(per_second, [true, true, true, false, false, true, true, true, true, true]);
}

#[test]
fn late_ones_are_counted_from_above_the_limit() {
    let server = FakeServer { service: Service::Fixed(us(400)), ..FakeServer::default() };
    for (limit, all_are_late) in [(us(499), true), (us(510), false)] {
        let plan = Plan { latency_limit: Some(limit), ..plan("SELECT 1;") };
        let counts = run(&plan, server.clone()).counts();
        assert_eq!(counts.late, if all_are_late { counts.succeeded } else { 0 });
    }
}

#[test]
fn the_client_that_answers_last_decides_how_long_the_tail_was() {
    let stalls = vec![Stall { from: at_ms(9999), until: at_ms(13_000) }];
    let ran = run(&Plan { clients: 2, ..plan("SELECT 1;") }, FakeServer { stalls, ..FakeServer::default() });
    assert_close("duration", ran.summary().duration.as_secs_f64(), 10.0, 0.001);
    assert_close("tail", ran.summary().tail.as_secs_f64(), 3.0, 0.001);
    assert_eq!(ran.counts().unfinished, 0);
}
