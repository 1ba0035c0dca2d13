//! Each rule of the verdict with its boundaries and its sentence, from a run that every test changes as it needs.
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

fn judge(case: Case) -> (LimitedBy, String) {
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
fn check(case: Case, limit: LimitedBy, evidence: &str) {
    assert_eq!(judge(case), (limit, evidence.to_owned()));
}

fn round_trip(took_us: f64, own_us: f64, network_us: f64) -> Option<RoundTrip> {
    Some(RoundTrip { took_us, own_us, core_wait_us: 0.0, network_us: Some(network_us) })
}

#[test]
fn a_worker_that_sleeps_while_clients_wait_leaves_the_server() {
    check(
        waiting_for_the_server(),
        LimitedBy::Server,
        "the worker was idle 63 % of the time while its clients waited for the server, 3.36 ms of the 3.40 ms of a \
         round trip",
    );
    let (limit, evidence) = judge(Case { workers: 4, ..waiting_for_the_server() });
    assert_eq!(limit, LimitedBy::Server);
    assert!(evidence.starts_with("the busiest worker was idle"), "{evidence}");
}

#[test]
fn a_worker_that_never_sleeps_is_the_limit() {
    let busy =
        |cpu_share, waited| Case { cpu_share, run_queue_share: Some(waited), ..waiting_for_the_server() };
    check(
        busy(0.97, 0.025),
        LimitedBy::Generator,
        "its worker was never idle: it ran 97 % of the time and waited for a core 2.5 %; give it more threads (-j) \
         or fewer clients",
    );
    check(
        Case { workers: 4, ..busy(0.90, 0.02) },
        LimitedBy::Generator,
        "worker 0 was idle only 8.0 % of the time: it ran 90 % of the time and waited for a core 2.0 %; give it more \
         threads (-j) or fewer clients",
    );
    check(
        Case { run_queue_share: None, ..busy(0.95, 0.0) },
        LimitedBy::Generator,
        "its worker was idle only 5.0 % of the time: it ran 95 % of the time; give it more threads (-j) or fewer \
         clients",
    );
}

#[test]
fn what_would_help_a_worker_depends_on_what_it_lacks() {
    let advice = |case: Case| judge(case).1.split_once("; ").unwrap().1.to_owned();
    let never_idle = || Case { cpu_share: 0.97, ..waiting_for_the_server() };
    assert_eq!(advice(never_idle()), "give it more threads (-j) or fewer clients");
    let all_cores = Case { cpus: Some(1), ..never_idle() };
    assert_eq!(advice(all_cores), "it needs a machine with more cores, or fewer clients");
    let one_each = Case { workers: 16, ..never_idle() };
    assert_eq!(advice(one_each), "it needs a machine with more cores, or fewer clients");
    let crowded = Case { cpu_share: 0.6, run_queue_share: Some(0.38), ..waiting_for_the_server() };
    assert_eq!(
        advice(crowded),
        "it shares its cores with others: run it on a machine of its own, or with fewer clients"
    );
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
        "the worker was idle 18 % of the time: too little to rule it out, enough not to accuse it; it ran 80 % of the \
         time and waited for a core 2.0 %",
    );
    check(
        Case { cpu_share: 0.6, run_queue_share: None, ..waiting_for_the_server() },
        LimitedBy::Undecided,
        "the worker ran 60 % of the time, and this system does not tell how long it waited for a core",
    );
}

#[test]
fn who_has_more_than_half_of_a_round_trip_is_its_limit() {
    let of = |round_trip| Case { over_network: true, round_trip, ..waiting_for_the_server() };
    check(
        of(round_trip(3_400.0, 40.0, 3_100.0)),
        LimitedBy::Network,
        "3.10 ms of the 3.40 ms that a round trip took are the network's, as the shortest connect shows",
    );
    check(
        Case { is_relayed: true, ..of(round_trip(22_000.0, 40.0, 20_000.0)) },
        LimitedBy::Network,
        "20.0 ms of the 22.0 ms that a round trip took are the network's, as the relay was asked to delay",
    );
    assert_eq!(judge(of(round_trip(3_400.0, 40.0, 1_690.0))).0, LimitedBy::Undecided);
    assert_eq!(judge(of(round_trip(3_400.0, 40.0, 1_650.0))).0, LimitedBy::Server);
    check(
        of(round_trip(7.0, 4.1, 0.0)),
        LimitedBy::Generator,
        "4.10 µs of the 7.00 µs that a round trip took are pgmeter's own",
    );
    check(
        of(round_trip(100.0, 30.0, 40.0)),
        LimitedBy::Undecided,
        "of the 100 µs that a round trip took 30.0 µs are pgmeter's own and 40.0 µs the network's: nobody has the \
         bigger part",
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
        "the worker waited for a core 35 % of the time, 1.10 ms of the 4.00 ms that a round trip took; it shares its \
         cores with others: run it on a machine of its own, or with fewer clients",
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
        "the rate of 1,500 tps was kept, so nothing was at its limit; the worker was idle 63 % of the time",
    );
    assert_eq!(judge(scheduled(0.01, 100.0, 500.0)).0, LimitedBy::Undecided);
    check(
        scheduled(0.0, 120.0, 140.0),
        LimitedBy::Generator,
        "half of the time a worker woke 120 µs or more too late to begin a transaction, and that is 30 % of the \
         response time there, 400 µs; service times are free of it",
    );
    check(
        scheduled(0.0, 10.0, 1_000.0),
        LimitedBy::Generator,
        "in one of a hundred cases a worker woke 1.00 ms or more too late to begin a transaction, and that is 50 % of \
         the response time there, 2.00 ms; service times are free of it",
    );
    let few = Case { finished: 999, ..scheduled(0.0, 10.0, 1_000.0) };
    assert_eq!(judge(few).0, LimitedBy::Undecided, "one of a hundred needs more than that");
    // A rate that is not kept is a closed loop: every client is busy all the time.
    assert_eq!(judge(scheduled(0.02, 120.0, 140.0)).0, LimitedBy::Server);
    let idle = CommandTimes { round_trips: 2_000, ..waiting_for_the_server().commands };
    check(
        Case { commands: idle, ..scheduled(0.02, 120.0, 140.0) },
        LimitedBy::Undecided,
        "2.0 % of the transactions at 1,500 tps were skipped or not done in time, though the clients had nothing to do \
         for 92 % of theirs: something held all of them up now and then, see the response times over time",
    );
    let without_timers = Case {
        opening: Opening::Scheduled { rate_tps: 9.5, missed_share: 0.0, lateness: None, response: None },
        ..waiting_for_the_server()
    };
    assert!(judge(without_timers).1.starts_with("the rate of 9.50 tps was kept"));
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
        "once a worker woke 600 ms too late, and 7.5 % of all transactions were due meanwhile; service times are free \
         of it",
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
        "230,400 round trips per second and worker are 96 % of the 240,000 that this machine makes with a server that \
         takes no time",
    );
    assert_eq!(judge(calibrated(0.79, 20.0)).0, LimitedBy::Server);
    assert_eq!(judge(calibrated(0.81, 20.0)).0, LimitedBy::Generator);
    assert_eq!(judge(Case { cpu_share: 0.45, ..calibrated(1.5, 20.0) }).0, LimitedBy::Server);
    check(
        Case { round_trip: round_trip(34.0, 6.0, 0.0), ..calibrated(0.1, 20.0) },
        LimitedBy::Generator,
        "20.0 µs of the 34.0 µs that a round trip took are what this machine needs with a server that takes no time",
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
        "the scripts sent no command to a server, so it was pgmeter that was measured",
    );
    check(
        Case { round_trip: None, ..waiting_for_the_server() },
        LimitedBy::Undecided,
        "no command of the scripts came to a good end",
    );
}

#[test]
fn what_scripts_do_between_their_commands_is_not_the_servers() {
    let between = |sleep_share, shell_occupancy| Case {
        commands: CommandTimes { sleep_share, ..waiting_for_the_server().commands },
        shell_occupancy,
        ..waiting_for_the_server()
    };
    check(
        between(0.9, 0.0),
        LimitedBy::Undecided,
        "90 % of the time in commands went into \\sleep, so nothing was at its limit",
    );
    check(
        between(0.0, 0.6),
        LimitedBy::Generator,
        "\\shell and \\setshell, which keep a worker's other clients waiting, took 60 % of the workers' time",
    );
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
        "95 % of the time the network, or the server behind it, did not take what was sent: 1,234 sends were held \
         back",
    );
    check(
        held(0.6, 1, false),
        LimitedBy::Server,
        "60 % of the time the server did not take what was sent: 1,234 sends were held back",
    );
    let (limit, evidence) = judge(held(0.6, 16, true));
    assert_eq!(limit, LimitedBy::Server);
    assert!(!evidence.contains("held back"), "{evidence}");
}

#[test]
fn connecting_for_each_transaction_is_the_servers_work_where_there_is_no_network() {
    let connecting = |over_network| Case { connecting_share: 0.8, over_network, ..waiting_for_the_server() };
    check(
        connecting(false),
        LimitedBy::Server,
        "the worker was idle 63 % of the time while its clients waited, 80 % of their time for connections",
    );
    check(
        connecting(true),
        LimitedBy::Undecided,
        "the clients spent 80 % of their time connecting, and how much of that the network took was not measured",
    );
}

#[test]
fn a_run_too_short_to_tell_says_so() {
    check(
        Case { duration_s: 0.012, finished: 10, cpu_share: 1.0, ..waiting_for_the_server() },
        LimitedBy::Undecided,
        "10 transactions in 12.0 ms are too few to tell: run for longer",
    );
    check(
        Case { finished: 1, ..waiting_for_the_server() },
        LimitedBy::Undecided,
        "1 transaction in 5.00 s are too few to tell: run for longer",
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
