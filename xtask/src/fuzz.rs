//! `cargo xtask fuzz`: builds the fuzzer as fast as a release, with the checks of a debug build, and runs it. And the
//! short round of `cargo xtask ci`, which takes the debug build that was made with the tests.

use std::path::Path;
use std::process::{Command, Output};

/// Inputs for each target in a short round; fewer where an input takes long.
pub const SHORT_ROUND: u64 = 10_000;
/// The same for each change.
pub const SHORTEST_ROUND: u64 = 500;

/// Runs the fuzzer with these arguments; true if it found nothing.
pub fn run(arguments: &[&str]) -> bool {
    let mut command = Command::new(crate::cargo());
    command.current_dir(crate::root());
    command.args(["run", "--quiet", "--package", "pgmeter-fuzz", "--profile", "fuzz", "--"]);
    match command.args(arguments).status() {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("cargo did not start: {error}");
            false
        }
    }
}

/// The short round with a fuzzer that is built: its output.
pub fn short_round(fuzzer: &Path, inputs: u64) -> std::io::Result<Output> {
    let mut command = Command::new(fuzzer);
    command.current_dir(crate::root()).args(["--short", "--inputs", &inputs.to_string()]);
    command.stdin(std::process::Stdio::null()).output()
}

/// How many targets passed and how many failed, by the lines that the fuzzer prints for each.
pub fn count(stdout: &str) -> (usize, usize) {
    let verdicts = |word| stdout.lines().filter(|line| line.split_whitespace().nth(1) == Some(word)).count();
    (verdicts("ok"), verdicts("FAILED"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_counted_by_their_verdicts() {
        let said = "scripts     ok     1.6 s  5007 inputs, 171 outcomes\nserver      FAILED\nstartup     ok     0.4 s  1\n";
        assert_eq!(count(said), (2, 1));
        assert_eq!(count(""), (0, 0));
    }
}
