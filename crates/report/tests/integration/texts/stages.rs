//! Loads that change in all formats: a row for each stage, the scheduled rate in words,
//! and goals that name their stage.

use pgmeter_report::{Run, TextStyle, document, html, markdown};
use results::{Confidence, Counts, Latency, Limit, Record, StageSummary};
use stats::goals::{GoalResult, GoalVerdict};
use stats::rate::{GapLaw, LoadStage, RateNotation};

use crate::texts::fixture::{self, text};

const WIDE: TextStyle = TextStyle { colour: false, width: 110 };

fn stage(start_s: f64, duration_s: f64, scheduled_tps: f64, skipped: u64, p99: f64) -> StageSummary {
    let succeeded = 321 - skipped;
    let response_us = Some(Latency {
        p50: 2_100.0,
        p99,
        p999: 2.0 * p99,
        max: 3.0 * p99,
        ..fixture::latency(2_300.0, 900.0)
    });
    StageSummary {
        start_s,
        duration_s,
        scheduled_tps: Some(scheduled_tps),
        tps: scheduled_tps - 1.5,
        counts: Counts { scheduled: 321, succeeded, skipped, business: succeeded, ..Counts::default() },
        response_us,
        service_us: response_us,
        all_us: None,
        late_or_skipped_share: None,
        confidence: Confidence::default(),
    }
}

fn staged() -> Record {
    let mut record = fixture::record();
    record.plan.stages = LoadStage::list("1s@100, 1s@100..500, 1s@100").expect("stages");
    record.plan.rate_tps = Some(500.0 / 3.0);
    record.plan.limit = Limit::Duration(std::time::Duration::from_secs(3));
    record.plan.goals = vec!["p99 < 20ms".parse().expect("a goal")];
    record.summary.stages = vec![
        stage(0.0, 1.0, 100.0, 0, 8_000.0),
        stage(1.0, 1.0, 300.0, 40, 31_000.0),
        stage(2.0, 1.0, 100.0, 0, 9_000.0),
    ];
    let goal = |number: u32, verdict: GoalVerdict, value: f64| GoalResult {
        goal: record.plan.goals[0].clone(),
        stage: Some(number),
        verdict,
        value: Some(value),
        low: Some(0.9 * value),
        high: Some(1.1 * value),
        method: stats::goals::GoalMethod::Independent,
        transactions: 321,
        uncompleted: 0,
        needed_s: None,
    };
    record.summary.goals = vec![
        goal(0, GoalVerdict::Met, 8_000.0),
        goal(1, GoalVerdict::Missed, 31_000.0),
        goal(2, GoalVerdict::Met, 9_000.0),
    ];
    record
}

#[test]
fn each_stage_has_a_row_and_goals_name_their_stage() {
    insta::assert_snapshot!(text(&staged(), &WIDE), @r#"
    1 OF 3 GOALS MISSED: p99 in stage 2 is 31.0 ms (27.9 ms to 34.1 ms), not < 20ms.

    ser.sql
      2 clients on 1 worker, simple protocol, 3.0 s

      Figures and their limits: figure ÷ limit of its goal, logarithmic, with 95 % intervals
      stage 1: p99 < 20ms    ────●───                             ┊                       ×0.400 (0.360 … 0.440)
      stage 2: p99 < 20ms                                         ┊           ───■────    ×1.55 (1.40 … 1.71)
      stage 3: p99 < 20ms        ────●────                        ┊                       ×0.450 (0.405 … 0.495)
                                         ½                        1
      ● met  ■ missed
      stage   goal         verdict   figure    95 % interval
      1       p99 < 20ms   met       8.00 ms   7.20 ms to 8.80 ms
      2       p99 < 20ms   missed    31.0 ms   27.9 ms to 34.1 ms
      3       p99 < 20ms   met       9.00 ms   8.10 ms to 9.90 ms
      Intervals are of 95 %. Failed, skipped, unfinished and unknown transactions count as over each limit. Of
      stages shorter than 20 s, transactions are taken as independent.

      throughput      321.0 tps of 166.7 scheduled on average
      transactions    963 succeeded, 0 failed

      stage  seconds  load            scheduled     tps      p50      p99    p99.9  skipped  goals
      1      0 to 1   100 tps             100.0   98.50  2.10 ms  8.00 ms  16.0 ms      0 %  met
      2      1 to 2   100 to 500 tps      300.0  298.50  2.10 ms  31.0 ms  62.0 ms     12 %  missed: p99 < 20ms
      3      2 to 3   100 tps             100.0   98.50  2.10 ms  9.00 ms  18.0 ms      0 %  met

      latency, ms   mean ± stddev    p50    p90    p99   p99.9    max
      response        4.29 ± 5.90   4.29   4.29   4.29    4.29   4.29
      service         4.29 ± 5.90   4.29   4.29   4.29    4.29   4.29

      Response counts from when a transaction was due, service from when it began.
    "#);
    let record = staged();
    let document = document(&[Run { name: "a", record: &record }]);
    let (page, text) = (html(&document), markdown(&document));
    let plain = page.replace('\u{a0}', " ").replace("&nbsp;", " ");
    assert!(plain.contains("p99 in stage 2"), "{plain}");
    for words in ["Stages", "100 to 500", "missed: p99"] {
        assert!(page.contains(words) && text.contains(words), "{words}");
    }
}

#[test]
fn a_curve_and_its_gaps_are_named() {
    let mut record = fixture::record();
    let Ok(RateNotation::Curve(curve)) = "ramp(100, 500, 3s)".parse() else { panic!("a curve") };
    record.plan.rate_tps = Some(300.0);
    record.plan.curve = Some(curve);
    record.plan.arrivals = GapLaw::Gamma(0.5);
    record.plan.limit = Limit::Duration(std::time::Duration::from_secs(3));
    let text = text(&record, &WIDE);
    for line in ["of 300.0 scheduled on average", "ramp(100, 500, 3s), 300.0 tps on average", "gamma(0.5)"] {
        assert!(text.replace('\u{a0}', " ").contains(line), "{line}: {text}");
    }
    record.plan.command_line = None;
    let document = document(&[Run { name: "a", record: &record }]);
    let command = "-R 'ramp(100, 500, 3s)' --arrivals 'gamma(0.5)'";
    assert!(markdown(&document).contains(command), "{}", markdown(&document));
}
