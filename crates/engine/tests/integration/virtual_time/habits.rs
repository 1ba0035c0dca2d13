//! Differences of pgbench's compatibility: counting, and the end of a run.
//! Common behaviour is tested elsewhere.

use pgmeter_engine::{Compatibility, End, EngineError, Limit, Plan};
use stats::Ending;
use testkit::fake::{FakeServer, FaultEffect, FaultTrigger, Pieces, Service, Stall};

use super::arrivals;
use super::support::{assert_close, at_ms, fault, faulty, ms, plan, run, seconds, try_run};

fn of_pgbench(clients: usize) -> Plan {
    Plan {
        clients,
        compatibility: Compatibility::Pgbench,
        limit: Limit::Duration(seconds(5)),
        ..plan("SELECT 1;")
    }
}

/// Replies arrive in small pieces, so that connecting takes seconds.
fn slow_to_enter() -> FakeServer {
    FakeServer { pieces: Pieces::Random { longest: 9, gap: ms(10) }, ..FakeServer::default() }
}

#[test]
fn the_time_counts_from_before_the_clients_connect() {
    let ran = run(&of_pgbench(100), slow_to_enter());
    let connecting = ran.outcome.connect_time;
    assert!(connecting > seconds(1), "{connecting:?}");
    assert_close("time", (connecting + ran.outcome.elapsed).as_secs_f64(), 5.0, 0.05);
    let ours = run(&Plan { compatibility: Compatibility::Pgmeter, ..of_pgbench(100) }, slow_to_enter());
    assert!(ours.outcome.elapsed >= seconds(5), "{:?}", ours.outcome.elapsed);
}

#[test]
fn the_seconds_count_from_before_the_clients_connect_and_the_last_is_shown() {
    let ran = run(&of_pgbench(100), slow_to_enter());
    let connecting = ran.outcome.connect_time;
    assert!(connecting > seconds(1) && connecting < seconds(3), "{connecting:?}");
    let first = connecting.as_secs() + 1;
    let shown: Vec<_> = ran.seconds.iter().map(|second| second.elapsed).collect();
    let expected: Vec<_> = (first..=5).map(seconds).collect();
    assert_eq!(shown[..expected.len()], expected);
    assert!(ran.seconds.iter().all(|second| !second.warmup));
    let ours = run(&Plan { compatibility: Compatibility::Pgmeter, ..of_pgbench(100) }, slow_to_enter());
    let shown: Vec<_> = ours.seconds.iter().take(5).map(|second| second.elapsed).collect();
    assert_eq!(shown, (1..=5).map(seconds).collect::<Vec<_>>());
}

#[test]
fn a_run_whose_time_is_over_before_all_are_in_does_nothing() {
    let plan = Plan { limit: Limit::Duration(ms(500)), ..of_pgbench(100) };
    let ran = run(&plan, slow_to_enter());
    assert_eq!((ran.counts().scheduled, ran.outcome.end.clone()), (0, End::Complete));
}

#[test]
fn an_error_after_the_end_is_not_counted_as_a_failure() {
    // About every thousandth statement fails after the time is over.
    let faults = vec![
        fault(0, FaultTrigger::Statement(1), FaultEffect::error("40001", "no")),
        fault(0, FaultTrigger::Statement(2), FaultEffect::error("40001", "no")),
    ];
    let server = || FakeServer { service: Service::Fixed(seconds(2)), ..faulty(faults.clone()) };
    let ran = run(&of_pgbench(1), server());
    // The second fails in time, the third after the end.
    assert_eq!(
        (ran.counts().succeeded, ran.counts().failures.serialization, ran.counts().unfinished),
        (1, 1, 1)
    );
    let ours = run(&Plan { compatibility: Compatibility::Pgmeter, ..of_pgbench(1) }, server());
    assert_eq!((ours.counts().succeeded, ours.counts().failures.serialization), (1, 2));
}

#[test]
fn a_transaction_whose_script_ends_within_a_block_is_counted_before_its_client_is_aborted() {
    let script = "BEGIN;\nSELECT 1;\n";
    for (compatibility, counted) in [(Compatibility::Pgbench, (1, 0)), (Compatibility::Pgmeter, (0, 1))] {
        let ran = run(&Plan { compatibility, ..plan(script) }, FakeServer::default());
        assert_eq!((ran.counts().succeeded, ran.counts().unfinished), counted);
        assert_eq!(ran.outcome.end, End::AllClientsAborted);
    }
}

#[test]
fn what_found_no_free_client_is_not_counted_and_the_time_ends_with_the_last_transaction() {
    let plan = Plan { rate_per_s: Some(4000.0), ..of_pgbench(1) };
    let ran = run(&plan, FakeServer::default());
    assert_eq!(ran.counts().unfinished, 0);
    assert_close("succeeded", ran.counts().succeeded as f64, 10_000.0, 0.01);
    // Two arrivals in five seconds: the run is over when the second is.
    let rare = Plan { rate_per_s: Some(0.5), ..of_pgbench(1) };
    let ran = run(&rare, FakeServer::default());
    let last = arrivals::scheduled(&rare, seconds(5)).last().copied().expect("an arrival");
    assert_close("elapsed", ran.outcome.elapsed.as_secs_f64(), last.as_secs_f64(), 0.01);
    assert_eq!(ran.summary().duration, ran.outcome.elapsed);
}

#[test]
fn a_worker_that_cannot_wait_for_its_sockets_aborts_its_clients() {
    // The fake server's limit is reached; waiting is an error from now on.
    let server = || FakeServer {
        patience: seconds(2),
        stalls: vec![Stall { from: at_ms(1000), until: at_ms(100_000) }],
        ..FakeServer::default()
    };
    let ran = run(&of_pgbench(3), server());
    assert_eq!((ran.outcome.end.clone(), ran.aborted().len()), (End::AllClientsAborted, 3));
    assert!(ran.aborted()[0].1.contains("cannot wait for its sockets"), "{:?}", ran.aborted());
    let error =
        try_run(&Plan { compatibility: Compatibility::Pgmeter, ..of_pgbench(3) }, server(), seconds(100))
            .err();
    assert!(matches!(error, Some(EngineError::System { .. })), "{error:?}");
}

#[test]
fn the_time_elapsed_is_that_from_the_first_start_to_the_last_end() {
    let limit = Limit::TransactionsPerClient(4);
    let ran = run(&Plan { limit, clients: 2, warmup: ms(100), ..plan("SELECT 1;") }, FakeServer::default());
    let first = ran.seen.iter().map(|seen| seen.sample.started).min().expect("a transaction");
    let last = ran.seen.iter().map(|seen| seen.sample.finished).max().expect("a transaction");
    assert!(ran.seen.iter().all(|seen| seen.sample.ending == Ending::Succeeded));
    assert_close("elapsed", ran.outcome.elapsed.as_secs_f64(), last.since(first).as_secs_f64(), 1e-5);
}
