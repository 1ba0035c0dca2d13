//! The JSON Schema of experiment files, docs/experiment.schema.json, by which editors help to write them: it has every key
//! that is read and no other, takes what is shipped, and refuses what is refused here.

use std::collections::BTreeSet;
use std::path::Path;

use pgmeter_lab::{Experiment, Profile};
use serde_json::{Map, Value, json};
use testkit::json_schema::Checker;
use toml_edit::{Document, Item, TableLike, Value as TomlValue};

const FILE: &str = "docs/experiment.schema.json";
const SCHEMA: &str = include_str!("../../../docs/experiment.schema.json");

fn schema() -> Value {
    serde_json::from_str(SCHEMA).expect("the schema is JSON")
}

/// What an experiment's reader says of a text.
fn read(text: &str) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let experiment = Experiment::parse(text, "x.toml", folder, Profile::Full);
    experiment.map(|_| ()).map_err(|error| error.to_string())
}

/// What the schema finds wrong with a text.
fn problems(text: &str) -> Vec<String> {
    let document = Document::parse(text).expect("it is TOML");
    let schema = schema();
    let mut checker = Checker::new(&schema, FILE);
    checker.check(&table(document.as_table()), "the file");
    checker.problems
}

fn table(table: &dyn TableLike) -> Value {
    let item = |item: &Item| match item {
        Item::Value(found) => value(found),
        Item::Table(found) => self::table(found),
        Item::ArrayOfTables(found) => found.iter().map(|found| self::table(found)).collect(),
        Item::None => Value::Null,
    };
    Value::Object(table.iter().map(|(key, found)| (key.to_owned(), item(found))).collect::<Map<_, _>>())
}

fn value(found: &TomlValue) -> Value {
    match found {
        TomlValue::String(text) => json!(text.value()),
        TomlValue::Integer(number) => json!(number.value()),
        TomlValue::Float(number) => json!(number.value()),
        TomlValue::Boolean(truth) => json!(truth.value()),
        TomlValue::Datetime(_) => Value::Null,
        TomlValue::Array(list) => list.iter().map(value).collect(),
        TomlValue::InlineTable(found) => table(found),
    }
}

/// The keys that a table may have, as whoever misspells one is told.
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
        ("/$defs/step", "name = \"x\"\n[[step]]\n", ""),
        ("/$defs/network", "name = \"x\"\nload = { network = { ", " } }"),
        ("/$defs/script/anyOf/1", "name = \"x\"\nload = { script = { script = \"select-only\", ", " } }"),
    ];
    for (pointer, before, after) in tables {
        let rule = schema.pointer(pointer).unwrap_or_else(|| panic!("{FILE} lacks {pointer}"));
        let properties = rule["properties"].as_object().expect("it is a table");
        let mut told: BTreeSet<String> = properties.keys().cloned().collect();
        if pointer == "/$defs/case" {
            // Of a case the name has been read when the others are.
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

#[test]
fn every_shipped_experiment_is_as_the_schema_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let folders = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> =
        folders.map(|folder| folder.join("experiment.toml")).filter(|file| file.exists()).collect();
    assert!(files.len() > 10, "{files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(problems(&text), [""; 0], "{}", file.display());
    }
}

#[test]
fn schema_and_reader_take_and_refuse_the_same_values() {
    let right = [
        "[server]\nversion = 18",
        "[server]\nversion = \"9.6\"\nsettings = { fsync = false, work_mem = \"4MB\" }",
        "[load]\nnetwork = { kind = \"tls\", delay = \"0.5ms\", jitter = \"10us\", bandwidth = \"1.5Gbit\" }",
        "[load]\nscript = [\"tpcb-like\", { script = \"select-only\", weight = 9 }]\nrate = 12.5",
        "[load]\nrate = \"none\"\nsetup = \"\"\nvariables.x = \"text\"",
        "[factors]\n\"settings.fsync\" = [true, false]\nscale = [1, 2]\n[quick]\n\"variables.x\" = 1\nfactors = { scale = [1] }",
        "[[step]]\nname = \"one\"\nsql = \"SELECT 1\"\nlimit = \"1s\"\nat_limit = \"2s\"",
        "[step]\ninit = \"all\"",
        "cases = [{ name = \"a\", clients = 1 }, { name = \"b\", \"settings.x\" = 3 }]\nexclude = [{ case = \"a\" }]",
    ];
    for text in right {
        let text = format!("name = \"x\"\n{text}");
        assert_eq!((read(&text), problems(&text)), (Ok(()), Vec::new()), "{text}");
    }
    let wrong = [
        "[server]\nversion = 9.6",
        "[server]\nversion = \"nine\"",
        "[server]\nsettings = { fsync = [1] }",
        "[data]\nscale = 0",
        "[data]\nfillfactor = 101",
        "[data]\nrestore = \"sometimes\"",
        "[data]\ninit_steps = \"dx\"",
        "[data]\nunlogged = \"yes\"",
        "[load]\nduration = 3",
        "[load]\nduration = \"3 days\"",
        "[load]\nscript = []",
        "[load]\nscript = \"selects\"",
        "[load]\nnetwork = \"wire\"",
        "[load]\nnetwork = { bandwidth = \"100\" }",
        "[load]\nrate = \"many\"",
        "[factors]\nclients = 1",
        "[factors]\nclients = []",
        "cases = [{ clients = 1 }]",
        "[design]\nrepeats = 0",
        "[design]\norder = \"random\"",
        "[quick]\ndurration = \"1s\"",
        "factors = { clients = [1] }\n[[chart]]\ny = \"tps\"",
        "factors = { clients = [1] }\n[[chart]]\nx = \"clients\"\ny = \"speed\"",
        "[[step]]\nname = \"one\"\nsql = 1",
    ];
    for text in wrong {
        let text = format!("name = \"x\"\n{text}");
        assert!(
            read(&text).is_err() && !problems(&text).is_empty(),
            "{text}: {:?}, {:?}",
            read(&text),
            problems(&text)
        );
    }
    assert!(read("name = \"a b\"").is_err() && !problems("name = \"a b\"").is_empty());
    assert!(read("title = \"x\"").is_err() && !problems("title = \"x\"").is_empty());
}
