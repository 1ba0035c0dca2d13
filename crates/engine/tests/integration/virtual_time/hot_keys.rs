//! The time that `random_hot` sees, in virtual time: that of a transaction's schedule since measuring began, on all
//! clients, also in a warm-up and for retries. `ranks` compares ranks, `one_stream` workers.

use pgmeter_engine::{Limit, Plan};
use stats::Timestamp;
use testkit::fake::{FakeServer, FaultEffect, FaultTrigger, Service};

use super::support::{Ran, fault, faulty, ms, plan, run, seconds, us};

/// All draws are hot: a hundred of a thousand keys, which change every two seconds.
const HOT: &str = "\\set k random_hot(1, 1000, 1, 0.1, 2)\nSELECT :k;\n";

/// Begin of measuring.
fn measure(plan: &Plan, ran: &Ran) -> Timestamp {
    ran.testimony.intro.as_ref().expect("a tracer").start + plan.warmup
}

/// The number in a statement.
fn key(statement: &str) -> i64 {
    let digits: String = statement.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|error| panic!("{statement}: {error}"))
}

#[test]
fn the_hot_keys_depend_on_the_time_since_measuring_began_in_both_loops() {
    for rate_per_s in [None, Some(300.0)] {
        let limit = Limit::Duration(seconds(5));
        let plan = Plan { clients: 3, rate_per_s, warmup: ms(1_500), limit, ..plan(HOT) };
        // Nearly as slow as the rate, so that many transactions of an open loop start later than they were due.
        let server = FakeServer { service: Service::Fixed(us(9_500)), ..FakeServer::default() };
        let ran = run(&plan, server);
        assert_eq!(ran.aborted(), []);
        let measure = measure(&plan, &ran);
        let mut ranges = Vec::new();
        for client in 0..3 {
            let keys = ran.log.statements_of(client);
            let seen = ran.seen.iter().filter(|seen| seen.client == client && seen.sample.tries > 0);
            let mut compared = 0;
            for (seen, statement) in seen.zip(&keys) {
                let scheduled = seen.sample.scheduled;
                let range = if scheduled < measure { 9 } else { scheduled.since(measure).as_secs() / 2 };
                let number = u64::try_from(key(statement) - 1).expect("a key") / 100;
                assert_eq!(number, range, "{rate_per_s:?}: {statement} at {scheduled:?}");
                ranges.push(range);
                compared += 1;
            }
            assert!(compared > 200, "{rate_per_s:?}: {compared}");
        }
        let all: Vec<_> = [0, 1, 2, 9].into_iter().filter(|range| ranges.contains(range)).collect();
        assert_eq!(all, [0, 1, 2, 9], "{rate_per_s:?}");
    }
}

#[test]
fn a_retry_draws_the_same_keys_although_the_hot_ones_have_moved() {
    let script = "\\set k random_hot(1, 1000000, 1, 0.1, 1)\nBEGIN;\nUPDATE t SET a = :k;\n\\sleep 1500 ms\n\
                  UPDATE u SET a = :k;\nEND;\n";
    let cannot = FaultEffect::error("40001", "could not serialize access");
    let server = faulty(vec![fault(0, FaultTrigger::Statement(2), cannot)]);
    let plan = Plan { limit: Limit::TransactionsPerClient(2), max_tries: None, ..plan(script) };
    let ran = run(&plan, server);
    assert_eq!((ran.aborted(), ran.counts().retries), (Vec::new(), 1));
    let statements = ran.log.statements_of(0);
    let keys: Vec<_> =
        statements.iter().filter(|sql| sql.starts_with("UPDATE t")).map(|sql| key(sql)).collect();
    assert_eq!(keys.len(), 3, "{statements:?}");
    assert_eq!(keys[0], keys[1]);
    // The second transaction begins 3 seconds after the first.
    assert!((1..=100_000).contains(&keys[0]) && (300_001..=400_000).contains(&keys[2]), "{keys:?}");
}

#[test]
fn scripts_without_sql_know_the_time_too() {
    let plan = Plan {
        clients: 2,
        limit: Limit::TransactionsPerClient(3),
        ..plan("\\set k debug(random_hot(1, 1000, 1, 0.1, 0.5))\n")
    };
    let ran = run(&plan, FakeServer::default());
    assert_eq!((ran.aborted(), ran.counts().succeeded), (Vec::new(), 6));
    assert_eq!(ran.testimony.events.iter().filter(|event| event.contains("Debugged")).count(), 6);
}
