//! `--verify` and `pgmeter verify`: nothing is lost on a sound server, every loss is found on one that loses work, and the answer
//! can be had again later. The positive controls kill a server under load; a variable runs many of them
//! (`cargo xtask prove failures`).

use std::time::{Duration, Instant};

use results::{Record, Verification};
use rustix::process::{Pid, Signal, kill_process};
use testkit::cluster::Cluster;
use testkit::extent::{choose, is_all};
use testkit::small_disk::SmallDisk;

use crate::harness::{Bench, Running, tables_of_pgbench};

/// How often a server is killed in each control.
const KILLS: &str = "PGMETER_TEST_KILLS";
/// How often by default: after a change, and where the tests look at everything.
const KILLS_OF_CUT: (u32, u32) = (2, 4);
/// Within so many kills, commits that do not wait for a flush must have lost something.
const KILLS_FOR_LOSS: u32 = 10;
/// Time for a killed server's processes to end.
const LIMIT: Duration = Duration::from_secs(60);

/// A server that flushes, which servers of tests otherwise do not.
const DURABLE: [(&str, &str); 3] =
    [("fsync", "on"), ("full_page_writes", "on"), ("synchronous_commit", "on")];

fn bench_with(name: &str, major: &str) -> (Bench, String) {
    let conninfo = Cluster::shared(major).database(name);
    let tables = "create table t (a int, b int); insert into t select n, 0 from generate_series(1, 100) as n; create \
                  function pay(int) returns int language sql volatile as 'insert into t values ($1, 1) returning a'";
    Cluster::session(&conninfo).execute(tables).expect("tables");
    (Bench::new(), conninfo)
}

fn found(record: Record) -> Verification {
    record.verification.expect("it was verified")
}

/// Runs a script with `--verify`, and expects this many acknowledged commits of as many transactions, and none lost.
fn check(major: &str, protocol: &str, script: &str, commits_per_transaction: u64) {
    let (bench, conninfo) = bench_with("tokens", major);
    bench.file("s.sql", script);
    let run =
        ["bench", "--verify", "-f", "s.sql", "-M", protocol, "-c", "3", "-j", "2", "-t", "7", &conninfo];
    bench.run(run).exits(0);
    let Verification { table, sent, acknowledged, lost, phantom, doubled, .. } = found(bench.record());
    assert_eq!((sent, acknowledged), (21 * commits_per_transaction, sent), "{major} {protocol}: {script}");
    assert_eq!((lost, phantom, doubled), (0, 0, 0), "{major} {protocol}: {script}");
    let rows =
        Cluster::session(&conninfo).query(&format!("select count(*) from {table}")).expect("the table");
    assert_eq!(rows[0].get(0), Some(sent.to_string().as_str()), "{major} {protocol}: {script}");
}

const BLOCK: &str = "\\set a random(1, 100)\nBEGIN;\nUPDATE t SET b = b + 1 WHERE a = :a;\nSELECT b FROM t WHERE a = :a;\nEND;\n";
const STATEMENTS: &str = "INSERT INTO t VALUES (1, 2); -- a comment\nSELECT 1;\nINSERT INTO t VALUES (2, 3) RETURNING a AS x \\gset\nSELECT pay(:x) -- the end\n";
const MIXED: &str = "DELETE FROM t WHERE a > 1000;\nBEGIN;\nSELECT 1;\nCOMMIT;\nBEGIN;\nINSERT INTO t VALUES (1, 1);\n\
                     COMMIT;\nBEGIN;\nINSERT INTO t VALUES (1, 1);\nROLLBACK;\n";
const PIPELINES: &str = "\\startpipeline\nBEGIN;\nINSERT INTO t VALUES (1, 1);\nCOMMIT;\n\\endpipeline\n\\startpipeline\n\
                         INSERT INTO t VALUES (1, 1);\nSELECT 1;\n\\endpipeline\n";

#[test]
fn each_commit_has_a_token_in_each_protocol_and_version() {
    for major in Cluster::versions(["18", "9.6"]) {
        for protocol in ["simple", "extended", "prepared"] {
            let pipelines = (protocol != "simple").then_some((PIPELINES, 2));
            let scripts = [(BLOCK, 1), (MIXED, 2)].into_iter().chain(pipelines).chain([(STATEMENTS, 3)]);
            if is_all() {
                scripts.for_each(|(script, commits)| check(major, protocol, script, commits));
                continue;
            }
            let (texts, commits): (Vec<_>, Vec<_>) = scripts.unzip();
            check(major, protocol, &texts.concat(), commits.iter().sum());
        }
    }
}

#[test]
fn both_event_loops_and_connections_for_each_transaction_are_verified() {
    let (bench, conninfo) = bench_with("loops", "18");
    bench.file("s.sql", BLOCK);
    for option in ["--event-loop=epoll", "--event-loop=io_uring", "--connect"] {
        bench.run(["bench", "--verify", "-f", "s.sql", option, "-c", "2", "-t", "20", &conninfo]).exits(0);
        let Verification { acknowledged, lost, .. } = found(bench.records().pop().expect("a record"));
        assert_eq!((acknowledged, lost), (40, 0), "{option}");
    }
}

#[test]
fn retried_transactions_are_refused_commits_and_no_loss() {
    let (bench, conninfo) = bench_with("retries", "18");
    let script = "BEGIN ISOLATION LEVEL SERIALIZABLE;\nSELECT sum(b) FROM t;\nUPDATE t SET b = b + 1 WHERE a = :client_id + 1;\n\
                  COMMIT;\n";
    bench.file("s.sql", script);
    let run = ["bench", "--verify", "-f", "s.sql", "-c", "8", "-t", "20", "--max-tries", "1000", &conninfo];
    bench.run(run).exits(0);
    let Verification { sent, acknowledged, refused, lost, phantom, .. } = found(bench.record());
    assert_eq!((acknowledged, lost, phantom), (160, 0, 0));
    assert_eq!(sent, acknowledged + refused);
}

#[test]
fn loads_that_cannot_be_verified_are_refused_in_one_sentence() {
    let (bench, conninfo) = bench_with("refused", "18");
    for (script, reason) in [
        ("SELECT 1;\n", "--verify needs a load that writes"),
        ("BEGIN;\nUPDATE t SET b = 1;\nROLLBACK;\n", "never commit"),
        ("BEGIN \\; UPDATE t SET b = 1 \\; COMMIT;\n", "line 1: BEGIN, COMMIT or ROLLBACK is joined"),
        ("COPY t FROM STDIN;\n\\copy_rows 1 (1, 2)\n", "write BEGIN; before it"),
    ] {
        bench.file("s.sql", script);
        let run =
            bench.run(["bench", "--verify", "-f", "s.sql", "-t", "1", &conninfo]).exits(1).says(&[reason]);
        assert_eq!(run.stderr.lines().filter(|line| line.contains("error")).count(), 1, "{}", run.stderr);
    }
    let tables = "select count(*) from pg_class where relname like 'pgmeter_verify_%'";
    let rows = Cluster::session(&conninfo).query(tables).expect("a catalog");
    assert_eq!(rows[0].get(0), Some("0"), "nothing is left of a run that did not begin");
}

#[test]
fn rows_that_somebody_removes_are_lost_commits_until_the_table_is_cleaned() {
    let (bench, conninfo) = bench_with("removed", "18");
    bench.file("s.sql", BLOCK);
    bench.run(["bench", "--verify", "-f", "s.sql", "-c", "2", "-t", "50", &conninfo]).exits(0);
    let table = found(bench.record()).table;
    let again = bench.run(["verify", "last", "-d", &conninfo]).exits(0);
    assert!(again.stdout.contains("all 100 commits acknowledged are there"), "{}", again.stdout);
    let mut session = Cluster::session(&conninfo);
    let late = session.execute(&format!("insert into {table} values (1000, 0, 1, 1)"));
    assert!(late.is_err(), "no commit after the verification can change its answer");
    session
        .execute(&format!("delete from {table} where client = 0 and sequence between 11 and 20"))
        .expect("rows");
    let again = bench.run(["verify", "1", "-d", &conninfo]).exits(4);
    assert!(again.stdout.contains("lost 10 commits of 100 acknowledged"), "{}", again.stdout);
    bench.run(["verify", "1", "--clean", "-d", &conninfo]).exits(0).says(&["removed pgmeter_verify_"]);
    bench.run(["verify", "1", "-d", &conninfo]).exits(1).says(&["run 1 has no journal"]);
    assert!(session.query(&format!("select 1 from {table}")).is_err(), "the table is gone");
}

#[test]
fn a_killed_pgmeter_leaves_a_journal_that_can_be_judged() {
    let (bench, conninfo) = bench_with("killed", "18");
    bench.file("s.sql", BLOCK);
    let run = ["bench", "--verify", "-f", "s.sql", "-c", "8", "-j", "2", "-T", "60", "-P", "1", &conninfo];
    let mut running = Running::start(&mut bench.command(run));
    running.hear("tps");
    bench.run(["verify", "--clean", "-d", &conninfo]).exits(0).says(&["has not ended, so its table"]);
    let out = bench.run(["runs"]).exits(0);
    assert!(!out.stderr.contains("was killed"), "it has not ended: {}", out.stderr);
    running.signal(Signal::KILL);
    running.finish();
    let left = ["was killed, so its table", "pgmeter verify --clean pgmeter_verify_"];
    bench.run(["runs"]).exits(0).says(&left);
    let next = bench.run(["bench", "--verify", "-f", "s.sql", "-t", "1", &conninfo]).exits(0).says(&left);
    let of_next = |line: &&str| line.contains("was killed");
    assert_eq!(next.stderr.lines().filter(of_next).count(), 1, "{}", next.stderr);
    bench.run(["verify", "last", "-d", &conninfo]).exits(0).says(&left);
    bench.run(["verify", "last", "--clean", "-d", &conninfo]).exits(0);
    let again = bench.run(["verify", "last", "-d", &conninfo]).exits(0);
    assert!(again.stdout.contains("acknowledged are there"), "{}", again.stdout);
    let number = again.stdout.split_whitespace().skip_while(|word| *word != "acknowledged").nth(1);
    assert_ne!(number, Some("0"), "it had begun: {}", again.stdout);
    bench.run(["verify", "--clean", "-d", &conninfo]).exits(0).says(&["removed pgmeter_verify_"]);
    let out = bench.run(["runs"]).exits(0);
    assert!(!out.stderr.contains("was killed"), "{}", out.stderr);
}

#[test]
fn a_role_that_may_not_create_tables_is_told_what_to_do() {
    let (bench, conninfo) = bench_with("without_create", "18");
    let mut session = Cluster::session(&conninfo);
    session
        .execute("create role verifier login; revoke create on schema public from public; grant all on t to verifier")
        .expect("a role");
    bench.file("s.sql", BLOCK);
    let role = format!("{conninfo} user=verifier");
    bench.run(["bench", "--verify", "-f", "s.sql", "-t", "1", &role]).exits(1).says(&[
        "--verify creates a table in the schema public, and the role verifier may not create tables there",
        "GRANT CREATE ON SCHEMA",
    ]);
    session.execute("drop owned by verifier; drop role verifier").expect("it owns nothing");
}

#[test]
fn a_damaged_journal_of_another_run_is_skipped_with_one_warning() {
    let (bench, conninfo) = bench_with("damaged", "18");
    bench.file("s.sql", BLOCK);
    for _ in 0..2 {
        bench.run(["bench", "--verify", "-f", "s.sql", "-t", "10", &conninfo]).exits(0);
    }
    let tables: Vec<String> =
        bench.records().into_iter().map(|record| found(record).table.as_str().to_owned()).collect();
    let description = bench.path().join("pgmeter-results/journals").join(&tables[0]).join("run.json");
    let text = std::fs::read_to_string(&description).expect("it was written");
    std::fs::write(&description, &text[..text.len() / 2]).expect("it can be written");
    let again = bench.run(["verify", "2", "-d", &conninfo]).exits(0).says(&[&tables[0]]);
    assert_eq!(again.stderr.matches("warning").count(), 1, "{}", again.stderr);
    for which in ["1", &tables[0]] {
        bench.run(["verify", which, "-d", &conninfo]).exits(1).says(&["run.json is damaged"]);
    }
    let skipped = format!("warning: skipped: the journal pgmeter-results/journals/{}/run.json", tables[0]);
    let removed = format!("removed {}", tables[1]);
    bench.run(["verify", "--clean", "-d", &conninfo]).exits(0).says(&[&skipped, &removed]);
    assert!(description.is_file(), "it is evidence");
}

#[test]
fn the_verification_finds_the_primary_among_several_hosts() {
    let primary = Cluster::start("18");
    let mut standby = Cluster::start("18");
    let bench = Bench::new();
    // A server in recovery that accepts connections, as after a switchover.
    standby.server().stop().expect("it runs");
    std::fs::write(standby.directory().join("data/standby.signal"), "").expect("a file");
    standby.server().restart().expect("it starts");
    let (one, other) = (standby.conninfo(), primary.conninfo());
    let both = hosts_of(&[&one, &other]);
    Cluster::session(&other).execute("create table t (a int, b int)").expect("a table");
    bench.file("s.sql", "INSERT INTO t VALUES (1, 1);\n");
    bench.run(["bench", "--verify", "-f", "s.sql", "-t", "10", &other]).exits(0);
    for attributes in ["any", "prefer-standby", "read-write"] {
        let target = format!("{both} target_session_attrs={attributes}");
        let again = bench.run(["verify", "last", "--verify-timeout", "20", "-d", &target]).exits(0);
        assert!(again.stdout.contains("all 10 commits acknowledged are there"), "{}", again.stdout);
    }
    drop(primary);
    let refused = bench.run(["verify", "last", "--verify-timeout", "1", "-d", &both]).exits(2);
    refused.says(&["it is in recovery", "does not exist", "pgmeter verify pgmeter_verify_"]);
}

/// A connection string with the hosts and ports of several, and the rest of the first.
fn hosts_of(conninfos: &[&str]) -> String {
    let value = |conninfo: &str, name: &str| {
        let found = conninfo.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        found.unwrap_or_else(|| panic!("no {name} in {conninfo}")).to_owned()
    };
    let list = |name: &str| conninfos.iter().map(|it| value(it, name)).collect::<Vec<_>>().join(",");
    let is_rest = |word: &&str| !word.starts_with("host=") && !word.starts_with("port=");
    let rest: Vec<&str> = conninfos[0].split_whitespace().filter(is_rest).collect();
    format!("host={} port={} {}", list("host"), list("port"), rest.join(" "))
}

#[test]
fn ctrl_c_ends_a_verification_that_waits_for_a_lock() {
    let (bench, conninfo) = bench_with("interrupted", "18");
    bench.file("s.sql", BLOCK);
    let run = ["bench", "--verify", "-f", "s.sql", "-c", "2", "-T", "60", "-P", "1", &conninfo];
    let mut running = Running::start(&mut bench.command(run));
    running.hear("tps");
    running.signal(Signal::KILL);
    running.finish();
    let mut other = Cluster::session(&conninfo);
    let name = "select relname from pg_class where relname like 'pgmeter\\_verify\\_%'";
    let table = other.query(name).expect("a catalog")[0].get(0).expect("a table").to_owned();
    let mut observer = Cluster::session(&conninfo);
    let waits = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
    // The table cannot be closed, and then it cannot be read.
    for lock in ["row exclusive", "access exclusive"] {
        other.execute(&format!("begin; lock table {table} in {lock} mode")).expect("a lock");
        let words = ["verify", "1", "--verify-timeout", "10min", "-d", &conninfo];
        let verifying = Running::start(&mut bench.command(words));
        while observer.query(waits).expect("a catalog")[0].get(0) != Some("1") {
            testkit::condition::pause();
        }
        verifying.signal(Signal::INT);
        let again = format!("repeat it with `pgmeter verify {table}`");
        verifying.finish().exits(130).says(&[&again]);
        other.execute("commit").expect("the lock goes");
        bench.run(["verify", &table, "-d", &conninfo]).exits(0);
    }
}

/// Mounting takes root.
#[test]
#[allow(clippy::print_stderr)]
fn a_full_disk_under_the_journal_ends_the_run_with_a_marked_record() {
    let (bench, conninfo) = bench_with("full", "18");
    let small = bench.path().join("small");
    std::fs::create_dir(&small).expect("a directory");
    let owner = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let disk = match SmallDisk::mount(&small, 6, owner) {
        Ok(disk) => disk,
        Err(error) => {
            eprintln!(
                "NOT TESTED: a full disk under the journal, because no file system can be mounted: {error}"
            );
            return;
        }
    };
    // Leaves little room for the journal.
    std::fs::write(small.join("ballast"), vec![0; 15 << 17]).expect("there is room");
    bench.file("s.sql", "INSERT INTO t VALUES (1, 1);\n");
    let run = [
        "bench",
        "--verify",
        "--results",
        "small",
        "-f",
        "s.sql",
        "-c",
        "8",
        "-T",
        "600",
        "--store",
        "store.sqlite",
        &conninfo,
    ];
    bench.run(run).exits(2).says(&["the journal cannot be written", "free some space"]);
    let records = bench.records_of("small");
    let record = Record::read(std::path::Path::new(&records[0])).expect("it was written");
    assert!(matches!(record.status, results::Status::Failed { .. }), "{:?}", record.status);
    let Verification { sent, acknowledged, lost, phantom, .. } = found(record);
    assert!(sent >= acknowledged && acknowledged > 0, "{sent} {acknowledged}");
    assert_eq!((lost, phantom), (0, 0));
    drop(disk);
}

#[test]
fn a_run_whose_clients_connect_again_after_a_crash_is_verified_to_its_end() {
    let cluster = Cluster::start_with("18", &DURABLE);
    let (bench, conninfo) = (Bench::new(), cluster.conninfo());
    Cluster::session(&conninfo).execute("create table t (a int)").expect("a table");
    bench.file("s.sql", "BEGIN;\nINSERT INTO t VALUES (:client_id);\n\\sleep 20 ms\nCOMMIT;\n");
    let words =
        ["bench", "--verify", "-f", "s.sql", "-M", "prepared", "-c", "8", "-j", "2", "-T", "10", "-P", "1"];
    let again = ["--observe", "off", "--on-disconnect", "reconnect", &conninfo];
    let mut running = Running::start(&mut bench.command(words.iter().chain(&again)));
    running.hear("tps");
    // The death of one session makes the server end all others and recover.
    let victim = "select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() limit 1";
    let rows = Cluster::session(&conninfo).query(victim).expect("a catalog");
    let pid = rows[0].get(0).and_then(|pid| Pid::from_raw(pid.parse().ok()?)).expect("a process");
    kill_process(pid, Signal::KILL).expect("it is ours");
    running.finish().exits(0);
    let found = found(bench.record());
    assert_eq!((found.lost, found.phantom, found.doubled), (0, 0, 0), "{found:?}");
    assert!((0..=16).contains(&(found.unknown_applied + found.unknown_absent)), "{found:?}");
    // The work of the transactions is there as often as their tokens.
    let rows = Cluster::session(&conninfo).query("select count(*) from t").expect("the table");
    let applied = (found.acknowledged + found.unknown_applied).to_string();
    assert_eq!(rows[0].get(0), Some(applied.as_str()), "{found:?}");
}

/// What several kills of a server under load have shown.
#[derive(Debug, Default)]
struct Tally {
    kills: u32,
    acknowledged: u64,
    lost: u64,
    unknown_applied: u64,
    unknown_absent: u64,
    longest_loss_ms: f64,
}

/// Kills a server with these settings under load, restarts it, and looks for what it had acknowledged; at most `kills` times, and
/// with `until_loss` until something was lost.
fn kill_under_load(settings: &[(&str, &str)], kills: u32, until_loss: bool) -> Tally {
    let mut cluster = Cluster::start_with("18", settings);
    let bench = Bench::new();
    let conninfo = tables_of_pgbench(&cluster, "killed", 1);
    Cluster::session(&conninfo).execute("create table t (a int)").expect("a table");
    bench.file("s.sql", "INSERT INTO t VALUES (:client_id);\n");
    let mut tally = Tally::default();
    for kill in 1..=kills {
        let run = [
            "bench",
            "--verify",
            "-b",
            "tpcb-like",
            "-f",
            "s.sql@3",
            "-M",
            "prepared",
            "-c",
            "8",
            "-j",
            "2",
            "-T",
            "60",
            "-P",
            "1",
            "--observe",
            "off",
            &conninfo,
        ];
        let mut running = Running::start(&mut bench.command(run));
        running.hear("tps");
        kill_all_processes(cluster.server().pid().expect("it runs"));
        running.hear("waiting for the server");
        start_again(&mut cluster);
        let ended = running.finish();
        let found = found(bench.records().pop().expect("a record"));
        let expected = if found.lost > 0 { 4 } else { 2 };
        assert_eq!(ended.status.code(), Some(expected), "{}", ended.stderr);
        assert_eq!((found.phantom, found.doubled), (0, 0), "kill {kill}: {found:?}");
        tally.add(&found);
        if until_loss && tally.lost > 0 {
            break;
        }
    }
    tally
}

/// The postmaster first, which would restart the others. Backends that only lose their postmaster still answer the commit
/// that they are executing; a backend that is killed may have flushed a commit that it never acknowledges.
fn kill_all_processes(postmaster: u32) {
    let children = std::fs::read_to_string(format!("/proc/{postmaster}/task/{postmaster}/children"));
    let children = children.expect("its processes");
    let pids =
        std::iter::once(postmaster).chain(children.split_whitespace().filter_map(|pid| pid.parse().ok()));
    for pid in pids.filter_map(|pid| Pid::from_raw(i32::try_from(pid).ok()?)) {
        // One may have exited by itself.
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// The processes of a killed server hold its memory until they notice; then it starts and recovers.
pub(crate) fn start_again(cluster: &mut Cluster) {
    let since = Instant::now();
    while let Err(error) = cluster.server().restart() {
        assert!(since.elapsed() < LIMIT, "the server does not start again: {error}");
        testkit::condition::pause();
    }
}

impl Tally {
    fn add(&mut self, found: &Verification) {
        self.kills += 1;
        self.acknowledged += found.acknowledged;
        self.lost += found.lost;
        self.unknown_applied += found.unknown_applied;
        self.unknown_absent += found.unknown_absent;
        let window_ms = found.lost_window.map_or(0.0, |window| window.length_ms);
        self.longest_loss_ms = self.longest_loss_ms.max(window_ms);
    }

    #[allow(clippy::print_stderr)]
    fn tell(&self, settings: &str) {
        let Self { kills, acknowledged, lost, unknown_applied, unknown_absent, longest_loss_ms } = self;
        eprintln!(
            "{settings}: {kills} kills, {acknowledged} acknowledged, {lost} lost (longest {longest_loss_ms:.1} ms), \
             {unknown_applied} unknown and applied, {unknown_absent} unknown and absent"
        );
    }
}

/// The number of kills that the long form asks for.
fn kills() -> Option<u32> {
    Some(std::env::var(KILLS).ok()?.parse().expect("a number of kills"))
}

#[test]
fn a_durable_server_that_is_killed_loses_nothing() {
    let tally = kill_under_load(&DURABLE, kills().unwrap_or(choose(KILLS_OF_CUT.0, KILLS_OF_CUT.1)), false);
    tally.tell("defaults");
    assert_eq!(tally.lost, 0, "{tally:?}");
    assert!(tally.acknowledged > 0, "{tally:?}");
    // Eight clients at each kill: what the server had received and not answered was applied or not.
    assert!(tally.unknown_applied + tally.unknown_absent > 0, "{tally:?}");
    if kills().is_some_and(|kills| kills >= 100) {
        assert!(tally.unknown_applied > 0, "no commit was applied without an acknowledgement: {tally:?}");
    }
}

#[test]
fn a_server_that_does_not_wait_for_the_flush_is_found_out() {
    let settings = [("fsync", "on"), ("full_page_writes", "on"), ("synchronous_commit", "off")];
    let tally = match kills() {
        None => kill_under_load(&settings, KILLS_FOR_LOSS, true),
        Some(kills) => kill_under_load(&settings, kills, false),
    };
    tally.tell("synchronous_commit=off");
    assert!(tally.lost > 0, "{tally:?}");
}
