//! How runs end: with which status, what of them is measured, and what the caller returns.
//! Most servers here fail at a given statement of the first client.

use std::thread;
use std::time::Duration;

use null::session::FaultEffect;
use pgmeter_run::{Control, ExitStatus, RunRequest, RunSpec, Runner};
use results::Status;
use stats::OnDisconnect;
use stats::load::Limit;
use testkit::null::{NullOptions, NullServer};

use crate::on_null::{fault, run_on, spec, target};

/// A server that closes a client's connection at its fifth statement.
fn closing() -> NullOptions {
    NullOptions { faults: vec![fault(Some(1), 4, FaultEffect::Close)], ..NullOptions::default() }
}

fn reason(status: &Status) -> String {
    match status {
        Status::Failed { reason } => reason.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_client_that_loses_its_connection_is_aborted_and_the_others_go_on() {
    let limit = Limit::TransactionsPerClient(10);
    let finished = run_on(closing(), RunSpec { clients: 2, limit, ..spec("SELECT 1;") }).expect("a run");
    let reason = reason(&finished.record.status);
    assert!(reason.starts_with("1 of 2 clients were aborted; the first: "), "{reason}");
    let counts = finished.record.summary.counts;
    assert_eq!((finished.outcome.aborted.len(), counts.succeeded), (1, 4 + 10), "{counts:?}");
    assert_eq!((counts.scheduled, counts.unfinished), (15, 1), "the lost one is not forgotten");
}

#[test]
fn with_exit_on_abort_the_first_lost_client_ends_all() {
    let limit = Limit::Duration(Duration::from_secs(600));
    let spec = RunSpec { clients: 2, limit, exit_on_abort: true, ..spec("SELECT 1;") };
    let finished = run_on(closing(), spec).expect("a run");
    assert!(reason(&finished.record.status).starts_with("1 of 2 clients were aborted"));
    assert!(finished.record.summary.elapsed_s < 500.0);
}

#[test]
fn a_client_that_connects_again_has_an_outage_and_all_its_transactions() {
    let limit = Limit::TransactionsPerClient(10);
    let spec = RunSpec { limit, on_disconnect: OnDisconnect::Reconnect, ..spec("SELECT 1;") };
    let finished = run_on(closing(), spec).expect("a run");
    let record = &finished.record;
    assert_eq!(record.status, Status::Complete);
    let outages = record.summary.outages.as_ref().expect("a connection was lost");
    assert_eq!(outages.losses, 1, "{outages:?}");
    // The server may have executed the statement whose answer was lost.
    assert_eq!((record.summary.counts.succeeded, record.summary.counts.unknown), (9, 1));
}

#[test]
fn an_error_aborts_the_client_or_is_counted() {
    let failing = || {
        let error = FaultEffect::error("23505", "duplicate key");
        NullOptions { faults: vec![fault(Some(1), 2, error)], ..NullOptions::default() }
    };
    let aborted = run_on(failing(), spec("SELECT 1;")).expect("a run").record;
    assert!(reason(&aborted.status).contains("duplicate key"), "{:?}", aborted.status);
    let spec = RunSpec { continue_on_error: true, ..spec("SELECT 1;") };
    let counted = run_on(failing(), spec).expect("a run").record;
    assert_eq!(counted.status, Status::Complete);
    assert_eq!((counted.summary.counts.succeeded, counted.summary.counts.failed), (9, 1));
    let errors = counted.summary.errors.expect("they are recorded");
    assert!(serde_json::to_string(&errors).expect("JSON").contains("23505"));
}

#[test]
fn an_interrupted_run_keeps_what_it_measured() {
    let server = NullServer::on_unix_socket(NullOptions::default()).expect("a null server");
    let limit = Limit::Duration(Duration::from_secs(600));
    let runner = Runner::new(RunRequest::on(target(&server), RunSpec { limit, ..spec("SELECT 1;") }))
        .expect("it is valid");
    let control = Control::default();
    let prepared = runner.prepare(&control, &mut |_| ()).expect("it is prepared");
    let stopping = control.clone();
    let mut stop = Some(move || thread::spawn(move || stopping.interrupt()));
    let finished = prepared.run(&control, &engine::no_tracer, &mut |_| {
        // The first event of the load: a second of it is over.
        stop.take().map(|stop| stop());
    });
    let record = finished.expect("a run").record;
    assert_eq!(record.status, Status::Interrupted);
    assert!(record.summary.counts.succeeded > 0);
    assert!(record.summary.elapsed_s < 500.0);
}

#[test]
fn a_run_that_cannot_begin_has_no_record_and_the_status_of_one_that_did_not_start() {
    let fatal = FaultEffect::fatal("53300", "too many connections");
    let faults = vec![null::session::Fault {
        connection: Some(1),
        trigger: null::session::FaultTrigger::StartUp,
        effect: fatal,
    }];
    let failed = run_on(NullOptions { faults, ..NullOptions::default() }, spec("SELECT 1;"));
    let error = failed.err().expect("no client can connect");
    assert!(error.to_string().contains("too many connections"), "{error}");
    assert_eq!(ExitStatus::from(&error), ExitStatus::NotStarted);
}
