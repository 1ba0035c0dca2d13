//! `cargo xtask prove faults`: the whole fault matrix, of which `cargo xtask ci` runs a selection. The matrix and its runner
//! are tests of `pgmeter` (`crates/cli/tests/binary/faults`); a variable selects the cells. Prints a line for each cell
//! and writes nothing into the repository.

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

/// Runs the cells; true if each ended as the matrix says.
pub fn run(arguments: &[&str]) -> bool {
    let Some(Options { is_release, jobs, cells }) = Options::parse(arguments) else {
        eprintln!("{USAGE}");
        return false;
    };
    let mut command = Command::new(crate::cargo());
    command.current_dir(crate::root()).args(["test", "--quiet", "--package", "pgmeter", "--test", "binary"]);
    if is_release {
        command.arg("--release");
    }
    let cells = if cells.is_empty() { "all".to_owned() } else { cells.join(",") };
    command.args(["--", "--nocapture", "--exact", TEST]).env(CELLS, cells).env(JOBS, jobs);
    match command.status() {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("cargo did not start: {error}");
            false
        }
    }
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
