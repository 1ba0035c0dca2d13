//! Every run ends: running transactions at the end of a timed run have a grace period, then they are cancelled and
//! count as unfinished; a run of a number of transactions ends if the server is silent for too long.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pgmeter_engine::{
    Compatibility, CutOff, End, Exceeded, Grace, Limit, Plan, Progress, StopRequest, no_tracer, run_on,
};
use testkit::fake::{FakeServer, FaultEffect, FaultTrigger, Service, Stall};

use super::support::{at_ms, fault, faulty, ms, plan, run, seconds, slow};

/// A server that answers nothing during this period.
fn silent(from_ms: u64, until_ms: u64) -> FakeServer {
    let stalls = vec![Stall { from: at_ms(from_ms), until: at_ms(until_ms) }];
    FakeServer { stalls, ..slow() }
}

fn timed(clients: usize, text: &str) -> Plan {
    Plan { clients, limit: Limit::Duration(seconds(3)), ..plan(text) }
}

fn cut_off(clients: usize, of: usize, grace: Duration) -> End {
    End::CutOff(CutOff { clients, of, exceeded: Exceeded::Grace(grace) })
}

#[test]
fn transactions_of_a_silent_server_are_cut_off_after_the_grace_period_and_count_as_unfinished() {
    let ran = run(&timed(4, "SELECT 1;"), silent(2000, 1_000_000));
    assert_eq!(ran.outcome.end, cut_off(4, 4, seconds(10)));
    let counts = ran.counts();
    assert_eq!((counts.unfinished, counts.scheduled), (4, counts.succeeded + 4));
    let ran_for = ran.summary().total.unfinished.max_ns().map(Duration::from_nanos);
    assert!(
        ran_for >= Some(seconds(11)),
        "the time that they had run, the grace period included: {ran_for:?}"
    );
    assert_eq!(ran.summary().duration, seconds(3), "waiting for nothing is not measured");
    let last = ran.seconds.last().expect("seconds");
    assert!(last.elapsed >= seconds(13) && last.elapsed < ms(13_200), "{:?}", last.elapsed);
}

#[test]
fn the_grace_period_is_ten_times_the_99th_percentile_within_its_bounds() {
    for (service_s, grace_s) in [(1, 10), (2, 20), (20, 60)] {
        let server = FakeServer { service: Service::Fixed(seconds(service_s)), ..silent(100_000, 1_000_000) };
        let ran = run(&Plan { limit: Limit::Duration(seconds(120)), ..plan("SELECT 1;") }, server);
        let End::CutOff(CutOff { exceeded: Exceeded::Grace(grace), .. }) = ran.outcome.end else {
            panic!("{:?}", ran.outcome.end);
        };
        let off_by = grace.as_secs_f64() / grace_s as f64 - 1.0;
        assert!(off_by.abs() < 0.02, "service of {service_s} s: {grace:?}");
    }
}

#[test]
fn what_ends_within_the_grace_period_is_measured() {
    let ran = run(&timed(4, "SELECT 1;"), silent(2000, 9000));
    assert_eq!((ran.outcome.end.clone(), ran.counts().unfinished), (End::Complete, 0));
    let whole = ran.summary().duration + ran.summary().tail;
    assert!(whole > ms(8900), "{whole:?}");
    let one = Plan { grace: Grace::Fixed(seconds(5)), ..timed(4, "SELECT 1;") };
    assert_eq!(run(&one, silent(2000, 9000)).outcome.end, cut_off(4, 4, seconds(5)));
}

#[test]
fn one_client_that_is_stuck_neither_keeps_the_others_nor_dilutes_their_throughput() {
    let ran = run(
        &timed(5, "SELECT 1;"),
        faulty(vec![fault(2, FaultTrigger::Statement(100), FaultEffect::Silence)]),
    );
    assert_eq!(ran.outcome.end, cut_off(1, 5, seconds(10)));
    assert_eq!(ran.counts().unfinished, 1);
    assert!(ran.summary().duration < ms(3010), "{:?}", ran.summary().duration);
    let span_ns = ran.outcome.health[0].span_ns;
    assert!(span_ns < 3_200_000_000, "the worker's own figures end with the run: {span_ns}");
}

#[test]
fn a_sleep_that_is_too_long_is_cut_off_too() {
    let plan = Plan { grace: Grace::Fixed(ms(500)), ..timed(2, "SELECT 1;\n\\sleep 100 s\n") };
    let ran = run(&plan, slow());
    assert_eq!(ran.outcome.end, cut_off(2, 2, ms(500)));
    assert_eq!(ran.counts().unfinished, 2);
    let sentence = match ran.outcome.end {
        End::CutOff(cut_off) => cut_off.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(
        sentence.starts_with("transactions of 2 of 2 clients were still running 0.5 s after"),
        "{sentence}"
    );
}

#[test]
fn a_shell_command_that_takes_too_long_is_cut_off_and_pgbench_waits_for_it() {
    let server = || FakeServer { shell_time: seconds(100), ..slow() };
    let plan = Plan { grace: Grace::Fixed(ms(500)), ..timed(2, "SELECT 1;\n\\shell true\n") };
    let ran = run(&plan, server());
    assert_eq!(ran.outcome.end, cut_off(2, 2, ms(500)));
    assert_eq!((ran.counts().succeeded, ran.counts().unfinished), (0, 2));
    let ran = run(&Plan { compatibility: Compatibility::Pgbench, grace: Grace::Unlimited, ..plan }, server());
    assert_eq!((ran.outcome.end, ran.outcome.aborted.len()), (End::Complete, 0));
}

#[test]
fn clients_that_are_still_connecting_for_a_transaction_are_cut_off() {
    let plan = Plan { reconnect: true, rate_per_s: Some(10.0), ..timed(2, "SELECT 1;") };
    let silence = vec![
        fault(5, FaultTrigger::StartUp, FaultEffect::Silence),
        fault(6, FaultTrigger::StartUp, FaultEffect::Silence),
    ];
    let ran = run(&Plan { connect_timeout: seconds(1000), ..plan }, faulty(silence));
    assert_eq!(ran.outcome.end, cut_off(2, 2, seconds(10)));
    let counts = ran.counts();
    assert!(counts.unfinished > 2, "those that nobody was free for count too: {counts:?}");
}

#[test]
fn pgbench_waits_for_its_transactions_as_long_as_they_take() {
    let plan =
        Plan { compatibility: Compatibility::Pgbench, grace: Grace::Unlimited, ..timed(2, "SELECT 1;") };
    let ran = run(&plan, silent(2000, 500_000));
    assert_eq!((ran.outcome.end.clone(), ran.counts().unfinished), (End::Complete, 0));
    assert!(ran.outcome.elapsed >= seconds(499));
}

#[test]
fn a_run_of_a_number_of_transactions_ends_when_the_server_is_silent_for_too_long() {
    let limit = Limit::TransactionsPerClient(100_000);
    let plan = Plan { limit, silence_limit: Some(seconds(30)), ..timed(3, "SELECT 1;") };
    let ran = run(&plan, silent(2000, 1_000_000));
    let exceeded = Exceeded::Silence(seconds(30));
    assert_eq!(ran.outcome.end, End::CutOff(CutOff { clients: 3, of: 3, exceeded }));
    assert!(ran.summary().duration < seconds(34), "{:?}", ran.summary().duration);
    // A shorter silence does not end the run.
    let ran = run(&Plan { limit: Limit::TransactionsPerClient(10_000), ..plan }, silent(2000, 20_000));
    assert_eq!(ran.outcome.end, End::Complete);
}

#[test]
fn time_that_is_up_early_ends_the_run_as_its_limit_would() {
    let (stop, time_is_up) = (AtomicBool::new(false), AtomicBool::new(false));
    let plan = Plan {
        compatibility: Compatibility::Pgbench,
        limit: Limit::Duration(seconds(600)),
        ..plan("SELECT 1;")
    };
    let mut observer = |progress: &Progress<'_>| {
        time_is_up.store(progress.elapsed >= seconds(2), Ordering::Relaxed);
    };
    let request = StopRequest { stop: &stop, time_is_up: Some(&time_is_up), shared: None, gate: None };
    let driver = slow().driver();
    let outcome = run_on(&plan, driver, request, &mut observer, &no_tracer).expect("an outcome");
    assert_eq!((outcome.end, outcome.summary.total.counts.unfinished), (End::Complete, 0));
    assert!(outcome.elapsed < ms(2200), "{:?}", outcome.elapsed);
}

#[test]
fn a_deadline_ends_a_run_whatever_its_limit() {
    let deadline = Some(seconds(5));
    for limit in [Limit::Duration(seconds(600)), Limit::TransactionsPerClient(u64::MAX)] {
        let plan = Plan { limit, deadline, clients: 2, ..plan("SELECT 1;") };
        let ran = run(&plan, slow());
        let exceeded = Exceeded::Deadline(seconds(5));
        assert_eq!(ran.outcome.end, End::CutOff(CutOff { clients: 2, of: 2, exceeded }));
        assert!(ran.summary().duration < ms(5200), "{:?}", ran.summary().duration);
    }
}
