//! `pgmeter relay`: it says how to connect, passes a run on to the server and back, tells at its end what passed, and
//! leaves nothing behind. What it does to the bytes is tested in its own crate.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::Bench;

/// A command that serves until its standard input ends; killed if the test forgets it.
pub(crate) struct Serving {
    process: Child,
    stdout: BufReader<ChildStdout>,
    conninfo: String,
}

impl Serving {
    pub(crate) fn start(bench: &Bench, arguments: &[&str]) -> Self {
        let mut command = bench.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("the binary runs");
        let mut stdout = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut conninfo = String::new();
        stdout.read_line(&mut conninfo).expect("a line");
        Self { process, stdout, conninfo: conninfo.trim().to_owned() }
    }

    /// Tells it to end, and waits for that.
    pub(crate) fn end(mut self) {
        drop(self.process.stdin.take());
        self.ends();
    }

    /// Waits for its end; returns what it said after its first line.
    fn ends(&mut self) -> String {
        let mut text = String::new();
        self.stdout.read_to_string(&mut text).expect("text");
        assert!(self.process.wait().expect("it ends").success());
        text
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // One that has ended needs none.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_run_through_a_relay_takes_a_round_trip_for_each_transaction() {
    let bench = Bench::new();
    let _server = Serving::start(&bench, &["null-server", "--listen", "./"]);
    let relay = ["relay", "--listen", "./.s.PGSQL.6000", "--to", "./", "--delay", "5ms", "--jitter", "1ms"];
    let mut relay = Serving::start(&bench, &relay);
    assert!(relay.conninfo.ends_with("port=6000"), "{}", relay.conninfo);
    let target = format!("{} user=pgmeter dbname=pgmeter", relay.conninfo);
    bench.run(["bench", "-S", "-n", "-c", "4", "-t", "5", &target]).exits(0);
    let response = bench.record().summary.response_us.expect("some succeeded");
    assert!(response.min >= 8000.0, "{response:?}");
    drop(relay.process.stdin.take());
    let text = relay.ends();
    for word in ["connections", "0 of them rejected", "bytes", "late by", "CPU"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(!bench.path().join(".s.PGSQL.6000").exists());
}

#[test]
fn over_tcp_it_takes_a_free_port_and_a_signal_ends_it() {
    let bench = Bench::new();
    let server = Serving::start(&bench, &["null-server", "--listen", "127.0.0.1:0"]);
    let port = server.conninfo.split("port=").nth(1).and_then(|rest| rest.split(' ').next()).expect("a port");
    let to = format!("127.0.0.1:{port}");
    let relay = ["relay", "--listen", "127.0.0.1:0", "--to", &to, "--bandwidth", "100Mbit"];
    let mut relay = Serving::start(&bench, &relay);
    let target = format!("{} user=pgmeter dbname=pgmeter", relay.conninfo);
    bench.run(["bench", "-S", "-n", "-t", "2", &target]).exits(0);
    kill_process(Pid::from_child(&relay.process), Signal::TERM).expect("it can be told");
    relay.ends();
}

#[test]
fn what_makes_no_sense_is_refused_with_a_reason() {
    let bench = Bench::new();
    let places = ["relay", "--listen", "./", "--to", "./server/"];
    for (more, status, says) in [
        (&["--delay", "10"][..], 1, "with a unit"),
        (&["--delay", "1ms", "--jitter", "2ms"], 1, "must not be larger than the delay"),
        (&["--bandwidth", "0Mbit"], 1, "100Mbit"),
    ] {
        bench.run(places.iter().chain(more)).exits(status).says(&[says]);
    }
    bench.run(["relay", "--listen", "./", "--to", "./"]).exits(1).says(&["connect to itself"]);
    bench
        .run(["relay", "--listen", "./no/", "--to", "./"])
        .exits(1)
        .says(&["cannot listen", "create the directory first"]);
}
