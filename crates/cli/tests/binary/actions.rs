//! Actions: SQL at a set time of a run, on real servers. What is recorded, how it ends, and what is refused.
//! How an action is written is tested in `run`, and the sentences of its warnings in `report`.

use results::{ActionOutcome, ActionResult, ActionWork, Record, SafeText, TableState, TablesAt, Warning};
use testkit::cluster::Cluster;

use crate::harness::Bench;

/// A table, a materialized view of it with an index, and a script that reads the view.
const SCHEMA: &str = "create table t as select g as id, g % 10 as a from generate_series(1, 1000) as g; \
                      create materialized view \"My View\" as select id, a from t; \
                      create unique index \"My Key\" on \"My View\" (id)";
const READ: &str = "SELECT count(*) FROM \"My View\";\n\\sleep 5 ms\n";

fn table<'a>(tables: &'a Option<TablesAt>, name: &str) -> &'a TableState {
    let tables = tables.as_ref().expect("a state");
    assert!(tables.missing.is_empty(), "{tables:?}");
    tables.table(&SafeText::from(name)).unwrap_or_else(|| panic!("{name} is not in {tables:?}"))
}

fn times(result: &ActionResult) -> (f64, f64) {
    result.begin_s.zip(result.end_s).expect("it began")
}

#[test]
fn sql_runs_at_its_time_and_the_record_has_what_it_changed() {
    for major in Cluster::versions(["18", "9.6"]) {
        let bench = Bench::new();
        let conninfo = Cluster::shared(major).database("actions");
        let mut session = Cluster::session(&conninfo);
        session.execute(SCHEMA).expect("the tables");
        session.execute("create extension pg_buffercache").expect("the extension");
        let script = bench.file("read.sql", READ);
        let update = "1s:sql=UPDATE t SET a = a + 1 WHERE id <= 500";
        let refresh = "1.5:sql=REFRESH MATERIALIZED VIEW CONCURRENTLY public.\"My View\"";
        let words = ["bench", "-n", "-c", "2", "-R", "100", "-T", "4", "--warmup", "500ms", "-f", script];
        let out = bench.run(words.into_iter().chain(["--action", update, "--action", refresh, &conninfo]));
        let out = out.exits(0);
        assert!(
            out.stdout.contains("REFRESH MATERIALIZED VIEW CONCURRENTLY public.\"My View\""),
            "{}",
            out.stdout
        );
        let Record { plan, summary, warnings, observation, .. } = bench.record();
        let [updated, refreshed] = &summary.actions[..] else { panic!("{:?}", summary.actions) };
        assert_eq!(plan.actions, [updated.action.clone(), refreshed.action.clone()]);
        assert_eq!(updated.action.work, ActionWork::Sql { sql: update.trim_start_matches("1s:sql=").into() });
        for (result, at_s) in [(updated, 1.0), (refreshed, 1.5)] {
            assert_eq!((&result.outcome, result.action.at_s), (&ActionOutcome::Succeeded, at_s), "{major}");
            let (begin_s, end_s) = times(result);
            assert!(at_s <= begin_s && begin_s <= end_s, "{major}: {result:?}");
        }
        let (before, after) = (table(&updated.before, "public.t"), table(&updated.after, "public.t"));
        assert_eq!((before.updated_rows, after.updated_rows), (Some(0), Some(500)), "{major}");
        assert_eq!((before.dead_rows, after.dead_rows), (Some(0), Some(500)), "{major}");
        assert!(after.bytes > before.bytes, "{major}: {updated:?}");
        // The script uses the view, so its state is known too, and the update did not change it.
        let view = "public.\"My View\"";
        let name = SafeText::from("public.\"My Key\"");
        let (before, after) = (table(&refreshed.before, view), table(&refreshed.after, view));
        let deleted = after.deleted_rows.zip(before.deleted_rows).map(|(after, before)| after - before);
        assert_eq!((deleted, after.dead_rows), (Some(500), Some(500)), "{major}: {refreshed:?}");
        let key = after.index(&name).expect("its key");
        assert!(key.bytes >= before.index(&name).expect("its key").bytes, "{major}");
        assert!(after.cached_bytes > Some(0) && key.cached_bytes > Some(0), "{major}: {refreshed:?}");
        assert!(!warnings.iter().any(is_about_action), "{major}: {warnings:?}");
        // The session of an action is none of the load's.
        let waits = observation.and_then(|seen| seen.waits).expect("waits");
        assert!(waits.backends_seen <= 2 * waits.looks, "{major}: {waits:?}");
    }
}

fn is_about_action(warning: &Warning) -> bool {
    matches!(
        warning,
        Warning::ActionFailed { .. } | Warning::ActionCutOff { .. } | Warning::ActionNotStarted { .. }
    )
}

#[test]
fn actions_that_fail_or_do_not_end_are_recorded_and_end_with_the_run() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("ended_actions");
    let script = bench.file("sleep.sql", "\\sleep 10 ms\n");
    let page = bench.path().join("run.html").display().to_string();
    let words = ["bench", "-n", "-c", "1", "-R", "50", "-T", "3", "-f", script, "--html", &page];
    let actions = [
        "--action",
        "0:sql=ALTER ROLE nobody PASSWORD 'hunter2'",
        "--action",
        "1:sql=BEGIN; CREATE TABLE kept(); SELECT pg_sleep(100)",
    ];
    let out = bench.run(words.into_iter().chain(actions).chain([conninfo.as_str()])).exits(0);
    let Record { summary, warnings, .. } = bench.record();
    let [failed, cut_off] = &summary.actions[..] else { panic!("{:?}", summary.actions) };
    let ActionOutcome::Failed { sqlstate, error } = &failed.outcome else { panic!("{failed:?}") };
    assert_eq!(sqlstate.as_deref(), Some("42704"));
    assert!(error.as_str().contains("role \"nobody\" does not exist"), "{error}");
    assert_eq!(cut_off.outcome, ActionOutcome::CutOff);
    let (begin_s, end_s) = times(cut_off);
    assert!(begin_s >= 1.0 && end_s >= 3.0, "{cut_off:?}");
    assert_eq!(warnings.iter().filter(|warning| is_about_action(warning)).count(), 2);
    assert!(out.stdout.contains("failed (42704)") && out.stdout.contains("and cut off"));
    let page = std::fs::read_to_string(page).expect("the page");
    assert!(page.contains("and cut off"));
    for text in [&out.stdout, &out.stderr, &page] {
        assert!(!text.contains("hunter2"), "{text}");
    }
    let mut session = Cluster::session(&conninfo);
    let left = "select 1 from pg_stat_activity where application_name = 'pgmeter action' and datname = current_database()";
    // Their backends need a moment to leave.
    while !session.query(left).expect("the sessions").is_empty() {
        testkit::condition::pause();
    }
    assert_eq!(session.query("select 1 from pg_class where relname = 'kept'").expect("tables").len(), 0);
}

#[test]
fn an_action_after_the_end_of_a_run_is_reported_as_not_started() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("late_actions");
    let script = bench.file("one.sql", "SELECT 1;\n");
    let words = ["bench", "-n", "-t", "1", "-f", script, "--action", "1h:sql=CHECKPOINT", &conninfo];
    bench.run(words).exits(0);
    let Record { summary, warnings, .. } = bench.record();
    let [late] = &summary.actions[..] else { panic!("{:?}", summary.actions) };
    assert_eq!((late.begin_s, &late.outcome), (None, &ActionOutcome::NotStarted));
    assert!(warnings.iter().any(|warning| matches!(warning, Warning::ActionNotStarted { at_s: 3600.0, .. })));
}

#[test]
fn wrong_actions_are_refused_before_the_run() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("wrong_actions");
    let script = bench.file("one.sql", "SELECT 1;\n");
    for (action, reason) in [
        ("soon:sql=SELECT 1", "--action: the time \"soon\": expected a number of seconds"),
        ("1:sql= ;", "--action: the SQL is empty"),
        ("1:promot", "--action: unknown kind of action \"promot\"; expected sql"),
        ("CHECKPOINT", "--action: there is no \":\" in it"),
        ("2:sql=SELECT 1", "an action is set to begin at 2 s, and the measurement lasts 2 s"),
    ] {
        let words = ["bench", "-n", "-T", "2", "-f", script, "--action", action, &conninfo];
        let out = bench.run(words).exits(1);
        assert!(out.stderr.contains(reason), "{action}: {}", out.stderr);
        assert_eq!(out.stderr.lines().count(), 1, "{}", out.stderr);
    }
    assert_eq!(bench.records().len(), 0);
    let out = bench.run_pgbench(["-n", "-t", "1", "-f", script, "--action", "1:sql=SELECT 1", &conninfo]);
    assert!(out.exits(1).stderr.contains("unrecognized option"));
}

#[test]
fn an_experiment_varies_actions_and_reports_them() {
    let bench = Bench::new();
    bench.file("read.sql", "SELECT count(*) FROM v;\n");
    bench.file(
        "tables.sql",
        "create table t as select g as id from generate_series(1, 100) as g; \
         create materialized view v as select id from t; create unique index k on v (id)",
    );
    let file = bench.file(
        "e.toml",
        "name = \"e\"\n\
         [server]\nversion = \"18\"\nsettings = { shared_buffers = \"64MB\" }\n\
         [data]\nworkload = \"none\"\ndata_setup = \"tables.sql\"\n\
         [load]\nscript = \"read.sql\"\nrate = 50\nduration = \"2s\"\nwarmup = \"0s\"\n\
         [factors]\nrefresh = [\"none\", \"plain\", \"concurrently\"]\n\
         [levels.refresh.plain]\n\
         action = { at = \"1s\", sql = \"REFRESH MATERIALIZED VIEW v\" }\n\
         [[levels.refresh.concurrently.action]]\nat = \"500ms\"\nsql = \"REFRESH MATERIALIZED VIEW CONCURRENTLY v\"\n\
         [[levels.refresh.concurrently.action]]\nat = \"1s\"\nsql = \"VACUUM v\"\n\
         [design]\nrepeats = 1\n",
    );
    let out = bench.run(["lab", "run", file]).exits(0);
    for words in ["rows written", "0.5 s", "1 s"] {
        assert!(out.stdout.contains(words), "{words} is not in {}", out.stdout);
    }
    let out = bench.run(["report", file, "--format", "markdown"]).exits(0);
    for sql in ["REFRESH MATERIALIZED VIEW v", "REFRESH MATERIALIZED VIEW CONCURRENTLY v", "VACUUM v"] {
        assert!(out.stdout.contains(sql), "{sql} is not in {}", out.stdout);
    }
    let mut numbers: Vec<usize> = bench.records().iter().map(|record| record.summary.actions.len()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [0, 1, 2]);
    let outcomes = bench.records().into_iter().flat_map(|record| record.summary.actions);
    assert!(outcomes.map(|result| result.outcome).all(|outcome| outcome == ActionOutcome::Succeeded));
}
