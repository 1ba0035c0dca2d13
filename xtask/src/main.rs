//! The project's own chores. `cargo xtask ci` is what a contributor and the continuous integration run; `tidy`,
//! `dependencies` and `libraries` are parts of it. `dist` makes packages, `lines` counts lines, `fuzz` feeds mutated
//! input to all parsers, `prove` shows what happens in faults and power losses. `beside`, `compare-proof`, `search-proof`,
//! `queue-proof`, `causes` and `same-records` check figures and verdicts, `gallery` shows pages of all kinds, `fetch-postgres-19` fetches a server
//! before its release, `tpch-answers` compares the answers of the workload tpch. No part of what users get.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "chores print for their user")]

mod beside;
mod causes;
mod ci;
mod compare_proof;
mod dependencies;
mod dist;
mod fetch_postgres;
mod fuzz;
mod gallery;
mod initdb;
mod leftovers;
mod libraries;
mod managed_server;
mod memory;
mod programs;
mod proofs;
mod prove;
mod queue_proof;
mod same_records;
mod search_proof;
mod test_output;
mod test_programs;
mod tidy;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The names of all chores.
const CHORES: [&str; 17] = [
    "ci",
    "tidy",
    "dependencies",
    "libraries",
    "dist",
    "lines",
    "fuzz",
    "prove",
    "beside",
    "compare-proof",
    "causes",
    "search-proof",
    "queue-proof",
    "same-records",
    "gallery",
    "fetch-postgres-19",
    "tpch-answers",
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        // No chore: the tests of `ci` call it in place of initdb.
        ["initdb", folder, bin_dir, ref arguments @ ..] => initdb::run(folder, bin_dir, arguments),
        ["ci", ref arguments @ ..] => ci::run(arguments),
        ["tidy"] => run_tidy(),
        ["dependencies"] => run_dependencies(),
        ["libraries"] => run_libraries(),
        ["lines", ref arguments @ ..] => tidy::lines::run(arguments, root()),
        ["dist", ref arguments @ ..] => dist::run(arguments),
        ["fuzz", ref arguments @ ..] => fuzz::run(arguments),
        ["prove", "power-loss", ref arguments @ ..] => power_loss(arguments),
        ["prove", ref arguments @ ..] => prove::run(arguments),
        ["beside", ref arguments @ ..] => beside::run(arguments),
        ["compare-proof", ref arguments @ ..] => compare_proof::run(arguments),
        ["queue-proof", ref arguments @ ..] => queue_proof::run(arguments),
        ["search-proof", ref arguments @ ..] => search_proof::run(arguments),
        ["same-records", ref arguments @ ..] => same_records::run(arguments),
        ["gallery", ref arguments @ ..] => gallery::run(arguments),
        ["causes", ref arguments @ ..] => causes::run(arguments),
        ["fetch-postgres-19", ref arguments @ ..] => fetch_postgres::run(arguments),
        ["tpch-answers", ref arguments @ ..] => tpch_answers(arguments),
        _ => {
            eprintln!("usage: cargo xtask {}", CHORES.join("|"));
            false
        }
    };
    if done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run_tidy() -> bool {
    let problems = tidy::check(root(), None).unwrap_or_else(|error| vec![error]);
    for problem in &problems {
        println!("{problem}");
    }
    println!("{} rules, {} problems", tidy::rules(), problems.len());
    problems.is_empty()
}

fn run_dependencies() -> bool {
    let findings = dependencies::check();
    for problem in &findings.problems {
        println!("{problem}");
    }
    println!("{}", findings.note);
    findings.problems.is_empty()
}

fn run_libraries() -> bool {
    let checked = libraries::check(|arguments| {
        let mut command = std::process::Command::new(cargo());
        command.current_dir(root()).args(arguments);
        command
    });
    println!("{}", checked.as_ref().unwrap_or_else(|problem| problem));
    checked.is_ok()
}

/// Power losses of servers under load, by the program of `power_loss`.
fn power_loss(arguments: &[&str]) -> bool {
    let mut command = std::process::Command::new(cargo());
    command.current_dir(root()).args(["run", "--quiet", "--package", "pgmeter-power-loss", "--", "prove"]);
    command.args(arguments).status().is_ok_and(|status| status.success())
}

/// The answers of the workload tpch at scale 1 on all versions, or with other arguments of the example.
fn tpch_answers(arguments: &[&str]) -> bool {
    const ALL: [&str; 10] = ["9.6", "10", "11", "12", "13", "14", "15", "16", "17", "18"];
    let arguments = if arguments.is_empty() { &ALL } else { arguments };
    let mut command = std::process::Command::new(cargo());
    command.args(["run", "--package", "pgmeter-workload", "--example", "tpch_answers", "--"]).args(arguments);
    command.status().is_ok_and(|status| status.success())
}

/// The root of the repository.
fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask is a folder of the repository")
}

/// This program. The build replaces its file, and Linux still finds it by its process.
fn own_program() -> std::io::Result<PathBuf> {
    let of_process = PathBuf::from(format!("/proc/{}/exe", std::process::id()));
    if of_process.exists() { Ok(of_process) } else { std::env::current_exe() }
}

/// The path of the cargo that runs this program.
fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
