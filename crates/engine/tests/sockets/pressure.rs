//! Crowds: more clients, connections and bytes at once than an event loop has room for in one go. What is counted must
//! come out exactly all the same.

use pgmeter_engine::{EventLoop, EventLoopChoice, Limit, Plan, Protocol};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use testkit::null::{NullOptions, NullServer};
use testkit::session::Rows;

use crate::real_sockets::{complete, plan, servers};

/// More than the requests that are handed over in one go.
const CROWD: usize = 1000;

/// Room for both ends of all connections, which are in this process.
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

#[test]
fn the_outcome_says_how_the_workers_waited() {
    let server = NullServer::on_unix_socket(NullOptions::default()).expect("a null server");
    let outcome = complete(&plan(&server, &["SELECT 1;"]));
    match (crate::EVENT_LOOP, outcome.event_loop) {
        (EventLoopChoice::Epoll, EventLoop::Epoll { because: None }) => {}
        (EventLoopChoice::Auto, EventLoop::IoUring | EventLoop::Epoll { because: Some(_) }) => {}
        (asked, got) => panic!("{asked:?} was asked for, {got:?} it was"),
    }
}
