//! `cargo xtask ci --stress`: runs all tests, or those of some programs, several times while other processes take all
//! processors. Lists the tests that failed, with how often. A test that fails only here depends on the speed of the machine.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::thread;

use super::{TEST_LIMIT, Verdict, build};
use crate::leftovers::Scratch;
use crate::programs::TestProgram;
use crate::test_output;
use crate::test_programs::{self, Ended, Extent};

/// How often each test runs if nothing else is asked for.
const ROUNDS: u32 = 20;
/// Processes that compute, for each processor.
const LOAD: usize = 2;

/// Rounds and a part of the names of programs; true if no test failed.
pub(super) fn run(arguments: &[&str]) -> bool {
    let (rounds, chosen) = match arguments {
        [] => (ROUNDS, arguments),
        [rounds, chosen @ ..] => match rounds.parse() {
            Ok(rounds) => (rounds, chosen),
            Err(_) => {
                eprintln!("--stress {rounds}: expected the number of rounds");
                return false;
            }
        },
    };
    let mut programs = None;
    let Verdict { details, .. } = build(&mut programs);
    let Some(programs) = programs else {
        eprintln!("{details}");
        return false;
    };
    let is_chosen =
        |program: &TestProgram| chosen.is_empty() || chosen.iter().any(|part| program.name.contains(part));
    let programs: Vec<TestProgram> = programs.tests.into_iter().filter(is_chosen).collect();
    let load = Load::start();
    let failed = rounds_of(&programs, rounds);
    drop(load);
    match failed {
        Ok(failed) => {
            for (test, times) in &failed {
                println!("{times:>3} of {rounds}  {test}");
            }
            println!("{} tests failed in {rounds} rounds on a busy machine", failed.len());
            failed.is_empty()
        }
        Err(error) => {
            eprintln!("the tests did not run: {error}");
            false
        }
    }
}

/// The tests that failed, with how often.
fn rounds_of(programs: &[TestProgram], rounds: u32) -> std::io::Result<BTreeMap<String, u32>> {
    let mut failed = BTreeMap::new();
    for round in 1..=rounds {
        let scratch = Scratch::new()?;
        let ended = test_programs::run(programs, Extent::All, &scratch, TEST_LIMIT)?.programs;
        scratch.remove()?;
        for Ended { program, counts, failures, .. } in &ended {
            let mut names: Vec<String> =
                test_output::failed_names(failures).map(|test| format!("{program} {test}")).collect();
            names.sort();
            names.dedup();
            if counts.failed > names.len() {
                names.push(format!("{program} (ended early)"));
            }
            names.iter().for_each(|test| println!("round {round}: {test} failed\n{failures}"));
            names.into_iter().for_each(|test| *failed.entry(test).or_default() += 1);
        }
        println!("round {round} of {rounds} ended");
    }
    Ok(failed)
}

/// Processes that compute until this is dropped.
struct Load(Vec<Child>);

impl Load {
    fn start() -> Load {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let start = || {
            let mut command = Command::new("sh");
            command.args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn()
        };
        Load((0..processors * LOAD).filter_map(|_| start().ok()).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // It cannot have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
