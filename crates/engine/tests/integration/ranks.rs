//! A distributed run with real threads: each rank is a thread with workers of its own, the messages are text in
//! channels, and one null server serves all. Nothing depends on timing.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use connect::Transport;
use pgmeter_engine::{
    End, EngineError, HostPlan, Inbox, Limit, Part, Peers, Plan, Progress, RankMessage, ScriptPlan,
    SharedEnd, StopRequest, TargetPlan, no_tracer, run_rank, run_with_peers,
};
use script::{Dialect, Symbols};
use testkit::null::{NullOptions, NullServer};
use wire::StartupParameters;

const RANKS: usize = 3;

/// What the threads share: in reality, a process manager.
struct Exchange {
    all: Barrier,
    start: Mutex<Option<Instant>>,
    inbox: Mutex<Option<Inbox>>,
}

struct OfRank {
    rank: usize,
    exchange: Arc<Exchange>,
}

impl Peers for OfRank {
    fn start(&mut self, inbox: Inbox) -> Result<Instant, EngineError> {
        let Exchange { all, start, inbox: of_rank_0 } = &*self.exchange;
        if self.rank == 0 {
            *of_rank_0.lock().expect("nobody panicked") = Some(inbox);
            all.wait();
            *start.lock().expect("nobody panicked") = Some(Instant::now());
        } else {
            all.wait();
        }
        all.wait();
        Ok(start.lock().expect("nobody panicked").expect("rank 0 has set it"))
    }
}

impl OfRank {
    fn send(&self, message: &RankMessage) {
        let text = serde_json::to_string(message).expect("text");
        let message = serde_json::from_str(&text).expect("a message");
        let inbox = self.exchange.inbox.lock().expect("nobody panicked").clone();
        inbox.expect("the run has started").deliver(self.rank, message);
    }
}

fn plan(server: &NullServer, rank: usize) -> Plan {
    let mut symbols = Symbols::new();
    let program = script::parse("script.sql", b"SELECT 1;", &mut symbols, Dialect::Extended);
    let scripts = vec![ScriptPlan { program: program.expect("a script"), weight: 1, target: 0 }];
    let startup = StartupParameters { user: "tester".to_owned(), ..StartupParameters::default() };
    let host = HostPlan { address: server.address().clone(), transport: Transport::default(), startup };
    let target = TargetPlan { name: String::new(), hosts: vec![host] };
    let part = Part { rank, ranks: RANKS };
    let limit = Limit::TransactionsPerClient(200);
    Plan { part, clients: 10, workers: 2, limit, ..Plan::new(vec![target], scripts, symbols) }
}

/// Runs all ranks; the outcome of rank 0. `rate_per_s` is that of the whole run.
fn run(rate_per_s: Option<f64>) -> pgmeter_engine::Outcome {
    let server = NullServer::on_unix_socket(NullOptions::default()).expect("a null server");
    let exchange =
        Arc::new(Exchange { all: Barrier::new(RANKS), start: Mutex::default(), inbox: Mutex::default() });
    let shared = SharedEnd::default();
    thread::scope(|scope| {
        for rank in 1..RANKS {
            let plan = Plan { rate_per_s, ..plan(&server, rank) };
            let (exchange, shared) = (Arc::clone(&exchange), &shared);
            scope.spawn(move || {
                let stop = AtomicBool::new(false);
                let peers = &mut OfRank { rank, exchange: Arc::clone(&exchange) };
                let sender = OfRank { rank, exchange };
                // One process: the decisions need not be carried.
                let request = StopRequest { stop: &stop, time_is_up: None, shared: Some(shared), gate: None };
                let mut observer = |progress: &Progress<'_>| sender.send(&RankMessage::interval(progress));
                let outcome = run_rank(&plan, request, &mut observer, &no_tracer, peers);
                let outcome = outcome.map(Box::new).map_err(|error| error.to_string());
                sender.send(&RankMessage::Done(outcome));
            });
        }
        let plan = Plan { rate_per_s, ..plan(&server, 0) };
        let stop = AtomicBool::new(false);
        let request = StopRequest { stop: &stop, time_is_up: None, shared: Some(&shared), gate: None };
        let mut peers = OfRank { rank: 0, exchange };
        let outcome = run_with_peers(&plan, request, &mut |_| {}, &no_tracer, &mut peers);
        outcome.unwrap_or_else(|error| panic!("{error}"))
    })
}

#[test]
fn three_ranks_with_two_workers_each_execute_one_load() {
    for rate_per_s in [None, Some(5_000.0)] {
        let outcome = run(rate_per_s);
        assert_eq!((outcome.end, outcome.aborted.as_slice()), (End::Complete, &[][..]));
        assert_eq!(outcome.summary.total.counts.succeeded, 2_000);
        let ranks: Vec<_> = outcome.ranks.iter().map(|rank| (rank.clients, rank.workers)).collect();
        assert_eq!(ranks, [(4, 2), (3, 2), (3, 2)]);
        let succeeded: Vec<_> = outcome.ranks.iter().map(|rank| rank.total.counts.succeeded).collect();
        assert_eq!(succeeded, [800, 600, 600]);
        assert_eq!((outcome.workers, outcome.health.len()), (6, 6));
        let clients: Vec<_> = outcome.health.iter().map(|health| health.clients).collect();
        assert_eq!(clients, [2, 2, 2, 1, 2, 1]);
        assert!(outcome.ranks.iter().all(|rank| rank.event_loop == outcome.event_loop));
        assert_eq!(outcome.client_cpu, outcome.ranks.iter().map(|rank| rank.client_cpu).sum::<Duration>());
        assert_eq!(outcome.commands.of_script(0)[0].completed.count, 2_000);
    }
}
