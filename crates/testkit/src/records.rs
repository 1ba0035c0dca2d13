//! Records to start from: complete ones, whose fields a test changes as it needs. They are the only records that are
//! written out whole, so that a new field has one place.

use std::time::Duration;

use results::{
    Annotation, COMPARISON_SCHEMA, Checkpoints, ComparedMetric, ComparedSide, ComparisonDecision,
    ComparisonMethod, ComparisonRecord, ComparisonStatus, Conditions, Confidence, Connection, Counts,
    DrawnAnew, Environment, Host, Latency, Limit, MetricFinding, OtherEndings, PgmeterBuild, Plan, Protocol,
    Record, ResultFormat, SCHEMA_VERSION, STEPS_SCHEMA_VERSION, Script, ScriptSummary, Status, StepsRecord,
    Summary, Tables, UtcTime,
};
use stats::OnDisconnect;

/// Latencies of which only mean and deviation matter here.
pub fn latency(mean: f64, stddev: f64) -> Latency {
    Latency { mean, stddev, min: 0.0, p50: mean, p90: mean, p95: mean, p99: mean, p999: mean, max: mean }
}

/// So many of which all succeeded.
pub fn succeeded(number: u64) -> Counts {
    Counts { scheduled: number, succeeded: number, business: number, ..Counts::default() }
}

/// A script file of that name.
pub fn script(name: &str, weight: u32) -> Script {
    let (name, description) = (name.to_owned(), name.to_owned());
    Script {
        name,
        description,
        builtin: false,
        target: None,
        text: String::new(),
        sha256: None,
        masked: false,
        weight,
        contention: None,
    }
}

/// Its part of the summary.
pub fn script_summary(name: &str, counts: Counts, response_us: Option<Latency>) -> ScriptSummary {
    let name = name.to_owned();
    ScriptSummary {
        name,
        tps: 0.0,
        counts,
        response_us,
        service_us: response_us,
        all_us: None,
        confidence: Confidence::default(),
        traffic_per_transaction: None,
        commands: Vec::new(),
    }
}

/// Three seconds of one script by two clients on one thread, 963 transactions, all of which succeeded.
pub fn record() -> Record {
    let (counts, response_us) = (succeeded(963), Some(latency(4_294.4, 5_904.6)));
    Record {
        schema_version: SCHEMA_VERSION,
        pgmeter_version: "0.1.0".to_owned(),
        pgmeter_build: PgmeterBuild::Release,
        annotation: Annotation::default(),
        status: Status::Complete,
        started_at: UtcTime::from_unix_millis(1_795_262_581_250),
        plan: plan(),
        environment: Environment {
            host: host(),
            conditions: Conditions::default(),
            disk: None,
            connection: None,
            server: None,
        },
        tables: Tables::default(),
        relations: None,
        connection_time_s: Some(0.016_055_6),
        summary: Summary {
            duration_s: 3.0,
            tail_s: 0.0,
            elapsed_s: 3.1,
            tps: 321.0,
            counts,
            response_us,
            service_us: response_us,
            lag_us: None,
            late_or_skipped_share: None,
            other_endings: OtherEndings::default(),
            stalls: None,
            response_with_stalls_us: None,
            connecting: None,
            client_cpu_us_per_transaction: None,
            generator: None,
            ranks: Vec::new(),
            confidence: Confidence::default(),
            steady_state: None,
            until_reached: None,
            service_level: None,
            errors: None,
            goals: Vec::new(),
            goal_stop: None,
            pauses: None,
            watch_stop: None,
            outages: None,
            population: None,
            traffic_per_transaction: None,
            actions: Vec::new(),
            pooler: None,
            rules: Vec::new(),
            stages: Vec::new(),
            scripts: vec![script_summary("ser.sql", counts, response_us)],
        },
        intervals: Vec::new(),
        observation: None,
        verification: None,
        warnings: Vec::new(),
    }
}

/// Its plan: one script of a file.
pub fn plan() -> Plan {
    Plan {
        workload: Some("tpcb".to_owned()),
        notice: None,
        per_minute: None,
        standard: None,
        scripts: vec![script("ser.sql", 1)],
        clients: 2,
        workers: 1,
        machines: 1,
        protocol: Protocol::Simple,
        result_format: ResultFormat::Text,
        parse_results: false,
        limit: Limit::Duration(Duration::from_secs(3)),
        warmup_s: 0.0,
        until: None,
        goals: Vec::new(),
        stop_on_miss: false,
        rate_tps: None,
        curve: None,
        arrivals: stats::rate::GapLaw::Poisson,
        stages: Vec::new(),
        think: None,
        population: stats::Population::default(),
        latency_limit_us: None,
        max_tries: Some(1),
        reconnect: false,
        on_disconnect: OnDisconnect::Abort,
        reconnect_policy: None,
        response_timeout_s: None,
        continue_on_error: false,
        seed: 1,
        connection: Connection {
            host: "/tmp".into(),
            port: 5432,
            user: "postgres".into(),
            database: "postgres".into(),
        },
        targets: Vec::new(),
        actions: Vec::new(),
        watch: None,
        variables: [].into(),
        relative: [].into(),
        command_line: None,
    }
}

/// A host of which only the name and the kernel are known.
pub fn host() -> Host {
    Host {
        hostname: "bench1".to_owned(),
        os: None,
        kernel: "Linux 6.12.0 x86_64".to_owned(),
        cpu_model: None,
        cpu_count: None,
        cpu_available: None,
        cpus_allowed: None,
        memory_bytes: None,
    }
}

/// A query set or timed steps of the same server as [`record`], without any step.
pub fn steps() -> StepsRecord {
    let Record { pgmeter_version, started_at, plan, environment, .. } = record();
    StepsRecord {
        schema_version: STEPS_SCHEMA_VERSION,
        pgmeter_version,
        pgmeter_build: PgmeterBuild::Release,
        annotation: Annotation::default(),
        status: Status::Complete,
        started_at,
        connection: plan.connection,
        variables: [].into(),
        environment,
        query_set: None,
        steps: Vec::new(),
        streams: Vec::new(),
        notes: Vec::new(),
    }
}

/// A comparison of connections of two sides, without pairs and findings.
pub fn comparison(factor: &str, sides: [&str; 2]) -> ComparisonRecord {
    let side = |label: &str| ComparedSide {
        label: label.to_owned(),
        server_version: "18.1".to_owned(),
        load: "select-only, 8 clients, prepared".to_owned(),
        goals: Vec::new(),
    };
    ComparisonRecord {
        schema_version: COMPARISON_SCHEMA,
        pgmeter_version: "0.1.0".to_owned(),
        annotation: Annotation::default(),
        started_at: UtcTime::from_unix_millis(1_795_262_581_250),
        hostname: "bench1".to_owned(),
        name: "compare".to_owned(),
        factor: factor.to_owned(),
        sides: sides.map(side),
        method: ComparisonMethod {
            draws: DrawnAnew::Connections,
            session_settings: Vec::new(),
            block_s: 0.25,
            warmup_s: 0.05,
            blocks: 1,
            pairs_planned: 100,
            budget_s: 60.0,
            tolerance: 0.02,
            error_rate: 0.05,
            error_rate_of_others: Some(0.05),
            decisive: ComparedMetric::Tps,
            scripts: Vec::new(),
            seed: 1,
            checkpoints: Checkpoints::NotNeeded,
            setup_s: Some(0.05),
        },
        status: ComparisonStatus::Complete,
        elapsed_s: 31.5,
        difference_found_after_s: None,
        decision: ComparisonDecision::Undecided,
        findings: Vec::new(),
        unjudged: Vec::new(),
        noise_floor: Vec::new(),
        notes: Vec::new(),
        pairs: Vec::new(),
    }
}

/// B has 4.2 % more than A, of 40 pairs, which is better.
pub fn finding(metric: ComparedMetric) -> MetricFinding {
    MetricFinding {
        metric,
        script: None,
        a: 1_000.0,
        b: 1_042.0,
        pairs: 40,
        decision: ComparisonDecision::Better,
        different: Some(true),
        ratio: 1.042,
        low: Some(1.029),
        high: Some(1.056),
        no_difference_above: None,
        smallest_difference: Some(0.011),
        smallest_difference_so_far: None,
        pair_deviation: 0.03,
        outlying: (0, 0),
        order_effect: None,
        carry_over: None,
    }
}
