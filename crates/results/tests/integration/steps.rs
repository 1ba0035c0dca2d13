//! Records of timed steps: how they get into the store with the trial's end, and come back; as SQL finds them.
//! How steps are measured is tested with the binary.

use std::path::Path;

use pgmeter_results::{
    PlannedTrial, Record, StepBuffers, StepResult, StepTime, StepsRecord, Store, TrialStatus,
};
use serde_json::json;

fn record() -> StepsRecord {
    let run = Record::from_json(include_bytes!("record.json"), Path::new("r.json")).expect("it is one");
    let done = StepTime {
        duration_us: 12_345,
        measured_us: 12_345,
        wal_bytes: Some(8_192),
        backend_user_us: Some(10_000),
        backend_system_us: Some(0),
        buffers: StepBuffers { hit: Some(7), read: Some(1), ..StepBuffers::default() },
        table_bytes: Some(16_384),
        index_bytes: Some(0),
        ..StepTime::default()
    };
    let cancelled =
        StepTime { duration_us: 60_000_000, measured_us: 30_000_123, limited: true, ..StepTime::default() };
    StepsRecord {
        started_at: run.started_at,
        connection: run.plan.connection,
        variables: [("rows".to_owned(), "10".into())].into(),
        environment: run.environment,
        steps: vec![StepResult {
            limit_us: Some(30_000_000),
            at_limit_us: Some(60_000_000),
            times: vec![done, cancelled],
            ..StepResult::new("update".to_owned(), Some("UPDATE t SET id = id".into()))
        }],
        ..testkit::records::steps()
    }
}

#[test]
fn a_trial_of_steps_ends_with_its_record_and_is_found_by_sql() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let mut store = Store::create(&place.path().join("s.sqlite")).expect("it can be made");
    let trials = [1, 2].map(|repeat| PlannedTrial { factors: [].into(), repeat });
    store.begin_experiment("wal", "quick", &[].into(), &trials, None).expect("it can be planned");
    let rows = |store: &mut Store| {
        store.newest_experiment("wal", "quick").expect("it can be read").expect("it is there").trials
    };
    let measured = |store: &Store| {
        let stored = store.stored_experiment("wal", Some("quick")).expect("it can be read");
        stored.expect("it is there").trials.swap_remove(0).steps
    };
    let trial = rows(&mut store)[0].trial;
    assert_eq!(rows(&mut store)[0].status, TrialStatus::Planned, "whoever was killed makes it again");
    assert_eq!(measured(&store), None);
    store.end_steps(trial, &record(), Some("it broke")).expect("it can be kept");
    assert_eq!(rows(&mut store)[0].status, TrialStatus::Failed);
    store.end_steps(trial, &record(), None).expect("a trial that is made again has a new record");
    assert_eq!(rows(&mut store)[0].status, TrialStatus::Complete);
    assert_eq!(measured(&store), Some(record()));
    assert!(store.end_steps(99, &record(), None).is_err(), "there is no such trial");
    let sql = rusqlite::Connection::open(store.path()).expect("it is there");
    let row = "SELECT sum(duration_us), max(limited), sum(wal_bytes), count(buffers_dirtied) FROM step_summary \
               WHERE name = 'wal' AND step_name = 'update'";
    let found: (i64, bool, i64, i64) = sql
        .query_row(row, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .expect("it can be asked");
    assert_eq!(found, (60_012_345, true, 8_192, 0));
}

#[test]
fn the_document_has_the_names_that_others_read_and_what_is_unknown_is_null() {
    let document = serde_json::to_value(record()).expect("it has string keys only");
    let names: Vec<&str> = document.as_object().expect("it is one").keys().map(String::as_str).collect();
    let expected = "connection environment notes pgmeter_build pgmeter_version schema_version started_at status steps \
                    variables";
    assert_eq!(names.join(" "), expected);
    assert_eq!(
        document["steps"][0]["times"][1],
        json!({
            "duration_us": 60_000_000, "measured_us": 30_000_123, "limited": true, "error": null, "wal_bytes": null,
            "backend_user_us": null, "backend_system_us": null,
            "buffers": {"hit": null, "read": null, "disk": null, "dirtied": null, "written": null},
            "table_bytes": null, "index_bytes": null
        })
    );
    let manual = include_str!("../../../../docs/steps.md");
    let step = &document["steps"][0];
    for object in [&document, step, &step["times"][0], &step["times"][0]["buffers"]] {
        for name in object.as_object().expect("it is one").keys() {
            assert!(manual.contains(&format!("`{name}`")), "docs/steps.md does not explain {name}");
        }
    }
}

#[test]
fn a_step_has_a_mean_of_what_its_times_count_as() {
    let record = record();
    let step = &record.steps[0];
    assert_eq!((step.mean_us(), step.limited()), (Some(30_006_172.5), 1));
    let never = StepResult { times: Vec::new(), ..step.clone() };
    assert_eq!((never.mean_us(), never.limited()), (None, 0));
}
