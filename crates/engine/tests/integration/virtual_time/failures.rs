//! Servers that close connections, send errors or unrequested messages: the affected client is aborted with a message
//! or continues, and the others are unaffected.

use pgmeter_engine::{End, Limit, Plan, Protocol};
use stats::Traffic;
use testkit::fake::{FakeServer, Fault, FaultEffect, FaultTrigger, Pieces, reply};

use super::arrivals;
use super::support::{Ran, at_ms, fault, faulty, mix, ms, plan, run, run_until, seconds, us};

const TRANSFER: &str = "BEGIN;\nUPDATE t SET a = a + 1;\nSELECT a FROM t;\nEND;\n";

/// Three clients for a second, one of which has a fault at its tenth statement.
fn with(script: &str, protocol: Protocol, effect: FaultEffect) -> Ran {
    let plan = Plan { clients: 3, protocol, limit: Limit::Duration(seconds(1)), ..plan(script) };
    run_until(&plan, faulty(vec![fault(1, FaultTrigger::Statement(10), effect)]), seconds(5))
}

/// Client 1 was aborted for this reason with its transaction unfinished, and the others continued.
fn assert_aborted(ran: &Ran, reason: &str) {
    assert_eq!(ran.aborted(), [(1, reason)]);
    assert_eq!(ran.outcome.end, End::Complete);
    assert_eq!(ran.counts().unfinished, 1);
    assert_eq!(ran.log.statements_of(1).len(), 11);
    for client in [0, 2] {
        assert!(ran.log.statements_of(client).len() >= 1990, "client {client} was held up");
    }
}

#[test]
fn a_closed_connection_ends_its_client_and_no_other() {
    for protocol in [Protocol::Simple, Protocol::Extended, Protocol::Prepared] {
        assert_aborted(
            &with("SELECT 1;", protocol, FaultEffect::Close),
            "client 1 aborted in command 0 (SQL) of script script-0.sql: \
             the server closed the connection unexpectedly; see the server's log",
        );
    }
}

#[test]
fn a_broken_connection_ends_its_client_with_the_systems_word() {
    let ran = with("SELECT 1;", Protocol::Simple, FaultEffect::Reset);
    assert_aborted(
        &ran,
        "client 1 aborted in command 0 (SQL) of script script-0.sql: \
         the connection to the server was lost: connection reset",
    );
}

#[test]
fn the_servers_last_word_is_the_reason() {
    let fatal = FaultEffect::fatal("57P01", "terminating connection due to administrator command");
    for protocol in [Protocol::Simple, Protocol::Extended, Protocol::Prepared] {
        assert_aborted(
            &with(TRANSFER, protocol, fatal.clone()),
            "client 1 aborted in command 2 (SQL) of script script-0.sql: the server closed the connection: \
             FATAL:  terminating connection due to administrator command",
        );
    }
}

#[test]
fn the_servers_last_word_is_the_reason_also_when_the_client_was_waiting_or_sleeping() {
    let fatal = FaultEffect::fatal("57P01", "terminating connection due to administrator command");
    let server = faulty(vec![fault(0, FaultTrigger::Time(at_ms(700)), fatal)]);
    let reason = "client 0 aborted: the server closed the connection: \
                  FATAL:  terminating connection due to administrator command";
    let limit = Limit::Duration(seconds(600));
    let waiting = Plan { rate_per_s: Some(0.05), limit, ..plan("SELECT 1;") };
    for plan in [waiting, plan("\\sleep 5 s\nSELECT 1;")] {
        let ran = run(&plan, server.clone());
        assert_eq!(ran.aborted(), [(0, reason)]);
        assert_eq!(ran.outcome.end, End::AllClientsAborted);
    }
}

#[test]
fn the_servers_last_word_is_the_reason_also_when_it_is_found_while_sending() {
    // Bytes travel for 200 ms, so the run begins at 600 ms. The server sends its last message 100 ms before an
    // arrival for which the client is waiting: the statement cannot be sent, while the message is on its way.
    let plan = Plan { rate_per_s: Some(1.0), ..plan("SELECT 1;") };
    let arrivals = arrivals::scheduled(&plan, seconds(10));
    let long_awaited =
        arrivals.windows(2).find(|pair| pair[1] - pair[0] > seconds(1)).expect("a long gap")[1];
    let at = at_ms(500) + long_awaited;
    let fatal = FaultEffect::fatal("57P01", "terminating connection due to administrator command");
    for pieces in [Pieces::Whole, Pieces::Random { longest: 7, gap: us(1) }] {
        let faults = vec![fault(0, FaultTrigger::Time(at), fatal.clone())];
        let server = FakeServer { network_delay: ms(200), pieces, faults, ..FakeServer::default() };
        let ran = run(&plan, server);
        assert_eq!(
            ran.aborted(),
            [(
                0,
                "client 0 aborted in command 0 (SQL) of script script-0.sql: the server closed the connection: \
                 FATAL:  terminating connection due to administrator command"
            )]
        );
        assert_eq!(ran.counts().unfinished, 1);
    }
}

#[test]
fn a_last_word_that_comes_with_an_answer_is_the_reason_and_the_answer_counts() {
    let last_answer = FaultEffect::LastAnswer {
        sqlstate: "57P01".to_owned(),
        message: "terminating connection due to administrator command".to_owned(),
    };
    for protocol in [Protocol::Simple, Protocol::Extended, Protocol::Prepared] {
        let plan = Plan { protocol, ..plan("SELECT 1;") };
        let ran = run(&plan, faulty(vec![fault(0, FaultTrigger::Statement(10), last_answer.clone())]));
        let (_, reason) = ran.aborted()[0];
        assert!(
            reason.ends_with(
                "the server closed the connection: FATAL:  terminating connection due to administrator command"
            ),
            "{reason}"
        );
        assert_eq!((ran.counts().succeeded, ran.counts().failed), (11, 0));
    }
}

#[test]
fn when_all_connections_are_closed_the_run_ends_at_once() {
    let faults = vec![Fault {
        connection: None,
        trigger: FaultTrigger::Time(at_ms(2500)),
        effect: FaultEffect::Close,
    }];
    let ran = run(&Plan { clients: 9, ..plan("SELECT 1;") }, faulty(faults));
    assert_eq!(ran.outcome.end, End::AllClientsAborted);
    assert_eq!(ran.outcome.aborted.len(), 9);
    assert_eq!(ran.counts().unfinished, 9);
    assert!(ran.summary().duration < ms(2600), "{:?}", ran.summary().duration);
}

#[test]
fn an_answer_that_breaks_off_ends_its_client() {
    for keep in [1, 4, 5, 20] {
        assert_aborted(
            &with("SELECT 1;", Protocol::Simple, FaultEffect::Truncate(keep)),
            "client 1 aborted in command 0 (SQL) of script script-0.sql: \
             the server closed the connection unexpectedly; see the server's log",
        );
    }
}

#[test]
fn a_wrong_statement_ends_its_client_and_the_sentence_names_command_and_script() {
    for protocol in [Protocol::Simple, Protocol::Extended, Protocol::Prepared] {
        let error = FaultEffect::error("42601", "syntax error at or near \"UPDAET\"");
        assert_aborted(
            &with(TRANSFER, protocol, error),
            "client 1 aborted in command 2 (SQL) of script script-0.sql: \
             ERROR:  syntax error at or near \"UPDAET\"",
        );
    }
}

#[test]
fn a_serialization_failure_or_deadlock_fails_the_transaction_and_the_client_goes_on() {
    for protocol in [Protocol::Simple, Protocol::Extended, Protocol::Prepared] {
        for (sqlstate, serialization, deadlock) in [("40001", 1, 0), ("40P01", 0, 1)] {
            let ran = with("SELECT 1;", protocol, FaultEffect::error(sqlstate, "not this time"));
            assert_eq!(ran.outcome.aborted, []);
            let counts = ran.counts();
            assert_eq!((counts.failures.serialization, counts.failures.deadlock), (serialization, deadlock));
            assert_eq!(counts.succeeded, counts.scheduled - 1);
            assert_eq!(ran.summary().total.response.count(), counts.succeeded, "failures have no latency");
            assert!(!ran.log.statements_of(1).contains(&"ROLLBACK".to_owned()), "nothing to roll back");
            assert!(ran.log.statements_of(1).len() >= 1990);
        }
    }
}

#[test]
fn a_failed_transaction_block_is_rolled_back_before_the_next_begins() {
    for protocol in [Protocol::Simple, Protocol::Extended, Protocol::Prepared] {
        let ran = with(TRANSFER, protocol, FaultEffect::error("40001", "could not serialize access"));
        assert_eq!(ran.outcome.aborted, []);
        assert_eq!(ran.counts().failed, 1);
        let statements = ran.log.statements_of(1);

        assert_eq!(statements[9..13], ["UPDATE t SET a = a + 1;", "SELECT a FROM t;", "ROLLBACK", "BEGIN;"]);
    }
}

#[test]
fn a_rollback_that_fails_ends_its_client() {
    let faults = vec![
        fault(0, FaultTrigger::Statement(2), FaultEffect::error("40001", "could not serialize access")),
        fault(0, FaultTrigger::Statement(3), FaultEffect::error("XX000", "cannot roll back")),
    ];
    let ran = run(&plan(TRANSFER), faulty(faults));
    assert_eq!(
        ran.aborted(),
        [(
            0,
            "client 0 aborted in command 2 (SQL) of script script-0.sql: ROLLBACK failed: ERROR:  cannot roll back"
        )]
    );
    ran.counts().check();
}

#[test]
fn notices_settings_and_notifications_change_nothing() {
    let mut messages = Vec::new();
    reply::notice(&mut messages, "WARNING", "01000", "mind the gap");
    reply::parameter_status(&mut messages, "TimeZone", "UTC");
    // NotificationResponse of process 7.
    reply::message(&mut messages, b'A', |out| out.extend_from_slice(b"\0\0\0\x07channel\0payload\0"));
    let plan = Plan { clients: 3, limit: Limit::Duration(seconds(1)), ..plan(TRANSFER) };
    let undisturbed = run(&plan, FakeServer::default());
    let mut faults = vec![fault(1, FaultTrigger::Statement(10), FaultEffect::Say(messages.clone()))];
    for time in [1, 333, 700] {
        faults.push(fault(2, FaultTrigger::Time(at_ms(time)), FaultEffect::Say(messages.clone())));
    }
    let ran = run(&plan, faulty(faults));
    assert_eq!(ran.outcome.aborted, []);
    let [received, received_undisturbed] =
        [&ran, &undisturbed].map(|ran| ran.summary().total.traffic.received_bytes);
    assert!(received > received_undisturbed, "the messages count as received");
    let without_traffic = |ran: &Ran| {
        let mut summary = ran.summary().clone();
        let all = summary.scripts.iter_mut().chain([&mut summary.total]);
        all.for_each(|stats| stats.traffic = Traffic::default());
        summary
    };
    assert_eq!(without_traffic(&ran), without_traffic(&undisturbed));
}

#[test]
fn an_answer_that_nobody_asked_for_ends_its_client() {
    let mut ready = Vec::new();
    reply::ready_for_query(&mut ready, b'I');
    let asleep = plan("\\sleep 100 ms\nSELECT 1;");
    let ran =
        run(&asleep, faulty(vec![fault(0, FaultTrigger::Time(at_ms(50)), FaultEffect::Say(ready.clone()))]));
    assert_eq!(ran.aborted(), [(0, "client 0 aborted: the server sent a response without a request")]);
    // Two replies to one query: the second would be mistaken for the reply to the next query.
    let ran = with("SELECT 1;", Protocol::Simple, FaultEffect::Say(ready));
    let (client, reason) = ran.aborted()[0];
    assert_eq!(client, 1);
    assert!(reason.ends_with("the server sent a response without a request"), "{reason}");
}

#[test]
fn a_script_that_leaves_its_transaction_open_ends_its_client() {
    for script in ["BEGIN;\nSELECT 1;\n", "BEGIN;\n\\set a 1\n", "BEGIN;\n\\sleep 1 ms\n"] {
        let ran = run(&plan(script), FakeServer::default());
        assert_eq!(
            ran.aborted(),
            [(0, "client 0 aborted: end of script reached without completing the last transaction")]
        );
        assert_eq!(ran.outcome.end, End::AllClientsAborted);
    }
}

#[test]
fn a_meta_command_that_fails_ends_its_client_with_command_and_script() {
    let plan = Plan { clients: 2, ..mix(&[("SELECT 1;\n\\set a 1 / (1 - :client_id)\n", 1)]) };
    let ran = run(&plan, FakeServer::default());
    let (client, reason) = ran.aborted()[0];
    assert_eq!((client, ran.outcome.aborted.len()), (1, 1));
    let place = "client 1 aborted in command 1 (set) of script script-0.sql: ";
    assert!(reason.starts_with(place) && reason.ends_with("division by zero"), "{reason}");
    let ran = run(&super::support::plan("\\sleep :nowhere ms\n"), FakeServer::default());
    let (_, reason) = ran.aborted()[0];
    assert!(reason.starts_with("client 0 aborted in command 0 (sleep) of script script-0.sql: "), "{reason}");
}
