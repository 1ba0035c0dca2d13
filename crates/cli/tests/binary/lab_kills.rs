//! An experiment whose process is killed again and again, at any moment, and gone on with each time: no trial is lost and
//! none is made twice, and nothing stays on the machine or on anybody's server. `PGMETER_TEST_KILLS` says how often.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use results::{ExperimentRow, RunStatus, Store, TrialStatus};
use rustix::process::Signal;
use testkit::cluster::Cluster;
use testkit::extent::choose;

use crate::harness::{Bench, Running};

/// Trials that write, on a server of the lab's own and on one that was there before, with relays before both.
const EXPERIMENT: &str = r#"
name = "killed"
[data]
workload = "none"
data_setup = "tables.sql"
[load]
script = "write.sql"
duration = "100ms"
warmup = "0s"
[factors]
where = ["ours", "theirs"]
network = ["socket", { delay = "1ms" }]
[levels.where.ours]
version = "18"
settings = { shared_buffers = "64MB" }
[levels.where.theirs]
dsn = "DSN"
[design]
repeats = REPEATS
"#;

/// The latest moment of a kill, from the beginning or, each second time, from the end of a trial: by then servers have been
/// started, data loaded, and some trials made.
const LATEST: Duration = Duration::from_secs(5);
/// Where the moments come from.
const SEED: u64 = 6;
/// What goes away by itself once its owner is gone is waited for, this long at most.
const PATIENCE: Duration = Duration::from_secs(30);

/// Xorshift (Marsaglia, 2003), for moments alone.
fn next(random: &mut u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random
}

fn stored(bench: &Bench) -> Option<ExperimentRow> {
    let store = bench.path().join("out/results.sqlite");
    if !store.exists() {
        return None;
    }
    let mut store = Store::create(&store).expect("the store can be opened");
    store.newest_experiment("killed", "full").expect("it can be read")
}

/// Processes that work below a directory, by what they were started as.
fn processes_below(directory: &Path) -> Vec<String> {
    let processes = fs::read_dir("/proc").expect("there is one");
    let paths = processes.filter_map(|entry| Some(entry.ok()?.path()));
    let below = paths
        .filter(|process| fs::read_link(process.join("cwd")).is_ok_and(|place| place.starts_with(directory)));
    below.map(|process| fs::read_to_string(process.join("cmdline")).unwrap_or_default()).collect()
}

fn databases(cluster: &Cluster) -> Vec<String> {
    let sql = "SELECT datname FROM pg_database WHERE datname LIKE 'pgmeter%' ORDER BY 1";
    let rows = Cluster::session(&cluster.conninfo()).query(sql).expect("they can be listed");
    rows.iter().filter_map(|row| row.get(0).map(str::to_owned)).collect()
}

/// What is still there once all that goes by itself has gone.
fn left_behind(bench: &Bench, pids: &[u32]) -> Vec<String> {
    let is_ours = |name: &str| pids.iter().any(|pid| name.starts_with(&format!("pgmeter-relay-{pid}-")));
    let look = || {
        let relays = fs::read_dir(std::env::temp_dir()).expect("it can be listed").filter_map(|entry| {
            let name = entry.ok()?.file_name().to_string_lossy().into_owned();
            is_ours(&name).then_some(name)
        });
        let mut left: Vec<String> = relays.collect();
        left.extend(bench.servers_left());
        left.extend(processes_below(bench.path()));
        left
    };
    let since = Instant::now();
    loop {
        let left = look();
        if left.is_empty() || since.elapsed() > PATIENCE {
            return left;
        }
        testkit::condition::pause();
    }
}

#[test]
#[allow(
    clippy::print_stdout,
    reason = "what each kill met, for whoever asks for many of them with --nocapture"
)]
fn an_experiment_that_is_killed_at_any_moment_loses_no_trial_makes_none_twice_and_leaves_nothing_behind() {
    let kills = std::env::var("PGMETER_TEST_KILLS").ok().and_then(|kills| kills.parse::<u32>().ok());
    // Once at any moment, and once after a trial.
    let kills = kills.unwrap_or(choose(2, 3));
    let (bench, cluster) = (Bench::new(), Cluster::start("18"));
    cluster.execute("CREATE DATABASE pgmeter_lab_1_somebodys_trial");
    // More than are made until the last kill: each second time at least one.
    let repeats = kills.max(2);
    let text = EXPERIMENT.replace("DSN", &cluster.conninfo()).replace("REPEATS", &repeats.to_string());
    bench.file("write.sql", "UPDATE t SET n = n + 1 WHERE id = 1;\n\\sleep 5 ms\n");
    bench.file("tables.sql", "CREATE TABLE t AS SELECT id, 0 AS n FROM generate_series(1, 20000) AS id;\n");
    let file = bench.file("killed.toml", &text);
    let (mut random, mut pids, mut told) = (SEED, Vec::new(), Vec::new());
    for kill in 0..kills {
        let before = stored(&bench);
        let action = if before.is_some() { "resume" } else { "run" };
        let mut lab = Running::start(&mut bench.command(["lab", action, file, "--store", "out/"]));
        pids.push(lab.pid());
        if kill % 2 == 1 {
            lab.hear("tps");
        }
        let latest = u64::try_from(LATEST.as_millis()).expect("it is short");
        std::thread::sleep(Duration::from_millis(next(&mut random) % latest));
        lab.signal(Signal::KILL);
        let out = lab.finish();
        let complete = |row: &ExperimentRow| {
            let complete = row.trials.iter().filter(|trial| trial.status == TrialStatus::Complete);
            complete.map(|trial| (trial.trial, trial.run)).collect::<Vec<_>>()
        };
        let (before, after) = (before.as_ref().map(complete).unwrap_or_default(), stored(&bench));
        let after = after.as_ref().map(complete).unwrap_or_default();
        told.push(format!("kill {}: {} complete; {:?}", kill + 1, after.len(), out.stderr.lines().last()));
        assert!(before.iter().all(|trial| after.contains(trial)), "a trial was lost:\n{}", told.join("\n"));
    }
    let action = if stored(&bench).is_some() { "resume" } else { "run" };
    let out = bench.run(["lab", action, file, "--store", "out/"]).exits(0);
    let told = told.join("\n");
    let total = 4 * repeats as usize;
    assert!(
        out.stdout.contains(&format!("killed (full): {total} of {total} trials complete\n")),
        "{}",
        out.stdout
    );

    let row = stored(&bench).expect("it is there");
    let runs: std::collections::BTreeSet<_> = row.trials.iter().map(|trial| trial.run).collect();
    assert_eq!((row.trials.len(), runs.len()), (total, total), "each trial has a run of its own\n{told}");
    let store = Store::open(&bench.path().join("out/results.sqlite")).expect("it can be opened");
    let listed = store.runs(10_000).expect("they can be listed");
    let complete = listed.iter().filter(|run| run.status == RunStatus::Complete).count();
    assert_eq!(complete, total, "no trial was made twice\n{told}");
    assert_eq!(databases(&cluster), ["pgmeter_lab_1_somebodys_trial"], "those of others stay\n{told}");
    assert_eq!(left_behind(&bench, &pids), Vec::<String>::new(), "{told}");
    println!("{told}");
}
