//! Partial sends: a client's messages arrive complete and in order, and no client is lost. The sizes of the pieces
//! come from a seed.

use pgmeter_engine::{Limit, Plan, Protocol};
use proptest::prelude::*;
use testkit::fake::{FakeServer, Received, Sends, Service};

use super::support::{Ran, ms, plan, run, us};

const STATEMENTS: usize = 6;

/// A pipeline that is sent in several pieces without waiting for replies.
fn pipeline(bytes: usize) -> String {
    let statement = |number| format!("SELECT {number}, '{}';\n\\sleep 1 us\n", "x".repeat(bytes));
    let statements: String = (0..STATEMENTS).map(statement).collect();
    format!("\\startpipeline\n{statements}\\endpipeline\n")
}

fn run_short(seed: u64, longest: u64, bytes: usize, clients: usize) -> Ran {
    let server = FakeServer {
        seed,
        sends: Sends::Short { longest, gap: us(20) },
        service: Service::Exponential(ms(2)),
        ..FakeServer::default()
    };
    let limit = Limit::TransactionsPerClient(2);
    run(&Plan { clients, limit, protocol: Protocol::Extended, ..plan(&pipeline(bytes)) }, server)
}

/// The numbers of the statements that a connection parsed, and the lengths of their texts.
fn heard(ran: &Ran, connection: usize) -> Vec<(String, usize)> {
    let parsed = |message: &Received| match message {
        Received::Parse { sql, .. } => Some((sql.chars().take(8).collect(), sql.len())),
        _ => None,
    };
    ran.log.messages(connection).iter().filter_map(parsed).collect()
}

#[test]
fn a_crowd_whose_sockets_take_little_at_a_time_loses_no_client_and_no_statement() {
    let ran = run_short(7, 3_000, 10_000, 70);
    assert_eq!((ran.aborted(), ran.counts().succeeded), (vec![], 140));
    let of_one: Vec<_> = (0..STATEMENTS).map(|number| (format!("SELECT {number}"), 10_013)).collect();
    let expected = [of_one.clone(), of_one].concat();
    for connection in 0..70 {
        assert_eq!(heard(&ran, connection), expected, "connection {connection}");
    }
    let held_back: u64 = ran.outcome.health.iter().map(|health| health.sends_held_back).sum();
    assert!(held_back > 140, "{held_back}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn whatever_the_sockets_take_the_server_hears_the_same(
        seed in any::<u64>(), longest in 20_u64..5_000, bytes in 1_usize..2_000, clients in 1_usize..5,
    ) {
        let ran = run_short(seed, longest, bytes, clients);
        prop_assert_eq!((ran.aborted(), ran.counts().succeeded), (vec![], 2 * clients as u64));
        for connection in 0..clients {
            let heard = heard(&ran, connection);
            prop_assert_eq!(heard.len(), 2 * STATEMENTS);
            for (number, (text, _)) in heard.iter().enumerate() {
                prop_assert_eq!(text, &format!("SELECT {}", number % STATEMENTS));
            }
        }
        let again = run_short(seed, longest, bytes, clients);
        prop_assert_eq!(ran.log.entries(), again.log.entries());
    }
}
