//! Where results are stored: by option, by `PGMETER_STORE`, in the working directory, in the user's data directory; and
//! the runs of the drop-in.

use std::fs;

use results::{Record, Store, find};
use testkit::cluster::Cluster;

use crate::harness::{Bench, finish};

const SCRIPT: &str = "SELECT 1;";

#[test]
fn the_store_is_named_by_an_option_by_a_variable_or_is_in_the_users_data_directory() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("places");
    let script = bench.file("one.sql", SCRIPT);
    let run = ["bench", "-n", "-t", "1", "-f", script, conninfo.as_str()];
    let out = bench.run(run).exits(0);
    out.says(&["store: pgmeter-results/results.sqlite\n"]);

    let mut named = bench.command(run);
    finish(named.env("PGMETER_STORE", bench.path().join("named/my.db")))
        .exits(0)
        .says(&["named/my.db (PGMETER_STORE)"]);
    assert_eq!(bench.records_of("named").len(), 1);
    for command in [&["runs"][..], &["report", "last"], &["runs", "import"]] {
        let mut command = bench.command(command);
        finish(command.env("PGMETER_STORE", "named/my.db"))
            .exits(0)
            .says(&["store: named/my.db (PGMETER_STORE)"]);
    }
    let mut by_option = bench.command(["runs", "--store", "pgmeter-results"]);
    finish(by_option.env("PGMETER_STORE", "named/my.db"))
        .exits(0)
        .says(&["store: pgmeter-results/results.sqlite\n"]);

    fs::rename(bench.path().join("pgmeter-results"), bench.path().join("elsewhere")).expect("it is there");
    let out = bench.run(run).exits(0);
    let store = bench.path().join("data/pgmeter/results.sqlite");
    out.says(&[&format!("store: {} (the default; ", store.display())]);
    assert!(!bench.path().join("pgmeter-results").exists());
    assert_eq!(Store::open(&store).expect("a store").runs(9).expect("it can be read").len(), 1);
}

#[test]
fn the_drop_in_stores_its_runs_where_pgmeter_store_is_set_and_its_output_stays_the_same() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("dropin_stored");
    let script = bench.file("one.sql", SCRIPT);
    let arguments = ["-n", "-c", "2", "-t", "5", "-f", script, conninfo.as_str()];
    let figures = |text: &str| -> String { text.chars().filter(|c| !c.is_ascii_digit()).collect() };
    let plain = bench.run_pgbench(arguments).exits(0);
    assert!(fs::read_dir(bench.path().join("pgmeter-results")).expect("it is there").next().is_none());
    let stored = finish(bench.pgbench(arguments).env("PGMETER_STORE", "kept/")).exits(0);
    assert_eq!((figures(&stored.stdout), &*stored.stderr), (figures(&plain.stdout), ""));
    let record: Record = find(&bench.path().join("kept/results.sqlite"), "last").expect("it is stored");
    assert_eq!((record.plan.clients, record.summary.counts.succeeded), (2, 10));
    let command = record.plan.command_line.expect("it is stored").as_str().to_owned();
    assert!(command.starts_with("pgmeter pgbench --random-seed "), "{command}");
    bench.file("blocked", "a file");
    let blocked = finish(bench.pgbench(arguments).env("PGMETER_STORE", "blocked/my.db")).exits(0);
    assert_eq!(figures(&blocked.stdout), figures(&plain.stdout));
    assert_eq!(blocked.stderr.lines().count(), 1, "{}", blocked.stderr);
    blocked.says(&["pgbench: warning: the run is not stored: "]);
    let failing = bench.file("failing.sql", "SELECT 1 / 0;");
    let failing = ["-n", "-t", "1", "-f", failing, conninfo.as_str()];
    finish(bench.pgbench(failing).env("PGMETER_STORE", "kept/")).exits(2);
    assert_eq!(bench.records_of("kept").len(), 2);
}

/// Only root is protected from other users' directories.
#[test]
#[allow(clippy::print_stderr)]
fn root_skips_a_store_in_a_directory_of_another_user() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("NOT TESTED: the check is for root");
        return;
    }
    let bench = Bench::new();
    std::os::unix::fs::chown(bench.path().join("pgmeter-results"), Some(4711), None).expect("root may");
    let out = bench.run(["runs"]).exits(1);
    let data = bench.path().join("data/pgmeter/results.sqlite");
    out.says(&["./pgmeter-results is not used: user 4711 could change", &data.display().to_string()]);
    let named = finish(bench.command(["runs"]).env("PGMETER_STORE", "pgmeter-results/")).exits(1);
    named.says(&["root must not use", "4711", "PGMETER_STORE"]);
}
