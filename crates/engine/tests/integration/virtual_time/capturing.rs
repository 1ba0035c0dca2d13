//! `\gset` and `\aset`: rows stored in variables, in every protocol (reference, section 9). The values in expressions
//! are tested in `script`.

use pgmeter_engine::{AbortCause, Limit, Plan, Protocol};
use script::CaptureKind;
use testkit::fake::{FakeServer, FaultEffect, FaultTrigger, Pieces, Rows};

use super::support::{Ran, fault, faulty, plan, run, us};

const PROTOCOLS: [Protocol; 3] = [Protocol::Simple, Protocol::Extended, Protocol::Prepared];

fn once(script: &str, protocol: Protocol) -> Ran {
    let limit = Limit::TransactionsPerClient(1);
    run(&Plan { protocol, limit, ..plan(script) }, FakeServer::default())
}

/// The last statement that a run of the script sent in the simple protocol.
fn last(script: &str) -> String {
    let ran = once(script, Protocol::Simple);
    assert_eq!(ran.aborted(), []);
    ran.log.statements_of(0).pop().expect("a statement")
}

fn cause(script: &str, protocol: Protocol) -> AbortCause {
    let mut ran = once(script, protocol);
    assert_eq!(ran.outcome.aborted.len(), 1, "{script}");
    assert_eq!(ran.counts().unfinished, 1);
    ran.outcome.aborted.remove(0).cause
}

#[test]
fn each_column_of_the_one_row_goes_to_the_variable_of_its_name() {
    let script = "SELECT 5 AS a, 'x y' AS b \\gset\nSELECT ':a', ':b';\n";
    assert_eq!(last(script), "SELECT '5', 'x y';");
    let script = "SELECT 5 AS a, 'x y' AS b \\gset my_\nSELECT ':my_a', ':my_b', :a;\n";
    assert_eq!(last(script), "SELECT '5', 'x y', :a;");
}

#[test]
fn values_are_captured_in_every_protocol_however_the_answer_is_cut() {
    let script = "SELECT 17 AS a \\gset\n\\set b :a + 1\n\\set c debug(:b)\nSELECT :b;\n";
    for protocol in PROTOCOLS {
        for pieces in [Pieces::Whole, Pieces::Random { longest: 3, gap: us(1) }] {
            let plan = Plan { protocol, limit: Limit::TransactionsPerClient(3), ..plan(script) };
            let ran = run(&plan, FakeServer { pieces, ..FakeServer::default() });
            assert_eq!((ran.aborted(), ran.counts().succeeded), (vec![], 3));
            let said = r#"Debugged { client: 0, script: 0, command: 2, value: "int 18" }"#;
            assert_eq!(ran.testimony.events, [said; 3]);
        }
    }
}

#[test]
fn null_is_an_empty_text_and_an_empty_text_has_no_value() {
    let script = "SELECT NULL AS a \\gset\nSELECT '<:a>';\n";
    assert_eq!(last(script), "SELECT '<>';");
    let cause = cause("SELECT NULL AS a \\gset\n\\set b :a + 1\n", Protocol::Extended);
    assert!(matches!(cause, AbortCause::Evaluation(_)), "{cause:?}");
}

#[test]
fn a_column_that_no_script_mentions_is_not_kept_and_does_no_harm() {
    assert_eq!(last("SELECT 1 AS nobody, 2 AS a \\gset\nSELECT :a;\n"), "SELECT 2;");
}

#[test]
fn a_name_that_no_variable_may_have_ends_the_client() {
    for (script, kind, name) in [
        ("SELECT 1 AS \"a b\" \\gset\n", CaptureKind::Gset, "a b"),
        ("SELECT 1 AS a \\gset 1x\n", CaptureKind::Gset, "1xa"),
        ("SELECT 1 AS \"a b\" \\aset\n", CaptureKind::Aset, "a b"),
    ] {
        assert_eq!(cause(script, Protocol::Simple), AbortCause::VariableName { kind, name: name.into() });
    }
}

#[test]
fn gset_wants_exactly_one_row() {
    let two = "SELECT 1 AS a UNION ALL SELECT 2 AS a";
    for protocol in PROTOCOLS {
        for (sql, rows) in [("SELECT 1 AS a WHERE false", 0), (two, 2), ("UPDATE t SET a = 1", 0)] {
            assert_eq!(cause(&format!("{sql} \\gset\n"), protocol), AbortCause::RowCount { rows }, "{sql}");
        }
    }
    let ran = once("SELECT 1 AS a\\; SELECT 2 AS a WHERE false \\gset\n", Protocol::Simple);
    assert_eq!(
        ran.aborted(),
        [(0, "client 0 aborted in command 0 (SQL) of script script-0.sql: \\gset: expected one row, got 0")]
    );
    assert_eq!(ran.outcome.aborted[0].place.as_ref().map(|place| place.query), Some(1));
}

#[test]
fn gset_takes_the_last_result_of_several_only() {
    let script = "SELECT 1 AS a UNION ALL SELECT 2 AS a\\; SELECT 3 AS b \\gset\nSELECT :a, :b;\n";
    assert_eq!(last(script), "SELECT :a, 3;");
}

#[test]
fn aset_takes_the_last_row_of_every_result_and_none_of_an_empty_one() {
    let script = "\\set b 7\n\
        SELECT 1 AS a UNION ALL SELECT 2 AS a\\; SELECT 3 AS b WHERE false\\; UPDATE t SET a = 1\\; \
        SELECT 4 AS c \\aset\nSELECT :a, :b, :c;\n";
    assert_eq!(last(script), "SELECT 2, 7, 4;");
}

#[test]
fn a_command_without_a_capture_behind_one_with_keeps_nothing() {
    let script = "SELECT 1 AS a \\gset\nSELECT 2 AS a;\nSELECT :a;\n";
    assert_eq!(last(script), "SELECT 1;");
}

#[test]
fn a_row_of_many_megabytes_passes_through_or_is_captured() {
    let bytes: u32 = testkit::extent::choose(5_000_000, 20_000_000);
    let rows = Rows { count: 3, bytes };
    let limit = Limit::TransactionsPerClient(2);
    let ran = run(&Plan { limit, ..plan("SELECT 1;\n") }, FakeServer { rows, ..FakeServer::default() });
    assert_eq!(ran.counts().succeeded, 2);
    let value = "x".repeat(usize::try_from(bytes).expect("small"));
    let script = format!("SELECT '{value}' AS a \\gset\nSELECT '<:a>';\n");
    assert_eq!(last(&script), format!("SELECT '<{value}>';"));
}

#[test]
fn an_error_of_the_command_is_the_servers() {
    for protocol in PROTOCOLS {
        let script = "SELECT 1 AS a \\gset\nSELECT :a;\n";
        let error = FaultEffect::error("22012", "division by zero");
        let plan = Plan { protocol, ..plan(script) };
        let ran = run(&plan, faulty(vec![fault(0, FaultTrigger::Statement(0), error)]));
        let cause = &ran.outcome.aborted[0].cause;
        assert!(matches!(cause, AbortCause::Sql { .. }), "{cause:?}");
    }
}

#[test]
fn a_transaction_that_is_tried_again_captures_again() {
    for protocol in PROTOCOLS {
        let script = "BEGIN;\nSELECT 1 AS a \\gset\nEND;\n\\set b debug(:a)\n";
        let plan = Plan { protocol, max_tries: None, limit: Limit::TransactionsPerClient(1), ..plan(script) };
        let ran =
            run(&plan, faulty(vec![fault(0, FaultTrigger::Statement(1), FaultEffect::error("40001", "no"))]));
        assert_eq!((ran.counts().succeeded, ran.counts().retries), (1, 1));
        assert!(ran.testimony.events.last().is_some_and(|last| last.contains("int 1")));
    }
}
