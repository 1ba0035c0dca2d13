//! Runs of the gallery: short and long, precise and hopeless, with one client and many.
//! Some have actions, skipped transactions, failovers or several ranks.

use std::time::Duration;

use results::{
    Action, ActionOutcome, ActionResult, ActionWork, EncodedDistribution, Event, EventKind, Interval, Limit,
    ObserveLevel, Record, ServiceLevel, Stall, Stalls, Status, Verification, Warning,
};
use serde_json::json;
use stats::Distribution;

use crate::pages::example::{self, Example};
use crate::pages::outages::outages;

/// A run of so many seconds without the events of a longer one.
fn run(example: &Example) -> Record {
    let mut record = example::full(example);
    if let Some(observation) = &mut record.observation {
        observation.events.retain(|event| event.start_s < f64::from(example.seconds));
    }
    record
}

fn labelled(record: &mut Record, label: &str) {
    record.annotation.label = serde_json::from_value(json!(label)).expect("it is a label");
}

/// Sets the half width of the interval of throughput and latency.
fn known_to(record: &mut Record, share: f64) {
    let confidence = &mut record.summary.confidence;
    for (estimate, value) in [
        (&mut confidence.tps, Some(record.summary.tps)),
        (&mut confidence.response_mean_us, record.summary.response_us.map(|us| us.mean)),
    ] {
        if let (Some(estimate), Some(value)) = (estimate.as_mut(), value) {
            (estimate.low, estimate.high) = (value * (1.0 - share), value * (1.0 + share));
        }
    }
    record.summary.scripts[0].confidence = record.summary.confidence;
}

pub fn typical() -> Record {
    run(&Example::default())
}

/// Three seconds have no interval.
pub fn short() -> Record {
    let mut record = run(&Example { seconds: 3, ..Example::default() });
    record.summary.confidence = results::Confidence::default();
    record.summary.scripts[0].confidence = results::Confidence::default();
    record.summary.steady_state = None;
    record
}

pub fn long() -> Record {
    run(&Example { seconds: 3_600, tps: 60.0, median_us: 118_000.0, ..Example::default() })
}

pub fn precise() -> Record {
    let mut record = run(&Example { noise: 0.002, has_checkpoints: false, ..Example::default() });
    known_to(&mut record, 0.001);
    record.warnings.clear();
    record
}

pub fn hopeless() -> Record {
    let mut record =
        run(&Example { seconds: 30, tps: 12.0, median_us: 590_000.0, noise: 0.9, ..Example::default() });
    known_to(&mut record, 1.0);
    record
}

/// The shortest command: nothing is observed.
pub fn one_client() -> Record {
    let mut record = run(&Example { seconds: 25, tps: 900.0, median_us: 1_050.0, ..Example::default() });
    (record.plan.clients, record.plan.workers, record.observation) = (1, 1, None);
    record.warnings.clear();
    record
}

/// 64 clients, most of whom wait for a row's lock.
pub fn many_clients() -> Record {
    let mut record = run(&Example { tps: 1_800.0, median_us: 31_000.0, ..Example::default() });
    record.plan.clients = 64;
    let observation = record.observation.as_mut().expect("it was observed");
    for wait in observation.samples.iter_mut().flat_map(|sample| &mut sample.waits) {
        wait.backends *= if wait.event_type == "Lock" { 34.0 } else { 1.6 };
    }
    let waits = observation.waits.as_mut().expect("they were seen");
    waits.top.sort_by_key(|wait| wait.event_type != "Lock");
    for (wait, share) in
        waits.top.iter_mut().zip([0.61, 0.19, 0.07, 0.05, 0.03, 0.02, 0.01, 0.008, 0.007, 0.005])
    {
        wait.share = share;
        wait.interval = Some(results::ShareInterval { low: share * 0.96, high: share * 1.04 });
    }
    record
}

/// Sets the counts of the run to the sums of its intervals.
fn summed(record: &mut Record) {
    let mut counts = results::Counts::default();
    record.intervals.iter().for_each(|interval| counts.merge(&interval.counts));
    let summary = &mut record.summary;
    (summary.counts, summary.scripts[0].counts) = (counts, counts);
    summary.tps = counts.succeeded as f64 / summary.duration_s;
    summary.scripts[0].tps = summary.tps;
    known_to(record, 0.015);
}

fn emptied(interval: &mut Interval, skipped: u64) {
    let counts = results::Counts { scheduled: skipped, skipped, ..results::Counts::default() };
    interval.counts = counts;
    for script in &mut interval.scripts {
        (script.counts, script.response) = (counts, EncodedDistribution::of(&Distribution::new()));
    }
}

/// 300 transactions per second were due within 20 ms, and the server had not enough for a third of the time.
pub fn open_loop() -> Record {
    let mut record = run(&Example { seconds: 60, tps: 300.0, median_us: 6_000.0, ..Example::default() });
    (record.plan.rate_tps, record.plan.latency_limit_us) = (Some(300.0), Some(20_000.0));
    for interval in &mut record.intervals[20..40] {
        let skipped = interval.counts.succeeded / 3;
        for counts in [&mut interval.counts, &mut interval.scripts[0].counts] {
            counts.scheduled += skipped;
            counts.skipped += skipped;
            counts.late = counts.succeeded / 5;
        }
        interval.scripts[0].lag_max_ns = 19_000_000;
    }
    summed(&mut record);
    let counts = record.summary.counts;
    let share = (counts.skipped + counts.late) as f64 / counts.scheduled as f64;
    record.summary.late_or_skipped_share = Some(share);
    record.summary.service_level = Some(ServiceLevel { kept: false, missed_share: share });
    record.summary.lag_us = Some(results::Lag { mean: 2_310.0, max: 19_870.0 });
    record.warnings.clear();
    record
}

/// A rate that the server kept, with a goal that was met, one that was missed and one that is open.
pub fn goals() -> Record {
    let mut record = run(&Example {
        seconds: 60,
        tps: 200.0,
        median_us: 3_000.0,
        noise: 0.01,
        has_checkpoints: false,
        ..Example::default()
    });
    record.plan.rate_tps = Some(200.0);
    summed(&mut record);
    let (tps, response) = (record.summary.tps, record.summary.response_us.expect("it is known"));
    let around = |value: f64| [value, 0.97 * value, 1.03 * value];
    record.summary.service_level = Some(ServiceLevel { kept: true, missed_share: 0.0005 });
    record.summary.lag_us = Some(results::Lag { mean: 31.0, max: 1_870.0 });
    let goal = |goal: &str, verdict: &str, [value, low, high]: [f64; 3]| {
        let json = json!({
            "goal": serde_json::to_value(goal.parse::<stats::goals::Goal>().expect("it is a goal")).expect("JSON"),
            "verdict": verdict, "value": value, "low": low, "high": high, "method": "blocks",
            "transactions": 12_000, "uncompleted": 3, "needed_s": 240.0,
        });
        serde_json::from_value(json).expect("it is a result")
    };
    record.summary.goals = vec![
        goal("p99 < 4ms", "missed", around(response.p99)),
        goal("tps > 150", "met", around(tps)),
        goal("p50 < 3ms", "undecided", around(response.p50)),
    ];
    record.plan.goals = record.summary.goals.iter().map(|result| result.goal.clone()).collect();
    record
}

fn action(sql: &str, [begin_s, end_s]: [f64; 2], outcome: ActionOutcome) -> ActionResult {
    let action = Action { at_s: begin_s, work: ActionWork::Sql { sql: sql.into() } };
    ActionResult { action, begin_s: Some(begin_s), end_s: Some(end_s), outcome, before: None, after: None }
}

/// A lock that stopped the load, a vacuum without an effect, and a statement with an error.
pub fn actions() -> Record {
    let mut record = run(&Example {
        seconds: 30,
        tps: 300.0,
        median_us: 23_500.0,
        has_checkpoints: false,
        ..Example::default()
    });
    record.intervals[10..15].iter_mut().for_each(|interval| emptied(interval, 0));
    summed(&mut record);
    let failed = ActionOutcome::Failed { sqlstate: Some("42P01".to_owned()), error: "ERROR: no w".into() };
    record.summary.actions = vec![
        action(
            "BEGIN; LOCK TABLE pgbench_accounts IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(5); COMMIT",
            [10.0, 15.0],
            ActionOutcome::Succeeded,
        ),
        action("VACUUM pgbench_accounts", [20.0, 20.2], ActionOutcome::Succeeded),
        action("REINDEX TABLE w", [25.0, 25.0], failed),
    ];
    record.plan.actions = record.summary.actions.iter().map(|result| result.action.clone()).collect();
    record.summary.stalls = Some(Stalls {
        threshold_us: 1e6,
        count: 1,
        total_s: 4.98,
        longest: vec![Stall { start_s: 10.01, end_s: 14.99 }],
    });
    let observation = record.observation.as_mut().expect("it was observed");
    let queue = |at: u32, backends: u32| Event {
        kind: EventKind::LockQueue,
        start_s: 10.1 + f64::from(at),
        end_s: Some(14.9),
        detail: format!("{backends} backends behind pgbench_accounts").into(),
    };
    observation.events = (0..4).map(|at| queue(at, 2 + 2 * at)).collect();
    record
}

/// The server was killed; clients connected again, and two commits were lost.
pub fn failover() -> Record {
    let mut record = run(&Example {
        seconds: 20,
        tps: 400.0,
        median_us: 17_500.0,
        has_checkpoints: false,
        ..Example::default()
    });
    record.intervals[2..4].iter_mut().for_each(|interval| emptied(interval, 0));
    summed(&mut record);
    record.summary.outages = Some(outages(2.5, Some(5.0)));
    record.verification = Some(verification(2));
    record
}

pub fn verified() -> Record {
    let mut record = run(&Example { seconds: 20, tps: 400.0, median_us: 17_500.0, ..Example::default() });
    record.verification = Some(verification(0));
    record
}

fn verification(lost: u64) -> Verification {
    let examples: Vec<_> = (0..lost)
        .map(|number| {
            json!({"client": number, "sequence": 811 + number, "part": 1, "try": 1, "began_s": 1.861,
                "sent_s": 1.864, "ended_s": 1.868 + number as f64 / 1e3, "sqlstate": null})
        })
        .collect();
    let window = (lost > 0).then(|| {
        json!({"kept_until_s": 1.867, "first_lost_s": 1.868, "last_lost_s": 1.869, "length_ms": 2.1,
            "transactions": 3})
    });
    let json = json!({
        "table": "pgmeter_tokens", "scripts": [{"script": "tpcb-like", "tokens": "with_commit"}],
        "sent": 8_004, "acknowledged": 7_990, "lost": lost, "reserved": 0, "reserved_absent": 0, "refused": 6,
        "phantom": 0, "unknown_applied": 5, "unknown_absent": 3, "doubled": 0, "order_gaps": 0,
        "lost_window": window,
        "examples": {"lost": examples, "reserved": [], "phantom": [], "unknown_applied": [],
            "unknown_absent": [], "doubled": []},
    });
    serde_json::from_value(json).expect("it is a verification")
}

/// Load generators on three machines.
pub fn ranks() -> Record {
    let of_three = crate::texts::ranks::distributed(3, 1);
    let mut record = run(&Example { seconds: 60, median_us: 18_000.0, ..Example::default() });
    (record.plan.machines, record.plan.clients) = (of_three.plan.machines, of_three.plan.clients);
    record.summary.ranks = of_three.summary.ranks;
    for rank in &mut record.summary.ranks {
        rank.host.hostname = format!("bench{}", rank.rank);
        rank.tps = record.summary.tps / 3.0;
        rank.response_us = record.summary.response_us;
    }
    record.summary.generator = of_three.summary.generator;
    record.warnings = results::warnings(&record);
    record
}

pub fn standbys() -> Record {
    let mut record = run(&Example { seconds: 60, ..Example::default() });
    let response_us = record.summary.response_us;
    let observation = record.observation.as_mut().expect("it was observed");
    observation.standbys = example::standbys(60);
    let session = |name: &str, stale_reads| results::StaleSession {
        reads_from: name.into(),
        reads: 1_000,
        stale_reads,
        backward_reads: 7,
        commits_behind_max: 12,
        staleness_us: response_us,
    };
    let sessions = vec![session("near", 30), session("far", 990)];
    observation.staleness = Some(results::Staleness { writes: 1_200, sessions });
    record
}

pub fn failing() -> Record {
    example::fruitless()
}

pub fn nothing() -> Record {
    example::empty()
}

/// Ended by the server after 40 s.
pub fn failed() -> Record {
    let mut record = run(&Example { seconds: 40, ..Example::default() });
    record.status = Status::Failed { reason: "the server closed the connection unexpectedly.".into() };
    record.plan.limit = Limit::Duration(Duration::from_secs(120));
    record.warnings.push(Warning::SettingsUnread { error: "permission denied".into() });
    record
}

/// Without anything of the server but its version.
pub fn observed_little() -> Record {
    let mut record = run(&Example { seconds: 30, ..Example::default() });
    let observation = record.observation.as_mut().expect("it was observed");
    observation.level = ObserveLevel::Full;
    (observation.waits, observation.statements) = (None, Vec::new());
    observation.samples.clear();
    record
}

/// Two runs that differ in the protocol, with labels.
pub fn two() -> Vec<(String, Record)> {
    let mut one = run(&Example { seconds: 30, ..Example::default() });
    let mut other =
        run(&Example { seconds: 30, tps: 2_950.0, median_us: 2_400.0, seed: 7, ..Example::default() });
    one.plan.protocol = results::Protocol::Simple;
    (one.annotation, other.annotation) = Default::default();
    labelled(&mut one, "runA");
    labelled(&mut other, "runB");
    vec![("run 1".to_owned(), one), ("run 2".to_owned(), other)]
}

/// Runs with 1 to 2ⁿ clients.
pub fn ladder(number: u32, seconds: u32) -> Vec<(String, Record)> {
    let one = |at: u32| {
        let clients = f64::from(1u32 << (at % 8));
        let tps = 1_200.0 * clients / (1.0 + clients / 12.0) / 4.0;
        let median_us = clients / tps * 1e6 * 0.8;
        let mut record = run(&Example { seconds, tps, median_us, seed: u64::from(at), ..Example::default() });
        record.plan.clients = 1 << (at % 8);
        (format!("run {}", at + 1), record)
    };
    (0..number).map(one).collect()
}

#[test]
fn the_figures_of_closed_loops_agree_with_littles_law() {
    let all =
        [typical, short, long, precise, hopeless, one_client, many_clients, actions, failover, verified];
    let others = [ranks, standbys, failed, observed_little];
    let wrong = all.iter().chain(&others).filter_map(|make| {
        let record = make();
        let busy_s: f64 = record
            .intervals
            .iter()
            .filter(|it| it.counts.succeeded > 0)
            .map(|it| it.end_s - it.start_s)
            .sum();
        let tps = record.summary.counts.succeeded as f64 / busy_s;
        let mean_us = record.summary.response_us.expect("transactions succeeded").mean;
        let clients = tps * mean_us / 1e6 / f64::from(record.plan.clients);
        (!(0.8..1.1).contains(&clients)).then(|| format!("{} clients: {clients}", record.plan.clients))
    });
    assert_eq!(wrong.collect::<Vec<_>>(), Vec::<String>::new());
}
