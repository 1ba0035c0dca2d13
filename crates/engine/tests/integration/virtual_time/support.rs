//! Shared by the tests: base plans,
//! and a run with checks that hold after every run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use connect::{Address, Transport};
use pgmeter_engine::{EngineError, HostPlan, Limit, Outcome, Plan, Progress, ScriptPlan, TargetPlan, run_on};
use script::{Dialect, Symbols};
use stats::{Counts, Interval, Summary, Timestamp};
use testkit::fake::{FakeServer, Fault, FaultEffect, FaultTrigger, Log, Service};
use wire::StartupParameters;

use super::onlooker::{Onlooker, Seen, Testimony};

/// The plan of one client that runs one script for ten seconds.
pub fn plan(text: &str) -> Plan {
    mix(&[(text, 1)])
}

/// The plan of one client that runs several scripts, by weight, for ten seconds. They are called `script-0.sql`
/// and so on.
pub fn mix(scripts: &[(&str, u32)]) -> Plan {
    let mut symbols = Symbols::new();
    let mut parsed = Vec::new();
    for (number, (text, weight)) in scripts.iter().enumerate() {
        let program =
            script::parse(&format!("script-{number}.sql"), text.as_bytes(), &mut symbols, Dialect::Extended);
        let program = program.unwrap_or_else(|error| panic!("{error}"));
        parsed.push(ScriptPlan { program, weight: *weight, target: 0 });
    }
    Plan {
        limit: Limit::Duration(Duration::from_secs(10)),
        seed: 42,
        ..Plan::new(vec![target("")], parsed, symbols)
    }
}

/// An unresolvable server: an interrupted run must not send cancel requests to a real one.
pub fn target(name: &str) -> TargetPlan {
    TargetPlan {
        name: name.to_owned(),
        hosts: vec![HostPlan {
            address: Address::Unix("/nowhere/.s.PGSQL.5432".into()),
            transport: Transport::default(),
            startup: StartupParameters { user: "tester".to_owned(), ..StartupParameters::default() },
        }],
    }
}

/// A completed run.
#[derive(Debug)]
pub struct Ran {
    pub outcome: Outcome,
    pub seconds: Vec<Second>,
    pub log: Log,
    /// Events of the tracer, in the order of the ends.
    pub seen: Vec<Seen>,
    pub testimony: Testimony,
    /// Messages about the aborted clients.
    sentences: Vec<String>,
}

/// Events of the observer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Second {
    pub interval: Interval,
    pub warmup: bool,
    pub elapsed: Duration,
}

impl Ran {
    pub fn summary(&self) -> &Summary {
        &self.outcome.summary
    }

    pub fn counts(&self) -> Counts {
        self.outcome.summary.total.counts
    }

    /// The reasons of the aborted clients, each after its number.
    pub fn aborted(&self) -> Vec<(usize, &str)> {
        let clients = self.outcome.aborted.iter().map(|aborted| aborted.client);
        clients.zip(self.sentences.iter().map(String::as_str)).collect()
    }
}

/// Runs the plan and checks what must hold after every run.
pub fn run(plan: &Plan, server: FakeServer) -> Ran {
    run_until(plan, server, Duration::MAX)
}

/// Like [`run`], but the user asks to stop after some whole seconds.
pub fn run_until(plan: &Plan, server: FakeServer, stop_after: Duration) -> Ran {
    match try_run(plan, server, stop_after) {
        Ok(ran) => ran,
        Err(error) => panic!("the run gave no outcome: {error}"),
    }
}

/// Like [`run_until`], where there may be no outcome.
pub fn try_run(plan: &Plan, server: FakeServer, stop_after: Duration) -> Result<Ran, EngineError> {
    let stop = AtomicBool::new(false);
    let mut seconds = Vec::new();
    let driver = server.driver();
    let log = driver.log();
    let mut observer = |progress: &Progress<'_>| {
        if progress.elapsed >= stop_after {
            stop.store(true, Ordering::Relaxed);
        }
        let Progress { interval, warmup, elapsed, .. } = *progress;
        seconds.push(Second { interval: interval.clone(), warmup, elapsed });
    };
    let onlooker = Onlooker::default();
    let outcome = run_on(plan, driver, &stop, &mut observer, &|intro| onlooker.attend(intro))?;
    let mut testimony = onlooker.testify();
    let seen = std::mem::take(&mut testimony.seen);
    let sentences = outcome.aborted.iter().map(ToString::to_string).collect();
    let ran = Ran { outcome, seconds, log, seen, testimony, sentences };
    check(plan, &ran);
    Ok(ran)
}

/// No transaction is lost, and the seconds sum to the run.
fn check(plan: &Plan, ran: &Ran) {
    ran.counts().check();
    for pair in ran.seconds.windows(2) {
        assert_eq!(pair[0].interval.end, pair[1].interval.start, "the seconds leave a gap");
        assert!(pair[0].warmup || !pair[1].warmup, "a warm-up after it was over");
        assert!(pair[0].elapsed <= pair[1].elapsed, "time ran backwards");
    }
    for second in &ran.seconds {
        assert!(!second.warmup || second.elapsed <= plan.warmup, "a measured second is flagged as warm-up");
    }
    let mut sum = Interval::new(plan.scripts.len());
    ran.seconds.iter().filter(|second| !second.warmup).for_each(|second| sum.merge(&second.interval));
    assert_eq!(sum.total(), ran.summary().total, "the seconds do not sum to the summary");
    assert_eq!(sum.scripts, ran.summary().scripts, "the seconds do not sum to the summary, by script");
    check_tracer(plan, ran);
}

/// The tracer has received each transaction once.
fn check_tracer(plan: &Plan, ran: &Ran) {
    let intro = ran.testimony.intro.as_ref().expect("a tracer");
    assert_eq!((intro.number, intro.clients.len()), (0, plan.part.clients(plan.clients)));
    assert!(ran.testimony.ended >= Some(intro.start), "the tracer was not dismissed");
    let measured = |seen: &&Seen| seen.sample.scheduled >= intro.start + plan.warmup;
    let shown = ran.seen.iter().filter(measured).count() as u64;
    assert_eq!(shown, ran.counts().scheduled - ran.counts().unfinished, "the tracer saw something else");
    let mut numbers = vec![0; plan.clients];
    for seen in &ran.seen {
        numbers[seen.client] += 1;
        assert_eq!(seen.number, numbers[seen.client], "a client's transactions are not numbered in order");
    }
}

/// A fault on one connection.
pub fn fault(connection: usize, trigger: FaultTrigger, effect: FaultEffect) -> Fault {
    Fault { connection: Some(connection), trigger, effect }
}

/// A server with 2 ms for a statement instead of 0.5 ms, for closed loops whose number of transactions proves nothing.
pub fn slow() -> FakeServer {
    FakeServer { service: Service::Fixed(us(1_900)), ..FakeServer::default() }
}

/// A server with these faults only.
pub fn faulty(faults: Vec<Fault>) -> FakeServer {
    FakeServer { faults, ..FakeServer::default() }
}

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

pub fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A moment of virtual time, which begins shortly before the run does.
pub fn at_ms(ms: u64) -> Timestamp {
    Timestamp::ZERO + Duration::from_millis(ms)
}

/// As [`at_ms`].
pub fn at_us(us: u64) -> Timestamp {
    Timestamp::ZERO + Duration::from_micros(us)
}

pub fn assert_close(what: &str, found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance * expected,
        "{what}: {found}, expected {expected} within {} %",
        tolerance * 100.0
    );
}
