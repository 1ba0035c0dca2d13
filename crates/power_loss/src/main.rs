//! `prove` runs controls of power loss and prints a line for each; `cargo xtask prove power-loss` starts it. `serve` is the
//! process of one disk, which `prove` starts. No part of what users get.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a chore talks to its user")]

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use pgmeter_power_loss::disk::{SERVE, STRICT_NAMES};
use pgmeter_power_loss::file_system::NewNames;
use pgmeter_power_loss::load::Damage;
use pgmeter_power_loss::namespace;
use pgmeter_power_loss::rounds::{self, CONTROLS, Control, Expected, Outcome, Plan};
use pgmeter_power_loss::service;

/// Exit status if this machine does not permit the proof.
const NOT_TRIED: u8 = 3;
/// Power losses of a control without other instructions.
const ROUNDS: u32 = 20;

const USAGE: &str = "usage: cargo xtask prove power-loss [--rounds=20] [--seed=1] [CONTROL …]\n\
    Without a CONTROL, all are run.";

/// The subcommands.
const PROVE: &str = "prove";
/// In a mount namespace of its own.
const PROVE_INSIDE: &str = "prove-inside";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [PROVE, ref options @ ..] => prove_in_namespace(options),
        [PROVE_INSIDE, ref options @ ..] => match Options::parse(options) {
            Some(options) => prove(&options),
            None => usage(),
        },
        [SERVE] => serve(NewNames::WithFile),
        [SERVE, STRICT_NAMES] => serve(NewNames::WithDirectory),
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    let names: Vec<&str> = CONTROLS.iter().map(|control| control.name).collect();
    eprintln!("{USAGE}\nControls: {}", names.join(", "));
    ExitCode::FAILURE
}

fn serve(new_names: NewNames) -> ExitCode {
    match service::serve(new_names, io::stdin().lock(), io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("a file system cannot be mounted: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the proof in a mount namespace of its own: its mounts disappear with its last process, however it ends.
fn prove_in_namespace(options: &[&str]) -> ExitCode {
    if Options::parse(options).is_none() {
        return usage();
    }
    if let Some(obstacle) = namespace::obstacle() {
        eprintln!("NOT TRIED: power loss: {obstacle}");
        return ExitCode::from(NOT_TRIED);
    }
    let run = own_program()
        .and_then(|program| namespace::command(&program).arg(PROVE_INSIDE).args(options).status());
    match run {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("unshare does not start: {error}");
            ExitCode::FAILURE
        }
    }
}

fn own_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// The options of the command line.
#[derive(Debug)]
struct Options {
    plan: Plan,
    controls: Vec<&'static Control>,
}

impl Options {
    fn parse(arguments: &[&str]) -> Option<Options> {
        let mut options = Options { plan: Plan { rounds: ROUNDS, seed: 1 }, controls: Vec::new() };
        for argument in arguments {
            if let Some(rounds) = argument.strip_prefix("--rounds=") {
                options.plan.rounds = rounds.parse().ok().filter(|rounds| *rounds > 0)?;
            } else if let Some(seed) = argument.strip_prefix("--seed=") {
                options.plan.seed = seed.parse().ok()?;
            } else {
                options.controls.push(CONTROLS.iter().find(|control| control.name == *argument)?);
            }
        }
        if options.controls.is_empty() {
            options.controls = CONTROLS.iter().collect();
        }
        Some(options)
    }
}

fn prove(options: &Options) -> ExitCode {
    let mut as_expected = 0;
    for control in &options.controls {
        let ran = own_program().map_err(rounds::RoundError::Disk);
        let mut after_round = |outcome: &Outcome| {
            let (done, all) = (outcome.rounds, options.plan.rounds);
            eprintln!(
                "{}: {done} of {all} power losses, {} transactions",
                control.name, outcome.acknowledged
            );
        };
        let ran = ran.and_then(|program| rounds::run(control, options.plan, &program, &mut after_round));
        match ran {
            Ok(outcome) => {
                let is_expected = outcome.is(control.expected);
                as_expected += usize::from(is_expected);
                println!("{}", line(control, &outcome, is_expected));
            }
            Err(error) => println!("{:<24}FAILED  {error}", control.name),
        }
    }
    println!("{as_expected} of {} controls as expected; seed {}", options.controls.len(), options.plan.seed);
    if as_expected == options.controls.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn line(control: &Control, outcome: &Outcome, is_expected: bool) -> String {
    let Outcome { rounds, acknowledged, unacknowledged, pages_forgotten, pages_survived, damage } = outcome;
    let expected = match control.expected {
        Expected::NoDamage => "no damage",
        Expected::Damage => "damage",
    };
    let verdict = if is_expected { "ok" } else { "FAILED" };
    let found = match damage {
        None => "no damage".to_owned(),
        Some(Damage::Lost(number, (session, first))) => {
            format!(
                "{number} acknowledged transactions are lost, the first is number {first} of session {session}"
            )
        }
        Some(Damage::Unreadable(reason)) => {
            format!("the data cannot be read: {}", reason.replace('\n', " | "))
        }
        Some(Damage::Inconsistent(reason)) => format!("the data are inconsistent: {reason}"),
    };
    format!(
        "{:<24}{verdict:<8}expected: {expected}; found: {found}; {rounds} power losses, {acknowledged} transactions \
         acknowledged, {unacknowledged} present without acknowledgement; of the unflushed pages {pages_forgotten} \
         forgotten, {pages_survived} survived",
        control.name
    )
}
