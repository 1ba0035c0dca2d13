//! Long proofs, of which `cargo xtask ci` runs a selection. They are tests of `pgmeter` with variables, and write nothing into
//! the repository. `prove faults`: the whole fault matrix (`crates/cli/tests/binary/faults`), a line for each cell.
//! `prove failures`: the positive controls of `--verify` (`crates/cli/tests/binary/verify.rs`), with many kills of a server.

use std::process::Command;

/// The test that runs the cells.
const TEST: &str = "faults::commands_end_as_the_fault_matrix_says";
/// Its variables: the cells, and how many run at once.
const CELLS: &str = "PGMETER_TEST_FAULTS";
const JOBS: &str = "PGMETER_TEST_FAULT_JOBS";

const USAGE: &str = "usage: cargo xtask prove faults [--release] [--jobs=2] [CELL …]\n\
    A CELL is one or more of fault/command/loop, such as server-stopped/bench/epoll, lab, or reset/io_uring; without \
    any, all are tried.\n\
    Also: cargo xtask prove power-loss [--rounds=20] [--seed=1] [CONTROL …]";

/// The options of the command line.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    is_release: bool,
    jobs: String,
    cells: Vec<String>,
}

/// The tests that kill servers under load.
const CONTROLS: [&str; 2] = [
    "verify::a_durable_server_that_is_killed_loses_nothing",
    "verify::a_server_that_does_not_wait_for_the_flush_is_found_out",
];
/// Their variable: how often.
const KILLS: &str = "PGMETER_TEST_KILLS";
const KILLS_USAGE: &str = "usage: cargo xtask prove failures [--release] [--kills=100]";

/// Runs a proof; true if it succeeded.
pub fn run(arguments: &[&str]) -> bool {
    match arguments {
        ["failures", arguments @ ..] => prove_failures(arguments),
        _ => prove_faults(arguments),
    }
}

/// The tests of the binary.
fn tests(is_release: bool) -> Command {
    let mut command = Command::new(crate::cargo());
    command.current_dir(crate::root()).args(["test", "--quiet", "--package", "pgmeter", "--test", "binary"]);
    if is_release {
        command.arg("--release");
    }
    command.args(["--", "--nocapture", "--exact"]);
    command
}

fn succeeds(command: &mut Command) -> bool {
    match command.status() {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("cargo did not start: {error}");
            false
        }
    }
}

/// Kills servers under load; true if each control found what it should.
fn prove_failures(arguments: &[&str]) -> bool {
    let Some((is_release, kills)) = kills(arguments) else {
        eprintln!("{KILLS_USAGE}");
        return false;
    };
    // One after the other: two servers under load would disturb each other.
    succeeds(tests(is_release).arg("--test-threads=1").args(CONTROLS).env(KILLS, kills.to_string()))
}

fn kills(arguments: &[&str]) -> Option<(bool, u16)> {
    let (mut is_release, mut kills) = (false, 100);
    for argument in arguments {
        match argument.strip_prefix("--kills=") {
            Some(number) => kills = number.parse().ok().filter(|kills| *kills > 0)?,
            None if *argument == "--release" => is_release = true,
            None => return None,
        }
    }
    Some((is_release, kills))
}

/// Runs the cells; true if each ended as the matrix says.
fn prove_faults(arguments: &[&str]) -> bool {
    let Some(Options { is_release, jobs, cells }) = Options::parse(arguments) else {
        eprintln!("{USAGE}");
        return false;
    };
    let cells = if cells.is_empty() { "all".to_owned() } else { cells.join(",") };
    succeeds(tests(is_release).arg(TEST).env(CELLS, cells).env(JOBS, jobs))
}

impl Options {
    fn parse(arguments: &[&str]) -> Option<Options> {
        let [proof, arguments @ ..] = arguments else { return None };
        if *proof != "faults" {
            return None;
        }
        let mut options = Options { is_release: false, jobs: "2".to_owned(), cells: Vec::new() };
        for argument in arguments {
            match argument.strip_prefix("--") {
                Some("release") => options.is_release = true,
                Some(option) => {
                    let jobs = option.strip_prefix("jobs=")?;
                    jobs.parse::<std::num::NonZeroU8>().ok()?;
                    jobs.clone_into(&mut options.jobs);
                }
                None => options.cells.push((*argument).to_owned()),
            }
        }
        Some(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_kills_is_read() {
        assert_eq!(kills(&[]), Some((false, 100)));
        assert_eq!(kills(&["--kills=7", "--release"]), Some((true, 7)));
        for wrong in ["--kills=0", "--kills=x", "7"] {
            assert_eq!(kills(&[wrong]), None, "{wrong}");
        }
    }

    #[test]
    fn cells_and_options_are_told_apart_and_others_are_refused() {
        let all = Options { is_release: false, jobs: "2".to_owned(), cells: Vec::new() };
        assert_eq!(Options::parse(&["faults"]), Some(all));
        let some = Options { is_release: true, jobs: "1".to_owned(), cells: vec!["lab/epoll".to_owned()] };
        assert_eq!(Options::parse(&["faults", "--release", "lab/epoll", "--jobs=1"]), Some(some));
        for wrong in [&[][..], &["figures"], &["faults", "--jobs=0"], &["faults", "--what"]] {
            assert_eq!(Options::parse(wrong), None, "{wrong:?}");
        }
    }
}
