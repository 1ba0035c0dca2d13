//! The JSON Schema of the record, docs/record.schema.json, is derived from the types, and is that of today's records.
//! What a record must satisfy beyond names and types is tested in `records`.

use std::collections::BTreeMap;

use pgmeter_results::{Observation, Record};
use serde_json::{Value, json};

const SCHEMA: &str = include_str!("../../../../docs/record.schema.json");

/// The document whose names `records` pins: it has something of everything but an observation.
const PINNED: &str = include_str!(
    "snapshots/integration__records__the_names_in_the_document_are_those_that_others_parse.snap"
);

/// A document with something of everything.
fn document() -> Value {
    let pinned = PINNED.splitn(3, "---\n").nth(2).expect("a snapshot has a head");
    let mut document: Value = serde_json::from_str(pinned).expect("it is a record");
    document["observation"] = observation();
    document["summary"]["confidence"]["tps"] =
        json!({"low": 0.0, "high": 1000.0, "degrees_of_freedom": 7, "autocorrelation": 0.1});
    document["plan"]["scripts"][0]["sha256"] = json!("00");
    document["plan"]["scripts"][0]["masked"] = json!(true);
    document["summary"]["generator"]["verdict"]["resource"] = json!("wal_flush");
    document["summary"]["steady_state"] = json!({"settled": true, "steady_from_s": 0.0, "evidence": {"kind": "drifts", "intervals": 60, "drifts": [
            {"metric": "throughput", "drift_share": 0.01, "meaning": "noise"}]}});
    document
}

fn observation() -> Value {
    let wait = json!({"event_type": "Lock", "event": "transactionid", "seen": 20, "share": 1.0});
    let observation = json!({
        "level": "full",
        "missing": [{"what": "pg_stat_wal", "why": "the server is older"}],
        "cost": {"statements": 3, "busy_share": 0.1, "backend_cpu_s": null, "samples_missed": 0},
        "waits": {"source": "pg_stat_activity", "rate_hz": 20.0, "looks": 20, "backends_seen": 40,
                  "idle_share": 0.5, "method": "post_stratified", "running_backends": 1.4, "runnable_backends": 0.2,
                  "idle_interval": {"low": 0.4, "high": 0.6}, "top": [wait], "scripts": [[wait]]},
        "per_transaction": {"wal_bytes": 512.5},
        "counters": [{"view": "pg_stat_database", "rows": [{"key": "", "values": {"xact_commit": 7.0}}]}],
        "statements": [{"query": "SELECT $1", "script": 0, "command": null, "values": {"calls": 7.0}}],
        "events": [{"kind": "lock_queue", "start_s": 0.2, "end_s": null, "detail": "17 backends"}],
        "samples": [{"start_s": 0.0, "end_s": 1.0, "looks": 20, "idle": 1.0, "values": {"wal_bytes": 9.0},
                     "waits": [{"event_type": "Lock", "event": "tuple", "backends": 1.5}]}],
        "ceilings": [{"basis": {"kind": "hottest_row", "rows": 10.0, "locked_us": 500.0, "until": "commit_flush"},
                      "tps": 900.0, "reached_share": 0.9}],
    });
    let observation: Observation = serde_json::from_value(observation).expect("it is one");
    serde_json::to_value(observation).expect("it has string keys only")
}

#[test]
fn the_schema_in_the_manual_is_that_of_the_records_that_are_written() {
    assert!(
        Record::json_schema() == SCHEMA,
        "docs/record.schema.json is stale: cargo run -p pgmeter-results --example record_schema > docs/record.schema.json"
    );
}

#[test]
fn the_schema_has_every_name_of_a_record_with_something_of_everything() {
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    let mut missing = Vec::new();
    compare(&schema, &schema, &document(), "the record", &mut missing);
    assert_eq!(missing, [""; 0]);
}

/// Follows a document through the schema of it; notes the names that are missing in either.
fn compare(root: &Value, schema: &Value, document: &Value, place: &str, missing: &mut Vec<String>) {
    match document {
        Value::Object(fields) => {
            let mut known = Known::default();
            known.add(root, schema, document);
            let lacking = known.required.iter().filter(|name| !fields.contains_key(**name));
            missing.extend(lacking.map(|name| format!("{place} lacks {name}")));
            for (name, value) in fields {
                let place = format!("{place}.{name}");
                match known.properties.get(&**name).or(known.others.as_ref()) {
                    Some(schema) => compare(root, schema, value, &place, missing),
                    None => missing.push(format!("the schema lacks {place}")),
                }
            }
        }
        Value::Array(items) => {
            let items_schema = &resolved(root, schema)["items"];
            items.iter().for_each(|item| compare(root, items_schema, item, place, missing));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// What a schema knows of an object: with the variant that the document is, and with what both refer to.
#[derive(Default)]
struct Known<'a> {
    properties: BTreeMap<&'a str, &'a Value>,
    required: Vec<&'a str>,
    /// The schema of all other properties.
    others: Option<&'a Value>,
}

impl<'a> Known<'a> {
    fn add(&mut self, root: &'a Value, schema: &'a Value, document: &Value) {
        if schema["$ref"].is_string() {
            self.add(root, resolved(root, schema), document);
        }
        let properties = schema["properties"].as_object().into_iter().flatten();
        self.properties.extend(properties.map(|(name, schema)| (name.as_str(), schema)));
        self.required.extend(schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str));
        self.others = self.others.or(schema.get("additionalProperties").filter(|others| others.is_object()));
        for variants in ["oneOf", "anyOf"].into_iter().filter_map(|any| schema[any].as_array()) {
            if let Some(variant) = variants.iter().find(|variant| is_variant(root, variant, document)) {
                self.add(root, variant, document);
            }
        }
    }
}

fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let pointer = schema["$ref"].as_str().map(|pointer| pointer.trim_start_matches('#'));
    pointer.map_or(schema, |pointer| root.pointer(pointer).expect("it is defined"))
}

/// Whether an object is this variant: its constant properties, such as `kind`, have these values.
fn is_variant(root: &Value, schema: &Value, document: &Value) -> bool {
    let objects = [&schema["properties"], &resolved(root, schema)["properties"]];
    let objects = objects.into_iter().filter_map(Value::as_object).collect::<Vec<_>>();
    let mut constants =
        objects.iter().copied().flatten().filter(|(_, property)| !property["const"].is_null());
    !objects.is_empty() && constants.all(|(name, property)| property["const"] == document[name])
}
