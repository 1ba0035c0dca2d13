//! Clients that connect again after their connection was lost: the endings of their transactions, the policies, and the
//! failover meter.

use std::num::NonZeroU32;
use std::time::Duration;

use pgmeter_engine::{AbortCause, End, EngineError, Limit, Plan, Protocol, Reconnecting};
use stats::{AttemptOutcome, LossCause, Outage, ReconnectPolicy};
use testkit::fake::{Down, Entry, FakeServer, FaultEffect, FaultTrigger, Received, Refusal, Service};

use super::arrivals;
use super::support::{Ran, at_ms, fault, faulty, mix, ms, plan, run, seconds, slow, try_run};

const BLOCK: &str = "BEGIN;\nUPDATE t SET a = 1;\nCOMMIT;\n";

/// The plan, with clients that connect again by this policy.
pub(super) fn returning(policy: &str, plan: Plan) -> Plan {
    let policy = policy.parse().expect("it is a policy");
    let reconnecting = Reconnecting { policy, attempt_timeout: seconds(10), targets: Vec::new() };
    Plan { reconnecting: Some(reconnecting), ..plan }
}

/// A server that is down from 2 s to 5 s.
fn down(effect: FaultEffect, refusal: Refusal) -> FakeServer {
    FakeServer { downs: vec![Down { from: at_ms(2_000), until: at_ms(5_000), effect, refusal }], ..slow() }
}

/// For tests of connections, whose transactions may be few.
const SLOW: Service = Service::Fixed(Duration::from_millis(10));

fn killed() -> FakeServer {
    down(FaultEffect::Reset, Refusal::Refused)
}

/// The only outage of a run.
fn outage(ran: &Ran) -> &Outage {
    let outages = ran.outcome.outages.as_ref().expect("the plan reconnects");
    assert_eq!(outages.outages.len(), 1, "{outages:?}");
    &outages.outages[0]
}

/// The n-th statement of the first connection of one client ends the connection; the client comes back.
fn lose_at(text: &str, statement: u64, protocol: Protocol) -> Ran {
    let limit = Limit::TransactionsPerClient(3);
    let plan = returning("immediate", Plan { limit, protocol, ..plan(text) });
    let ran = run(&plan, faulty(vec![fault(0, FaultTrigger::Statement(statement), FaultEffect::Close)]));
    assert_eq!((ran.outcome.end.clone(), ran.counts().scheduled), (End::Complete, 3));
    ran
}

#[test]
fn a_transaction_is_unknown_once_its_commit_was_sent_and_has_failed_before() {
    for protocol in [Protocol::Simple, Protocol::Extended, Protocol::Prepared] {
        for (text, statement, [succeeded, failed, unknown]) in [
            (BLOCK, 0, [2, 1, 0]),
            (BLOCK, 1, [2, 1, 0]),
            (BLOCK, 2, [2, 0, 1]),
            ("UPDATE t SET a = 1;\n", 1, [2, 0, 1]),
            ("BEGIN;\nUPDATE t SET a = 1;\nROLLBACK;\n", 2, [2, 1, 0]),
        ] {
            let counts = lose_at(text, statement, protocol).counts();
            let found = [counts.succeeded, counts.failures.connection, counts.unknown];
            assert_eq!(found, [succeeded, failed, unknown], "{protocol:?}, statement {statement} of {text}");
        }
    }
    let joined = "BEGIN\\;\nUPDATE t SET a = 1\\;\nCOMMIT;\n";
    assert_eq!(lose_at(joined, 0, Protocol::Simple).counts().unknown, 1, "in one message");
}

#[test]
fn a_pipeline_is_unknown_unless_it_holds_a_block_without_its_commit() {
    let whole = "\\startpipeline\nBEGIN;\nUPDATE t SET a = 1;\nCOMMIT;\n\\endpipeline\n";
    let open = "\\startpipeline\nBEGIN;\nUPDATE t SET a = 1;\n\\endpipeline\nCOMMIT;\n";
    let implicit = "\\startpipeline\nUPDATE t SET a = 1;\nUPDATE t SET a = 2;\n\\endpipeline\n";
    for (text, unknown) in [(whole, 1), (open, 0), (implicit, 1)] {
        let counts = lose_at(text, 1, Protocol::Extended).counts();
        assert_eq!((counts.unknown, counts.failures.connection), (unknown, 1 - unknown), "{text}");
    }
}

#[test]
fn the_server_s_last_message_is_the_class_of_the_error() {
    let effect = FaultEffect::fatal("57P01", "terminating connection due to administrator command");
    let limit = Limit::TransactionsPerClient(3);
    let plan = returning("immediate", Plan { limit, ..plan(BLOCK) });
    let ran = run(&plan, faulty(vec![fault(0, FaultTrigger::Statement(1), effect)]));
    let kinds = ran.outcome.errors.kinds();
    assert_eq!(
        (kinds.len(), kinds[0].error.sqlstate.to_string(), kinds[0].counts.failed),
        (1, "57P01".into(), 1)
    );
    assert_eq!(outage(&ran).clients[0].cause, LossCause::SqlState(*b"57P01"));
    let ran = lose_at(BLOCK, 1, Protocol::Simple);
    assert_eq!(ran.outcome.errors.kinds()[0].error.sqlstate.to_string(), "08006", "without a message");
}

#[test]
fn clients_come_back_when_the_server_does_and_each_attempt_is_counted() {
    let plan = returning("backoff:100ms..400ms", Plan { clients: 8, ..plan(BLOCK) });
    let ran = run(&plan, killed());
    assert_eq!((ran.outcome.end.clone(), &ran.outcome.aborted[..]), (End::Complete, &[][..]));
    let (counts, outage) = (ran.counts(), outage(&ran));
    assert_eq!(counts.failures.connection + counts.unknown, 8, "one transaction of each client");
    assert_eq!((outage.clients.len(), outage.never), (8, 0));
    let (from, until) = outage.window.expect("nobody wrote");
    assert!(from <= at_ms(2_000) && until > at_ms(5_000) && until < at_ms(5_500), "{from:?} {until:?}");
    assert!(outage.is_window_over);
    assert_eq!(outage.attempts.count(AttemptOutcome::Connected), 8);
    // Three seconds of pauses between 50 and 400 ms.
    let refused = outage.attempts.count(AttemptOutcome::Refused);
    assert_eq!(refused + 8, outage.attempts.total());
    assert!((8 * 7..8 * 24).contains(&refused), "{refused}");
    let first = outage.clients.iter().filter_map(|client| client.first_write).min();
    assert_eq!(first, outage.first_write);
    assert!(outage.first_error >= at_ms(2_000) && outage.first_error < at_ms(2_010));
    assert!(outage.first_connect > Some(at_ms(5_000)) && outage.first_connect <= outage.last_connect);
}

#[test]
fn a_server_that_starts_up_or_is_full_is_asked_again() {
    for (sqlstate, outcome) in [
        ("57P03", AttemptOutcome::StartingUp),
        ("53300", AttemptOutcome::TooManyConnections),
        ("57P01", AttemptOutcome::ShuttingDown),
        ("28P01", AttemptOutcome::Rejected),
    ] {
        let refusal = Refusal::StartUp(FaultEffect::fatal(sqlstate, "not now"));
        let ran = run(&returning("per-second:20", plan(BLOCK)), down(FaultEffect::Close, refusal));
        let outage = outage(&ran);
        // 20 per second for three seconds.
        let found = outage.attempts.count(outcome);
        assert!((55..=62).contains(&found), "{sqlstate}: {found}");
        assert_eq!((outage.attempts.total(), outage.never), (found + 1, 0));
    }
}

#[test]
fn arrivals_of_an_outage_wait_for_its_end_and_none_is_lost() {
    let plan = returning("immediate", Plan { rate_per_s: Some(100.0), clients: 4, ..plan(BLOCK) });
    let ran = run(&plan, killed());
    let counts = ran.counts();
    assert_eq!(counts.scheduled, arrivals::count(&plan, ms(0), seconds(10)));
    assert_eq!(counts.unfinished, 0);
    assert!(counts.failures.connection + counts.unknown <= 4);
    let longest = ran.summary().total.response.max_ns().map(Duration::from_nanos);
    assert!(longest > Some(ms(2_900)) && longest < Some(ms(3_200)), "{longest:?}");
    let outage = outage(&ran);
    let due = outage.arrivals.total();
    assert!((240..360).contains(&due), "100 per second for three seconds: {due}");
    assert_eq!(outage.arrivals.response.count(), outage.arrivals.endings[0]);
}

#[test]
fn a_server_that_never_comes_back_does_not_keep_the_run_from_its_end() {
    let forever = Down { until: at_ms(1_000_000), ..killed().downs[0].clone() };
    for rate_per_s in [None, Some(50.0)] {
        let plan = returning("backoff:10ms..1s", Plan { clients: 3, rate_per_s, ..plan(BLOCK) });
        let ran = run(&plan, FakeServer { downs: vec![forever.clone()], ..slow() });
        assert_eq!(ran.outcome.end, End::Complete);
        assert!(
            ran.outcome.elapsed >= seconds(10) && ran.outcome.elapsed < ms(10_300),
            "{:?}",
            ran.outcome.elapsed
        );
        let outage = outage(&ran);
        assert!(!outage.is_window_over && outage.never > 0);
        if rate_per_s.is_some() {
            assert_eq!(ran.counts().scheduled, arrivals::count(&plan, ms(0), seconds(10)));
            assert!(ran.counts().unfinished > 300, "{:?}", ran.counts());
            assert_eq!(outage.arrivals.endings[3], ran.counts().unfinished);
        }
    }
}

/// Times of the start-ups after the first ones, in the order of time.
fn startups(ran: &Ran, clients: usize) -> Vec<Duration> {
    let is_startup = |entry: &&Entry| matches!(entry.message, Received::StartUp { .. });
    let entries = ran.log.entries();
    let times = entries.iter().filter(is_startup).map(|entry| entry.at.since(at_ms(0)));
    times.skip(clients).collect()
}

#[test]
fn the_pauses_come_from_the_seed() {
    let refusal = || Refusal::StartUp(FaultEffect::fatal("57P03", "the database system is starting up"));
    let times = |seed| {
        let plan = returning("backoff:50ms..1s", Plan { clients: 5, seed, ..plan(BLOCK) });
        startups(&run(&plan, FakeServer { service: SLOW, ..down(FaultEffect::Reset, refusal()) }), 5)
    };
    let once = times(7);
    assert!(once.len() > 10);
    assert_eq!(once, times(7));
    assert_ne!(once, times(8));
}

#[test]
fn a_slow_start_lets_few_in_at_first() {
    let plan =
        returning("slow-start:4", Plan { clients: 40, limit: Limit::Duration(seconds(12)), ..plan(BLOCK) });
    let refusal = Refusal::StartUp(FaultEffect::fatal("57P03", "the database system is starting up"));
    let ran = run(&plan, FakeServer { service: SLOW, ..down(FaultEffect::Reset, refusal) });
    let within = |from: u64, until: u64| {
        startups(&ran, 40).into_iter().filter(|at| (ms(from)..ms(until)).contains(at)).count()
    };
    assert!((11..=14).contains(&within(2_000, 5_000)), "4 per second: {}", within(2_000, 5_000));
    let seconds: Vec<usize> =
        (0..3).map(|second| within(5_250 + second * 1_000, 6_250 + second * 1_000)).collect();
    // 8, 16 and 32 per second, until all are connected.
    assert!(seconds[0] <= 10 && seconds[1] > seconds[0], "{seconds:?}");
    assert_eq!(outage(&ran).never, 0);
}

#[test]
fn a_reply_that_is_overdue_ends_the_connection_and_counts_as_unknown_if_it_may_be_committed() {
    let limit = Limit::TransactionsPerClient(3);
    for (statement, unknown) in [(1, 0), (2, 1)] {
        let plan = Plan { limit, response_timeout: Some(seconds(2)), ..plan(BLOCK) };
        let silence = || faulty(vec![fault(0, FaultTrigger::Statement(statement), FaultEffect::Silence)]);
        let ran = run(&returning("immediate", plan), silence());
        let counts = ran.counts();
        assert_eq!((counts.unknown, counts.failures.connection), (unknown, 1 - unknown));
        let outage = outage(&ran);
        assert_eq!(outage.clients[0].cause, LossCause::NoResponse);
        assert!(
            outage.first_error >= at_ms(2_000) && outage.first_error <= at_ms(2_110),
            "{:?}",
            outage.first_error
        );
    }
    let plan = Plan { limit, response_timeout: Some(seconds(2)), ..plan(BLOCK) };
    let ran = run(&plan, faulty(vec![fault(0, FaultTrigger::Statement(1), FaultEffect::Silence)]));
    assert!(ran.aborted()[0].1.contains("no reply within 2 s"), "{:?}", ran.aborted());
}

#[test]
fn a_read_only_server_is_left_and_its_transaction_has_failed() {
    let limit = Limit::TransactionsPerClient(3);
    let plan = returning("immediate", Plan { limit, ..plan(BLOCK) });
    let effect = FaultEffect::error("25006", "cannot execute UPDATE in a read-only transaction");
    let ran = run(&plan, faulty(vec![fault(0, FaultTrigger::Statement(1), effect)]));
    let counts = ran.counts();
    assert_eq!((counts.succeeded, counts.failures.other, counts.unknown), (2, 1, 0));
    assert_eq!(outage(&ran).clients[0].cause, LossCause::SqlState(*b"25006"));
    assert_eq!(startups(&ran, 1).len(), 1);
}

#[test]
fn an_error_that_leaves_the_commit_in_doubt_is_unknown_also_without_reconnecting() {
    let limit = Limit::TransactionsPerClient(3);
    for sqlstate in ["40003", "08007"] {
        let effect = FaultEffect::error(sqlstate, "completion unknown");
        let server = || faulty(vec![fault(0, FaultTrigger::Statement(1), effect.clone())]);
        let plan = || Plan { limit, continue_on_error: true, ..plan(BLOCK) };
        for ran in [run(&plan(), server()), run(&returning("immediate", plan()), server())] {
            assert_eq!((ran.counts().succeeded, ran.counts().unknown), (2, 1));
        }
    }
}

/// A NoticeResponse with these fields.
fn notice(fields: &[(u8, &str)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (letter, value) in fields {
        body.push(*letter);
        body.extend_from_slice(value.as_bytes());
        body.push(0);
    }
    body.push(0);
    let length = u32::try_from(body.len() + 4).expect("it is short");
    [&b"N"[..], &length.to_be_bytes(), &body].concat()
}

#[test]
fn a_commit_that_was_perhaps_not_replicated_is_counted_in_any_language_of_the_server() {
    let french = [
        (b'S', "ATTENTION"),
        (b'V', "WARNING"),
        (b'C', "01000"),
        (b'M', "annulation de l'attente pour la réplication synchrone"),
        (b'R', "SyncRepWaitForLSN"),
    ];
    let other = [(b'S', "WARNING"), (b'V', "WARNING"), (b'C', "01000"), (b'R', "WarnNoTransactionBlock")];
    let limit = Limit::TransactionsPerClient(3);
    let say = |fields: &[(u8, &str)]| FaultEffect::Say(notice(fields));
    let faults = vec![
        fault(0, FaultTrigger::Statement(2), say(&french)),
        fault(0, FaultTrigger::Statement(5), say(&other)),
    ];
    let ran = run(&Plan { limit, ..plan(BLOCK) }, faulty(faults));
    assert_eq!((ran.counts().succeeded, ran.counts().reserved), (3, 1));
}

#[test]
fn a_crash_that_the_server_announces_in_a_warning_has_its_sqlstate() {
    let warning = notice(&[(b'S', "WARNING"), (b'C', "57P02"), (b'M', "terminating connection")]);
    let limit = Limit::TransactionsPerClient(2);
    let plan =
        returning("immediate", Plan { limit, ..mix(&[("UPDATE t SET a = 1;\nUPDATE t SET a = 2;\n", 1)]) });
    let faults = vec![
        fault(0, FaultTrigger::Statement(0), FaultEffect::Say(warning)),
        fault(0, FaultTrigger::Statement(1), FaultEffect::Close),
    ];
    assert_eq!(outage(&run(&plan, faulty(faults))).clients[0].cause, LossCause::SqlState(*b"57P02"));
}

#[test]
fn by_default_a_lost_connection_aborts_its_client() {
    let ran = run(&Plan { clients: 2, ..plan(BLOCK) }, killed());
    assert_eq!(ran.outcome.end, End::AllClientsAborted);
    assert!(matches!(ran.outcome.aborted[0].cause, AbortCause::ConnectionLost { .. }));
    assert!(ran.outcome.outages.is_none());
    assert_eq!((ran.counts().unfinished, ran.counts().unknown), (2, 0));
}

#[test]
fn a_connection_for_each_transaction_cannot_be_combined_with_reconnecting() {
    let plan = returning("immediate", Plan { reconnect: true, ..plan(BLOCK) });
    let refused = try_run(&plan, slow(), Duration::MAX);
    assert!(matches!(refused, Err(EngineError::Plan(_))));
}

#[test]
fn retries_of_a_transaction_do_not_repeat_what_was_lost() {
    let plan = Plan { max_tries: NonZeroU32::new(5), limit: Limit::TransactionsPerClient(3), ..plan(BLOCK) };
    let plan =
        Plan { reconnecting: returning("immediate", super::support::plan(BLOCK)).reconnecting, ..plan };
    let ran = run(&plan, faulty(vec![fault(0, FaultTrigger::Statement(2), FaultEffect::Close)]));
    assert_eq!((ran.counts().unknown, ran.counts().retries), (1, 0));
    assert_eq!(ReconnectPolicy::default().to_string(), "backoff:100ms..2s");
}
