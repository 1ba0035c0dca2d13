//! Experiments of the gallery.
//! The trials are those of the tests of experiments, with other files and figures.

use std::collections::BTreeMap;
use std::path::Path;

use experiment::{Experiment, Plan, Profile, Trial};
use pgmeter_report::experiment::Overview;
use results::{ServiceLevel, StoredExperiment, StoredRun, StoredTrial, TrialStatus};
use serde_json::json;

use crate::pages::example::{self, Example};
use crate::pages::experiment::{FILE, from_store, overview_by, run, stored, stored_steps};
use crate::pages::outages::outages;
use crate::pages::{effects, query_experiments};

const TWO: &str = r#"
name = "protocol"
title = "Prepared statements against simple ones"
[load]
script = "select-only"
duration = "1s"
[factors]
protocol = ["simple", "prepared"]
[design]
repeats = 4
"#;

const FORTY: &str = r#"
name = "ladder"
title = "Clients, protocol and commit on one server"
[load]
script = "tpcb-like"
duration = "10s"
[factors]
clients = [1, 2, 4, 8, 16, 32, 48, 64, 96, 128]
protocol = ["simple", "prepared"]
"settings.synchronous_commit" = ["on", "off"]
[design]
repeats = 3
[[chart]]
x = "clients"
y = "tps"
series = "protocol"
facet = "settings.synchronous_commit"
x_scale = "log"
"#;

const FAULTS: &str = r#"
name = "outages"
title = "What clients live through when a server or its network fails"
[load]
script = "tpcb-like"
clients = 16
rate = 100
duration = "30s"
on_disconnect = "reconnect"
[factors]
outage = ["none", "killed, down 2 s", "paused 2 s", "black hole"]
[levels.outage."killed, down 2 s"]
action = { at = "5s", kill = "2s" }
[levels.outage."paused 2 s"]
action = { at = "5s", pause = "2s" }
[levels.outage."black hole"]
action = { at = "5s", blackhole = "8s" }
[design]
repeats = 3
"#;

const RATES: &str = r#"
name = "capacity"
title = "How much load within 20 ms"
[load]
script = "tpcb-like"
clients = 16
duration = "30s"
goal = "p99 < 20ms"
[factors]
rate = [200, 400, 800, 1600, 3200]
[design]
repeats = 3
"#;

/// A trial of each place of the plan, with the run that `of` makes from its levels and its noise.
fn planned(text: &str, of: impl Fn(&BTreeMap<String, String>, f64) -> StoredRun) -> Overview {
    let file = Experiment::parse(text, "gallery.toml", Path::new(""), Profile::Full).expect("it is a file");
    let plan = Plan::of(&file, "gallery.toml", Path::new("")).expect("it can be planned");
    let trial = |(number, trial): (usize, &Trial)| {
        let levels: BTreeMap<String, String> = plan.cells[trial.cell].levels.iter().cloned().collect();
        let noise = 1.0 + 0.01 * ((number * 7 % 11) as f64 - 5.0);
        StoredTrial {
            run: Some(of(&levels, noise)),
            factors: levels,
            repeat: trial.repeat,
            status: TrialStatus::Complete,
            reason: None,
            steps: None,
            search: None,
        }
    };
    let trials = plan.trials.iter().enumerate().map(trial).collect();
    let files = BTreeMap::from([("gallery.toml".to_owned(), text.to_owned())]);
    overview_by(text, StoredExperiment { name: file.name.clone(), files, trials, ..stored() })
}

pub fn two_cells() -> Overview {
    planned(TWO, |levels, noise| run(1, &levels["protocol"], 8, noise))
}

/// The run whose throughput over time six combinations have.
pub fn curve_of_six() -> results::Record {
    example::full(&Example { seconds: 60, tps: 100.0, ..Example::default() })
}

/// With the throughput over time of a run of each combination.
pub fn six_cells() -> Overview {
    let mut overview = overview_by(FILE, stored());
    let record = curve_of_six();
    for curve in overview.curves() {
        overview.add_curve(curve, &record);
    }
    overview
}

pub fn forty_cells() -> Overview {
    planned(FORTY, |levels, noise| {
        let clients = levels["clients"].parse().expect("a number");
        let commit = if levels["settings.synchronous_commit"] == "off" { 1.6 } else { 1.0 };
        run(1, &levels["protocol"], clients, noise * commit)
    })
}

/// Each fault takes away the writes for a while; only some repeats recover.
pub fn faults() -> Overview {
    let mut overview = planned(FAULTS, |levels, noise| {
        let mut run = run(1, "prepared", 16, noise);
        let summary = run.summary.as_mut().expect("it was measured");
        let length_s = match levels["outage"].as_str() {
            "none" => return run,
            "killed, down 2 s" => 2.4,
            "paused 2 s" => 2.0,
            _ => 8.1,
        };
        let has_recovered = levels["outage"] != "black hole" || noise > 1.0;
        let length_s = length_s * (1.0 + 4.0 * (noise - 1.0));
        summary.outages = Some(outages(length_s, has_recovered.then_some(length_s + 4.0)));
        summary.tps *= 1.0 - length_s / 30.0;
        run
    });
    let record = super::runs::failover();
    for curve in overview.curves() {
        overview.add_curve(curve, &record);
    }
    overview
}

/// Rates up to 800 per second met the goal, 1,600 is open, 3,200 is missed.
pub fn rates() -> Overview {
    planned(RATES, |levels, noise| {
        let rate: f64 = levels["rate"].parse().expect("a number");
        let mut run = run(1, "prepared", 16, noise);
        run.plan.as_mut().expect("it was asked for").rate_tps = Some(rate);
        let summary = run.summary.as_mut().expect("it was measured");
        summary.tps = rate.min(2_100.0 * noise);
        let p99_us = 4_000.0 * noise / (1.0 - (rate / 2_000.0).min(0.97));
        let latency = summary.response_us.as_mut().expect("transactions succeeded");
        (latency.p50, latency.mean, latency.p99) = (p99_us / 4.0, p99_us / 3.0, p99_us);
        let verdict = match p99_us {
            ..19_000.0 => "met",
            ..21_000.0 => "undecided",
            _ => "missed",
        };
        let goal: stats::goals::Goal = "p99 < 20ms".parse().expect("it is a goal");
        let json = json!({
            "goal": serde_json::to_value(&goal).expect("JSON"), "verdict": verdict, "value": p99_us,
            "low": p99_us * 0.92, "high": p99_us * 1.1, "method": "blocks", "transactions": 6_000,
            "uncompleted": 3, "needed_s": null,
        });
        summary.goals = vec![serde_json::from_value(json).expect("it is a result")];
        let missed_share = (1.0 - summary.tps / rate).max(0.0);
        summary.service_level = Some(ServiceLevel { kept: missed_share < 0.01, missed_share });
        run
    })
}

pub fn factorial() -> Overview {
    let both = |work_mem, commit| if work_mem && commit { 1_000.0 } else { 500.0 };
    overview_by(effects::SETTINGS, effects::settings(both))
}

pub fn one_repeat() -> Overview {
    let mut once = effects::settings(|work_mem, _| if work_mem { 1_000.0 } else { 500.0 });
    once.trials.retain(|trial| trial.repeat == 1);
    overview_by(&effects::SETTINGS.replace("repeats = 3", "repeats = 1"), once)
}

pub fn screening(noise: f64) -> Overview {
    overview_by(effects::SCREENING, effects::screening(noise))
}

pub fn steps() -> Overview {
    Overview::new(vec![from_store("pgmeter-results", stored_steps())], None)
}

pub fn queries() -> Overview {
    query_experiments::experiment()
}
