//! The sentences of warnings: for one run and for several, with ranges of their figures. The kinds and their figures are
//! tested in `results`.

use results::{Drift, DriftMeaning, SteadyMetric, WatchReason};

use super::*;
use crate::figures::with_ordinary_spaces;

#[test]
fn a_kind_is_told_once_for_all_runs_that_have_it() {
    let others = |others_share| Warning::OtherPrograms { others_share };
    let runs = [vec![Warning::DebugBuild, others(0.71)], vec![], vec![others(0.5), others(0.97)]];
    let told = warnings_by_kind(&runs);
    let [(debug, _), (programs, sentence)] = &told[..] else { panic!("{told:?}") };
    assert_eq!((debug, programs), (&BTreeSet::from([0]), &BTreeSet::from([0, 2])));
    assert!(with_ordinary_spaces(sentence).contains("50 % to 97 %"), "{sentence}");
}

fn check(warning: &Warning, expected: &str) {
    check_all(std::slice::from_ref(warning), expected);
}

fn check_all(warnings: &[Warning], expected: &str) {
    let text = with_ordinary_spaces(&warnings_of_kind(&warnings.iter().collect::<Vec<_>>()));
    assert_eq!(text, expected);
    for sentence in text.split(". ") {
        assert!(sentence.split(' ').count() <= 32, "long: {sentence}");
    }
    assert!(text.ends_with('.') && !text.contains(';'), "{text}");
}

#[test]
fn contended_rows_are_told_with_the_remedy() {
    let of = |clients, rows, scale_needed| Warning::ContendedRows {
        clients,
        script: "tpcb-like".into(),
        rows,
        scale_needed,
    };
    check(
        &of(64, 10, Some(64)),
        "64 clients of tpcb-like lock 10 rows and queue for these row locks. The figures show that queue more than the \
             server. Load tables of scale 64 or more, or use a script that does not lock these rows.",
    );
    check(
        &of(1_200, 1, None),
        "1,200 clients of tpcb-like lock the same row and queue for these row locks. The figures show that queue more \
             than the server. Load at least 1,200 such rows, or use a script that does not lock these rows.",
    );
    check_all(
        &[of(16, 10, Some(16)), of(64, 10, Some(64)), of(32, 10, Some(32))],
        "16 to 64 clients of tpcb-like lock 10 rows and queue for these row locks. The figures show that queue more \
             than the server. Load tables of scale 64 or more, or use a script that does not lock these rows.",
    );
}

#[test]
fn a_stall_is_told_with_what_it_hides() {
    let of = |longest_s, stalls, effect| Warning::Stalled {
        longest_s,
        start_s: 4.25,
        stalls,
        threshold_us: 40_000.0,
        total_s: 12.1,
        effect,
    };
    let hidden = StallEffect::Hidden { p99_us: 4_000.0, p99_with_stalls_us: 11.9e6 };
    check(
        &of(12.0, 2, hidden),
        "The run completed no transaction for 12.0 s, from 4.25 s on. It had 2 stalls of more than 40.0 ms, 12.1 s in \
             all. In a closed loop each client meets a stall with one transaction, so percentiles hide it. p99 is 4.00 ms. \
             With the transactions that the stall kept from starting, it is 11.9 s. Look for the cause at that time, such \
             as checkpoints, locks, the disk or the network.",
    );
    check_all(
        &[of(1.25, 1, StallEffect::Included), of(2.5, 9, StallEffect::Included)],
        "The run completed no transaction for 1.25 s to 2.50 s. Together these runs had 10 stalls of more than 40.0 ms, \
             24.2 s in all. The response times include the wait. Look for the cause at that time, such as checkpoints, \
             locks, the disk or the network.",
    );
    // The percentiles of one run are not told of several.
    check_all(
        &[of(1.25, 1, hidden), of(2.5, 9, hidden)],
        "The run completed no transaction for 1.25 s to 2.50 s. Together these runs had 10 stalls of more than 40.0 ms, \
             24.2 s in all. In a closed loop each client meets a stall with one transaction, so percentiles hide it. Look \
             for the cause at that time, such as checkpoints, locks, the disk or the network.",
    );
}

#[test]
fn an_unsteady_run_is_told_with_its_drift() {
    let drift =
        Drift { metric: SteadyMetric::Throughput, drift_share: 0.12, meaning: DriftMeaning::Significant };
    check(
        &Warning::SettledLate { steady_from_s: 12.0, drifts: vec![drift] },
        "The run was steady only after 12.0 s. Throughput drifted by 12 %, more than its noise explains. Exclude that \
             time with --warmup, or run for longer.",
    );
    check(
        &Warning::NeverSettled { drifts: Vec::new() },
        "The run never became steady, so another run may give other figures. Run for longer, with a longer --warmup.",
    );
}

#[test]
fn shares_of_several_runs_are_a_range() {
    let of = |others_share| Warning::OtherPrograms { others_share };
    check_all(
        &[of(0.2), of(0.7), of(0.155)],
        "Other programs used 16 % to 70 % of this host's CPU time during the run and competed with it. Stop them, or \
             repeat when the host is idle.",
    );
    check(
        &Warning::Stolen { stolen_share: 0.05 },
        "5.0 % of this host's CPU time was stolen by the hypervisor during the run. Latencies contain pauses that \
             neither the server nor pgmeter caused. Repeat on a host that is not shared, or several times.",
    );
}

#[test]
fn those_that_did_not_succeed_are_counted() {
    check(
        &Warning::OnlySucceeded {
            failed: 12,
            skipped: 3_400,
            unfinished: 0,
            unknown: 2,
            percentile: "p99".to_owned(),
            succeeded_us: 45_400.0,
            all_us: 300_000.0,
        },
        "The response times include transactions that did not succeed (12 failed, 3,400 skipped, 2 unknown). Of the succeeded \
             ones alone, p99 is 45.4 ms instead of 300 ms.",
    );
}

#[test]
fn maintenance_and_missing_checkpoints_are_notes_with_numbers() {
    check(
        &Warning::Maintenance { checkpoints: 1, autovacuums: 2 },
        "The measured time contains 1 checkpoint and 2 autovacuums, and the figures include their cost. Compare only \
             with runs that had as many.",
    );
    check(
        &Warning::NoCheckpoint { run_s: 60.0, checkpoint_timeout_s: 900.0 },
        "The run took 60.0 s, and checkpoint_timeout is 15 min. It may have had no checkpoint, and none of the \
             full-page writes that follow one. To include them, run several times as long.",
    );
    check(
        &Warning::MaintenanceInSome { event: EventKind::Checkpoint, runs_with: 1, runs: 2 },
        "1 of 2 runs had checkpoints, and the others had none. A difference between them may come from that alone. \
             Run for longer, so that each run has some, or run them in turns.",
    );
}

#[test]
fn the_relay_is_told_with_its_cost() {
    check(
        &Warning::RelayCost {
            delay_us: 5_000.0,
            cpu_us_per_transaction: 50.0,
            cpu_s: 0.25,
            pieces: 40,
            late_us: Lateness { p50: 30.0, p99: 90.0, max: 400.0 },
            cpu_wait_s: 0.0,
        },
        "A relay simulated the network with a delay of 5.00 ms each way. It used 50.0 µs of CPU time per transaction \
             on this host (250 ms in all) and waited 0 µs for a CPU. It forwarded 40 pieces of data late by p50 30.0 µs, \
             p99 90.0 µs, max 400 µs.",
    );
}

#[test]
fn what_a_pooler_breaks_is_named_with_its_place_and_the_remedy() {
    let breaks = |feature, line| Warning::PoolerBreaks {
        mode: results::PoolMode::Transaction,
        feature,
        script: "a.sql".into(),
        line,
    };
    check(
        &breaks(SessionFeature::Setting, 3),
        "With transaction pooling, a client's next transaction may get another connection to the server. It does not \
             find there what the script leaves in its session, and other clients do: a setting (a.sql, line 3). Use session \
             pooling, or SET LOCAL in the transaction.",
    );
    let both = [breaks(SessionFeature::Setting, 3), breaks(SessionFeature::AdvisoryLock, 4)];
    check_all(
        &both,
        "With transaction pooling, a client's next transaction may get another connection to the server. It does not \
             find there what the script leaves in its session, and other clients do: a setting (a.sql, line 3) and an \
             advisory lock (a.sql, line 4). Use session pooling, or SET LOCAL in the transaction and pg_advisory_xact_lock.",
    );
    check(
        &Warning::PoolerBusy { cpu_share: 0.97 },
        "The pooler used 97 % of a CPU. PgBouncer has one thread, so it limits the throughput, or soon will. Run several \
             poolers, or connect directly.",
    );
}

#[test]
fn an_action_that_did_not_succeed_is_named() {
    let failed =
        |at_s, action: &str| Warning::ActionFailed { at_s, action: action.into(), error: "ERROR: no".into() };
    check(&failed(2.5, "VACUUM\n t"), "1 action failed: VACUUM t at 2.5 s (ERROR: no). The run went on.");
    check_all(
        &[failed(1.0, "a"), failed(2.0, "b")],
        "2 actions failed: a at 1 s (ERROR: no) and b at 2 s (ERROR: no). The run went on.",
    );
    let cut_off = |ran_s| Warning::ActionCutOff { action: "VACUUM t".into(), ran_s };
    check(
        &cut_off(1.5),
        "1 action was still running at the end of the run, after 1.50 s, and cut off: VACUUM t. Run for longer, or begin \
             earlier.",
    );
    check_all(
        &[cut_off(1.5), cut_off(2.0)],
        "2 actions were still running at the end of the run, after 1.50 s to 2.00 s, and cut off: VACUUM t. Run for \
             longer, or begin earlier.",
    );
    check(
        &Warning::ActionNotStarted { at_s: 30.0, action: "VACUUM t".into() },
        "1 action was not started, because the run ended before the set time (30 s): VACUUM t. Run for longer, or begin \
             earlier.",
    );
}

#[test]
fn lost_work_and_its_verification_are_named() {
    check(
        &Warning::WorkLost { lost: 1, acknowledged: 1_200 },
        "The server lost 1 commit of 1,200 commits that it had acknowledged.",
    );
    check(&Warning::NotVerified { error: "no".into() }, "The run was not verified (no).");
}

#[test]
fn foreign_text_cannot_steer_the_terminal() {
    check(
        &Warning::SettingsUnread { error: "no\x1b[2J such\nview".into() },
        "The server's settings could not be read (no\\x1b[2J such view).",
    );
}

#[test]
fn a_paused_load_is_told_with_times_and_reasons() {
    let pause = |from_s, until_s, reason| LoadPause { from_s, until_s, reason };
    let locks = pause(2.0, 5.0, WatchReason::WaitingLocks { waiting: 12, max: 10 });
    let query = pause(8.0, 8.5, WatchReason::PauseWhen);
    let of =
        |pauses, total_s, first: &[LoadPause]| Warning::LoadPaused { pauses, total_s, first: first.to_vec() };
    check(
        &of(1, 3.0, std::slice::from_ref(&locks)),
        "The load was paused once for 3.00 s in all. It paused from 2.00 s to 5.00 s because 12 locks were waited for, and \
         --max-waiting-locks is 10. The figures include the pauses, and arrivals of a rate that fell into them count as \
         skipped.",
    );
    check(
        &of(7, 5.5, &[locks, query]),
        "The load was paused 7 times for 5.50 s in all. It paused from 2.00 s to 5.00 s because 12 locks were waited for, \
         and --max-waiting-locks is 10. It paused from 8.00 s to 8.50 s because the query of --pause-when returned true. \
         The record has the later pauses. The figures include the pauses, and arrivals of a rate that fell into them count \
         as skipped.",
    );
    check_all(
        &[of(1, 3.0, &[]), of(2, 4.0, &[])],
        "The load was paused 3 times for 3.00 s to 4.00 s in all. The figures include the pauses, and arrivals of a rate \
         that fell into them count as skipped.",
    );
}
