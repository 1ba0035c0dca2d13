//! The JSON Schema of the record, docs/record.schema.json, is that of the records that are written: a field that it
//! does not know, or that it knows and nobody writes, fails here.

use std::collections::BTreeSet;
use std::path::Path;

use pgmeter_results::{Observation, Record};
use serde_json::{Value, json};
use testkit::json_schema::Checker;

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
    document["plan"]["scripts"][0]["sha256"] = json!("00");
    document["plan"]["scripts"][0]["masked"] = json!(true);
    document["summary"]["generator"]["verdict"]["resource"] = json!("wal_flush");
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
                  "idle_share": 0.5, "method": "post_stratified", "running_backends": 1.4, "runnable_backends": 0.2,
                  "idle_interval": {"low": 0.4, "high": 0.6}, "top": [wait], "scripts": [[wait]]},
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
    let mut checker = Checker::new(&schema, "docs/record.schema.json");
    checker.check(&document, "the record");
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
fn what_is_not_as_the_schema_says_is_found() {
    let schema = schema();
    let problems = |change: &dyn Fn(&mut Value)| {
        let mut document = document();
        change(&mut document);
        let mut checker = Checker::new(&schema, "docs/record.schema.json");
        checker.check(&document, "the record");
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
