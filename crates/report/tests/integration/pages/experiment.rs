//! Whole experiments in all formats: what the tables say of cells, ratios, marks and losses, and the page in a browser.
//! The trials are made here; the statistics behind are tested where they are.

use std::collections::BTreeMap;
use std::path::Path;

use ::experiment::{Experiment, Plan, Profile, design};
use pgmeter_report::TextStyle;
use pgmeter_report::experiment::{FromStore, Overview};
use results::{
    Annotation, StepResult, StepTime, StepsRecord, StoredExperiment, StoredRun, StoredTrial, TableSizes,
    TrialStatus, WaitShare, Warning,
};
use testkit::extent::{choose, is_all};

use crate::pages::browser::{artefact, assert_quiet, browser, marks};
use crate::pages::example::{self, Example};
use crate::pages::forms::experiment;
use crate::pages::html::HOSTILE;

pub const FILE: &str = r#"
name = "clients"
title = "More clients, more throughput, up to a point"
source = "An example (A8)"
[load]
script = "select-only"
duration = "1s"
[factors]
protocol = ["simple", "prepared"]
clients = [1, 8, 64]
[design]
repeats = 3
base = { protocol = "simple" }
[[chart]]
x = "clients"
y = "tps"
series = "protocol"
x_scale = "log"
[[chart]]
x = "protocol"
y = "mean"
facet = "clients"
[[difference]]
name = "not preparing"
metric = "mean"
of = { protocol = "simple", clients = 1 }
minus = { protocol = "prepared", clients = 1 }
[[ratio]]
name = "preparing"
of = { protocol = "prepared", clients = 8 }
to = { protocol = "simple" }
"#;

/// What clients and protocol do to throughput and mean latency, without noise.
fn figures(protocol: &str, clients: f64) -> (f64, f64) {
    let tps = 12_000.0 * clients / (clients + 6.0) * if protocol == "prepared" { 1.25 } else { 1.0 };
    (tps, clients / tps * 1e6)
}

pub(crate) fn run(number: i64, protocol: &str, clients: u32, noise: f64) -> StoredRun {
    let record = example::full(&Example { seconds: 1, tps: 100.0, ..Example::default() });
    let (mut summary, observation) = (record.summary, record.observation.expect("somebody looked"));
    let (tps, mean) = figures(protocol, f64::from(clients));
    summary.tps = tps * noise;
    let latency = summary.response_us.as_mut().expect("transactions succeeded");
    (latency.mean, latency.p50, latency.p99) = (mean / noise, mean * 0.9 / noise, mean * 4.0 / noise);
    summary.other_endings.all_us = None;
    let mut plan = record.plan;
    plan.clients = clients;
    let mut waits = observation.waits.expect("they were seen");
    waits.top = [("Lock", "transactionid", 0.55), ("CPU", "running", 0.3), ("IO", "WALSync", 0.15)]
        .map(|(event_type, event, share)| WaitShare {
            event_type: event_type.to_owned(),
            event: event.to_owned(),
            seen: 10,
            share,
            interval: None,
        })
        .to_vec();
    StoredRun {
        backend_memory: None,
        standbys: results::StandbyFigures::default(),
        run: number,
        plan: Some(plan),
        summary: Some(summary),
        environment: Some(record.environment),
        waits: Some(waits),
        costs: observation.per_transaction,
        ceilings: observation.ceilings,
        sizes: Some(TableSizes { table_bytes: 2e9, index_bytes: 1e9 }),
        warnings: vec![Warning::OtherPrograms { others_share: number as f64 / 100.0 }],
        pgmeter_version: record.pgmeter_version,
    }
}

/// Three repeats of six cells, of which one trial failed and one is still to be made.
pub(crate) fn stored() -> StoredExperiment {
    let mut trials = Vec::new();
    for (repeat, of_block) in [(1, 1.0), (2, 0.9), (3, 1.1)] {
        for protocol in ["simple", "prepared"] {
            for clients in [1, 8, 64] {
                let number = i64::try_from(trials.len()).expect("they are few") + 1;
                let levels = [("protocol", protocol.to_owned()), ("clients", clients.to_string())];
                trials.push(StoredTrial {
                    factors: levels.map(|(name, level)| (name.to_owned(), level)).into_iter().collect(),
                    repeat,
                    status: TrialStatus::Complete,
                    reason: None,
                    run: Some(run(number, protocol, clients, of_block)),
                    steps: None,
                    search: None,
                });
            }
        }
    }
    (trials[16].status, trials[16].reason) = (TrialStatus::Failed, Some("deadlock detected".to_owned()));
    (trials[17].status, trials[17].run) = (TrialStatus::Planned, None);
    StoredExperiment {
        experiment: 3,
        annotation: Annotation::default(),
        name: "clients".to_owned(),
        profile: "full".to_owned(),
        started_at: "2026-11-21T12:03:01.250Z".to_owned(),
        files: BTreeMap::from([("clients.toml".to_owned(), FILE.to_owned())]),
        design: None,
        trials,
    }
}

pub(crate) const WIDE: TextStyle = TextStyle { colour: false, width: 400 };

pub(crate) fn overview(stored: StoredExperiment) -> Overview {
    overview_by(FILE, stored)
}

pub(crate) fn overview_by(text: &str, stored: StoredExperiment) -> Overview {
    let file = Experiment::parse(text, "clients.toml", Path::new(""), Profile::Full).expect("it is a file");
    let plan = Plan::of(&file, "clients.toml", Path::new("")).expect("it can be planned");
    Overview::new(vec![from_store("pgmeter-results", stored)], Some(&design(&file, &plan)))
}

pub(crate) fn from_store(directory: &str, stored: StoredExperiment) -> FromStore {
    let store = Path::new(directory).join("results.sqlite");
    FromStore { is_default: directory == "pgmeter-results", store, stored }
}

#[test]
fn text_has_cells_in_the_order_of_the_file_with_ratios_within_repeats_marks_and_losses() {
    let text = experiment::text(&overview(stored()), &TextStyle { colour: false, width: 100 });
    insta::assert_snapshot!(text);
    assert!(text.lines().all(|line| line.chars().count() <= 100));
}

#[test]
fn nothing_is_marked_as_the_best_that_another_set_of_repeats_would_not_find_again() {
    let mut noisy = stored();
    for (number, trial) in noisy.trials.iter_mut().enumerate() {
        if let Some(summary) = trial.run.as_mut().and_then(|run| run.summary.as_mut()) {
            // In each repeat others are fast.
            let noise = [0.02, 7.0, 0.3, 25.0, 0.08, 90.0, 11.0][number % 7];
            summary.tps *= noise;
            summary.response_us.as_mut().expect("transactions succeeded").mean *=
                [30.0, 0.1, 4.0][number % 5 % 3];
        }
    }
    let overview = overview(noisy);
    let json: serde_json::Value = serde_json::from_str(&experiment::json(&overview)).unwrap();
    for cell in json["cells"].as_array().unwrap() {
        assert_eq!(cell["marks"], serde_json::json!([]), "{cell}");
    }
    assert!(!experiment::html(&overview).contains("Most transactions per second: "));
    assert!(experiment::html(&overview_by(FILE, stored())).contains("Most transactions per second: "));
}

#[test]
fn a_call_that_does_a_thousand_is_compared_by_what_it_does() {
    let levels = "[levels.protocol.prepared]\nprotocol = \"prepared\"\noperations = 1000\n[design]";
    let overview = overview_by(&FILE.replace("[design]", levels), stored());
    let text = experiment::text(&overview, &TextStyle { colour: false, width: 100 });
    assert!(text.contains("operations/s") && text.contains("×1,250"), "{text}");
    let page = experiment::html(&overview).replace('\u{a0}', " ");
    assert!(page.contains("Most operations per second: "), "the headline counts transactions");
    assert!(experiment::markdown(&overview).contains("| operations/s | "), "no column of operations");
}

#[test]
fn a_narrow_terminal_loses_columns_and_no_line_is_longer() {
    for width in [64, 80] {
        let text = experiment::text(&overview(stored()), &TextStyle { colour: false, width });
        let table = text.lines().skip_while(|line| !line.contains("tps")).take(7);
        assert!(table.clone().all(|line| line.chars().count() <= width), "{text}");
        assert!(table.clone().count() == 7 && text.contains("prepared, 64"), "{text}");
    }
}

#[test]
fn json_has_trials_with_status_factors_and_repeat_and_cells_with_intervals() {
    let json: serde_json::Value = serde_json::from_str(&experiment::json(&overview(stored()))).unwrap();
    let trials = json["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 18);
    assert_eq!(trials[0]["status"], "complete");
    assert_eq!(trials[0]["factors"], serde_json::json!({"protocol": "simple", "clients": "1"}));
    assert!(trials[0]["repeat"] == 1 && trials[17]["status"] == "planned");
    assert!(trials[16]["reason"] == "deadlock detected" && trials[16]["figures"].is_null());
    let cells = json["cells"].as_array().unwrap();
    let last = &cells[5];
    assert!(last["trials"] == 3 && last["complete"] == 2);
    let ratio = &last["ratios"]["tps"];
    // What a repeat does to all its cells is in no ratio.
    assert!((ratio["ratio"].as_f64().unwrap() - 1.25).abs() < 1e-9 && ratio["within_repeats"] == true);
    assert!(ratio["high"].as_f64().unwrap() - ratio["low"].as_f64().unwrap() < 1e-6);
    assert_eq!(last["base"], serde_json::json!({"protocol": "simple", "clients": "64"}));
    assert!(cells[0]["base"].is_null());
    assert_eq!(cells[0]["marks"], serde_json::json!(["lowest mean latency"]));
    assert_eq!(cells[1]["marks"], serde_json::json!(["compromise"]));
    assert_eq!(json["differences"][0]["name"], "not preparing");
    let [named] = json["ratios"].as_array().unwrap().as_slice() else { panic!("{}", json["ratios"]) };
    assert!(named["name"] == "preparing" && named["metric"] == "tps" && named["within_repeats"] == true);
    assert_eq!(named["factors"], serde_json::json!({"protocol": "prepared", "clients": "8"}));
    assert_eq!(named["to"], serde_json::json!({"protocol": "simple", "clients": "8"}));
    assert!((named["ratio"].as_f64().unwrap() - 1.25).abs() < 1e-9);
}

#[test]
fn each_cell_is_compared_with_the_level_before_along_the_first_charts_axis() {
    let json: serde_json::Value = serde_json::from_str(&experiment::json(&overview(stored()))).unwrap();
    let cells = json["cells"].as_array().unwrap();
    assert!(cells[0]["previous"].is_null() && cells[3]["previous"].is_null());
    assert_eq!(cells[4]["previous"], serde_json::json!({"protocol": "prepared", "clients": "1"}));
    let gain = cells[2]["ratios_to_previous"]["tps"]["ratio"].as_f64().unwrap();
    assert!((gain - figures("simple", 64.0).0 / figures("simple", 8.0).0).abs() < 1e-9, "{gain}");
    // Two levels are no ladder.
    let two = overview_by(&FILE.replace("clients = [1, 8, 64]", "clients = [1, 8]"), {
        let mut stored = stored();
        stored.trials.retain(|trial| trial.factors["clients"] != "64");
        stored
    });
    let json: serde_json::Value = serde_json::from_str(&experiment::json(&two)).unwrap();
    assert!(json["cells"].as_array().unwrap().iter().all(|cell| cell["previous"].is_null()));
}

#[test]
fn the_same_experiment_from_two_stores_is_compared_between_the_hosts() {
    let mut faster = stored();
    for summary in faster.trials.iter_mut().filter_map(|trial| trial.run.as_mut()?.summary.as_mut()) {
        summary.tps *= 3.0;
    }
    let file = Experiment::parse(FILE, "clients.toml", Path::new(""), Profile::Full).unwrap();
    let plan = Plan::of(&file, "clients.toml", Path::new("")).unwrap();
    let both = vec![from_store("old", stored()), from_store("new", faster)];
    let both = Overview::new(both, Some(&design(&file, &plan)));
    let json: serde_json::Value = serde_json::from_str(&experiment::json(&both)).unwrap();
    let cells = json["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 12);
    // The hostnames are equal, so that the directories are the names.
    let of = |cell: &serde_json::Value| {
        ["protocol", "clients", "host"].map(|name| cell["factors"][name].as_str().unwrap().to_owned())
    };
    let cell = cells.iter().find(|cell| of(cell) == ["prepared", "8", "new"]).unwrap();
    assert_eq!(cell["base"]["host"], "new");
    assert!((cell["ratios"]["tps"]["ratio"].as_f64().unwrap() - 1.25).abs() < 1e-9);
    let between = &cell["ratios_to_first_host"]["tps"];
    assert!((between["ratio"].as_f64().unwrap() - 3.0).abs() < 1e-9, "{between}");
    // Repeats of two hosts are not the same repeat.
    assert!(between["within_repeats"] == false && between["low"].as_f64().unwrap() < 2.5, "{between}");
    let first = cells.iter().find(|cell| of(cell) == ["prepared", "8", "old"]).unwrap();
    assert!(first.get("ratios_to_first_host").is_none());
    // Figures of different hosts stand beside each other on a terminal.
    let text = experiment::text(&both, &TextStyle { colour: false, width: 100 });
    assert!(text.contains("ratio to old") && text.contains("×3.00"), "{text}");
    let svg = experiment::svg(&both);
    assert!(
        svg.contains("simple, new") && svg.contains("stroke-dasharray"),
        "lines of both hosts look alike"
    );
    assert!(experiment::csv(&both).lines().next().unwrap().contains(",protocol,clients,host,repeat,"));
}

#[test]
fn without_a_base_in_the_file_each_host_has_its_own_first_combination() {
    let mut faster = stored();
    for summary in faster.trials.iter_mut().filter_map(|trial| trial.run.as_mut()?.summary.as_mut()) {
        summary.tps *= 3.0;
    }
    let text = FILE.replace("base = { protocol = \"simple\" }\n", "");
    let file = Experiment::parse(&text, "clients.toml", Path::new(""), Profile::Full).unwrap();
    let plan = Plan::of(&file, "clients.toml", Path::new("")).unwrap();
    let both = vec![from_store("old", stored()), from_store("new", faster)];
    let both = Overview::new(both, Some(&design(&file, &plan)));
    let json: serde_json::Value = serde_json::from_str(&experiment::json(&both)).unwrap();
    for cell in json["cells"].as_array().unwrap().iter().filter(|cell| !cell["base"].is_null()) {
        assert_eq!(cell["base"]["host"], cell["factors"]["host"], "{cell}");
        assert_eq!((&cell["base"]["protocol"], &cell["base"]["clients"]), (&"simple".into(), &"1".into()));
    }
    let bases = json["cells"].as_array().unwrap().iter().filter(|cell| cell["base"].is_null());
    assert_eq!(bases.count(), 2);
}

#[test]
fn throughput_over_time_is_of_the_median_run_of_at_most_eight_cells() {
    let mut few = overview(stored());
    let runs: Vec<i64> = few.curves().iter().map(|curve| curve.run).collect();
    // Of three repeats the first is the median; of two the lower one counts.
    assert_eq!(runs, [1, 2, 3, 4, 11, 12]);
    assert!(!experiment::svg(&few).contains("Throughput over time"));
    let record = example::full(&Example { seconds: 20, ..Example::default() });
    for curve in few.curves() {
        few.add_curve(curve, &record);
    }
    let svg = experiment::svg(&few);
    assert!(svg.contains("Throughput over time") && svg.contains("all combinations"), "{svg}");

    let file = Experiment::parse(FILE, "clients.toml", Path::new(""), Profile::Full).unwrap();
    let plan = Plan::of(&file, "clients.toml", Path::new("")).unwrap();
    let mut faster = stored();
    for summary in faster.trials.iter_mut().filter_map(|trial| trial.run.as_mut()?.summary.as_mut()) {
        summary.tps *= 3.0;
    }
    let both = vec![from_store("old", stored()), from_store("new", faster)];
    let mut both = Overview::new(both, Some(&design(&file, &plan)));
    let chosen = both.curves();
    assert_eq!(chosen.len(), 8);
    // The base and slowest cell, and the fastest one.
    assert!(chosen.iter().any(|curve| (curve.store, curve.run) == (0, 1)), "{chosen:?}");
    assert!(chosen.iter().any(|curve| (curve.store, curve.run) == (1, 12)), "{chosen:?}");
    for curve in chosen {
        both.add_curve(curve, &record);
    }
    let told = "8 of 12 combinations: the base, the best, the worst and others evenly spread";
    assert!(experiment::html(&both).contains(told));
}

#[test]
fn csv_has_a_line_for_each_trial_and_a_column_for_each_factor() {
    let csv = experiment::csv(&overview(stored()));
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 19);
    assert!(
        lines[0].starts_with("experiment,profile,trial,protocol,clients,repeat,status,reason,run,tps,"),
        "{}",
        lines[0]
    );
    for column in
        ["response_mean_us", "wal_bytes_per_transaction", "failed_share", "server_cpu_us_per_transaction"]
    {
        assert!(lines[0].split(',').any(|it| it == column), "{column}");
    }
    let cells = lines[0].split(',').count();
    assert!(lines.iter().all(|line| line.split(',').count() == cells));
    assert!(lines[1].contains(",simple,1,1,complete,,1,") && lines[1].contains(",Lock:transactionid,0.55"));
    assert!(lines[17].contains("failed,deadlock detected,17,,"), "{}", lines[17]);
}

#[test]
fn markdown_and_page_say_the_same_and_nothing_breaks_out_of_them() {
    let overview = overview(stored());
    let (markdown, page) =
        (experiment::markdown(&overview), experiment::html(&overview).replace('\u{a0}', " "));
    for words in ["16 of 18 trials complete, 1 failed, 1 not run", "deadlock detected", "not preparing"] {
        assert!(markdown.contains(words) && page.contains(words), "{words}:\n{markdown}");
    }
    assert!(page.contains("pgmeter report 17 --format html") && page.contains("href=\"#cell-6\""));
    let mut hostile = stored();
    hostile.name = HOSTILE.to_owned();
    hostile.files = BTreeMap::from([(HOSTILE.to_owned(), HOSTILE.to_owned())]);
    for trial in &mut hostile.trials {
        trial.factors.insert(HOSTILE.to_owned(), HOSTILE.to_owned());
        trial.reason = Some(HOSTILE.to_owned());
    }
    let hostile = Overview::new(vec![from_store(HOSTILE, hostile)], None);
    let page = experiment::html(&hostile);

    assert!(!page.contains("<script>window.hostile") && !page.contains("<img"), "{page}");
    assert!(!experiment::markdown(&hostile).split("```").next().unwrap().contains("<script"));
    assert!(!experiment::svg(&hostile).contains("<script"));
}

#[test]
fn no_text_of_a_store_steers_a_terminal_or_is_a_formula() {
    const STEERING: &str = "=a\x1b]0;title\x07\u{9b}8m\u{202e}\r";
    let read = |stored| Overview::new(vec![from_store(STEERING, stored)], None);
    for (mut stored, is_of_steps) in [(stored(), false), (stored_steps(), true)] {
        stored.name = STEERING.to_owned();
        stored.profile = STEERING.to_owned();
        stored.started_at = STEERING.to_owned();
        stored.files = BTreeMap::from([(STEERING.to_owned(), STEERING.to_owned())]);
        for trial in &mut stored.trials {
            trial.factors = trial
                .factors
                .iter()
                .map(|(name, level)| (format!("{STEERING}{name}"), format!("{STEERING}{level}")))
                .collect();
            trial.reason = Some(STEERING.to_owned());
            for step in trial.steps.iter_mut().flat_map(|record| &mut record.steps) {
                step.name += STEERING;
            }
            for wait in
                trial.run.iter_mut().filter_map(|run| run.waits.as_mut()).flat_map(|waits| &mut waits.top)
            {
                wait.event_type = STEERING.to_owned();
                wait.event += STEERING;
            }
        }
        let overview = read(stored);
        let csv = experiment::csv(&overview);
        assert!(!csv.lines().any(|line| line.split(',').any(|cell| cell.starts_with('='))), "{csv}");
        let forms = [
            ("text", experiment::text(&overview, &WIDE)),
            ("markdown", experiment::markdown(&overview)),
            ("page", experiment::html(&overview)),
            ("svg", experiment::svg(&overview)),
            ("csv", csv),
            ("json", experiment::json(&overview)),
        ];
        for (form, shown) in forms {
            let steers = |character| results::steers(character) && character != '\n' && character != '\t';
            assert!(!shown.contains(steers), "{form} of steps: {is_of_steps}: {shown:?}");
        }
    }
}

#[test]
fn an_experiment_of_which_nothing_was_made_is_a_report_too() {
    let mut nothing = stored();
    for trial in &mut nothing.trials {
        (trial.status, trial.run, trial.reason) = (TrialStatus::Planned, None, None);
    }
    let nothing = overview(nothing);
    let text = experiment::text(&nothing, &TextStyle { colour: false, width: 80 });
    assert!(text.contains("0 of 18 trials complete, 18 not run"), "{text}");
    assert!(experiment::svg(&nothing).contains("There is nothing to draw"));
    assert!(experiment::png(&nothing).is_ok() && experiment::html(&nothing).contains("18 not run"));
}

#[test]
fn servers_that_were_built_differently_and_hosts_that_changed_are_named() {
    let mut mixed = stored();
    for trial in mixed.trials.iter_mut().take(6) {
        let environment = trial.run.as_mut().and_then(|run| run.environment.as_mut()).expect("it ran");
        environment.host.kernel = "Linux 5.10.0 x86_64".to_owned();
        let server = environment.server.as_mut().expect("it answered");
        server.version = "16.4".to_owned();
        server.debug_assertions = Some(true);
        server.build.version =
            "PostgreSQL 16.4 on x86_64-pc-linux-gnu, compiled by clang 19.1, 64-bit".to_owned();
    }
    let mixed = overview(mixed);
    let text = experiment::text(&mixed, &WIDE);
    assert!(text.contains("2 builds of 16.4 and 18.1 differ in compiler and platform ("), "{text}");
    assert!(text.contains("compiled by clang 19.1") && text.contains(" and assertions; the page"), "{text}");
    let page = experiment::html(&mixed);
    assert!(page.contains("assertions (16.4: with assertions; 18.1: without assertions)"), "{page}");
    assert!(text.contains("The kernel was not the same in all trials"), "{text}");
    assert!(
        text.contains("In all complete trials: Other programs used 1.0 % to 16 % of this host's CPU time"),
        "{text}"
    );
}

#[test]
fn a_figure_that_a_complete_trial_lacks_is_shown_as_unknown() {
    const CPU: &str = "server_cpu_us_per_transaction";
    let mut partly = stored();
    let costs = &mut partly.trials[0].run.as_mut().expect("it ran").costs;
    (costs.server_cpu_us, costs.backend_user_cpu_us, costs.backend_system_cpu_us) = (None, None, None);
    let partly = overview(partly);
    let json: serde_json::Value = serde_json::from_str(&experiment::json(&partly)).unwrap();
    assert!(json["cells"][0]["figures"][CPU].is_null() && json["cells"][1]["figures"][CPU]["repeats"] == 3);
    let trials = &json["trials"];
    assert!(trials[0]["figures"][CPU].is_null() && trials[6]["figures"][CPU].is_number(), "{trials}");
    let page = experiment::html(&partly).replace('\u{a0}', " ");
    for report in [experiment::text(&partly, &WIDE), experiment::markdown(&partly), page] {
        let told = "some of the trials have no value: the server CPU per transaction of 1 combination.";
        assert!(report.contains(told), "{report}");
    }
}

#[test]
fn figures_that_the_file_names_come_first_in_all_formats_and_a_rate_is_not_judged() {
    let file = FILE.replace("y = \"mean\"", "y = \"stddev\"");
    let file = file.replace("metric = \"mean\"", "metric = \"cycle\"");
    let mut scheduled = stored();
    for run in scheduled.trials.iter_mut().filter_map(|trial| trial.run.as_mut()) {
        run.plan.as_mut().expect("it was asked for").rate_tps = Some(100.0);
    }
    let overview = overview_by(&file, scheduled);
    let text = experiment::text(&overview, &WIDE);
    let header = text.lines().find(|line| line.contains("cycle, ms")).expect("there is a table");
    let places = ["stddev", "cycle", "mean"].map(|word| header.find(word).expect(word));
    assert!(places.is_sorted() && header.matches("stddev").count() == 1, "{header}");
    assert!(!text.contains('▲') && !text.contains('◆') && text.contains("▼ lowest mean latency"), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("The throughput was set by a rate, so it is not judged."), "{text}");
    let difference = text.lines().find(|line| line.contains("not preparing")).expect("it is named");
    assert!(difference.contains("time from one transaction to the next"), "{text}");
    assert!(!experiment::html(&overview).contains("Most transactions per second"));
    // The same columns in each format.
    let markdown = experiment::markdown(&overview);
    assert!(
        markdown.contains("| protocol, clients | stddev, ms | cycle, ms | mean, ms | p99, ms |"),
        "{markdown}"
    );
    let page = experiment::html(&overview);
    let places = ["stddev, ms</th>", "cycle, ms</th>", "mean, ms</th>", "p99, ms</th>"]
        .map(|column| page.find(column).expect(column));
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn servers_that_stood_one_at_a_time_are_not_compared_within_repeats() {
    let mut apart = stored();
    apart.trials.sort_by_key(|trial| trial.factors["protocol"].clone());
    let apart = overview(apart);
    let text = experiment::text(&apart, &WIDE);
    assert!(text.contains("The servers were taken one after another") && text.contains("Welch's"), "{text}");
    assert!(text.contains("by that of protocol simple, all other factors equal. "), "{text}");
    let json: serde_json::Value = serde_json::from_str(&experiment::json(&apart)).unwrap();
    assert_eq!(json["experiment"]["repeats_are_blocks"], false);
}

#[test]
fn that_there_is_no_ratio_of_nothing_is_said() {
    let mut stalled = stored();
    let run = stalled.trials[3].run.as_mut().expect("it ran");
    run.summary.as_mut().expect("it was measured").tps = 0.0;
    let text = experiment::text(&overview(stalled), &WIDE);
    let told = "1 combination has no ratio: a repeat of it or of its base has the value 0.";
    assert!(text.contains(told), "{text}");
}

/// Two cells of two steps each, of which one is cut off at its limit.
pub fn stored_steps() -> StoredExperiment {
    let mut stored = stored();
    stored.trials.truncate(4);
    for (number, trial) in stored.trials.iter_mut().enumerate() {
        let index = if number % 2 == 0 { "none" } else { "hash" };
        trial.factors = BTreeMap::from([("index".to_owned(), index.to_owned())]);
        trial.repeat = u32::try_from(number / 2).expect("it is small") + 1;
        let ran = trial.run.take().expect("it ran");
        let step = |name: &str, seconds: u64, limited: bool| {
            let time = StepTime {
                duration_us: seconds * 1_000_000,
                measured_us: seconds * 1_000_000,
                limited,
                wal_bytes: Some(1_000_000 * seconds),
                ..StepTime::default()
            };
            StepResult { times: vec![time], ..StepResult::new(name.to_owned(), None) }
        };
        let plan = ran.plan.expect("it was asked for");
        trial.steps = Some(StepsRecord {
            connection: plan.connection,
            environment: ran.environment.expect("it is known"),
            steps: vec![step("load", 2, false), step("query", 4 + number as u64, number % 2 == 1)],
            ..testkit::records::steps()
        });
    }
    stored
}

pub(crate) fn stored_json() -> serde_json::Value {
    serde_json::from_str(&experiment::json(&overview(stored()))).expect("it is JSON")
}

pub(crate) fn steps_json() -> serde_json::Value {
    let mut stored = stored_steps();
    for step in stored.trials.iter_mut().filter_map(|trial| trial.steps.as_mut()).flat_map(|it| &mut it.steps)
    {
        for time in &mut step.times {
            (time.backend_user_us, time.backend_system_us) = (Some(20_000), Some(10_000));
            (time.table_bytes, time.index_bytes) = (Some(8_192), Some(16_384));
        }
    }
    let steps = Overview::new(vec![from_store("pgmeter-results", stored)], None);
    serde_json::from_str(&experiment::json(&steps)).expect("it is JSON")
}

#[test]
fn steps_are_stacked_and_those_at_their_limit_are_marked() {
    let steps = Overview::new(vec![from_store("pgmeter-results", stored_steps())], None);
    let text = experiment::text(&steps, &TextStyle { colour: false, width: 110 });
    insta::assert_snapshot!(text);
    let page = experiment::html(&steps);
    assert_eq!(
        page.matches("fill=\"var(--run-1)\"").count(),
        3,
        "two bars and the legend have the second step"
    );
    assert!(page.contains("query*") && page.contains("Cancelled at its limit"), "{page}");
    let csv = experiment::csv(&steps);
    assert!(csv.lines().count() == 9 && csv.contains(",query,1,5000000,5000000,true,,5000000,"), "{csv}");
    let json: serde_json::Value = serde_json::from_str(&experiment::json(&steps)).unwrap();
    assert_eq!(json["trials"][0]["steps"][1]["times"][0]["duration_us"], 4_000_000);
    let [base, cell] = [&json["cells"][0], &json["cells"][1]];
    assert!(cell["steps"][1]["limited"].is_number() && cell["complete"] == 2);
    assert!(cell["figures"]["wal_bytes"]["repeats"] == 2);
    assert!(cell["figures"]["wal_bytes_per_transaction"].is_null());
    // 5 s and 7 s beside 4 s and 6 s.
    let ratio = cell["steps"][1]["ratios"]["duration_us"]["ratio"].as_f64().unwrap();
    assert!((ratio - (5.0 + 7.0) / (4.0 + 6.0)).abs() < 1e-9);
    assert_eq!(base["steps"][1]["ratios"], serde_json::json!({}));
    assert!(page.replace('\u{a0}', " ").contains("×1.20"), "{page}");
    assert!(experiment::svg(&steps).contains(">load<"));
    assert_is_picture(&experiment::png(&steps).expect("there is memory"));
    let markdown = experiment::markdown(&steps);
    assert!(markdown.contains("## Steps") && markdown.contains("| ×1.20 |"), "{markdown}");
    assert!(!markdown.contains("| waits |") && !markdown.contains("| best |"), "{markdown}");
}

#[test]
fn pictures_have_a_panel_for_each_part_and_no_mark_is_nowhere() {
    let overview = overview(stored());
    let svg = experiment::svg(&overview);
    assert!(svg.starts_with("<svg xmlns=") && !svg.contains("NaN") && !svg.contains("inf"));
    assert_eq!(svg.matches("Throughput by clients and protocol").count(), 1);
    assert_eq!(svg.matches("Mean latency by protocol").count(), 3, "a panel for each number of clients");
    // It has the shapes of the other one. After a change, a smaller picture is drawn by the test of steps.
    if is_all() {
        let png = experiment::png(&overview).unwrap();
        std::fs::write(artefact("experiment.png"), &png).expect("it can be written");
        assert_is_picture(&png);
    }
}

/// A PNG that is 2,000 pixels wide.
fn assert_is_picture(png: &[u8]) {
    assert_eq!((&png[1..4], &png[16..20]), (&b"PNG"[..], &[0, 0, 7, 208][..]));
}

#[test]
fn the_page_of_an_experiment_has_its_charts_in_every_width_and_theme_and_is_quiet() {
    let Some(mut browser) = browser() else { return };
    let path = artefact("experiment.html");
    std::fs::write(&path, experiment::html(&overview(stored()))).expect("it can be written");
    // After a change, the gallery has an experiment in the other windows.
    let windows = [(1280, true), (1280, false), (375, false)];
    for (width, dark) in windows.into_iter().take(choose(1, 3)) {
        browser.window(width, 900, dark);
        browser.open(&path);
        let theme = if dark { "dark" } else { "light" };
        let marks = marks(&mut browser, &format!("experiment-{width}-{theme}.png"));
        let is_it = |(title, ..): &&(String, _, _)| title == "Throughput by clients and protocol";
        let (_, drawn, colours) = marks.iter().find(is_it).expect("it is drawn");
        assert!(*drawn > 1_000 && *colours > 10, "{marks:?}");
        let bars = "document.querySelectorAll('#charts .bar-row').length";
        assert_eq!(browser.value(bars), 6, "mean latencies of six cells, whose sizes are the same");
        assert_eq!(browser.value("document.querySelectorAll('#waits .bar-row').length"), 6);
        let wide = browser.value("[document.documentElement.scrollWidth, innerWidth]");
        assert_eq!(wide[0], wide[1], "the page scrolls sideways at {width} pixels");
        assert_quiet(&browser);
    }
    browser.value("document.querySelector('#charts .plot').focus({focusVisible: true})");
    browser.call("Input.dispatchKeyEvent", serde_json::json!({"type": "keyDown", "key": "Home"}));
    let said = browser.value("document.querySelector('.said').textContent");
    let said = said.as_str().unwrap_or_default().to_owned();
    assert!(said.starts_with("clients 1: simple 1,7") && said.contains('▼'), "{said}");
    browser.value("document.querySelector('a[href=\"#cell-6\"]').click()");
    let open =
        browser.value("new Promise(done => setTimeout(() => done(document.getElementById('cell-6').open)))");
    assert_eq!(open, true, "a link to a cell unfolds it");
    assert_quiet(&browser);
}
