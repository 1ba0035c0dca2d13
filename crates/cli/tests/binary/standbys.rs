//! Standbys of experiments on real servers: writes to the primary, reads from standbys, through their own networks.
//! How a standby is made and promoted is tested in `server`, and how a file defines it in `lab`.

use results::Record;
use testkit::cluster::Cluster;

use crate::harness::Bench;

/// Each trial writes on the primary, and reads from one standby and from any of them.
const EXPERIMENT: &str = r#"
name = "standbys"
[server]
version = "VERSION"
settings = { shared_buffers = "16MB" }
standby_network = { delay = "2ms" }
[data]
workload = "none"
data_setup = "tables.sql"
[load]
script = ["write.sql", "near.sql", "any.sql"]
clients = 3
rate = 200
duration = "3s"
warmup = "0s"
observe = "full"
staleness = true
[factors]
synchronous_commit = ["local", "remote_apply"]
[design]
repeats = 1
order = "sequential"
[[standby]]
name = "near"
mode = "synchronous"
[[standby]]
name = "far"
from = "near"
network = "0ms"
"#;

const WRITE: &str = "SELECT 1 / (not pg_is_in_recovery())::int;\n\
                     UPDATE counters SET n = n + 1;\n";
const READ: &str = "SELECT 1 / pg_is_in_recovery()::int;\nSELECT 1 / count(*) FROM counters;\n";

#[test]
fn scripts_write_on_the_primary_and_read_from_standbys_and_a_commit_waits_for_the_distance() {
    for version in Cluster::versions(["9.6", "18"]) {
        let bench = Bench::new();
        bench.file("tables.sql", "CREATE TABLE counters AS SELECT 0 AS n;\n");
        bench.file("write.sql", WRITE);
        bench.file("near.sql", &format!("\\target near\n{READ}"));
        bench.file("any.sql", &format!("\\target standbys\n{READ}"));
        // With files restored, the standbys are made again for the second trial.
        let restore = if version == "18" { "restore = \"files\"\n[load]" } else { "[load]" };
        let text = EXPERIMENT.replace("VERSION", version).replace("[load]", restore);
        let file = bench.file("standbys.toml", &text);
        let out = bench.run(["lab", "run", file]).exits(0);
        assert!(out.stdout.contains("2 of 2 trials complete"), "{version}: {}", out.stdout);
        let [local, remote] = &bench.records()[..] else { panic!("two trials") };
        for record in [local, remote] {
            assert_eq!(record.summary.counts.failed, 0, "{version}");
            assert!(record.summary.scripts.iter().all(|script| script.counts.succeeded > 0), "{version}");
        }
        // Only the standby of the primary itself is in its view, not the next of the cascade.
        for record in [local, remote] {
            let [near] = &record.observation.as_ref().expect("observed").standbys[..] else {
                panic!("{version}: {:?}", record.observation);
            };
            assert_eq!((near.name.as_str(), near.sync_state.as_str()), ("near", "sync"), "{version}");
            assert!(near.mean_and_max(|sample| sample.replay_bytes).is_some(), "{version}: {near:?}");
            let replay_us = near.mean_and_max(|sample| sample.replay_us);
            match version {
                "9.6" => assert_eq!(replay_us, None),
                _ => assert!(replay_us.expect("there was WAL").1 >= 4_000.0, "{near:?}"),
            }
        }
        for record in [local, remote] {
            let staleness = record.observation.as_ref().and_then(|seen| seen.staleness.as_ref());
            let staleness = staleness.expect("it was measured");
            let names: Vec<_> = staleness.sessions.iter().map(|it| it.reads_from.as_str()).collect();
            assert_eq!(names, ["near", "far", "standbys"], "{version}");
            assert!(staleness.sessions.iter().all(|it| it.reads > 0) && staleness.writes > 0, "{version}");
        }
        // A commit that waits until it is applied is seen by all later reads there.
        let near = |record: &Record| {
            record.observation.as_ref().expect("observed").staleness.as_ref().expect("it").sessions[0].clone()
        };
        assert_eq!(near(remote).stale_reads, 0, "{version}: {:?}", near(remote));
        assert!(near(local).stale_reads > 0, "{version}: {:?}", near(local));
        // A commit waits for WAL on its way there and for the answer on its way back.
        let response = remote.summary.scripts[0].response_us.as_ref().expect("some succeeded");
        assert!(response.min >= 4_000.0, "{version}: {response:?}");
        assert_eq!(bench.servers_left(), Vec::<String>::new());
    }
}

/// One setting of each kind that only a server sets: one that it reads again, and one that it reads at its start. The
/// standby has its own value of the third.
const SCREENING: &str = r#"
name = "screened"
[server]
version = "18"
[data]
workload = "none"
[load]
script = "check.sql"
clients = 1
rate = 200
duration = "1s"
warmup = "0s"
[factors]
delay = ["short", "long"]
slots = ["few", "many"]
[levels.delay.short]
settings = { bgwriter_delay = "100ms", checkpoint_timeout = "11min" }
variables = { delay = 100 }
[levels.delay.long]
settings = { bgwriter_delay = "300ms", checkpoint_timeout = "12min" }
variables = { delay = 300 }
[levels.slots.few]
settings = { max_worker_processes = 8 }
variables = { slots = 8 }
[levels.slots.many]
settings = { max_worker_processes = 9 }
variables = { slots = 9 }
[design]
combinations = "screening"
repeats = 1
[[standby]]
name = "near"
settings = { checkpoint_timeout = "10min" }
"#;

#[test]
fn standbys_have_the_settings_of_each_trial_of_a_screening_except_for_their_own() {
    let bench = Bench::new();
    bench.file(
        "check.sql",
        "\\target near\nSELECT 1 / pg_is_in_recovery()::int;\n\
             SELECT 1 / (setting::int = :delay)::int FROM pg_settings WHERE name = 'bgwriter_delay';\n\
             SELECT 1 / (setting::int = :slots)::int FROM pg_settings WHERE name = 'max_worker_processes';\n\
             SELECT 1 / (setting::int = 600)::int FROM pg_settings WHERE name = 'checkpoint_timeout';\n",
    );
    let file = bench.file("screened.toml", SCREENING);
    let out = bench.run(["lab", "run", file]).exits(0);
    assert!(out.stdout.contains("4 of 4 trials complete"), "{}", out.stdout);
    let records = bench.records();
    assert_eq!(records.len(), 4);
    for record in records {
        let counts = &record.summary.counts;
        assert!(counts.succeeded > 0 && counts.failed == 0, "{:?}", record.summary.errors);
    }
    assert_eq!(bench.servers_left(), Vec::<String>::new());
}
