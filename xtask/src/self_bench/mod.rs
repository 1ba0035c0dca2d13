//! `cargo xtask self-bench`: what the project promises of pgmeter's speed, measured beside an installed pgbench.
//!
//! Only ratios mean anything: both programs run on the same noisy machine within seconds of each other, in
//! alternating order. A whole round is printed as a table and kept as one line of `benchmarks/history.jsonl`.

mod arguments;
mod bare;
mod client_cpu;
mod connecting;
mod experiments;
mod growth;
mod history;
mod lab;
mod line;
mod loading;
mod memory;
mod null_server;
mod pace;
mod processes;
mod programs;
mod rounds;
mod server;
mod stall;
mod steal;
mod throughput;

use arguments::Arguments;
use experiments::EXPERIMENTS;
use lab::Lab;
use line::{Line, table};
use steal::Ticks;

/// What one experiment came to: its lines, or why there are none.
pub(crate) struct Found {
    name: &'static str,
    lines: Result<Vec<Line>, String>,
    /// Of the machine's processor time meanwhile, by the host of the virtual machine.
    stolen_percent: f64,
}

/// Runs the experiments and prints the table. False when something fails or a goal is missed.
pub(crate) fn run(arguments: &[&str]) -> bool {
    let arguments = match Arguments::parse(arguments) {
        Ok(arguments) => arguments,
        Err(sentence) => {
            eprintln!("self-bench: {sentence}");
            return false;
        }
    };
    match measure(&arguments) {
        Ok(all_met) => all_met,
        Err(reason) => {
            eprintln!("self-bench: {reason}");
            false
        }
    }
}

fn measure(arguments: &Arguments) -> Result<bool, String> {
    let mut lab = Lab::set_up(arguments)?;
    let mut found = Vec::new();
    for experiment in EXPERIMENTS.iter().filter(|experiment| arguments.wants(experiment.name)) {
        eprintln!("self-bench: {}: {}", experiment.name, experiment.about);
        let ticks = Ticks::now();
        let lines = (experiment.run)(&mut lab);
        let stolen_percent = ticks.stolen_percent();
        match &lines {
            Ok(lines) => lines.iter().for_each(|line| eprintln!("  {line}")),
            Err(reason) => eprintln!("  not measured: {reason}"),
        }
        eprintln!("  stolen meanwhile: {stolen_percent:.1} % of the processors' time");
        found.push(Found { name: experiment.name, lines, stolen_percent });
    }
    println!("{}", table(&found, &lab.pgbench_version));
    if arguments.is_whole() {
        let path = history::append(&found, &lab)?;
        println!("kept as the last line of {}", path.display());
    } else {
        println!("not kept: only a whole round is, without --only and --quick");
    }
    let missed = |line: &Line| line.is_met() == Some(false);
    Ok(found.iter().all(|found| matches!(&found.lines, Ok(lines) if !lines.iter().any(missed))))
}
