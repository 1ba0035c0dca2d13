//! The list of stored runs, comparisons and experiments, as `pgmeter runs` shows it.
//! What is stored is tested in `results`.

use pgmeter_report::{TextStyle, store_list};
use results::{
    Annotation, ComparedMetric, ComparisonDecision, ComparisonLine, Counts, Entry, ExperimentLine, GoalTally,
    MetricFinding, QuerySetLine, RunLine, RunStatus, ServiceLevel, TrialOfRun,
};

use crate::texts::fixture;

fn run(number: i64, scripts: &str) -> RunLine {
    RunLine {
        run: number,
        annotation: Annotation::default(),
        status: RunStatus::Complete,
        reason: None,
        started_at: "2026-11-21T20:07:35.250Z".to_owned(),
        alive_at: None,
        scripts: scripts.to_owned(),
        hostname: "bench".to_owned(),
        server_version: Some("18.6".to_owned()),
        clients: 8,
        duration_s: Some(10.0),
        tps: Some(1_959.4),
        tps_low: Some(1_918.0),
        tps_high: Some(2_000.8),
        p50_us: Some(3_612.0),
        p90_us: Some(5_020.0),
        p99_us: Some(10_503.0),
        p999_us: Some(18_400.0),
        max_us: Some(91_200.0),
        failed: Some(0),
        limit: Some("server".to_owned()),
        kept: None,
        goals: GoalTally::default(),
        warnings: Some(1),
        record_path: Some("r.json".to_owned()),
        trial: None,
        tps_curve: Vec::new(),
        plan: None,
        summary: None,
    }
}

/// A run that was asked for 300 transactions per second within 20 ms.
fn judged(number: i64, kept: bool, goals: GoalTally) -> RunLine {
    let mut record = fixture::record();
    record.plan.rate_tps = Some(300.0);
    record.plan.latency_limit_us = Some(20_000.0);
    record.summary.tps = 159.0;
    record.summary.counts =
        Counts { scheduled: 3_000, succeeded: 1_590, skipped: 1_410, late: 1_590, ..Counts::default() };
    record.summary.service_level = Some(ServiceLevel { kept, missed_share: 0.5 });
    let (plan, summary) = (Some(record.plan), Some(Box::new(record.summary)));
    RunLine { kept: Some(kept), goals, plan, summary, ..run(number, "shop.sql") }
}

fn labelled(label: &str, run: RunLine) -> RunLine {
    let label = Some(label.parse().expect("it is a label"));
    RunLine { annotation: Annotation { label, note: None }, ..run }
}

fn trial(number: i64) -> RunLine {
    let factors =
        [("clients", "8"), ("protocol", "prepared")].map(|(name, level)| (name.into(), level.into()));
    let trial = TrialOfRun {
        experiment_number: 1,
        experiment: "ladder".to_owned(),
        factors: factors.into(),
        repeat: 2,
    };
    RunLine { trial: Some(trial), ..run(number, "ro3.sql") }
}

fn comparison(decision: ComparisonDecision, status: &str) -> Entry {
    Entry::Comparison(Box::new(ComparisonLine {
        comparison: 3,
        annotation: Annotation::default(),
        status: status.to_owned(),
        started_at: "2026-11-21T21:00:00.000Z".to_owned(),
        name: "compare".to_owned(),
        factor: "wal_compression".to_owned(),
        a: "off".to_owned(),
        b: "pglz".to_owned(),
        decision: Some(decision),
        finding: Some(MetricFinding { decision, ..testkit::records::finding(ComparedMetric::Tps) }),
    }))
}

fn experiment(goals: GoalTally) -> Entry {
    Entry::Experiment(ExperimentLine {
        experiment: 2,
        annotation: Annotation { label: Some("nightly".parse().expect("it is a label")), note: None },
        name: "ladder".to_owned(),
        profile: "quick".to_owned(),
        started_at: "2026-11-21T22:00:00.000Z".to_owned(),
        trials: 12,
        complete: 8,
        failed: 1,
        running: false,
        goals,
    })
}

fn list(entries: impl IntoIterator<Item = impl Into<Entry>>, width: usize) -> String {
    let entries: Vec<Entry> = entries.into_iter().map(Into::into).collect();
    let list = store_list(&entries, &TextStyle { colour: false, width });
    assert!(list.lines().all(|line| line.chars().count() <= width), "{list}");
    list
}

/// One entry of each kind, with the widest values.
fn all_kinds() -> Vec<Entry> {
    let nothing = RunLine {
        server_version: None,
        tps: None,
        tps_low: None,
        tps_high: None,
        p50_us: None,
        p90_us: None,
        p99_us: None,
        p999_us: None,
        max_us: None,
        limit: None,
        ..run(10, "tpcb-like")
    };
    let failed = RunLine {
        run: 1_000,
        status: RunStatus::Failed,
        reason: Some("cannot connect to \u{1b}[2J server:\nthe name is unknown".to_owned()),
        ..nothing.clone()
    };
    let odd = RunLine {
        clients: 1_200,
        tps: Some(0.523),
        tps_low: None,
        p99_us: Some(61.2),
        status: RunStatus::Interrupted,
        ..run(1_001, "a \u{1b}[2Jscript\nof mine.sql+another one with a long name.sql")
    };
    let runs = [
        RunLine { started_at: "2025-12-31T20:07:35.250Z".to_owned(), ..run(8, "tpcb-like") },
        labelled("before the new index on orders (customer)", run(9, "tpcb-like")),
        RunLine { status: RunStatus::Killed, ..nothing.clone() },
        failed,
        odd,
        labelled("before", judged(1_002, false, GoalTally { met: 1, missed: 2, undecided: 0 })),
        judged(1_003, true, GoalTally::default()),
        trial(1_004),
    ];
    let undecided = GoalTally { met: 3, missed: 0, undecided: 2 };
    let others = [comparison(ComparisonDecision::Better, "complete"), experiment(undecided)];
    runs.into_iter().map(Entry::from).chain(others).collect()
}

#[test]
fn a_wide_terminal_shows_every_kind_with_its_answer() {
    insta::assert_snapshot!(list(all_kinds(), 260), @r"
      id  began, UTC        kind        name                                  label                     clients         tps      p50      p90      p99    p99.9      max  answer
       8  2025-12-31 20:07  run         tpcb-like                             -                               8  1,959 ± 41  3.61 ms  5.02 ms  10.5 ms  18.4 ms  91.2 ms  complete
       9  2026-11-21 20:07  run         tpcb-like                             before the new index on…        8  1,959 ± 41  3.61 ms  5.02 ms  10.5 ms  18.4 ms  91.2 ms  complete
      10  2026-11-21 20:07  run         tpcb-like                             -                               8           -        -        -        -        -        -  killed
    1000  2026-11-21 20:07  run         tpcb-like                             -                               8           -        -        -        -        -        -  failed: cannot connect to \x1b[2J server: the name is unknown
    1001  2026-11-21 20:07  run         a \x1b[2Jscript of mine.sql+ano…      -                           1,200       0.523  3.61 ms  5.02 ms  61.2 µs  18.4 ms  91.2 ms  interrupted
    1002  2026-11-21 20:07  run         shop.sql                              before                          8  1,959 ± 41  3.61 ms  5.02 ms  10.5 ms  18.4 ms  91.2 ms  NOT KEPT, 2/3 goals missed: 159 of 300 per second; 47 % skipped, the rest later than 20 ms
    1003  2026-11-21 20:07  run         shop.sql                              -                               8  1,959 ± 41  3.61 ms  5.02 ms  10.5 ms  18.4 ms  91.2 ms  KEPT
    1004  2026-11-21 20:07  trial       ladder: clients 8, protocol prepared  -                               8  1,959 ± 41  3.61 ms  5.02 ms  10.5 ms  18.4 ms  91.2 ms  complete
      c3  2026-11-21 21:00  comparison  wal_compression: off, pglz            -                               -           -        -        -        -        -        -  B better: tps +4.2 %
      e2  2026-11-21 22:00  experiment  ladder (quick)                        nightly                         -           -        -        -        -        -        -  goals undecided in 2 of 5 trials; 8 of 12 trials complete, 1 failed
    ± is half of the 95 % interval of the throughput
    ");
}

#[test]
fn eighty_columns_are_enough_and_the_widest_values_are_cut() {
    insta::assert_snapshot!(list(all_kinds(), 80), @r"
      id began, UTC  name           label           tps     p99 answer
       8 2025-12-31  tpcb-like      -             1,959 10.5 ms complete
       9 11-21 20:07 tpcb-like      before the n… 1,959 10.5 ms complete
      10 11-21 20:07 tpcb-like      -                 -       - killed
    1000 11-21 20:07 tpcb-like      -                 -       - failed: cannot conn…
    1001 11-21 20:07 a \x1b[2Jscri… -             0.523 61.2 µs interrupted
    1002 11-21 20:07 shop.sql       before        1,959 10.5 ms NOT KEPT, 2/3 goals…
    1003 11-21 20:07 shop.sql       -             1,959 10.5 ms KEPT
    1004 11-21 20:07 ladder: clien… -             1,959 10.5 ms complete
      c3 11-21 21:00 wal_compressi… -                 -       - B better: tps +4.2 %
      e2 11-21 22:00 ladder (quick) nightly           -       - goals undecided in…
    ");
}

#[test]
fn a_hundred_and_twenty_columns_have_all_first_figures() {
    let list = list(all_kinds(), 120);
    let titles = list.lines().next().expect("there are titles");
    let titles: Vec<&str> = titles.split_whitespace().collect();
    let figures = ["tps", "p50", "p90", "p99", "p99.9", "max", "answer"];
    assert!(titles.ends_with(&figures), "{list}");
    assert!(list.contains(" 1,959 3.61 ms 5.02 ms 10.5 ms 18.4 ms 91.2 ms complete"), "{list}");
}

#[test]
fn at_medium_width_runs_have_their_error() {
    insta::assert_snapshot!(list([run(9, "tpcb-like"), trial(11)], 150), @r"
    id  began, UTC        kind   name                                  clients         tps      p50      p90      p99    p99.9      max  answer
     9  2026-11-21 20:07  run    tpcb-like                                   8  1,959 ± 41  3.61 ms  5.02 ms  10.5 ms  18.4 ms  91.2 ms  complete
    11  2026-11-21 20:07  trial  ladder: clients 8, protocol prepared        8  1,959 ± 41  3.61 ms  5.02 ms  10.5 ms  18.4 ms  91.2 ms  complete
    ± is half of the 95 % interval of the throughput
    ");
}

#[test]
fn trials_stand_under_their_experiment_and_a_note_says_how_to_list_them() {
    let mut of_ladder = trial(12);
    of_ladder.trial.iter_mut().for_each(|trial| trial.experiment_number = 2);
    let goals = GoalTally { met: 8, ..GoalTally::default() };
    let folded = [Entry::from(run(3, "tpcb-like")), experiment(goals)];
    insta::assert_snapshot!(list(folded.clone(), 80), @r"
    id began, UTC  name           label     tps     p99 answer
     3 11-21 20:07 tpcb-like      -       1,959 10.5 ms complete
    e2 11-21 22:00 ladder (quick) nightly     -       - goals met in 8 of 8 trials;…
    --trials lists the trials of experiments too
    ");
    // Trials that began before a later entry stand at their experiment, with their levels alone.
    let [one, two] = folded;
    let unfolded = list([Entry::from(of_ladder), one, two], 140);
    let lines: Vec<&str> = unfolded.lines().collect();
    assert!(lines[1].contains(" tpcb-like ") && lines[2].starts_with("e2 "), "{unfolded}");
    assert!(
        lines[3].starts_with("12 ") && lines[3].contains("   clients 8, protocol prepared"),
        "{unfolded}"
    );
    assert!(!unfolded.contains("--trials"), "{unfolded}");
}

#[test]
fn a_run_has_its_throughput_over_time_where_there_is_room() {
    let stalled = RunLine { tps_curve: vec![100.0, 100.0, 0.0, 50.0], ..run(3, "tpcb-like") };
    let short = RunLine { tps_curve: vec![100.0], ..run(4, "tpcb-like") };
    for width in [100, 120] {
        let list = list([stalled.clone(), short.clone()], width);
        assert!(list.contains("tps over time") && list.contains(" ██▁▅ "), "{list}");
        assert_eq!(list.matches('█').count(), 2, "{list}");
    }
    assert!(!list([stalled], 60).contains('█'));
}

#[test]
fn without_a_label_there_is_no_column_for_it() {
    let runs = [
        judged(9, false, GoalTally::default()),
        judged(10, true, GoalTally { met: 1, ..GoalTally::default() }),
    ];
    insta::assert_snapshot!(list(runs, 80), @r"
    id began, UTC  name       tps     p50     p99     max answer
     9 11-21 20:07 shop.sql 1,959 3.61 ms 10.5 ms 91.2 ms NOT KEPT: 159 of 300 per…
    10 11-21 20:07 shop.sql 1,959 3.61 ms 10.5 ms 91.2 ms KEPT, goal met
    ");
}

#[test]
fn the_answer_of_a_run_says_whether_it_was_good_enough_and_why_not() {
    let with = |kept, [met, missed, undecided]: [u32; 3]| RunLine {
        kept,
        goals: GoalTally { met, missed, undecided },
        ..run(1, "shop.sql")
    };
    let mut hopeless = judged(1, false, GoalTally::default());
    if let Some(summary) = &mut hopeless.summary {
        summary.counts = Counts { scheduled: 10, failed: 10, ..Counts::default() };
    }
    let reason = "159 of 300 per second; 47 % skipped, the rest later than 20 ms";
    let not_kept = format!("NOT KEPT: {reason}");
    let both = format!("NOT KEPT, 2/3 goals missed: {reason}");
    for (run, expected) in [
        (with(None, [0, 0, 0]), "complete"),
        (with(None, [1, 0, 0]), "goal met"),
        (with(Some(true), [3, 0, 0]), "KEPT, 3 goals met"),
        (with(Some(false), [1, 2, 3]), "NOT KEPT, 2/6 goals missed"),
        (with(None, [1, 0, 1]), "1/2 goals undecided"),
        (judged(1, false, GoalTally::default()), &not_kept),
        (judged(1, false, GoalTally { met: 1, missed: 2, undecided: 0 }), &both),
        (hopeless, "NOT KEPT: all transactions failed"),
        (RunLine { status: RunStatus::Interrupted, ..with(Some(true), [0, 1, 0]) }, "interrupted"),
        (
            RunLine {
                status: RunStatus::Failed,
                reason: Some("it stopped".to_owned()),
                ..with(None, [0, 0, 0])
            },
            "failed: it stopped",
        ),
        (
            RunLine {
                status: RunStatus::Killed,
                alive_at: Some("2026-11-21T20:09:15.250Z".to_owned()),
                ..run(1, "shop.sql")
            },
            "killed: broken off, last sign of life at 2026-11-21 20:09:15 UTC",
        ),
    ] {
        assert_eq!(answer_of(run), expected);
    }
}

#[test]
fn the_answer_of_a_query_set_says_how_many_queries_were_executed() {
    let line = QuerySetLine {
        query_set: 1,
        annotation: Annotation::default(),
        status: "complete".to_owned(),
        started_at: "2026-11-21T20:07:35.250Z".to_owned(),
        name: "tpch".to_owned(),
        scale: None,
        streams: Some(1),
        server_version: None,
        queries: 22,
        executed: 22,
        failed: 1,
        limited: 2,
        different: 0,
        elapsed_us: Some(64_200_000),
    };
    let answer = |line: QuerySetLine| answer_of(Entry::QuerySet(Box::new(line)));
    assert_eq!(answer(line.clone()), "22 queries, 1 failed, 2 limited, 64.2 s");
    let interrupted =
        QuerySetLine { status: "interrupted".to_owned(), executed: 4, failed: 0, limited: 0, ..line };
    assert_eq!(answer(interrupted), "interrupted; 4 of 22 queries, 64.2 s");
}

/// The last column of the only line.
fn answer_of(entry: impl Into<Entry>) -> String {
    let list = list([entry.into()], 400);
    let mut lines = list.lines();
    let at = lines.next().and_then(|title| title.find("answer")).expect("there is a title");
    lines.next().expect("there is a line").chars().skip(at).collect()
}

#[test]
fn the_answer_of_a_comparison_is_its_decision_and_that_of_an_experiment_its_goals() {
    for (decision, expected) in [
        (ComparisonDecision::Better, "B better: tps +4.2 %"),
        (ComparisonDecision::NoWorse, "B no worse: tps +4.2 %"),
        (ComparisonDecision::Equivalent, "equivalent: tps +4.2 %"),
        (ComparisonDecision::WorseThanTolerance, "B worse: tps +4.2 %"),
        (ComparisonDecision::Undecided, "undecided: tps +4.2 %"),
    ] {
        assert_eq!(answer_of(comparison(decision, "complete")), expected);
    }
    let interrupted = comparison(ComparisonDecision::Undecided, "interrupted");
    assert_eq!(answer_of(interrupted), "interrupted, undecided: tps +4.2 %");
    let missed = GoalTally { met: 5, missed: 2, undecided: 1 };
    let expected = "goals missed in 2 of 8 trials; 8 of 12 trials complete, 1 failed";
    assert_eq!(answer_of(experiment(missed)), expected);
    assert_eq!(answer_of(experiment(GoalTally::default())), "8 of 12 trials complete, 1 failed");
}

#[test]
fn an_empty_list_is_a_sentence() {
    let none: [Entry; 0] = [];
    assert_eq!(list(none, 80), "the store has no entries, or none that these options select\n");
}
