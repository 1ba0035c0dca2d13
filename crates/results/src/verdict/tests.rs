//! Each rule of the verdict with its boundaries and its evidence, from a run that every test changes as it needs.
//! What comes before, from the measured numbers to what is judged here, is tested with records.

use super::*;

/// 16 clients on one worker of eight processors, five seconds: 3.4 ms for a round trip, of which a little is pgmeter's.
struct Case {
    duration_s: f64,
    finished: u64,
    clients: u32,
    workers: usize,
    cpu_share: f64,
    run_queue_share: Option<f64>,
    cpus: Option<u32>,
    over_network: bool,
    is_relayed: bool,
    opening: Opening,
    commands: CommandTimes,
    shell_occupancy: f64,
    sends_sql: bool,
    round_trip: Option<RoundTrip>,
    connecting_share: f64,
    held_back: HeldBack,
    calibration: Option<CalibrationUsed>,
}

fn waiting_for_the_server() -> Case {
    Case {
        duration_s: 5.0,
        finished: 20_000,
        clients: 16,
        workers: 1,
        cpu_share: 0.35,
        run_queue_share: Some(0.02),
        cpus: Some(8),
        over_network: false,
        is_relayed: false,
        opening: Opening::Closed,
        commands: CommandTimes {
            round_trips: 20_000,
            round_trip_us: Some(3_400.0),
            sleep_share: 0.0,
            shell_share: 0.0,
        },
        shell_occupancy: 0.0,
        sends_sql: true,
        round_trip: Some(RoundTrip { took_us: 3_400.0, own_us: 40.0, core_wait_us: 4.0, network_us: None }),
        connecting_share: 0.0,
        held_back: HeldBack::default(),
        calibration: None,
    }
}

fn judge(case: Case) -> (LimitedBy, Evidence) {
    let busiest = WorkerCondition {
        worker: 0,
        clients: case.clients.div_ceil(u32::try_from(case.workers).unwrap()),
        span_s: case.duration_s,
        cpu_share: case.cpu_share,
        run_queue_share: case.run_queue_share,
        wakeups: 1_000,
        wakeup_lateness_us: None,
        held_back: case.held_back,
        shortest_connect_us: None,
    };
    let Verdict { limit, evidence, .. } = verdict(&Run {
        duration_s: case.duration_s,
        finished: case.finished,
        clients: case.clients,
        workers: case.workers,
        cpus: case.cpus,
        over_network: case.over_network,
        is_relayed: case.is_relayed,
        busiest: &busiest,
        opening: case.opening,
        commands: case.commands,
        shell_occupancy: case.shell_occupancy,
        sends_sql: case.sends_sql,
        round_trip: case.round_trip,
        connecting_share: case.connecting_share,
        held_back: case.held_back,
        calibration: case.calibration,
    });
    (limit, evidence)
}

/// That `case` is judged so.
#[track_caller]
fn check(case: Case, limit: LimitedBy, evidence: Evidence) {
    let (found_limit, found) = judge(case);
    assert_eq!(found_limit, limit);
    // Figures are sums and differences: compared to a millionth.
    let rounded = |evidence: Evidence| {
        let text = serde_json::to_value(evidence).expect("it is JSON").to_string();
        text.split_inclusive([',', '}']).map(rounded_number).collect::<Vec<_>>()
    };
    assert_eq!(rounded(found), rounded(evidence));
}

/// `"name":0.30000000000000004,` as `"name":0.3`.
fn rounded_number(field: &str) -> String {
    let field = field.trim_end_matches([',', '}']);
    match field.rsplit_once(':').and_then(|(name, value)| Some((name, value.parse::<f64>().ok()?))) {
        Some((name, value)) => format!("{name}:{:.6}", value),
        None => field.to_owned(),
    }
}

/// The only worker, which was idle for this share of the time.
fn busiest(cpu_share: f64, run_queue_share: Option<f64>) -> BusiestWorker {
    let idle_share = 1.0 - cpu_share - run_queue_share.unwrap_or(0.0);
    BusiestWorker { worker: 0, workers: 1, idle_share, cpu_share, run_queue_share }
}

/// That of most cases.
fn mostly_idle() -> BusiestWorker {
    busiest(0.35, Some(0.02))
}

fn round_trip(took_us: f64, own_us: f64, network_us: f64) -> Option<RoundTrip> {
    Some(RoundTrip { took_us, own_us, core_wait_us: 0.0, network_us: Some(network_us) })
}

#[test]
fn a_worker_that_sleeps_while_clients_wait_leaves_the_server() {
    check(
        waiting_for_the_server(),
        LimitedBy::Server,
        Evidence::ServerTime { server_us: 3_360.0, round_trip_us: 3_400.0, busiest: mostly_idle() },
    );
    let (limit, evidence) = judge(Case { workers: 4, ..waiting_for_the_server() });
    assert_eq!(limit, LimitedBy::Server);
    assert!(
        matches!(evidence, Evidence::ServerTime { busiest: BusiestWorker { workers: 4, .. }, .. }),
        "{evidence:?}"
    );
}

#[test]
fn a_worker_that_never_sleeps_is_the_limit() {
    let busy =
        |cpu_share, waited| Case { cpu_share, run_queue_share: Some(waited), ..waiting_for_the_server() };
    check(
        busy(0.97, 0.025),
        LimitedBy::Generator,
        Evidence::WorkerSaturated {
            busiest: busiest(0.97, Some(0.025)),
            remedy: GeneratorRemedy::MoreWorkers,
        },
    );
    check(
        Case { workers: 4, ..busy(0.90, 0.02) },
        LimitedBy::Generator,
        Evidence::WorkerSaturated {
            busiest: BusiestWorker { workers: 4, ..busiest(0.90, Some(0.02)) },
            remedy: GeneratorRemedy::MoreWorkers,
        },
    );
    check(
        Case { run_queue_share: None, ..busy(0.95, 0.0) },
        LimitedBy::Generator,
        Evidence::WorkerSaturated { busiest: busiest(0.95, None), remedy: GeneratorRemedy::MoreWorkers },
    );
}

#[test]
fn what_would_help_a_worker_depends_on_what_it_lacks() {
    let remedy = |case: Case| match judge(case).1 {
        Evidence::WorkerSaturated { remedy, .. } => Some(remedy),
        _ => None,
    };
    let never_idle = || Case { cpu_share: 0.97, ..waiting_for_the_server() };
    assert_eq!(remedy(never_idle()), Some(GeneratorRemedy::MoreWorkers));
    let all_cores = Case { cpus: Some(1), ..never_idle() };
    assert_eq!(remedy(all_cores), Some(GeneratorRemedy::MoreCpus));
    let one_each = Case { workers: 16, ..never_idle() };
    assert_eq!(remedy(one_each), Some(GeneratorRemedy::MoreCpus));
    let crowded = Case { cpu_share: 0.6, run_queue_share: Some(0.38), ..waiting_for_the_server() };
    assert_eq!(remedy(crowded), Some(GeneratorRemedy::OwnCpus));
}

#[test]
fn between_an_alibi_and_guilt_nothing_is_decided() {
    let limit_at =
        |busy: f64| judge(Case { cpu_share: busy, run_queue_share: Some(0.0), ..waiting_for_the_server() }).0;
    assert_eq!(limit_at(0.74), LimitedBy::Server);
    assert_eq!(limit_at(0.76), LimitedBy::Undecided);
    assert_eq!(limit_at(0.89), LimitedBy::Undecided);
    assert_eq!(limit_at(0.91), LimitedBy::Generator);
    check(
        Case { cpu_share: 0.8, ..waiting_for_the_server() },
        LimitedBy::Undecided,
        Evidence::WorkerBusy { busiest: busiest(0.8, Some(0.02)) },
    );
    check(
        Case { cpu_share: 0.6, run_queue_share: None, ..waiting_for_the_server() },
        LimitedBy::Undecided,
        Evidence::CpuWaitUnknown { busiest: busiest(0.6, None) },
    );
}

#[test]
fn who_has_more_than_half_of_a_round_trip_is_its_limit() {
    let of = |round_trip| Case { over_network: true, round_trip, ..waiting_for_the_server() };
    check(
        of(round_trip(3_400.0, 40.0, 3_100.0)),
        LimitedBy::Network,
        Evidence::NetworkTime {
            network_us: 3_100.0,
            round_trip_us: 3_400.0,
            source: NetworkSource::ShortestConnect,
        },
    );
    check(
        Case { is_relayed: true, ..of(round_trip(22_000.0, 40.0, 20_000.0)) },
        LimitedBy::Network,
        Evidence::NetworkTime { network_us: 20_000.0, round_trip_us: 22_000.0, source: NetworkSource::Relay },
    );
    assert_eq!(judge(of(round_trip(3_400.0, 40.0, 1_690.0))).0, LimitedBy::Undecided);
    assert_eq!(judge(of(round_trip(3_400.0, 40.0, 1_650.0))).0, LimitedBy::Server);
    check(
        of(round_trip(7.0, 4.1, 0.0)),
        LimitedBy::Generator,
        Evidence::OwnTime { own_us: 4.1, round_trip_us: 7.0 },
    );
    check(
        of(round_trip(100.0, 30.0, 40.0)),
        LimitedBy::Undecided,
        Evidence::NoLargestPart { own_us: 30.0, network_us: 40.0, server_us: None, round_trip_us: 100.0 },
    );
}

#[test]
fn answers_that_lie_there_for_want_of_a_core_are_not_the_servers() {
    let crowded = |core_wait_us| Case {
        run_queue_share: Some(0.35),
        round_trip: Some(RoundTrip { took_us: 4_000.0, own_us: 1_200.0, core_wait_us, network_us: None }),
        ..waiting_for_the_server()
    };
    check(
        crowded(1_100.0),
        LimitedBy::Generator,
        Evidence::CpuWait {
            busiest: busiest(0.35, Some(0.35)),
            cpu_wait_us: 1_100.0,
            round_trip_us: 4_000.0,
        },
    );
    assert_eq!(judge(crowded(990.0)).0, LimitedBy::Server);
}

#[test]
fn a_rate_that_is_kept_has_no_limit_unless_pgmeter_comes_late() {
    let response = Latency {
        mean: 400.0,
        stddev: 10.0,
        min: 100.0,
        p50: 400.0,
        p90: 500.0,
        p95: 600.0,
        p99: 2_000.0,
        p999: 3_000.0,
        max: 4_000.0,
    };
    let scheduled = |missed_share, p50, p99| Case {
        opening: Opening::Scheduled {
            rate_tps: 1_500.0,
            missed_share,
            lateness: Some(Lateness { p50, p99, max: p99 }),
            response: Some(response),
        },
        ..waiting_for_the_server()
    };
    check(
        scheduled(0.0, 10.0, 60.0),
        LimitedBy::Undecided,
        Evidence::RateKept { rate_tps: 1_500.0, busiest: mostly_idle() },
    );
    assert_eq!(judge(scheduled(0.01, 100.0, 500.0)).0, LimitedBy::Undecided);
    check(
        scheduled(0.0, 120.0, 140.0),
        LimitedBy::Generator,
        Evidence::LateWakeups { quantile: 0.5, late_us: 120.0, response_us: 400.0 },
    );
    check(
        scheduled(0.0, 10.0, 1_000.0),
        LimitedBy::Generator,
        Evidence::LateWakeups { quantile: 0.99, late_us: 1_000.0, response_us: 2_000.0 },
    );
    let few = Case { finished: 999, ..scheduled(0.0, 10.0, 1_000.0) };
    assert_eq!(judge(few).0, LimitedBy::Undecided, "one of a hundred needs more than that");
    // A rate that is not kept is a closed loop: every client is busy all the time.
    assert_eq!(judge(scheduled(0.02, 120.0, 140.0)).0, LimitedBy::Server);
    let idle = CommandTimes { round_trips: 2_000, ..waiting_for_the_server().commands };
    check(
        Case { commands: idle, ..scheduled(0.02, 120.0, 140.0) },
        LimitedBy::Undecided,
        Evidence::RateMissed { rate_tps: 1_500.0, missed_share: 0.02, clients_idle_share: 0.915 },
    );
    let without_timers = Case {
        opening: Opening::Scheduled { rate_tps: 9.5, missed_share: 0.0, lateness: None, response: None },
        ..waiting_for_the_server()
    };
    assert_eq!(judge(without_timers).1, Evidence::RateKept { rate_tps: 9.5, busiest: mostly_idle() });
}

#[test]
fn a_single_long_delay_of_a_worker_is_late_for_all_that_was_due_meanwhile() {
    let stalled = |max_us: f64, p99: f64| Case {
        opening: Opening::Scheduled {
            rate_tps: 200.0,
            missed_share: 0.0,
            lateness: Some(Lateness { p50: 10.0, p99: 60.0, max: max_us }),
            response: Some(Latency {
                mean: 400.0,
                stddev: 10.0,
                min: 100.0,
                p50: 400.0,
                p90: 500.0,
                p95: 600.0,
                p99,
                p999: 900_000.0,
                max: 900_000.0,
            }),
        },
        finished: 1_600,
        ..waiting_for_the_server()
    };
    check(
        stalled(600_000.0, 523_000.0),
        LimitedBy::Generator,
        Evidence::LateOnce { late_us: 600_000.0, transactions_share: 0.075 },
    );
    assert_eq!(judge(stalled(60_000.0, 20_000.0)).0, LimitedBy::Undecided, "it met 12 of 1,600");
    assert_eq!(judge(stalled(600_000.0, 2_500_000.0)).0, LimitedBy::Undecided, "the server was slower still");
}

#[test]
fn what_the_machine_can_do_at_best_is_no_measure_of_a_server() {
    let calibrated = |reached_share, floor_us| Case {
        cpu_share: 0.6,
        calibration: Some(CalibrationUsed {
            measured_at: crate::UtcTime::from_unix_millis(0),
            round_trips_per_s_max: 240_000.0,
            reached_share,
            floor_us_per_round_trip: floor_us,
        }),
        ..waiting_for_the_server()
    };
    check(
        calibrated(0.96, 20.0),
        LimitedBy::Generator,
        Evidence::CalibratedMaximum {
            round_trips_per_s: 230_400.0,
            reached_share: 0.96,
            round_trips_per_s_max: 240_000.0,
        },
    );
    assert_eq!(judge(calibrated(0.79, 20.0)).0, LimitedBy::Server);
    assert_eq!(judge(calibrated(0.81, 20.0)).0, LimitedBy::Generator);
    assert_eq!(judge(Case { cpu_share: 0.45, ..calibrated(1.5, 20.0) }).0, LimitedBy::Server);
    check(
        Case { round_trip: round_trip(34.0, 6.0, 0.0), ..calibrated(0.1, 20.0) },
        LimitedBy::Generator,
        Evidence::CalibratedFloor { floor_us: 20.0, round_trip_us: 34.0 },
    );
    assert_eq!(
        judge(Case { round_trip: round_trip(41.0, 6.0, 0.0), ..calibrated(0.1, 20.0) }).0,
        LimitedBy::Server
    );
}

#[test]
fn a_run_that_sends_nothing_measures_pgmeter() {
    check(
        Case { sends_sql: false, round_trip: None, cpu_share: 0.1, ..waiting_for_the_server() },
        LimitedBy::Generator,
        Evidence::NothingSent,
    );
    check(Case { round_trip: None, ..waiting_for_the_server() }, LimitedBy::Undecided, Evidence::NoRoundTrip);
}

#[test]
fn what_scripts_do_between_their_commands_is_not_the_servers() {
    let between = |sleep_share, shell_occupancy| Case {
        commands: CommandTimes { sleep_share, ..waiting_for_the_server().commands },
        shell_occupancy,
        ..waiting_for_the_server()
    };
    check(between(0.9, 0.0), LimitedBy::Undecided, Evidence::Sleep { sleep_share: 0.9 });
    check(between(0.0, 0.6), LimitedBy::Generator, Evidence::Shell { shell_share: 0.6 });
    assert_eq!(judge(between(0.4, 0.4)).0, LimitedBy::Server);
}

#[test]
fn bytes_that_are_not_taken_are_the_other_sides_affair() {
    let held = |share, clients, over_network| Case {
        held_back: HeldBack { sends: 1_234, share },
        clients,
        over_network,
        ..waiting_for_the_server()
    };
    check(
        held(0.95, 16, true),
        LimitedBy::Network,
        Evidence::HeldBack { held_back_share: 0.95, sends: 1_234 },
    );
    check(held(0.6, 1, false), LimitedBy::Server, Evidence::HeldBack { held_back_share: 0.6, sends: 1_234 });
    let (limit, evidence) = judge(held(0.6, 16, true));
    assert_eq!(limit, LimitedBy::Server);
    assert!(matches!(evidence, Evidence::ServerTime { .. }), "{evidence:?}");
}

#[test]
fn connecting_for_each_transaction_is_the_servers_work_where_there_is_no_network() {
    let connecting = |over_network| Case { connecting_share: 0.8, over_network, ..waiting_for_the_server() };
    check(
        connecting(false),
        LimitedBy::Server,
        Evidence::Connecting { connecting_share: 0.8, busiest: mostly_idle() },
    );
    check(connecting(true), LimitedBy::Undecided, Evidence::ConnectingOverNetwork { connecting_share: 0.8 });
}

#[test]
fn a_run_too_short_to_tell_says_so() {
    check(
        Case { duration_s: 0.012, finished: 10, cpu_share: 1.0, ..waiting_for_the_server() },
        LimitedBy::Undecided,
        Evidence::TooShort { transactions: 10, duration_s: 0.012 },
    );
    check(
        Case { finished: 1, ..waiting_for_the_server() },
        LimitedBy::Undecided,
        Evidence::TooShort { transactions: 1, duration_s: 5.0 },
    );
    assert_eq!(
        judge(Case { finished: 20, duration_s: 0.5, ..waiting_for_the_server() }).0,
        LimitedBy::Server
    );
}

#[test]
fn the_time_at_the_worker_is_that_of_the_queueing_model() {
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-3 * expected, "{found}");
    // Alone, a client never queues.
    close(residence(8.0, 20.0, 1), 8.0);
    // Four clients, one unit each, and 3.9 units elsewhere: by hand, step by step, 1.822 units in a cycle of 5.722.
    close(residence(1.0, 5.722, 4), 1.822);
    // Nothing elsewhere: nearly all others are always in front.
    assert!(residence(1.0, 16.0, 16) > 15.0);
    // Much elsewhere: hardly anybody is in front.
    close(residence(1.0, 1e6, 16), 1.0);
    assert_eq!(residence(0.0, 0.0, 3), 0.0);
    assert_eq!(residence(5.0, 2.0, 3), 2.0);
}
