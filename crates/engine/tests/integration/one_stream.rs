//! The open loop over real sockets and several workers: schedule, scripts and random numbers depend on the seed
//! alone, not on the number of workers and clients. Nothing depends on timing.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use connect::Transport;
use pgmeter_engine::{
    ClientEvent, ClientNumbers, EndedTransaction, HostPlan, Limit, LoadChanges, Outcome, Plan, ScriptPlan,
    TargetPlan, Tracer, WorkerIntro, run,
};
use script::{Dialect, Symbols};
use stats::rate::{GapLaw, RateCurve};
use testkit::null::{NullOptions, NullServer, Stalls};
use wire::StartupParameters;

const SCRIPTS: [(&str, u32); 4] = [
    (
        "\\set x debug(random(1, 1000000000))\n\\set y debug(random_gaussian(1, 1000000, 3))\nSELECT :x, :y;\n",
        3,
    ),
    ("\\set x debug(random_zipfian(1, 1000000, 1.5) + random(0, 1000000000))\nSELECT :x;\n", 1),
    ("SELECT 1;\n\\set x debug(random(0, 1000000000))\nSELECT :x;\n", 2),
    // The hot keys move several times within a run.
    ("\\set x debug(random_hot(1, 1000000000, 0.9, 0.001, 0.02))\nSELECT :x;\n", 2),
];

/// Which script ran when it was scheduled, and what it drew.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ran {
    scheduled_ns: u64,
    script: usize,
    draws: Vec<String>,
}

/// Records the transactions of one worker's clients.
struct Scribe {
    start_ns: u64,
    clients: ClientNumbers,
    /// The random numbers of each client's transaction.
    draws: Vec<Vec<String>>,
    ran: Vec<Ran>,
    all: Arc<Mutex<Vec<Ran>>>,
}

impl Scribe {
    fn new(intro: WorkerIntro, all: Arc<Mutex<Vec<Ran>>>) -> Self {
        Self {
            start_ns: intro.start.as_nanos(),
            clients: intro.clients,
            draws: intro.clients.iter().map(|_| Vec::new()).collect(),
            ran: Vec::new(),
            all,
        }
    }
}

impl Tracer for Scribe {
    fn transaction(&mut self, ended: &EndedTransaction<'_>) {
        let EndedTransaction { client, sample, .. } = ended;
        let draws = std::mem::take(&mut self.draws[self.clients.index_of(*client).expect("its client")]);
        let scheduled_ns = sample.scheduled.as_nanos() - self.start_ns;
        self.ran.push(Ran { scheduled_ns, script: sample.script, draws });
    }

    fn on_event(&mut self, event: &ClientEvent<'_>) {
        if let ClientEvent::Debugged { client, value, .. } = event {
            self.draws[self.clients.index_of(*client).expect("its client")].push((*value).to_owned());
        }
    }

    fn end(&mut self, _now: stats::Timestamp) {
        self.all.lock().expect("nobody panicked").append(&mut self.ran);
    }
}

fn plan(server: &NullServer) -> Plan {
    let mut symbols = Symbols::new();
    let mut scripts = Vec::new();
    for (text, weight) in SCRIPTS {
        let program = script::parse("script.sql", text.as_bytes(), &mut symbols, Dialect::Extended);
        let program = program.unwrap_or_else(|error| panic!("{error}"));
        scripts.push(ScriptPlan { program, weight, target: 0 });
    }
    let startup = StartupParameters { user: "tester".to_owned(), ..StartupParameters::default() };
    let host = HostPlan { address: server.address().clone(), transport: Transport::default(), startup };
    let target = TargetPlan { name: String::new(), hosts: vec![host] };
    Plan { seed: 42, rate_per_s: Some(5000.0), ..Plan::new(vec![target], scripts, symbols) }
}

/// All transactions, in the order of their schedule.
fn ran(plan: &Plan) -> (Vec<Ran>, Outcome) {
    let all = Arc::new(Mutex::new(Vec::new()));
    let tracers = |intro| Box::new(Scribe::new(intro, Arc::clone(&all))) as Box<dyn Tracer>;
    let outcome = run(plan, &AtomicBool::new(false), &mut |_| {}, &tracers);
    let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.aborted, []);
    let mut all = std::mem::take(&mut *all.lock().expect("nobody panicked"));
    all.sort();
    (all, outcome)
}

#[test]
fn what_is_scheduled_and_drawn_is_the_same_on_one_worker_and_on_eight() {
    let server = NullServer::on_unix_socket(NullOptions::default()).expect("a null server");
    let of = |clients: usize, workers: usize, transactions: u64| {
        let limit = Limit::TransactionsPerClient(transactions);
        let (ran, outcome) = ran(&Plan { clients, workers, limit, ..plan(&server) });
        assert_eq!(outcome.workers, workers);
        let healths: Vec<_> = outcome.health.iter().map(|health| (health.worker, health.clients)).collect();
        assert_eq!(healths.len(), workers);
        assert_eq!(healths.iter().map(|(_, clients)| clients).sum::<usize>(), clients);
        ran
    };
    let one = of(12, 1, 50);
    assert_eq!(one.len(), 600);
    assert!(one.windows(2).all(|pair| pair[0].draws != pair[1].draws), "each arrival draws for itself");
    for script in 0..SCRIPTS.len() {
        assert!(one.iter().any(|ran| ran.script == script), "script {script} was never chosen");
    }
    assert_eq!(of(12, 8, 50), one);
    // Numbers of clients that cannot be distributed evenly.
    assert_eq!(of(12, 5, 50), one);
    assert_eq!(of(8, 8, 75), one);
    assert_eq!(of(1, 1, 600), one);
}

#[test]
fn another_seed_gives_another_schedule_and_other_draws() {
    let server = NullServer::on_unix_socket(NullOptions::default()).expect("a null server");
    let of = |seed| ran(&Plan { seed, limit: Limit::TransactionsPerClient(50), ..plan(&server) }).0;
    let (one, other) = (of(1), of(2));
    assert!(one.iter().all(|ran| other.iter().all(|other| ran.draws != other.draws)));
    assert!(one.iter().zip(&other).all(|(one, other)| one.scheduled_ns != other.scheduled_ns));
}

/// Delays the whole worker once, like a suspended machine.
struct Sleeper {
    left: u64,
}

impl Tracer for Sleeper {
    fn transaction(&mut self, _ended: &EndedTransaction<'_>) {
        self.left = self.left.saturating_sub(1);
        if self.left == 1 {
            std::thread::sleep(Duration::from_millis(500));
        }
    }
}

#[test]
fn whatever_holds_a_worker_up_no_arrival_is_lost() {
    let server = NullServer::on_unix_socket(NullOptions::default()).expect("a null server");
    let (clients, transactions) = (8, 400);
    let limit = Limit::TransactionsPerClient(transactions);
    let plan = Plan { clients, limit, ..plan(&server) };
    let tracers = |_| Box::new(Sleeper { left: 300 }) as Box<dyn Tracer>;
    let outcome = run(&plan, &AtomicBool::new(false), &mut |_| {}, &tracers);
    let total = outcome.unwrap_or_else(|error| panic!("{error}")).summary.total;
    assert_eq!(total.counts.succeeded, transactions * clients as u64);
    assert!(total.lag_max_ns > 100_000_000, "what was scheduled meanwhile began late, which must show");
}

#[test]
fn a_server_that_is_silent_for_two_seconds_changes_nothing_of_what_is_scheduled() {
    let stalls = Stalls { every: Duration::from_millis(500), length: Duration::from_secs(2) };
    let scheduled = [None, Some(stalls)].map(|stalls| {
        let server = NullServer::on_unix_socket(NullOptions { stalls, ..NullOptions::default() });
        let server = server.expect("a null server");
        let limit = Limit::Duration(Duration::from_secs(3));
        let plan = Plan { clients: 16, workers: 2, limit, rate_per_s: Some(2000.0), ..plan(&server) };
        let (ran, outcome) = ran(&plan);
        let counts = outcome.summary.total.counts;
        assert_eq!(counts.succeeded, ran.len() as u64, "what was run has left a sample");
        assert_eq!(counts.succeeded + counts.unfinished, counts.scheduled);
        counts.scheduled
    });
    assert_eq!(scheduled[0], scheduled[1]);
    // Poisson: 6000 on average, 77 of standard deviation.
    assert!((5700..6300).contains(&scheduled[0]), "{scheduled:?}");
}

#[test]
fn a_rate_that_changes_is_the_same_on_one_worker_and_on_eight() {
    let server = NullServer::on_unix_socket(NullOptions::default()).expect("a null server");
    let of = |workers: usize, law| {
        let rate = Some(RateCurve::Ramp { from_tps: 500.0, to_tps: 4000.0, over_s: 1.0 });
        let changes = LoadChanges { rate, law, ..LoadChanges::default() };
        let limit = Limit::Duration(Duration::from_secs(1));
        let (ran, outcome) =
            ran(&Plan { clients: 12, workers, limit, rate_per_s: None, changes, ..plan(&server) });
        (ran, outcome.summary.total.counts.scheduled)
    };
    for law in [GapLaw::Poisson, GapLaw::Gamma(0.5)] {
        let (one, scheduled) = of(1, law);
        let (eight, again) = of(8, law);
        assert!((2000..2500).contains(&scheduled) && again == scheduled, "{law}: {scheduled}, {again}");
        // A busy machine does not run all of them before the end.
        let either: BTreeSet<&Ran> = one.iter().chain(&eight).collect();
        let both = one.len() + eight.len() - either.len();
        assert!(either.len() as u64 <= scheduled, "{law}: {} of {scheduled} differ", either.len());
        assert!(both > 12, "{law}: {both} of {scheduled}");
    }
}
