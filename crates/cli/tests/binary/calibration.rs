//! `calibrate` and `self-test`: what is kept and shown, and that nothing is left.
//! Their figures are tested in `results`.

use std::fs;

use rustix::process::Signal;

use crate::harness::{Bench, Running, finish};
use crate::limits::generator;
use crate::null_server::Null;

/// Calibrating in a machine's place that is the test's own.
fn calibrate(bench: &Bench, arguments: &[&str]) -> std::process::Command {
    fs::create_dir_all(bench.path().join("tmp")).expect("it can be made");
    let mut command = bench.command(["calibrate"].iter().chain(arguments));
    command.env("PGMETER_CACHE_DIR", bench.path().join("cache")).env("TMPDIR", bench.path().join("tmp"));
    command
}

/// That neither the null server's directory nor its process is there any more.
#[track_caller]
fn assert_nothing_is_left(bench: &Bench) {
    let tmp = bench.path().join("tmp");
    assert_eq!(fs::read_dir(&tmp).expect("it is there").count(), 0);
    let place = tmp.to_string_lossy().into_owned();
    let processes = fs::read_dir("/proc").expect("there are processes");
    for process in processes.flatten() {
        let command = fs::read(process.path().join("cmdline")).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&command).contains(&place), "{} runs on", process.path().display());
    }
}

#[test]
fn a_machine_is_calibrated_once_and_its_runs_are_held_against_it() {
    let bench = Bench::new();
    finish(&mut calibrate(&bench, &["--show"]))
        .exits(1)
        .says(&["no calibration of this machine", "calibrations"]);
    let out = finish(&mut calibrate(&bench, &["-T", "0.3"])).exits(0).says(&["stored in "]);
    assert!(out.stdout.starts_with("One worker, event loop "), "{}", out.stdout);
    assert!(out.stdout.lines().any(|line| line.trim_start().starts_with("900 ")), "{}", out.stdout);
    // A worker that is always behind its schedule waits for no timer, so it has no lateness: so on a busy machine.
    let kept = fs::read_dir(bench.path().join("cache/calibrations")).expect("it is there").flatten().next();
    let kept = fs::read(kept.expect("one is kept").path()).expect("it can be read");
    let kept: serde_json::Value = serde_json::from_slice(&kept).expect("JSON");
    let is_measured = !kept["wakeup_lateness_us"].is_null();
    assert_eq!(out.stdout.contains("late wake-ups: "), is_measured, "{}", out.stdout);
    assert_nothing_is_left(&bench);
    let shown = finish(&mut calibrate(&bench, &["--show"])).exits(0);
    assert_eq!(shown.stdout, out.stdout);

    let null = Null::start(&bench, "./", &[]);
    let script = bench.file("one.sql", "SELECT 1;");
    let mut run = bench.command(["bench", "-n", "-t", "100", "-c", "4", "-f", script, &null.conninfo]);
    finish(run.env("PGMETER_CACHE_DIR", bench.path().join("cache"))).exits(0);
    let used = generator(bench.record()).calibration.expect("it fits this machine");
    assert!(used.round_trips_per_s_max > 0.0 && used.reached_share > 0.0, "{used:?}");
}

#[test]
fn a_calibration_that_is_interrupted_keeps_nothing_and_leaves_nothing() {
    let bench = Bench::new();
    let mut running = Running::start(&mut calibrate(&bench, &["-T", "60"]));
    running.hear("calibrating");
    running.signal(Signal::INT);
    running.finish().exits(130).says(&["interrupted; the machine was not calibrated"]);
    assert_nothing_is_left(&bench);
    assert!(!bench.path().join("cache/calibrations").exists());
}

#[test]
fn a_self_test_says_whether_the_machine_can_measure_and_leaves_nothing() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path().join("tmp")).expect("it can be made");
    let junit = bench.path().join("self-test.xml");
    let run = |words: &[&str]| {
        finish(
            bench
                .command(["self-test", "-T", "0.2"].iter().chain(words))
                .env("TMPDIR", bench.path().join("tmp")),
        )
    };
    run(&["-o", junit.to_str().expect("a path of ours")]).exits(5);
    let cases = fs::read_to_string(junit).expect("it is there");
    assert!(cases.contains("tests=\"9\"") && cases.contains("name=\"build\""), "{cases}");
    let json = bench.path().join("self-test.json");
    let out = run(&["-o", json.to_str().expect("a path of ours")]);
    // Tests run a debug build, which is not fit for measuring.
    let out = out.exits(5);
    let lines: Vec<&str> = out.stdout.lines().map(str::trim_end).collect();
    assert!(
        lines[0].starts_with("This machine cannot measure reliably because of pgmeter's debug build"),
        "{lines:?}"
    );
    for part in [
        "build  ",
        "event loop  ",
        "clock  ",
        "CPUs  ",
        "open files  ",
        "late wake-ups  ",
        "rate of a worker  ",
    ] {
        assert!(out.stdout.contains(part), "{part} is missing: {}", out.stdout);
    }
    let found: serde_json::Value =
        serde_json::from_slice(&fs::read(json).expect("it is there")).expect("JSON");
    assert_eq!((&found["grade"], &found["checks"][0]), (&"bad".into(), &serde_json::json!(["build", "bad"])));
    assert!(found["clock"]["read_ns"].as_f64().is_some_and(|nanos| nanos > 0.0));
    assert_nothing_is_left(&bench);
}

#[test]
fn a_calibration_that_cannot_be_kept_is_shown_all_the_same() {
    let bench = Bench::new();
    bench.file("cache", "in the way");
    let out =
        finish(&mut calibrate(&bench, &["-T", "0.3"])).exits(1).says(&["cannot keep the calibration in "]);
    assert!(out.stdout.starts_with("One worker, event loop "), "{}", out.stdout);
    assert_nothing_is_left(&bench);
}
