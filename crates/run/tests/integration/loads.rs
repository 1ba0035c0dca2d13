//! What the load consists of, and what the record counts.
//! Counts are compared with what the server received.

use std::time::Duration;

use null::session::FaultEffect;
use pgmeter_run::{Finished, RunSpec};
use results::Status;
use stats::Counts;
use stats::load::Limit;
use testkit::null::{NullOptions, Stalls};

use crate::on_null::{Statements, fault, run, run_on, script, spec};

/// Each transaction that was due has exactly one ending, in the sum and in each interval.
fn assert_adds_up(finished: &Finished) -> Counts {
    let record = &finished.record;
    let counts = record.summary.counts;
    let endings = |it: &Counts| it.succeeded + it.failed + it.skipped + it.unfinished + it.unknown;
    assert_eq!(counts.scheduled, endings(&counts), "{counts:?}");
    let of_intervals: u64 = record.intervals.iter().map(|interval| interval.counts.succeeded).sum();
    assert_eq!(of_intervals, counts.succeeded);
    let of_scripts: u64 = record.summary.scripts.iter().map(|script| script.counts.succeeded).sum();
    assert_eq!(of_scripts, counts.succeeded);
    counts
}

#[test]
fn each_client_runs_its_number_of_transactions_and_no_other() {
    let statements = Statements::default();
    let limit = Limit::TransactionsPerClient(7);
    let finished =
        run_on(statements.noted(), RunSpec { clients: 3, limit, ..spec("SELECT 'mine';") }).expect("a run");
    assert_eq!(assert_adds_up(&finished).succeeded, 21);
    assert_eq!(statements.count("SELECT 'mine';"), 21, "what is counted was sent");
    assert_eq!(finished.record.status, Status::Complete);
}

#[test]
fn scripts_run_by_their_weights_and_never_without_one() {
    let statements = Statements::default();
    let scripts = vec![
        script("often", "SELECT 'often';", 9),
        script("rare", "SELECT 'rare';", 1),
        script("never", "SELECT 'never';", 0),
    ];
    let limit = Limit::TransactionsPerClient(1_000);
    let finished = run_on(statements.noted(), RunSpec { scripts, limit, ..spec("") }).expect("a run");
    let of_scripts: Vec<u64> =
        finished.record.summary.scripts.iter().map(|script| script.counts.succeeded).collect();
    assert_eq!(assert_adds_up(&finished).succeeded, 1_000);
    // Ten standard deviations around the mean; the seed is fixed.
    assert!(of_scripts[1] > 10 && of_scripts[1] < 200 && of_scripts[2] == 0, "{of_scripts:?}");
    assert_eq!(statements.count("SELECT 'rare';") as u64, of_scripts[1]);
    assert_eq!(statements.count("SELECT 'never';"), 0);
}

#[test]
fn one_seed_is_one_sequence_of_random_numbers() {
    let values = |seed| {
        let statements = Statements::default();
        let text = "\\set value random(1, 1000)\nSELECT :value;";
        let limit = Limit::TransactionsPerClient(50);
        let finished =
            run_on(statements.noted(), RunSpec { seed: Some(seed), limit, ..spec(text) }).expect("a run");
        assert_eq!(finished.record.plan.seed, seed);
        (1..=1_000).map(|value| statements.count(&format!("SELECT {value};"))).collect::<Vec<_>>()
    };
    assert_eq!(values(4), values(4));
    assert_ne!(values(4), values(5));
}

#[test]
fn the_warm_up_is_load_but_not_measured() {
    let statements = Statements::default();
    let (warmup, limit) = (Duration::from_secs(1), Limit::Duration(Duration::from_millis(300)));
    let finished =
        run_on(statements.noted(), RunSpec { warmup, limit, ..spec("SELECT 'warm';") }).expect("a run");
    let counts = assert_adds_up(&finished);
    assert!(counts.succeeded > 0 && counts.succeeded < statements.count("SELECT 'warm';") as u64);
    assert!(finished.record.summary.duration_s < 1.0, "{}", finished.record.summary.duration_s);
}

#[test]
fn what_was_due_while_the_server_was_silent_is_skipped_and_counted() {
    let stalls = Some(Stalls { every: Duration::from_millis(200), length: Duration::from_millis(400) });
    let finished = run_on(
        NullOptions { stalls, ..NullOptions::default() },
        RunSpec {
            clients: 2,
            limit: Limit::Duration(Duration::from_millis(1_500)),
            rate_tps: Some(500.0),
            latency_limit: Some(Duration::from_millis(50)),
            ..spec("SELECT 1;")
        },
    )
    .expect("a run");
    let counts = assert_adds_up(&finished);
    assert!(counts.skipped > 50, "{counts:?}");
    let share = finished.record.summary.late_or_skipped_share.expect("there is a limit");
    let expected = (counts.skipped + counts.late) as f64 / counts.scheduled as f64;
    assert!((share - expected).abs() < 1e-9, "{share} {expected}");
}

#[test]
fn a_serialization_failure_is_tried_again_and_one_try_is_a_failure() {
    let failures = |max_tries| {
        let error = FaultEffect::error("40001", "could not serialize access");
        // The first statement of the only client; the connection before it is pgmeter's own.
        let options = NullOptions { faults: vec![fault(Some(1), 3, error)], ..NullOptions::default() };
        let max_tries = std::num::NonZeroU32::new(max_tries);
        let finished = run_on(options, RunSpec { max_tries, ..spec("SELECT 1;") }).expect("a run");
        let counts = assert_adds_up(&finished);
        (counts.succeeded, counts.failed, counts.retried)
    };
    assert_eq!(failures(1), (9, 1, 0));
    assert_eq!(failures(3), (10, 0, 1));
}

#[test]
fn a_password_in_a_variable_is_in_no_record() {
    let variables = [("api_password".to_owned(), "verysecret".to_owned())].into();
    let finished = run(RunSpec { variables, ..spec("SELECT :api_password;") });
    let json = serde_json::to_string(&finished.record).expect("a record is JSON");
    assert!(json.contains("api_password") && !json.contains("verysecret"));
}
