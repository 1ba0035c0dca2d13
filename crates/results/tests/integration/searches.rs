//! Searches in the store: kept, found, listed, removed, imported, and as rows of views.
//! The search is that of `testkit`.

use pgmeter_results::{
    Annotation, Entry, EntryId, EntryKind, Found, ImportTotals, ListFilter, SearchAnswer, SearchRecord,
    Status, Store, find_entry,
};
use rusqlite::Connection;
use testkit::search_record::search_record;

fn record(label: &str) -> SearchRecord {
    let annotation = Annotation { label: label.parse().ok(), note: None };
    SearchRecord { annotation, ..search_record() }
}

#[test]
fn a_search_is_stored_found_listed_and_removed() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let mut store = Store::create(&place.path().join("s.sqlite")).expect("it can be made");
    let number = store.add_search(&record("before")).expect("it can be added");
    assert_eq!(store.search(number).expect("it can be read"), record("before"));
    for which in ["h1", "before"] {
        let found = find_entry(store.path(), which, &EntryKind::ALL).expect("it is there");
        assert_eq!(found, Found::Search(number));
    }
    let entries = store.entries(&ListFilter::default()).expect("they can be listed");
    let [Entry::Search(line)] = entries.as_slice() else { panic!("{entries:?}") };
    assert_eq!((line.name.as_str(), line.goals.as_str()), ("ser.sql", "p99 < 20ms"));
    assert_eq!((line.answer, line.rate_tps), (Some(SearchAnswer::Sustains), Some(4_148.2)));
    assert_eq!((line.rate_low, line.rate_high), (Some(3_998.0), Some(4_281.0)));
    let interrupted = SearchRecord { status: Status::Interrupted, ..record("later") };
    let later = store.add_search(&interrupted).expect("it can be added");
    assert_eq!(store.search(later).expect("it can be read").status, Status::Interrupted);
    // It goes on, and keeps its label.
    let ended = SearchRecord { status: Status::Complete, ..record("another") };
    assert!(store.replace_search(later, &ended).expect("it can be written"));
    assert_eq!(store.search(later).expect("it can be read"), record("later"));
    let id = EntryId { kind: EntryKind::Search, number };
    assert_eq!(store.remove(&[id], |_| None).expect("it can be removed")[0].id, id);
    let error = store.entry("h1", &EntryKind::ALL).expect_err("it was removed").to_string();
    assert!(error.starts_with("search h1 was removed"), "{error}");
    assert!(!store.replace_search(number, &ended).expect("it can be written"), "its row is no longer there");
}

#[test]
fn views_have_a_row_for_each_search_and_each_load() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let mut store = Store::create(&place.path().join("s.sqlite")).expect("it can be made");
    store.add_search(&search_record()).expect("it can be added");
    let sql = Connection::open(store.path()).expect("it is there");
    let row: (String, f64, String) = sql
        .query_row("SELECT goals, rate_low, nearest_limit FROM search_summary", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .expect("a row");
    assert_eq!(row, ("p99 < 20ms".to_owned(), 3_998.0, "server_cpu".to_owned()));
    let loads = "SELECT group_concat(rate_tps || verdict || trials, ' ') FROM search_loads";
    let shown: String = sql.query_row(loads, [], |row| row.get(0)).expect("a row");
    assert_eq!(shown, "2950.0kept1 4130.0kept1 4280.0broken1");
}

#[test]
fn searches_of_another_store_are_imported_once() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let there = place.path().join("there.sqlite");
    Store::create(&there).and_then(|mut store| store.add_search(&record("x"))).expect("it can be added");
    let mut here = Store::create(&place.path().join("here.sqlite")).expect("it can be made");
    let mut import = || {
        here.import_all(std::slice::from_ref(&there), place.path(), |_| None, &mut |_| {}).expect("an import")
    };
    let new = vec![EntryId { kind: EntryKind::Search, number: 1 }];
    assert_eq!(import(), ImportTotals { new, known: 0, refused: 0 });
    assert_eq!(import(), ImportTotals { new: Vec::new(), known: 1, refused: 0 });
    assert_eq!(here.search(1).expect("it is there"), record("x"));
}
