//! A server that stalls is always visible: periods without completions are found with any load, and each transaction
//! has a latency, however it ended.

use std::time::Duration;

use pgmeter_engine::{Limit, Plan};
use stats::LongGaps;
use testkit::fake::{FakeServer, FaultEffect, FaultTrigger, Service, Stall};

use super::support::{Ran, at_ms, fault, ms, plan, run, run_until, seconds, slow, us};

fn stalled(from_ms: u64, until_ms: u64) -> FakeServer {
    FakeServer { stalls: vec![Stall { from: at_ms(from_ms), until: at_ms(until_ms) }], ..slow() }
}

fn gaps(ran: &Ran) -> LongGaps {
    ran.outcome.gaps.longer_than(ms(10))
}

/// Expects one stall of about this length, counted from the start of measuring.
fn one_gap(ran: &Ran, start_ms: u64, end_ms: u64) {
    let LongGaps { count, total, longest } = gaps(ran);
    assert_eq!((count, longest.len()), (1, 1), "{longest:?}");
    let gap = longest[0];
    assert_eq!(gap.length(), total);
    let near = |found: Duration, expected_ms: u64| found.abs_diff(ms(expected_ms)) <= ms(3);
    assert!(near(gap.start, start_ms) && near(gap.end, end_ms), "{gap:?}, not {start_ms} to {end_ms} ms");
}

#[test]
fn a_stall_in_the_middle_of_a_closed_loop_is_a_gap() {
    let limit = Limit::Duration(seconds(6));
    let ran = run(&Plan { clients: 8, limit, ..plan("SELECT 1;") }, stalled(2_000, 3_500));
    one_gap(&ran, 2_000, 3_500);
    assert_eq!(gaps(&run(&Plan { clients: 8, limit, ..plan("SELECT 1;") }, FakeServer::default())).count, 0);
}

#[test]
fn a_stall_that_outlasts_the_run_is_a_gap_as_long_as_the_stall() {
    let limit = Limit::Duration(seconds(6));
    let ran = run(&Plan { clients: 8, limit, ..plan("SELECT 1;") }, stalled(4_000, 16_000));
    // Eight of thousands: none of the usual percentiles shows them.
    let p999_ns = ran.summary().total.response.quantile_ns(0.999).expect("some succeeded");
    assert!(Duration::from_nanos(p999_ns) < ms(3), "{p999_ns}");
    one_gap(&ran, 4_000, 16_000);
    assert_eq!(ran.outcome.gaps.last_start(), Some(seconds(6)));
}

#[test]
fn a_stall_at_whose_end_the_run_is_stopped_is_a_gap_and_its_transactions_are_unfinished_with_the_time_they_had()
 {
    let limit = Limit::Duration(seconds(60));
    let ran =
        run_until(&Plan { clients: 8, limit, ..plan("SELECT 1;") }, stalled(2_000, 100_000), seconds(7));
    assert_eq!(ran.counts().unfinished, 8);
    let unfinished = &ran.summary().total.unfinished;
    assert!(unfinished.min_ns().is_some_and(|ns| ns > 4_900_000_000), "{:?}", unfinished.min_ns());
    let LongGaps { count, total, .. } = gaps(&ran);
    assert!(count == 1 && total.abs_diff(seconds(5)) <= ms(150), "{count} of {total:?}");
}

#[test]
fn a_stall_that_the_warm_up_hands_to_the_measured_time_is_a_gap_of_that() {
    let limit = Limit::Duration(seconds(4));
    let warmup = seconds(2);
    let ran = run(&Plan { clients: 8, limit, warmup, ..plan("SELECT 1;") }, stalled(1_000, 3_000));
    one_gap(&ran, 0, 1_000);
    let ran = run(&Plan { clients: 8, limit, warmup, ..plan("SELECT 1;") }, stalled(500, 1_500));
    assert_eq!(gaps(&ran).count, 0);
}

#[test]
fn under_a_rate_only_time_in_which_something_was_due_is_a_gap() {
    let limit = Limit::Duration(seconds(20));
    let rated = Plan { clients: 8, limit, rate_per_s: Some(2.0), ..plan("SELECT 1;") };
    assert_eq!(
        gaps(&run(&rated, FakeServer::default())).count,
        0,
        "half a second between two arrivals is none"
    );
    let busy = Plan { rate_per_s: Some(1_000.0), ..rated };
    one_gap(&run(&busy, stalled(5_000, 6_200)), 5_000, 6_200);
}

#[test]
fn a_server_that_lets_nobody_in_is_a_gap_of_clients_that_connect_for_each_transaction() {
    let limit = Limit::Duration(seconds(6));
    let plan =
        Plan { clients: 4, limit, reconnect: true, connect_timeout: seconds(100), ..plan("SELECT 1;") };
    one_gap(&run(&plan, stalled(2_000, 4_000)), 2_000, 4_000);
}

#[test]
fn each_transaction_leaves_its_latency_under_its_ending() {
    let limit = Limit::Duration(seconds(3));
    let faults = vec![
        fault(0, FaultTrigger::Statement(100), FaultEffect::error("40001", "not now")),
        fault(1, FaultTrigger::Statement(100), FaultEffect::error("42601", "syntax error")),
    ];
    let server = FakeServer { faults, service: Service::Fixed(us(400)), ..stalled(1_000, 1_500) };
    let plan = Plan {
        clients: 4,
        limit,
        rate_per_s: Some(2_000.0),
        latency_limit: Some(ms(50)),
        ..plan("SELECT 1;")
    };
    let ran = run(&plan, server);
    let stats = &ran.summary().total;
    let counts = ran.counts();
    assert_eq!((ran.aborted().len(), counts.failed), (1, 1));
    assert!(counts.unfinished >= 1, "the last transaction of the aborted client");
    assert!(counts.skipped > 500, "{counts:?}");
    stats.check_recorded();
    assert_eq!(counts.scheduled, counts.succeeded + counts.failed + counts.skipped + counts.unfinished);
    assert!(stats.skipped.min_ns().is_some_and(|ns| ns > 50_000_000), "none is skipped that is not too late");
    assert!(stats.skipped.max_ns().is_some_and(|ns| (400_000_000..500_000_000).contains(&ns)));
    assert!(stats.failed.max_ns().is_some_and(|ns| ns >= 100_000));
}
