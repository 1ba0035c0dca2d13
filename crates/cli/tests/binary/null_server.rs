//! `pgmeter null-server`: it says how to connect, answers pgmeter and, where it is installed, pgbench, and
//! leaves nothing behind. What it answers is tested in its own crate.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::Bench;

/// A null server that runs; killed if the test forgets it.
pub struct Null {
    process: Child,
    pub conninfo: String,
}

impl Null {
    pub fn start(bench: &Bench, listen: &str, more: &[&str]) -> Self {
        let mut command = bench.command(["null-server", "--listen", listen]);
        command.args(more).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("the binary runs");
        let mut conninfo = String::new();
        let stdout = process.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut conninfo).expect("a line");
        Self { process, conninfo: conninfo.trim().to_owned() }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).expect("it can be told");
    }

    fn ends(&mut self) {
        assert!(self.process.wait().expect("it ends").success());
    }
}

impl Drop for Null {
    fn drop(&mut self) {
        // One that has ended needs none.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn each_protocol_runs_without_an_error_and_the_record_names_the_server() {
    let bench = Bench::new();
    let mut null = Null::start(&bench, "./", &[]);
    let pipeline = bench.file("p.sql", "\\startpipeline\nSELECT 1;\nSELECT 2;\n\\endpipeline\n");
    for what in [
        &["-S", "-M", "prepared"][..],
        &["-S", "-M", "simple"],
        &["-M", "extended"],
        &["-b", "tpcb-like", "-C"],
        &["-n", "-M", "prepared", "-f", pipeline],
    ] {
        let run = ["bench", "-c", "3", "-t", "5", &null.conninfo];
        let finished = bench.run(run.iter().chain(what)).exits(0);
        assert!(!finished.stdout.contains("error"), "{what:?}: {}", finished.stdout);
    }
    for record in bench.records() {
        assert_eq!(record.summary.counts.succeeded, 15);
        let server = record.environment.server.expect("it was asked");
        assert_eq!(server.version, "18.0 (pgmeter null server)");
    }
    drop(null.process.stdin.take());
    null.ends();
    assert!(!bench.path().join(".s.PGSQL.5432").exists());
}

#[test]
fn a_signal_ends_it_too_and_takes_its_socket_away() {
    let bench = Bench::new();
    for signal in [Signal::TERM, Signal::INT] {
        let mut null = Null::start(&bench, "./", &[]);
        assert!(bench.path().join(".s.PGSQL.5432").exists());
        null.signal(signal);
        null.ends();
        assert!(!bench.path().join(".s.PGSQL.5432").exists());
    }
}

#[test]
fn over_tcp_it_takes_a_free_port_and_says_which() {
    let bench = Bench::new();
    let null = Null::start(&bench, "127.0.0.1:0", &["--rows", "3"]);
    bench.run(["bench", "-S", "-n", "-t", "2", &null.conninfo]).exits(0);
}

#[test]
fn two_null_servers_do_not_share_a_socket_and_the_second_says_so() {
    let bench = Bench::new();
    let _null = Null::start(&bench, "./", &[]);
    bench.run(["null-server", "--listen", "./"]).exits(1).says(&["cannot listen at ./", "in use"]);
}

#[test]
fn a_run_goes_on_when_the_server_was_silent_for_a_while() {
    let bench = Bench::new();
    let null = Null::start(&bench, "./", &["--stall-every", "0.05", "--stall-for", "0.2"]);
    bench.run(["bench", "-S", "-n", "-T", "0.6", &null.conninfo]).exits(0);
    let response = bench.record().summary.response_us.expect("some succeeded");
    assert!(response.max > 100_000.0, "{response:?}");
}
