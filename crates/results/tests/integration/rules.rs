//! The rules of a workload's standard: each is kept, broken or open as the figures of a run and the findings of its checks
//! say.

use std::path::Path;
use std::time::Duration;

use pgmeter_results::{
    CheckFindings, DrawnRows, Record, Rule, RuleResult, RuleVerdict, SteadyEvidence, SteadyState,
};
use stats::rules::StandardRule;
use stats::{Ending, Interval, Recorder, Sample, Summary, Timestamp};

use RuleVerdict::{Broken, Kept, NotChecked, NotMeasured, NotTestable};

fn record() -> Record {
    Record::from_json(include_bytes!("record.json"), Path::new("record.json")).expect("it can be read")
}

/// Three transactions of the first script: of 1 s, of 3 s, and one that did not end.
fn stats() -> Summary {
    let mut recorder = Recorder::new(1, None);
    for (seconds, ending) in [(1, Ending::Succeeded), (3, Ending::Succeeded), (1, Ending::Unfinished)] {
        recorder.record(&Sample {
            script: 0,
            scheduled: Timestamp::ZERO,
            started: Timestamp::ZERO,
            finished: Timestamp::ZERO + Duration::from_secs(seconds),
            tries: 1,
            business: 1,
            ending,
            traffic: stats::Traffic::default(),
        });
    }
    let interval = recorder.hand_over(Timestamp::ZERO, Timestamp::from_nanos(1), Interval::new(1));
    Summary::of([&interval], Duration::from_secs(3))
}

fn judge(record: &mut Record, rule: Rule, findings: Option<&CheckFindings>) -> RuleResult {
    let rules = [StandardRule { clause: Some("7".to_owned()), rule: rule.clone() }];
    record.judge(&rules, &stats(), findings);
    let [result] = &record.summary.rules[..] else { panic!("one rule") };
    assert_eq!((result.clause.as_deref(), &result.rule), (Some("7"), &rule));
    let again = Record::from_json(record.to_json().as_bytes(), Path::new("again.json")).expect("it is sound");
    assert_eq!(again.summary.rules, record.summary.rules);
    result.clone()
}

#[track_caller]
fn check(rule: Rule, verdict: RuleVerdict, figure: Option<f64>) {
    let result = judge(&mut record(), rule, None);
    assert_eq!((result.verdict, result.figure), (verdict, figure));
}

#[test]
fn response_times_are_those_of_all_scheduled_transactions() {
    let rule = |share, below_s, script: Option<&str>| Rule::ResponseTime {
        script: script.map(str::to_owned),
        share,
        below_s,
    };
    let third = 1.0 / 3.0;
    check(rule(0.3, 2.0, None), Kept, Some(third));
    check(rule(0.9, 2.0, None), Broken, Some(third));
    check(rule(0.6, 4.0, None), Kept, Some(2.0 / 3.0));
    let first = record().plan.scripts[0].name.clone();
    check(rule(0.3, 2.0, Some(&first)), Kept, Some(third));
    check(rule(0.3, 2.0, Some("another")), NotMeasured, None);
    assert_eq!(judge(&mut record(), rule(0.9, 2.0, None), None).of, Some(3));
}

#[test]
fn a_steady_state_is_that_of_the_record() {
    let of = |settled, steady_from_s| {
        let mut record = record();
        let drifts = Vec::new();
        let evidence = SteadyEvidence::Drifts { intervals: 60, drifts };
        record.summary.steady_state = Some(SteadyState { settled, steady_from_s, evidence });
        let RuleResult { verdict, figure, .. } = judge(&mut record, Rule::SteadyState, None);
        (verdict, figure)
    };
    assert_eq!(of(Some(true), Some(0.0)), (Kept, Some(0.0)));
    assert_eq!(of(Some(false), Some(12.0)), (Broken, Some(12.0)));
    assert_eq!(of(Some(false), None), (Broken, None));
    assert_eq!(of(None, None), (NotMeasured, None));
}

#[test]
fn the_measured_time_and_the_throughput_have_limits() {
    let with = |duration_s, rule| {
        let mut record = record();
        record.summary.duration_s = duration_s;
        judge(&mut record, rule, None).verdict
    };
    let time = |max_s| Rule::MeasuredTime { min_s: 900.0, max_s };
    assert_eq!([899.9, 60.0, 5000.0].map(|seconds| with(seconds, time(None))), [Kept, Broken, Kept]);
    assert_eq!([3600.2, 3700.0].map(|seconds| with(seconds, time(Some(3600.0)))), [Kept, Broken]);

    let mut record = record();
    record.summary.tps = 100.0;
    let rule = |max| Rule::TpsPerScale { script: None, max };
    record.tables.scale = Some(50.into());
    let result = judge(&mut record, rule(1.0), None);
    assert_eq!((result.verdict, result.figure), (Broken, Some(2.0)));
    assert_eq!(judge(&mut record, rule(2.0), None).verdict, Kept);
    record.tables.scale = None;
    assert_eq!(judge(&mut record, rule(2.0), None).verdict, NotMeasured);
}

#[test]
fn the_mix_is_that_of_the_transactions_that_ended() {
    let mut record = record();
    let (script, counts) = (record.plan.scripts[0].name.clone(), record.summary.counts);
    let ended = |counts: &stats::Counts| counts.succeeded + counts.failed;
    let share = ended(&record.summary.scripts[0].counts) as f64 / ended(&counts) as f64;
    let rule = |script: &str, min| Rule::MixShare { script: script.to_owned(), min };
    let result = judge(&mut record, rule(&script, share), None);
    assert_eq!((result.verdict, result.of), (Kept, Some(ended(&counts))));
    assert_eq!(judge(&mut record, rule("another", 0.1), None).verdict, NotMeasured);
}

#[test]
fn checks_and_drawn_shares_are_open_if_they_did_not_run() {
    let checks = || Rule::Checks { names: vec!["totals".to_owned(), "branches".to_owned()] };
    let drawn = || Rule::DrawnShare { query: "home".to_owned(), share: 0.85 };
    check(checks(), NotChecked, None);
    check(drawn(), NotChecked, None);
    let rows = |count, of| DrawnRows { query: "home".to_owned(), count, of };
    let findings = |failed: &[&str], shares| CheckFindings {
        failed: failed.iter().map(|name| (*name).to_owned()).collect(),
        shares,
    };
    let passed = findings(&["of_another_rule"], vec![rows(1_700, 2_000)]);
    assert_eq!(judge(&mut record(), checks(), Some(&passed)).verdict, Kept);
    let result = judge(&mut record(), drawn(), Some(&passed));
    assert_eq!((result.verdict, result.figure, result.of), (Kept, Some(0.85), Some(2_000)));
    let failed = findings(&["totals"], vec![rows(2_000, 2_000)]);
    let result = judge(&mut record(), checks(), Some(&failed));
    assert_eq!((result.verdict, result.names), (Broken, vec!["totals".to_owned()]));
    assert_eq!(judge(&mut record(), drawn(), Some(&failed)).verdict, Broken);
    assert_eq!(judge(&mut record(), drawn(), Some(&findings(&[], vec![]))).verdict, NotMeasured);
}

#[test]
fn a_run_cannot_show_durability_but_settings_can_exclude_it() {
    let mut record = record();
    let with = |record: &mut Record, value: &str| {
        let server = record.environment.server.as_mut().expect("it was asked");
        let settings = ["fsync", "full_page_writes", "synchronous_commit"];
        let settings = settings.map(|name| (name.to_owned(), value.to_owned()));
        server.main_settings = settings.into_iter().collect();
        server.non_default_settings = [].into_iter().collect();
    };
    with(&mut record, "on");
    assert_eq!(judge(&mut record, Rule::Durability, None).verdict, NotTestable);
    with(&mut record, "off");
    let result = judge(&mut record, Rule::Durability, None);
    let off = ["fsync = off", "full_page_writes = off", "synchronous_commit = off"].map(str::to_owned);
    assert_eq!((result.verdict, result.names), (Broken, off.to_vec()));
}
