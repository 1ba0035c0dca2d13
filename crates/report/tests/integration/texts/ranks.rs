//! The load generators of a distributed run in all formats: a line for each, and which of them was the limit.
//! How they are judged is tested in `results`.

use pgmeter_report::{Run, TextStyle, document, html, markdown};
use results::{
    BusiestWorker, CommandTimes, Counts, EventLoop, EventLoopName, Evidence, Generator, GeneratorRemedy,
    HeldBack, Host, Lateness, LimitedBy, Rank, RankClock, Record, Verdict, warnings,
};

use crate::pages::forms;
use crate::texts::fixture::{self, text};

const WIDE: TextStyle = TextStyle { colour: false, width: 120 };

fn generator(limit: LimitedBy) -> Generator {
    let is_limit = limit == LimitedBy::Generator;
    let idle_share = if is_limit { 0.005 } else { 0.63 };
    let busiest = BusiestWorker {
        worker: 0,
        workers: 2,
        idle_share,
        cpu_share: 0.97 - idle_share,
        run_queue_share: Some(0.02),
    };
    let evidence = match is_limit {
        true => Evidence::WorkerSaturated { busiest, remedy: GeneratorRemedy::MoreWorkers },
        false => Evidence::ServerTime { server_us: 3_360.0, round_trip_us: 3_400.0, busiest },
    };
    Generator {
        event_loop: EventLoop { name: EventLoopName::IoUring, because: None },
        workers: Vec::new(),
        cpu_us_per_transaction: None,
        busy_share: 1.0 - idle_share,
        run_queue_share: None,
        wakeup_lateness_us: Some(Lateness { p50: 20.0, p99: 61.5, max: 120.0 }),
        held_back: HeldBack::default(),
        shortest_connect_us: None,
        commands: CommandTimes { round_trips: 0, round_trip_us: None, sleep_share: 0.0, shell_share: 0.0 },
        own_us_per_round_trip: None,
        calibration: None,
        verdict: Verdict { limit, evidence, resource: None, resource_share: None, others: None },
    }
}

/// A run of this many load generators; the first of `limited` are client-limited, from rank 1 on.
pub fn distributed(ranks: u32, limited: u32) -> Record {
    let mut record = fixture::record();
    let each = Counts { scheduled: 321, succeeded: 321, business: 321, ..Counts::default() };
    record.plan.machines = ranks;
    record.plan.workers = 2;
    record.plan.clients = 16 * ranks;
    record.summary.client_cpu_us_per_transaction = Some(31.5);
    let rank = |rank: u32| {
        let is_limited = (1..=limited).contains(&rank);
        Rank {
            rank,
            host: Host { hostname: format!("bench{rank}\u{1b}[2J"), ..record.environment.host.clone() },
            clients: 16,
            workers: 2,
            tps: 107.0,
            counts: each,
            response_us: record.summary.response_us,
            lag_us: None,
            client_cpu_us_per_transaction: Some(31.5),
            clock: (rank > 0).then_some(RankClock {
                offset_ms: -1.5,
                offset_error_ms: 0.1,
                start_skew_us: 12.5,
                start_skew_error_us: 100.0,
            }),
            generator: Some(generator(if is_limited { LimitedBy::Generator } else { LimitedBy::Server })),
        }
    };
    record.summary.ranks = (0..ranks).map(rank).collect();
    let limit = if limited > 0 { LimitedBy::Generator } else { LimitedBy::Server };
    record.summary.generator = Some(generator(limit));
    record.warnings = warnings(&record);
    record
}

#[test]
fn the_terminal_has_a_line_for_each_load_generator_and_names_the_one_that_was_the_limit() {
    insta::assert_snapshot!(text(&distributed(3, 1), &WIDE), @r"
    CLIENT-LIMITED: Rank 1 (bench1\x1b[2J): Worker 0 was never idle. It ran 96 % of the time and waited for a CPU 2.0 %. Use
    more workers (-j) or fewer clients. The figures say more about pgmeter than about the server.

    ser.sql
      48 clients on 3 load generators with 2 workers each, simple protocol, 3.0 s
      event loop io_uring

      throughput      321.0 tps
      transactions    963 succeeded, 0 failed

      latency, ms   mean ± stddev    p50    p90    p99   p99.9    max
      response        4.29 ± 5.90   4.29   4.29   4.29    4.29   4.29

      client CPU      31.5 µs per transaction, 0.17 % of its workers' time

    load generators
      rank   host            clients     tps   CPU per transaction   late wake-ups, p99        clock offset   limit
      0      bench0\x1b[2J        16   107.0               31.5 µs              61.5 µs           reference   server
      1      bench1\x1b[2J        16   107.0               31.5 µs              61.5 µs   −1.50 ms ± 100 µs   generator
      2      bench2\x1b[2J        16   107.0               31.5 µs              61.5 µs   −1.50 ms ± 100 µs   server

      warning: Of 3 load generators, these were the limit themselves: rank 1 (bench1\x1b[2J). One of them is enough to keep
               the whole run below what the server can do. Give each more CPUs or workers (-j), or distribute the clients
               over more hosts.
    ");
}

#[test]
fn a_narrow_terminal_leaves_the_start_skew_out() {
    let shown = text(&distributed(2, 0), &TextStyle { colour: false, width: 90 });
    assert!(shown.contains("clock offset") && !shown.contains("start skew"), "{shown}");
}

#[test]
fn of_many_load_generators_the_terminal_shows_the_first_and_documents_show_all() {
    let record = distributed(64, 8);
    let shown = text(&record, &WIDE);
    assert!(
        shown.contains("\n  15 ")
            && !shown.contains("\n  16 ")
            && shown.contains("and 48 more load generators")
    );
    let limited = "rank 1 (bench1\\x1b[2J), rank 2 (bench2\\x1b[2J)";
    assert!(shown.replace('\n', " ").contains(limited) && shown.contains("and 2 more"), "{shown}");
    let page = markdown(&document(&[Run { record: &record, name: "r" }]));
    assert!(page.contains("| 63 |"), "{page}");
}

#[test]
fn documents_have_the_table_and_the_evidence() {
    let record = distributed(3, 1);
    let document = document(&[Run { record: &record, name: "r" }]);
    let page = markdown(&document);
    let section = page.split("## Load generators").nth(1).and_then(|rest| rest.split("\n## ").next());
    insta::assert_snapshot!(section.unwrap_or_default().trim(), @r"
    | rank | host | clients | tps | CPU per transaction | late wake-ups, p99 | clock offset | limit | start skew |
    | --- | --- | ---: | ---: | ---: | ---: | ---: | --- | ---: |
    | 0 | bench0\\x1b\[2J | 16 | 107.0 | 31.5 µs | 61.5 µs | reference | server | reference |
    | 1 | bench1\\x1b\[2J | 16 | 107.0 | 31.5 µs | 61.5 µs | −1.50 ms ± 100 µs | generator | 12.5 µs ± 100 µs |
    | 2 | bench2\\x1b\[2J | 16 | 107.0 | 31.5 µs | 61.5 µs | −1.50 ms ± 100 µs | server | 12.5 µs ± 100 µs |

    - Rank 1 (bench1\\x1b\[2J): Worker 0 was never idle. It ran 96 % of the time and waited for a CPU 2.0 %. Use more workers (-j) or fewer clients.
    ");
    let page = html(&document);
    assert!(page.contains("All load generators together") && page.contains("bench2"));
    assert!(!page.contains('\u{1b}'));
}

#[test]
fn csv_has_the_figures_of_each_load_generator() {
    let record = distributed(2, 1);
    let shown = forms::csv(&[Run { record: &record, name: "r" }]);
    let lines: Vec<&str> =
        shown.lines().filter(|line| line.contains(",rank,") && line.contains(",1: ")).collect();
    let of = |metric: &str| {
        lines.iter().filter_map(|line| line.split(&format!(",{metric},")).nth(1)).collect::<Vec<_>>()
    };
    assert_eq!((of("tps"), of("succeeded"), of("clients")), (vec!["107"], vec!["321"], vec!["16"]));
    assert_eq!((of("clock_offset_ms"), of("start_skew_us")), (vec!["-1.5"], vec!["12.5"]));
    assert_eq!((of("wakeup_lateness_p99_us"), of("response_p99_us").len()), (vec!["61.5"], 1));
}

#[test]
fn a_run_of_one_process_does_not_mention_load_generators() {
    let mut record = fixture::record();
    record.summary.generator = Some(generator(LimitedBy::Server));
    let page = markdown(&document(&[Run { record: &record, name: "r" }]));
    let csv = forms::csv(&[Run { record: &record, name: "r" }]);
    for shown in [text(&record, &WIDE), page, csv] {
        assert!(!shown.contains("load generators") && !shown.contains("Load generators"), "{shown}");
    }
}
