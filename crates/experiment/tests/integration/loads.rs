//! Loads that change in experiment files: curves, files with curves,
//! gaps, and stages as text and as tables.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use config::Folder;
use pgmeter_experiment::{Experiment, Profile};
use stats::load::Limit;
use stats::rate::{GapLaw, LoadStage, RateCurve, StageLoad};

fn read(text: &str) -> Result<Experiment, String> {
    let text = format!("name = \"x\"\n{text}");
    Experiment::parse(&text, "x.toml", Folder::Stored(&BTreeMap::new()), Profile::Full)
        .map_err(|error| error.to_string())
}

fn load(text: &str) -> run::RunSpec {
    read(text).unwrap_or_else(|why| panic!("{why}")).base.load
}

#[test]
fn a_rate_is_a_number_or_a_curve_and_gaps_have_a_law() {
    let found =
        load("[load]\nrate = \"ramp(100, 2000, 5min)\"\narrivals = \"gamma(0.5)\"\nduration = \"5min\"\n");
    assert_eq!(found.curve.map(|curve| curve.to_string()).as_deref(), Some("ramp(100, 2000, 5min)"));
    assert_eq!((found.rate_tps, found.arrivals), (None, GapLaw::Gamma(0.5)));
    let found = load("[load]\nrate = 500\nthink = \"none\"\n");
    assert_eq!((found.rate_tps, found.curve, found.think), (Some(500.0), None, None));
    let wrong = read("[load]\nrate = \"ramp(100, 2000)\"\n").expect_err("no time");
    assert_eq!(
        wrong,
        "x.toml:3:8: a ramp has two rates and the time between them: write ramp(100, 2000, 5min)"
    );
    let wrong = read("[load]\nrate = true\n").expect_err("no rate");
    assert!(
        wrong.contains("expected a number above 0, or a curve such as \"ramp(100, 2000, 5min)\""),
        "{wrong}"
    );
    let wrong = read("[load]\narrivals = \"fast\"\n").expect_err("no law");
    assert!(wrong.contains("gaps between arrivals are poisson, fixed"), "{wrong}");
}

#[test]
fn a_curve_may_be_in_a_file_beside_the_experiment_or_in_the_store() {
    let folder = tempfile::tempdir().expect("a directory");
    fs::write(folder.path().join("day.csv"), "time,rate\n0,100\n60,300\n").expect("written");
    let text = "name = \"x\"\n[load]\nrate = \"file:day.csv\"\nduration = \"60s\"\n";
    let points = |experiment: Experiment| match experiment.base.load.curve {
        Some(RateCurve::Points { file, points }) => (file, points.len()),
        other => panic!("{other:?}"),
    };
    let on_disk = Experiment::parse(text, "x.toml", folder.path(), Profile::Full).expect("valid");
    assert_eq!(points(on_disk), (Some("day.csv".to_owned()), 2));
    let stored = [("day.csv".to_owned(), "0,1\n30,2\n60,3\n".to_owned())].into();
    let from_store =
        Experiment::parse(text, "x.toml", Folder::Stored(&stored), Profile::Full).expect("valid");
    assert_eq!(points(from_store), (Some("day.csv".to_owned()), 3));
    let missing = text.replace("day", "night");
    let wrong = Experiment::parse(&missing, "x.toml", folder.path(), Profile::Full).expect_err("no file");
    assert!(wrong.to_string().contains("night.csv"), "{wrong}");
}

#[test]
fn stages_are_text_or_tables() {
    let found = load("[load]\nstages = \"1min@500, 2min@500..2000\"\n");
    assert_eq!(found.stages, LoadStage::list("1min@500, 2min@500..2000").expect("stages"));
    assert_eq!(found.limit, Limit::Duration(Duration::from_secs(180)));
    let tables = "[load]\nclients = 2\n[[stage]]\nduration = \"5s\"\nclients = 8\nweights = { \"a.sql\" = 0, b = 3 }\n\
                  [[stage]]\nduration = \"1min\"\nclients = \"8..64\"\n";
    let found = load(tables);
    assert_eq!((found.clients, found.limit), (64, Limit::Duration(Duration::from_secs(65))));
    assert_eq!(found.stages[0].load, Some(StageLoad::Clients { from: 8, to: 8 }));
    assert_eq!(found.stages[0].weights, [("a.sql".to_owned(), 0), ("b".to_owned(), 3)].into());
    assert_eq!(found.stages[1], "1min@8..64c".parse().expect("a stage"));
    let rates =
        load("[[stage]]\nduration = \"5s\"\nrate = \"10..20\"\n[[stage]]\nduration = \"5s\"\nrate = 30.5\n");
    assert_eq!(rates.stages, LoadStage::list("5s@10..20, 5s@30.5").expect("stages"));
}

#[test]
fn wrong_stages_are_refused_with_the_place_and_the_correct_form() {
    let wrong = |text: &str| read(text).expect_err(text);
    assert_eq!(
        wrong("[[stage]]\nrate = 5\n"),
        "x.toml:2:1: a stage requires a duration, such as duration = \"1min\""
    );
    assert_eq!(
        wrong("[[stage]]\nduration = \"5s\"\nrate = \"fast\"\n"),
        "x.toml:4:8: expected a rate, or two such as \"500..2000\", found \"fast\""
    );
    assert_eq!(
        wrong("[[stage]]\nduration = \"5s\"\nrate = 5\nclients = 3\n"),
        "x.toml:2:1: a stage has either a rate or clients: with a rate, clients belongs into [load]"
    );
    assert!(wrong("[[stage]]\nduration = \"5s\"\nrate = -5\n").contains("a rate must be from 0 to"));
    assert!(wrong("[[stage]]\nduration = \"1500ms\"\n").contains("write 2s instead of 1.5s"));
    assert!(wrong("[load]\nstages = \"1min@x\"\n").contains("is not a stage: a stage is a time, @,"));
    let both = wrong("[load]\nstages = \"1min@5\"\n[[stage]]\nduration = \"5s\"\n");
    assert!(both.contains("stages are defined in [load] too: define all of them in one place"), "{both}");
    let twice = wrong("[load]\nstages = \"1min@5\"\nduration = \"5s\"\n");
    assert!(twice.contains("cannot be combined with"), "{twice}");
}

#[test]
fn a_population_is_written_in_a_table_of_its_own_or_in_the_load() {
    let table = "[population]\nconnections = 5000\nactive = \"2%\"\nidle_in_transaction = \"3, 30s\"\nsession_lifetime = \"5min\"\n\
                 storm = \"10s; 20s, 50%\"\nslow_readers = \"1%, 64kB/s\"\nthink = \"exp(1s)\"\n";
    let found = load(table);
    assert_eq!(found.clients, 5000);
    let population = found.population.clone();
    assert_eq!(population.active.map(|it| it.to_string()).as_deref(), Some("2%, 10s"));
    assert_eq!((population.idle_transactions(5000), population.storms.len()), (3, 2));
    assert!(population.slow_readers.is_some() && found.think.is_some());
    let keys = "[load]\nclients = 5000\nactive_clients = \"2%\"\nidle_in_transaction = \"3, 30s\"\nsession_lifetime = \"5min\"\n\
                reconnect_storm = \"10s; 20s, 50%\"\nslow_readers = \"1%, 64kB/s\"\nthink = \"exp(1s)\"\n";
    assert_eq!(load(keys).population, population);
    let wrong = read("[population]\nconnections = 5000\n[load]\nclients = 8\n").expect_err("twice");
    assert_eq!(wrong, "x.toml:5:1: \"clients\" is in [population] too: write it in one place");
    let wrong = read("[population]\nactive = \"none of them\"\n").expect_err("no clients");
    assert!(wrong.starts_with("x.toml:3:10: expected a share or a number of clients"), "{wrong}");
    let wrong = read("[population]\nactiv = \"2%\"\n").expect_err("unknown");
    assert!(wrong.contains("\"active\"") && wrong.contains("[population]"), "{wrong}");
}
