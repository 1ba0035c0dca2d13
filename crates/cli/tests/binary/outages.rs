//! Faults as actions of a run: on the servers and relays of experiments, on permanent servers, and refused elsewhere.
//! How a fault treats processes and data is tested in `server` and `relay`.

use std::fs;
use std::path::Path;

use results::{ActionOutcome, ActionResult, ActionWork, FaultKind, Record, Status, Warning};
use rustix::process::Signal;
use testkit::cluster::Cluster;

use crate::harness::{Bench, Running};

const LASTING: &str = r#"
name = "outages"
[server]
settings = { shared_buffers = "64MB" }
[data]
workload = "none"
data_setup = "tables.sql"
[load]
script = "read.sql"
clients = 2
rate = 100
duration = "3s"
warmup = "0s"
[factors]
fault = ["pause", "black hole", "one way", "slow"]
[levels.fault.pause]
action = { at = "1s", pause = "700ms" }
[levels.fault."black hole"]
action = { at = "1s", blackhole = "700ms" }
[[levels.fault."one way".action]]
at = "1s"
blackhole_to_client = true
[[levels.fault."one way".action]]
at = "1.7s"
heal = true
[levels.fault.slow]
action = { at = "1s", slow = "150ms,700ms" }
[design]
repeats = 1
order = "sequential"
"#;

/// The file of an experiment whose script reads a table.
fn written<'a>(bench: &Bench, name: &'a str, text: &str) -> &'a str {
    bench.file("tables.sql", "CREATE TABLE t AS SELECT 1 AS n;\n");
    bench.file("read.sql", "SELECT n FROM t;\n");
    bench.file(name, text)
}

fn lasted_s(result: &ActionResult) -> f64 {
    let (begin_s, end_s) = result.begin_s.zip(result.end_s).expect("it began");
    end_s - begin_s
}

fn fault(result: &ActionResult) -> &FaultKind {
    let ActionWork::Fault(fault) = &result.action.work else { panic!("{result:?}") };
    &fault.kind
}

#[test]
fn faults_of_servers_and_networks_hold_the_load_up_for_as_long_as_they_last() {
    let bench = Bench::new();
    let file = written(&bench, "outages.toml", LASTING);
    bench.run(["lab", "run", file]).exits(0);
    let records = bench.records();
    let [pause, blackhole, one_way, slow] = &records[..] else { panic!("{} records", records.len()) };
    for (record, longest_s) in [(pause, 0.7), (blackhole, 0.7), (one_way, 0.7), (slow, 0.3)] {
        let actions = &record.summary.actions;
        assert!(actions.iter().all(|action| action.outcome == ActionOutcome::Succeeded), "{actions:?}");
        let first = &actions[0];
        assert!(first.begin_s >= Some(1.0) && lasted_s(first) >= 0.65, "{first:?}");
        let response = record.summary.response_us.as_ref().expect("transactions");
        assert!(response.max >= longest_s * 0.95e6, "{longest_s}: {response:?}");
        // The state of the tables is known around it.
        for tables in [&first.before, &first.after] {
            let tables = tables.as_ref().expect("a state");
            assert!(tables.is_read() && !tables.tables.is_empty(), "{tables:?}");
        }
        assert_eq!(record.summary.counts.failed, 0);
    }
    // The relay is there only for faults of the network.
    let is_relayed = |record: &Record| record.notes().any(|it| matches!(it, Warning::RelayCost { .. }));
    assert_eq!([pause, blackhole, one_way, slow].map(is_relayed), [false, true, true, true]);
    assert_eq!(*fault(&one_way.summary.actions[1]), FaultKind::Heal);
    let page = bench.run(["report", file, "--format", "html"]).exits(0).stdout;
    for action in ["pause=0.7s", "blackhole=0.7s", "blackhole_to_client", "slow=0.15s,0.7s"] {
        assert!(page.contains(action), "the page names {action}");
    }
    assert_eq!(bench.servers_left(), Vec::<String>::new());
}

const KILLED: &str = r#"
name = "killed"
[server]
settings = { shared_buffers = "64MB" }
[data]
workload = "none"
data_setup = "tables.sql"
[load]
script = "read.sql"
rate = 100
duration = "2s"
warmup = "0s"
[factors]
fault = ["kill", "stop", "none"]
[levels.fault.kill]
action = { at = "500ms", kill = "300ms" }
[levels.fault.stop]
action = { at = "500ms", stop = "immediate" }
[design]
repeats = 1
order = "sequential"
"#;

#[test]
fn a_server_that_was_killed_or_stopped_is_there_again_for_the_next_trial() {
    let bench = Bench::new();
    let file = written(&bench, "killed.toml", KILLED);
    // A client whose connection is lost aborts, which ends the trial.
    let out = bench.run(["lab", "run", file]);
    let records = bench.records();
    let [killed, stopped, undisturbed] = &records[..] else { panic!("{}", out.stderr) };
    for record in [killed, stopped] {
        assert!(matches!(record.status, Status::Failed { .. }), "{:?}", record.status);
        let [action] = &record.summary.actions[..] else { panic!("{:?}", record.summary.actions) };
        assert!(action.begin_s >= Some(0.5), "{action:?}");
        assert!(!record.warnings.iter().any(|it| matches!(it, Warning::NotRestored { .. })));
        let after = action.after.as_ref().expect("a state");
        assert!(after.is_read(), "it is up again: {after:?}");
    }
    assert_eq!(stopped.summary.actions[0].outcome, ActionOutcome::Succeeded);
    assert_eq!(undisturbed.status, Status::Complete);
    assert!(!out.stderr.contains("no longer reachable"), "{}", out.stderr);
    assert_eq!(bench.servers_left(), Vec::<String>::new());
}

const PROMOTED: &str = r#"
name = "promoted"
[server]
settings = { shared_buffers = "16MB" }
[data]
workload = "none"
data_setup = "tables.sql"
[load]
script = "update.sql"
clients = 2
rate = 200
duration = "4s"
warmup = "0s"
on_disconnect = "reconnect"
[factors]
fault = ["promote", "switchover", "dead"]
[levels.fault.promote]
action = { at = "1s", promote = "near" }
[levels.fault.switchover]
action = { at = "1s", switchover = "near" }
[[levels.fault.dead.action]]
at = "500ms"
kill = true
[[levels.fault.dead.action]]
at = "1500ms"
pause = "500ms"
[design]
repeats = 1
order = "sequential"
[[standby]]
name = "near"
"#;

#[test]
fn a_promotion_beside_a_running_primary_and_an_action_on_a_dead_one_have_a_warning() {
    let bench = Bench::new();
    bench.file("tables.sql", "CREATE TABLE t AS SELECT 1 AS n;\n");
    bench.file("update.sql", "UPDATE t SET n = n + 1;\n");
    let file = bench.file("promoted.toml", PROMOTED);
    bench.run(["lab", "run", file]).exits(0);
    let records = bench.records();
    let [promoted, switched, dead] = &records[..] else { panic!("{} records", records.len()) };
    let [killed, paused] = &dead.summary.actions[..] else { panic!("{:?}", dead.summary.actions) };
    assert!(!matches!(killed.outcome, ActionOutcome::Failed { .. }), "{killed:?}");
    assert!(
        matches!(&paused.outcome, ActionOutcome::Failed { error, .. } if error.as_str().contains("not running"))
    );
    assert!(dead.warnings.iter().any(|it| matches!(it, Warning::ActionFailed { .. })), "{:?}", dead.warnings);
    assert!(!dead.warnings.iter().any(|it| matches!(it, Warning::NotRestored { .. })), "{:?}", dead.warnings);
    for record in [promoted, switched] {
        let actions = &record.summary.actions;
        assert!(actions.iter().all(|action| action.outcome == ActionOutcome::Succeeded), "{actions:?}");
    }
    let second = |record: &Record| {
        record.warnings.iter().find_map(|it| match it {
            Warning::TwoPrimaries { standby, from_s } => Some((standby.as_str().to_owned(), *from_s)),
            _ => None,
        })
    };
    let (standby, from_s) = second(promoted).expect("there were two primaries");
    assert_eq!((standby.as_str(), second(switched)), ("near", None));
    let ended_s = promoted.summary.actions[0].end_s.expect("it ended");
    assert!((1.0..=ended_s).contains(&from_s), "{from_s} {ended_s}");
    assert_eq!(bench.servers_left(), Vec::<String>::new());
}

/// A permanent server, which is removed at the end.
struct Permanent<'a> {
    bench: &'a Bench,
    conninfo: String,
}

impl<'a> Permanent<'a> {
    fn start(bench: &'a Bench) -> Self {
        bench.run(["server", "install", "blue"]).exits(0);
        let conninfo = bench.run(["server", "start", "blue"]).exits(0).stdout.trim().to_owned();
        Self { bench, conninfo }
    }

    fn status(&self) -> String {
        self.bench.run(["server", "status", "blue"]).exits(0).stdout
    }

    fn answers(&self) {
        let target = connect::resolve(
            Some(&self.conninfo),
            &connect::Overrides::default(),
            &connect::Environment::default(),
        );
        let mut session = connect::Session::connect(&target.expect("a target")).expect("a session");
        assert_eq!(session.query("select 1").expect("an answer").len(), 1);
    }
}

impl Drop for Permanent<'_> {
    fn drop(&mut self) {
        self.bench.run(["server", "stop", "--remove", "blue"]);
        if !std::thread::panicking() {
            assert!(self.bench.servers_left().is_empty());
        }
    }
}

#[test]
fn a_permanent_server_takes_faults_and_is_up_afterwards_whatever_happened() {
    let bench = Bench::new();
    let server = Permanent::start(&bench);
    let script = bench.file("one.sql", "SELECT 1;\n\\sleep 5 ms\n");
    let run = |action: &str| {
        let words =
            ["bench", "-n", "-R", "100", "-T", "2", "-f", script, "--action", action, &server.conninfo];
        bench.run(words)
    };
    run("500ms:pause=400ms").exits(0);
    let paused = bench.record();
    assert_eq!(paused.summary.actions[0].outcome, ActionOutcome::Succeeded);
    assert!(paused.summary.response_us.expect("transactions").max >= 0.38e6);
    for action in ["500ms:kill=200ms", "500ms:restart=fast", "500ms:stop=immediate", "500ms:kill-backend"] {
        let out = run(action);
        assert!(out.stderr.contains("aborted") || out.stdout.contains("aborted"), "{action}: {}", out.stderr);
        let record = bench.records().pop().expect("a record");
        let [result] = &record.summary.actions[..] else { panic!("{:?}", record.summary.actions) };
        assert!(!matches!(result.outcome, ActionOutcome::Failed { .. }), "{result:?}");
        server.answers();
        assert!(server.status().contains("running (pid"));
    }
    // Over the network, it could be any server; and a network needs a relay.
    let out = run("500ms:blackhole=1s").exits(1);
    assert!(out.stderr.contains("require a relay"), "{}", out.stderr);
    let out = run("500ms:promote=other").exits(1);
    assert!(out.stderr.contains("there is no standby other"), "{}", out.stderr);
}

fn is_paused(data: &Path) -> bool {
    let pid = fs::read_to_string(data.join("postmaster.pid")).expect("it runs");
    let pid = pid.lines().next().expect("a process");
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the process");
    status.lines().any(|line| line.starts_with("State:\tT"))
}

#[test]
fn a_paused_server_continues_when_pgmeter_is_interrupted_or_killed() {
    let bench = Bench::new();
    let server = Permanent::start(&bench);
    let script = bench.file("one.sql", "SELECT 1;\n");
    let status = server.status();
    let data = status.lines().find_map(|line| line.strip_prefix("data ")).expect("its directory").trim();
    let data = Path::new(data);
    for signal in [Signal::INT, Signal::KILL] {
        let words = [
            "bench",
            "-n",
            "-R",
            "200",
            "-T",
            "300",
            "-f",
            script,
            "--action",
            "200ms:pause=200s",
            &server.conninfo,
        ];
        let run = Running::start(&mut bench.command(words));
        while !is_paused(data) {
            testkit::condition::pause();
        }
        run.signal(signal);
        run.finish();
        while is_paused(data) {
            testkit::condition::pause();
        }
        server.answers();
    }
}

#[test]
fn faults_of_servers_that_pgmeter_does_not_manage_are_refused_in_one_sentence() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("unmanaged");
    let script = bench.file("one.sql", "SELECT 1;\n");
    for (action, reason) in [
        ("1:kill=1s", "the action kill is only possible on a server that pgmeter manages"),
        ("1:pause=1s", "the action pause is only possible on a server that pgmeter manages"),
        ("1:stop=fast", "sql is possible on every server"),
        ("1:promote=other", "the action promote is only possible on a server that pgmeter manages"),
        ("1:cut", "an embedded server of an experiment (pgmeter lab), with a relay before it"),
        ("1:stop", "--action: stop requires a mode: stop=smart, stop=fast or stop=immediate"),
    ] {
        let words = ["bench", "-n", "-R", "200", "-T", "2", "-f", script, "--action", action, &conninfo];
        let out = bench.run(words).exits(1);
        assert!(out.stderr.contains(reason), "{action}: {}", out.stderr);
        assert_eq!(out.stderr.lines().count(), 1, "{}", out.stderr);
    }
    let experiment = |server: &str, action: &str| {
        format!(
            "name = \"e\"\n[server]\n{server}\n[load]\nscript = \"select-only\"\nrate = 200\nduration = \"2s\"\n[[action]]\nat = \
             \"1s\"\n{action}\n[factors]\nclients = [1, 2]\n"
        )
    };
    for (server, action, reason) in [
        ("dsn = \"host=/nowhere\"", "kill = \"1s\"", "the action kill requires an embedded server"),
        ("dsn = \"host=/nowhere\"", "blackhole = true", "the action blackhole requires an embedded server"),
        (
            "version = \"18\"",
            "promote = \"other\"",
            "the action promote requires the standby other, and the experiment has none",
        ),
        ("version = \"18\"", "stop = true", "stop requires a mode"),
        ("version = \"18\"", "heal = \"5s\"", "heal has no detail"),
    ] {
        let file = bench.file("e.toml", &experiment(server, action));
        let out = bench.run(["lab", "plan", file]).exits(1);
        assert!(out.stderr.contains(reason), "{action}: {}", out.stderr);
        assert_eq!(out.stderr.lines().count(), 1, "{}", out.stderr);
    }
    assert_eq!(bench.records().len(), 0);
}
