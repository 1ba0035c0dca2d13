//! A search to start from, whose fields a test changes as it needs.
//! It has three loads of one trial each, an interval and a confirmation.

use results::{
    LimitedBy, LimitedResource, LoadFigures, LoadVerdict, LoadWait, NearestLimit, OverCount, RateInterval,
    SEARCH_SCHEMA, SearchAnswer, SearchBurst, SearchConfirmation, SearchGoal, SearchLoad, SearchMethod,
    SearchRecord, SearchResult, SearchTrial,
};

use crate::records::record;

/// Figures of a load of which so many of a thousand transactions were over the limit.
pub fn figures(rate_tps: f64, over: f64) -> LoadFigures {
    let verdict = if over < 10.0 { LoadVerdict::Kept } else { LoadVerdict::Broken };
    LoadFigures {
        rate_tps,
        verdict,
        goals: vec![OverCount { over, of: 1_000.0 }],
        achieved_tps: rate_tps - 1.0,
        p50_us: Some(rate_tps),
        p99_us: Some(4.0 * rate_tps),
        p999_us: Some(10.0 * rate_tps),
        nearest: Some(NearestLimit { resource: LimitedResource::ServerCpu, share: rate_tps / 4_300.0 }),
    }
}

/// A trial of so many seconds.
pub fn trial(rate_tps: f64, over: f64, duration_s: f64) -> SearchTrial {
    SearchTrial {
        figures: figures(rate_tps, over),
        start_s: 20.0,
        duration_s,
        is_ended_early: false,
        clients: 16,
        limited_by: LimitedBy::Server,
        details: None,
    }
}

/// A search with an interval and a confirmation.
pub fn search_record() -> SearchRecord {
    let load = |rate_tps: f64, over: f64| {
        let wait = |event_type: &str, event: &str, share| LoadWait {
            event_type: event_type.to_owned(),
            event: event.to_owned(),
            share,
        };
        SearchLoad {
            figures: figures(rate_tps, over),
            waits: vec![wait("CPU", "running", 0.7), wait("IO", "WalSync", 0.2)],
            trials: vec![trial(rate_tps, over, 2.0)],
        }
    };
    let record = record();
    SearchRecord {
        schema_version: SEARCH_SCHEMA,
        pgmeter_version: record.pgmeter_version,
        annotation: record.annotation,
        status: record.status,
        started_at: record.started_at,
        plan: record.plan,
        environment: record.environment,
        search: SearchResult {
            answer: SearchAnswer::Sustains,
            rate_tps: Some(4_148.2),
            interval: Some(RateInterval { low: 3_998.0, high: 4_281.0 }),
            kept_tps: Some(3_998.0),
            broken_tps: Some(4_281.0),
            nearest: Some(NearestLimit { resource: LimitedResource::ServerCpu, share: 0.96 }),
            goals: vec![SearchGoal { goal: "p99 < 20ms".parse().expect("a goal"), allowed_share: 0.01 }],
            method: SearchMethod {
                budget_s: 600.0,
                width: 0.03,
                max_rate_tps: None,
                are_clients_given: false,
                confirmation_s: 60.0,
                warmup_s: 0.5,
                seed: u64::MAX,
            },
            elapsed_s: 341.5,
            clients: 16,
            bursts: vec![SearchBurst { clients: 4, tps: 5_100.0 }, SearchBurst { clients: 8, tps: 5_900.0 }],
            loads: vec![load(2_950.0, 0.0), load(4_130.0, 6.0), load(4_280.0, 60.0)],
            confirmations: vec![SearchConfirmation {
                trial: trial(3_998.0, 4.0, 60.0),
                checkpoints: Some(1),
                autovacuums: Some(0),
            }],
            repeated: 0,
            expected: None,
        },
        comparison: None,
    }
}
