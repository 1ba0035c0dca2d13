//! The list of stored runs, as `pgmeter runs` shows it.
//! What is stored is tested in `results`.

use pgmeter_report::{TextStyle, run_list};
use results::{RunLine, RunStatus, TrialOfRun};

fn run(number: i64, scripts: &str) -> RunLine {
    RunLine {
        run: number,
        status: RunStatus::Complete,
        started_at: "2026-11-21T20:07:35.250Z".to_owned(),
        scripts: scripts.to_owned(),
        server_version: Some("18.6".to_owned()),
        clients: 8,
        duration_s: Some(10.0),
        tps: Some(1_959.4),
        tps_low: Some(1_918.0),
        tps_high: Some(2_000.8),
        p99_us: Some(10_503.0),
        failed: Some(0),
        limit: Some("server".to_owned()),
        warnings: Some(1),
        record_path: Some("r.json".to_owned()),
        trial: None,
    }
}

fn runs() -> Vec<RunLine> {
    let nothing = RunLine {
        server_version: None,
        tps: None,
        tps_low: None,
        tps_high: None,
        p99_us: None,
        limit: None,
        ..run(10, "tpcb-like")
    };
    vec![
        run(9, "tpcb-like"),
        RunLine { status: RunStatus::Killed, ..nothing.clone() },
        RunLine { run: 1_000, status: RunStatus::Running, ..nothing },
        RunLine {
            clients: 1_200,
            tps: Some(0.523),
            tps_low: None,
            p99_us: Some(61.2),
            status: RunStatus::Interrupted,
            ..run(1_001, "a \u{1b}[2Jscript\nof mine.sql+another one with a long name.sql")
        },
    ]
}

#[test]
fn each_run_has_a_line_with_what_finds_it_again() {
    insta::assert_snapshot!(run_list(&runs(), &TextStyle { colour: false, width: 130 }), @r"
     run  began, UTC           scripts                            server   clients          tps       p99   limit    status
       9  2026-11-21 20:07:35  tpcb-like                            18.6         8   1,959 ± 41   10.5 ms   server   complete
      10  2026-11-21 20:07:35  tpcb-like                               -         8            -         -   -        killed
    1000  2026-11-21 20:07:35  tpcb-like                               -         8            -         -   -        running
    1001  2026-11-21 20:07:35  a \x1b[2Jscript of mine.sql+ano…     18.6     1,200        0.523   61.2 µs   server   interrupted
    ± is half of the 95 % interval of the throughput
    ");
}

#[test]
fn a_trial_is_called_by_its_experiment_and_levels() {
    let factors =
        [("clients", "8"), ("protocol", "prepared")].map(|(name, level)| (name.into(), level.into()));
    let trial = TrialOfRun { experiment: "ladder".to_owned(), factors: factors.into(), repeat: 2 };
    let trial = RunLine { trial: Some(trial), ..run(11, "ro3.sql") };
    let list = run_list(&[run(9, "tpcb-like"), trial], &TextStyle { colour: false, width: 130 });
    insta::assert_snapshot!(list, @r"
    run  began, UTC           scripts, or experiment: levels         server   clients          tps       p99   limit
      9  2026-11-21 20:07:35  tpcb-like                                18.6         8   1,959 ± 41   10.5 ms   server
     11  2026-11-21 20:07:35  ladder: clients 8, protocol prepared     18.6         8   1,959 ± 41   10.5 ms   server
    ± is half of the 95 % interval of the throughput
    ");
}

#[test]
fn in_a_narrow_terminal_moments_are_short_and_names_are_cut() {
    let list = run_list(&runs(), &TextStyle { colour: false, width: 90 });
    insta::assert_snapshot!(list, @r"
     run  began, UTC   scripts                   server clients        tps     p99 status
       9  11-21 20:07  tpcb-like                   18.6       8 1,959 ± 41 10.5 ms complete
      10  11-21 20:07  tpcb-like                      -       8          -       - killed
    1000  11-21 20:07  tpcb-like                      -       8          -       - running
    1001  11-21 20:07  a \x1b[2Jscript of mine.…   18.6   1,200      0.523 61.2 µs interrupted
    ± is half of the 95 % interval of the throughput
    ");
    assert!(list.lines().all(|line| line.chars().count() <= 90));
}

#[test]
fn eighty_columns_are_enough() {
    let factors =
        [("clients", "8"), ("protocol", "prepared")].map(|(name, level)| (name.into(), level.into()));
    let trial = TrialOfRun { experiment: "ladder".to_owned(), factors: factors.into(), repeat: 2 };
    let old = RunLine { started_at: "2025-12-31T20:07:35.250Z".to_owned(), ..run(8, "tpcb-like") };
    let trial = RunLine { trial: Some(trial), ..run(11, "ro3.sql") };
    let runs: Vec<RunLine> = [old].into_iter().chain(runs()).chain([trial]).collect();
    let list = run_list(&runs, &TextStyle { colour: false, width: 80 });
    insta::assert_snapshot!(list, @r"
     run  began, UTC   scripts         server clients        tps     p99 status
       8  2025-12-31   tpcb-like         18.6       8 1,959 ± 41 10.5 ms complete
       9  11-21 20:07  tpcb-like         18.6       8 1,959 ± 41 10.5 ms complete
      10  11-21 20:07  tpcb-like            -       8          -       - killed
    1000  11-21 20:07  tpcb-like            -       8          -       - running
    1001  11-21 20:07  a \x1b[2Jscrip…   18.6   1,200      0.523 61.2 µs interrupted
      11  11-21 20:07  ladder: client…   18.6       8 1,959 ± 41 10.5 ms complete
    ± is half of the 95 % interval of the throughput
    ");
    assert!(list.lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn no_run_is_a_sentence() {
    assert_eq!(run_list(&[], &TextStyle { colour: false, width: 80 }), "no run is stored yet\n");
}
