//! Reports of experiments whose trials are query sets: a row for each query, and ratios of combinations in all formats.
//! The records are those of the tests of single query sets.

use std::collections::BTreeMap;
use std::fs;

use pgmeter_report::experiment::Overview;
use pgmeter_report::{Format, Subject, formatted};
use results::{StoredExperiment, StoredTrial, TrialStatus};
use serde_json::Value;
use testkit::extent::choose;

use crate::pages::browser::{artefact, assert_quiet, browser};
use crate::pages::queries::STYLE;
use crate::pages::query_sets::{self, Set, limit, step};

/// Two versions × three sets of indexes, each measured twice.
pub fn experiment() -> Overview {
    let mut trials = Vec::new();
    for repeat in [1, 2] {
        for (version, older) in [("16.4", true), ("18.1", false)] {
            for indexes in ["none", "keys", "keys and foreign keys"] {
                let factor: fn(u64) -> f64 = match (older, indexes) {
                    (true, "none") => |_| 1.0,
                    (true, _) => |number| if number % 3 == 0 { 0.5 } else { 1.05 },
                    (false, "none") => |number| if number % 4 == 0 { 1.4 } else { 0.9 },
                    (false, _) => |number| if number % 3 == 0 { 0.4 } else { 0.95 },
                };
                let mut record = query_sets::record(&Set { version, repeats: 2, factor, ..Set::default() });
                for time in record.steps.iter_mut().flat_map(|step| &mut step.times) {
                    time.duration_us += u64::from(repeat) * 100;
                }
                if older && indexes == "none" {
                    limit(&mut record, "q20", 1);
                }
                if !older && indexes == "keys" {
                    step(&mut record, "q3").times.iter_mut().for_each(|time| time.rows = Some(4));
                }
                let levels = [("version", version), ("indexes", indexes)];
                trials.push(StoredTrial {
                    factors: levels.map(|(name, level)| (name.to_owned(), level.to_owned())).into(),
                    repeat,
                    status: TrialStatus::Complete,
                    reason: None,
                    run: None,
                    steps: Some(record),
                    search: None,
                });
            }
        }
    }
    let stored = StoredExperiment { trials, files: BTreeMap::new(), ..crate::pages::experiment::stored() };
    Overview::new(vec![crate::pages::experiment::from_store("pgmeter-results", stored)], None)
}

#[test]
fn an_experiment_of_query_sets_has_a_row_for_each_query_and_sorted_ratios_of_each_combination() {
    let overview = experiment();
    let text = formatted(Subject::Experiment(&overview), Format::Text, &STYLE).unwrap();
    let text = String::from_utf8(text).unwrap();
    insta::assert_snapshot!(text);
    let page =
        String::from_utf8(formatted(Subject::Experiment(&overview), Format::Html, &STYLE).unwrap()).unwrap();
    let scaled = page.matches("bar-list scaled").count();
    assert_eq!(scaled, 6, "the effects, and the ratios of each combination but the base");
    assert!(page.contains("not comparable with published") && page.contains("q3 (3 and 4 rows)"), "{page}");
    assert!(
        page.replace('\u{a0}', " ").contains("× is the ratio to the same query of the first combination"),
        "{page}"
    );
    let csv =
        String::from_utf8(formatted(Subject::Experiment(&overview), Format::Csv, &STYLE).unwrap()).unwrap();
    assert!(
        csv.lines()
            .next()
            .unwrap()
            .ends_with(",stream,stream_repeat,rows,checksum,answer,temp_bytes,workers_cpu_us,disk_blocks")
    );
    assert_eq!(csv.lines().count(), 1 + 12 * 22 * 2, "a line for each execution");
    let Some(mut browser) = browser() else { return };
    let path = artefact("queries-experiment.html");
    fs::write(&path, page).expect("it can be written");
    // A page that scrolls sideways does it in the narrow window.
    for width in [1280, 375].into_iter().skip(choose(1, 0)) {
        browser.window(width, 900, false);
        browser.open(&path);
        browser.keep_screenshot(&artefact(&format!("queries-experiment-{width}.png")));
        let wide = browser.value("[document.documentElement.scrollWidth, innerWidth]");
        assert_eq!(wide[0], wide[1], "the page scrolls sideways at {width} pixels");
        assert_quiet(&browser);
    }
}

#[test]
fn the_ratio_of_a_combination_is_the_quotient_of_the_total_durations_beside_it() {
    let trial = |version: &str, repeat: u32, factor: u64| {
        let mut record = query_sets::record(&Set { version: "18.1", ..Set::default() });
        for time in record.steps.iter_mut().flat_map(|step| &mut step.times) {
            time.duration_us *= factor;
        }
        StoredTrial {
            factors: [("version".to_owned(), version.to_owned())].into(),
            repeat,
            status: TrialStatus::Complete,
            reason: None,
            run: None,
            steps: Some(record),
            search: None,
        }
    };
    // Means: 2 and 3. The geometric mean of the ratios of the repeats is the root of 5.
    let trials = vec![trial("17", 1, 1), trial("17", 2, 3), trial("18", 1, 5), trial("18", 2, 1)];
    let stored = StoredExperiment { trials, files: BTreeMap::new(), ..crate::pages::experiment::stored() };
    let overview = Overview::new(vec![crate::pages::experiment::from_store("pgmeter-results", stored)], None);
    let json = formatted(Subject::Experiment(&overview), Format::Json, &STYLE).expect("there is memory");
    let json: Value = serde_json::from_slice(&json).expect("it is JSON");
    let of_18 = json["cells"].as_array().expect("cells").iter().find(|it| it["factors"]["version"] == "18");
    let ratio = of_18.expect("it is there")["ratios"]["duration_us"]["ratio"].as_f64().expect("a ratio");
    assert!((ratio - 1.5).abs() < 1e-9, "{ratio}");
    let text = formatted(Subject::Experiment(&overview), Format::Text, &STYLE).expect("there is memory");
    let text = String::from_utf8(text).expect("it is text");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("The ratio to the base divides the total duration of all queries by"), "{text}");
}
