//! Reports of experiments whose factors have known effects: the answer, the notes and the JSON.
//! The statistics behind are tested where they are.

use results::{StoredExperiment, StoredTrial, TrialStatus};

use crate::pages::experiment::{WIDE, overview_by, run, stored};
use crate::pages::forms;

pub const SETTINGS: &str = r#"
name = "memory"
[factors]
"settings.work_mem" = ["4MB", "64MB"]
"settings.synchronous_commit" = ["on", "off"]
[design]
repeats = 3
"#;

/// Two settings, each trial with the throughput of `tps` of its levels, of its repeat and of noise.
pub fn settings(tps: impl Fn(bool, bool) -> f64) -> StoredExperiment {
    let noise = [1.0, 1.01, 0.99, 1.0, 0.99, 1.01, 1.0, 1.005, 1.0, 0.99, 1.0, 1.01];
    let mut trials = Vec::new();
    for repeat in 1..=3 {
        for (work_mem, commit) in [("4MB", "on"), ("4MB", "off"), ("64MB", "on"), ("64MB", "off")] {
            let mut run = run(1, "simple", 1, 1.0);
            let noise = noise[trials.len()] * f64::from(repeat);
            run.summary.as_mut().expect("a summary").tps = noise * tps(work_mem == "64MB", commit == "off");
            let levels = [("settings.work_mem", work_mem), ("settings.synchronous_commit", commit)];
            trials.push(StoredTrial {
                factors: levels.map(|(name, level)| (name.to_owned(), level.to_owned())).into(),
                repeat,
                status: TrialStatus::Complete,
                reason: None,
                run: Some(run),
                steps: None,
                search: None,
            });
        }
    }
    StoredExperiment { name: "memory".to_owned(), trials, ..stored() }
}

pub(crate) fn json() -> serde_json::Value {
    let both = |work_mem, commit| if work_mem && commit { 1000.0 } else { 500.0 };
    let overview = overview_by(SETTINGS, settings(both));
    serde_json::from_str(&forms::experiment::json(&overview)).expect("it is JSON")
}

/// The answer of the report, which is its second line.
fn answer(stored: StoredExperiment) -> String {
    let text = forms::experiment::text(&overview_by(SETTINGS, stored), &WIDE);
    text.lines().nth(1).expect("an answer").trim().to_owned()
}

#[test]
fn an_experiment_begins_with_the_effects_of_its_factors() {
    let larger = |larger: bool| if larger { 1.32 } else { 1.0 };
    let one = answer(settings(|work_mem, _| 500.0 * larger(work_mem)));
    assert!(one.starts_with("Largest effect: work_mem 64MB instead of 4MB, throughput ×1.32"), "{one}");
    assert!(one.ends_with(").") && one.split_whitespace().count() <= 20, "{one}");
    let none = answer(settings(|_, _| 500.0));
    assert!(none.starts_with("No effect on throughput was found"), "{none}");
    let both = |work_mem, commit| if work_mem && commit { 1000.0 } else { 500.0 };
    let first = answer(settings(both));
    assert!(
        first.starts_with("synchronous_commit off instead of on: throughput ×2.02 (2.00 … 2.03)"),
        "{first}"
    );
    assert!(first.ends_with(" with work_mem 64MB, ×1.007 with 4MB."), "{first}");
    let text = forms::experiment::text(&overview_by(SETTINGS, settings(both)), &WIDE);
    for words in [
        "Effects on throughput: level ÷ base, logarithmic, with 95 % intervals",
        "synchronous_commit off ÷ on ",
        "●",
        "(interaction)",
        "The effect of work_mem 64MB on throughput depends on synchronous_commit: ×1.00",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let mut missing = settings(|work_mem, _| 500.0 * larger(work_mem));
    for trial in missing.trials.iter_mut().skip(3).step_by(4) {
        (trial.status, trial.run) = (TrialStatus::Failed, None);
    }
    let overview = overview_by(SETTINGS, missing);
    let text = forms::experiment::text(&overview, &WIDE);
    let note = "Combinations without a figure are left out of the effects of work_mem 64MB and synchronous_commit off";
    assert!(text.contains(note), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&forms::experiment::json(&overview)).expect("it is JSON");
    let effect = &json["effects"][0];
    assert_eq!((&effect["factor"], &effect["combinations"]), (&"settings.work_mem".into(), &1.into()));
    assert!(effect["low"].as_f64().expect("a bound") > 1.25, "{effect}");
    assert_eq!(json["interactions"].as_array().expect("a list").len(), 0);
}

#[test]
fn one_repeat_states_no_effect() {
    let mut once = settings(|work_mem, _| if work_mem { 1000.0 } else { 500.0 });
    once.trials.retain(|trial| trial.repeat == 1);
    let overview = overview_by(&SETTINGS.replace("repeats = 3", "repeats = 1"), once);
    let text = forms::experiment::text(&overview, &WIDE);
    let answer = "No effect on throughput is stated: each combination was run once, and effects need two repeats or more.";
    assert!(text.lines().nth(1).is_some_and(|line| line.trim() == answer), "{text}");
    assert!(!text.contains("Effects\n") && !text.contains("Effects on"), "{text}");
}

#[test]
fn an_interaction_with_a_wide_interval_is_undecided() {
    let text = |work_mem_of_noisy: f64| {
        let mut stored = settings(|_, _| 500.0);
        let tps = |trial: &mut StoredTrial, factor: f64| {
            let summary = trial.run.as_mut().and_then(|run| run.summary.as_mut()).expect("a summary");
            summary.tps *= factor;
        };
        tps(&mut stored.trials[3], work_mem_of_noisy);
        forms::experiment::text(&overview_by(SETTINGS, stored), &WIDE)
    };
    let quiet = text(1.0);
    assert!(quiet.contains("The interaction was not found ("), "{quiet}");
    let noisy = text(1.4);
    assert!(noisy.contains("The interaction is undecided ("), "{noisy}");
}

pub const SCREENING: &str = r#"
name = "memory"
[factors]
"settings.work_mem" = ["4MB", "64MB"]
"settings.synchronous_commit" = ["on", "off"]
"settings.jit" = ["off", "on"]
"settings.commit_delay" = [0, 500]
[design]
combinations = "screening"
repeats = 3
"#;

/// A screening in which only work_mem has an effect, with noise.
pub fn screening(noise: f64) -> StoredExperiment {
    let file = ::experiment::Experiment::parse(
        SCREENING,
        "memory.toml",
        std::path::Path::new(""),
        ::experiment::Profile::Full,
    );
    let plan = ::experiment::Plan::of(&file.expect("it is a file"), "memory.toml", std::path::Path::new(""));
    let plan = plan.expect("it can be planned");
    assert_eq!(plan.cells.len(), 8);
    let trial = |(number, trial): (usize, &::experiment::Trial)| {
        let levels = &plan.cells[trial.cell].levels;
        let has = |level: &str| levels.iter().any(|(_, it)| it == level);
        let effect = if has("64MB") { 1.32 } else { 1.0 };
        let mut run = run(1, "simple", 1, 1.0);
        let noise = 1.0 + noise * ((number * 7 % 11) as f64 - 5.0);
        run.summary.as_mut().expect("a summary").tps = 500.0 * effect * noise;
        StoredTrial {
            factors: levels.iter().cloned().collect(),
            repeat: trial.repeat,
            status: TrialStatus::Complete,
            reason: None,
            run: Some(run),
            steps: None,
            search: None,
        }
    };
    let trials = plan.trials.iter().enumerate().map(trial).collect();
    StoredExperiment { name: "memory".to_owned(), trials, ..stored() }
}

#[test]
fn a_screening_begins_with_the_settings_that_matter_and_those_that_do_not() {
    let text = |noise| forms::experiment::text(&overview_by(SCREENING, screening(noise)), &WIDE);
    let quiet = text(0.002);
    let line = quiet.lines().nth(1).expect("an answer").trim();
    assert!(line.starts_with("Look first at work_mem 64MB instead of 4MB, throughput ×1.32"), "{line}");
    let small = quiet.lines().find(|line| line.contains("No effect beyond ± 5 %: ")).expect("a line");
    assert_eq!(small.matches(',').count(), 2, "{small}");
    assert!(quiet.contains("··· tolerance ± 5 %") && quiet.contains('●'), "{quiet}");
    let noisy = text(0.05);
    assert!(noisy.contains("Undecided: ") && !noisy.contains("No effect beyond"), "{noisy}");
}

const RATES: &str = r#"
name = "rates"
[load]
goal = ["p99 < 5ms"]
[factors]
rate = [500, 2000, 8000]
[design]
repeats = 2
"#;

/// Trials under rates, of which the highest missed its goal.
fn rates() -> StoredExperiment {
    let trial = |repeat: u32, rate: &str| {
        let mut run = run(1, "simple", 1, 1.0);
        let is_met = rate != "8000";
        let summary = run.summary.as_mut().expect("a summary");
        summary.tps = rate.parse().expect("a number");
        summary.goals = vec![results::GoalResult {
            stage: None,
            goal: "p99 < 5ms".parse().expect("it is a goal"),
            verdict: if is_met { results::GoalVerdict::Met } else { results::GoalVerdict::Missed },
            value: Some(if is_met { 2_000.0 } else { 9_000.0 }),
            low: Some(if is_met { 1_900.0 } else { 8_000.0 }),
            high: Some(if is_met { 2_100.0 } else { 11_000.0 }),
            method: stats::goals::GoalMethod::Independent,
            transactions: 1_000,
            uncompleted: 0,
            needed_s: None,
        }];
        run.plan.as_mut().expect("a plan").rate_tps = Some(summary.tps);
        StoredTrial {
            factors: [("rate".to_owned(), rate.to_owned())].into(),
            repeat,
            status: TrialStatus::Complete,
            reason: None,
            run: Some(run),
            steps: None,
            search: None,
        }
    };
    let trials =
        [1, 2].into_iter().flat_map(|repeat| ["500", "2000", "8000"].map(|rate| trial(repeat, rate)));
    StoredExperiment { name: "rates".to_owned(), trials: trials.collect(), ..stored() }
}

#[test]
fn an_experiment_over_rates_with_goals_begins_with_the_highest_rate_that_met_them() {
    let overview = overview_by(RATES, rates());
    let text = forms::experiment::text(&overview, &WIDE);
    assert!(
        text.starts_with(
            "The highest rate that met the goals is 2,000 per second; 8,000 missed p99 < 5ms (9.00 ms).\n"
        ),
        "{text}"
    );
    let row =
        text.lines().find(|line| line.contains("8000: p99 < 5ms") && line.contains('■')).expect("a row");
    assert!(row.ends_with("×1.80 (1.60 … 2.20)"), "{row}");
    let page = forms::experiment::html(&overview);
    assert!(
        page.contains(">Throughput against latency</h3>") && page.contains(">8000</text>"),
        "a labelled curve"
    );
}
