//! What stands around a trial, as its record or its script tells afterwards: the network its clients came through, the
//! build of its server, tablespaces, files as they were. How a relay treats bytes is tested in its own crate.

use std::fs;

use results::{Record, TransportInUse, Warning};
use rustix::process::Signal;

use server::{Environment, Locations};

use crate::harness::{Bench, Running};

const NETWORKS: &str = r#"
name = "networks"
[data]
workload = "none"
[load]
script = "one.sql"
rate = 100
duration = "1s"
warmup = "0s"
[factors]
network = ["socket", "tcp", "tls", { delay = "5ms", jitter = "1ms" }, { kind = "tls", delay = "5ms" }]
[design]
repeats = 1
order = "sequential"
"#;

/// A round trip takes at least twice what is left of the delay when all jitter is taken from it.
const ROUND_TRIP_US: [f64; 2] = [8_000.0, 10_000.0];

#[test]
fn records_of_trials_over_all_kinds_of_networks_say_which_it_was_and_a_delay_is_kept() {
    let bench = Bench::new();
    let few = NETWORKS.replace("[load]", "[server]\nsettings = { shared_buffers = \"64MB\" }\n[load]");
    let file = bench.experiment("networks.toml", &few);
    let out = bench.run(["lab", "run", file]).exits(0);
    assert!(out.stdout.contains("5 of 5 trials complete"), "{}", out.stdout);
    let records = bench.records();
    let used = |record: &Record| {
        let connection = record.environment.connection.as_ref().expect("it was looked at");
        (connection.transport, connection.tls.is_some())
    };
    let all: Vec<_> = records.iter().map(used).collect();
    let (socket, loopback) = (TransportInUse::UnixSocket, TransportInUse::Loopback);
    assert_eq!(
        all,
        [(socket, false), (loopback, false), (loopback, true), (socket, false), (loopback, true)]
    );
    for (record, least) in records[3..].iter().zip(ROUND_TRIP_US) {
        let response = record.summary.response_us.as_ref().expect("some succeeded");
        assert!(response.min >= least, "{response:?}");
        let cost = record.warnings.iter().find(|it| matches!(it, Warning::RelayCost { .. }));
        let Some(Warning::RelayCost { delay_us, cpu_us_per_transaction, .. }) = cost else {
            panic!("{:?}", record.warnings);
        };
        assert!(*delay_us == 5_000.0 && *cpu_us_per_transaction > 0.0, "{cost:?}");
    }
    let is_relayed = |record: &&Record| record.notes().any(|it| matches!(it, Warning::RelayCost { .. }));
    assert_eq!(records[..3].iter().filter(is_relayed).count(), 0);
    assert_eq!(bench.servers_left(), Vec::<String>::new());
}

#[test]
fn a_relay_ends_with_the_lab_however_that_ends() {
    let bench = Bench::new();
    let long = NETWORKS.replace("[\"socket\", \"tcp\", \"tls\", ", "[").replace("\"1s\"", "\"100s\"");
    let file = bench.experiment("networks.toml", &long);
    let mut run = Running::start(&mut bench.command(["lab", "run", file]));
    run.hear("started a relay");
    run.signal(Signal::KILL);
    // The relay writes to the same standard error, which ends with the last who has it.
    run.finish();
}

#[test]
fn what_no_network_can_be_is_told_before_anything_is_started() {
    let bench = Bench::new();
    for (network, says) in [
        ("{ delay = \"1ms\", jitter = \"2ms\" }", "networks.toml:11:"),
        ("{ delay = \"2h\" }", "must not exceed one hour"),
        ("{ delay = \"10\" }", "a number with a unit"),
        ("{ bandwidth = \"0Mbit\" }", "above zero"),
        ("{ dealy = \"1ms\" }", "did you mean \"delay\""),
        ("\"wifi\"", "tls"),
    ] {
        let text = NETWORKS.replace("\"tcp\"", network);
        let file = bench.experiment("networks.toml", &text);
        bench.run(["lab", "plan", file]).exits(1).says(&[says]);
    }
    let dsn = NETWORKS.replace("[load]", "[server]\ndsn = \"host=/nowhere\"\n[load]");
    let file = bench.experiment("networks.toml", &dsn);
    bench.run(["lab", "run", file]).exits(1).says(&["the experiment cannot run: ", "/nowhere"]);
}

/// Fails if the data are not as they were loaded, or not where they should be; and spoils them.
const SPOIL: &str = "\
SELECT 1 / count(*) FROM pgbench_branches;
SELECT 1 / count(*) FROM pg_class JOIN pg_tablespace t ON t.oid = reltablespace
 WHERE (relname, spcname) = ('pgbench_accounts', 'fast');
SELECT 1 / count(*) FROM pg_class JOIN pg_tablespace t ON t.oid = reltablespace
 WHERE (relname, spcname) = ('pgbench_accounts_pkey', 'disk');
DELETE FROM pgbench_branches;
";

/// The only row: more of them would prove nothing more.
const BRANCH: &str = "INSERT INTO pgbench_branches VALUES (1, 0);\n";

const STORAGE: &str = r#"
name = "storage"
[server]
tablespaces = { fast = "ELSEWHERE", disk = "" }
settings = { shared_buffers = "64MB" }
[data]
init_steps = "dtp"
data_setup = "branch.sql"
restore = "files"
tablespace = "fast"
index_tablespace = "disk"
[load]
script = "spoil.sql"
transactions = 1
warmup = "0s"
[factors]
build = ["named", "fetched"]
[levels.build.named]
bin_dir = "PROGRAMS"
[design]
repeats = 2
order = "sequential"
"#;

#[test]
fn files_are_brought_back_with_their_tablespaces_and_the_record_has_the_build() {
    let bench = Bench::new();
    let locations = Locations::from_environment(&Environment::of_process()).expect("there are places");
    let installation = server::obtain("18", None, &locations, &mut |_| {}).expect("an embedded server");
    bench.file("spoil.sql", SPOIL);
    bench.file("branch.sql", BRANCH);
    fs::create_dir(bench.path().join("elsewhere")).expect("a directory can be made");
    let elsewhere = bench.path().join("elsewhere");
    let text = STORAGE
        .replace("ELSEWHERE", &elsewhere.display().to_string())
        .replace("PROGRAMS", &installation.bin_dir.display().to_string());
    let file = bench.file("storage.toml", &text);
    let out = bench.run(["lab", "run", file]).exits(0);
    assert!(out.stdout.contains("4 of 4 trials complete"), "{}", out.stdout);
    for record in bench.records() {
        let server = record.environment.server.expect("it was asked");
        assert!(!server.build.configure.as_deref().unwrap_or_default().is_empty(), "{:?}", server.build);
    }
    assert_eq!(fs::read_dir(&elsewhere).expect("it is there").count(), 0, "the tablespaces are gone");
    assert_eq!(bench.servers_left(), Vec::<String>::new());
}

#[test]
fn tablespaces_and_files_that_cannot_be_had_are_told_before_anything_is_started() {
    let bench = Bench::new();
    bench.file("spoil.sql", SPOIL);
    bench.file("branch.sql", BRANCH);
    let text =
        STORAGE.replace("ELSEWHERE", "/tmp").replace("[levels.build.named]\nbin_dir = \"PROGRAMS\"\n", "");
    let text = text.replace("[factors]\nbuild = [\"named\", \"fetched\"]\n", "");
    // A running server keeps its own.
    let text = text.replace("settings = { shared_buffers = \"64MB\" }\n", "");
    for (old, new, says) in [
        ("fast = \"/tmp\"", "fast = \"tmp\"", "storage.toml:4:24: "),
        ("fast = \"/tmp\"", "pg_fast = \"/tmp\"", "must not begin with pg_"),
        ("fast = \"/tmp\"", "slow = \"/tmp\"", "there is no tablespace fast"),
        ("tablespaces = {", "dsn = \"host=/tmp\"\ntablespaces = {", "created on embedded servers only"),
        ("\"files\"", "\"file\"", "files"),
    ] {
        let file = bench.file("storage.toml", &text.replace(old, new));
        bench.run(["lab", "plan", file]).exits(1).says(&[says]);
    }
    let no_place = text.replace("\"/tmp\"", "\"/no/such/place\"");
    let file = bench.file("storage.toml", &no_place);
    bench.run(["lab", "run", file]).exits(1).says(&["tablespace", "/no/such/place"]);
    assert_eq!(bench.servers_left(), Vec::<String>::new());
}
