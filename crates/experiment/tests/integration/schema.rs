//! The generated reference: the JSON Schema of experiment files, docs/experiment.schema.json, and the tables of the
//! manual. The schema must contain exactly the keys that are accepted.

use std::collections::BTreeSet;
use std::path::Path;

use pgmeter_experiment::{Experiment, Profile};
use serde_json::{Value, json};

const FILE: &str = "docs/experiment.schema.json";
const SCHEMA: &str = include_str!("../../../../docs/experiment.schema.json");
const EXPERIMENTS: &str = include_str!("../../../../docs/experiments.md");
const OPTIONS: &str = include_str!("../../../../docs/options.md");

#[test]
fn the_manual_is_as_the_tables_say() {
    let command = "run: cargo run -p pgmeter-experiment --example reference";
    assert!(SCHEMA == pgmeter_experiment::schema(), "{FILE} is out of date; {command}");
    for (file, text, table) in [
        ("docs/experiments.md", EXPERIMENTS, pgmeter_experiment::keys_table()),
        ("docs/options.md", OPTIONS, run::options::table()),
    ] {
        assert!(text.contains(&format!("-->\n{table}<!-- end -->\n")), "{file} is out of date; {command}");
    }
}

fn schema() -> Value {
    serde_json::from_str(SCHEMA).expect("the schema is JSON")
}

/// The message for an invalid text.
fn read(text: &str) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let experiment = Experiment::parse(text, "x.toml", folder, Profile::Full);
    experiment.map(|_| ()).map_err(|error| error.to_string())
}

/// The keys of a table, as listed in the message for an unknown key.
fn known_keys(before: &str, key: &str, after: &str) -> BTreeSet<String> {
    let text = format!("{before}{key}{after}");
    let error = read(&text).expect_err("there is no such key");
    let (_, known) = error.split_once("; known are ").unwrap_or_else(|| panic!("{text}: {error}"));
    known.split(", ").map(str::to_owned).collect()
}

#[test]
fn the_schema_has_every_key_that_is_read_and_no_other() {
    const NO_KEY: &str = "qqqqqqqqqqqqqqqqqqqqqqqq = 1";
    let schema = schema();
    let tables = [
        ("", "name = \"x\"\n", ""),
        ("/$defs/server", "name = \"x\"\n[server]\n", ""),
        ("/$defs/data", "name = \"x\"\n[data]\n", ""),
        ("/$defs/load", "name = \"x\"\n[load]\n", ""),
        ("/$defs/design", "name = \"x\"\n[design]\n", ""),
        ("/$defs/quick", "name = \"x\"\n[quick]\n", ""),
        ("/$defs/trial", "name = \"x\"\nfactors = { x = [1] }\n[levels.x.1]\n", ""),
        ("/$defs/case", "name = \"x\"\n[[cases]]\nname = \"x\"\n", ""),
        ("/$defs/chart", "name = \"x\"\nfactors = { clients = [1] }\n[[chart]]\nx = \"clients\"\n", ""),
        (
            "/$defs/difference",
            "name = \"x\"\nfactors = { clients = [1] }\n[[difference]]\nname = \"x\"\nof = {}\n",
            "",
        ),
        (
            "/$defs/ratio",
            "name = \"x\"\nfactors = { clients = [1] }\n[[ratio]]\nname = \"x\"\nof = {}\nto = {}\n",
            "",
        ),
        ("/$defs/one_stage", "name = \"x\"\n[[stage]]\nduration = \"1s\"\n", ""),
        ("/$defs/one_action", "name = \"x\"\n[[action]]\nat = \"1s\"\n", ""),
        ("/$defs/step", "name = \"x\"\n[[step]]\n", ""),
        ("/$defs/network", "name = \"x\"\nload = { network = { ", " } }"),
        ("/$defs/script", "name = \"x\"\nload = { script = { script = \"select-only\", ", " } }"),
    ];
    for (pointer, before, after) in tables {
        let rule = schema.pointer(pointer).unwrap_or_else(|| panic!("{FILE} lacks {pointer}"));
        let properties = rule["properties"].as_object().expect("it is a table");
        let mut told: BTreeSet<String> = properties.keys().cloned().collect();
        // An alias is accepted, but not listed.
        told.remove("threads");
        if pointer == "/$defs/case" {
            // The name of a case is read separately.
            told.remove("name");
        }
        assert_eq!(told, known_keys(before, NO_KEY, after), "{FILE}, {pointer}: every key, and no other");
        assert_eq!(rule["additionalProperties"], json!(false), "{pointer}");
        for (key, property) in properties {
            let is_told = |rule: &Value| rule.get("description").is_some() || rule.get("$ref").is_some();
            assert!(is_told(property), "{FILE}, {pointer}: {key} has no description");
        }
    }
}
