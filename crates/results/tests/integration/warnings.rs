//! Each warning from the record that calls for it, and none from a record that does not. The sentences are tested in
//! `report`.
//! A record in which little is known is the beginning; each test makes it what it needs.

use std::path::Path;

use pgmeter_results::{
    BusyCpus, ComparedFact, ConnectionInUse, Contention, Disk, DiskHolds, Drift, DriftMeaning, EventKind,
    LimitedBy, Observation, OtherEndings, PgmeterBuild, ProcessorShares, Record, ServerResource, Settings,
    Severity, Stall, StallEffect, Stalls, SteadyEvidence, SteadyMetric, SteadyState, TimesOfAll,
    TransportInUse, WaitMethod, WaitShare, Waits, Warning, warnings, warnings_of_comparison,
};

/// A long run of the TPC-B-like script against another host, of which there is nothing to say.
fn quiet() -> Record {
    let json = include_bytes!("record.json");
    let mut record = Record::from_json(json, Path::new("r.json")).expect("it is one");
    record.pgmeter_build = PgmeterBuild::Release;
    record.tables.scale = Some(100.into());
    record.summary.duration_s = 1_200.0;
    let conditions = &mut record.environment.conditions;
    conditions.governor = Some("performance".to_owned());
    conditions.clock_source = Some("tsc".to_owned());
    conditions.load_average_1m = Some(0.1);
    conditions.processors = Some(ProcessorShares { busy: 0.3, own: 0.25, stolen: 0.001 });
    record.environment.connection = Some(ConnectionInUse {
        transport: TransportInUse::Network,
        same_host: false,
        tls: None,
        protocol_version: "3.0".to_owned(),
    });
    let settings = [("fsync", "on"), ("full_page_writes", "on"), ("checkpoint_timeout", "15min")];
    let server = record.environment.server.as_mut().expect("it was asked");
    server.main_settings =
        settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect();
    server.debug_assertions = Some(false);
    record
}

/// The warnings for the record after a change.
fn said(change: impl FnOnce(&mut Record)) -> Vec<Warning> {
    let mut record = quiet();
    change(&mut record);
    warnings(&record)
}

/// The only warning, a caution.
fn caution(change: impl FnOnce(&mut Record)) -> Warning {
    only(said(change), Severity::Caution)
}

/// The only warning, a note.
fn note(change: impl FnOnce(&mut Record)) -> Warning {
    only(said(change), Severity::Note)
}

fn only(mut said: Vec<Warning>, severity: Severity) -> Warning {
    assert!(said.len() == 1 && said[0].severity() == severity, "{said:?}");
    said.remove(0)
}

fn set(record: &mut Record, name: &str, value: &str) {
    let server = record.environment.server.as_mut().expect("it was asked");
    let settings = server.main_settings.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    server.main_settings = settings.chain([(name.to_owned(), value.to_owned())]).collect();
}

/// What was seen of the server, with these events.
fn observed(events: &str) -> Option<Observation> {
    let json = format!(
        r#"{{"level": "full", "missing": [], "waits": null, "counters": [], "statements": [], "ceilings": [],
            "samples": [], "events": [{events}],
            "per_transaction": {{"backend_user_cpu_us": 0.0, "backend_system_cpu_us": 0.0}},
            "cost": {{"statements": 0, "busy_share": 0.0, "backend_cpu_s": null, "samples_missed": 0}}}}"#
    );
    Some(serde_json::from_str(&json).expect("it is one"))
}

/// 50 µs of CPU time for each transaction of the record, seen 200 times with 8 backends each.
fn costly(record: &mut Record, running_seen: u64, wait: (&str, &str, u64)) {
    let mut observation = observed("").expect("it is one");
    let share = |event_type: &str, event: &str, seen| WaitShare {
        event_type: event_type.to_owned(),
        event: event.to_owned(),
        seen,
        share: 0.5,
        interval: None,
    };
    observation.per_transaction.backend_user_cpu_us = Some(30.0);
    observation.per_transaction.backend_system_cpu_us = Some(20.0);
    observation.waits = Some(Waits {
        source: "pg_stat_activity".to_owned(),
        rate_hz: 20.0,
        looks: 200,
        backends_seen: 1_600,
        method: WaitMethod::Samples,
        running_backends: None,
        runnable_backends: None,
        idle_share: 0.5,
        idle_interval: None,
        top: vec![share("CPU", "running", running_seen), share(wait.0, wait.1, wait.2)],
        scripts: Vec::new(),
    });
    let counts = &record.summary.counts;
    record.summary.duration_s = 60.0 * (counts.succeeded + counts.failed) as f64 * 1e-6;
    set(record, "checkpoint_timeout", "");
    record.observation = Some(observation);
}

#[test]
fn samples_that_saw_fewer_running_than_took_cpu_time_are_called_biased() {
    let flush = ("IO", "WALSync", 300);
    assert_eq!(
        caution(|record| costly(record, 20, flush)),
        Warning::BiasedSamples { sampled_backends: 0.1, cpu_backends: 50.0 / 60.0 }
    );
    assert_eq!(said(|record| costly(record, 150, flush)), [], "0.75 of 0.83");
    assert_eq!(
        said(|record| costly(record, 20, ("IO", "DataFileRead", 140))),
        [],
        "reads from the page cache"
    );
    let post_stratified = |record: &mut Record| {
        costly(record, 20, flush);
        let observation = record.observation.as_mut().expect("it is there");
        observation.waits.as_mut().expect("they are there").method = WaitMethod::PostStratified;
    };
    assert_eq!(said(post_stratified), [], "the running share is by CPU time");
    let reconnecting = |record: &mut Record| {
        costly(record, 20, flush);
        record.plan.reconnect = true;
    };
    assert_eq!(said(reconnecting), []);
}

const CHECKPOINT: &str = r#"{"kind": "checkpoint", "start_s": 100.0, "end_s": null, "detail": "timed"}"#;
const VACUUM: &str = r#"{"kind": "autovacuum", "start_s": 7.0, "end_s": 9.0, "detail": "pgbench_tellers"}"#;
const BEFORE: &str = r#"{"kind": "autovacuum", "start_s": -3.0, "end_s": -1.0, "detail": "pgbench_tellers"}"#;

#[test]
fn of_a_quiet_run_there_is_nothing_to_say() {
    assert_eq!(said(|_| ()), []);
}

#[test]
fn of_a_record_in_which_little_is_known_nothing_is_guessed() {
    let json = include_bytes!("record.json");
    let record = Record::from_json(json, Path::new("r.json")).expect("it is one");
    assert_eq!(warnings(&record), []);
}

#[test]
fn builds_that_are_slow_are_named() {
    assert_eq!(caution(|record| record.pgmeter_build = PgmeterBuild::Debug), Warning::DebugBuild);
    let with_assertions = |record: &mut Record| {
        record.environment.server.as_mut().expect("it was asked").debug_assertions = Some(true);
    };
    assert_eq!(caution(with_assertions), Warning::DebugAssertions);
}

#[test]
fn what_makes_commits_cheaper_than_they_are_is_named_if_there_are_any() {
    assert_eq!(caution(|record| set(record, "fsync", "off")), Warning::FsyncOff);
    assert_eq!(caution(|record| set(record, "full_page_writes", "off")), Warning::FullPageWritesOff);
    assert_eq!(note(|record| set(record, "synchronous_commit", "off")), Warning::SynchronousCommitOff);
    let in_memory = |record: &mut Record| {
        record.environment.disk = Some(Disk {
            holds: DiskHolds::Wal,
            path: "/dev/shm".to_owned(),
            file_system: Some("tmpfs".to_owned()),
            device: None,
            flush_us: None,
            because: None,
        });
    };
    assert_eq!(
        caution(in_memory),
        Warning::MemoryDisk { holds: DiskHolds::Wal, file_system: "tmpfs".to_owned() }
    );
    let reading = |record: &mut Record| {
        in_memory(record);
        ["fsync", "full_page_writes", "synchronous_commit"].iter().for_each(|name| set(record, name, "off"));
        record.plan.scripts[0].text = "SELECT 1; -- no update\n".to_owned();
    };
    assert_eq!(said(reading), []);
}

#[test]
fn more_clients_than_contended_rows_queue_for_them() {
    let of_scale = |record: &mut Record, clients: u32, factor: u32, scale: &str| {
        record.plan.clients = clients;
        record.plan.variables.insert("scale".to_owned(), scale.to_owned());
        record.plan.scripts[0].contention =
            Some(Contention { command: 8, factor, variable: Some("scale".to_owned()) });
    };
    let contended = |clients, rows, scale_needed| Warning::ContendedRows {
        clients,
        script: "tpcb-like".into(),
        rows,
        scale_needed,
    };
    assert_eq!(caution(|record| of_scale(record, 64, 1, "10")), contended(64, 10, Some(64)));
    assert_eq!(caution(|record| of_scale(record, 2, 1, "1")), contended(2, 1, Some(2)));
    assert_eq!(caution(|record| of_scale(record, 64, 10, "6")), contended(64, 60, Some(7)));
    let fixed = caution(|record| {
        record.plan.clients = 64;
        record.plan.scripts[0].contention = Some(Contention { command: 0, factor: 5, variable: None });
    });
    assert_eq!(fixed, contended(64, 5, None));
    let enough = |record: &mut Record| of_scale(record, 64, 10, "7");
    assert_eq!(said(enough), []);
    let never_run = |record: &mut Record| {
        of_scale(record, 64, 1, "10");
        record.plan.scripts[0].weight = 0;
        record.plan.scripts[0].text = "UPDATE t SET a = 1;".to_owned();
    };
    assert_eq!(said(never_run), []);
}

#[test]
fn a_run_that_never_settled_or_only_late_says_so() {
    let drift = |meaning| Drift { metric: SteadyMetric::Throughput, drift_share: 0.12, meaning };
    let significant = drift(DriftMeaning::Significant);
    let state = |settled, steady_from_s| {
        move |record: &mut Record| {
            let drifts = vec![significant, drift(DriftMeaning::Noise)];
            let evidence = SteadyEvidence::Drifts { intervals: 60, drifts };
            record.summary.steady_state = Some(SteadyState { settled, steady_from_s, evidence });
        }
    };
    let drifts = vec![significant];
    assert_eq!(caution(state(Some(false), None)), Warning::NeverSettled { drifts: drifts.clone() });
    let late = Warning::SettledLate { steady_from_s: 12.0, drifts };
    assert_eq!(caution(state(Some(false), Some(12.0))), late);
    assert_eq!(said(state(Some(true), Some(0.0))), []);
    assert_eq!(said(state(None, None)), []);
}

#[test]
fn where_others_took_full_processors_the_server_is_not_called_the_limit() {
    let judged = |busy, own| {
        let mut record = quiet();
        record.observation = observed("");
        record.environment.connection.as_mut().expect("it is known").same_host = true;
        record.environment.conditions.processors = Some(ProcessorShares { busy, own, stolen: 0.0 });
        record.warn();
        let verdict = record.summary.generator.expect("it has one").verdict;
        (verdict.limit, verdict.others)
    };
    let (limit, others) = judged(0.95, 0.2);
    assert_eq!(limit, LimitedBy::Undecided);
    assert_eq!(others, Some(BusyCpus { busy_share: 0.95, others_share: 0.75 }));
    assert_eq!([judged(0.5, 0.2).0, judged(0.95, 0.85).0], [LimitedBy::Server; 2]);
}

/// The verdict on a run that the server limited, whose backends were found doing this for 45 % of the time, and for another
/// 45 % something that no resource is about.
fn judged(wait: (&str, &str), change: impl FnOnce(&mut Record)) -> (LimitedBy, Option<ServerResource>) {
    let mut record = quiet();
    costly(&mut record, 0, (wait.0, wait.1, 100));
    let waits = record.observation.as_mut().and_then(|it| it.waits.as_mut()).expect("it is there");
    waits.idle_share = 0.1;
    waits.top[0].event_type = "Lock".to_owned();
    waits.top[0].event = "advisory".to_owned();
    let verdict = &mut record.summary.generator.as_mut().expect("it is there").verdict;
    (verdict.limit, verdict.resource) = (LimitedBy::Server, None);
    change(&mut record);
    record.warn();
    let verdict = record.summary.generator.expect("it is there").verdict;
    (verdict.limit, verdict.resource)
}

#[test]
fn a_server_that_was_the_limit_is_told_with_the_resource_it_lacked() {
    let resources = [
        (("Lock", "transactionid"), Some(ServerResource::RowLocks)),
        (("Lock", "tuple"), Some(ServerResource::RowLocks)),
        (("IO", "WalSync"), Some(ServerResource::WalFlush)),
        (("IO", "WALSync"), Some(ServerResource::WalFlush)),
        (("LWLock", "WALWriteLock"), Some(ServerResource::WalFlush)),
        (("IO", "DataFileRead"), Some(ServerResource::Io)),
        (("CPU", "running"), Some(ServerResource::Processors)),
        (("Lock", "relation"), None),
    ];
    for (wait, resource) in resources {
        assert_eq!(judged(wait, |_| {}), (LimitedBy::Server, resource), "{wait:?}");
    }
}

#[test]
fn a_rate_that_was_missed_for_want_of_clients_is_not_the_servers_fault() {
    let sleep = ("Timeout", "PgSleep");
    let missed = |record: &mut Record| {
        let service_us = record.summary.service_us.expect("it is there").mean;
        record.plan.rate_tps = Some(2.0 * f64::from(record.plan.clients) * 1e6 / service_us);
        let counts = &mut record.summary.counts;
        (counts.skipped, counts.scheduled) = (counts.scheduled, 2 * counts.scheduled);
    };
    assert_eq!(judged(sleep, missed), (LimitedBy::ClientCount, None));
    let kept = |record: &mut Record| {
        missed(record);
        record.summary.counts.skipped = 0;
    };
    assert_eq!(judged(sleep, kept).0, LimitedBy::Server, "the rate was kept");
    let beside = |busy: f64| {
        move |record: &mut Record| {
            missed(record);
            record.environment.conditions.processors = Some(ProcessorShares { busy, own: 0.9, stolen: 0.0 });
            record.environment.connection.as_mut().expect("it is there").same_host = true;
        }
    };
    assert_eq!(judged(("CPU", "running"), beside(0.5)).0, LimitedBy::ClientCount);
    assert_eq!(judged(("CPU", "running"), beside(0.95)).0, LimitedBy::Server, "its processors were busy");
    assert_eq!(judged(sleep, beside(0.95)).0, LimitedBy::ClientCount, "a timer needs no processor");
    let elsewhere = (LimitedBy::Server, Some(ServerResource::Processors));
    assert_eq!(judged(("CPU", "running"), missed), elsewhere, "nobody knows how many processors it has");
}

#[test]
fn processor_time_that_others_took_is_told() {
    let shares = |busy, own, stolen| {
        move |record: &mut Record| {
            record.environment.conditions.processors = Some(ProcessorShares { busy, own, stolen });
        }
    };
    assert_eq!(caution(shares(0.3, 0.2, 0.05)), Warning::Stolen { stolen_share: 0.05 });
    assert_eq!(caution(shares(0.9, 0.2, 0.0)), Warning::OtherPrograms { others_share: 0.9 - 0.2 });
    let loaded = |record: &mut Record| {
        record.environment.conditions.processors = None;
        record.environment.conditions.load_average_1m = Some(2.5);
    };
    assert_eq!(caution(loaded), Warning::BusyBefore { load_average_1m: 2.5, cpus: 2 });
}

#[test]
fn on_a_shared_host_the_servers_own_time_is_not_taken_for_others() {
    let here = |backend_us| {
        move |record: &mut Record| {
            let connection = record.environment.connection.as_mut().expect("it is known");
            (connection.transport, connection.same_host) = (TransportInUse::UnixSocket, true);
            record.environment.conditions.processors =
                Some(ProcessorShares { busy: 0.9, own: 0.05, stolen: 0.0 });
            record.environment.host.cpu_count = Some(2);
            record.summary.duration_s = 1_000.0;
            record.summary.counts.succeeded = 1_000_000;
            record.observation = observed("");
            let cost = &mut record.observation.as_mut().expect("it was seen").per_transaction;
            cost.backend_user_cpu_us = Some(backend_us);
        }
    };
    let said_of = |backend_us| said(here(backend_us)).iter().map(Warning::severity).collect::<Vec<_>>();
    assert_eq!(said_of(1_600.0), [Severity::Note], "only that it is the same host");
    assert_eq!(said_of(600.0), [Severity::Caution, Severity::Note]);
}

#[test]
fn the_same_host_is_a_note_until_pgmeter_takes_much_of_it() {
    let here = |own| {
        move |record: &mut Record| {
            record.environment.connection.as_mut().expect("it is known").same_host = true;
            record.environment.conditions.processors = Some(ProcessorShares { busy: 0.9, own, stolen: 0.0 });
        }
    };
    assert_eq!(note(here(0.1)), Warning::SharedHost);
    assert_eq!(caution(here(0.3)), Warning::ClientUsesCpu { client_share: 0.3 });
}

#[test]
fn a_governor_that_saves_power_and_a_clock_that_is_slow_are_named() {
    let governed = |record: &mut Record| {
        record.environment.conditions.governor = Some("performance, powersave".to_owned());
    };
    assert_eq!(caution(governed), Warning::PowerSaving { governor: "performance, powersave".to_owned() });
    let clocked = |record: &mut Record| record.environment.conditions.clock_source = Some("hpet".to_owned());
    assert_eq!(caution(clocked), Warning::SlowClock { clock_source: "hpet".to_owned() });
}

#[test]
fn a_run_between_two_checkpoints_says_so_if_none_was_seen() {
    let none = Warning::NoCheckpoint { run_s: 60.0, checkpoint_timeout_s: 900.0 };
    assert_eq!(note(|record| record.summary.duration_s = 60.0), none);
    let seen = |record: &mut Record| {
        record.summary.duration_s = 200.0;
        record.observation = observed(CHECKPOINT);
    };
    assert_eq!(note(seen), Warning::Maintenance { checkpoints: 1, autovacuums: 0 });
    assert_eq!(said(|record| record.summary.duration_s = 59.0), [], "nobody expects one");
    for unreadable in ["", "15", "min", "15 parsecs"] {
        assert_eq!(
            said(|record| {
                record.summary.duration_s = 60.0;
                set(record, "checkpoint_timeout", unreadable);
            }),
            [],
            "{unreadable}"
        );
    }
}

#[test]
fn maintenance_inside_the_measured_time_is_a_note() {
    let both = format!("{CHECKPOINT}, {VACUUM}, {VACUUM}");
    let maintenance = Warning::Maintenance { checkpoints: 1, autovacuums: 2 };
    assert_eq!(note(|record| record.observation = observed(&both)), maintenance);
    assert_eq!(said(|record| record.observation = observed(BEFORE)), []);
}

fn compared(records: &[Record]) -> Vec<Warning> {
    let records: Vec<&Record> = records.iter().collect();
    warnings_of_comparison(&records)
}

#[test]
fn maintenance_in_one_arm_only_is_told_when_runs_are_compared() {
    let run = |events: &str| Record { observation: observed(events), ..quiet() };
    let some = Warning::MaintenanceInSome { event: EventKind::Checkpoint, runs_with: 1, runs: 2 };
    assert_eq!(compared(&[run(CHECKPOINT), run("")]), [some]);
    assert_eq!(compared(&[run(CHECKPOINT), run(CHECKPOINT)]), []);
    assert_eq!(compared(&[run(VACUUM), quiet()]), [], "of the other nothing is known");
}

#[test]
fn runs_that_were_made_elsewhere_or_otherwise_are_told_apart() {
    let mut other = quiet();
    other.environment.host.hostname = "bench2".to_owned();
    other.tables.scale = Some(200.into());
    set(&mut other, "fsync", "off");
    let facts = [ComparedFact::PgmeterHost, ComparedFact::Fsync, ComparedFact::Scale];
    assert_eq!(compared(&[quiet(), other]), facts.map(|fact| Warning::FactDiffers { fact }));
    assert_eq!(compared(&[quiet(), quiet()]), []);
    let mut older = quiet();
    older.environment.server.as_mut().expect("it was asked").main_settings = Settings::default();
    assert_eq!(compared(&[quiet(), older]), [], "what is not known does not differ");
}

#[test]
fn a_record_has_cautions_and_notes() {
    let mut record = quiet();
    record.pgmeter_build = PgmeterBuild::Debug;
    record.summary.duration_s = 60.0;
    record.warn();
    assert_eq!((record.cautions().count(), record.notes().count()), (1, 1));
}

fn stalls(longest: &[(f64, f64)]) -> Stalls {
    let longest: Vec<Stall> = longest.iter().map(|&(start_s, end_s)| Stall { start_s, end_s }).collect();
    Stalls {
        threshold_us: 40_000.0,
        count: longest.len() as u64,
        total_s: longest.iter().map(Stall::length_s).sum(),
        longest,
    }
}

#[test]
fn a_stall_of_a_closed_loop_is_told_with_what_it_hides() {
    let told = caution(|record| {
        record.plan.rate_tps = None;
        record.summary.stalls = Some(stalls(&[(3.0, 3.05), (4.25, 16.25)]));
        let mut response = record.summary.response_us.expect("some succeeded");
        (response.p99, response.p999, response.max) = (4_000.0, 4_200.0, 12_000_000.0);
        record.summary.response_us = Some(response);
        (response.p95, response.p99, response.p999) = (8e6, 11.9e6, 12e6);
        record.summary.response_with_stalls_us = Some(response);
    });
    let effect = StallEffect::Hidden { p99_us: 4_000.0, p99_with_stalls_us: 11.9e6 };
    let Warning::Stalled { longest_s, start_s, stalls: 2, threshold_us, effect: found, .. } = told else {
        panic!("{told:?}");
    };
    assert_eq!((longest_s, start_s, threshold_us, found), (12.0, 4.25, 40_000.0, effect));
}

#[test]
fn a_stall_under_a_rate_is_told_too() {
    let told = caution(|record| {
        record.plan.rate_tps = Some(100.0);
        record.summary.stalls = Some(stalls(&[(4.25, 5.5)]));
    });
    let expected = Warning::Stalled {
        longest_s: 1.25,
        start_s: 4.25,
        stalls: 1,
        threshold_us: 40_000.0,
        total_s: 1.25,
        effect: StallEffect::Included,
    };
    assert_eq!(told, expected);
}

#[test]
fn short_stalls_that_take_little_of_the_run_are_listed_and_not_warned_of() {
    let all = said(|record| record.summary.stalls = Some(stalls(&[(3.0, 3.05), (4.0, 4.1)])));
    assert_eq!(all, []);
    let of_a_short_run = caution(|record| {
        record.summary.duration_s = 5.0;
        record.summary.stalls = Some(stalls(&[(3.0, 3.05), (4.0, 4.1)]));
    });
    let Warning::Stalled { start_s, stalls: 2, total_s, .. } = of_a_short_run else {
        panic!("{of_a_short_run:?}");
    };
    assert!(start_s == 4.0 && (total_s - 0.15).abs() < 1e-9, "{total_s}");
}

/// A record in which transactions failed and were skipped, with these percentiles of all.
fn with_others(record: &mut Record, change: impl FnOnce(&mut TimesOfAll)) {
    let shown = record.summary.response_us.expect("some succeeded");
    let [p50, p90, p95, p99, p999, max] = shown.percentiles().map(|(_, us)| us);
    let mut all = TimesOfAll { mean: None, stddev: None, p50, p90, p95, p99, p999, max };
    change(&mut all);
    record.summary.counts.failed = 12;
    record.summary.counts.skipped = 3_400;
    let others = OtherEndings { all_us: Some(all), ..OtherEndings::default() };
    record.summary.other_endings = others;
}

#[test]
fn transactions_that_did_not_succeed_are_told_if_it_changes_a_percentile() {
    let told = caution(|record| {
        with_others(record, |all| {
            (all.p99, all.p999, all.max) = (300_000.0, 300_000.0, 300_000.0);
        });
    });
    let Warning::OnlySucceeded { failed: 12, skipped: 3_400, percentile, succeeded_us, all_us, .. } = told
    else {
        panic!("{told:?}");
    };
    assert_eq!((percentile.as_str(), all_us), ("p99", 300_000.0));
    assert!(succeeded_us < all_us, "{succeeded_us}");
    assert_eq!(said(|record| with_others(record, |all| all.p99 *= 1.05)), []);
    assert_eq!(said(|record| with_others(record, |all| all.p50 *= 1.2)).len(), 1);
}
