//! Experiments through PgBouncer: what their records say, what is refused before anything is started, and that no pooler
//! is left, however the experiment ends. How a pooler is started is tested in `server`.

use std::fs;
use std::path::Path;

use results::{PoolMode, Pooler, PoolerFigures, Record, SessionFeature, Warning};
use rustix::process::{Pid, Signal, kill_process};
use testkit::cluster::Cluster;
use testkit::pooler::{PgBouncer, program};

use crate::harness::{Bench, Running};

/// Without PgBouncer, the test says that it tested nothing.
#[allow(clippy::print_stderr)]
fn is_there() -> bool {
    let program = program();
    if program.is_none() {
        eprintln!("SKIPPED: there is no pgbouncer, so no experiment ran through one");
    }
    program.is_some()
}

const MODES: &str = r#"
name = "modes"
[server]
settings = { shared_buffers = "64MB" }
[data]
workload = "none"
[load]
script = "one.sql"
rate = 300
duration = "1s"
warmup = "0s"
clients = 4
[pooler]
pool_size = 4
[factors]
"pooler.mode" = ["none", "session", "transaction", "statement"]
[design]
repeats = 1
order = "sequential"
"#;

fn figures(record: &Record) -> &PoolerFigures {
    let pooler = record.summary.pooler.as_ref().expect("it ran through a pooler");
    assert!(pooler.missing.is_empty(), "{:?}", pooler.missing);
    pooler.figures.as_ref().expect("it was watched")
}

#[test]
fn trials_in_all_modes_have_the_figures_of_their_pooler_and_direct_ones_have_none() {
    if !is_there() {
        return;
    }
    let bench = Bench::new();
    let file = bench.experiment("modes.toml", MODES);
    let out = bench.run(["lab", "run", file]).exits(0);
    assert!(
        out.stdout.contains("4 of 4 trials complete") && out.stdout.contains("pooler CPU/tx"),
        "{}",
        out.stdout
    );
    let records = bench.records();
    let modes = |pooler: &Pooler| pooler.mode;
    let seen: Vec<_> = records.iter().map(|it| it.summary.pooler.as_ref().map(modes)).collect();
    let pooled = [PoolMode::Session, PoolMode::Transaction, PoolMode::Statement].map(Some);
    assert_eq!(seen, [[None].as_slice(), &pooled].concat());
    for record in &records[1..] {
        let figures = figures(record);
        let counts = record.summary.counts;
        // It also counts what the clients ended after the measured time, one each at most.
        let ended = counts.succeeded + counts.failed;
        assert!(figures.transactions <= ended + u64::from(record.plan.clients), "{figures:?} {counts:?}");
        // It does not count what ended before its first reading, which may be late; twice the mean rate is enough.
        let late_share = figures.samples[0].start_s / record.summary.duration_s;
        let counted = figures.transactions + u64::from(record.plan.clients);
        assert!(counted as f64 >= ended as f64 * (1.0 - 2.0 * late_share), "{figures:?} {counts:?}");
        assert!(figures.cpu_us_per_transaction.is_some_and(|us| us > 0.0), "{figures:?}");
        assert!((1..=4).contains(&figures.server_connections_max), "{figures:?}");
        // The clients connect to the pooler, everything else to the server.
        let waits = record.observation.as_ref().and_then(|observation| observation.waits.as_ref());
        assert!(waits.is_some_and(|waits| waits.backends_seen > 0), "the observer finds the load's backends");
    }
    let report = bench.run(["report", "3", "--format", "markdown"]).exits(0);
    assert!(report.stdout.contains("clients → PgBouncer → server"), "{}", report.stdout);
    let csv = bench.run(["report", "3", "--format", "csv"]).exits(0);
    let row = csv.stdout.lines().any(|line| line.contains(",pooler,") && line.contains("clients_waiting"));
    assert!(row, "{}", csv.stdout);
    assert_eq!(bench.servers_left(), Vec::<String>::new());
}

const NETWORKS: &str = r#"
name = "pooled"
[server]
settings = { shared_buffers = "64MB" }
[data]
workload = "none"
data_setup = "tables.sql"
[load]
script = "update.sql"
rate = 300
duration = "1s"
warmup = "0s"
clients = 3
[pooler]
mode = "transaction"
pool_size = 1
[factors]
network = ["socket", "tcp", "tls", { delay = "2ms" }, { kind = "tls", delay = "2ms" }]
[design]
repeats = 1
order = "sequential"
"#;

/// The data are copied anew for each trial, which no connection of the trial before may prevent.
#[test]
fn a_relay_is_in_front_of_the_pooler_and_clients_wait_for_a_small_pool() {
    if !is_there() {
        return;
    }
    let bench = Bench::new();
    bench.file("tables.sql", "CREATE TABLE t AS SELECT 1 AS n;\n");
    bench.file("update.sql", "UPDATE t SET n = n + 1;\n");
    let file = bench.file("pooled.toml", NETWORKS);
    let out = bench.run(["lab", "run", file]).exits(0);
    assert!(out.stdout.contains("5 of 5 trials complete"), "{}", out.stdout);
    let records = bench.records();
    for (at, record) in records.iter().enumerate() {
        let pooler = record.summary.pooler.as_ref().expect("it ran through a pooler");
        assert_eq!(pooler.behind_relay, at >= 3);
        let is_relayed = record.notes().any(|it| matches!(it, Warning::RelayCost { .. }));
        assert_eq!(is_relayed, at >= 3);
        assert_eq!(figures(record).server_connections_max, 1, "the pool has one connection");
    }
    let waited = figures(&records[0]).wait_us_per_transaction;
    assert!(waited.is_some_and(|us| us > 0.0), "three clients share one connection");
    let least = records[3].summary.response_us.as_ref().expect("some succeeded").min;
    assert!(least >= 4000.0, "a round trip takes twice the delay: {least}");
    assert_eq!(bench.servers_left(), Vec::<String>::new());
}

#[test]
fn what_a_pooler_breaks_is_told_before_the_run_and_recorded() {
    if !is_there() {
        return;
    }
    let bench = Bench::new();
    bench.file("session.sql", "SET work_mem = '1MB';\nSELECT pg_advisory_lock(1), pg_advisory_unlock(1);\n");
    let text = MODES.replace("one.sql", "session.sql").replace("\"session\", ", "").replace("\"none\", ", "");
    let file = bench.file("modes.toml", &text);
    let out = bench.run(["lab", "run", file]).exits(0);
    let before = out.stderr.split("trial 1/").next().unwrap_or_default();
    assert!(
        before.contains("session.sql, line 1") && before.contains("session.sql, line 2"),
        "{}",
        out.stderr
    );
    for record in bench.records() {
        let broken = record.warnings.iter().filter_map(|warning| match warning {
            Warning::PoolerBreaks { feature, line, .. } => Some((*feature, *line)),
            _ => None,
        });
        let expected = [(SessionFeature::Setting, 1), (SessionFeature::AdvisoryLock, 2)];
        assert_eq!(broken.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_started() {
    let bench = Bench::new();
    bench.file("nothing", "");
    bench.file("begin.sql", "SELECT 1;\nBEGIN;\nSELECT 1;\nEND;\n");
    for (from, to, says) in [
        ("pool_size = 4", "pool_size = 0", "from 1 to 10000"),
        ("pool_size = 4", "pool_size = 3", "4 clients need pool_size = 4 or more in [pooler], and it is 3"),
        ("pool_size = 4", "mode = \"pooled\"", "\"transaction\""),
        ("pool_size = 4", "pool_sise = 4", "did you mean \"pool_size\""),
        (
            "pool_size = 4",
            "pool_size = 4\nsettings = { pool_mode = \"session\" }",
            "use the key mode of [pooler]",
        ),
        ("pool_size = 4", "pool_size = 4\nsettings = { \"a b\" = 1 }", "consist of a to z"),
        (
            "settings = { shared_buffers = \"64MB\" }",
            "dsn = \"host=/nowhere\"",
            "name its address with hosts",
        ),
        ("one.sql", "begin.sql", "script begin.sql, line 2: statement pooling refuses"),
        ("one.sql", "tpcb-like", "statement pooling refuses"),
    ] {
        let file = bench.experiment("modes.toml", &MODES.replace(from, to));
        bench.run(["lab", "run", file]).exits(1).says(&[says]);
    }
    let queries =
        "name = \"q\"\n[data]\nworkload = \"tpch\"\n[queries]\nrepeat = 1\n[pooler]\nmode = \"session\"\n";
    let file = bench.file("queries.toml", queries);
    bench.run(["lab", "plan", file]).exits(1).says(&["[pooler] applies to loads"]);
    for (named, says) in
        [("missing", "missing cannot be used as PgBouncer"), ("nothing", "nothing cannot be used")]
    {
        let to = format!("pool_size = 4\nprogram = \"{named}\"");
        let file = bench.experiment("modes.toml", &MODES.replace("pool_size = 4", &to));
        bench.run(["lab", "run", file]).exits(1).says(&["the experiment cannot run: ", says]);
    }
    assert_eq!(bench.servers_left(), Vec::<String>::new());
}

#[test]
fn prepared_statements_need_a_pooler_that_keeps_them() {
    let Some(program) = program() else {
        is_there();
        return;
    };
    let bench = Bench::new();
    let text = MODES.replace("clients = 4", "clients = 4\nprotocol = \"prepared\"").replace("\"none\", ", "");
    let file = bench.experiment("modes.toml", &text);
    let out = bench.run(["lab", "run", file]);
    match program.version.check_prepared(PoolMode::Transaction) {
        Ok(()) => drop(out.exits(0)),
        Err(_) => {
            let words =
                ["does not keep prepared statements in transaction pooling", "PgBouncer 1.21 or newer"];
            out.exits(1).says(&words);
            let session_only = text.replace(", \"transaction\", \"statement\"", "");
            let file = bench.experiment("modes.toml", &session_only);
            bench.run(["lab", "run", file]).exits(0);
        }
    }
}

#[test]
fn a_run_through_somebodys_pooler_says_so_and_its_errors_have_the_remedy() {
    let cluster = Cluster::start("18");
    let Some(pooler) = PgBouncer::start(&cluster) else {
        is_there();
        return;
    };
    let bench = Bench::new();
    let file = bench.file("one.sql", "SELECT 1;\n");
    let conninfo = pooler.conninfo();
    bench.run(["bench", "-n", "-f", file, "-c", "2", "-t", "20", &conninfo]).exits(0);
    let is_told = |record: &Record| record.warnings.contains(&Warning::ForeignPooler);
    assert!(is_told(&bench.record()), "{:?}", bench.record().warnings);
    bench.run(["bench", "-n", "-f", file, "-t", "20", &Cluster::shared("18").conninfo()]).exits(0);
    assert_eq!(bench.records().iter().filter(|record| is_told(record)).count(), 1, "the other is direct");
    let keeps = pooler.pooler().max_prepared_statements().is_some();
    let out = bench.run(["bench", "-n", "-M", "prepared", "-f", file, "-c", "2", "-t", "20", &conninfo]);
    if !keeps {
        out.exits(1).says(&["does not keep track of prepared statements", "Use -M simple or -M extended"]);
    }
}

/// The poolers whose parent is this process, without those that only tell their version.
fn poolers_of(parent: u32) -> Vec<i32> {
    let status = |pid: i32| fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let entries = fs::read_dir("/proc").expect("there is one").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let status = status(*pid);
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let is_pooler =
            status.starts_with("Name:\tpgbouncer") && arguments.windows(4).any(|part| part == b".ini");
        is_pooler && status.lines().any(|line| line == format!("PPid:\t{parent}"))
    })
    .collect()
}

#[test]
fn a_pooler_that_is_killed_spoils_one_trial_and_the_next_has_another() {
    if !is_there() {
        return;
    }
    let bench = Bench::new();
    let text = MODES.replace("\"1s\"", "\"5s\"").replace("\"none\", \"session\", ", "");
    let file = bench.experiment("modes.toml", &text.replace("rate = 300", "rate = 50"));
    let mut run = Running::start(&mut bench.command(["lab", "run", file]));
    run.hear("trial 1/2");
    let mut first = Vec::new();
    while first.is_empty() {
        first = poolers_of(run.pid());
        testkit::condition::pause();
    }
    kill_process(Pid::from_raw(first[0]).expect("a process"), Signal::KILL).expect("it is there");
    let out = run.finish();
    assert!(
        out.stderr.contains("PgBouncer ended during the trial") || out.stderr.contains("pooler"),
        "{}",
        out.stderr
    );
    assert!(out.stdout.contains("1 of 2 trials complete"), "{}\n{}", out.stdout, out.stderr);
    assert_eq!(bench.servers_left(), Vec::<String>::new());
}

#[test]
fn no_pooler_outlives_a_killed_experiment() {
    if !is_there() {
        return;
    }
    let bench = Bench::new();
    let text = MODES.replace("\"1s\"", "\"100s\"").replace("\"none\", ", "");
    let file = bench.experiment("modes.toml", &text.replace("rate = 300", "rate = 50"));
    // As a shell starts programs in the background. PgBouncer before 1.23 ignores the signal then.
    let ignoring_quit = "trap '' QUIT; exec \"$0\" \"$@\"";
    let words = ["-c", ignoring_quit, env!("CARGO_BIN_EXE_pgmeter"), "lab", "run", file];
    let mut run = Running::start(&mut bench.program(Path::new("/bin/sh"), words));
    run.hear("trial 1/3");
    let mut poolers = Vec::new();
    while poolers.is_empty() {
        poolers = poolers_of(run.pid());
        testkit::condition::pause();
    }
    run.signal(Signal::KILL);
    run.finish();
    let is_there = || {
        let status = fs::read_to_string(format!("/proc/{}/status", poolers[0])).unwrap_or_default();
        status.contains("pgbouncer") && !status.contains("State:\tZ")
    };
    let since = std::time::Instant::now();
    while is_there() {
        assert!(since.elapsed().as_secs() < 60, "the guard ends the pooler");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
