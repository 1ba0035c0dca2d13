//! One seed repeats a run exactly: counts, histograms, statements and their times. The seeds of the server and of the
//! plan are independent, and each makes a difference.

use pgmeter_engine::{Limit, Plan};
use testkit::fake::{FakeServer, Fault, FaultEffect, FaultTrigger, Pieces, Service, Stall};

use super::support::{Ran, at_ms, fault, mix, ms, run, seconds, slow, us};

const TRANSFER: &str = "\\set aid random(1, 1000)\nBEGIN;\nUPDATE a SET b = b + 1 WHERE aid = :aid;\nEND;\n";
const LOOKUP: &str = "\\set aid random(1, 1000)\nSELECT b FROM a WHERE aid = :aid;\n";

/// A mix of all features.
fn eventful(plan_seed: u64, server_seed: u64, rate_per_s: Option<f64>) -> Ran {
    let plan = Plan {
        clients: 8,
        seed: plan_seed,
        rate_per_s,
        warmup: ms(500),
        latency_limit: Some(ms(20)),
        limit: Limit::Duration(seconds(2)),
        ..mix(&[(TRANSFER, 2), (LOOKUP, 5), ("\\sleep 700 us\nSELECT 1;", 1)])
    };
    let each_connection = Fault {
        connection: None,
        trigger: FaultTrigger::Statement(900),
        effect: FaultEffect::error("40001", "could not serialize access"),
    };
    let faults = vec![
        each_connection,
        fault(3, FaultTrigger::Statement(700), FaultEffect::fatal("57P01", "terminating connection")),
        fault(5, FaultTrigger::Time(at_ms(1900)), FaultEffect::Close),
    ];
    let server = FakeServer {
        seed: server_seed,
        service: Service::Exponential(us(900)),
        pieces: Pieces::Random { longest: 40, gap: us(3) },
        stalls: vec![Stall { from: at_ms(1200), until: at_ms(1500) }],
        faults,
        ..slow()
    };
    run(&plan, server)
}

fn assert_same(first: &Ran, second: &Ran) {
    assert_eq!(first.summary(), second.summary());
    assert_eq!(first.seconds, second.seconds);
    assert_eq!(first.outcome.aborted, second.outcome.aborted);
    assert_eq!(first.outcome.connect_time, second.outcome.connect_time);
    assert_eq!(first.outcome.warmup_transactions, second.outcome.warmup_transactions);
    assert_eq!(first.log.entries(), second.log.entries());
}

#[test]
fn one_seed_repeats_a_closed_loop_in_every_detail() {
    let first = eventful(1, 2, None);
    let counts = first.counts();
    assert!(counts.succeeded > 1000 && counts.failures.serialization > 0 && counts.late > 0, "{counts:?}");
    assert_eq!(first.outcome.aborted.len(), 2);
    assert_same(&first, &eventful(1, 2, None));
}

#[test]
fn one_seed_repeats_an_open_loop_in_every_detail() {
    let first = eventful(1, 2, Some(2000.0));
    assert!(first.counts().succeeded > 1000 && first.counts().late > 0);
    assert_same(&first, &eventful(1, 2, Some(2000.0)));
}

#[test]
fn another_seed_of_the_plan_gives_other_statements() {
    let statements = |ran: &Ran| ran.log.statements_of(0);
    assert_ne!(statements(&eventful(1, 2, None)), statements(&eventful(2, 2, None)));
}

#[test]
fn another_seed_of_the_server_gives_other_times() {
    let (first, second) = (eventful(1, 2, None), eventful(1, 3, None));
    assert_ne!(first.summary().total.response, second.summary().total.response);
}
