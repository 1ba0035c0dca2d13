//! `cargo xtask compare-proof`: how often `pgmeter compare` claims a difference where there is none, on loads that write,
//! what the order of the blocks does, and how often it finds a difference of a known size. The whole takes some two
//! and a half hours. Each comparison is a line of the results file as soon as it ends, and the next call goes on from there; the
//! tables are made from the file, by `tables`.

mod tables;

use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use serde_json::{Value, json};

use crate::managed_server::{ManagedServer, program};
use crate::proofs::{self, KnownOption, Proof};

/// pgbench's TPC-B-like transaction, and in `:more` of 10,000 transactions once more. Both A and B have some of these,
/// so that both prepare the same statements.
const SLOWER: &str = "\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
\\set again random(1, 10000)
\\if :again <= :more
\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
\\endif
";
/// Rows at random places of an index.
const INSERTS_SETUP: &str =
    "CREATE TABLE IF NOT EXISTS events (id bigint, at timestamptz DEFAULT now(), body text);
CREATE INDEX IF NOT EXISTS events_id ON events (id);
";
const INSERTS: &str = "\\set id random(1, 1000000000)
INSERT INTO events (id, body) VALUES (:id, repeat('x', 200));
";
/// A table that two parallel workers and the backend scan together.
const PARALLEL_SETUP: &str =
    "CREATE TABLE IF NOT EXISTS numbers AS SELECT n, n % 97 AS k FROM generate_series(1, 300000) AS n;
ALTER TABLE numbers SET (parallel_workers = 2);
ANALYZE numbers;
";
/// A parallel scan, and in `:more` of 10,000 transactions once more.
const PARALLEL: &str = "SELECT sum(n * k) FROM numbers;
\\set again random(1, 10000)
\\if :again <= :more
SELECT sum(n * k) FROM numbers;
\\endif
";
const FILES: [(&str, &str); 5] = [
    ("slower.sql", SLOWER),
    ("inserts_setup.sql", INSERTS_SETUP),
    ("inserts.sql", INSERTS),
    ("parallel_setup.sql", PARALLEL_SETUP),
    ("parallel.sql", PARALLEL),
];

const INSERTS_LOAD: [&str; 10] = [
    "--key",
    "workload=none",
    "--key",
    "setup=inserts_setup.sql",
    "-f",
    "inserts.sql",
    "-c",
    "4",
    "-M",
    "prepared",
];

const PARALLEL_LOAD: [&str; 12] = [
    "--key",
    "workload=none",
    "--key",
    "setup=parallel_setup.sql",
    "-f",
    "parallel.sql",
    "-c",
    "2",
    "-M",
    "prepared",
    "--tolerance",
    "0.001%",
];

/// Comparisons of a kind.
struct Case {
    name: &'static str,
    what: &'static str,
    /// B does so much more work, as a share.
    more_work: f64,
    is_on_one_server: bool,
    /// What B has and A has not. Without a difference, it is something that has no effect.
    factor: &'static str,
    /// The options of the load.
    load: &'static [&'static str],
}

const CASES: [Case; 6] = [
    Case {
        name: "tpcb",
        what: "a server with itself: tpcb-like, scale 20, 4 clients, prepared",
        more_work: 0.0,
        is_on_one_server: true,
        factor: "settings.geqo=on,off",
        load: &["-s", "20", "-c", "4", "-M", "prepared"],
    },
    Case {
        name: "inserts",
        what: "a server with itself: inserts into an indexed table, 4 clients, prepared",
        more_work: 0.0,
        is_on_one_server: true,
        factor: "settings.geqo=on,off",
        load: &INSERTS_LOAD,
    },
    Case {
        name: "servers",
        what: "two servers with a setting that does nothing here: inserts, 4 clients, prepared",
        more_work: 0.0,
        is_on_one_server: false,
        factor: "settings.max_files_per_process=1000,1001",
        load: &INSERTS_LOAD,
    },
    Case {
        name: "slower",
        what: "B does 5 % more work: tpcb-like, scale 20, 4 clients, prepared",
        more_work: 1.26 / 1.2 - 1.0,
        is_on_one_server: true,
        factor: "variables.more=2000,2600",
        load: &["-s", "20", "-f", "slower.sql", "-c", "4", "-M", "prepared", "--tolerance", "0.001%"],
    },
    Case {
        name: "parallel",
        what: "a server with itself: scans by two parallel workers and the backend, 2 clients, prepared",
        more_work: 0.0,
        is_on_one_server: true,
        factor: "variables.more=0,-1",
        load: &PARALLEL_LOAD,
    },
    Case {
        name: "parallel-slower",
        what: "B does 5 % more work: scans by two parallel workers and the backend, 2 clients, prepared",
        more_work: 1.26 / 1.2 - 1.0,
        is_on_one_server: true,
        factor: "variables.more=2000,2600",
        load: &PARALLEL_LOAD,
    },
];

/// Comparisons that may fail, such as those of a machine that has no time for a transaction, before it is given up.
const FAILURES_MAX: usize = 10;

/// The name of the server.
const NAME: &str = "proof";

/// Comparisons of each case, and the time of one.
const KNOWN: [KnownOption; CASES.len() + 1] = [
    ("tpcb", "60"),
    ("inserts", "30"),
    ("servers", "10"),
    ("slower", "20"),
    ("parallel", "20"),
    ("parallel-slower", "20"),
    ("budget", "30s"),
];

pub(crate) fn run(arguments: &[&str]) -> bool {
    proofs::run("compare-proof", &KNOWN, arguments, prove)
}

fn prove(proof: &Proof) -> Result<(), String> {
    let directory = proofs::directory()?;
    for (name, text) in FILES {
        std::fs::write(directory.path().join(name), text).map_err(|error| error.to_string())?;
    }
    let mut lines = proof.lines()?;
    let (mut server, mut failed) = (None, 0);
    while let Some(case) = proof.next(&CASES, |case| case.name, &lines) {
        if case.is_on_one_server && server.is_none() {
            server = Some(ManagedServer::start(&proof.pgmeter, directory.path(), NAME, &[])?);
        }
        let dsn = server.as_ref().filter(|_| case.is_on_one_server).map(|server| server.dsn.as_str());
        let begun = Instant::now();
        let answer = match compare(proof, case, directory.path(), dsn) {
            Ok(answer) => answer,
            Err(reason) if failed < FAILURES_MAX => {
                failed += 1;
                eprintln!("{}: repeated: {reason}", case.name);
                continue;
            }
            Err(reason) => return Err(reason),
        };
        let line = json!({
            "case": case.name,
            "budget": proof.text("budget"),
            "pgmeter_version": answer["pgmeter_version"],
            "started_at": answer["started_at"],
            "seed": answer["method"]["seed"],
            "block_s": answer["method"]["block_s"],
            "pairs": answer["pairs"].as_array().map_or(0, Vec::len),
            "seconds": begun.elapsed().as_secs_f64(),
            "decision": answer["decision"],
            "findings": answer["findings"],
        });
        proof.append(&line)?;
        println!("{}: {}", case.name, tables::summary_line(&line));
        lines.push(line);
    }
    drop(server);
    println!("{}", tables::tables(&CASES, &lines));
    Ok(())
}

fn compare(proof: &Proof, case: &Case, directory: &Path, dsn: Option<&str>) -> Result<Value, String> {
    let mut command = program(&proof.pgmeter, directory);
    command.args(["compare", "--factor", case.factor]).args(case.load).args([
        "--budget",
        proof.text("budget"),
        "--format",
        "json",
    ]);
    command.args(dsn.into_iter().flat_map(|dsn| ["--key", "restore=never", "--dsn", dsn]));
    let output = command.stderr(Stdio::piped()).output().map_err(|error| error.to_string())?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("a comparison printed no result: {}", String::from_utf8_lossy(&output.stderr)))
}
