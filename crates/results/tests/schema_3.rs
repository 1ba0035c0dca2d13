//! Documents that a pgmeter of the third schema wrote are still read, and mean what they meant.
//! Not how records of today are read, which `records` tests.

use std::path::Path;

use pgmeter_results::{Conditions, Confidence, Record, SCHEMA_VERSION};

/// Written by that pgmeter: a second of the TPC-B-like script by two clients.
const DOCUMENT: &str = include_str!("schema-3.json");

fn read(json: &str) -> Result<Record, String> {
    Record::from_json(json.as_bytes(), Path::new("r.json")).map_err(|error| error.to_string())
}

#[test]
fn what_it_has_is_as_it_was() {
    let record = read(DOCUMENT).expect("it was read then");
    assert_eq!(record.schema_version, SCHEMA_VERSION);
    assert_eq!((record.plan.clients, record.summary.counts.succeeded), (2, 156));
    assert_eq!(record.summary.scripts[0].commands.len(), 11);
    assert!(record.summary.generator.is_some());
    let server = record.environment.server.expect("it was asked");
    assert_eq!(server.non_default_settings.get("checkpoint_timeout"), Some("15min"));
    assert!(record.intervals.iter().all(|interval| interval.to_stats().is_ok()));
}

#[test]
fn nothing_is_known_of_what_nobody_looked_at_then() {
    let record = read(DOCUMENT).expect("it was read then");
    assert_eq!((record.observation, record.pgmeter_build, record.plan.command_line), (None, None, None));
    assert_eq!(record.environment.conditions, Conditions::default());
    assert_eq!((record.environment.disk, record.environment.connection), (None, None));
    let server = record.environment.server.expect("it was asked");
    assert!(server.main_settings.is_empty() && server.extensions.is_empty());
    assert_eq!(server.debug_assertions, None);
    assert_eq!((record.summary.confidence, record.summary.steady_state), (Confidence::default(), None));
    assert!(record.notes.is_empty());
}

#[test]
fn it_is_written_again_in_the_schema_of_today() {
    let record = read(DOCUMENT).expect("it was read then");
    assert_eq!(read(&record.to_json()), Ok(record));
}
