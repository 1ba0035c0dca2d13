//! Loads that change on a null server: stages with figures and goals of their own in the record, and loads that are
//! refused.

use std::path::Path;
use std::time::Duration;

use pgmeter_run::{RunPlace, RunSpec, RunToCheck, Surface, check_run, read_curve};
use stats::goals::GoalVerdict;
use stats::load::Limit;
use stats::rate::{GapLaw, LoadStage, RateCurve, RateNotation};

use crate::on_null::{run, script, spec};

fn staged(stages: &str) -> RunSpec {
    let stages = LoadStage::list(stages).unwrap_or_else(|why| panic!("{why}"));
    RunSpec {
        clients: LoadStage::clients_max(&stages).unwrap_or(4),
        limit: Limit::Duration(LoadStage::total(&stages)),
        stages,
        ..spec("SELECT 1;")
    }
}

#[test]
fn each_stage_has_its_figures_and_its_verdicts() {
    let goals = ["p99 < 1h", "tps > 200"].map(|text| text.parse().expect("a goal")).to_vec();
    let record = run(RunSpec { goals, ..staged("2s@300, 2s@300..900, 1s@60") }).record;
    let stages = &record.summary.stages;
    let spans: Vec<_> = stages.iter().map(|stage| (stage.start_s, stage.duration_s)).collect();
    assert_eq!(spans[..2], [(0.0, 2.0), (2.0, 2.0)]);
    assert!(spans.len() == 3 && (0.9..1.2).contains(&spans[2].1), "{spans:?}");
    let scheduled: Vec<_> = stages.iter().map(|stage| stage.scheduled_tps.expect("a rate").round()).collect();
    assert_eq!(scheduled, [300.0, 600.0, 60.0]);
    for (stage, expected) in stages.iter().zip([600.0_f64, 1200.0, 60.0]) {
        // What was due at the end of a stage may end in the next one.
        let deviation = (stage.counts.scheduled as f64 - expected).abs();
        assert!(deviation < 5.0 * expected.sqrt() + 60.0, "{:?}", stage.counts);
        assert!(stage.response_us.is_some() && stage.confidence.tps.is_none());
    }
    let all: u64 = stages.iter().map(|stage| stage.counts.scheduled).sum();
    assert_eq!(all, record.summary.counts.scheduled);
    let verdicts: Vec<_> = record.summary.goals.iter().map(|goal| (goal.stage, goal.verdict)).collect();
    let met = GoalVerdict::Met;
    assert_eq!(verdicts[..2], [(Some(0), met), (Some(0), met)]);
    assert_eq!(
        (verdicts.len(), verdicts[3], verdicts[5]),
        (6, (Some(1), met), (Some(2), GoalVerdict::Missed))
    );
    // A mean over different loads has neither an interval nor a steady state.
    assert!(record.summary.confidence.tps.is_none() && record.summary.steady_state.is_none());
    assert_eq!(record.plan.rate_tps.map(f64::round), Some(372.0));
    let text = record.to_json();
    assert_eq!(serde_json::from_str::<results::Record>(&text).expect("a record"), record);
    let again = RunSpec::from(&record.plan);
    assert_eq!((again.rate_tps, again.stages), (None, record.plan.stages.clone()));
}

#[test]
fn a_run_that_ends_early_has_the_stages_that_began() {
    let goals = vec!["max < 1us".parse().expect("a goal")];
    let record = run(RunSpec { goals, stop_on_miss: true, ..staged("3s@200, 500s@200") }).record;
    assert_eq!(record.summary.stages.len(), 1);
    assert!(record.summary.goal_stop.is_some_and(|stop| stop.goal == 0));
    assert_eq!(record.summary.goals.len(), 1);
}

#[test]
fn weights_of_stages_name_scripts_as_reports_do() {
    let mut spec = staged("1s, 1s");
    spec.scripts = vec![script("dir/read.sql", "SELECT 1;", 1), script("write.sql", "SELECT 2;", 1)];
    spec.stages[0].weights = [("read".to_owned(), 1), ("write.sql".to_owned(), 0)].into();
    spec.stages[1].weights = [("read".to_owned(), 0)].into();
    let record = run(spec).record;
    let of_interval = |second: usize| {
        record.intervals[second].scripts.iter().map(|script| script.counts.succeeded).collect::<Vec<_>>()
    };
    let ([first_read, first_write], [second_read, second_write]) = (
        <[u64; 2]>::try_from(of_interval(0)).expect("two scripts"),
        <[u64; 2]>::try_from(of_interval(1)).expect("two scripts"),
    );
    assert!(first_read > 100 && second_write > 100, "{first_read}, {second_write}");
    // A client's transaction across the border ends in the second stage.
    assert!(first_write == 0 && second_read <= 4, "{first_write}, {second_read}");
}

fn refused(spec: &RunSpec) -> String {
    let place = Some(RunPlace { targets: &[], site: None, in_turns: false });
    let run = RunToCheck { spec, surface: Surface::Flags, scripts: None, pooling: None, place };
    check_run(&run).map_or_else(|error| error.to_string(), |()| "accepted".to_owned())
}

fn curve(text: &str) -> Option<RateCurve> {
    match text.parse() {
        Ok(RateNotation::Curve(curve)) => Some(curve),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn loads_that_contradict_themselves_are_refused_in_one_sentence() {
    let ramp = || curve("ramp(100, 200, 1min)");
    assert_eq!(
        refused(&RunSpec { curve: ramp(), ..spec("") }),
        "-R ramp(100, 200, 1min) requires a duration, because a curve is over time: add -T 5min"
    );
    let limit = Limit::Duration(Duration::from_secs(60));
    assert_eq!(refused(&RunSpec { curve: ramp(), limit, ..spec("") }), "accepted");
    assert_eq!(
        refused(&RunSpec { curve: ramp(), limit, until: Some(0.01), ..spec("") }),
        "--until is not possible with a load that changes: a mean over different loads has no precision"
    );
    assert_eq!(
        refused(&RunSpec { arrivals: GapLaw::Fixed, limit, ..spec("") }),
        "--arrivals requires a rate, because only a rate has arrivals: add -R or --stages with rates"
    );
    assert_eq!(
        refused(&RunSpec { rate_tps: Some(5.0), ..staged("1min@500") }),
        "--stages and -R both set the load: leave out one of them, or write stages without a load, such as 1min, 2min"
    );
    assert_eq!(refused(&RunSpec { rate_tps: Some(5.0), ..staged("1min, 2min") }), "accepted");
    assert_eq!(
        refused(&RunSpec { limit, ..staged("1min@500, 1min@600") }),
        "the stages last 120 s, and -T says something else: leave it out"
    );
    assert_eq!(
        refused(&RunSpec { clients: 3, ..staged("1min@8c") }),
        "a stage has 8 clients, and -c is 3: raise it"
    );
    let short = RateCurve::from_csv("day.csv", "0,100\n30,200\n").expect("a curve");
    assert_eq!(
        refused(&RunSpec { curve: Some(short), limit, ..spec("") }),
        "the curve of file:day.csv ends at 30 s, and the measurement lasts 60 s: add rows, or set -T to 30 s"
    );
    let missing = read_curve("day.csv", Path::new("/nowhere/day.csv")).expect_err("no such file");
    assert!(
        missing.starts_with("cannot read the curve day.csv: ")
            && missing.ends_with("with the columns time and rate")
    );
}
