//! Statistics of single commands: times,
//! failures and retries in the measured window.

use std::num::NonZeroU32;

use pgmeter_engine::{Limit, Plan};
use stats::CommandStats;
use testkit::fake::{FakeServer, FaultEffect, FaultTrigger, Stall};

use super::support::{Ran, at_ms, fault, faulty, mix, ms, plan, run};

fn of(ran: &Ran, script: usize) -> &[CommandStats] {
    ran.outcome.commands.of_script(script)
}

#[test]
fn each_command_is_counted_with_its_own_time() {
    let limit = Limit::TransactionsPerClient(10);
    let plan =
        Plan { clients: 3, limit, ..plan("\\set a 1\nSELECT 1;\n\\sleep 7 ms\nSELECT 2;\n\\sleep 0\n") };
    let ran = run(&plan, FakeServer::default());
    let commands = of(&ran, 0);
    assert_eq!(commands.iter().map(|command| command.completed.count).collect::<Vec<_>>(), [30; 5]);
    assert_eq!((commands[1].completed.min_ns, commands[1].completed.max_ns), (500_000, 500_000));
    assert_eq!((commands[2].completed.min_ns, commands[2].completed.max_ns), (7_000_000, 7_000_000));
    assert_eq!(commands[0].completed.max_ns, 0, "a meta command takes no time");
    assert_eq!(commands[4].completed.max_ns, 0, "nor does a sleep of none");
    let total: u128 = commands.iter().map(|command| command.completed.sum_ns).sum();
    assert_eq!(total, ran.summary().total.service.moments().sum_ns, "the commands sum to the transactions");
}

#[test]
fn an_sql_command_has_its_whole_distribution_and_what_takes_no_time_has_none() {
    let stalls = vec![Stall { from: at_ms(3000), until: at_ms(5000) }];
    let ran = run(
        &Plan { clients: 3, ..plan("\\set a 1\nSELECT 1;\n") },
        FakeServer { stalls, ..FakeServer::default() },
    );
    let latencies: Vec<_> = of(&ran, 0).iter().map(CommandStats::latencies).collect();
    assert_eq!(latencies, [None, Some(ran.summary().total.service.clone())]);
}

#[test]
fn a_script_that_only_computes_or_sleeps_no_time_counts_its_commands_too() {
    let limit = Limit::TransactionsPerClient(10);
    let ran = run(&Plan { clients: 3, limit, ..plan("\\set a 1\n\\sleep 0 ms\n") }, FakeServer::default());
    assert_eq!(of(&ran, 0).iter().map(|command| command.completed.count).collect::<Vec<_>>(), [30; 2]);
    assert_eq!(ran.counts().succeeded, 30);
}

#[test]
fn each_script_has_its_own_commands() {
    let limit = Limit::TransactionsPerClient(40);
    let plan = Plan { limit, ..mix(&[("SELECT 1;\nSELECT 2;\n", 1), ("SELECT 3;\n", 3)]) };
    let ran = run(&plan, FakeServer::default());
    for (script, stats) in ran.summary().scripts.iter().enumerate() {
        assert!(stats.counts.succeeded > 0);
        assert!(of(&ran, script).iter().all(|command| command.completed.count == stats.counts.succeeded));
    }
}

#[test]
fn commands_of_the_warm_up_are_not_counted() {
    let limit = Limit::TransactionsPerClient(10);
    let plan = Plan { clients: 3, limit, warmup: ms(100), ..plan("SELECT 1;\nSELECT 2;\n") };
    let ran = run(&plan, FakeServer::default());
    assert!(ran.outcome.warmup_transactions > 100);
    assert_eq!(of(&ran, 0).iter().map(|command| command.completed.count).collect::<Vec<_>>(), [30, 30]);
}

#[test]
fn the_command_with_the_error_is_the_one_that_failed_or_was_retried() {
    let error = || FaultEffect::error("40001", "no");
    // The second statement of the transaction: retried, then given up.
    let faults = [1, 3].map(|n| fault(0, FaultTrigger::Statement(n), error()));
    let limit = Limit::TransactionsPerClient(2);
    let plan = Plan { limit, max_tries: NonZeroU32::new(2), ..plan("SELECT 1;\nSELECT 2;\n") };
    let ran = run(&plan, faulty(faults.into()));
    assert_eq!((ran.counts().failures.serialization, ran.counts().retries), (1, 1));
    let [first, second] = of(&ran, 0) else { panic!("two commands") };
    assert_eq!((first.completed.count, first.failures, first.retries), (3, 0, 0));
    assert_eq!((second.completed.count, second.failures, second.retries), (1, 1, 1));
}

#[test]
fn a_script_that_only_computes_is_counted_command_by_command_up_to_the_one_that_fails() {
    let script = "\\set n :n + 1\n\\set left 20 - :n\n\\set share 100 / :left\n";
    let variables = vec![("n".into(), "0".into())];
    for clients in [1, 3] {
        let limit = Limit::TransactionsPerClient(100);
        let plan = Plan { clients, limit, variables: variables.clone(), ..plan(script) };
        let ran = run(&plan, FakeServer::default());
        let executed: Vec<_> = of(&ran, 0).iter().map(|command| command.completed.count).collect();
        assert_eq!(executed, [20, 20, 19].map(|times| times * clients as u64));
        let counts = ran.counts();
        assert_eq!((counts.succeeded, counts.unfinished), (19 * clients as u64, clients as u64));
        assert_eq!(ran.outcome.aborted.len(), clients);
        for aborted in &ran.outcome.aborted {
            assert_eq!(
                aborted.place.as_ref().map(|place| (place.command, place.name.clone())),
                Some((2, "set".into()))
            );
        }
    }
}
