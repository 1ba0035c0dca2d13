//! What can be seen of a run while it goes on: lines, the view that is drawn anew each second, metrics. What the texts
//! look like is tested in `report`.

use std::io::{Read, Write};
use std::net::TcpStream;

use rustix::process::Signal;
use testkit::cluster::Cluster;

use crate::harness::{Bench, Running};

const NAP: &str = "SELECT pg_sleep(0.01);";

#[test]
fn plain_progress_is_a_line_for_each_second_and_none_is_nothing() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("watching_lines");
    let script = bench.file("nap.sql", NAP);
    // How many lines there were, and how many seconds the run had: one more where the machine was busy at its end.
    let lines = |how: &str| {
        let out = bench.run(["bench", "-n", "-T", "2", "-f", script, "--progress", how, &conninfo]).exits(0);
        let record = bench.records().pop().expect("the newest one");
        let seconds = record.intervals.iter().filter(|second| second.end_s - second.start_s >= 0.5).count();
        (out.stderr.lines().filter(|line| line.contains(" tps ")).count(), seconds)
    };
    for how in ["plain", "live"] {
        let (lines, seconds) = lines(how);
        assert!(lines == seconds && seconds >= 2, "{how}: {lines} lines in {seconds} s");
    }
    let (every_two, seconds) = lines("2");
    assert_eq!(every_two, seconds / 2);
    assert_eq!(lines("none").0, 0);
    let out = bench.run(["bench", "--progress", "often", &conninfo]).exits(1);
    assert!(
        out.stderr.contains("expected live, plain, none, or whole seconds, such as 10 or 1min"),
        "{}",
        out.stderr
    );
}

/// Asks over HTTP; head and body of the answer.
fn get(address: &str, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(stream, "{request} HTTP/1.1\r\nHost: {address}\r\n\r\n").expect("it takes the request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("head and body");
    (head.to_owned(), body.to_owned())
}

#[test]
fn metrics_are_served_while_the_run_goes_on_and_not_longer() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("watching_metrics");
    let script = bench.file("nap.sql", NAP);
    let arguments =
        ["bench", "-n", "-T", "600", "-f", script, "--metrics", "127.0.0.1:0", "-P", "1", &conninfo];
    let mut run = Running::start(&mut bench.command(arguments));
    run.hear("  1 s ");
    let address =
        run.heard().split_once("http://").expect("it says where").1.split('/').next().unwrap().to_owned();
    let (head, body) = get(&address, "GET /metrics");
    assert!(
        head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text; version=1.0.0"),
        "{head}"
    );
    assert!(body.ends_with("# EOF\n"), "{body}");
    let succeeded = "pgmeter_transactions_total{script=\"nap.sql\",ending=\"succeeded\"} ";
    let number = body.lines().find_map(|line| line.strip_prefix(succeeded)).expect("it is there");
    assert!(number.parse::<u64>().expect("a count") > 0, "{body}");
    assert!(get(&address, "GET /other").0.starts_with("HTTP/1.1 404 "));
    assert!(get(&address, "POST /metrics").0.starts_with("HTTP/1.1 405 "));
    assert_eq!(get(&address, "HEAD /metrics").1, "");
    run.signal(Signal::INT);
    run.finish().exits(130);
    assert!(TcpStream::connect(address).is_err(), "nobody listens any more");
}

#[test]
fn metrics_of_a_trial_are_served_while_it_runs() {
    let bench = Bench::new();
    let dsn = Cluster::shared("18").database("watching_trial_metrics");
    bench.file("nap.sql", NAP);
    let load = "script = \"nap.sql\"\nduration = \"600s\"\nwarmup = \"0s\"\nmetrics = \"127.0.0.1:0\"";
    let text = format!(
        "name = \"metrics\"\n[server]\ndsn = \"{dsn}\"\n[data]\nworkload = \"none\"\n[load]\n{load}\n"
    );
    let file = bench.file("metrics.toml", &text);
    let mut run = Running::start(&mut bench.command(["lab", "run", file, "--store", "out/"]));
    run.hear("metrics at http://");
    let address =
        run.heard().split_once("http://").expect("it says where").1.split('/').next().unwrap().to_owned();
    let (head, _) = get(&address, "GET /metrics");
    assert!(head.starts_with("HTTP/1.1 "), "{head}");
    run.signal(Signal::INT);
    run.finish().exits(130);
    assert!(TcpStream::connect(address).is_err(), "nobody listens any more");
}

#[test]
fn an_address_at_which_no_metrics_can_be_served_is_told_before_the_run() {
    let bench = Bench::new();
    let out = bench.run(["bench", "--metrics", "127.0.0.1:http", "-h", "/nowhere"]).exits(1);
    assert!(
        out.stderr.starts_with("pgmeter: error: cannot serve metrics at 127.0.0.1:http: "),
        "{}",
        out.stderr
    );
}

#[test]
fn a_report_that_cannot_be_written_is_a_failure() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("watching_full");
    let script = bench.file("one.sql", "SELECT 1;");
    let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux has it");
    let mut command = bench.command(["bench", "-n", "-t", "1", "-f", script, &conninfo]);
    let status =
        command.stdout(full).stderr(std::process::Stdio::null()).status().expect("it can be started");
    assert_eq!(status.code(), Some(2));
    assert_eq!(bench.records().len(), 1, "the run is kept all the same");
}

#[test]
fn a_closed_standard_output_is_a_failure_and_the_null_device_is_not() {
    let bench = Bench::new();
    let schema = bench.file("one.sql", "CREATE TABLE one (id int PRIMARY KEY);");
    for (words, status) in
        [(vec!["bench", "--help"], 2), (vec!["workload", "list"], 2), (vec!["data", "--schema", schema], 1)]
    {
        for (redirection, expected) in [(">&-", status), ("</dev/null >/dev/null", 0)] {
            let pgmeter = bench.command(words.clone());
            let mut shell = std::process::Command::new("sh");
            shell.args(["-c", &format!("exec \"$0\" \"$@\" {redirection}")]).arg(pgmeter.get_program());
            shell.args(pgmeter.get_args()).current_dir(pgmeter.get_current_dir().expect("a directory"));
            let out = shell.output().expect("there is a shell");
            let told = String::from_utf8_lossy(&out.stderr);
            assert_eq!(out.status.code(), Some(expected), "{words:?} {redirection}: {told}");
            assert_eq!(told.contains("standard output"), expected == status, "{told}");
        }
    }
}
