//! `[[step]]` in experiment files: meaning and error messages.
//! Nothing is run.

use std::path::Path;
use std::time::Duration;

use pgmeter_experiment::{Experiment, Plan, Profile, Step, StepSql, StepWork, outline};

const WAL: &str = r#"
name = "wal"
[server]
settings = { autovacuum = "off" }
[factors]
"settings.wal_compression" = ["off", "pglz"]
[[step]]
name = "update"
sql = "UPDATE t SET id = id"
before = "CREATE TABLE t AS SELECT generate_series(1, :rows) AS id"
times = 3
limit = "30min"
at_limit = "60min"
[quick]
times = 1
"variables.rows" = 10
[[chart]]
x = "settings.wal_compression"
series = "step"
"#;

const INIT: &str = r#"
name = "orders"
[factors]
init_steps = ["dtgv", "dtgvp"]
[[step]]
init = "all"
[[step]]
name = "count"
file = "count.sql"
"#;

fn read(text: &str, profile: Profile) -> Result<(Experiment, Plan), String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("count.sql"), "SELECT count(*) FROM pgbench_accounts;\n").unwrap();
    let read =
        Experiment::parse(text, "x.toml", folder.path(), profile).map_err(|error| error.to_string())?;
    let plan = Plan::of(&read, "x.toml", folder.path()).map_err(|error| error.to_string())?;
    Ok((read, plan))
}

#[test]
fn a_step_says_what_is_timed_how_often_and_how_long_it_may_take() {
    let (experiment, plan) = read(WAL, Profile::Full).unwrap();
    let expected = Step {
        name: "update".to_owned(),
        work: StepWork::Sql(StepSql::Here("UPDATE t SET id = id".to_owned())),
        before: Some(StepSql::Here("CREATE TABLE t AS SELECT generate_series(1, :rows) AS id".to_owned())),
        times: 3,
        limit: Some(Duration::from_secs(1800)),
        at_limit: Some(Duration::from_secs(3600)),
    };
    assert_eq!(plan.cells[1].configuration.steps, [expected]);
    let chart = &experiment.charts[0];
    assert_eq!((chart.y.as_str(), chart.series.as_deref()), ("duration", Some("step")));
    let words = outline(&experiment, &plan);
    let line =
        "  step        update: UPDATE t SET id = id, 3 times, cancelled after 1800s and counted as 3600s\n";
    assert!(words.contains(line), "{words}");
}

#[test]
fn the_quick_profile_takes_steps_less_often_and_with_other_variables() {
    let (_, plan) = read(WAL, Profile::Quick).unwrap();
    let configuration = &plan.cells[0].configuration;
    assert_eq!(configuration.steps[0].times, 1);
    assert_eq!(configuration.load.variables["rows"], "10");
}

#[test]
fn loading_that_is_timed_begins_on_an_empty_database() {
    let (experiment, plan) = read(INIT, Profile::Full).unwrap();
    assert!(plan.cells.iter().all(|cell| cell.configuration.data.workload.is_none()));
    let orders: Vec<_> = plan.cells.iter().map(|cell| cell.configuration.data.init_steps.as_str()).collect();
    assert_eq!(orders, ["dtgv", "dtgvp"]);
    let names: Vec<_> = experiment.base.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["init", "count"]);
    let StepWork::Sql(StepSql::File(path)) = &experiment.base.steps[1].work else { panic!("it is a file") };
    assert_eq!(path.file_name(), Some(Path::new("count.sql").as_os_str()));
}

#[test]
fn mistakes_in_steps_are_told_with_their_place_and_what_would_be_right() {
    let says = |old: &str, new: &str| {
        let text = WAL.replacen(old, new, 1);
        assert_ne!(text, WAL, "{old}");
        read(&text, Profile::Full).unwrap_err()
    };
    let cases = [
        ("times = 3", "time = 3", "x.toml:11:1: unknown key \"time\" in [[step]]; did you mean \"times\"?"),
        ("times = 3", "times = 0", "x.toml:11:9: expected a whole number from 1 to 10000, found 0"),
        ("name = \"update\"", "", "x.toml:7:1: a step requires a name"),
        ("sql = \"UPDATE t SET id = id\"", "", "x.toml:7:1: a step requires one of sql, file and init"),
        ("UPDATE t SET id = id", " ", "x.toml:9:7: expected SQL, found \" \""),
        (
            "limit = \"30min\"",
            "",
            "x.toml:13:12: expected a time of at least limit, which is required as well, found \"60min\"",
        ),
        (
            "60min",
            "60s",
            "x.toml:13:12: expected a time of at least limit, which is required as well, found \"60s\"",
        ),
        ("times = 3", "init = \"all\"", "x.toml:11:8: a step cannot have both init and SQL"),
        (
            "times = 3",
            "before_file = \"count.sql\"",
            "x.toml:11:15: before and before_file cannot be combined: give one of them",
        ),
        (
            "[[chart]]",
            "[[step]]\nname = \"update\"\nsql = \"SELECT 1\"\n[[chart]]",
            "x.toml:17:1: two steps have the name \"update\"",
        ),
        (
            "x = \"settings.wal_compression\"",
            "x = \"step\"\ny = \"tps\"",
            "x.toml:19:5: expected one of duration, wal_bytes, server_cpu, found \"tps\"",
        ),
    ];
    for (old, new, sentence) in cases {
        assert_eq!(says(old, new), sentence);
    }
    let text = INIT.replace("init = \"all\"", "init = \"all\"\ntimes = 2");
    assert_eq!(
        read(&text, Profile::Full).unwrap_err(),
        "x.toml:5:1: init cannot be combined with before or times: it starts with an empty database, once per repeat"
    );
}

#[test]
fn keys_of_loads_are_refused_wherever_they_stand_beside_steps() {
    let rest = |key: &str| {
        format!(
            "\"{key}\" has no effect in an experiment with [[step]], which uses only setup, network and variables of \
             [load]: remove \"{key}\" or [[step]]"
        )
    };
    let cases = [
        ("[factors]", "[load]\nwarmup = \"1s\"\n[factors]", "x.toml:6:1: ", "warmup"),
        ("[factors]", "[factors]\nclients = [1, 2]", "x.toml:6:12: ", "clients"),
        ("[quick]", "[quick]\nduration = \"1s\"", "x.toml:15:1: ", "duration"),
    ];
    for (old, new, place, key) in cases {
        let expected = format!("{place}{}", rest(key));
        assert_eq!(read(&WAL.replacen(old, new, 1), Profile::Full).unwrap_err(), expected);
    }
    let text = WAL.replacen("[factors]", "[load]\nnetwork = \"tcp\"\n[factors]", 1);
    assert!(read(&text, Profile::Full).is_ok());
}
