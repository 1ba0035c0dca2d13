//! `cargo xtask self-bench`: pgmeter beside an installed pgbench, on the same server, in alternating pairs.
//!
//! Only ratios mean anything: both run on the same noisy machine within seconds of each other. CPU is that
//! of the whole client process, user and system, as the kernel counts it for a child that has ended.

mod server;
mod statistics;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use server::BenchServer;
use statistics::{median, ratio_with_spread};

/// Clients tried, each on one thread.
const CLIENTS: [u32; 3] = [1, 16, 64];
/// Pairs for each number of clients; the order within a pair alternates.
const PAIRS: usize = 7;
/// Length of one run.
const SECONDS: u32 = 3;
/// Scale of the tables.
const SCALE: u32 = 10;

/// What one run of one program gave.
#[derive(Clone, Copy, Debug)]
struct Measured {
    tps: f64,
    cpu_us_per_transaction: f64,
}

/// Runs all pairs and prints the table. False when something is missing or fails.
pub(crate) fn run(version: &str) -> bool {
    match compare(version) {
        Ok(()) => true,
        Err(reason) => {
            eprintln!("self-bench: {reason}");
            false
        }
    }
}

fn compare(version: &str) -> Result<(), String> {
    let pgbench = find_pgbench()
        .ok_or("no pgbench found: install PostgreSQL's client programs, or name it by PGBENCH=…")?;
    let pgmeter = build()?;
    let server = BenchServer::start(&pgmeter, version)?;
    quiet(Command::new(&pgmeter).args(["init", "--scale", &SCALE.to_string(), server.conninfo()]))?;
    println!(
        "{} against PostgreSQL {version}, -S -M prepared, scale {SCALE}, one thread, {PAIRS} pairs of {SECONDS} s",
        text(&pgbench)
    );
    println!(
        "clients | pgbench tps | pgmeter tps |   ratio (min … max) | pgbench µs/tx | pgmeter µs/tx |   ratio (min … max)"
    );
    for clients in CLIENTS {
        let mut pairs = Vec::new();
        for pair in 0..PAIRS {
            let (ours, theirs);
            if pair % 2 == 0 {
                theirs = run_pgbench(&pgbench, &server, clients)?;
                ours = run_pgmeter(&pgmeter, &server, clients)?;
            } else {
                ours = run_pgmeter(&pgmeter, &server, clients)?;
                theirs = run_pgbench(&pgbench, &server, clients)?;
            }
            pairs.push((ours, theirs));
        }
        println!("{}", row(clients, &pairs));
    }
    Ok(())
}

fn row(clients: u32, pairs: &[(Measured, Measured)]) -> String {
    let column = |pick: fn(&Measured) -> f64| {
        let ours: Vec<f64> = pairs.iter().map(|(ours, _)| pick(ours)).collect();
        let theirs: Vec<f64> = pairs.iter().map(|(_, theirs)| pick(theirs)).collect();
        (median(&theirs), median(&ours), ratio_with_spread(&ours, &theirs))
    };
    let (their_tps, our_tps, tps_ratio) = column(|measured| measured.tps);
    let (their_cpu, our_cpu, cpu_ratio) = column(|measured| measured.cpu_us_per_transaction);
    format!(
        "{clients:7} | {their_tps:11.0} | {our_tps:11.0} | {tps_ratio} | {their_cpu:13.2} | {our_cpu:13.2} | {cpu_ratio}"
    )
}

fn run_pgbench(pgbench: &Path, server: &BenchServer, clients: u32) -> Result<Measured, String> {
    let mut command = Command::new(pgbench);
    command.args(["-n", "-S", "-M", "prepared", "-j", "1"]);
    command.args(["-c", &clients.to_string(), "-T", &SECONDS.to_string(), server.conninfo()]);
    let (output, cpu_s) = with_cpu_time(&mut command)?;
    let line = |start: &str| output.lines().find_map(|line| line.strip_prefix(start));
    let tps = line("tps = ").and_then(|rest| rest.split(' ').next()).and_then(|tps| tps.parse().ok());
    let count = line("number of transactions actually processed: ")
        .and_then(|rest| rest.split('/').next())
        .and_then(|count| count.trim().parse::<f64>().ok());
    match (tps, count) {
        (Some(tps), Some(count)) => {
            Ok(Measured { tps, cpu_us_per_transaction: per_transaction(cpu_s, count) })
        }
        _ => Err(format!("pgbench's report was not understood:\n{output}")),
    }
}

fn run_pgmeter(pgmeter: &Path, server: &BenchServer, clients: u32) -> Result<Measured, String> {
    let results = server.results();
    let mut command = Command::new(pgmeter);
    command.args(["bench", "-n", "-S", "-M", "prepared", "-j", "1", "--progress", "0"]);
    command.args(["-c", &clients.to_string(), "-T", &SECONDS.to_string(), server.conninfo(), "--results"]);
    let (_, cpu_s) = with_cpu_time(command.arg(&results))?;
    let record = only_file(&results)?;
    let json = fs::read_to_string(&record).map_err(|error| format!("{}: {error}", record.display()))?;
    fs::remove_dir_all(&results).map_err(|error| format!("{}: {error}", results.display()))?;
    let summary = json.split_once("\"summary\"").ok_or("the record has no summary")?.1;
    match (number_after(summary, "\"tps\":"), number_after(summary, "\"succeeded\":")) {
        (Some(tps), Some(count)) => {
            Ok(Measured { tps, cpu_us_per_transaction: per_transaction(cpu_s, count) })
        }
        _ => Err("the record's summary was not understood".to_owned()),
    }
}

/// The first number after `key` in a JSON text.
fn number_after(json: &str, key: &str) -> Option<f64> {
    let rest = json.split_once(key)?.1.trim_start();
    rest[..rest.find([',', '\n', '}'])?].trim().parse().ok()
}

fn per_transaction(cpu_s: f64, count: f64) -> f64 {
    cpu_s * 1e6 / count.max(1.0)
}

fn only_file(directory: &Path) -> Result<PathBuf, String> {
    let mut entries = fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    match (entries.next(), entries.next()) {
        (Some(Ok(entry)), None) => Ok(entry.path()),
        _ => Err(format!("{} does not hold exactly one record", directory.display())),
    }
}

/// Runs a program to its end; its output, and the CPU seconds it used.
fn with_cpu_time(command: &mut Command) -> Result<(String, f64), String> {
    let before = children_cpu_s()?;
    let output = quiet(command)?;
    Ok((output, children_cpu_s()? - before))
}

/// CPU seconds of all children that have ended: fields 16 and 17 of proc(5)'s stat, in ticks of 10 ms.
fn children_cpu_s() -> Result<f64, String> {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat").map_err(|error| format!("/proc/self/stat: {error}"))?;
    let after_name = stat.rsplit_once(')').ok_or("/proc/self/stat is odd")?.1;
    let ticks: Vec<f64> =
        after_name.split_whitespace().skip(13).take(2).filter_map(|tick| tick.parse().ok()).collect();
    Ok(ticks.iter().sum::<f64>() / TICKS_PER_SECOND)
}

/// Runs a program, and returns what it printed; an error with what it said if it failed.
fn quiet(command: &mut Command) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr)))
    }
}

/// PGBENCH, or the newest of Debian's, or the one on the PATH.
fn find_pgbench() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("PGBENCH") {
        return Some(named.into());
    }
    let mut packaged: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("bin/pgbench")))
        .filter(|path| path.is_file())
        .collect();
    packaged.sort();
    let on_path = std::env::var_os("PATH");
    let on_path = on_path.iter().flat_map(std::env::split_paths).map(|folder| folder.join("pgbench"));
    packaged.pop().or_else(|| on_path.filter(|path| path.is_file()).last())
}

/// Builds pgmeter as users get it.
fn build() -> Result<PathBuf, String> {
    quiet(
        Command::new(crate::cargo())
            .args(["build", "--release", "--package", "pgmeter", "--quiet"])
            .current_dir(crate::root()),
    )?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| crate::root().join("target"), PathBuf::from);
    Ok(target.join("release/pgmeter"))
}

fn text(path: &Path) -> String {
    quiet(Command::new(path).arg(OsStr::new("--version"))).unwrap_or_default().trim().to_owned()
}
