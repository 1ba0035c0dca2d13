//! Outages from the logs of workers: lost connections that belong together, the time without a write, the transactions
//! that were due in it, and the limits of a log.

use super::*;
use crate::{Failure, Traffic};

fn at(ms: u64) -> Timestamp {
    Timestamp::from_nanos(ms * 1_000_000)
}

fn sample(scheduled_ms: u64, finished_ms: u64, ending: Ending) -> Sample {
    Sample {
        script: 0,
        scheduled: at(scheduled_ms),
        started: at(scheduled_ms),
        finished: at(finished_ms),
        tries: 1,
        business: 1,
        ending,
        traffic: Traffic::default(),
    }
}

/// Two clients write every 10 ms until 1,000 ms, find their connections lost at 1,050 and 1,100, and come back.
fn log(back_ms: [u64; 2]) -> OutageLog {
    let mut log = OutageLog::new(2, at(0));
    for ms in (10..=1_000).step_by(10) {
        log.ended(0, &sample(ms - 5, ms, Ending::Succeeded), true);
        log.ended(1, &sample(ms - 5, ms, Ending::Succeeded), true);
    }
    log.lost(0, 10, LossCause::SqlState(*b"57P02"), at(1_050));
    log.lost(1, 11, LossCause::Closed, at(1_100));
    log.ended(0, &sample(1_040, 1_110, Ending::Unknown), true);
    for (slot, back_ms) in back_ms.into_iter().enumerate() {
        log.attempted(slot, AttemptOutcome::Refused, at(1_200));
        log.attempted(slot, AttemptOutcome::StartingUp, at(1_300));
        log.attempted(slot, AttemptOutcome::Connected, at(back_ms));
        log.connected(slot, at(back_ms));
        log.ended(slot, &sample(1_150, back_ms + 20, Ending::Succeeded), true);
    }
    log
}

#[test]
fn an_outage_has_its_window_its_phases_and_what_was_due_in_it() {
    let all = Outages::new(vec![log([2_000, 2_500])], true, at(9_000));
    assert_eq!((all.losses(), all.outages.len(), all.attempts.total()), (2, 1, 6));
    let outage = &all.outages[0];
    assert_eq!(outage.window, Some((at(1_000), at(2_020))));
    assert!(outage.is_window_over);
    assert_eq!((outage.first_error, outage.first_connect), (at(1_050), Some(at(2_000))));
    assert_eq!((outage.last_connect, outage.first_write), (Some(at(2_500)), Some(at(2_020))));
    assert_eq!(outage.first_read, None);
    assert_eq!(outage.attempts.count(AttemptOutcome::Refused), 2);
    assert_eq!(outage.attempts.last, Some((at(2_500), AttemptOutcome::Connected)));
    assert_eq!((outage.out.max_ns(), outage.never), (Some(1_520_000_000), 0));
    assert_eq!(outage.arrivals.endings, [2, 0, 0, 0, 1]);
    assert_eq!(outage.arrivals.response.max_ns(), Some(1_370_000_000));
}

#[test]
fn nothing_was_written_only_while_no_worker_wrote() {
    let mut other = OutageLog::new(1, at(0));
    for ms in (0..=1_500).step_by(10).chain((3_000..=9_000).step_by(10)) {
        other.ended(0, &sample(ms, ms, Ending::Succeeded), true);
    }
    let all = Outages::new(vec![log([2_000, 2_500]), other], true, at(9_000));
    assert_eq!(all.outages[0].window, Some((at(1_500), at(2_020))));
}

#[test]
fn a_log_that_was_written_and_read_gives_the_same_outages_on_another_clock() {
    let mut of_worker = log([2_000, 2_500]);
    of_worker.affect(&sample(1_200, 1_300, Ending::Failed(Failure::Deadlock)));
    let here = Outages::new(vec![of_worker.clone(), log([1_900, 2_600])], true, at(9_000));
    let sent = serde_json::to_string(&of_worker.moved(at(0), at(70_000))).unwrap();
    let received: OutageLog = serde_json::from_str(&sent).unwrap();
    let received = received.moved(at(70_000), at(0));
    assert_eq!(received.clients().collect::<Vec<_>>(), [10, 11]);
    let there = Outages::new(vec![received, log([1_900, 2_600])], true, at(9_000));
    assert_eq!(format!("{there:?}"), format!("{here:?}"));
    let damaged = sent.replacen("\"refused\"", "\"stubborn\"", 1);
    assert!(serde_json::from_str::<OutageLog>(&damaged).is_err());
    let of_no_ending = sent.replacen(",2]", ",9]", 1);
    assert_ne!(of_no_ending, sent);
    assert!(serde_json::from_str::<OutageLog>(&of_no_ending).is_err());
}

#[test]
fn a_client_that_never_came_back_leaves_the_window_open() {
    let mut log = OutageLog::new(1, at(0));
    log.ended(0, &sample(0, 500, Ending::Succeeded), true);
    log.lost(0, 0, LossCause::NoResponse, at(1_500));
    log.ended(0, &sample(500, 1_500, Ending::Failed(Failure::Connection)), true);
    log.attempted(0, AttemptOutcome::TimedOut, at(2_500));
    let all = Outages::new(vec![log], true, at(4_000));
    let outage = &all.outages[0];
    assert_eq!(outage.window, Some((at(500), at(4_000))));
    assert_eq!((outage.is_window_over, outage.never, outage.last_connect), (false, 1, None));
    assert_eq!(outage.arrivals.endings, [0; 5], "the last write was its start");
}

#[test]
fn a_connection_lost_again_before_a_success_is_the_same_outage_and_a_later_one_is_another() {
    let mut log = OutageLog::new(1, at(0));
    for (lost, connected) in [(100, 200), (250, 400)] {
        log.lost(0, 0, LossCause::Closed, at(lost));
        log.attempted(0, AttemptOutcome::Connected, at(connected));
        log.connected(0, at(connected));
    }
    log.ended(0, &sample(400, 410, Ending::Succeeded), false);
    log.lost(0, 0, LossCause::Reset, at(5_000));
    let all = Outages::new(vec![log], false, at(6_000));
    assert_eq!((all.losses(), all.outages.len()), (3, 2));
    let first = &all.outages[0].clients[0];
    assert_eq!(
        (first.connected, first.first_read, first.attempts.total()),
        (Some(at(200)), Some(at(410)), 2)
    );
}

#[test]
fn what_is_due_between_the_last_connection_and_the_first_write_belongs_to_the_outage() {
    let mut log = OutageLog::new(1, at(0));
    log.ended(0, &sample(90, 100, Ending::Succeeded), true);
    log.lost(0, 0, LossCause::Closed, at(200));
    log.attempted(0, AttemptOutcome::Connected, at(300));
    log.connected(0, at(300));
    log.ended(0, &sample(210, 900, Ending::Succeeded), true);
    for ms in (350..1_000).step_by(50) {
        log.ended(0, &sample(ms, 1_000, Ending::Succeeded), true);
    }
    let all = Outages::new(vec![log], true, at(1_005));
    assert_eq!(all.outages[0].window, Some((at(100), at(900))));
    assert_eq!(all.outages[0].arrivals.endings, [13, 0, 0, 0, 0], "210, and 350 to 900");
}

#[test]
fn gaps_between_writes_stay_few() {
    let mut log = OutageLog::new(1, at(0));
    for number in 0..2 * WRITE_GAPS_MAX as u64 {
        log.ended(0, &sample(number * 15, number * 15, Ending::Succeeded), true);
    }
    log.ended(0, &sample(2_000_000, 2_000_000, Ending::Succeeded), true);
    assert!(log.writes.gaps.len() <= WRITE_GAPS_MAX);
    assert_eq!(log.writes.gaps.last().map(|gap| gap.end), Some(Duration::from_millis(2_000_000)));
}
