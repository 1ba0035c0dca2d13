//! A tracer receives each transaction when it ends, and the events of clients;
//! measuring does not depend on it.

use std::num::NonZeroU32;
use std::sync::atomic::AtomicBool;

use pgmeter_engine::{End, Limit, Plan, Tracer, no_tracer, run_on};
use stats::Ending;
use testkit::fake::{FakeServer, FaultEffect, FaultTrigger};

use super::support::{fault, faulty, ms, plan, run, seconds};

#[test]
fn each_transaction_is_shown_with_its_number_in_the_order_of_their_ends() {
    let limit = Limit::TransactionsPerClient(3);
    let ran = run(&Plan { clients: 2, limit, ..plan("SELECT 1;") }, FakeServer::default());
    let shown: Vec<_> = ran.seen.iter().map(|seen| (seen.client, seen.number)).collect();
    assert_eq!(shown, [(0, 1), (1, 1), (0, 2), (1, 2), (0, 3), (1, 3)]);
    assert!(ran.seen.windows(2).all(|pair| pair[0].sample.finished <= pair[1].sample.finished));
}

#[test]
fn the_warm_up_is_shown_too_and_its_transactions_are_numbered() {
    let limit = Limit::TransactionsPerClient(10);
    let ran = run(&Plan { limit, warmup: ms(100), ..plan("SELECT 1;") }, FakeServer::default());
    assert_eq!(ran.seen.len() as u64, 10 + ran.outcome.warmup_transactions);
}

#[test]
fn failed_transactions_are_shown_with_their_tries() {
    let faults = (3..5).map(|n| fault(0, FaultTrigger::Statement(n), FaultEffect::error("40001", "no")));
    let limit = Limit::TransactionsPerClient(5);
    let plan = Plan { limit, max_tries: NonZeroU32::new(2), ..plan("SELECT 1;") };
    let ran = run(&plan, faulty(faults.collect()));
    let tries: Vec<_> = ran.seen.iter().map(|seen| (seen.sample.tries, seen.sample.ending)).collect();
    let failed = Ending::Failed(stats::Failure::Serialization);
    let fine = (1, Ending::Succeeded);
    assert_eq!(tries, [fine, fine, fine, (2, failed), fine]);
}

#[test]
fn an_aborted_client_is_told_at_once() {
    let faults = vec![fault(1, FaultTrigger::Statement(3), FaultEffect::Close)];
    let ran = run(&Plan { clients: 2, limit: Limit::Duration(ms(100)), ..plan("SELECT 1;") }, faulty(faults));
    let told = ran.testimony.events.iter().filter(|text| text.starts_with("Aborted(")).count();
    assert_eq!((told, ran.outcome.aborted.len()), (1, 1));
}

#[test]
fn the_sampler_is_the_workers_third_stream() {
    // Reference, section 21: seed 42, two clients, one thread.
    let ran = run(
        &Plan { clients: 2, limit: Limit::TransactionsPerClient(1), ..plan("SELECT 1;") },
        FakeServer::default(),
    );
    let mut sampler = ran.testimony.intro.expect("a tracer").sampler;
    let doubles = [(); 3].map(|()| sampler.next_f64());
    for (found, expected) in doubles.into_iter().zip([0.986_442, 0.095_274, 0.776_383]) {
        assert!((found - expected).abs() < 1e-6, "{doubles:?}");
    }
}

/// Does not want transactions.
struct Aloof;

impl Tracer for Aloof {
    fn wants_transactions(&self) -> bool {
        false
    }

    fn transaction(&mut self, ended: &pgmeter_engine::EndedTransaction<'_>) {
        panic!("{ended:?} was not asked for");
    }
}

#[test]
fn a_run_is_the_same_whether_somebody_looks_or_not() {
    let plan =
        Plan { clients: 5, rate_per_s: Some(500.0), limit: Limit::Duration(seconds(1)), ..plan("SELECT 1;") };
    let watched = run(&plan, FakeServer::default());
    let unwatched = |tracer: &dyn Fn(pgmeter_engine::WorkerIntro) -> Box<dyn Tracer>| {
        let driver = FakeServer::default().driver();
        run_on(&plan, driver, &AtomicBool::new(false), &mut |_| {}, tracer).expect("an outcome").summary
    };
    assert_eq!(unwatched(&|_| Box::new(Aloof)), *watched.summary());
    assert_eq!(unwatched(&no_tracer), *watched.summary());
}

#[test]
fn the_first_aborted_client_can_end_the_run() {
    let faults = vec![fault(1, FaultTrigger::Statement(3), FaultEffect::error("42601", "syntax error"))];
    let plan = Plan { clients: 3, exit_on_abort: true, ..plan("SELECT 1;") };
    let ran = run(&plan, faulty(faults));
    assert_eq!(ran.outcome.end, End::AbortedOnError { worker: 0 });
    assert!(ran.outcome.elapsed < ms(10), "{:?}", ran.outcome.elapsed);
    assert_eq!(ran.aborted().len(), 1);
}

#[test]
fn the_last_client_can_end_the_run_by_its_abort_too() {
    let faults = vec![fault(0, FaultTrigger::Statement(3), FaultEffect::Close)];
    let ran = run(&Plan { exit_on_abort: true, ..plan("SELECT 1;") }, faulty(faults));
    assert_eq!(ran.outcome.end, End::AbortedOnError { worker: 0 });
}
