//! Failed transactions: retries, their number and random numbers,
//! counts and messages (reference, section 15).

use std::num::NonZeroU32;

use pgmeter_engine::{Compatibility, Limit, Plan, Protocol};
use stats::{Ending, Failure};
use testkit::fake::{FakeServer, Fault, FaultEffect, FaultTrigger};

use super::support::{Ran, fault, faulty, ms, plan, run, seconds};

const TRANSFER: &str = "\
\\set a random(1, 1000000)
BEGIN;
UPDATE t SET a = :a;
END;
";

/// These statements of connection 0 fail with this code.
fn failing(sqlstate: &str, statements: &[u64]) -> FakeServer {
    let fail =
        |number: &u64| fault(0, FaultTrigger::Statement(*number), FaultEffect::error(sqlstate, "not now"));
    faulty(statements.iter().map(fail).collect())
}

fn tries(tries: u32) -> Option<NonZeroU32> {
    NonZeroU32::new(tries)
}

/// Two transactions of one client.
fn two(max_tries: Option<NonZeroU32>, server: FakeServer) -> Ran {
    let limit = Limit::TransactionsPerClient(2);
    let ran = run(&Plan { limit, max_tries, ..plan(TRANSFER) }, server);
    assert_eq!(ran.aborted(), []);
    ran
}

fn updates(ran: &Ran) -> Vec<String> {
    ran.log.statements_of(0).into_iter().filter(|sql| sql.starts_with("UPDATE")).collect()
}

#[test]
fn a_transaction_that_failed_is_tried_again_with_the_same_draws() {
    for sqlstate in ["40001", "40P01"] {
        // Each try makes four statements: BEGIN, UPDATE, ROLLBACK; then the whole transaction.
        let ran = two(None, failing(sqlstate, &[1, 4, 7]));
        assert_eq!((ran.counts().succeeded, ran.counts().retried, ran.counts().retries), (2, 1, 3));
        let updates = updates(&ran);
        assert_eq!(updates.len(), 5);
        assert!(updates[..4].iter().all(|update| *update == updates[0]), "{updates:?}");
        assert_ne!(updates[4], updates[0], "the next transaction draws on");
        assert_eq!(ran.log.statements_of(0)[..5], ["BEGIN;", &updates[0], "ROLLBACK", "BEGIN;", &updates[0]]);
        let commands = ran.outcome.commands.of_script(0);
        assert_eq!((commands[2].retries, commands[2].failures), (3, 0));
        assert_eq!((commands[2].completed.count, commands[1].completed.count), (2, 5));
    }
}

#[test]
fn the_next_transaction_draws_what_it_would_have_drawn_without_a_failure() {
    let undisturbed = updates(&two(None, FakeServer::default()));
    let disturbed = updates(&two(None, failing("40001", &[1])));
    assert_eq!((&disturbed[1], &disturbed[2]), (&undisturbed[0], &undisturbed[1]));
}

#[test]
fn variables_keep_what_the_failed_try_gave_them() {
    let script = "\\set n :n + 1\nBEGIN;\nSELECT :n;\nEND;\n";
    let variables = vec![("n".to_owned(), "0".to_owned())];
    let plan = Plan { variables, max_tries: None, limit: Limit::TransactionsPerClient(1), ..plan(script) };
    let ran = run(&plan, failing("40001", &[1]));
    assert_eq!(ran.log.statements_of(0)[4], "SELECT 2;");
}

#[test]
fn a_latency_includes_all_tries() {
    let ran = two(None, failing("40001", &[1, 4]));
    let [first, second] = &ran.seen[..] else { panic!("two transactions") };
    // Nine statements of half a millisecond each, and then three.
    assert_eq!(
        (first.sample.tries, first.sample.finished.since(first.sample.started).as_micros() / 100),
        (3, 45)
    );
    assert_eq!(
        (second.sample.tries, second.sample.finished.since(second.sample.started).as_micros() / 100),
        (1, 15)
    );
}

#[test]
fn after_the_last_try_the_transaction_has_failed() {
    let ran = two(tries(3), failing("40001", &[1, 4, 7]));
    let counts = ran.counts();
    assert_eq!((counts.succeeded, counts.failures.serialization, counts.retries), (1, 1, 2));
    let commands = ran.outcome.commands.of_script(0);
    assert_eq!((commands[2].retries, commands[2].failures), (2, 1));
    assert_eq!(ran.seen[0].sample.ending, Ending::Failed(Failure::Serialization));
    assert_eq!(ran.seen[0].sample.tries, 3);
    assert_eq!(ran.log.statements_of(0)[8], "ROLLBACK", "the last failure is rolled back as well");
}

#[test]
fn errors_and_what_follows_are_told_to_the_tracer() {
    let ran = two(tries(2), failing("40001", &[1, 4]));
    let kinds: Vec<_> = ran.testimony.events.iter().filter_map(|told| told.split(' ').next()).collect();
    assert_eq!(kinds, ["Failed", "Retried", "Failed", "GaveUp"]);
    let told = &ran.testimony.events;
    assert!(
        told[0].contains("client: 0, script: 0, command: 2") && told[0].contains("not now"),
        "{}",
        told[0]
    );
    assert!(told[1].contains("client: 0, tries: 1"), "{}", told[1]);
    assert!(told[3].contains("client: 0, tries: 2"), "{}", told[3]);
}

#[test]
fn there_is_no_other_try_once_the_latency_limit_is_used_up() {
    // A try takes 1.5 ms: the third one ends after 4.5 ms.
    let faults: Vec<u64> = (0..100).map(|number| 1 + 3 * number).collect();
    let limit = Limit::TransactionsPerClient(1);
    let plan = Plan { limit, max_tries: None, latency_limit: Some(ms(4)), ..plan(TRANSFER) };
    let ran = run(&plan, failing("40001", &faults));
    assert_eq!((ran.counts().failures.serialization, ran.seen[0].sample.tries), (1, 3));
}

/// Every update fails.
fn always_failing() -> FakeServer {
    let faults: Vec<u64> = (0..100_000).map(|number| 1 + 3 * number).collect();
    failing("40001", &faults)
}

#[test]
fn there_is_no_other_try_after_the_end_of_the_run() {
    let limit = Limit::Duration(ms(100));
    let ran = run(&Plan { limit, max_tries: None, ..plan(TRANSFER) }, always_failing());
    assert_eq!((ran.counts().failures.serialization, ran.counts().unfinished), (1, 0));
    assert!(ran.summary().duration < ms(105), "{:?}", ran.summary().duration);
}

#[test]
fn as_pgbench_does_it_an_error_after_the_end_of_the_run_is_not_counted() {
    let limit = Limit::Duration(ms(100));
    let plan = Plan { limit, max_tries: None, compatibility: Compatibility::Pgbench, ..plan(TRANSFER) };
    let ran = run(&plan, always_failing());
    assert_eq!((ran.counts().failed, ran.counts().unfinished), (0, 1));
    assert_eq!(ran.outcome.commands.of_script(0)[2].failures, 0);
}

#[test]
fn another_error_ends_the_client_or_where_that_is_wanted_the_transaction_without_another_try() {
    for protocol in [Protocol::Simple, Protocol::Extended, Protocol::Prepared] {
        let limit = Limit::TransactionsPerClient(3);
        let plan = Plan { protocol, limit, max_tries: None, continue_on_error: true, ..plan(TRANSFER) };
        let ran = run(&plan, failing("22012", &[1]));
        assert_eq!(ran.aborted(), []);
        let counts = ran.counts();
        assert_eq!((counts.succeeded, counts.failures.other, counts.retries), (2, 1, 0));
        assert_eq!(ran.outcome.commands.of_script(0)[2].failures, 1);
        let ran = run(&Plan { continue_on_error: false, ..plan }, failing("22012", &[1]));
        assert_eq!((ran.counts().unfinished, ran.aborted().len()), (1, 1));
    }
}

#[test]
fn one_client_tries_again_while_the_others_go_on() {
    let faults: Vec<Fault> = (0..1000)
        .map(|number| {
            fault(
                1,
                FaultTrigger::Statement(1 + 3 * number),
                FaultEffect::error("40P01", "deadlock detected"),
            )
        })
        .collect();
    let plan =
        Plan { clients: 3, max_tries: tries(10), limit: Limit::Duration(seconds(1)), ..plan(TRANSFER) };
    let ran = run(&plan, faulty(faults));
    let of = |client| ran.seen.iter().filter(|seen| seen.client == client).count();
    assert!(of(0) > 650 && of(2) > 650, "{} {}", of(0), of(2));
    assert!((60..70).contains(&of(1)), "{}", of(1));
    assert_eq!(ran.counts().failures.deadlock, of(1) as u64);
}
