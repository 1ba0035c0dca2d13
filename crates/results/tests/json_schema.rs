//! The JSON Schema of the record, docs/record.schema.json, is derived from the types, and is that of today's records.
//! What a record must satisfy beyond names and types is tested in `records`.

use pgmeter_results::{Observation, Record};
use serde_json::{Value, json};

const SCHEMA: &str = include_str!("../../../docs/record.schema.json");

/// The document whose names `records` pins: it has something of everything but an observation.
const PINNED: &str =
    include_str!("snapshots/records__the_names_in_the_document_are_those_that_others_parse.snap");

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
    let schema = match schema["$ref"].as_str() {
        Some(pointer) => root.pointer(pointer.trim_start_matches('#')).expect("it is defined"),
        None => schema,
    };
    match document {
        Value::Object(fields) => {
            let known = ["oneOf", "anyOf"].into_iter().filter_map(|any| schema[any].as_array()).flatten();
            let is_variant = |schema: &&Value| {
                let kind = &of_object(root, schema)["kind"]["const"];
                !of_object(root, schema).is_null() && (kind.is_null() || *kind == document["kind"])
            };
            if let Some(variant) = known.into_iter().find(is_variant) {
                let mut variant = variant.clone();
                // Fields that all variants have stand beside them.
                if let (Some(own), Some(common)) =
                    (variant["properties"].as_object_mut(), schema["properties"].as_object())
                {
                    own.extend(common.clone());
                }
                return compare(root, &variant, document, place, missing);
            }
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            missing.extend(
                required
                    .filter(|name| !fields.contains_key(*name))
                    .map(|name| format!("{place} lacks {name}")),
            );
            for (name, value) in fields {
                let place = format!("{place}.{name}");
                match [&schema["properties"][name], &schema["additionalProperties"]]
                    .into_iter()
                    .find(|it| !it.is_null())
                {
                    Some(schema) => compare(root, schema, value, &place, missing),
                    None => missing.push(format!("the schema lacks {place}")),
                }
            }
        }
        Value::Array(items) => {
            items.iter().for_each(|item| compare(root, &schema["items"], item, place, missing))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The properties of a variant, if it is an object.
fn of_object<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let pointer = schema["$ref"].as_str();
    let schema =
        pointer.map_or(schema, |pointer| root.pointer(pointer.trim_start_matches('#')).expect("defined"));
    &schema["properties"]
}
