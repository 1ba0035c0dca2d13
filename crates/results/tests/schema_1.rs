//! Documents that a pgmeter of the first schema wrote are still read, and mean what they meant.
//! Not how records of today are read, which `records` tests.

use std::path::Path;

use pgmeter_results::{Counts, Record, SCHEMA_VERSION, Tables};

/// Written by that pgmeter: a built-in script and a file under a rate, with every ending.
const DOCUMENT: &str = include_str!("schema-1.json");

fn read(json: &str) -> Result<Record, String> {
    Record::from_json(json.as_bytes(), Path::new("r.json")).map_err(|error| error.to_string())
}

fn document() -> Record {
    read(DOCUMENT).expect("it was read then")
}

#[test]
fn what_it_has_is_as_it_was() {
    let record = document();
    assert_eq!(record.plan.clients, 8);
    assert_eq!(record.summary.counts.scheduled, 10);
    assert_eq!(record.summary.scripts.len(), 2);
    assert!(record.summary.response_us.is_some());
    assert_eq!(record.warnings.len(), 1);
}

#[test]
fn what_it_has_not_is_what_was_so_then() {
    let record = document();
    assert_eq!(record.schema_version, SCHEMA_VERSION);
    let plan = &record.plan;
    assert_eq!((plan.max_tries, plan.reconnect, plan.continue_on_error), (Some(1), false, false));
    assert!(plan.targets.is_empty());
    let scripts: Vec<_> = plan
        .scripts
        .iter()
        .map(|script| (script.description.as_str(), script.builtin, &script.target))
        .collect();
    assert_eq!(scripts, [("<builtin: TPC-B (sort of)>", true, &None), ("read.sql", false, &None)]);
    assert_eq!(record.tables, Tables { scale: Some(10), ..Tables::default() });
    let summary = &record.summary;
    assert_eq!(summary.elapsed_s.to_bits(), summary.duration_s.to_bits());
    assert_eq!((summary.lag_us, summary.connecting), (None, None));
    assert_eq!(summary.generator, None);
    assert!(summary.scripts.iter().all(|script| script.commands.is_empty()));
    let stands_for_itself = |counts: &Counts| counts.business == counts.succeeded;
    assert!(stands_for_itself(&summary.counts));
    assert!(summary.scripts.iter().all(|script| stands_for_itself(&script.counts)));
}

#[test]
fn its_intervals_can_still_be_merged() {
    let record = document();
    assert_eq!(record.intervals.len(), 1);
    for interval in &record.intervals {
        let stats = interval.to_stats().expect("it is whole");
        assert_eq!(stats.total().counts.succeeded, interval.counts.succeeded);
        assert!(interval.scripts.iter().all(|script| script.lag_max_ns.is_none()));
    }
}

#[test]
fn it_is_written_again_in_the_schema_of_today() {
    let record = document();
    assert_eq!(read(&record.to_json()), Ok(record));
}

#[test]
fn one_that_does_not_add_up_is_refused_as_any_other() {
    let changed = DOCUMENT.replacen("\"scheduled\": 10", "\"scheduled\": 11", 1);
    let refusal = read(&changed).expect_err("a transaction was lost");
    assert!(refusal.starts_with("r.json does not add up: 11 transactions were scheduled, but "), "{refusal}");
}

#[test]
fn one_that_is_none_is_refused_not_a_panic() {
    for (json, what) in [
        (r#"{"schema_version": 1}"#, "missing field `pgmeter_version`"),
        (r"[1]", "invalid length"),
        (r#"{"schema_version": 1, "plan": 3, "summary": [], "intervals": {"scripts": 1}}"#, "invalid type"),
        (r#"{"schema_version": 1, "intervals": [[], 7, null, {"counts": 3}]}"#, "invalid length"),
    ] {
        let refusal = read(json).expect_err("it is no record");
        assert!(refusal.contains("is not a readable record") && refusal.contains(what), "{json}: {refusal}");
    }
}
