//! Trials of timed steps on a real server: measured, cancelled at a limit, interrupted, gone on with, failed. How steps
//! are read is tested in `lab`, how they are kept in `results`.

use results::{Status, StepTime, StepsRecord, Store, TrialStatus};
use rustix::process::Signal;
use testkit::cluster::Cluster;

use crate::harness::{Bench, Running};

const EXPERIMENT: &str = r#"
name = "steps"
[server]
dsn = "DSN"
[data]
workload = "none"
init_steps = "dtd"
[factors]
"variables.divisor" = [1, 0]
[design]
repeats = 1
order = "sequential"
[load]
variables = { rows = 1000, gate = "GATE" }
[[step]]
init = "all"
[[step]]
name = "fill"
before = "DROP TABLE IF EXISTS t"
sql = """
CREATE TABLE t AS SELECT id, 'xyz;' AS filler FROM generate_series(1, :rows / :divisor) AS id;
CREATE INDEX ON t (id);
"""
times = 2
[[step]]
name = "gate"
sql = "SELECT pg_sleep(CASE WHEN (pg_stat_file(':gate', true)).size IS NULL THEN 600 ELSE 0 END)"
[[step]]
name = "sleep"
sql = "SELECT pg_sleep(600)"
times = 2
limit = "20ms"
at_limit = "2s"
[[step]]
name = "stubborn"
sql = "DO $$BEGIN PERFORM pg_sleep(600); EXCEPTION WHEN query_canceled THEN NULL; END$$"
limit = "20ms"
at_limit = "3s"
"#;

fn trials(store: &mut Store) -> Vec<results::TrialRow> {
    store.newest_experiment("steps", "full").expect("it can be read").expect("it is there").trials
}

/// What was measured of a trial.
fn measured(store: &Store, position: usize) -> Option<StepsRecord> {
    let stored = store.stored_experiment("steps", Some("full")).expect("it can be read");
    stored.expect("it is there").trials.swap_remove(position).steps
}

#[test]
fn steps_are_timed_cancelled_at_their_limit_interrupted_and_gone_on_with() {
    let cluster = Cluster::shared("18");
    let bench = Bench::new();
    let gate = bench.path().join("gate").display().to_string();
    let text = EXPERIMENT.replace("DSN", &cluster.conninfo()).replace("GATE", &gate);
    let file = bench.file("steps.toml", &text);
    let mut run = Running::start(&mut bench.command(["lab", "run", file, "--store", "out/"]));
    run.hear("trial 1/2");
    let waiting = "SELECT pid FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pg_sleep%' \
                   AND query LIKE '%/gate%' AND wait_event = 'PgSleep'";
    let mut session = Cluster::session(&cluster.conninfo());
    let mut at_gate = || !session.query(waiting).expect("it can be asked").is_empty();
    while !at_gate() {
        assert!(!run.has_ended(), "it ended before the gate");
    }
    run.signal(Signal::INT);
    run.finish().exits(130).says(&["interrupted; continue with pgmeter lab resume"]);
    assert!(!at_gate(), "the statement was cancelled");
    let mut store = Store::create(&bench.path().join("out/results.sqlite")).expect("it can be opened");
    let row = &trials(&mut store)[0];
    assert_eq!((row.status, measured(&store, 0)), (TrialStatus::Planned, None));

    bench.file("gate", "");
    let out = bench.run(["lab", "resume", file, "--store", "out/"]).exits(2);
    assert!(out.stdout.contains("steps (full): 1 of 2 trials complete, 1 failed\n"), "{}", out.stdout);
    assert!(out.stderr.contains("sleep 2.00 s (2 times, 2 at the limit)"), "{}", out.stderr);
    let rows = trials(&mut store);
    let record = measured(&store, 0).expect("it is there");
    check(&record);
    let failed = measured(&store, 1).expect("it is there");
    let reason = rows[1].reason.as_deref().unwrap_or_default();
    assert!(
        reason.starts_with("step fill, execution 1: ") && reason.contains("division by zero"),
        "{reason}"
    );
    assert!(matches!(failed.status, Status::Failed { .. }), "{:?}", failed.status);
    assert_eq!(failed.steps.len(), 4, "what was measured until then is kept: {:?}", failed.steps);
    assert_eq!((rows[0].run, rows[1].run), (None, None));
}

fn check(record: &StepsRecord) {
    assert_eq!((&record.status, record.variables["rows"].as_str()), (&Status::Complete, "1000"));
    let names: Vec<_> = record.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["drop tables", "create tables", "drop tables 2", "fill", "gate", "sleep", "stubborn"]);
    let fill = &record.steps[3];
    let sql = fill.sql.as_ref().expect("it is SQL").as_str();
    assert!(
        sql.contains("generate_series(1, 1000 / 1)") && sql.ends_with("CREATE INDEX ON t (id);"),
        "{sql}"
    );
    assert_eq!(fill.times.len(), 2);
    for StepTime {
        duration_us, measured_us, limited, wal_bytes, buffers, table_bytes, index_bytes, ..
    } in &fill.times
    {
        assert!(*duration_us > 0 && duration_us == measured_us && !limited);
        assert!(wal_bytes.is_some_and(|bytes| bytes > 8192), "{wal_bytes:?}");
        assert!(
            buffers.hit.is_some_and(|blocks| blocks > 0) && buffers.written.is_some_and(|blocks| blocks > 0)
        );
        assert_eq!(buffers.dirtied, None, "nobody counts them here, so it is not zero");
        assert!(
            table_bytes.is_some_and(|bytes| bytes >= 8192)
                && index_bytes.is_some_and(|bytes| bytes >= 16_384)
        );
    }
    assert!(fill.times.iter().all(|time| time.backend_user_us.is_some()), "the server is on this host");
    let sleep = &record.steps[5];
    assert_eq!((sleep.limit_us, sleep.at_limit_us, sleep.limited()), (Some(20_000), Some(2_000_000), 2));
    assert!(sleep.times.iter().all(|time| time.duration_us == 2_000_000 && time.measured_us >= 20_000));
    let stubborn = &record.steps[6].times[0];
    assert!(stubborn.limited && stubborn.duration_us == 3_000_000, "what ends after its limit was limited");
    assert!(
        record.notes.iter().any(|note| note.as_str().contains("pg_stat_statements")),
        "{:?}",
        record.notes
    );
}
