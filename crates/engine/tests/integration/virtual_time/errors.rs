//! The errors of a run by SQLSTATE and command, with their counts.
//! What happens to the transactions is tested in `retries` and `aborts`.

use pgmeter_engine::{ERROR_KINDS_MAX, ErrorCounts, ErrorKind, Limit, Plan};
use testkit::fake::{FakeServer, FaultEffect, FaultTrigger};

use super::support::{Ran, fault, faulty, mix, plan, run, seconds};

/// These statements of connection 0 fail with these codes.
fn failing(faults: &[(u64, &str)]) -> FakeServer {
    let fail = |(number, sqlstate): &(u64, &str)| {
        let effect = FaultEffect::error(sqlstate, &format!("statement {number}"));
        fault(0, FaultTrigger::Statement(*number), effect)
    };
    faulty(faults.iter().map(fail).collect())
}

fn kinds(ran: &Ran) -> Vec<(usize, String, String, ErrorCounts)> {
    let kind = |ErrorKind { command, error, counts, .. }: &ErrorKind| {
        (*command, error.sqlstate.to_string(), error.message.clone(), *counts)
    };
    ran.outcome.errors.kinds().iter().map(kind).collect()
}

#[test]
fn each_sqlstate_of_a_command_has_its_first_message_and_a_count() {
    let limit = Limit::TransactionsPerClient(4);
    let plan = Plan { limit, continue_on_error: true, ..plan("SELECT 1;\nSELECT 2;\n") };
    // A failed first command ends its transaction: 0, 1, then 2 and 3, then 4 and 5.
    let ran = run(&plan, failing(&[(0, "22012"), (1, "22012"), (3, "22012"), (4, "23505")]));
    let failed = |failed| ErrorCounts { failed, ..ErrorCounts::default() };
    let expected = [(0, "22012", 0, 2), (0, "23505", 4, 1), (1, "22012", 3, 1)];
    let expected = expected.map(|(command, sqlstate, first, count)| {
        (command, sqlstate.to_owned(), format!("statement {first}"), failed(count))
    });
    assert_eq!(kinds(&ran), expected);
    assert_eq!(ran.counts().failed, 4);
    assert_eq!(ran.outcome.errors.others(), ErrorCounts::default());
}

#[test]
fn retries_and_aborted_clients_are_counted_apart_from_failures() {
    let limit = Limit::TransactionsPerClient(2);
    let plan = Plan { limit, max_tries: std::num::NonZeroU32::new(2), ..plan("SELECT 1;\n") };
    let ran = run(&plan, failing(&[(0, "40001"), (1, "40001"), (2, "42P01")]));
    let counts: Vec<ErrorCounts> = kinds(&ran).into_iter().map(|kind| kind.3).collect();
    assert_eq!(
        counts,
        [
            ErrorCounts { failed: 1, retried: 1, aborted: 0 },
            ErrorCounts { failed: 0, retried: 0, aborted: 1 }
        ]
    );
}

#[test]
fn kinds_beyond_the_limit_are_counted_without_their_texts() {
    let script = "SELECT 1;\n".repeat(ERROR_KINDS_MAX + 3);
    let limit = Limit::TransactionsPerClient(u64::try_from(ERROR_KINDS_MAX).unwrap() + 3);
    let plan = Plan { limit, continue_on_error: true, ..mix(&[(&script, 1)]) };
    // Transaction n, from 0, fails in its command n: after n (n + 1) / 2 + n statements.
    let mut next = 0;
    let faults: Vec<(u64, &str)> = (0..=u64::try_from(ERROR_KINDS_MAX).unwrap() + 2)
        .map(|number| {
            let at = next + number;
            next = at + 1;
            (at, "22012")
        })
        .collect();
    let ran = run(&plan, failing(&faults));
    assert_eq!(ran.outcome.errors.kinds().len(), ERROR_KINDS_MAX);
    assert_eq!(ran.outcome.errors.others().failed, 3);
    assert_eq!(ran.counts().failed, u64::try_from(ERROR_KINDS_MAX).unwrap() + 3);
}

#[test]
fn errors_of_the_warm_up_are_left_out_like_its_transactions() {
    let plan = Plan {
        limit: Limit::Duration(seconds(2)),
        warmup: seconds(1),
        continue_on_error: true,
        ..plan("SELECT 1;\n")
    };
    let ran = run(&plan, failing(&[(0, "22012"), (1, "22012")]));
    assert!(ran.outcome.warmup_transactions > 2);
    assert_eq!((kinds(&ran), ran.counts().failed), (Vec::new(), 0));
}
