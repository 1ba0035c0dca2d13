//! Query sets to be shown, made from figures: 22 queries, executed several times, on one server or another.
//! Not what is tested; shared by the tests beside it.

use results::{AnswerCheck, QuerySetPlan, StepBuffers, StepResult, StepTime, StepsRecord, StreamResult};

use crate::pages::example::{self, Example};

/// What a test changes in a query set.
pub struct Set {
    pub version: &'static str,
    pub queries: u64,
    pub repeats: u32,
    pub streams: u32,
    pub refreshes: bool,
    /// Of each query's number, by what its duration is multiplied.
    pub factor: fn(u64) -> f64,
}

impl Default for Set {
    fn default() -> Set {
        Set { version: "18.1", queries: 22, repeats: 4, streams: 1, refreshes: false, factor: |_| 1.0 }
    }
}

pub const LIMIT_US: u64 = 300_000_000;

/// The first execution takes half as long again; later ones vary by a few percent.
pub fn execution(stream: u32, repeat: u32, us: f64) -> StepTime {
    let noise = 1.0 + f64::from((repeat * 7 + stream * 3) % 5) / 100.0;
    // Microseconds of minutes.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let whole = |us: f64| us.round() as u64;
    let us = if repeat == 1 { us * 1.5 } else { us * noise };
    StepTime {
        duration_us: whole(us),
        measured_us: whole(us),
        stream: Some(stream),
        repeat: Some(repeat),
        temp_bytes: Some(0),
        workers_cpu_us: Some(whole(us / 2.0)),
        wal_bytes: Some(0),
        backend_user_us: Some(whole(us * 0.7)),
        backend_system_us: Some(whole(us * 0.1)),
        buffers: StepBuffers {
            hit: Some(whole(us / 10.0)),
            read: Some(if repeat == 1 { 2_000 } else { 0 }),
            ..StepBuffers::default()
        },
        ..StepTime::default()
    }
}

/// Base durations between 5 ms and a few seconds, the same for each query of all sets.
fn base_us(number: u64) -> f64 {
    5_000.0 * (1.0 + ((number * 37) % 101) as f64 * (1.0 + (number % 4) as f64 * 3.0))
}

fn query(set: &Set, number: u64) -> StepResult {
    let times = (0..set.streams).flat_map(|stream| {
        (1..=set.repeats).map(move |repeat| StepTime {
            rows: Some(number),
            checksum: Some(format!("{number:032x}")),
            ..execution(stream, repeat, base_us(number) * (set.factor)(number))
        })
    });
    StepResult {
        limit_us: Some(LIMIT_US),
        at_limit_us: Some(LIMIT_US),
        answer: Some(AnswerCheck::Equal),
        times: times.collect(),
        ..StepResult::new(format!("q{number}"), Some("SELECT 1".into()))
    }
}

/// A pair of refresh functions for each stream, which are in none.
fn refresh(name: &str, pairs: u32) -> StepResult {
    let time = |pair| StepTime { stream: None, repeat: Some(pair), ..execution(0, 1, 100_000.0) };
    StepResult { times: (1..=pairs).map(time).collect(), ..StepResult::new(name.to_owned(), None) }
}

pub fn record(set: &Set) -> StepsRecord {
    let run = example::full(&Example { seconds: 1, tps: 10.0, ..Example::default() });
    let mut environment = run.environment;
    let server = environment.server.as_mut().expect("it answered");
    server.version = set.version.to_owned();
    let mut steps: Vec<StepResult> = (1..=set.queries).map(|number| query(set, number)).collect();
    let refreshes = || ["rf1", "rf2"].map(|name| refresh(name, set.streams));
    steps.extend(set.refreshes.then(refreshes).into_iter().flatten());
    let order: Vec<String> = steps.iter().map(|step| step.name.clone()).collect();
    let stream = |stream: Option<u32>| StreamResult {
        stream,
        started_us: u64::from(stream.unwrap_or(0)) * 1_000,
        duration_us: 60_000_000,
        order: order.clone(),
    };
    let refresh_stream = (set.refreshes && set.streams > 1).then(|| stream(None));
    StepsRecord {
        connection: run.plan.connection,
        environment,
        query_set: Some(QuerySetPlan {
            workload: "tpch".to_owned(),
            notice: Some(
                "These results are derived from TPC-H and are not comparable with published TPC-H results"
                    .to_owned(),
            ),
            scale: stats::Scale::ONE,
            indexes: Some("keys".to_owned()),
            text: Some("given".to_owned()),
            seed: None,
            streams: set.streams,
            repeats: set.repeats,
            limit_us: Some(LIMIT_US),
            select: Vec::new(),
            asks_plans: false,
            checks_answers: true,
            refreshes: set.refreshes,
            regression: None,
            command_line: Some("pgmeter queries --workload tpch --repeat 4 --answers".into()),
        }),
        steps,
        streams: (0..set.streams).map(|number| stream(Some(number))).chain(refresh_stream).collect(),
        ..testkit::records::steps()
    }
}

/// The executions of a query from this one on reach the limit.
pub fn limit(record: &mut StepsRecord, query: &str, from_repeat: u32) {
    for time in &mut step(record, query).times {
        if time.repeat.is_some_and(|repeat| repeat >= from_repeat) {
            (time.limited, time.duration_us, time.measured_us) = (true, LIMIT_US, LIMIT_US + 1_000);
            (time.rows, time.checksum) = (None, None);
        }
    }
}

pub fn step<'r>(record: &'r mut StepsRecord, query: &str) -> &'r mut StepResult {
    record.steps.iter_mut().find(|step| step.name == query).expect("it is in the set")
}

/// Sequential scan, or a scan of an index, below a join and an aggregate.
pub fn plan(scan: &str, ms: f64) -> String {
    format!(
        r#"[{{"Plan": {{"Node Type": "Aggregate", "Strategy": "Sorted", "Actual Total Time": {total}, "Actual Rows": 4,
        "Actual Loops": 1, "Shared Hit Blocks": 1234, "Shared Read Blocks": 56, "Plans": [
        {{"Node Type": "Hash Join", "Join Type": "Inner", "Actual Total Time": {join}, "Actual Rows": 60175,
          "Actual Loops": 1, "Plans": [{scan_node}, {{"Node Type": "Seq Scan", "Relation Name": "orders",
          "Actual Total Time": 3.5, "Actual Rows": 15000, "Actual Loops": 1, "Shared Hit Blocks": 300}}]}}]}},
        "Planning Time": 0.4, "Execution Time": {total}}}]"#,
        total = ms * 1.3,
        join = ms * 1.2,
        scan_node = scan.replace("MS", &ms.to_string()),
    )
}

pub const SEQUENTIAL: &str = r#"{"Node Type": "Seq Scan", "Relation Name": "lineitem", "Actual Total Time": MS,
    "Actual Rows": 60175, "Actual Loops": 1, "Shared Hit Blocks": 934}"#;
pub const INDEXED: &str = r#"{"Node Type": "Index Scan", "Relation Name": "lineitem", "Index Name": "lineitem_pkey",
    "Actual Total Time": MS, "Actual Rows": 60175, "Actual Loops": 1, "Shared Hit Blocks": 934}"#;
