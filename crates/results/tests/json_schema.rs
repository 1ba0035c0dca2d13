//! The JSON Schema of the record, docs/record.schema.json, is that of the records that are written: a field that it
//! does not know, or that it knows and nobody writes, fails here. A small checker of the words that the schema uses stands
//! below; a word that it does not know fails too.

use std::collections::BTreeSet;
use std::path::Path;

use pgmeter_results::{Observation, Record};
use regex_lite::Regex;
use serde_json::{Map, Value, json};

const SCHEMA: &str = include_str!("../../../docs/record.schema.json");

/// The document whose names `records` pins: it has something of everything but an observation.
const PINNED: &str =
    include_str!("snapshots/records__the_names_in_the_document_are_those_that_others_parse.snap");

fn schema() -> Value {
    serde_json::from_str(SCHEMA).expect("the schema is JSON")
}

/// A document with something of everything.
fn document() -> Value {
    let pinned = PINNED.splitn(3, "---\n").nth(2).expect("a snapshot has a head");
    let mut document: Value = serde_json::from_str(pinned).expect("it is a record");
    document["observation"] = observation();
    document["summary"]["confidence"]["tps"] =
        json!({"low": 0.0, "high": 1000.0, "degrees_of_freedom": 7, "autocorrelation": 0.1});
    document["summary"]["steady_state"] =
        json!({"settled": true, "steady_from_s": 0.0, "evidence": "it was"});
    document
}

fn observation() -> Value {
    let wait = json!({"event_type": "Lock", "event": "transactionid", "seen": 20, "share": 1.0});
    let observation = json!({
        "level": "full",
        "missing": [{"what": "pg_stat_wal", "why": "the server is older"}],
        "cost": {"statements": 3, "busy_share": 0.1, "backend_cpu_s": null, "samples_missed": 0},
        "waits": {"source": "pg_stat_activity", "rate_hz": 20.0, "looks": 20, "backends_seen": 40,
                  "idle_share": 0.5, "top": [wait], "scripts": [[wait]]},
        "per_transaction": {"wal_bytes": 512.5},
        "counters": [{"view": "pg_stat_database", "rows": [{"key": "", "values": {"xact_commit": 7.0}}]}],
        "statements": [{"query": "SELECT $1", "script": 0, "command": null, "values": {"calls": 7.0}}],
        "events": [{"kind": "lock_queue", "start_s": 0.2, "end_s": null, "detail": "17 backends"}],
        "samples": [{"start_s": 0.0, "end_s": 1.0, "looks": 20, "idle": 1.0, "values": {"wal_bytes": 9.0},
                     "waits": [{"event_type": "Lock", "event": "tuple", "backends": 1.5}]}],
        "ceilings": [{"kind": "hottest_row", "tps": 900.0, "reached_share": 0.9, "explanation": "10 rows"}],
    });
    let observation: Observation = serde_json::from_value(observation).expect("it is one");
    serde_json::to_value(observation).expect("it has string keys only")
}

#[test]
fn a_record_with_something_of_everything_is_as_the_schema_says() {
    let (schema, document) = (schema(), document());
    let mut checker = Checker::new(&schema);
    checker.check(&schema, &document, "the record");
    assert_eq!(checker.problems, [""; 0]);
    let defined: BTreeSet<&str> =
        schema["$defs"].as_object().expect("there are some").keys().map(String::as_str).collect();
    let idle: Vec<_> = defined.difference(&checker.used).collect();
    assert!(idle.is_empty(), "the schema has what no record has, or this test's document lacks it: {idle:?}");
    // The pinned document has not all of its intervals.
    let document = Value::Object(
        document
            .as_object()
            .expect("it is one")
            .clone()
            .into_iter()
            .chain([("intervals".to_owned(), json!([]))])
            .collect(),
    );
    let read = Record::from_json(document.to_string().as_bytes(), Path::new("r.json"));
    read.expect("what the schema allows can be read");
}

#[test]
fn older_records_are_as_the_schema_says_once_they_are_read() {
    let documents =
        [include_str!("schema-1.json"), include_str!("schema-2.json"), include_str!("schema-3.json")];
    let schema = schema();
    for older in documents {
        let record = Record::from_json(older.as_bytes(), Path::new("r.json")).expect("it is read");
        let document = serde_json::to_value(&record).expect("it has string keys only");
        let mut checker = Checker::new(&schema);
        checker.check(&schema, &document, "the record");
        assert_eq!(checker.problems, [""; 0]);
    }
}

#[test]
fn what_is_not_as_the_schema_says_is_found() {
    let schema = schema();
    let problems = |change: &dyn Fn(&mut Value)| {
        let mut document = document();
        change(&mut document);
        let mut checker = Checker::new(&schema);
        checker.check(&schema, &document, "the record");
        checker.problems.join("; ")
    };
    insta::assert_snapshot!(problems(&|document| document["plan"]["colour"] = json!("red")), @"the record.plan has colour, which docs/record.schema.json does not know: add it there, with its description");
    insta::assert_snapshot!(problems(&|document| {
        document["summary"].as_object_mut().expect("it is one").remove("tps");
    }), @"the record.summary lacks tps");
    insta::assert_snapshot!(problems(&|document| document["plan"]["seed"] = json!(7)), @r#"the record.plan.seed is not "string""#);
    insta::assert_snapshot!(problems(&|document| document["plan"]["seed"] = json!("0x7")), @r#"the record.plan.seed is not like "^[0-9]+$""#);
    insta::assert_snapshot!(problems(&|document| document["plan"]["clients"] = json!(-1)), @"the record.plan.clients is below 0");
    insta::assert_snapshot!(problems(&|document| document["plan"]["protocol"] = json!("quick")), @r#"the record.plan.protocol is none of ["simple","extended","prepared"]"#);
    insta::assert_snapshot!(problems(&|document| document["status"] = json!({"failed": {}})), @"the record.status.failed lacks reason");
    insta::assert_snapshot!(problems(&|document| document["intervals"][0]["scripts"][1] = json!(null)), @r#"the record.intervals[0].scripts[1] is not "object""#);
}

/// Holds documents against a schema, as far as ours goes: JSON Schema 2020-12, Core and Validation.
struct Checker<'a> {
    definitions: &'a Map<String, Value>,
    used: BTreeSet<&'a str>,
    problems: Vec<String>,
}

impl<'a> Checker<'a> {
    fn new(schema: &'a Value) -> Checker<'a> {
        let definitions = schema["$defs"].as_object().expect("there are definitions");
        Checker { definitions, used: BTreeSet::new(), problems: Vec::new() }
    }

    fn check(&mut self, schema: &'a Value, value: &Value, place: &str) {
        for (word, rule) in schema.as_object().expect("a schema is an object") {
            match word.as_str() {
                "$schema" | "$defs" | "title" | "description" => {}
                "$ref" => {
                    let name = rule.as_str().and_then(|path| path.strip_prefix("#/$defs/")).expect("ours");
                    let (name, definition) = self.definitions.get_key_value(name).expect("it is defined");
                    self.used.insert(name);
                    self.check(definition, value, place);
                }
                "type" => self.require(has_type(rule, value), place, &format!("is not {rule}")),
                "const" => self.require(rule == value, place, &format!("is not {rule}")),
                "enum" => {
                    let allowed = rule.as_array().expect("a list");
                    self.require(allowed.contains(value), place, &format!("is none of {rule}"));
                }
                "minimum" => {
                    let enough =
                        value.as_f64().is_none_or(|number| number >= rule.as_f64().expect("a number"));
                    self.require(enough, place, &format!("is below {rule}"));
                }
                "pattern" => {
                    let pattern = Regex::new(rule.as_str().expect("a text")).expect("a pattern");
                    let fits = value.as_str().is_none_or(|text| pattern.is_match(text));
                    self.require(fits, place, &format!("is not like {rule}"));
                }
                "anyOf" => self.check_any(rule.as_array().expect("a list"), value, place),
                "items" => {
                    for (at, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(rule, item, &format!("{place}[{at}]"));
                    }
                }
                "required" => {
                    for name in rule.as_array().expect("a list").iter().filter_map(Value::as_str) {
                        let has_it = value.as_object().is_none_or(|object| object.contains_key(name));
                        self.require(has_it, place, &format!("lacks {name}"));
                    }
                }
                "properties" => self.check_properties(schema, value, place),
                "additionalProperties" => self.check_others(schema, value, place),
                unknown => panic!("the checker does not know the word {unknown} of the schema: teach it"),
            }
        }
    }

    fn check_any(&mut self, schemas: &'a [Value], value: &Value, place: &str) {
        let mut nearest: Option<Vec<String>> = None;
        for schema in schemas {
            let mut attempt = Checker::new_with(self.definitions);
            attempt.check(schema, value, place);
            if attempt.problems.is_empty() {
                self.used.extend(attempt.used);
                return;
            }
            // An object is held against an object, so that what is wrong in it is told.
            if nearest.is_none()
                || value.is_object()
                    && schema.get("enum").is_none()
                    && schema.get("type") != Some(&json!("null"))
            {
                nearest = Some(attempt.problems);
            }
        }
        self.problems.extend(nearest.into_iter().flatten());
    }

    fn new_with(definitions: &'a Map<String, Value>) -> Checker<'a> {
        Checker { definitions, used: BTreeSet::new(), problems: Vec::new() }
    }

    fn check_properties(&mut self, schema: &'a Value, value: &Value, place: &str) {
        let known = schema["properties"].as_object().expect("an object");
        for (name, property) in value.as_object().into_iter().flatten() {
            if let Some(rule) = known.get(name) {
                self.check(rule, property, &format!("{place}.{name}"));
            }
        }
    }

    fn check_others(&mut self, schema: &'a Value, value: &Value, place: &str) {
        let known = schema.get("properties").and_then(Value::as_object);
        let others = value.as_object().into_iter().flatten();
        for (name, property) in
            others.filter(|(name, _)| known.is_none_or(|known| !known.contains_key(*name)))
        {
            match &schema["additionalProperties"] {
                Value::Bool(false) => self.problems.push(format!(
                    "{place} has {name}, which docs/record.schema.json does not know: add it there, with its description"
                )),
                rule => self.check(rule, property, &format!("{place}.{name}")),
            }
        }
    }

    fn require(&mut self, holds: bool, place: &str, what: &str) {
        if !holds {
            self.problems.push(format!("{place} {what}"));
        }
    }
}

/// Whether a value is of a type, or of one of several.
fn has_type(rule: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        unknown => panic!("there is no type {unknown}"),
    };
    match rule {
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        name => is(name.as_str().expect("the name of a type")),
    }
}
