//! Query sets in the store: they are found by number and by label, listed, removed and imported like the other entries;
//! and a store from before them is upgraded.

use std::path::Path;

use pgmeter_results::{
    Annotation, AnswerCheck, Entry, EntryId, EntryKind, Found, ImportTotals, ListFilter, QuerySetPlan,
    Record, Status, StepResult, StepTime, StepsRecord, Store, StreamResult, find_entry,
};
use rusqlite::Connection;

fn record(label: Option<&str>) -> StepsRecord {
    let run = Record::from_json(include_bytes!("record.json"), Path::new("r.json")).expect("it is one");
    let done = |repeat| StepTime {
        duration_us: 1_000,
        measured_us: 1_000,
        stream: Some(0),
        repeat: Some(repeat),
        rows: Some(4),
        checksum: Some("00ff".to_owned()),
        ..StepTime::default()
    };
    let limited = StepTime { duration_us: 5_000_000, limited: true, ..done(1) };
    let different = AnswerCheck::Different { expected_rows: 5, expected_checksum: Some("01".to_owned()) };
    let step = |name: &str, times: Vec<StepTime>, answer| StepResult {
        times,
        answer,
        ..StepResult::new(name.to_owned(), Some("SELECT 1".into()))
    };
    StepsRecord {
        annotation: Annotation { label: label.map(|label| label.parse().expect("a label")), note: None },
        started_at: run.started_at,
        connection: run.plan.connection,
        environment: run.environment,
        query_set: Some(QuerySetPlan {
            workload: "tiny".to_owned(),
            notice: None,
            scale: "0.01".parse().expect("a scale"),
            indexes: None,
            text: None,
            seed: Some(u64::MAX),
            streams: 1,
            repeats: 2,
            limit_us: Some(5_000_000),
            select: Vec::new(),
            asks_plans: false,
            checks_answers: true,
            refreshes: false,
            regression: None,
            command_line: None,
        }),
        steps: vec![
            step("q1", vec![done(1), done(2)], Some(different)),
            step("q2", vec![limited], Some(AnswerCheck::Unknown)),
        ],
        streams: vec![StreamResult {
            stream: Some(0),
            started_us: 0,
            duration_us: 5_002_000,
            order: ["q1", "q2"].map(str::to_owned).into(),
        }],
        ..testkit::records::steps()
    }
}

#[test]
fn a_query_set_is_stored_found_listed_annotated_and_removed() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let mut store = Store::create(&place.path().join("s.sqlite")).expect("it can be made");
    let number = store.add_query_set(&record(Some("before"))).expect("it can be added");
    assert_eq!(store.query_set(number).expect("it can be read"), record(Some("before")));
    for which in ["s1", "before"] {
        let found = find_entry(store.path(), which, &EntryKind::ALL).expect("it is there");
        assert_eq!(found, Found::QuerySet(number));
    }
    let entries = store.entries(&ListFilter::default()).expect("they can be listed");
    let [Entry::QuerySet(line)] = entries.as_slice() else { panic!("{entries:?}") };
    assert_eq!(
        (line.name.as_str(), line.queries, line.executed, line.limited, line.failed, line.different),
        ("tiny", 2, 2, 1, 0, 1)
    );
    assert_eq!(
        (line.elapsed_us, line.scale.map(|it| it.to_string())),
        (Some(5_002_000), Some("0.01".to_owned()))
    );
    let mut interrupted = record(None);
    interrupted.status = Status::Interrupted;
    interrupted.steps[1].times.clear();
    let second = store.add_query_set(&interrupted).expect("it can be added");
    let entries = store.entries(&ListFilter::default()).expect("they can be listed");
    let is_it = |entry: &&Entry| matches!(entry, Entry::QuerySet(line) if (line.query_set, line.queries, line.executed) == (second, 2, 1));
    assert_eq!(entries.iter().filter(is_it).count(), 1, "{entries:?}");
    store
        .remove(&[EntryId { kind: EntryKind::QuerySet, number: second }], |_| None)
        .expect("it can be removed");
    let id = EntryId { kind: EntryKind::QuerySet, number };
    store.annotate(id, &Annotation::default()).expect("it can be changed");
    assert_eq!(store.query_set(number).expect("it can be read"), record(None));
    let removed = store.remove(&[id], |_| None).expect("it can be removed");
    assert_eq!(removed[0].id, id);
    let gone =
        store.query_set(number).is_err() && store.entries(&ListFilter::default()).expect("a list").is_empty();
    assert!(gone);
    let error = store.entry("s1", &EntryKind::ALL).expect_err("it was removed").to_string();
    assert!(error.starts_with("query set s1 was removed"), "{error}");
    assert_eq!(
        store.add_query_set(&record(None)).expect("it can be added"),
        3,
        "a number is never used again"
    );
}

#[test]
fn views_have_a_row_for_each_query_set_and_each_execution() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let mut store = Store::create(&place.path().join("s.sqlite")).expect("it can be made");
    store.add_query_set(&record(None)).expect("it can be added");
    let sql = Connection::open(store.path()).expect("it is there");
    let sets = "SELECT scale, seed, queries, elapsed_us FROM query_set_summary";
    let row: (f64, String, i64, i64) = sql
        .query_row(sets, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .expect("a row");
    assert_eq!(row, (0.01, u64::MAX.to_string(), 2, 5_002_000));
    let executions = "SELECT group_concat(query || repeat || answer || limited, ' ') FROM query_summary";
    let shown: String = sql.query_row(executions, [], |row| row.get(0)).expect("a row");
    assert_eq!(shown, "q11different0 q12different0 q21unknown1");
}

#[test]
fn query_sets_of_another_store_are_imported_once() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let there = place.path().join("there.sqlite");
    Store::create(&there)
        .and_then(|mut store| store.add_query_set(&record(Some("x"))))
        .expect("it can be added");
    let mut here = Store::create(&place.path().join("here.sqlite")).expect("it can be made");
    let mut import = || {
        here.import_all(std::slice::from_ref(&there), place.path(), |_| None, &mut |_| {}).expect("an import")
    };
    let new = vec![EntryId { kind: EntryKind::QuerySet, number: 1 }];
    assert_eq!(import(), ImportTotals { new, known: 0, refused: 0 });
    assert_eq!(import(), ImportTotals { new: Vec::new(), known: 1, refused: 0 });
    assert_eq!(here.query_set(1).expect("it is there"), record(Some("x")));
}
