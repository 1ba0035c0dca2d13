//! More clients, connections and bytes at once than an event loop handles in one batch.
//! All counts must be exact.

use std::time::Duration;

use connect::Address;
use pgmeter_engine::{EventLoop, EventLoopChoice, Limit, Plan, Protocol};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use testkit::null::{NullOptions, NullServer, Stalls};
use testkit::session::Rows;

use super::real_sockets::{complete, plan, servers};

/// More than the requests of one batch.
const CROWD: usize = 1000;

/// File descriptors for both ends of all connections, which are in this process.
fn raise_descriptor_limit() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

#[test]
fn a_thousand_clients_on_one_worker_run_exactly_what_was_asked_for() {
    raise_descriptor_limit();
    for server in servers(&NullOptions::default()) {
        let plan = Plan { clients: CROWD, protocol: Protocol::Prepared, ..plan(&server, &["SELECT 1;"]) };
        assert_eq!(complete(&plan).summary.total.counts.succeeded, 10 * CROWD as u64);
    }
}

#[test]
fn a_crowd_that_connects_for_each_transaction_leaves_nothing_behind() {
    raise_descriptor_limit();
    for server in servers(&NullOptions::default()) {
        let plan = Plan { clients: 100, reconnect: true, ..plan(&server, &["SELECT 1;"]) };
        let outcome = complete(&plan);
        assert_eq!(outcome.summary.total.counts.succeeded, 1000);
        assert_eq!(outcome.reconnects.count, 1000);
    }
}

#[test]
fn large_answers_to_a_crowd_at_once_are_read_to_their_end() {
    let rows = Rows { count: 100, bytes: 10_000 };
    for server in servers(&NullOptions { rows, ..NullOptions::default() }) {
        let plan = Plan { clients: 50, ..plan(&server, &["SELECT 1;"]) };
        assert_eq!(complete(&plan).summary.total.counts.succeeded, 500);
    }
}

#[test]
fn large_statements_of_a_crowd_arrive_at_a_server_that_reads_slowly() {
    let script = format!("SELECT '{}';\n", "x".repeat(200_000));
    let script = format!("{script}{script}");
    for server in servers(&NullOptions { read_max: 20_000, ..NullOptions::default() }) {
        let limit = Limit::TransactionsPerClient(2);
        let plan = Plan { clients: 10, limit, ..plan(&server, &[&script]) };
        assert_eq!(complete(&plan).summary.total.counts.succeeded, 20);
    }
}

/// A pipeline of statements with this many bytes. The pauses split it into as many sends without waiting for replies.
fn pipeline(sizes: &[usize]) -> String {
    let statement = |bytes: &usize| format!("SELECT '{}';\n\\sleep 1 us\n", "x".repeat(*bytes));
    format!("\\startpipeline\n{}\\endpipeline\n", sizes.iter().map(statement).collect::<String>())
}

#[test]
fn pipelines_of_a_crowd_wait_for_a_server_that_does_not_read_and_no_client_is_lost() {
    raise_descriptor_limit();
    let stalls = Some(Stalls { every: Duration::from_millis(30), length: Duration::from_millis(500) });
    let mixed = [4_000, 60_000, 1_000_000, 4_000, 60_000, 1_000_000, 60_000, 4_000];
    for (clients, sizes) in [(70, &[4_000; 60][..]), (70, &[40_000; 8]), (8, &mixed)] {
        for server in servers(&NullOptions { stalls, ..NullOptions::default() }) {
            let (limit, script) = (Limit::TransactionsPerClient(1), pipeline(sizes));
            let plan = Plan { clients, limit, protocol: Protocol::Extended, ..plan(&server, &[&script]) };
            let outcome = complete(&plan);
            assert_eq!(outcome.summary.total.counts.succeeded, clients as u64);
            let held_back: u64 = outcome.health.iter().map(|health| health.sends_held_back).sum();
            assert!(held_back > 0 || matches!(server.address(), Address::Tcp { .. }), "{sizes:?}");
        }
    }
}

#[test]
fn the_outcome_says_how_the_workers_waited() {
    let server = NullServer::on_unix_socket(NullOptions::default()).expect("a null server");
    let outcome = complete(&plan(&server, &["SELECT 1;"]));
    match (super::EVENT_LOOP, outcome.event_loop) {
        (EventLoopChoice::Epoll, EventLoop::Epoll { because: None }) => {}
        (EventLoopChoice::Auto, EventLoop::IoUring | EventLoop::Epoll { because: Some(_) }) => {}
        (asked, got) => panic!("{asked:?} was asked for, {got:?} it was"),
    }
}
