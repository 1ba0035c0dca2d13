//! Ranks as threads of this process with the testkit's process manager: what they exchange, and what they say when one
//! of them or the process manager fails.

use std::os::unix::net::UnixStream;
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use pgmeter_ranks::{Evidence, Job, RanksError};
use testkit::process_manager::ProcessManager;

/// Long enough that a busy machine does not end a test.
const PATIENT: Duration = Duration::from_secs(60);
/// For tests in which a wait must end.
const IMPATIENT: Duration = Duration::from_secs(3);

fn job(stream: UnixStream, rank: usize, size: usize, patience: Duration) -> Job {
    Job::new(stream.into(), rank, size, patience).expect("the process manager answers")
}

/// Runs the same function as each rank; returns the results in the order of ranks.
fn run<T: Send>(streams: Vec<UnixStream>, patience: Duration, rank: impl Fn(Job) -> T + Sync) -> Vec<T> {
    let size = streams.len();
    thread::scope(|scope| {
        let start = |(number, stream)| {
            let rank = &rank;
            scope.spawn(move || rank(job(stream, number, size, patience)))
        };
        let threads: Vec<_> = streams.into_iter().enumerate().map(start).collect();
        threads.into_iter().map(|thread| thread.join().expect("the rank did not panic")).collect()
    })
}

#[test]
fn rank_0_gets_all_messages_and_the_others_get_its() {
    let (manager, streams) = ProcessManager::start(4);
    let message =
        |rank: usize, round: usize| vec![u8::try_from(rank + 10 * round).unwrap(); rank * 900 * round];
    run(streams, PATIENT, |mut job| {
        for round in 0..3 {
            let done = job.round(&message(job.rank(), round)).unwrap();
            let expected = if job.rank() == 0 { 0..4 } else { 0..1 };
            assert_eq!(done.messages, expected.map(|rank| message(rank, round)).collect::<Vec<_>>());
            assert!(done.crossing.entered <= done.crossing.left);
        }
        job.finalize().unwrap();
    });
    assert_eq!(manager.finalized().len(), 4);
}

#[test]
fn the_process_manager_keeps_the_messages_of_two_rounds_only() {
    let (manager, streams) = ProcessManager::start(3);
    run(streams, PATIENT, |mut job| {
        for _ in 0..100 {
            job.round(&[0; 2000]).unwrap();
        }
    });
    // Three pieces of each rank.
    assert!((9..=18).contains(&manager.names_most()), "{}", manager.names_most());
}

#[test]
fn one_rank_alone_exchanges_with_itself() {
    let (_manager, streams) = ProcessManager::start(1);
    run(streams, PATIENT, |mut job| {
        assert_eq!(job.round(b"own").unwrap().messages, [b"own".to_vec()]);
        assert_eq!(job.measure_offsets(3).unwrap().len(), 1);
        job.finalize().unwrap();
    });
}

#[test]
fn clocks_of_one_machine_differ_by_no_more_than_the_error() {
    let (_manager, streams) = ProcessManager::start(3);
    let offsets = run(streams, PATIENT, |mut job| job.measure_offsets(20).unwrap());
    for rank in &offsets[0] {
        assert!(rank.monotonic.nanos.unsigned_abs() <= rank.monotonic.error_nanos, "{rank:?}");
        let wall = rank.wall.expect("nobody set the clock");
        assert!(wall.nanos.unsigned_abs() <= wall.error_nanos, "{rank:?}");
    }
    assert_eq!((offsets[0].len(), offsets[0][0].monotonic.error_nanos), (3, 0));
    assert_eq!(offsets[1], offsets[0]);
    assert_eq!(offsets[2], offsets[0]);
}

#[test]
fn all_ranks_agree_on_a_moment() {
    let (_manager, streams) = ProcessManager::start(3);
    let begun = Instant::now();
    let starts = run(streams, PATIENT, |mut job| job.common_start(Duration::from_secs(5)).unwrap());
    assert!(starts[0].at >= begun + Duration::from_secs(5));
    assert_eq!(starts[0].error, Duration::ZERO);
    for start in &starts[1..] {
        let apart = start.at.max(starts[0].at) - start.at.min(starts[0].at);
        assert!(apart <= start.error, "{apart:?} apart, {:?} announced", start.error);
    }
}

#[test]
fn a_rank_that_does_not_come_is_named_by_all_others() {
    let (_manager, streams) = ProcessManager::start(4);
    let all_are_done = Barrier::new(4);
    let errors = run(streams, PATIENT, |mut job| {
        job.round(b"all come").unwrap();
        job.set_patience(IMPATIENT);
        all_are_done.wait();
        if job.rank() == 2 {
            // Holds its connection while the others wait.
            all_are_done.wait();
            return None;
        }
        let error = job.round(b"").unwrap_err();
        all_are_done.wait();
        assert!(matches!(job.round(b""), Err(RanksError::Ended)));
        Some(error)
    });
    for error in errors.into_iter().flatten() {
        let RanksError::Silent { ranks, evidence, waited } = error else { panic!("{error}") };
        assert_eq!((ranks, evidence), (vec![2], Evidence::Absent));
        assert!(waited >= IMPATIENT, "{waited:?}");
    }
}

#[test]
fn a_rank_that_comes_late_but_in_time_is_waited_for() {
    let (_manager, streams) = ProcessManager::start(2);
    run(streams, PATIENT, |mut job| {
        if job.rank() == 1 {
            thread::sleep(Duration::from_millis(300));
        }
        job.round(b"").unwrap();
    });
}

#[test]
fn ranks_that_the_process_manager_reports_as_ended_are_named_before_the_time_limit() {
    let (manager, mut streams) = ProcessManager::start(3);
    let stopped = streams.pop().unwrap();
    let _last = job(stopped, 2, 3, PATIENT);
    manager.report_ended(&[2]);
    let begun = Instant::now();
    thread::scope(|scope| {
        let wait = |rank, stream| job(stream, rank, 3, PATIENT).round(b"").unwrap_err();
        let waiting: Vec<_> =
            (0..).zip(streams).map(|(rank, stream)| scope.spawn(move || wait(rank, stream))).collect();
        // As often as it takes until all of them wait: Hydra sends the signal once, after the process ended.
        while waiting.iter().any(|thread| !thread.is_finished()) {
            signal_hook::low_level::raise(signal_hook::consts::SIGUSR1).unwrap();
            thread::sleep(Duration::from_millis(20));
        }
        for thread in waiting {
            let error = thread.join().unwrap();
            let RanksError::Silent { ranks, evidence, .. } = error else { panic!("{error}") };
            assert_eq!((ranks, evidence), (vec![2], Evidence::Ended));
        }
    });
    assert!(begun.elapsed() < PATIENT);
}

#[test]
fn a_process_manager_that_does_not_answer_leaves_all_others_under_suspicion() {
    let (manager, streams) = ProcessManager::start(3);
    let (all_are_done, jobs) = (Barrier::new(3), Mutex::new(Vec::new()));
    run(streams, PATIENT, |mut job| {
        job.round(b"").unwrap();
        job.set_patience(IMPATIENT);
        all_are_done.wait();
        manager.fall_silent();
        let error = job.round(b"").unwrap_err();
        let RanksError::Silent { ranks, evidence, .. } = error else { panic!("{error}") };
        assert_eq!((ranks.len(), evidence), (2, Evidence::Unknown));
        assert!(!ranks.contains(&job.rank()));
        // An abort now could end the wait of another rank.
        jobs.lock().unwrap().push(job);
    });
    // Neither waits for anything.
    let mut jobs = jobs.into_inner().unwrap();
    jobs.pop().expect("three jobs").abort(3).unwrap();
    drop(jobs);
}

#[test]
fn a_process_manager_that_ends_is_noticed_at_once() {
    let (manager, streams) = ProcessManager::start(2);
    let begun = Instant::now();
    let all_are_done = Barrier::new(2);
    run(streams, PATIENT, |mut job| {
        job.round(b"").unwrap();
        all_are_done.wait();
        if job.rank() == 1 {
            manager.end();
        }
        assert!(matches!(job.round(b""), Err(RanksError::Gone)));
    });
    assert!(begun.elapsed() < PATIENT);
}

#[test]
fn an_abort_names_the_exit_status() {
    let (manager, mut streams) = ProcessManager::start(2);
    job(streams.remove(0), 0, 2, PATIENT).abort(3).unwrap();
    while manager.abort_line().is_none() {
        testkit::condition::pause();
    }
    assert_eq!(manager.abort_line().unwrap(), "cmd=abort exitcode=3");
    let other = Job::new(streams.remove(0).into(), 1, 2, PATIENT);
    assert!(matches!(other, Err(RanksError::Gone)), "{other:?}");
}

#[test]
fn replies_that_are_not_pmi_1_are_errors() {
    let check = |bytes: &[u8], expected: &str| {
        let (manager, mut streams) = ProcessManager::start(1);
        let mut job = job(streams.remove(0), 0, 1, PATIENT);
        manager.inject(0, bytes);
        let error = job.round(b"").unwrap_err().to_string();
        assert_eq!(error, format!("the process manager{expected}"));
    };
    check(b"hello\n", "'s reply to \"publish_name\" is not PMI-1: \"hello\" does not begin with cmd=");
    check(b"cmd=barrier_out\n", "'s reply to \"publish_name\" is not PMI-1: it is \"barrier_out\"");
    check(b"cmd=publish_result rc=4 msg=full\n", " refused \"publish_name\": rc=4 msg=full");
    check(
        &[0x80, b'\n'],
        "'s reply to \"publish_name\" is not PMI-1: a line contains the byte 128, which is no printable ASCII",
    );
    check(&[b'x'; 9000], "'s reply to \"publish_name\" is not PMI-1: a line has more than 8192 bytes");
}

#[test]
fn a_message_of_another_program_is_refused() {
    let (_manager, streams) = ProcessManager::start(2);
    run(streams, PATIENT, |mut job| {
        if job.rank() == 0 {
            let error = job.measure_offsets(1).unwrap_err().to_string();
            assert_eq!(
                error,
                "rank 1 sent a message that cannot be read (5 bytes instead of 32): install the same version of pgmeter on all machines"
            );
        } else {
            job.round(b"").unwrap();
            job.round(b"other").unwrap();
        }
    });
}

#[test]
fn a_message_that_is_too_long_is_refused_before_anything_is_sent() {
    let (_manager, streams) = ProcessManager::start(1);
    run(streams, PATIENT, |mut job| {
        let error = job.round(&vec![0; (1 << 20) + 1]).unwrap_err().to_string();
        assert_eq!(error, "a message to the other ranks has 1048577 bytes, and at most 1048576 are possible");
        job.round(b"").unwrap();
    });
}

#[test]
fn a_slow_process_manager_is_waited_for() {
    let (manager, streams) = ProcessManager::start(2);
    manager.set_delay(Duration::from_millis(20));
    run(streams, PATIENT, |mut job| {
        job.round(&[1; 3000]).unwrap();
        job.finalize().unwrap();
    });
    assert_eq!(manager.finalized().len(), 2);
}
