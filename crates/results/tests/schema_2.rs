//! Documents that a pgmeter of the second schema wrote are still read, and mean what they meant.
//! Not how records of today are read, which `records` tests.

use std::path::Path;

use pgmeter_results::{Record, SCHEMA_VERSION};

/// Written by that pgmeter: a second of the TPC-B-like script by two clients.
const DOCUMENT: &str = include_str!("schema-2.json");

fn read(json: &str) -> Result<Record, String> {
    Record::from_json(json.as_bytes(), Path::new("r.json")).map_err(|error| error.to_string())
}

#[test]
fn what_it_has_is_as_it_was_and_nothing_is_known_of_the_generator() {
    let record = read(DOCUMENT).expect("it was read then");
    assert_eq!(record.schema_version, SCHEMA_VERSION);
    assert_eq!((record.plan.clients, record.summary.counts.succeeded), (2, 162));
    assert_eq!(record.summary.scripts[0].commands.len(), 11);
    assert_eq!(record.summary.generator, None);
    let in_intervals: u64 = record.intervals.iter().map(|interval| interval.counts.succeeded).sum();
    assert_eq!(in_intervals, 162);
    assert!(record.intervals.iter().all(|interval| interval.to_stats().is_ok()));
}

#[test]
fn it_is_written_again_in_the_schema_of_today() {
    let record = read(DOCUMENT).expect("it was read then");
    assert_eq!(read(&record.to_json()), Ok(record));
}
