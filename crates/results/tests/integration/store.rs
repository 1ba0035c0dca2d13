//! The store as users meet it: how runs get in and are found again, by several at once, after a kill and after a loss.
//! What people query is tested with the manual's own examples.

use std::fs;
use std::path::{Path, PathBuf};

use pgmeter_results::{
    ChangedDatabase, DEFAULT_STORE, Host, Imported, MadeObject, Observation, PlannedTrial, Record,
    ResultsError, RunStatus, Status, Store, TrialStatus, UtcTime, Warning, find, records_in,
};
use rusqlite::Connection;
use tempfile::TempDir;

/// A record that another test reads too.
fn record(second: i64) -> Record {
    let json = include_bytes!("record.json");
    let mut record = Record::from_json(json, Path::new("r.json")).expect("it is one");
    record.started_at = UtcTime::from_unix_millis(1_795_262_581_250 + second * 1_000);
    record.environment.host = Host::detect();
    record.warnings.push(Warning::SettingsUnread { error: "it's \"quoted\"; -- and so on".into() });
    record
}

struct Place {
    directory: TempDir,
}

impl Place {
    fn new() -> Place {
        Place { directory: tempfile::tempdir().expect("a temporary directory") }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join(DEFAULT_STORE)
    }

    fn store(&self) -> Store {
        Store::create(&self.path()).expect("it can be made")
    }

    /// A whole run, as `pgmeter bench` stores it.
    fn run(&self, record: &Record) -> i64 {
        let mut store = self.store();
        let run = store.begin(record.started_at, &record.plan, &record.environment).expect("it begins");
        let path = record.write_into(store.directory()).expect("it can be written");
        store.finish(run, record, &path).expect("it ends")
    }

    fn sql(&self) -> Connection {
        Connection::open(self.path()).expect("it is there")
    }

    fn refusal(&self, which: &str) -> String {
        let error = find(&self.path(), which).expect_err("there is no such run").to_string();
        error.replace(&self.directory.path().display().to_string(), "DIR")
    }
}

fn statuses(store: &Store) -> Vec<RunStatus> {
    store.runs(100).expect("they can be listed").iter().map(|line| line.status).collect()
}

#[test]
fn runs_are_found_by_number_by_how_long_ago_and_by_their_file() {
    let place = Place::new();
    let records = [record(0), record(1), record(2)];
    let numbers: Vec<i64> = records.iter().map(|record| place.run(record)).collect();
    assert_eq!(numbers, [1, 2, 3]);
    let found = |which: &str| find(&place.path(), which).expect("it is there");
    assert_eq!(found("1"), records[0]);
    assert_eq!(found("last"), records[2]);
    assert_eq!(found("last-1"), records[1]);
    let file = records_in(place.store().directory()).expect("they can be listed").remove(0);
    assert_eq!(found(&file.display().to_string()), records[0]);
    let directory = place.path().parent().expect("it has one").to_owned();
    assert_eq!(find(&directory, "2").expect("the directory means the store in it"), records[1]);
}

#[test]
fn a_run_that_is_not_there_says_how_to_find_one() {
    let place = Place::new();
    insta::assert_snapshot!(place.refusal("last"), @"there is no store DIR/pgmeter-results/results.sqlite: run something first, name another place with --store, or make one from records with `pgmeter runs import`");
    let mut store = place.store();
    let record = record(0);
    store.begin(record.started_at, &record.plan, &record.environment).expect("it begins");
    insta::assert_snapshot!(place.refusal("1"), @"run 1 in the store DIR/pgmeter-results/results.sqlite has no record: it is running");
    insta::assert_snapshot!(place.refusal("last"), @"there is no run last in the store DIR/pgmeter-results/results.sqlite: `pgmeter runs` lists those that are");
    insta::assert_snapshot!(place.refusal("7"), @"there is no run 7 in the store DIR/pgmeter-results/results.sqlite: `pgmeter runs` lists those that are");
    insta::assert_snapshot!(place.refusal("DIR/none.json"), @"cannot read the record DIR/none.json: there is no such file; check the path");
}

#[test]
fn the_list_tells_how_each_run_ended() {
    let place = Place::new();
    place.run(&record(0));
    place.run(&Record { status: Status::Interrupted, ..record(1) });
    place.run(&Record { status: Status::Failed { reason: "the server went away".into() }, ..record(2) });
    let mut store = place.store();
    let begun = record(3);
    for _ in 0..2 {
        store.begin(begun.started_at, &begun.plan, &begun.environment).expect("it begins");
    }
    store.break_off(5, "cannot connect with password=hunter2").expect("it can be noted");
    let expected = [
        RunStatus::Complete,
        RunStatus::Interrupted,
        RunStatus::Failed,
        RunStatus::Running,
        RunStatus::Failed,
    ];
    assert_eq!(statuses(&store), expected);
    let lines = store.runs(4).expect("they can be listed");
    assert_eq!(lines.iter().map(|line| line.run).collect::<Vec<_>>(), [2, 3, 4, 5]);
    let whole = &store.runs(100).expect("they can be listed")[0];
    assert_eq!((whole.scripts.as_str(), whole.clients, whole.warnings), ("tpcb-like", 2, Some(1)));
    assert_eq!(whole.tps, Some(record(0).summary.tps));
    let reason: String = place
        .sql()
        .query_row("SELECT reason FROM runs WHERE run = 5", [], |row| row.get(0))
        .expect("it is there");
    assert_eq!(reason, "cannot connect with password=***");
}

#[test]
fn a_run_whose_process_is_gone_is_marked_as_killed_and_can_be_imported() {
    let place = Place::new();
    let record = record(0);
    let mut store = place.store();
    store.begin(record.started_at, &record.plan, &record.environment).expect("it begins");
    assert_eq!(statuses(&store), [RunStatus::Running]);
    place.sql().execute("UPDATE runs SET pid_started_ticks = pid_started_ticks - 1", []).expect("it can be");
    assert_eq!(statuses(&store), [RunStatus::Killed], "seen without being stored");
    assert!(find(&place.path(), "1").expect_err("it has no record").to_string().contains("killed"));
    let stored: String =
        place.sql().query_row("SELECT status FROM runs", [], |row| row.get(0)).expect("it is there");
    assert_eq!(stored, "killed");
    // It was killed just after its record was written.
    let path = record.write_into(store.directory()).expect("it can be written");
    assert_eq!(store.import(&path).expect("it is a record"), Imported::New(1));
    assert_eq!(find(&place.path(), "1").expect("it is there"), record);
}

/// The row of a run as a process of another host would have left it, with a sign of life of this age.
fn left_elsewhere(place: &Place, age_s: i64) {
    let alive_at = UtcTime::from_unix_millis(UtcTime::now().unix_millis() - age_s * 1_000).to_string();
    let sql = "UPDATE runs SET hostname = 'elsewhere', alive_at = ?1 WHERE status IN ('running', 'killed')";
    place.sql().execute(sql, [alive_at]).expect("it can be");
}

#[test]
fn of_a_run_on_another_host_the_age_of_its_last_sign_of_life_decides() {
    let place = Place::new();
    let record = record(0);
    let mut store = place.store();
    let run = store.begin(record.started_at, &record.plan, &record.environment).expect("it begins");
    place.sql().execute("UPDATE runs SET hostname = 'elsewhere'", []).expect("it can be");
    assert_eq!(statuses(&place.store()), [RunStatus::Running], "nothing is known of its process");
    left_elsewhere(&place, 20);
    assert_eq!(statuses(&place.store()), [RunStatus::Running]);
    left_elsewhere(&place, 40);
    let line = &place.store().runs(1).expect("they can be listed")[0];
    assert_eq!(line.status, RunStatus::Killed);
    let alive_at = line.alive_at.as_deref().expect("it was alive");
    let refusal = place.refusal("1");
    assert!(
        refusal.ends_with(&format!("it is killed, and its last sign of life was at {alive_at}")),
        "{refusal}"
    );
    // It only could not write for a while.
    let renewing = Store::open_for_renewals(&place.path()).expect("it is there");
    renewing.renew(run).expect("it can be written");
    assert_eq!(statuses(&place.store()), [RunStatus::Running]);
    let path = record.write_into(store.directory()).expect("it can be written");
    assert_eq!(store.finish(run, &record, &path).expect("it ends"), run);
    // A run that is over has no further signs of life.
    let alive_at = || place.store().runs(1).expect("they can be listed")[0].alive_at.clone();
    let before = alive_at();
    renewing.renew(run).expect("it is no error");
    assert_eq!((statuses(&place.store()), alive_at()), (vec![RunStatus::Complete], before));
}

#[test]
fn a_process_that_runs_here_is_not_taken_for_gone_and_one_that_has_gone_is_not_taken_for_running() {
    let place = Place::new();
    let record = record(0);
    let mut store = place.store();
    let run = store.begin(record.started_at, &record.plan, &record.environment).expect("it begins");
    store.renew(run).expect("it can be written");
    let long_ago = "UPDATE runs SET alive_at = '2020-01-01T00:00:00.000Z'";
    place.sql().execute(long_ago, []).expect("it can be");
    assert_eq!(statuses(&place.store()), [RunStatus::Running], "it was stopped, and will go on");
    store.renew(run).expect("it can be written");
    place.sql().execute("UPDATE runs SET pid_started_ticks = pid_started_ticks - 1", []).expect("it can be");
    assert_eq!(statuses(&place.store()), [RunStatus::Killed], "in spite of the recent sign of life");
}

#[test]
fn a_sign_of_life_waits_for_no_other_writer_and_a_store_that_is_not_there_is_not_made() {
    let place = Place::new();
    let missing = place.path().with_file_name("missing.sqlite");
    drop(place.store());
    assert!(Store::open_for_renewals(&missing).is_err() && !missing.exists());
    let record = record(0);
    let run = place.store().begin(record.started_at, &record.plan, &record.environment).expect("it begins");
    let renewing = Store::open_for_renewals(&place.path()).expect("it is there");
    let writer = place.sql();
    writer.execute_batch("BEGIN IMMEDIATE").expect("it can write");
    assert!(renewing.renew(run).is_err());
    writer.execute_batch("COMMIT").expect("it can write");
    renewing.renew(run).expect("it can be written");
}

#[test]
fn a_lost_store_is_made_again_from_the_records_beside_it() {
    let place = Place::new();
    let records = [record(0), record(1)];
    records.iter().for_each(|record| {
        place.run(record);
    });
    fs::remove_file(place.path()).expect("it is there");
    let mut store = place.store();
    for round in 0..2 {
        for (number, file) in (1..).zip(records_in(store.directory()).expect("they can be listed")) {
            let expected = if round == 0 { Imported::New(number) } else { Imported::Known(number) };
            assert_eq!(store.import(&file).expect("it is a record"), expected);
        }
    }
    assert_eq!(store.runs(10).expect("they can be listed").len(), 2);
    assert_eq!(find(&place.path(), "last").expect("it is there"), records[1]);
}

#[test]
fn a_store_that_was_replaced_during_a_run_gets_the_run_all_the_same() {
    let place = Place::new();
    let record = record(0);
    let run = place.store().begin(record.started_at, &record.plan, &record.environment).expect("it begins");
    fs::remove_file(place.path()).expect("it is there");
    let mut store = place.store();
    let path = record.write_into(store.directory()).expect("it can be written");
    assert_eq!(store.finish(run, &record, &path).expect("it ends"), 1);
    assert_eq!(statuses(&store), [RunStatus::Complete]);
}

#[test]
fn a_store_and_its_records_can_be_moved_together() {
    let place = Place::new();
    place.run(&record(0));
    let elsewhere = Place::new();
    let moved = elsewhere.directory.path().join("moved ?#%");
    fs::rename(place.path().parent().expect("it has one"), &moved).expect("it can be moved");
    assert_eq!(find(&moved.join("results.sqlite"), "1").expect("it is there"), record(0));
}

#[test]
fn several_processes_may_write_at_once() {
    let place = Place::new();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let place = &place;
            scope.spawn(move || {
                for second in 0..5 {
                    place.run(&record(writer * 5 + second));
                }
            });
        }
    });
    let store = place.store();
    let lines = store.runs(100).expect("they can be listed");
    assert_eq!(lines.len(), 40);
    for line in &lines {
        assert_eq!(line.status, RunStatus::Complete);
        let found = find(&place.path(), &line.run.to_string()).expect("it is there");
        assert_eq!(found.started_at.to_string(), line.started_at);
    }
}

#[test]
fn commits_are_durable_and_readers_hold_up_no_writer() {
    let place = Place::new();
    drop(place.store());
    let mode: String =
        place.sql().pragma_query_value(None, "journal_mode", |row| row.get(0)).expect("a mode");
    assert_eq!(mode, "wal");
    place.run(&record(0));
    let reader = place.sql();
    reader.execute_batch("BEGIN; SELECT * FROM runs").expect("it can read");
    place.run(&record(1));
    let seen: i64 = reader.query_row("SELECT count(*) FROM runs", [], |row| row.get(0)).expect("a count");
    assert_eq!(seen, 1, "it sees what was there when it began");
}

#[test]
fn what_is_stored_is_not_changed_and_not_removed() {
    let place = Place::new();
    place.run(&record(0));
    let sql = place.sql();
    let said = |statement: &str| sql.execute(statement, []).expect_err("it must be refused").to_string();
    assert_eq!(said("DELETE FROM runs"), "runs are removed only by pgmeter runs rm");
    assert_eq!(said("UPDATE runs SET plan = '{}'"), "a run that is over is never changed");
}

#[test]
fn what_is_no_store_is_left_alone() {
    let place = Place::new();
    let directory = place.directory.path();
    let refused = |path: &Path| {
        let said = |result: Result<Store, ResultsError>| {
            let error = result.expect_err("it must be refused").to_string();
            error.replace(&directory.display().to_string(), "DIR")
        };
        let (read, written) = (said(Store::open(path)), said(Store::create(path)));
        assert_eq!(read, written);
        read
    };
    let text = directory.join("text");
    fs::write(&text, "x".repeat(5_000)).expect("it can be written");
    insta::assert_snapshot!(refused(&text), @"cannot use the store DIR/text: it is not an SQLite database; name another place with --store");
    let foreign = directory.join("foreign");
    Connection::open(&foreign)
        .and_then(|sql| sql.execute_batch("CREATE TABLE a (b)"))
        .expect("it can be made");
    insta::assert_snapshot!(refused(&foreign), @"DIR/foreign is not a store of pgmeter's: name another place with --store");
    let newer = directory.join("newer");
    drop(Store::create(&newer).expect("it can be made"));
    Connection::open(&newer).and_then(|sql| sql.pragma_update(None, "user_version", 99)).expect("it can be");
    insta::assert_snapshot!(refused(&newer), @"the store DIR/newer has form 99, and this pgmeter knows form 11; use the pgmeter that made it, or a newer one, or name another place with --store");
    let earlier = directory.join("earlier");
    drop(Store::create(&earlier).expect("it can be made"));
    let pragmas = [
        "application_id = 1885826418",
        "application_id = 1885826405; PRAGMA user_version = 8",
        "user_version = 0",
    ];
    for pragma in pragmas {
        let made = Connection::open(&earlier).and_then(|sql| sql.execute_batch(&format!("PRAGMA {pragma}")));
        made.expect("it can be changed");
        insta::allow_duplicates! {
            insta::assert_snapshot!(refused(&earlier), @"the store DIR/earlier was made by a pgmeter from before the first release, and this pgmeter cannot read it: move it away, and `pgmeter runs import` makes a new one from the records beside it, or name another place with --store");
        }
    }
    for name in [":memory:", "file:x?mode=memory", ""] {
        let error = Store::create(Path::new(name)).expect_err("it is no file").to_string();
        assert!(
            error.starts_with(&format!("a store is a file, and \"{name}\" means something else")),
            "{error}"
        );
        assert_eq!(Store::open(Path::new(name)).expect_err("it is no file").to_string(), error);
    }
    let below = text.join("results.sqlite");
    let error = Store::create(&below).expect_err("a file is in the way").to_string();
    assert!(error.contains("something that is not a directory is in the way"), "{error}");
}

fn planned(buffers: &str, repeat: u32) -> PlannedTrial {
    PlannedTrial { factors: [("shared_buffers".to_owned(), buffers.to_owned())].into(), repeat }
}

#[test]
fn a_trial_is_planned_made_and_found_with_the_figures_of_its_run() {
    let place = Place::new();
    let run = place.run(&record(0));
    let mut store = place.store();
    let files = [("x.toml".to_owned(), "name = \"buffers\"".to_owned())].into();
    let trials = [planned("1GB", 1), planned("8GB", 1)];
    let experiment =
        store.begin_experiment("buffers", "quick", &files, &trials, None).expect("it can be planned");
    let row = store.newest_experiment("buffers", "quick").expect("it can be read").expect("it is there");
    let texts: std::collections::BTreeMap<_, _> =
        row.files.iter().map(|(name, kept)| (name.clone(), kept.text().to_owned())).collect();
    assert_eq!((row.experiment, &texts, row.trials.len()), (experiment, &files, 2));
    assert_eq!(store.newest_experiment("buffers", "full").expect("it can be read"), None);
    let [first, second] = [row.trials[0].trial, row.trials[1].trial];
    store.begin_trial(first, run).expect("it can be marked");
    assert!(store.begin_trial(second, 99).is_err(), "there is no such run");
    store.end_trial(first, None).expect("it can be marked");
    store.end_trial(second, Some("no password=secret")).expect("it can be marked");
    let row = store.newest_experiment("buffers", "quick").expect("it can be read").expect("it is there");
    let stand: Vec<_> = row.trials.iter().map(|trial| (trial.status, trial.reason.as_deref())).collect();
    assert_eq!(stand, [(TrialStatus::Complete, None), (TrialStatus::Failed, Some("no password=***"))]);
    let sql =
        "SELECT status, json_extract(factors, '$.shared_buffers'), tps FROM trial_summary WHERE position = 1";
    let found = place
        .sql()
        .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .expect("it is there");
    assert_eq!(found, ("complete".to_owned(), "1GB".to_owned(), record(0).summary.tps));
    store.retry_failed(experiment).expect("it can be marked");
    let row = store.newest_experiment("buffers", "quick").expect("it can be read").expect("it is there");
    assert_eq!(row.trials[1].status, TrialStatus::Planned);
}

#[test]
fn a_trial_that_a_killed_process_left_is_complete_if_its_run_is_and_else_to_be_made_again() {
    let place = Place::new();
    let run = place.run(&record(0));
    let mut store = place.store();
    let trials = [planned("1GB", 1), planned("1GB", 2)];
    store.begin_experiment("buffers", "full", &[].into(), &trials, None).expect("it can be planned");
    let row = store.newest_experiment("buffers", "full").expect("it can be read").expect("it is there");
    let plan = record(1).plan;
    let lost = store.begin(record(1).started_at, &plan, &record(1).environment).expect("it can begin");
    store.begin_trial(row.trials[0].trial, run).expect("it can be marked");
    store.begin_trial(row.trials[1].trial, lost).expect("it can be marked");
    store.break_off(lost, "killed").expect("it can be marked");
    let row = store.newest_experiment("buffers", "full").expect("it can be read").expect("it is there");
    let stand: Vec<_> = row.trials.iter().map(|trial| trial.status).collect();
    assert_eq!(stand, [TrialStatus::Complete, TrialStatus::Planned]);
}

#[test]
fn the_manuals_queries_and_all_views_can_be_asked() {
    let place = Place::new();
    let mut record = record(0);
    record.observation = Some(observation());
    place.run(&record);
    let sql = place.sql();
    let rows = |query: &str| -> usize {
        let mut statement = sql.prepare(query).unwrap_or_else(|error| panic!("{query}: {error}"));
        let mut rows = statement.query([]).expect("it can be asked");
        let mut count = 0;
        while rows.next().unwrap_or_else(|error| panic!("{query}: {error}")).is_some() {
            count += 1;
        }
        count
    };
    let manual =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/store.md")).expect("it is there");
    let queries: Vec<&str> =
        manual.split("```sql\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(queries.len() >= 5);
    queries.iter().for_each(|query| {
        rows(query);
    });
    assert_eq!(rows("SELECT mean_low_us, mean_high_us, stddev_us FROM run_scripts WHERE min_us > 0"), 1);
    let mut views =
        sql.prepare("SELECT name FROM sqlite_master WHERE type = 'view'").expect("it can be asked");
    let names = views.query_map([], |row| row.get::<_, String>(0)).expect("there are some");
    for name in names {
        let name = name.expect("a name");
        assert!(manual.contains(&format!("`{name}`")), "the manual does not explain {name}");
        assert_eq!(rows(&format!("SELECT * FROM {name}")) > 0, name.starts_with("run_"), "{name}");
        for column in sql.prepare(&format!("SELECT * FROM {name}")).expect("it can be").column_names() {
            assert!(
                manual.contains(&format!("`{column}`")),
                "the manual does not explain {column} of {name}"
            );
        }
    }
}

#[test]
fn intervals_have_figures_in_the_place_of_histograms() {
    let place = Place::new();
    let record = record(0);
    place.run(&record);
    let sum =
        "SELECT sum(succeeded), sum(mean_us * succeeded) / sum(succeeded), max(max_us) FROM run_intervals";
    let (succeeded, mean, max): (i64, f64, f64) = place
        .sql()
        .query_row(sum, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .expect("it can be asked");
    let latency = record.summary.response_us.expect("it is known");
    assert_eq!(succeeded, i64::try_from(record.summary.counts.succeeded).expect("few"));
    assert!((mean - latency.mean).abs() < 0.001 && (max - latency.max).abs() < 0.001);
}

/// Something of everything that can be seen of a server.
fn observation() -> Observation {
    let json = r#"{"level": "full", "missing": [], "per_transaction": {"wal_bytes": 512.5},
        "cost": {"statements": 3, "busy_share": 0.1, "backend_cpu_s": null, "samples_missed": 0},
        "waits": {"source": "pg_stat_activity", "rate_hz": 20.0, "looks": 20, "backends_seen": 40, "idle_share": 0.5,
                  "method": "samples", "top": [{"event_type": "Lock", "event": "transactionid", "seen": 20, "share": 1.0}],
                  "scripts": [[{"event_type": "Lock", "event": "transactionid", "seen": 20, "share": 1.0}]]},
        "counters": [], "statements": [], "ceilings": [],
        "events": [{"kind": "checkpoint", "start_s": 0.2, "end_s": null, "detail": "timed"}],
        "samples": [{"start_s": 0.0, "end_s": 1.0, "looks": 20, "idle": 1.0, "waits": [], "values": {"wal_bytes": 9.0}}]}"#;
    serde_json::from_str(json).expect("it is one")
}

#[test]
fn a_change_of_a_schema_is_left_only_if_its_process_has_ended_without_undoing_it() {
    let place = Place::new();
    let mut store = place.store();
    let database =
        ChangedDatabase { server: "127.0.0.1:5432".to_owned(), name: "shop".to_owned(), oid: 16_384 };
    let undo = ["DROP STATISTICS s".to_owned(), "ANALYZE \"t\"".to_owned()];
    let change = store.note_schema_change(&database, Some("7"), &undo, false).expect("it can be written");
    assert_eq!(store.left_schema_changes().expect("it can be read"), [], "its process runs");
    assert_eq!(store.current_schema_changes().expect("it can be read").len(), 1);
    place.sql().execute("UPDATE schema_changes SET pid_started_ticks = 1", []).expect("it can be changed");
    let left = store.left_schema_changes().expect("it can be read");
    let [it] = left.as_slice() else { panic!("{left:?}") };
    assert_eq!((it.change, &it.database, it.undo.as_slice()), (change, &database, undo.as_slice()));
    assert!(!it.has_only_indexes && !it.is_made && it.began_at.starts_with("20"), "{it:?}");
    assert_eq!((it.system.as_deref(), &it.made), (Some("7"), &None));
    let made = [MadeObject { catalog: "pg_class".to_owned(), oid: 16_385, part: 0, name: "s".to_owned() }];
    store.confirm_schema_change(change, Some(&made)).expect("it can be written");
    let it = &store.left_schema_changes().expect("it can be read")[0];
    assert!(it.is_made && it.made.as_deref() == Some(made.as_slice()), "{it:?}");
    store.forget_schema_change(change).expect("it can be written");
    assert_eq!(store.left_schema_changes().expect("it can be read"), []);
}
