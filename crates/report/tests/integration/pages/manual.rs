//! The manual's tables of figures have all figures of runs, comparisons, query sets and experiments, and no others.
//! Definitions of runs are those of the table of metrics; the texts of the others are compared with nothing.

use std::collections::{BTreeMap, BTreeSet};

use results::ComparedMetric;
use serde_json::Value;

use crate::pages::{effects, experiment, queries};

#[test]
fn the_manual_has_the_table_of_metrics() {
    let manual = include_str!("../../../../../docs/reports.md");
    let table = pgmeter_report::metrics_reference();
    assert!(manual.contains(&table), "docs/reports.md should have:\n{table}");
}

/// The cells of the rows of a section of the manual, by the name in the first one.
fn rows_of<'a>(manual: &'a str, heading: &str) -> BTreeMap<&'a str, Vec<&'a str>> {
    let (_, section) = manual.split_once(heading).expect(heading);
    let section = section.split("\n#").next().unwrap_or_default();
    let cells = |line: &'a str| line.strip_prefix("| `")?.strip_suffix(" |")?.split_once("` | ");
    let rows = section.lines().filter_map(cells);
    let mut found = BTreeMap::new();
    for (name, rest) in rows {
        let cells: Vec<&str> = rest.split(" | ").collect();
        assert!(cells.iter().all(|cell| !cell.trim().is_empty()), "{name} has an empty cell");
        assert!(found.insert(name, cells).is_none(), "{name} has two rows");
    }
    found
}

#[test]
fn the_manual_says_of_each_figure_what_it_leaves_out_and_when_it_is_not_shown() {
    let manual = include_str!("../../../../../docs/statistics.md");
    let figures = rows_of(manual, "### Figures of runs\n");
    let reference = pgmeter_report::metrics_reference();
    let mut metrics = BTreeMap::new();
    for line in reference.lines().skip(2) {
        let (name, rest) = line.trim_start_matches("| `").split_once('`').expect("a name");
        let definition = rest.trim_end_matches(" |").rsplit(" | ").next().expect("a definition");
        metrics.insert(name, definition);
    }
    assert_eq!(figures.keys().collect::<Vec<_>>(), metrics.keys().collect::<Vec<_>>());
    for (name, cells) in &figures {
        assert_eq!((cells.len(), cells[0]), (3, metrics[name]), "{name}");
    }
    let compared = rows_of(manual, "### Figures of comparisons\n");
    let mut names: Vec<_> = ComparedMetric::ALL.iter().map(|metric| metric.name()).collect();
    names.sort_unstable();
    assert_eq!(compared.keys().copied().collect::<Vec<_>>(), names);
    assert!(compared.values().all(|cells| cells.len() == 3), "{compared:?}");
}

/// Names of the numbers of a document, at any depth, and of the means with their intervals.
fn numbers<'v>(value: &'v Value, found: &mut BTreeSet<&'v str>) {
    match value {
        Value::Object(fields) => {
            let is_figure = |value: &Value| value.is_number() || value["mean"].is_number();
            found.extend(fields.iter().filter(|(_, value)| is_figure(value)).map(|(name, _)| name.as_str()));
            fields.values().for_each(|value| numbers(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| numbers(value, found)),
        _ => {}
    }
}

fn assert_documented(heading: &str, documents: &[Value], parameters: &[&str]) {
    let mut found = BTreeSet::new();
    documents.iter().for_each(|document| numbers(document, &mut found));
    for parameter in parameters {
        assert!(found.remove(parameter), "{parameter} is no number of a document");
    }
    let manual = include_str!("../../../../../docs/statistics.md");
    let rows = rows_of(manual, heading);
    assert_eq!(rows.keys().copied().collect::<Vec<_>>(), found.into_iter().collect::<Vec<_>>());
    assert!(rows.values().all(|cells| cells.len() == 3), "{rows:?}");
}

#[test]
fn the_manual_says_it_of_each_figure_of_query_sets() {
    let parameters = ["scale", "stream_count", "repeats", "limit_ms", "stream", "expected_rows"];
    let of_regressions = ["limit", "false_discovery_rate", "sequences"];
    let parameters = [&parameters[..], &of_regressions[..]].concat();
    assert_documented("### Figures of query sets\n", &queries::documents(), &parameters);
}

#[test]
fn the_manual_says_it_of_each_figure_of_experiments() {
    let mut documents = [experiment::stored_json(), experiment::steps_json(), effects::json()];
    for document in &mut documents {
        for trial in document["trials"].as_array_mut().expect("a list") {
            // Each trial has the figures of its record.
            *trial = Value::Null;
        }
        for cell in document["cells"].as_array_mut().expect("a list") {
            // These are the figures of runs.
            (cell["waits"], cell["figures"]) = (Value::Null, Value::Null);
        }
    }
    assert_documented("### Figures of experiments\n", &documents, &["number"]);
}
