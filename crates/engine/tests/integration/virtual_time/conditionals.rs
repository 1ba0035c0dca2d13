//! `\if`, `\elif`, `\else`, `\endif`: selected branches, evaluated conditions, and executed commands (reference,
//! section 9).

use pgmeter_engine::{Limit, Plan};
use testkit::fake::FakeServer;

use super::support::{Ran, plan, run};

fn once(script: &str) -> Ran {
    let ran = run(&Plan { limit: Limit::TransactionsPerClient(1), ..plan(script) }, FakeServer::default());
    assert_eq!(ran.aborted(), []);
    ran
}

/// A chain of three conditions and an `\else`; `:x` determines which of them hold.
const CHAIN: &str = "\
\\set x random(:low, :low)
\\if :x = 1
SELECT 'if';
\\elif :x in_two
SELECT 'elif';
\\elif :x = 3
SELECT 'second elif';
\\else
SELECT 'else';
\\endif
SELECT 'behind';
";

fn chain(x: i64) -> Ran {
    let script = CHAIN.replace(":x in_two", ":x = 2").replace(":low", &x.to_string());
    once(&script)
}

#[test]
fn the_first_branch_whose_condition_holds_is_taken_or_the_last() {
    for (x, taken) in [(1, "if"), (2, "elif"), (3, "second elif"), (4, "else")] {
        let expected = [format!("SELECT '{taken}';"), "SELECT 'behind';".to_owned()];
        assert_eq!(chain(x).log.statements_of(0), expected);
    }
}

#[test]
fn commands_are_counted_as_pgbench_counts_them() {
    // Evaluated conditions count, and also those at the end of a taken branch.
    for (x, expected) in [
        (1, [1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1]),
        (2, [1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 1]),
        (3, [1, 1, 0, 1, 0, 1, 1, 1, 0, 0, 1]),
        (4, [1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 1]),
    ] {
        let commands = chain(x).outcome.commands;
        let found: Vec<_> = commands.of_script(0).iter().map(|command| command.completed.count).collect();
        assert_eq!(found, expected, "x = {x}");
    }
}

#[test]
fn without_an_else_nothing_may_be_taken() {
    let script = "\\if false\nSELECT 1;\n\\elif 0\nSELECT 2;\n\\elif null\nSELECT 3;\n\\endif\nSELECT 4;\n";
    assert_eq!(once(script).log.statements_of(0), ["SELECT 4;"]);
}

#[test]
fn conditions_nest_and_those_left_out_are_not_evaluated() {
    let script = "\
\\if true
  \\if false
    SELECT 1;
    \\if 1 / 0
    \\endif
  \\else
    SELECT 2;
  \\endif
\\elif 1 / 0
  SELECT 3;
\\else
  \\if 1 / 0
    SELECT 4;
  \\endif
\\endif
";
    assert_eq!(once(script).log.statements_of(0), ["SELECT 2;"]);
}

#[test]
fn a_branch_may_end_the_script() {
    assert_eq!(once("SELECT 1;\n\\if false\nSELECT 2;\n\\endif\n").log.statements_of(0), ["SELECT 1;"]);
    assert_eq!(
        once("SELECT 1;\n\\if true\n\\else\nSELECT 2;\n\\endif\n").log.statements_of(0),
        ["SELECT 1;"]
    );
}

#[test]
fn a_condition_that_cannot_be_evaluated_ends_its_client() {
    for (script, command, name) in
        [("\\if 1 / 0\n\\endif\n", 0, "if"), ("\\if 0\n\\elif 1 / 0\n\\endif\n", 1, "elif")]
    {
        let ran = run(&plan(script), FakeServer::default());
        let sentence = format!(
            "client 0 aborted in command {command} ({name}) of script script-0.sql: division by zero"
        );
        assert_eq!(ran.aborted(), [(0, sentence.as_str())]);
    }
}
