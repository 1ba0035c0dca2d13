//! Several targets in one run: each script has its own, and each client connects to all used ones. The fake server
//! identifies them by the requested database.

use pgmeter_engine::{Limit, Plan, ScriptPlan, TargetPlan};
use testkit::fake::{FakeServer, FaultEffect, FaultTrigger, Received};

use super::support::{at_ms, fault, faulty, mix, ms, run, seconds, target};

/// Writes on the default, reads on a replica; the third target is used by a script that is never selected.
fn two_of_three(clients: usize) -> Plan {
    let plan = mix(&[("INSERT 1;", 1), ("SELECT 1;", 1), ("SELECT 2;", 0)]);
    let named = |name: &str| {
        let mut target = target(name);
        target.hosts[0].startup.database = Some(format!("database of {name}"));
        target
    };
    let targets: Vec<TargetPlan> = ["primary", "unused", "replica"].map(named).into();
    let place = |(script, target): (ScriptPlan, usize)| ScriptPlan { target, ..script };
    let scripts = plan.scripts.into_iter().zip([0, 2, 1]).map(place).collect();
    Plan { clients, targets, scripts, limit: Limit::Duration(seconds(1)), ..plan }
}

/// The database of a connection, from its start-up.
fn database(messages: &[Received]) -> String {
    match messages.first() {
        Some(Received::StartUp(pairs)) => {
            let found = pairs.iter().find(|(name, _)| name == "database");
            found.map(|(_, value)| value.clone()).unwrap_or_default()
        }
        other => panic!("no start-up: {other:?}"),
    }
}

#[test]
fn each_client_has_a_connection_to_each_target_that_is_used() {
    let ran = run(&two_of_three(3), FakeServer::default());
    assert_eq!(ran.outcome.aborted, []);
    for client in 0..3 {
        assert_eq!(database(&ran.log.messages(2 * client)), "database of primary");
        assert_eq!(database(&ran.log.messages(2 * client + 1)), "database of replica");
    }
    assert!(ran.log.messages(6).is_empty());
}

#[test]
fn each_script_runs_on_its_target() {
    let ran = run(&two_of_three(3), FakeServer::default());
    for connection in 0..6 {
        let statement = if connection % 2 == 0 { "INSERT 1" } else { "SELECT 1" };
        let statements = ran.log.statements_of(connection);
        assert!(statements.len() > 100, "{}", statements.len());
        assert!(statements.iter().all(|text| text.trim_end_matches(';') == statement), "{statements:?}");
        assert_eq!(ran.log.messages(connection).last(), Some(&Received::Terminate));
    }
    let scripts = &ran.summary().scripts;
    assert_eq!(scripts[2].counts.scheduled, 0);
    assert!(scripts[0].counts.succeeded > 1000 && scripts[1].counts.succeeded > 1000);
}

#[test]
fn with_a_connection_for_each_transaction_only_its_target_is_connected() {
    let plan = Plan { reconnect: true, limit: Limit::TransactionsPerClient(20), ..two_of_three(1) };
    let ran = run(&plan, FakeServer::default());
    assert_eq!((ran.counts().succeeded, ran.outcome.reconnects.count), (20, 20));
    let start_ups = |connection| {
        let messages = ran.log.messages(connection);
        messages.iter().filter(|message| matches!(message, Received::StartUp(_))).count() as u64
    };
    let scripts = &ran.summary().scripts;
    assert_eq!(start_ups(0), scripts[0].counts.succeeded);
    assert_eq!(start_ups(1), scripts[1].counts.succeeded);
}

#[test]
fn a_client_that_loses_the_target_it_does_not_use_just_now_ends_too() {
    let faults = vec![fault(1, FaultTrigger::Time(at_ms(500)), FaultEffect::Close)];
    let plan = Plan { rate_per_s: Some(100.0), ..two_of_three(2) };
    let ran = run(&plan, faulty(faults));
    assert_eq!(ran.aborted().len(), 1, "{:?}", ran.aborted());
    assert_eq!(ran.aborted()[0].0, 0);
    assert_eq!(ran.log.messages(0).iter().filter(|message| **message == Received::Terminate).count(), 0);
    assert!(ran.outcome.elapsed > ms(900));
}

#[test]
fn a_target_that_lets_nobody_in_is_named() {
    let effect = FaultEffect::fatal("57P03", "the database system is starting up");
    let mut plan = two_of_three(2);
    plan.targets[2].hosts[0].address = connect::Address::Unix("/elsewhere/.s.PGSQL.5433".into());
    let error =
        super::support::try_run(&plan, faulty(vec![fault(3, FaultTrigger::StartUp, effect)]), seconds(1));
    let sentence = error.err().map(|error| error.to_string()).expect("nobody got in");
    assert_eq!(
        sentence,
        "could not create connection for client 1 to socket \"/elsewhere/.s.PGSQL.5433\": \
         FATAL:  the database system is starting up"
    );
}
