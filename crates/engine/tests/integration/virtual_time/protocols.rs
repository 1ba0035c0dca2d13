//! The messages of each protocol, as the server received them.
//! Their encoding is tested in `wire`.

use pgmeter_engine::{Limit, Plan, Protocol};
use testkit::fake::{FakeServer, FaultEffect, FaultTrigger, Received};

use super::support::{fault, faulty, mix, plan, run, run_until, seconds};

const SCRIPT: &str = "\\set a 7\n\\set b :a * -6\nSELECT :a,\n  :b\n  FROM t;\nUPDATE t SET c = :a;\n";

fn messages(protocol: Protocol, transactions: u64) -> Vec<Received> {
    let limit = Limit::TransactionsPerClient(transactions);
    let ran = run(&Plan { protocol, limit, ..plan(SCRIPT) }, FakeServer::default());
    assert_eq!(ran.outcome.aborted, []);
    let mut messages = ran.log.messages(0);
    assert!(matches!(messages.remove(0), Received::StartUp(_)));
    assert_eq!(messages.pop(), Some(Received::Terminate));
    messages
}

fn parse(name: &str, sql: &str) -> Received {
    Received::Parse { name: name.to_owned(), sql: sql.to_owned() }
}

fn bind(statement: &str, parameters: &[&str]) -> Received {
    let parameters = parameters.iter().map(|value| Some((*value).to_owned())).collect();
    Received::Bind { statement: statement.to_owned(), parameters }
}

/// Describe, Execute, Sync, of the unnamed portal.
fn rest(sql: &str) -> [Received; 3] {
    [Received::Describe(true, String::new()), Received::Execute(sql.to_owned()), Received::Sync]
}

#[test]
fn a_statement_that_is_prepared_for_one_client_keeps_no_other_waiting() {
    // The server never answers the first client's Parse.
    let plan = Plan {
        clients: 3,
        protocol: Protocol::Prepared,
        limit: Limit::Duration(seconds(2)),
        ..plan("SELECT 1;\nSELECT 2;\n")
    };
    let ran =
        run_until(&plan, faulty(vec![fault(0, FaultTrigger::Parse(1), FaultEffect::Silence)]), seconds(3));
    assert_eq!(ran.counts().unfinished, 1);
    assert_eq!(ran.summary().total.service.max_ns(), Some(1_000_000), "two round trips, as without it");
    let each = |client| ran.seen.iter().filter(|seen| seen.client == client).count();
    assert_eq!((each(0), each(1), each(2)), (0, 2000, 2000));
}

#[test]
fn in_the_simple_protocol_a_query_holds_the_values() {
    let queries: Vec<_> = messages(Protocol::Simple, 1);
    let expected = ["SELECT 7,\n  -42\n  FROM t;", "UPDATE t SET c = 7;"];
    assert_eq!(queries, expected.map(|sql| Received::Query(sql.to_owned())));
}

#[test]
fn in_the_extended_protocol_each_statement_is_parsed_each_time_and_has_its_values_as_parameters() {
    let (select, update) = ("SELECT $1,\n  $2\n  FROM t;", "UPDATE t SET c = $1;");
    let mut once = vec![parse("", select), bind("", &["7", "-42"])];
    once.extend(rest(select));
    once.extend([parse("", update), bind("", &["7"])]);
    once.extend(rest(update));
    assert_eq!(messages(Protocol::Extended, 2), [once.clone(), once].concat());
}

#[test]
fn in_the_prepared_protocol_each_statement_is_parsed_once() {
    let (select, update) = ("SELECT $1,\n  $2\n  FROM t;", "UPDATE t SET c = $1;");
    let mut expected = Vec::new();
    for round in 0..3 {
        for (name, sql, values) in [("P_0", select, &["7", "-42"][..]), ("P_1", update, &["7"])] {
            expected.extend((round == 0).then(|| parse(name, sql)));
            expected.push(bind(name, values));
            expected.extend(rest(sql));
        }
    }
    assert_eq!(messages(Protocol::Prepared, 3), expected);
}

#[test]
fn statements_are_numbered_over_all_scripts_and_parsed_once_on_each_connection() {
    let scripts = [("SELECT 0;\nSELECT 1;", 1), ("\\set a 1\nSELECT 2;\n\\set b 1\nSELECT 3;", 1)];
    let limit = Limit::TransactionsPerClient(50);
    let plan = Plan { clients: 4, limit, protocol: Protocol::Prepared, ..mix(&scripts) };
    let ran = run(&plan, FakeServer::default());
    for client in 0..4 {
        let messages = ran.log.messages(client);
        let mut parsed: Vec<_> =
            messages.into_iter().filter(|message| matches!(message, Received::Parse { .. })).collect();
        parsed.sort_by_key(|message| format!("{message:?}"));
        let expected: Vec<_> = (0..4).map(|n| parse(&format!("P_{n}"), &format!("SELECT {n};"))).collect();
        assert_eq!(parsed, expected);
    }
}

#[test]
fn an_undefined_variable_is_null_in_the_extended_protocol_and_left_alone_in_the_simple_one() {
    let limit = Limit::TransactionsPerClient(1);
    let of = |protocol| run(&Plan { protocol, limit, ..plan("SELECT :nothing;") }, FakeServer::default());
    let bound = Received::Bind { statement: String::new(), parameters: vec![None] };
    assert!(of(Protocol::Extended).log.messages(0).contains(&bound));
    assert_eq!(of(Protocol::Simple).log.statements_of(0), ["SELECT :nothing;"]);
}

#[test]
fn a_statement_whose_parse_failed_is_parsed_again() {
    // A deadlock can also occur during parse analysis; the transaction fails and the client continues.
    let script = "BEGIN;\nUPDATE t SET c = 1;\nEND;\n";
    let server =
        faulty(vec![fault(0, FaultTrigger::Parse(1), FaultEffect::error("40P01", "deadlock detected"))]);
    let limit = Limit::TransactionsPerClient(3);
    let ran = run(&Plan { protocol: Protocol::Prepared, limit, ..plan(script) }, server);
    assert_eq!(ran.outcome.aborted, []);
    assert_eq!((ran.counts().succeeded, ran.counts().failures.deadlock), (2, 1));
    let parsed = |message: &&Received| matches!(message, Received::Parse { name, .. } if name == "P_1");
    assert_eq!(ran.log.messages(0).iter().filter(parsed).count(), 2);
}
