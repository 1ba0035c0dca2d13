//! The project's fuzzer: feeds mutated input to everything that reads what others wrote (`targets`), and checks that
//! nothing panics, hangs, or takes more memory than its length allows. Deterministic: one seed, one series of inputs. Started by `cargo xtask fuzz`.
//!
//! This process watches; another, started from the same program, does the work, so that a stack overflow, an
//! abort or a hang is caught like a panic. No part of what users get.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a chore talks to whoever runs it")]

// The name that the tests of that crate use.
extern crate datagen as pgmeter_datagen;

mod arguments;
mod corpus;
mod mutation;
mod notebook;
mod recorder;
mod round;
mod targets;
mod tree;
mod watch;

use std::process::ExitCode;

use arguments::Task;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments::parse(&arguments) {
        Ok(Task::Fuzz(plan)) => watch::fuzz(&plan),
        Ok(Task::Work { target, plan, notebook }) => round::work(target, &plan, &notebook),
        Ok(Task::Record { conninfo, directory }) => recorder::record(&conninfo, &directory),
        Err(complaint) => Err(format!("{complaint}\n{}", arguments::usage())),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(complaint) => {
            eprintln!("{complaint}");
            ExitCode::FAILURE
        }
    }
}
