//! Log files of the drop-in and of `pgmeter bench`: how many there are, what they are called, and that their sums are
//! those of the run. The lines themselves are pinned where they are made.

use std::collections::BTreeMap;

use testkit::cluster::Cluster;

use crate::harness::{Bench, Finished};

/// The log files by name, with the process number taken out.
fn logs(bench: &Bench, prefix: &str) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(bench.path()).expect("it can be listed");
    let names =
        entries.map(|entry| entry.expect("it can be listed").file_name().to_string_lossy().into_owned());
    names
        .filter(|name| name.starts_with(prefix))
        .map(|name| {
            let text = std::fs::read_to_string(bench.path().join(&name)).expect("it can be read");
            let parts: Vec<&str> = name.split('.').collect();
            (parts[2..].join("."), text)
        })
        .collect()
}

fn fields(line: &str) -> Vec<f64> {
    line.split(' ').map(|field| field.parse().unwrap_or(f64::NAN)).collect()
}

fn run(bench: &Bench, options: &[&str]) -> Finished {
    let conninfo = Cluster::shared("18").database("dropin_logs");
    let script = bench.file("one.sql", "SELECT 1;");
    let common = ["-n", "-c", "3", "-j", "2", "-f", script];
    bench.run_pgbench(common.iter().chain(options).chain(&[conninfo.as_str()])).exits(0)
}

#[test]
fn each_thread_logs_each_of_its_transactions() {
    let bench = Bench::new();
    run(&bench, &["-t", "10", "-l", "-R", "2000", "--max-tries=2"]);
    let logs = logs(&bench, "pgbench_log.");
    assert_eq!(logs.keys().collect::<Vec<_>>(), ["", "1"]);
    let lines: Vec<Vec<f64>> = logs.values().flat_map(|text| text.lines().map(fields)).collect();
    assert_eq!(lines.len(), 30);
    for client in 0..3 {
        let numbers: Vec<f64> =
            lines.iter().filter(|line| line[0] == f64::from(client)).map(|line| line[1]).collect();
        assert_eq!(numbers, (1..=10).map(f64::from).collect::<Vec<_>>(), "client {client}");
    }
    // Latency, script, seconds, microseconds, lag, retries.
    assert!(
        lines.iter().all(|line| line.len() == 8 && line[3] == 0.0 && line[2] >= line[6] && line[7] == 0.0)
    );
}

#[test]
fn a_sample_is_drawn_from_the_seed() {
    let mut counts = Vec::new();
    for _ in 0..2 {
        let bench = Bench::new();
        run(&bench, &["-t", "100", "-l", "--log-prefix=x", "--sampling-rate=0.3", "--random-seed=7"]);
        let lines: usize = logs(&bench, "x.").values().map(|text| text.lines().count()).sum();
        counts.push(lines);
    }
    // 90 are expected; six standard deviations are 48.
    assert!((42..=138).contains(&counts[0]) && counts[0] == counts[1], "{counts:?}");
}

#[test]
fn sums_of_intervals_are_those_of_the_run_and_only_pgbench_loses_the_last() {
    let bench = Bench::new();
    let out = run(&bench, &["-T", "3", "-R", "100", "-l", "--aggregate-interval=1"]);
    let processed =
        out.stdout.lines().find_map(|line| line.strip_prefix("number of transactions actually processed: "));
    let processed: f64 = processed.expect("it is reported").parse().expect("it is a number");
    let lines: Vec<Vec<f64>> =
        logs(&bench, "pgbench_log.").values().flat_map(|text| text.lines().map(fields)).collect();
    assert!(lines.len() >= 4 && lines.iter().all(|line| line.len() == 16), "{lines:?}");
    let logged: f64 = lines.iter().map(|line| line[1]).sum();
    assert!(logged > 0.0 && logged <= processed, "{logged} of {processed}");

    let own = Bench::new();
    let conninfo = Cluster::shared("18").database("dropin_own_logs");
    let script = own.file("one.sql", "SELECT 1;");
    own.run([
        "bench",
        "-n",
        "-c",
        "2",
        "-T",
        "1",
        "-R",
        "100",
        "-l",
        "--aggregate-interval",
        "1",
        "-f",
        script,
        &conninfo,
    ])
    .exits(0);
    let logged: f64 = logs(&own, "pgmeter_log.")
        .values()
        .flat_map(|text| text.lines().map(fields))
        .map(|line| line[1])
        .sum();
    let succeeded = own.record().summary.counts.succeeded as f64;
    assert_eq!(logged, succeeded);
}

#[test]
fn a_log_that_cannot_be_made_ends_the_run_before_it_begins() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("dropin_no_log");
    let script = bench.file("one.sql", "SELECT 1;");
    let out =
        bench.run_pgbench(["-n", "-l", "--log-prefix=/nonexistent/x", "-f", script, &conninfo]).exits(1);
    assert!(
        out.stderr.starts_with("pgbench: error: could not open logfile \"/nonexistent/x."),
        "{}",
        out.stderr
    );
    assert!(out.stderr.ends_with("\": No such file or directory\n"), "{}", out.stderr);
}

/// Runs the binary with a log that goes to a full disk; the process number, which is in the log's name, is known
/// before it begins.
fn run_on_a_full_disk(bench: &Bench, command: &str) -> Finished {
    let conninfo = Cluster::shared("18").database("full_disk");
    let script = bench.file("one.sql", "SELECT 1;");
    let text = format!(
        "ln -s /dev/full full.$$ && exec \"$0\" {command} -n -t 300 -l --log-prefix full -f {script} \"$1\""
    );
    let shell = ["-c", &text, env!("CARGO_BIN_EXE_pgmeter"), &conninfo];
    crate::harness::finish(&mut bench.program(std::path::Path::new("/bin/sh"), shell))
}

#[test]
fn a_log_that_cannot_be_written_is_told_once_and_the_run_goes_on() {
    let bench = Bench::new();
    let out = run_on_a_full_disk(&bench, "bench").exits(2);
    let told = out.stderr.matches("cannot write a log file (No space left on device)").count();
    assert_eq!(told, 1, "{}", out.stderr);
    assert!(out.stderr.contains("the log is incomplete"), "{}", out.stderr);
    assert_eq!(bench.record().summary.counts.succeeded, 300);
}

#[test]
fn the_dropin_tells_of_a_log_that_cannot_be_written_and_ends_like_pgbench() {
    let out = run_on_a_full_disk(&Bench::new(), "pgbench").exits(0);
    let told = out.stderr.matches("could not write to log file: No space left on device").count();
    assert_eq!(told, 1, "{}", out.stderr);
    assert!(out.stdout.contains("actually processed: 300/300"), "{}", out.stdout);
}

#[test]
fn epoch_times_are_of_microseconds() {
    let bench = Bench::new();
    let before = std::time::SystemTime::now();
    run(&bench, &["-t", "20", "-l"]);
    let since_1970 = |time: std::time::SystemTime| {
        time.duration_since(std::time::UNIX_EPOCH).expect("it is after 1970").as_micros()
    };
    let (before, after) = (since_1970(before), since_1970(std::time::SystemTime::now()));
    for text in logs(&bench, "pgbench_log.").values() {
        for line in text.lines() {
            let number = |at: usize| line.split(' ').nth(at).and_then(|field| field.parse::<u128>().ok());
            let written = number(4).expect("seconds") * 1_000_000 + number(5).expect("microseconds");
            assert!((before..=after).contains(&written), "{line}");
        }
    }
}
