//! The load generators of a distributed run in its record: their figures add up to those of the run, each has a verdict,
//! and the worst one is that of the run. Contradictions are refused when a record is read.

use std::path::Path;
use std::time::Duration;

use pgmeter_results::{
    ConnectionInUse, EventLoop, EventLoopName, Host, Introspection, LimitedBy, LimitedRank, Measured,
    Observation, PerTransaction, ProcessorShares, Rank, RankClock, RankMeasured, Record, Status, Summary,
    TransportInUse, Warning, Work, warnings,
};
use stats::{Distribution, Ending, Failure, Recorder, Sample, ScriptStats, Timestamp, WorkerHealth};

const SECOND_NS: u64 = 1_000_000_000;
const RUN_S: u64 = 2;
const CLIENTS_PER_WORKER: u32 = 8;

/// A record without ranks that other tests read too.
fn before() -> Record {
    Record::from_json(include_bytes!("record.json"), Path::new("r.json")).expect("it is one")
}

/// A load generator: transactions that succeeded and failed, and the share of time in which each of its workers ran.
struct Generator {
    succeeded: u64,
    failed: u64,
    workers: usize,
    cpu_share: f64,
}

impl Generator {
    fn clients(&self) -> u32 {
        CLIENTS_PER_WORKER * u32::try_from(self.workers).expect("a few")
    }

    fn interval(&self) -> stats::Interval {
        let mut recorder = Recorder::new(1, None);
        for transaction in 0..self.succeeded + self.failed {
            let is_failed = transaction < self.failed;
            let scheduled = Timestamp::from_nanos(transaction * 1_000);
            recorder.record(&Sample {
                script: 0,
                scheduled,
                started: scheduled + Duration::from_micros(2),
                finished: scheduled + Duration::from_micros(1_000 + transaction),
                tries: 1,
                business: 1,
                ending: if is_failed { Ending::Failed(Failure::Deadlock) } else { Ending::Succeeded },
                traffic: stats::Traffic::default(),
            });
        }
        let end = Timestamp::from_nanos(RUN_S * SECOND_NS);
        recorder.hand_over(Timestamp::ZERO, end, stats::Interval::new(1))
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few seconds")]
    fn health(&self) -> Vec<WorkerHealth> {
        let worker = |worker| {
            let mut wakeup_lateness = Distribution::new();
            wakeup_lateness.record_ns(50_000);
            WorkerHealth {
                worker,
                clients: CLIENTS_PER_WORKER as usize,
                span_ns: RUN_S * SECOND_NS,
                cpu_ns: (self.cpu_share * (RUN_S * SECOND_NS) as f64) as u64,
                run_queue_ns: Some(0),
                wakeups: 100,
                wakeup_lateness,
                sends_held_back: 0,
                held_back_ns: 0,
                shortest_connect_ns: Some(100_000),
            }
        };
        (0..self.workers).map(worker).collect()
    }

    fn work(&self) -> Work {
        let round_trips = self.succeeded + self.failed;
        // Its clients waited for the server all the time.
        let sql_ns = u128::from(self.clients()) * u128::from(RUN_S * SECOND_NS);
        Work { round_trips, sql_ns, ..Work::default() }
    }
}

fn introspection(health: &[WorkerHealth], work: Work) -> Introspection<'_> {
    let event_loop = EventLoop { name: EventLoopName::IoUring, because: None };
    Introspection { event_loop, health, work, over_network: false, relay_us: None, calibration: None }
}

/// The record of a run that these load generators made together.
fn distributed(generators: &[Generator]) -> Record {
    let Record { mut plan, environment, tables, started_at, .. } = before();
    plan.scripts.truncate(1);
    plan.machines = u32::try_from(generators.len()).expect("a few");
    plan.clients = generators.iter().map(Generator::clients).sum();
    (plan.goals, plan.actions) = (Vec::new(), Vec::new());
    let intervals: Vec<_> = generators.iter().map(Generator::interval).collect();
    let totals: Vec<ScriptStats> = intervals.iter().map(stats::Interval::total).collect();
    let healths: Vec<_> = generators.iter().map(Generator::health).collect();
    let all: Vec<WorkerHealth> = healths.iter().flatten().cloned().collect();
    let mut merged = intervals[0].clone();
    intervals[1..].iter().for_each(|interval| merged.merge(interval));
    let mut work = Work::default();
    for Work { round_trips, sql_ns, .. } in generators.iter().map(Generator::work) {
        work.round_trips += round_trips;
        work.sql_ns += sql_ns;
    }
    let rank = |(rank, generator): (u32, &Generator)| {
        let at = rank as usize;
        RankMeasured {
            rank,
            host: Host { hostname: format!("bench{rank}"), ..environment.host.clone() },
            clients: generator.clients(),
            total: &totals[at],
            connecting: None,
            client_cpu: Some(Duration::from_millis(100)),
            clock: (rank > 0).then_some(RankClock {
                offset_ms: -1.5,
                offset_error_ms: 0.1,
                start_skew_us: 20.0,
                start_skew_error_us: 100.0,
            }),
            introspection: Some(introspection(&healths[at], generator.work())),
        }
    };
    let summary = stats::Summary::of(&intervals, Duration::from_secs(RUN_S));
    let measured = Measured {
        summary: &summary,
        gaps: None,
        intervals: vec![pgmeter_results::Interval::of(&merged, Timestamp::ZERO)],
        elapsed: Duration::from_secs(RUN_S),
        commands: Vec::new(),
        connecting: None,
        client_cpu: Some(Duration::from_millis(200)),
        connection_time: None,
        introspection: Some(introspection(&all, work)),
        ranks: (0..).zip(generators).map(rank).collect(),
    };
    let environment = environment.clone();
    Record::new(started_at, Status::Complete, plan, environment, tables, measured)
}

/// Two load generators that waited for the server most of the time, and one whose workers ran for `cpu_share`.
fn three(cpu_share: f64) -> Record {
    distributed(&[
        Generator { succeeded: 900, failed: 3, workers: 1, cpu_share: 0.1 },
        Generator { succeeded: 500, failed: 0, workers: 2, cpu_share },
        Generator { succeeded: 700, failed: 7, workers: 1, cpu_share: 0.1 },
    ])
}

fn read(record: &Record) -> Result<Record, String> {
    let read = Record::from_json(record.to_json().as_bytes(), Path::new("r.json"));
    read.map_err(|error| error.to_string())
}

fn refusal(change: impl FnOnce(&mut Summary)) -> String {
    let mut record = three(0.1);
    change(&mut record.summary);
    read(&record).expect_err("it contradicts itself")
}

#[test]
fn the_ranks_of_a_run_add_up_to_it_and_are_read_as_they_were_written() {
    let record = three(0.1);
    let Summary { counts, ranks, generator, .. } = &record.summary;
    assert_eq!(read(&record).as_ref(), Ok(&record));
    assert_eq!(ranks.iter().map(|rank| rank.counts.succeeded).collect::<Vec<_>>(), [900, 500, 700]);
    assert_eq!((counts.succeeded, counts.failed, counts.scheduled), (2_100, 10, 2_110));
    assert_eq!(ranks.iter().map(|rank| rank.tps).collect::<Vec<_>>(), [450.0, 250.0, 350.0]);
    assert_eq!(
        ranks.iter().map(|rank| (rank.clients, rank.workers)).collect::<Vec<_>>(),
        [(8, 1), (16, 2), (8, 1)]
    );
    // 100 ms of each rank.
    let cpu: Vec<_> = ranks.iter().map(|rank| rank.client_cpu_us_per_transaction).collect();
    assert_eq!(cpu, [Some(110.742), Some(200.0), Some(141.443)]);
    let Rank { host, clock, lag_us, response_us, .. } = &ranks[1];
    assert_eq!((host.hostname.as_str(), clock.map(|clock| clock.offset_ms)), ("bench1", Some(-1.5)));
    assert_eq!((lag_us.map(|lag| lag.max), ranks[0].clock), (Some(2.0), None));
    assert_eq!(response_us.map(|response| response.max), Some(1_499.0));
    let workers = &generator.as_ref().expect("it was measured").workers;
    assert_eq!(workers.iter().map(|worker| worker.worker).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(record.summary.workers(&record.plan), 4);
}

#[test]
fn one_client_limited_rank_marks_the_run_and_is_named() {
    let mut record = three(0.1);
    let limit = |record: &Record| record.summary.generator.as_ref().map(|it| it.verdict.limit);
    assert_eq!(limit(&record), Some(LimitedBy::Server));
    assert!(!warnings(&record).iter().any(|it| matches!(it, Warning::RanksClientLimited { .. })));
    record = three(0.97);
    record.warn();
    let limits: Vec<_> = record.summary.ranks.iter().map(Rank::is_client_limited).collect();
    assert_eq!((limit(&record), limits), (Some(LimitedBy::Generator), vec![false, true, false]));
    assert_eq!(record.summary.worst_rank().map(|rank| rank.rank), Some(1));
    let limited = vec![LimitedRank { rank: 1, host: "bench1".into() }];
    assert!(record.warnings.contains(&Warning::RanksClientLimited { limited, ranks: 3 }));
    assert_eq!(read(&record), Ok(record));
}

#[test]
fn the_server_is_the_limit_only_if_it_was_that_of_each_rank() {
    // A worker that is busy for 80 % of the time cannot be excluded as the limit.
    let record = three(0.8);
    let limit = record.summary.generator.map(|generator| generator.verdict.limit);
    let of_ranks: Vec<_> =
        record.summary.ranks.iter().filter_map(|rank| Some(rank.verdict()?.limit)).collect();
    assert_eq!(of_ranks, [LimitedBy::Server, LimitedBy::Undecided, LimitedBy::Server]);
    assert_eq!(limit, Some(LimitedBy::Undecided));
}

#[test]
fn what_corrects_the_verdict_on_a_run_corrects_those_on_its_ranks() {
    let limits = |record: &Record| {
        let of_ranks: Vec<_> =
            record.summary.ranks.iter().filter_map(|rank| Some(rank.verdict()?.limit)).collect();
        (record.summary.generator.as_ref().map(|it| it.verdict.limit), of_ranks)
    };
    let mut record = three(0.1);
    record.environment.connection = Some(ConnectionInUse {
        transport: TransportInUse::UnixSocket,
        same_host: true,
        tls: None,
        protocol_version: "3.0".to_owned(),
    });
    // Other programs have three quarters of the server's CPUs.
    record.environment.conditions.processors = Some(ProcessorShares { busy: 0.95, own: 0.2, stolen: 0.0 });
    let per_transaction = PerTransaction { server_cpu_us: Some(0.0), ..PerTransaction::default() };
    record.observation = Some(Observation { per_transaction, ..Observation::default() });
    assert_eq!(limits(&record), (Some(LimitedBy::Server), vec![LimitedBy::Server; 3]));
    record.warn();
    assert_eq!(limits(&record), (Some(LimitedBy::Undecided), vec![LimitedBy::Undecided; 3]));
}

#[test]
fn a_run_of_one_process_has_no_ranks_and_its_record_does_not_mention_them() {
    let record = distributed(&[Generator { succeeded: 900, failed: 3, workers: 1, cpu_share: 0.1 }]);
    let plain = Record { summary: Summary { ranks: Vec::new(), ..record.summary.clone() }, ..record };
    let json = plain.to_json();
    assert!(!json.contains("\"ranks\"") && !json.contains("\"machines\""), "{json}");
    assert_eq!(read(&plain), Ok(plain));
}

#[test]
fn ranks_that_contradict_the_run_are_refused() {
    let check = |change: fn(&mut Summary), expected: &str| {
        let refusal = refusal(change);
        assert!(refusal.contains(expected), "{refusal}");
    };
    check(|it| drop(it.ranks.pop()), "other ranks than the plan has");
    check(|it| it.ranks.swap(0, 1), "other ranks than the plan has");
    check(|it| it.ranks[1].clients += 1, "the ranks have other clients than the plan");
    check(|it| it.ranks[1].workers += 1, "rank 1: other workers than it measured");
    check(|it| it.ranks[2].counts.failed += 1, "rank 2: 8 transactions failed, but by kind");
    check(|it| it.ranks[2].counts.skipped += 1, "rank 2: 707 transactions were scheduled");
    check(|it| it.ranks[0].counts = it.ranks[2].counts, "other transactions than the summary");
    check(|it| it.ranks[0].clock = it.ranks[1].clock, "rank 0: a clock compared with itself");
    check(|it| it.ranks[0].tps = -1.0, "rank 0: a negative time or rate");
    check(|it| it.ranks[0].lag_us = None, "rank 0: latencies without transactions");
    let negative = |it: &mut Summary| {
        it.ranks[1].clock.as_mut().expect("it has one").offset_error_ms = -0.5;
    };
    check(negative, "rank 1: a clock with a negative error");
    let limited = |it: &mut Summary| {
        it.ranks[1].generator.as_mut().expect("it was measured").verdict.limit = LimitedBy::Generator;
    };
    check(limited, "a verdict that is not the worst one of the ranks");
}
