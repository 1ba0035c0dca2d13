//! COPY in scripts: the rows that the server receives, whatever the sockets accept; counts; errors in the middle; and the
//! clients beside it.

use std::sync::Arc;
use std::time::Duration;

use pgmeter_engine::{AbortCause, Grace, Limit, Plan, Protocol};
use proptest::prelude::*;
use stats::Copied;
use testkit::fake::{FakeServer, FaultEffect, FaultTrigger, Pieces, Received, Rows, Sends, Service, reply};

use super::support::{Ran, fault, faulty, ms, plan, run, run_until, seconds, us};

const PROTOCOLS: [Protocol; 3] = [Protocol::Simple, Protocol::Extended, Protocol::Prepared];

/// The engine's pieces, with the header of the message and one value more.
const PIECE_MAX: usize = 32 * 1024 + 100;

fn limited(transactions: u64, protocol: Protocol, script: &str) -> Plan {
    Plan { protocol, limit: Limit::TransactionsPerClient(transactions), ..plan(script) }
}

fn copy(rows: &str, columns: &str) -> String {
    format!("COPY t ({columns}) FROM STDIN;\n\\copy_rows {rows}\n")
}

/// Sockets that accept little at a time.
fn short(seed: u64, longest: u64) -> FakeServer {
    FakeServer { seed, sends: Sends::Short { longest, gap: us(20) }, ..FakeServer::default() }
}

fn copied(ran: &Ran, command: usize) -> Copied {
    ran.outcome.commands.of_script(0)[command].copied
}

fn cause(script: &str, protocol: Protocol, server: FakeServer) -> (AbortCause, String) {
    let mut ran = run(&limited(1, protocol, script), server);
    assert_eq!((ran.outcome.aborted.len(), ran.counts().unfinished), (1, 1), "{script}");
    let sentence = ran.aborted()[0].1.to_owned();
    (ran.outcome.aborted.remove(0).cause, sentence)
}

#[test]
fn generated_rows_are_sent_in_every_protocol_and_counted() {
    let script = format!(
        "\\set n 3\n\\set colour 'green\\tone'\n{}SELECT 1;\n",
        copy(":n (:copy_row, :colour, null, :copy_row > 2, 'a\\b')", "a, b, c, d, e")
    );
    let rows = "1\tgreen\\\\tone\t\\N\tfalse\ta\\\\b\n2\tgreen\\\\tone\t\\N\tfalse\ta\\\\b\n3\tgreen\\\\tone\t\\N\ttrue\ta\\\\b\n";
    for protocol in PROTOCOLS {
        for pieces in [Pieces::Whole, Pieces::Random { longest: 3, gap: us(1) }] {
            let ran = run(&limited(2, protocol, &script), FakeServer { pieces, ..FakeServer::default() });
            assert_eq!((ran.aborted(), ran.counts().succeeded), (vec![], 2), "{protocol:?}");
            assert_eq!(ran.log.copied_by(0), rows.repeat(2));
            assert_eq!(copied(&ran, 2), Copied { rows: 6, bytes: 2 * rows.len() as u64 });
            assert_eq!(copied(&ran, 3), Copied::default());
        }
    }
}

#[test]
fn the_end_of_the_rows_ends_the_series_and_nothing_else_does() {
    for protocol in PROTOCOLS {
        let ran = run(&limited(1, protocol, &copy("2 (7)", "a")), FakeServer::default());
        let messages = ran.log.messages(0);
        let place = |wanted: &Received| messages.iter().position(|message| message == wanted);
        let done = place(&Received::CopyDone).expect("the end of the rows");
        let syncs = messages.iter().filter(|message| **message == Received::Sync).count();
        match protocol {
            Protocol::Simple => assert_eq!(syncs, 0),
            Protocol::Extended | Protocol::Prepared => {
                assert_eq!((syncs, place(&Received::Sync)), (1, Some(done + 1)));
                assert!(place(&Received::Flush) < place(&Received::CopyData("7\n7\n".to_owned())));
            }
        }
    }
}

#[test]
fn no_rows_are_an_empty_copy() {
    for (protocol, number) in PROTOCOLS.into_iter().flat_map(|it| [(it, "0"), (it, "-5"), (it, "0.4")]) {
        let ran = run(&limited(2, protocol, &copy(&format!("{number} (1)"), "a")), FakeServer::default());
        assert_eq!((ran.aborted(), ran.counts().succeeded), (vec![], 2));
        assert_eq!(copied(&ran, 0), Copied::default());
        assert!(!ran.log.messages(0).iter().any(|message| matches!(message, Received::CopyData(_))));
    }
}

/// The plan with this content for its files.
fn with_file(mut plan: Plan, content: &[u8]) -> Plan {
    let read = |name: &str| {
        assert_eq!(name, "rows.tsv");
        Ok::<Arc<[u8]>, ()>(content.into())
    };
    plan.scripts[0].program.read_files(read).expect("a file");
    plan
}

#[test]
fn a_file_is_sent_as_it_is_in_pieces() {
    let script = "COPY t FROM STDIN (FORMAT csv);\n\\copy_file rows.tsv\n";
    for length in [0, 1, 32 * 1024, 32 * 1024 + 1, 100_000] {
        let content = "1234,\"x\"\n".repeat(length / 9 + 1)[..length].to_owned();
        for protocol in PROTOCOLS {
            let plan = with_file(limited(2, protocol, script), content.as_bytes());
            let ran = run(&plan, short(1, 9_000));
            assert_eq!((ran.aborted(), ran.counts().succeeded), (vec![], 2), "{protocol:?}, {length} bytes");
            assert_eq!(ran.log.copied_by(0), content.repeat(2));
            let rows = 2 * content.matches('\n').count() as u64;
            assert_eq!(copied(&ran, 0), Copied { rows, bytes: 2 * length as u64 });
        }
    }
}

#[test]
fn rows_for_the_client_are_counted_and_discarded() {
    for protocol in PROTOCOLS {
        for pieces in [Pieces::Whole, Pieces::Random { longest: 70, gap: us(1) }] {
            let server = FakeServer { pieces, rows: Rows { count: 100, bytes: 10 }, ..FakeServer::default() };
            let ran = run(&limited(3, protocol, "COPY t TO STDOUT;\nSELECT 1;\n"), server);
            assert_eq!((ran.aborted(), ran.counts().succeeded), (vec![], 3), "{protocol:?}");
            assert_eq!(copied(&ran, 0), Copied { rows: 300, bytes: 3_300 });
            assert_eq!(copied(&ran, 1), Copied::default());
        }
    }
}

#[test]
fn several_statements_at_once_may_have_one_copy_of_each_kind() {
    let script = "INSERT INTO t VALUES (1)\\; COPY t TO STDOUT\\; COPY t FROM STDIN;\n\\copy_rows 4 (5)\n";
    let server = FakeServer { rows: Rows { count: 3, bytes: 1 }, ..FakeServer::default() };
    let ran = run(&limited(2, Protocol::Simple, script), server);
    assert_eq!((ran.aborted(), ran.counts().succeeded), (vec![], 2));
    assert_eq!(copied(&ran, 0), Copied { rows: 14, bytes: 28 });
}

#[test]
fn the_values_after_the_rows_do_not_depend_on_their_number() {
    let values = |rows: &str| {
        let script = format!("{}\\set x random(1, 1000000)\nSELECT :x;\n", copy(rows, "a"));
        run(&limited(3, Protocol::Simple, &script), FakeServer::default()).log.statements_of(0)
    };
    assert_eq!(values("1 (random(1, 10))"), values("500 (random(1, 10))"));
}

/// A row of about this number of characters.
fn wide(rows: u64, characters: u64) -> String {
    copy(&format!("{rows} (:copy_row, random_string(0, {characters}))"), "a, b")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testkit::extent::choose(8, 24)))]

    #[test]
    fn whatever_the_sockets_take_the_server_receives_the_same_rows(
        seed in any::<u64>(), longest in 200_u64..50_000, rows in 1_u64..300, characters in 1_u64..2_000,
        protocol in prop::sample::select(&PROTOCOLS[..]),
    ) {
        let plan = limited(2, protocol, &wide(rows, characters));
        let (whole, pieces) = (run(&plan, FakeServer::default()), run(&plan, short(seed, longest)));
        prop_assert_eq!((pieces.aborted(), pieces.counts().succeeded), (vec![], 2));
        prop_assert_eq!(whole.log.copied_by(0), pieces.log.copied_by(0));
        prop_assert_eq!(copied(&whole, 0), copied(&pieces, 0));
        prop_assert_eq!(copied(&whole, 0).rows, 2 * rows);
        prop_assert!(pieces.log.held_back_max() <= 2_000 + PIECE_MAX, "{}", pieces.log.held_back_max());
    }

    #[test]
    fn an_error_anywhere_is_that_of_the_transaction_which_repeats_its_rows(
        seed in any::<u64>(), longest in 200_u64..50_000, at in 0_u64..6,
        protocol in prop::sample::select(&PROTOCOLS[..]),
    ) {
        let plan = Plan { max_tries: None, ..limited(2, protocol, &wide(100, 3_000)) };
        let whole = run(&plan, FakeServer::default());
        let error = fault(0, FaultTrigger::CopyData(at), FaultEffect::error("40001", "no"));
        let ran = run(&plan, FakeServer { faults: vec![error], ..short(seed, longest) });
        prop_assert_eq!((ran.aborted(), ran.counts().succeeded, ran.counts().retries), (vec![], 2, 1));
        prop_assert_eq!(copied(&ran, 0), copied(&whole, 0));
        prop_assert!(ran.log.copied_by(0).ends_with(&whole.log.copied_by(0)) || at >= 5);
    }
}

#[test]
fn an_error_before_the_rows_and_one_after_them_are_those_of_a_command() {
    let error = FaultEffect::error("23505", "duplicate key");
    for protocol in PROTOCOLS {
        for trigger in [FaultTrigger::Statement(0), FaultTrigger::Parse(0), FaultTrigger::CopyData(0)] {
            if (protocol, &trigger) == (Protocol::Simple, &FaultTrigger::Parse(0)) {
                continue;
            }
            let server = || faulty(vec![fault(0, trigger.clone(), error.clone())]);
            let (cause, sentence) = cause(&copy("3 (1)", "a"), protocol, server());
            assert!(matches!(cause, AbortCause::Sql { .. }), "{protocol:?} {trigger:?} {cause:?}");
            assert_eq!(
                sentence,
                "client 0 aborted in command 0 (SQL) of script script-0.sql: ERROR:  duplicate key"
            );
            let plan = Plan { continue_on_error: true, ..limited(3, protocol, &copy("3 (1)", "a")) };
            let ran = run(&plan, server());
            assert_eq!((ran.aborted(), ran.counts().succeeded, ran.counts().failed), (vec![], 2, 1));
            assert_eq!(copied(&ran, 0), Copied { rows: 6, bytes: 12 });
        }
    }
}

#[test]
fn in_a_failed_transaction_block_it_is_rolled_back() {
    let script = format!("BEGIN;\n{}END;\n", copy("3 (1)", "a"));
    for protocol in PROTOCOLS {
        let faults = vec![fault(0, FaultTrigger::CopyData(0), FaultEffect::error("40P01", "deadlock"))];
        let plan = Plan { max_tries: None, ..limited(2, protocol, &script) };
        let ran = run(&plan, faulty(faults));
        assert_eq!((ran.aborted(), ran.counts().succeeded, ran.counts().retries), (vec![], 2, 1));
        assert!(ran.log.statements_of(0).contains(&"ROLLBACK".to_owned()));
    }
}

#[test]
fn a_connection_that_is_lost_during_the_rows_ends_its_client() {
    for protocol in PROTOCOLS {
        let broken = "the connection to the server was lost: broken pipe";
        for (effect, word) in [
            (FaultEffect::Close, "the server closed the connection unexpectedly; see the server's log"),
            (FaultEffect::Reset, "the connection to the server was lost: connection reset"),
            (
                FaultEffect::fatal("57P01", "going down"),
                "the server closed the connection: FATAL:  going down",
            ),
        ] {
            let has_message = matches!(effect, FaultEffect::Fatal { .. });
            let server =
                FakeServer { faults: vec![fault(0, FaultTrigger::CopyData(1), effect)], ..short(3, 20_000) };
            let (_, sentence) = cause(&wide(1000, 3_000), protocol, server);
            let place = "client 0 aborted in command 0 (SQL) of script script-0.sql: ";
            let reason = sentence.strip_prefix(place).unwrap_or(&sentence);
            // The next piece may find the connection closed before the end is read.
            assert!(reason == word || (reason == broken && !has_message), "{sentence}");
        }
    }
}

#[test]
fn the_end_of_the_run_cuts_the_rows_off() {
    for protocol in PROTOCOLS {
        let plan = Plan {
            limit: Limit::Duration(seconds(1)),
            grace: Grace::Fixed(ms(300)),
            ..limited(1, protocol, &copy("1000000000000 (:copy_row)", "a"))
        };
        let server =
            FakeServer { sends: Sends::Short { longest: 40_000, gap: ms(30) }, ..FakeServer::default() };
        let ran = run(&plan, server.clone());
        assert_eq!((ran.aborted(), ran.counts().unfinished, ran.counts().succeeded), (vec![], 1, 0));
        assert!(ran.log.held_back_max() <= PIECE_MAX, "{}", ran.log.held_back_max());
        let interrupted =
            run_until(&Plan { limit: Limit::TransactionsPerClient(1), ..plan }, server, seconds(2));
        assert_eq!((interrupted.aborted(), interrupted.counts().unfinished), (vec![], 1));
    }
}

#[test]
fn a_cut_off_copy_is_told_to_the_server() {
    let plan = Plan {
        limit: Limit::Duration(seconds(1)),
        grace: Grace::Fixed(ms(300)),
        ..limited(1, Protocol::Extended, &copy("1000000000000 (random_string(1000, 1000))", "a"))
    };
    // Virtual time passes only by readings of the clock.
    let ran = run(&plan, FakeServer { tick: ms(8), ..FakeServer::default() });
    let messages = ran.log.messages(0);
    let last = &messages[messages.len() - 2..];
    assert_eq!(last, [Received::CopyFail("pgmeter's run has ended".to_owned()), Received::Terminate]);
}

#[test]
fn the_other_clients_go_on_while_one_copies() {
    let script = format!("\\if :client_id = 0\n{}\\else\nSELECT 1;\n\\endif\n", wide(2_000_000, 100));
    let server = || FakeServer {
        sends: Sends::Short { longest: 40_000, gap: us(500) },
        service: Service::Fixed(us(400)),
        ..FakeServer::default()
    };
    let plan =
        Plan { limit: Limit::Duration(ms(250)), grace: Grace::Fixed(ms(1)), clients: 3, ..plan(&script) };
    let ran = run(&plan, server());
    let selects = ran.log.statements().iter().filter(|(.., sql)| sql.starts_with("SELECT")).count();
    let alone = run(&Plan { clients: 2, ..plan_like(&plan, "SELECT 1;\n") }, server());
    let expected = alone.log.statements().len();
    assert!(selects * 100 >= expected * 95, "{selects} of {expected}");
    assert!(ran.log.copied_by(0).len() > 2_500_000, "{}", ran.log.copied_by(0).len());
}

fn plan_like(other: &Plan, script: &str) -> Plan {
    Plan { limit: other.limit, grace: other.grace, ..plan(script) }
}

#[test]
fn a_transaction_contains_the_time_of_its_copy() {
    let server = FakeServer { sends: Sends::Short { longest: 1_000, gap: ms(1) }, ..FakeServer::default() };
    let ran = run(&limited(1, Protocol::Simple, &wide(100, 1_000)), server);
    let took = ran.summary().total.response.moments().max_ns;
    assert!(Duration::from_nanos(took) > ms(30), "{took} ns");
}

#[test]
fn a_connection_for_each_transaction_copies_too() {
    for protocol in PROTOCOLS {
        let plan = Plan { reconnect: true, clients: 2, ..limited(3, protocol, &copy("3 (1)", "a")) };
        let ran = run(&plan, short(5, 100));
        assert_eq!((ran.aborted(), ran.counts().succeeded), (vec![], 6));
        assert_eq!(copied(&ran, 0), Copied { rows: 18, bytes: 36 });
    }
}

#[test]
fn rows_that_cannot_be_sent_end_the_client_with_the_reason() {
    let check = |script: &str, protocol, server, reason: &str| {
        let (_, sentence) = cause(script, protocol, server);
        let place = "client 0 aborted in command 0 (SQL) of script script-0.sql: ";
        assert_eq!(sentence.strip_prefix(place), Some(reason), "{sentence}");
    };
    for protocol in PROTOCOLS {
        check(
            &copy("3 (1, 2)", "a, b, c"),
            protocol,
            FakeServer::default(),
            "\\copy_rows has 2 values, but the COPY needs 3",
        );
        check(
            &copy("3 (1)", "a, b"),
            protocol,
            FakeServer::default(),
            "\\copy_rows has 1 value, but the COPY needs 2",
        );
        check(&copy("3 (6 / (2 - :copy_row))", "a"), protocol, FakeServer::default(), "division by zero");
        check(&copy("3 (:nothing)", "a"), protocol, FakeServer::default(), "undefined variable \"nothing\"");
        let mut binary = Vec::new();
        reply::message(&mut binary, b'G', |out| out.extend_from_slice(&[1, 0, 1, 0, 1]));
        check(
            &copy("3 (1)", "a"),
            protocol,
            faulty(vec![fault(0, FaultTrigger::Statement(0), FaultEffect::Rubbish(binary))]),
            "\\copy_rows writes the text format, but the COPY is binary; remove FORMAT binary, or use \\copy_file",
        );
        check(
            "CALL p();\n",
            protocol,
            faulty(vec![fault(0, FaultTrigger::Statement(0), FaultEffect::CopyIn)]),
            "COPY … FROM STDIN needs rows; write \\copy_rows or \\copy_file below it",
        );
    }
    let script = "\\set how 'from stdin'\nCOPY t :how;\n";
    assert_eq!(cause(script, Protocol::Simple, FakeServer::default()).0, AbortCause::CopyWithoutRows);
}

#[test]
fn a_copy_is_not_allowed_in_a_pipeline() {
    for protocol in [Protocol::Extended, Protocol::Prepared] {
        for copy in [copy("3 (1)", "a"), "COPY t TO STDOUT;\n".to_owned()] {
            let script = format!("\\startpipeline\nSELECT 1;\n{copy}\\endpipeline\n");
            let (cause, sentence) = cause(&script, protocol, FakeServer::default());
            assert_eq!(cause, AbortCause::CopyInPipeline, "{copy}");
            assert!(sentence.ends_with(": COPY is not allowed in pipeline mode"), "{sentence}");
        }
    }
}
