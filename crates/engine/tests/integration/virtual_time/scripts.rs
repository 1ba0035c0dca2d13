//! Scripts in a run: selection, variables, and meta commands, which take time of their client only. The vectors are
//! from the reference, section 21.

use pgmeter_engine::{Limit, Plan};
use testkit::fake::FakeServer;

use super::support::{assert_close, mix, ms, plan, run, seconds};

#[test]
fn scripts_are_chosen_as_pgbench_chooses_them() {
    let scripts = [("SELECT 0;", 5), ("SELECT 1;", 3), ("SELECT 2;", 2)];
    let plan = Plan { clients: 2, limit: Limit::TransactionsPerClient(6), ..mix(&scripts) };
    let ran = run(&plan, FakeServer::default());
    let chosen: Vec<_> = ran.log.statements().into_iter().map(|(_, _, sql)| sql).collect();
    let expected = [1, 1, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0].map(|script| format!("SELECT {script};"));
    assert_eq!(chosen, expected);
}

#[test]
fn scripts_are_chosen_in_the_proportions_of_their_weights() {
    let scripts = [("SELECT 0;", 5), ("SELECT 1;", 0), ("SELECT 2;", 3), ("SELECT 3;", 2)];
    let ran = run(&Plan { clients: 3, ..mix(&scripts) }, FakeServer::default());
    let total = ran.counts().succeeded as f64;
    for (script, share) in ran.summary().scripts.iter().zip([0.5, 0.0, 0.3, 0.2]) {
        let deviation = (total * share * (1.0 - share)).sqrt();
        let found = script.counts.succeeded as f64;
        assert!((found - total * share).abs() <= 5.0 * deviation, "{found} of {total}, expected {share}");
    }
}

#[test]
fn each_script_has_its_own_statistics() {
    let ran = run(&mix(&[("SELECT 0;", 1), ("SELECT 1;\nSELECT 2;", 1)]), FakeServer::default());
    let means = ran.summary().scripts.iter().map(|script| script.service.mean_ns().unwrap());
    for (found, expected) in means.zip([500e3, 1000e3]) {
        assert_close("mean", found, expected, 0.001);
    }
}

/// The TPC-B-like script, reduced to its variables.
const VARIABLES: &str = "\
\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
SELECT :aid, :bid, :tid, :delta;
";

#[test]
fn a_clients_draws_are_those_of_pgbench() {
    let plan = Plan { clients: 2, limit: Limit::TransactionsPerClient(3), ..plan(VARIABLES) };
    let ran = run(&plan, FakeServer::default());
    let expected = [
        ["83532, 1, 1, -170", "86390, 1, 5, -253", "452, 1, 2, 4776"],
        ["81172, 1, 9, -348", "24146, 1, 1, -1448", "45929, 1, 8, 1413"],
    ];
    for (client, expected) in expected.iter().enumerate() {
        assert_eq!(ran.log.statements_of(client), expected.map(|values| format!("SELECT {values};")));
    }
    assert_eq!(ran.outcome.default_seed, 4_482_733_528_210_176_216);
}

#[test]
fn automatic_variables_are_set_and_the_users_win() {
    let script = "SELECT :scale, :client_id, :random_seed, :default_seed, :mine;";
    let limit = Limit::TransactionsPerClient(1);
    let variables = [("mine", "a b"), ("scale", "99")];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let plan = Plan { clients: 2, limit, scale: 10, variables, ..plan(script) };
    let ran = run(&plan, FakeServer::default());
    assert_eq!(ran.log.statements_of(1), ["SELECT 99, 1, 42, 4482733528210176216, a b;"]);
}

#[test]
fn variables_keep_their_values_from_one_transaction_to_the_next() {
    let variables = vec![("n".to_owned(), "0".to_owned())];
    let plan =
        Plan { variables, limit: Limit::TransactionsPerClient(3), ..plan("\\set n :n + 1\nSELECT :n;") };
    let ran = run(&plan, FakeServer::default());
    assert_eq!(ran.log.statements_of(0), ["SELECT 1;", "SELECT 2;", "SELECT 3;"]);
}

#[test]
fn a_script_of_meta_commands_alone_runs_and_ends() {
    let server = FakeServer { tick: ms(1), ..FakeServer::default() };
    for clients in [1, 5] {
        let plan = Plan { clients, limit: Limit::Duration(seconds(2)), ..plan("\\set a 1\n\\set b :a\n") };
        let ran = run(&plan, server.clone());
        assert!(ran.counts().succeeded > 900, "{:?}", ran.counts());
        assert_eq!(ran.counts().succeeded, ran.counts().scheduled);
        assert_close("duration", ran.summary().duration.as_secs_f64(), 2.0, 0.005);
    }
    let plan = Plan { limit: Limit::TransactionsPerClient(1000), clients: 3, ..plan("\\set a 1\n") };
    let ran = run(&plan, server);
    assert_eq!(ran.counts().succeeded, 3000);
    // One reading of the clock before and one after.
    assert_eq!(ran.summary().total.service.min_ns(), Some(1_000_000));
}

#[test]
fn a_transaction_without_a_wait_is_counted_in_the_second_in_which_it_finished() {
    // Two readings of the clock for each transaction: they finish at 1.2, 2.4, 3.6 seconds and so on.
    let server = FakeServer { tick: ms(600), ..FakeServer::default() };
    let ran = run(&plan("\\set a 1\n"), server);
    let found: Vec<_> = ran.seconds.iter().map(|second| second.interval.total().counts.succeeded).collect();
    assert_eq!(found[..10], [0, 1, 1, 1, 1, 0, 1, 1, 1, 1]);
    // Many of them, with a clock so slow that seconds end within a round of all clients.
    let server = FakeServer { tick: ms(20), ..FakeServer::default() };
    let ran = run(&Plan { clients: 60, ..plan("\\set a 1\n") }, server);
    for second in &ran.seconds[2..10] {
        let found = second.interval.total().counts.succeeded;
        assert!((24..=26).contains(&found), "{found} of 25 in a second");
    }
}

#[test]
fn a_script_of_meta_commands_alone_does_not_starve_the_others() {
    let scripts = [("\\set a 1\n", 50), ("SELECT 1;", 1)];
    let limit = Limit::Duration(seconds(1));
    let ran = run(&Plan { clients: 10, limit, ..mix(&scripts) }, FakeServer::default());
    let [meta, select] = &ran.summary().scripts[..] else { panic!("two scripts") };
    assert_close("meta", meta.counts.succeeded as f64, 50.0 * select.counts.succeeded as f64, 0.05);
    // Each waits for an answer most of the time, so that many wait at once.
    assert!(select.counts.succeeded as f64 > 0.5 * 10.0 / 500e-6, "{:?}", select.counts);
}

#[test]
fn a_script_of_meta_commands_keeps_its_schedule_in_an_open_loop() {
    let plan = Plan { clients: 2, rate_per_s: Some(300.0), ..plan("\\set a 1\n") };
    let ran = run(&plan, FakeServer::default());
    assert_eq!(ran.counts().succeeded, super::arrivals::count(&plan, ms(0), seconds(10)));
    assert!(ran.summary().total.response.max_ns().unwrap() < 100_000);
}

#[test]
fn a_sleep_takes_its_time() {
    let ran = run(&plan("\\sleep 2 ms\nSELECT 1;\n\\sleep 500 us\n"), FakeServer::default());
    let service = &ran.summary().total.service;
    assert_close("mean", service.mean_ns().unwrap(), 3e6, 0.001);
    assert!(service.min_ns().unwrap() >= 3_000_000, "never shorter than asked for");
}

#[test]
fn a_sleeping_client_does_not_hold_up_the_others() {
    // Client 0 does not sleep, client 1 does for half a second.
    let script = "\\set us 500000 * :client_id\n\\sleep :us us\nSELECT 1;\n";
    let ran = run(&Plan { clients: 2, ..plan(script) }, FakeServer::default());
    assert_close("the sleeper", ran.log.statements_of(1).len() as f64, 20.0, 0.051);
    assert_close("the other", ran.log.statements_of(0).len() as f64, 20_000.0, 0.001);
}

#[test]
fn a_sleep_of_nothing_or_less_is_no_sleep() {
    for script in ["\\sleep 0\nSELECT 1;\n", "\\sleep -5 s\nSELECT 1;\n", "SELECT 1;\n\\sleep 0 us\n"] {
        let ran = run(&plan(script), FakeServer::default());
        assert_close("tps", ran.summary().tps(), 2000.0, 0.001);
    }
    let server = FakeServer { tick: ms(1), ..FakeServer::default() };
    let plan = Plan { clients: 2, limit: Limit::Duration(seconds(1)), ..plan("\\sleep 0\n") };
    assert!(run(&plan, server).counts().succeeded > 100);
}
