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
    assert_eq!(
        answer(settings(|work_mem, _| 500.0 * larger(work_mem))),
        "Effects on throughput: work_mem 64MB instead of 4MB: +32 % (31 to 34); synchronous_commit: no effect found (0 % \
         to +2 %)."
    );
    let both = |work_mem, commit| if work_mem && commit { 1000.0 } else { 500.0 };
    assert_eq!(
        answer(settings(both)),
        "Effects on throughput: synchronous_commit off instead of on: +42 % (41 to 44), depends on work_mem: +1 % with 4MB, \
         × 2.02 with 64MB; work_mem 64MB instead of 4MB: +42 % (40 to 43), depends on synchronous_commit: 0 % with on, \
         × 2.0 with off."
    );
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
    let answer = "No effect on throughput is stated: each combination has one repeat, which gives no confidence interval. \
                  Effects need two or more.";
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
    let (matters, rest) = line.split_once(". ").expect("two sentences");
    assert!(
        matters.starts_with("Effects on throughput: Look first at work_mem 64MB instead of 4MB: +32.6 % ("),
        "{line}"
    );
    assert!(rest.starts_with("No effect beyond ± 5 %: ") && rest.matches(',').count() == 2, "{line}");
    assert!(quiet.contains("(Šidák)") && quiet.contains("resolution IV"), "{quiet}");
    let noisy = text(0.05);
    let line = noisy.lines().nth(1).expect("an answer");
    assert!(line.contains("Undecided: ") && !line.contains("No effect beyond"), "{line}");
}
