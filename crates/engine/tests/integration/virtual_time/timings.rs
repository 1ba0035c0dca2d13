//! Times of single commands, and samples that represent several executions. Their course over a run, including the
//! warm-up, is in `command_statistics`.

use std::time::Duration;

use pgmeter_engine::{Limit, Plan, Protocol};
use testkit::fake::FakeServer;

use super::support::{assert_close, plan, run};

#[test]
fn a_command_takes_from_its_start_to_the_end_of_its_reply() {
    let script = "\\set a 1\nSELECT :a;\n\\sleep 3 ms\nSELECT 2;\n";
    for protocol in [Protocol::Simple, Protocol::Extended, Protocol::Prepared] {
        let plan = Plan { protocol, limit: Limit::TransactionsPerClient(100), ..plan(script) };
        let ran = run(&plan, FakeServer::default());
        let commands = ran.outcome.commands.of_script(0);
        let means: Vec<_> =
            commands.iter().map(|command| command.completed.mean_ns().unwrap_or(f64::NAN)).collect();
        assert_eq!((commands.len(), means[0]), (4, 0.0));
        for (mean, expected) in means[1..].iter().zip([500e3, 3000e3, 500e3]) {
            assert_close("mean", *mean, expected, 0.001);
        }
        assert!(commands.iter().all(|command| command.completed.count == 100));
    }
}

#[test]
fn the_time_that_an_array_takes_is_its_own_and_not_of_the_command_behind_it() {
    let plan = Plan {
        limit: Limit::TransactionsPerClient(10),
        ..plan("\\set a array(3, random(1, 9))\nSELECT :a;\n")
    };
    // Reading the clock takes a millisecond, and it is read once after the array is computed.
    let ran = run(&plan, FakeServer { tick: Duration::from_millis(1), ..FakeServer::default() });
    let commands = ran.outcome.commands.of_script(0);
    assert_eq!(commands[0].completed.min_ns, 1_000_000);
    assert!(commands[1].completed.min_ns < 1_000_000);
}

#[test]
fn a_batch_stands_for_many_transactions() {
    let script = "\\batch 10 * (:client_id + 1)\nSELECT 1;\n";
    let plan = Plan { clients: 2, limit: Limit::TransactionsPerClient(5), ..plan(script) };
    let ran = run(&plan, FakeServer::default());
    assert_eq!((ran.counts().succeeded, ran.counts().business), (10, 150));
    let without = run(&Plan { ..super::support::plan("SELECT 1;") }, FakeServer::default());
    assert_eq!(without.counts().business, without.counts().succeeded);
}

#[test]
fn a_batch_of_nothing_ends_its_client() {
    let ran = run(&plan("\\batch 0\nSELECT 1;\n"), FakeServer::default());
    let (_, sentence) = ran.aborted()[0];
    assert!(
        sentence.starts_with("client 0 aborted in command 0 (batch) of script script-0.sql: "),
        "{sentence}"
    );
}

#[test]
fn an_array_is_one_parameter_and_a_text_in_simple_queries() {
    let script = "\\set a array(3, random(1, 1))\nSELECT :a;\n";
    let limit = Limit::TransactionsPerClient(1);
    let ran = run(&Plan { limit, ..plan(script) }, FakeServer::default());
    assert_eq!(ran.log.statements_of(0), ["SELECT '{1,1,1}';"]);
    let ran = run(&Plan { limit, protocol: Protocol::Extended, ..plan(script) }, FakeServer::default());
    let bound = format!("{:?}", ran.log.messages(0));
    assert!(bound.contains("parameters: [Some(\"{1,1,1}\")]"), "{bound}");
}
