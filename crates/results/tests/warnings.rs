//! Each warning from the record that calls for it, and that none is said of a record that does not.
//! A record in which little is known is the beginning; each test makes it what it needs.

use std::path::Path;

use pgmeter_results::{
    ConnectionInUse, Contention, Disk, DiskHolds, LimitedBy, Observation, OtherEndings, Percentiles,
    PgmeterBuild, ProcessorShares, Record, ServerResource, Settings, Severity, Stall, Stalls, SteadyState,
    TransportInUse, WaitMethod, WaitShare, Waits, warnings, warnings_of_comparison,
};

/// A long run of the TPC-B-like script against another host, of which there is nothing to say.
fn quiet() -> Record {
    let json = include_bytes!("record.json");
    let mut record = Record::from_json(json, Path::new("r.json")).expect("it is one");
    record.pgmeter_build = PgmeterBuild::Release;
    record.tables.scale = Some(100);
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

/// What is said of the record after a change, cautions first.
fn said(change: impl FnOnce(&mut Record)) -> Vec<(Severity, String)> {
    let mut record = quiet();
    change(&mut record);
    warnings(&record).into_iter().map(|(severity, text)| (severity, text.into())).collect()
}

/// The only thing that is said, as a caution.
fn caution(change: impl FnOnce(&mut Record)) -> String {
    only(said(change), Severity::Caution)
}

/// The only thing that is said, as a note.
fn note(change: impl FnOnce(&mut Record)) -> String {
    only(said(change), Severity::Note)
}

fn only(mut said: Vec<(Severity, String)>, severity: Severity) -> String {
    assert!(said.len() == 1 && said[0].0 == severity, "{said:?}");
    said.remove(0).1
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
    insta::assert_snapshot!(caution(|record| costly(record, 20, flush)), @"wait sampling saw 0.10 running backends, CPU accounting 0.83: the samples are biased because client and server share the host, and here they cannot be corrected; use the CPU time per transaction, or observe a server on another host");
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
    let said: Vec<String> = warnings(&record).into_iter().map(|(_, text)| text.into()).collect();
    assert!(
        said.iter().all(|text| text.contains("pgbench_branches") || text.contains("checkpoint_timeout")),
        "{said:?}"
    );
}

#[test]
fn builds_that_are_slow_are_named() {
    insta::assert_snapshot!(caution(|record| record.pgmeter_build = PgmeterBuild::Debug), @"this pgmeter is a debug build, which takes several times the processor time: do not compare its figures with others; build it with --release");
    let with_assertions = |record: &mut Record| {
        record.environment.server.as_mut().expect("it was asked").debug_assertions = Some(true);
    };
    insta::assert_snapshot!(caution(with_assertions), @"the server was built with assertions (debug_assertions is on), which make it much slower: measure one that was built without");
}

#[test]
fn what_makes_commits_cheaper_than_they_are_is_named_if_there_are_any() {
    insta::assert_snapshot!(caution(|record| set(record, "fsync", "off")), @"fsync is off: nothing waits for the disk, and a crash may lose the whole database; what writes is faster here than on any server that keeps its data");
    insta::assert_snapshot!(caution(|record| set(record, "full_page_writes", "off")), @"full_page_writes is off: less log is written after each checkpoint than on a server that survives a torn page; turn it on unless the file system rules torn pages out");
    insta::assert_snapshot!(note(|record| set(record, "synchronous_commit", "off")), @"synchronous_commit is off: transactions do not wait for the disk, and the last ones before a crash are lost; compare only with runs that had it off too");
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
    insta::assert_snapshot!(caution(in_memory), @"the server's log is in memory (tmpfs), where a flush takes no time: what writes is faster here than on any disk");
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
    insta::assert_snapshot!(caution(|record| of_scale(record, 64, 1, "10")), @"64 clients of tpcb-like lock 10 rows, so they queue for the locks of those rows, and the figures show the queue more than the server: have tables of scale 64 or more, or run a script that leaves those rows alone");
    let single = caution(|record| of_scale(record, 2, 1, "1"));
    assert!(single.contains("2 clients of tpcb-like lock the same row"), "{single}");
    let tens = caution(|record| of_scale(record, 64, 10, "6"));
    assert!(tens.contains("lock 60 rows") && tens.contains("have tables of scale 7 or more"), "{tens}");
    let fixed = caution(|record| {
        record.plan.clients = 64;
        record.plan.scripts[0].contention = Some(Contention { command: 0, factor: 5, variable: None });
    });
    assert!(fixed.contains("lock 5 rows") && fixed.contains("have at least 64 such rows"), "{fixed}");
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
    let state = |settled, steady_from_s| {
        move |record: &mut Record| {
            let evidence = "the first half has 12 % more than the second".to_owned();
            record.summary.steady_state = Some(SteadyState { settled, steady_from_s, evidence });
        }
    };
    insta::assert_snapshot!(caution(state(Some(false), None)), @"the run never settled, so that another one may give other figures: run for longer, with a longer --warmup (the first half has 12 % more than the second)");
    insta::assert_snapshot!(caution(state(Some(false), Some(12.0))), @"the run settled only after 12.0 s: leave that out with --warmup, or run for longer (the first half has 12 % more than the second)");
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
        (verdict.limit, verdict.evidence)
    };
    let (limit, evidence) = judged(0.95, 0.2);
    assert_eq!(limit, LimitedBy::Undecided);
    let reason = "; but the processors were 95 % busy, and others than pgmeter and this load's backends took 75 % of them";
    assert!(evidence.ends_with(reason), "{evidence}");
    assert_eq!([judged(0.5, 0.2).0, judged(0.95, 0.85).0], [LimitedBy::Server; 2]);
}

/// The verdict on a run that the server limited, whose backends were found doing this for 45 % of the time, and for another
/// 45 % something that no resource is about.
fn judged(wait: (&str, &str), change: impl FnOnce(&mut Record)) -> (LimitedBy, Option<ServerResource>) {
    let mut record = quiet();
    costly(&mut record, 0, (wait.0, wait.1, 100));
    let waits = record.observation.as_mut().and_then(|it| it.waits.as_mut()).expect("it is there");
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
    assert_eq!(judged(sleep, beside(0.95)).0, LimitedBy::Server, "its processors were busy");
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
    insta::assert_snapshot!(caution(shares(0.3, 0.2, 0.05)), @"the hypervisor took away 5.0 % of this host's processor time during the run: latencies have gaps in them that are neither the server's nor pgmeter's; repeat on a host that is not shared, or several times");
    insta::assert_snapshot!(caution(shares(0.9, 0.2, 0.0)), @"others took 70 % of all processor time of this host during the run, and they competed with the run: end what else runs there, or repeat when it is quiet");
    let loaded = |record: &mut Record| {
        record.environment.conditions.processors = None;
        record.environment.conditions.load_average_1m = Some(2.5);
    };
    insta::assert_snapshot!(caution(loaded), @"this host was loaded before the run began (a load average of 2.50 on 2 processors): if the others went on, they competed with the run: end what else runs there, or repeat when it is quiet");
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
    let said_of =
        |backend_us| said(here(backend_us)).into_iter().map(|(severity, _)| severity).collect::<Vec<_>>();
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
    insta::assert_snapshot!(note(here(0.1)), @"client and server share this host: no network is in the latencies, and pgmeter takes processor time from the server; for figures of a network, run pgmeter on another host");
    insta::assert_snapshot!(caution(here(0.3)), @"client and server share this host, and pgmeter took 30 % of its processors: the server could have done more without it; run pgmeter on another host");
}

#[test]
fn a_governor_that_saves_power_and_a_clock_that_is_slow_are_named() {
    let governed = |record: &mut Record| {
        record.environment.conditions.governor = Some("performance, powersave".to_owned());
    };
    insta::assert_snapshot!(caution(governed), @"this host's processors save power (governor performance, powersave): they are slow until they have been busy for a while, which makes light loads look slower; set the governor to performance");
    let clocked = |record: &mut Record| record.environment.conditions.clock_source = Some("hpet".to_owned());
    insta::assert_snapshot!(caution(clocked), @"this host's clock source is hpet, which takes long to ask: pgmeter, and a server on this host, spend time on reading the time; boot with clocksource=tsc if the processor's counter is sound");
}

#[test]
fn a_run_between_two_checkpoints_says_so_if_none_was_seen() {
    insta::assert_snapshot!(note(|record| record.summary.duration_s = 60.0), @"the run took 60.0 s, and checkpoint_timeout is 15min: it may have had no checkpoint, and none of the full-page writes that follow one; run for several times as long to have them in the figures");
    let seen = |record: &mut Record| {
        record.summary.duration_s = 200.0;
        record.observation = observed(CHECKPOINT);
    };
    assert!(note(seen).contains("a checkpoint fell into"));
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
    insta::assert_snapshot!(note(|record| record.observation = observed(&both)), @"a checkpoint and 2 autovacuums fell into the measured time: the figures are with that; compare only with runs that had as much");
    assert_eq!(said(|record| record.observation = observed(BEFORE)), []);
}

fn compared(records: &[Record]) -> Vec<String> {
    let records: Vec<&Record> = records.iter().collect();
    warnings_of_comparison(&records).into_iter().map(String::from).collect()
}

#[test]
fn maintenance_in_one_arm_only_is_told_when_runs_are_compared() {
    let run = |events: &str| Record { observation: observed(events), ..quiet() };
    insta::assert_snapshot!(compared(&[run(CHECKPOINT), run("")]).join("\n"), @"a checkpoint fell into 1 of 2 runs and not into the others: a difference between them may be nothing else; run for longer, so that each has some, or repeat them in turns");
    assert_eq!(compared(&[run(CHECKPOINT), run(CHECKPOINT)]), [""; 0]);
    assert_eq!(compared(&[run(VACUUM), quiet()]), [""; 0], "of the other nothing is known");
}

#[test]
fn runs_that_were_made_elsewhere_or_otherwise_are_told_apart() {
    let mut other = quiet();
    other.environment.host.hostname = "bench2".to_owned();
    other.tables.scale = Some(200);
    set(&mut other, "fsync", "off");
    insta::assert_snapshot!(compared(&[quiet(), other]).join("\n"), @r"
    pgmeter's host was not the same in all of these runs: a difference may come from that
    fsync was not the same in all of these runs: a difference may come from that
    the scale of the tables was not the same in all of these runs: a difference may come from that
    ");
    assert_eq!(compared(&[quiet(), quiet()]), [""; 0]);
    let mut older = quiet();
    older.environment.server.as_mut().expect("it was asked").main_settings = Settings::default();
    assert_eq!(compared(&[quiet(), older]), [""; 0], "what is not known does not differ");
}

#[test]
fn cautions_and_notes_have_their_own_places_in_the_record() {
    let mut record = quiet();
    record.pgmeter_build = PgmeterBuild::Debug;
    record.summary.duration_s = 60.0;
    record.warn();
    assert_eq!((record.warnings.len(), record.notes.len()), (1, 1));
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
    let text = caution(|record| {
        record.plan.rate_tps = None;
        record.summary.stalls = Some(stalls(&[(3.0, 3.05), (4.25, 16.25)]));
        let mut response = record.summary.response_us.expect("some succeeded");
        (response.p99, response.p999, response.max) = (4_000.0, 4_200.0, 12_000_000.0);
        record.summary.response_us = Some(response);
        (response.p95, response.p99, response.p999) = (8e6, 11.9e6, 12e6);
        record.summary.response_with_stalls_us = Some(response);
    });
    insta::assert_snapshot!(text, @"no transaction was completed for 12.0 s from 4.25 s on (2 stalls of more than 40.0 ms, 12.1 s in all): in a closed loop each client meets a stall with one transaction, so the percentiles hide it: p99 is 4.00 ms, and 11.9 s if the transactions that the stall kept from starting are counted; find what stopped the server then (checkpoints, locks, the disk, the network)");
}

#[test]
fn a_stall_under_a_rate_is_told_too() {
    let text = caution(|record| {
        record.plan.rate_tps = Some(100.0);
        record.summary.stalls = Some(stalls(&[(4.25, 5.5)]));
    });
    insta::assert_snapshot!(text, @"no transaction was completed for 1.25 s from 4.25 s on: the response times include the waiting; find what stopped the server then (checkpoints, locks, the disk, the network)");
}

#[test]
fn short_stalls_that_take_little_of_the_run_are_listed_and_not_warned_of() {
    let all = said(|record| record.summary.stalls = Some(stalls(&[(3.0, 3.05), (4.0, 4.1)])));
    assert_eq!(all, []);
    let of_a_short_run = caution(|record| {
        record.summary.duration_s = 5.0;
        record.summary.stalls = Some(stalls(&[(3.0, 3.05), (4.0, 4.1)]));
    });
    assert!(
        of_a_short_run.contains("100 ms from 4.00 s on (2 stalls of more than 40.0 ms, 150 ms in all)"),
        "{of_a_short_run}"
    );
}

/// A record in which transactions failed and were skipped, with these percentiles of all.
fn with_others(record: &mut Record, change: impl FnOnce(&mut Percentiles)) {
    let shown = record.summary.response_us.expect("some succeeded");
    let [p50, p90, p95, p99, p999, max] = shown.percentiles().map(|(_, us)| us);
    let mut all = Percentiles { p50, p90, p95, p99, p999, max };
    change(&mut all);
    record.summary.counts.failed = 12;
    record.summary.counts.skipped = 3_400;
    let others = OtherEndings { failed_us: None, skipped_us: None, unfinished_us: None, all_us: Some(all) };
    record.summary.other_endings = others;
}

#[test]
fn leaving_out_what_did_not_succeed_is_told_if_it_changes_a_percentile() {
    let text = caution(|record| {
        with_others(record, |all| {
            (all.p99, all.p999, all.max) = (300_000.0, 300_000.0, 300_000.0);
        });
    });
    insta::assert_snapshot!(text, @"the latencies are of the succeeded transactions only, and leaving out the others (12 failed, 3,400 skipped) changes them: p99 is 45.4 ms without them and 300 ms with them");
    assert_eq!(said(|record| with_others(record, |all| all.p99 *= 1.05)), []);
    assert_eq!(said(|record| with_others(record, |all| all.p50 *= 0.8)).len(), 1);
}
