//! Who was the limit of a run, as people see it: at the top if it was pgmeter, among the other lines if not.
//! How that is found out is tested in `results`.

use pgmeter_report::{TextStyle, pgbench};

use crate::texts::fixture::text;
use results::{
    BusiestWorker, CommandTimes, EventLoop, EventLoopName, Evidence, Generator, GeneratorRemedy, HeldBack,
    LimitedBy, Record, Status, Verdict,
};

use crate::texts::fixture;

const PLAIN: TextStyle = TextStyle { colour: false, width: 80 };

/// A run that was judged so.
fn judged(limit: LimitedBy, evidence: Evidence) -> Record {
    let mut record = fixture::record();
    record.summary.generator = Some(Generator {
        event_loop: EventLoop { name: EventLoopName::IoUring, because: None },
        workers: Vec::new(),
        cpu_us_per_transaction: None,
        busy_share: 0.0,
        run_queue_share: None,
        wakeup_lateness_us: None,
        held_back: HeldBack::default(),
        shortest_connect_us: None,
        commands: CommandTimes { round_trips: 0, round_trip_us: None, sleep_share: 0.0, shell_share: 0.0 },
        own_us_per_round_trip: None,
        calibration: None,
        verdict: Verdict { limit, evidence, resource: None, resource_share: None, others: None },
    });
    record
}

const NEVER_IDLE: Evidence = Evidence::WorkerSaturated {
    busiest: BusiestWorker {
        worker: 0,
        workers: 1,
        idle_share: 0.005,
        cpu_share: 0.97,
        run_queue_share: Some(0.025),
    },
    remedy: GeneratorRemedy::MoreWorkers,
};

#[test]
fn a_run_that_pgmeter_limited_says_so_before_anything_else() {
    let shown = text(&judged(LimitedBy::Generator, NEVER_IDLE), &PLAIN);
    let expected = "\
CLIENT-LIMITED: The worker was never idle. It ran 97 % of the time and waited
for a CPU 2.5 %. Use more workers (-j) or fewer clients. The figures say more
about pgmeter than about the server.

ser.sql
  2 clients on 1 worker, simple protocol, 3.0 s
  event loop io_uring

  throughput      321.0 tps
";
    assert!(shown.starts_with(expected), "{shown}");
    assert!(!shown.contains("  limit "), "{shown}");
}

#[test]
fn every_other_limit_is_one_of_the_lines() {
    let limits =
        [(LimitedBy::Server, "server"), (LimitedBy::Network, "network"), (LimitedBy::Undecided, "undecided")];
    for (limit, name) in limits {
        let shown = text(&judged(limit, Evidence::NoRoundTrip), &PLAIN);
        let line = format!("\n  limit           {name}. No command of the scripts succeeded.\n");
        assert!(shown.contains(&line), "{shown}");
        assert!(shown.starts_with("ser.sql\n"), "{shown}");
    }
}

#[test]
fn an_interrupted_run_says_both() {
    let record = Record { status: Status::Interrupted, ..judged(LimitedBy::Generator, NEVER_IDLE) };
    let shown = text(&record, &PLAIN);
    let (interrupted, rest) = shown.split_once("\n\n").expect("there is a paragraph");
    assert!(interrupted.starts_with("INTERRUPTED after 3.0 s of 3 s."), "{shown}");
    assert!(rest.starts_with("CLIENT-LIMITED: The worker"), "{shown}");
}

#[test]
fn the_event_loop_is_named_with_the_reason_why_it_is_not_the_better_one() {
    let mut record = judged(LimitedBy::Server, Evidence::NoRoundTrip);
    let generator = record.summary.generator.as_mut().expect("it has one");
    generator.event_loop =
        EventLoop { name: EventLoopName::Epoll, because: Some("the system refuses io_uring".into()) };
    let shown = text(&record, &PLAIN);
    assert!(shown.contains("\n  event loop epoll, because the system refuses io_uring\n"), "{shown}");
}

#[test]
fn what_pgbench_says_is_what_it_always_said() {
    let presentation =
        pgbench::Presentation { failures_detailed: false, report_per_command: false, progress: false };
    let of = |record: &Record| pgbench::final_report(record, &presentation);
    assert_eq!(of(&judged(LimitedBy::Generator, NEVER_IDLE)), of(&fixture::record()));
}
