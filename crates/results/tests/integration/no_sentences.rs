//! No sentence is stored: a record holds kinds and figures, and `report` makes the sentences. The JSON Schema, which is
//! derived from the types, lists every text of a record: names and values, and texts from outside (`SafeText`). A new text
//! in a record has to be added here, with a reason to be there.

use std::collections::BTreeSet;

use pgmeter_results::{ComparisonNote, Record};
use schemars::schema_for;
use serde_json::{Value, json};

/// The kinds that sentences are made of: texts in them are short names, or come from outside.
const KINDS: [&str; 18] = [
    "BusiestWorker",
    "BusyCpus",
    "Ceiling",
    "CeilingBasis",
    "Drift",
    "Evidence",
    "FailedCheck",
    "Goal",
    "GoalResult",
    "GoalStop",
    "LimitedRank",
    "Rule",
    "RuleResult",
    "StallEffect",
    "SteadyEvidence",
    "SteadyState",
    "Verdict",
    "Warning",
];

/// Names in them: a goal as its user wrote it, names in a workload.toml and numbers of clauses, settings, a file system,
/// governors, a clock source, `p99`.
const NAMES: [&str; 12] = [
    "Goal",
    "Rule/checks/names",
    "Rule/drawn_share/query",
    "Rule/mix_share/script",
    "Rule/response_time/script",
    "Rule/tps_per_scale/script",
    "RuleResult/clause",
    "RuleResult/names",
    "Warning/memory_disk/file_system",
    "Warning/only_succeeded/percentile",
    "Warning/power_saving/governor",
    "Warning/slow_clock/clock_source",
];

/// Texts from outside in them: errors, statements, names of workloads, scripts and hosts, rows of a database.
const FROM_OUTSIDE: [&str; 17] = [
    "FailedCheck/first_row",
    "FailedCheck/name",
    "LimitedRank/host",
    "Warning/action_cut_off/action",
    "Warning/action_failed/action",
    "Warning/action_failed/error",
    "Warning/action_not_started/action",
    "Warning/checks_failed/workload",
    "Warning/contended_rows/script",
    "Warning/index_left/index",
    "Warning/index_left/undo",
    "Warning/network_failed/error",
    "Warning/not_restored/error",
    "Warning/not_verified/error",
    "Warning/pooler_breaks/script",
    "Warning/settings_unread/error",
    "Warning/two_primaries/standby",
];

/// The texts of a schema, by place: plain ones, and those from outside.
#[derive(Default)]
struct Texts {
    plain: BTreeSet<String>,
    from_outside: BTreeSet<String>,
}

impl Texts {
    fn collect(&mut self, schema: &Value, place: &str) {
        let kind = schema["properties"]["kind"]["const"].as_str();
        let place = kind.map_or_else(|| place.to_owned(), |kind| format!("{place}/{kind}"));
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            self.collect(property, &format!("{place}/{name}"));
        }
        for several in ["oneOf", "anyOf"].into_iter().filter_map(|any| schema[any].as_array()) {
            several.iter().for_each(|schema| self.collect(schema, &place));
        }
        if schema["items"].is_object() {
            self.collect(&schema["items"], &place);
        }
        let is_choice = !schema["const"].is_null() || !schema["enum"].is_null();
        let types = schema["type"].as_array().cloned().unwrap_or_else(|| vec![schema["type"].clone()]);
        if types.contains(&Value::from("string")) && !is_choice {
            self.plain.insert(place.clone());
        }
        if schema["$ref"] == "#/$defs/SafeText" {
            self.from_outside.insert(place);
        }
    }
}

fn texts(names: &[&str]) -> Texts {
    let schema: Value = serde_json::from_str(&Record::json_schema()).expect("the schema is JSON");
    texts_of(&schema, names)
}

fn texts_of(schema: &Value, names: &[&str]) -> Texts {
    let mut texts = Texts::default();
    for name in names {
        let definition = &schema["$defs"][*name];
        assert!(definition.is_object(), "the record has no {name}");
        texts.collect(definition, name);
    }
    texts
}

#[test]
fn warnings_verdicts_and_ceilings_hold_figures_and_names_but_no_sentence() {
    let Texts { plain, from_outside } = texts(&KINDS);
    assert_eq!(plain.into_iter().collect::<Vec<_>>(), NAMES);
    assert_eq!(from_outside.into_iter().collect::<Vec<_>>(), FROM_OUTSIDE);
}

#[test]
fn notes_of_a_comparison_hold_figures_and_the_names_of_settings_but_no_sentence() {
    let schema = json!({"$defs": {"ComparisonNote": schema_for!(ComparisonNote)}});
    let Texts { plain, from_outside } = texts_of(&schema, &["ComparisonNote"]);
    assert_eq!(plain.into_iter().collect::<Vec<_>>(), [""; 0]);
    // The error that ended the comparison, the failed undo or the names of objects that differ, and the name of a setting.
    let texts = [
        "ComparisonNote/ended_early/reason",
        "ComparisonNote/schema_not_restored/reason",
        "ComparisonNote/setting_without_effect/setting",
    ];
    assert_eq!(from_outside.into_iter().collect::<Vec<_>>(), texts);
}

#[test]
fn a_text_of_a_record_is_found_wherever_it_stands() {
    let Texts { plain, from_outside } = texts(&["Script", "Observation", "Missing"]);
    assert!(plain.contains("Script/name") && plain.contains("Script/sha256"), "{plain:?}");
    assert!(from_outside.contains("Missing/why"), "{from_outside:?}");
}
