//! Loops of scripts, `\repeat` … `\endrepeat`: sent statements, counted commands, pipelines, retries, and the fairness
//! between the clients of a worker.

use pgmeter_engine::{AbortCause, Grace, Limit, Plan, Protocol};
use testkit::fake::{FakeServer, FaultEffect, FaultTrigger};

use super::support::{Ran, fault, faulty, mix, ms, plan, run, seconds};

const PROTOCOLS: [Protocol; 3] = [Protocol::Simple, Protocol::Extended, Protocol::Prepared];

fn once(script: &str) -> Ran {
    let ran = run(&Plan { limit: Limit::TransactionsPerClient(1), ..plan(script) }, FakeServer::default());
    assert_eq!(ran.aborted(), []);
    ran
}

fn sent(script: &str) -> Vec<String> {
    once(script).log.statements_of(0)
}

fn aborted(script: &str) -> String {
    let ran = run(&Plan { limit: Limit::TransactionsPerClient(1), ..plan(script) }, FakeServer::default());
    ran.outcome.aborted[0].to_string()
}

#[test]
fn the_commands_are_executed_that_many_times() {
    let script = "\\set i 0\n\\repeat 3\n\\set i :i + 1\nSELECT :i;\n\\endrepeat\nSELECT 'end';\n";
    assert_eq!(sent(script), ["SELECT 1;", "SELECT 2;", "SELECT 3;", "SELECT 'end';"]);
    for count in ["0", "-2", "0.4"] {
        assert_eq!(sent(&script.replace("\\repeat 3", &format!("\\repeat {count}"))), ["SELECT 'end';"]);
    }
}

#[test]
fn the_number_is_evaluated_once_at_the_entry() {
    let script = "\\set n 2\n\\repeat :n\n\\set n :n + 5\nSELECT :n;\n\\endrepeat\n";
    assert_eq!(sent(script), ["SELECT 7;", "SELECT 12;"]);
}

#[test]
fn loops_nest_with_each_other_and_with_conditions() {
    let script = "\
\\set i 0
\\repeat 3
  \\set i :i + 1
  \\if :i = 2
    \\repeat :i
      \\if true
        SELECT 'inner', :i;
      \\endif
    \\endrepeat
  \\else
    SELECT 'outer', :i;
  \\endif
\\endrepeat
";
    let expected = ["SELECT 'outer', 1;", "SELECT 'inner', 2;", "SELECT 'inner', 2;", "SELECT 'outer', 3;"];
    assert_eq!(sent(script), expected);
    assert_eq!(sent("\\if false\n\\repeat 2\nSELECT 1;\n\\endrepeat\n\\endif\nSELECT 2;\n"), ["SELECT 2;"]);
}

#[test]
fn a_loop_may_be_empty_or_the_whole_script() {
    assert_eq!(sent("SELECT 1;\n\\repeat 5\n\\endrepeat\n"), ["SELECT 1;"]);
    assert_eq!(sent("\\repeat 2\nSELECT 1;\n\\endrepeat"), ["SELECT 1;", "SELECT 1;"]);
}

#[test]
fn each_execution_of_a_command_counts() {
    let ran = once("\\repeat 2500\n\\set x 1\n\\endrepeat\n\\repeat 3\nSELECT 1;\n\\endrepeat\n");
    let commands = ran.outcome.commands.of_script(0).iter().map(|command| command.completed.count);
    assert_eq!(commands.collect::<Vec<_>>(), [1, 2500, 2500, 1, 3, 3]);
    assert_eq!(ran.counts().succeeded, 1);
}

#[test]
fn a_repeated_statement_is_prepared_once() {
    for protocol in PROTOCOLS {
        let text = "\\set i 0\n\\repeat 4\n\\set i :i + 1\nSELECT :i;\n\\endrepeat\n";
        let plan = Plan { protocol, limit: Limit::TransactionsPerClient(2), ..plan(text) };
        let ran = run(&plan, FakeServer::default());
        assert_eq!((ran.aborted(), ran.counts().succeeded), (vec![], 2), "{protocol:?}");
        assert_eq!(ran.outcome.commands.of_script(0)[3].completed.count, 8);
    }
}

#[test]
fn a_loop_in_a_pipeline_sends_all_its_commands_at_once() {
    let script = "\\startpipeline\n\\repeat 2500\nSELECT 1;\n\\endrepeat\n\\endpipeline\nSELECT 2;\n";
    for protocol in [Protocol::Extended, Protocol::Prepared] {
        let plan = Plan { protocol, limit: Limit::TransactionsPerClient(2), ..plan(script) };
        let ran = run(&plan, FakeServer::default());
        assert_eq!((ran.aborted(), ran.counts().succeeded), (vec![], 2));
        assert_eq!(ran.outcome.commands.of_script(0)[2].completed.count, 5000);
    }
}

#[test]
fn a_pipeline_in_a_loop_is_one_of_many() {
    let script = "\\repeat 3\n\\startpipeline\nSELECT 1;\nSELECT 2;\n\\endpipeline\n\\endrepeat\n";
    let plan = Plan { protocol: Protocol::Prepared, limit: Limit::TransactionsPerClient(2), ..plan(script) };
    let ran = run(&plan, FakeServer::default());
    assert_eq!((ran.aborted(), ran.counts().succeeded), (vec![], 2));
    assert_eq!(ran.outcome.commands.of_script(0)[4].completed.count, 6);
}

#[test]
fn a_loop_without_end_in_a_pipeline_is_refused() {
    let script = "\\startpipeline\n\\repeat 100001\n\\endrepeat\n\\endpipeline\n";
    let plan = Plan { protocol: Protocol::Extended, limit: Limit::TransactionsPerClient(1), ..plan(script) };
    let ran = run(&plan, FakeServer::default());
    assert_eq!(ran.outcome.aborted[0].cause, AbortCause::PipelineTooLong);
    assert_eq!(
        ran.outcome.aborted[0].to_string(),
        "client 0 aborted in command 2 (endrepeat) of script script-0.sql: \\repeat exceeds 100000 repetitions in one \
         pipeline; end the pipeline within the loop"
    );
    let allowed = Plan { scripts: mix(&[(&script.replace("100001", "100000"), 1)]).scripts, ..plan };
    assert_eq!(run(&allowed, FakeServer::default()).aborted(), []);
}

#[test]
fn a_number_that_is_none_ends_the_client() {
    assert_eq!(
        aborted("\\repeat null\n\\endrepeat\n"),
        "client 0 aborted in command 0 (repeat) of script script-0.sql: cannot coerce null to int"
    );
    assert!(
        aborted("\\repeat 1 / 0\n\\endrepeat\n")
            .ends_with("(repeat) of script script-0.sql: division by zero")
    );
}

#[test]
fn a_retry_repeats_the_loop_with_the_same_random_numbers() {
    let script = "\\repeat random(2, 5)\n\\repeat 2\nSELECT random(1, 1000000);\n\\endrepeat\nSELECT 'fails';\n\\endrepeat\n"
        .replace("SELECT random", "\\set x random")
        .replace("1000000);", "1000000)\nSELECT :x;");
    let serialization = fault(0, FaultTrigger::Statement(4), FaultEffect::error("40001", "no"));
    let plan = Plan { limit: Limit::TransactionsPerClient(1), max_tries: None, ..plan(&script) };
    let ran = run(&plan, faulty(vec![serialization]));
    let undisturbed = run(&plan, FakeServer::default()).log.statements_of(0);
    let statements = ran.log.statements_of(0);
    assert_eq!((ran.counts().succeeded, ran.counts().retries), (1, 1));
    assert_eq!(statements[statements.len() - undisturbed.len()..], undisturbed);
}

#[test]
fn a_long_loop_lets_the_other_clients_act() {
    // The second script would wait until the loop of the first ends.
    let plan = Plan {
        clients: 2,
        limit: Limit::TransactionsPerClient(1),
        ..mix(&[(
            "\\if :client_id = 0\n\\repeat 10000\n\\set x 1\n\\endrepeat\n\\endif\nSELECT :client_id;\n",
            1,
        )])
    };
    let order = run(&plan, FakeServer::default()).log.statements();
    assert_eq!(order.iter().map(|(_, client, _)| *client).collect::<Vec<_>>(), [1, 0]);
}

#[test]
fn a_loop_longer_than_the_run_neither_stops_the_other_clients_nor_the_end() {
    let script = "\\if :client_id = 0\n\\repeat 1000000000000\n\\set x 1\n\\endrepeat\n\\endif\nSELECT 1;\n";
    let plan =
        Plan { clients: 2, limit: Limit::Duration(seconds(1)), grace: Grace::Fixed(ms(100)), ..plan(script) };
    let ran = run(&plan, FakeServer { tick: ms(1), ..FakeServer::default() });
    assert_eq!((ran.aborted(), ran.counts().unfinished), (vec![], 1));
    assert!(ran.counts().succeeded >= 200, "{:?}", ran.counts());
}
