//! Loads that change in all formats: a row for each stage, the scheduled rate in words, and goals that name their stage.

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
    insta::assert_snapshot!(text(&staged(), &WIDE), @"");
    let record = staged();
    let document = document(&[Run { name: "a", record: &record }]);
    let (page, text) = (html(&document), markdown(&document));
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
