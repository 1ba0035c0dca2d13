//! Labels of runs and experiments, their list by conditions, their removal, and the import of whole stores.
//! Single records are tested in `store.rs`, commands in the binary's tests.

use std::fs;
use std::path::{Path, PathBuf};

use pgmeter_results::{
    Annotation, Entry, EntryId, EntryKind, ExperimentDesign, Found, Host, ImportEvent, ImportTotals,
    ListFilter, PlannedTrial, Record, Store, TrialOrder, TrialStatus, UtcTime, find, find_entry, records_in,
};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

fn record(second: i64) -> Record {
    let mut record =
        Record::from_json(include_bytes!("record.json"), Path::new("r.json")).expect("it is one");
    record.started_at = UtcTime::from_unix_millis(1_795_262_581_250 + second * 1_000);
    record.environment.host = Host::detect();
    record
}

fn labelled(second: i64, label: &str) -> Record {
    let label = Some(label.parse().expect("it is a label"));
    Record { annotation: Annotation { label, note: None }, ..record(second) }
}

struct Place {
    directory: TempDir,
}

impl Place {
    fn new() -> Place {
        Place { directory: tempfile::tempdir().expect("a temporary directory") }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("results.sqlite")
    }

    fn store(&self) -> Store {
        Store::create(&self.path()).expect("it can be made")
    }

    /// A whole run; returns its number and the path of its record.
    fn run(&self, record: &Record) -> (i64, PathBuf) {
        let mut store = self.store();
        let path = record.write_into(self.directory.path()).expect("it can be written");
        store.import(&path).expect("it is a record");
        let run = store.runs(1).expect("they can be listed")[0].run;
        (run, path)
    }

    /// An experiment of two trials: one with a run, one planned.
    fn experiment(&self, record: &Record) -> (i64, PathBuf) {
        let (run, path) = self.run(record);
        let mut store = self.store();
        let trials = [1, 2].map(|repeat| PlannedTrial { factors: [].into(), repeat });
        let files = [("ladder.toml".to_owned(), "name = \"ladder\"".to_owned())].into();
        let experiment =
            store.begin_experiment("ladder", "full", &files, &trials, Some(&design())).expect("it begins");
        let row = store.newest_experiment("ladder", "full").expect("it can be read").expect("it is there");
        let trial = row.trials[0].trial;
        store.begin_trial(trial, run).and_then(|()| store.end_trial(trial, None)).expect("it ends");
        (experiment, path)
    }

    fn ids(&self, filter: &ListFilter) -> Vec<String> {
        let entries = self.store().entries(filter).expect("they can be listed");
        entries.iter().map(|entry| entry.id().to_string()).collect()
    }

    fn import(&self, sources: &[PathBuf]) -> (ImportTotals, Vec<String>) {
        let mut told = Vec::new();
        let totals = self.store().import_all(sources, self.directory.path(), |_| None, &mut |event| {
            told.push(match event {
                ImportEvent::Record(run, _) => format!("run {run}"),
                ImportEvent::Entry(_, there, here) => format!("{here} was {there}"),
                ImportEvent::Refused(error) => error.to_string(),
            });
        });
        (totals.expect("the store can be written"), told)
    }
}

/// What a file says to reports.
fn design() -> ExperimentDesign {
    ExperimentDesign {
        title: "A ladder".into(),
        source: None,
        description: Some("password=secret".into()),
        factors: vec![("clients".to_owned(), vec!["1".to_owned(), "8".to_owned()])],
        order: TrialOrder::Interleaved,
        base: vec![("clients".to_owned(), "1".to_owned())],
        screening_tolerance: Some(0.05),
        has_steps: false,
        charts: Vec::new(),
        differences: Vec::new(),
        ratios: Vec::new(),
        cells: Vec::new(),
    }
}

fn all() -> ListFilter {
    ListFilter::default()
}

fn id(text: &str) -> EntryId {
    text.parse().expect("it is a number")
}

fn refusal<T: std::fmt::Debug>(result: Result<T, pgmeter_results::ResultsError>, place: &Place) -> String {
    let text = result.expect_err("it must be refused").to_string();
    text.replace(&place.directory.path().display().to_string(), "DIR")
}

#[test]
fn a_named_pipe_in_place_of_a_record_is_refused_and_not_opened() {
    let (place, other) = (Place::new(), Place::new());
    for at in [1, 2] {
        place.run(&record(at));
    }
    let directory = place.store().directory().to_owned();
    let pipe = records_in(&directory).expect("they can be listed").remove(0);
    fs::remove_file(&pipe).expect("it is there");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe can be made");
    let what = "it is not a regular file";
    let refused = refusal(find(&place.path(), "1"), &place);
    assert!(refused.starts_with("cannot read the record DIR/") && refused.contains(what), "{refused}");
    // A directory of records, a store, and the file itself.
    let records = other.directory.path().join("records");
    fs::create_dir(&records).expect("it is new");
    mknodat(CWD, records.join("r.json"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("it is new");
    for (source, new) in [(records, 0), (directory, 1), (pipe, 0)] {
        let (totals, told) = other.import(&[source]);
        assert_eq!((totals.new.len(), totals.refused), (new, 1), "{told:?}");
        assert!(told.iter().any(|line| line.contains(".json") && line.contains(what)), "{told:?}");
    }
    let removed = place.store().remove(&[id("1")], |_| None).expect("it can be removed");
    assert!(removed[0].left[0].1.contains(what), "{removed:?}");
}

/// Another user who can change the store can also change the paths of its records.
#[test]
fn a_store_that_others_can_change_deletes_no_record_elsewhere() {
    let (place, other) = (Place::new(), Place::new());
    place.run(&record(1));
    let (_, elsewhere) = other.run(&record(1));
    let sql = rusqlite::Connection::open(place.path()).expect("it is there");
    sql.execute_batch("DROP TRIGGER runs_that_are_over_stay_as_they_are")
        .expect("it protects from accidents");
    sql.execute("UPDATE runs SET record_path = ?1", [elsewhere.to_str().expect("UTF-8")])
        .expect("it is changed");
    let store = place.path();
    let distrust = |path: &Path| (path == store).then(|| "another user can change it".to_owned());
    let removed = place.store().remove(&[id("1")], distrust).expect("its row can be removed");
    assert_eq!(removed[0].left, [(elsewhere.clone(), "another user can change it".to_owned())]);
    assert!(elsewhere.exists());
}

#[test]
fn a_label_means_the_newest_entry_that_has_it() {
    let place = Place::new();
    place.run(&labelled(5, "before"));
    place.run(&labelled(1, "before"));
    place.run(&labelled(9, "after"));
    let found = |which: &str| find(&place.path(), which).expect("it is there").started_at;
    assert_eq!(found("before"), record(5).started_at);
    assert_eq!(found("after"), record(9).started_at);
    // A number, `last` and a path come first.
    assert_eq!(found("2"), record(1).started_at);
    assert_eq!(found("last"), record(9).started_at);
    let (experiment, _) = place.experiment(&record(20));
    let number = EntryId { kind: EntryKind::Experiment, number: experiment };
    place.store().annotate(number, &labelled(0, "before").annotation).expect("it can be written");
    let of_any_kind = find_entry(&place.path(), "before", &EntryKind::ALL).expect("it is there");
    assert_eq!(of_any_kind, Found::Experiment(experiment), "it began now, the runs before");
    assert_eq!(found("before"), record(5).started_at, "only runs are looked for");
    let missing = refusal(find(&place.path(), "never"), &place);
    insta::assert_snapshot!(missing, @"there is no file never, and no run of the store DIR/results.sqlite has this label: `pgmeter runs` lists the labels");
    let missing = refusal(find_entry(&place.path(), "c7", &EntryKind::ALL), &place);
    insta::assert_snapshot!(missing, @"there is no comparison c7 in the store DIR/results.sqlite: `pgmeter runs` lists those that are");
}

#[test]
fn a_label_given_later_is_that_of_the_store_and_comes_with_the_record() {
    let place = Place::new();
    let (run, path) = place.run(&labelled(0, "first"));
    let of = EntryId { kind: EntryKind::Run, number: run };
    let annotation =
        Annotation { label: Some("second".parse().unwrap()), note: Some("it's a note".parse().unwrap()) };
    place.store().annotate(of, &annotation).expect("it can be written");
    assert_eq!(find(&place.path(), "second").expect("it is there").annotation, annotation);
    assert!(find(&place.path(), "first").is_err(), "the name is free again");
    assert_eq!(Record::read(&path).expect("it is there"), labelled(0, "first"), "the file is unchanged");
    place.store().annotate(of, &Annotation::default()).expect("it can be written");
    assert_eq!(find(&place.path(), "1").expect("it is there").annotation, Annotation::default());
    // Other programs may write anything.
    let sql = rusqlite::Connection::open(place.path()).expect("it is there");
    sql.execute("UPDATE runs SET label = 'a' || char(27) || '[2J'", []).expect("it can be written");
    assert_eq!(find(&place.path(), "1").expect("it is there").annotation, Annotation::default());
}

#[test]
fn the_list_has_all_kinds_by_their_start_and_is_filtered() {
    let place = Place::new();
    place.run(&labelled(5, "a"));
    place.run(&record(1));
    let mut elsewhere = record(3);
    elsewhere.environment.host.hostname = "elsewhere".to_owned();
    elsewhere.plan.scripts[0].name = "transfer.sql".to_owned();
    elsewhere.plan.connection.host = "db.example".into();
    place.run(&elsewhere);
    place.experiment(&record(7));
    assert_eq!(place.ids(&all()), ["2", "3", "1", "4", "e1"], "the experiment began now");
    assert_eq!(place.ids(&ListFilter { newest: 2, ..all() }), ["4", "e1"]);
    assert_eq!(place.ids(&ListFilter { label: Some("a".to_owned()), ..all() }), ["1"]);
    let without_trials = ListFilter { trials: false, ..all() };
    assert_eq!(place.ids(&without_trials), ["2", "3", "1", "e1"]);
    assert_eq!(place.ids(&ListFilter { newest: 2, ..without_trials }), ["1", "e1"]);
    assert_eq!(place.ids(&ListFilter { script: Some("transf".to_owned()), ..all() }), ["3"]);
    assert_eq!(place.ids(&ListFilter { script: Some("tpcb".to_owned()), ..all() }), ["2", "1", "4", "e1"]);
    assert_eq!(place.ids(&ListFilter { since: Some(record(5).started_at), ..all() }), ["1", "4", "e1"]);
    for host in ["elsewhere", "db.example"] {
        assert_eq!(place.ids(&ListFilter { host: Some(host.to_owned()), ..all() }), ["3"]);
    }
    let both = ListFilter { since: Some(record(2).started_at), host: Some(Host::detect().hostname), ..all() };
    assert_eq!(place.ids(&both), ["1", "4", "e1"]);
    let hostile = ListFilter { label: Some("a' OR '1'='1".to_owned()), ..all() };
    assert_eq!(place.ids(&hostile), [""; 0]);
    let entries = place.store().entries(&all()).expect("they can be listed");
    let Some(Entry::Experiment(line)) = entries.last() else { panic!("{entries:?}") };
    assert_eq!((line.trials, line.complete, line.failed), (2, 1, 0));
    let json = pgmeter_results::entries_json(&entries);
    assert!(json.contains(r#""kind": "experiment""#) && json.contains(r#""label": "a""#), "{json}");
}

#[test]
fn a_removed_run_is_gone_with_its_record_and_its_number_is_not_used_again() {
    let place = Place::new();
    let (_, first) = place.run(&record(0));
    place.run(&record(1));
    let removed = place.store().remove(&[id("1"), id("1")], |_| None).expect("it can be removed");
    assert_eq!(removed.len(), 1);
    assert_eq!((removed[0].id, &removed[0].deleted), (id("1"), &vec![first.clone()]));
    assert!(!first.exists());
    assert_eq!(place.ids(&all()), ["2"]);
    let gone = refusal(find(&place.path(), "1"), &place);
    assert!(gone.starts_with("run 1 was removed from the store DIR/results.sqlite on 20"), "{gone}");
    let sql = rusqlite::Connection::open(place.path()).expect("it is there");
    for table in ["intervals", "samples"] {
        let sql_text = format!("SELECT count(*) FROM {table} WHERE run = 1");
        let rows: i64 = sql.query_row(&sql_text, [], |row| row.get(0)).expect("a count");
        assert_eq!(rows, 0, "{table}");
    }
    place.store().remove(&[id("2")], |_| None).expect("it can be removed");
    assert_eq!(place.run(&record(2)).0, 3);
    let again = refusal(place.store().remove(&[id("3"), id("1")], |_| None), &place);
    assert!(again.starts_with("run 1 was removed"), "{again}");
    assert_eq!(place.ids(&all()), ["3"], "all or nothing");
}

#[test]
fn an_experiment_is_removed_with_the_runs_of_its_trials_and_a_trial_only_with_it() {
    let place = Place::new();
    let (experiment, path) = place.experiment(&record(0));
    let alone = refusal(place.store().remove(&[id("1")], |_| None), &place);
    insta::assert_snapshot!(alone, @"run 1 is a trial of the experiment e1: remove e1; nothing was removed from the store DIR/results.sqlite");
    assert_eq!(place.ids(&all()), ["1", "e1"]);
    let mut store = place.store();
    let execution = store.begin_execution(experiment).expect("it begins");
    let running = refusal(store.remove(&[id("e1")], |_| None), &place);
    assert!(running.contains("is running the experiment e1: stop it"), "{running}");
    store.end_execution(execution.execution).expect("it ends");
    let removed = store.remove(&[id("1"), id("e1")], |_| None).expect("both can be removed");
    let deleted: Vec<&PathBuf> = removed.iter().flat_map(|removed| &removed.deleted).collect();
    assert_eq!(deleted, [&path]);
    assert_eq!(place.ids(&all()), [""; 0]);
    assert!(store.experiment_names().expect("they can be read").is_empty() && !path.exists());
    let sql = rusqlite::Connection::open(place.path()).expect("it is there");
    for table in ["trials", "executions", "steps", "runs"] {
        let rows: i64 =
            sql.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).expect("a count");
        assert_eq!(rows, 0, "{table}");
    }
}

#[test]
fn a_running_run_stays() {
    let place = Place::new();
    let record = record(0);
    place.store().begin(record.started_at, &record.plan, &record.environment).expect("it begins");
    let running = refusal(place.store().remove(&[id("1")], |_| None), &place);
    insta::assert_snapshot!(running, @"run 1 is running: stop it before you remove it; nothing was removed from the store DIR/results.sqlite");
}

#[test]
fn only_the_record_of_the_removed_run_is_deleted() {
    let place = Place::new();
    let (_, own) = place.run(&record(0));
    place.run(&record(1));
    let precious = place.directory.path().join("precious.txt");
    fs::write(&precious, "not a record").expect("it can be written");
    let sql = rusqlite::Connection::open(place.path()).expect("it is there");
    sql.execute("DROP TRIGGER runs_that_are_over_stay_as_they_are", []).expect("it is there");
    let point_at = |run: i64, path: &Path| {
        let path = path.display().to_string();
        sql.execute("UPDATE runs SET record_path = ?2 WHERE run = ?1", rusqlite::params![run, path])
            .expect("it can be");
    };
    point_at(1, &precious);
    point_at(2, &own);
    let removed = place.store().remove(&[id("1"), id("2")], |_| None).expect("the rows can be removed");
    let left: Vec<&str> =
        removed.iter().flat_map(|removed| &removed.left).map(|(_, why)| why.as_str()).collect();
    assert!(left[0].contains("is not a readable record"), "{left:?}");
    assert_eq!(left[1], "it is not the record of run 2");
    assert!(precious.exists() && own.exists());
    let (number, path) = place.run(&record(2));
    let run = EntryId { kind: EntryKind::Run, number };
    let distrust = |_: &Path| Some("user 4711 could change it".to_owned());
    let removed = place.store().remove(&[run], distrust).expect("the row can be removed");
    assert_eq!(removed[0].left, [(path.clone(), "user 4711 could change it".to_owned())]);
    assert!(path.exists());
}

#[test]
fn another_store_is_joined_with_its_records_labels_and_experiments() {
    let (place, other) = (Place::new(), Place::new());
    place.run(&labelled(0, "ours"));
    other.run(&labelled(10, "theirs"));
    other.run(&record(0));
    let (experiment, _) = other.experiment(&record(12));
    let note = Annotation { label: None, note: Some("a note".parse().unwrap()) };
    let number = EntryId { kind: EntryKind::Experiment, number: experiment };
    other.store().annotate(number, &note).expect("it can be written");
    let broken = record(14);
    other.store().begin(broken.started_at, &broken.plan, &broken.environment).expect("it begins");
    other.store().break_off(4, "the server went away").expect("it can be written");
    let running = record(15);
    other.store().begin(running.started_at, &running.plan, &running.environment).expect("it begins");

    let sources = [other.directory.path().to_owned()];
    let (totals, told) = place.import(&sources);
    let new: Vec<String> = totals.new.iter().map(EntryId::to_string).collect();
    assert_eq!(
        (new, totals.known, totals.refused),
        (["2", "3", "4", "e1"].map(str::to_owned).to_vec(), 1, 1)
    );
    assert_eq!(told[..4], ["2 was 1", "3 was 3", "4 was 4", "e1 was e1"]);
    assert!(told[4].ends_with("it is running: import it when it has ended"), "{told:?}");
    let theirs = find(&place.path(), "theirs").expect("it is there");
    assert_eq!(theirs, labelled(10, "theirs"));
    let lines = place.store().runs(9).expect("they can be listed");
    let records = lines.iter().filter_map(|line| line.record_path.as_deref());
    assert!(records.clone().all(|path| !path.contains('/')), "the records are copied: {lines:?}");
    assert_eq!(records.count(), 3);
    assert_eq!(lines[3].reason.as_deref(), Some("the server went away"));
    let stored = place.store().experiment(1).expect("it is there");
    assert_eq!(stored.annotation, note);
    assert_eq!(stored.design, Some(design()));
    assert_eq!(design().description.as_ref().map(|text| text.as_str()), Some("password=***"));
    assert_eq!(stored.trials[0].run.as_ref().map(|run| run.run), Some(3), "its trial has the number of here");
    assert_eq!(stored.trials[1].status, TrialStatus::Planned);
    // The other store may be removed now.
    drop(other);
    assert_eq!(find(&place.path(), "3").expect("it is there").started_at, record(12).started_at);
}

#[test]
fn joining_a_store_again_changes_nothing_and_damage_is_refused() {
    let (place, other) = (Place::new(), Place::new());
    other.experiment(&record(0));
    let (_, lost) = other.run(&record(1));
    let sources = [other.path()];
    let before = place.import(&sources).0;
    assert_eq!((before.new.len(), before.known, before.refused), (3, 0, 0));
    let again = place.import(&sources).0;
    assert_eq!((again.new.len(), again.known, again.refused), (0, 3, 0));
    assert_eq!(place.ids(&all()), ["1", "2", "e1"]);
    // Into a third store, one of whose records is missing.
    fs::remove_file(lost).expect("it is there");
    let third = Place::new();
    let (totals, told) = third.import(&sources);
    assert_eq!((totals.new.len(), totals.refused), (2, 1));
    assert!(
        told.iter().any(|told| told.contains("run 2 of the store") && told.contains("there is no such file"))
    );
    let (totals, told) = third.import(&[third.path(), PathBuf::from("/nowhere.sqlite")]);
    assert_eq!((totals.new.len(), totals.refused), (0, 2));
    assert!(told[0].contains("it is the store itself"), "{told:?}");
    assert!(told[1].contains("there is no such file"), "{told:?}");
    let distrusted = third.store().import_all(
        &sources,
        third.directory.path(),
        |_| Some("user 4711 could change it".to_owned()),
        &mut |event| {
            assert!(matches!(event, ImportEvent::Refused(error) if error.to_string().contains("4711")))
        },
    );
    assert_eq!(distrusted.expect("the store can be written").refused, 1);
}
