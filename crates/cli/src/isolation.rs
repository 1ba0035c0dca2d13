//! `pgmeter verify --isolation`: whether a server keeps its isolation levels. `isolation` runs the check, `report` shows
//! it; here are the options.

use ::isolation::{IsolationOptions, LEVELS, Level, READ_METHODS, ReadMethod};
use clap::Args;
use config::create_output as create;
use connect::Target;
use report::Subject;
use run::ExitStatus;

use crate::arguments::words;
use crate::failure::Failure;
use crate::output::OutputArguments;
use crate::password::connect_asking;
use crate::signals::Signals;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
#[command(next_help_heading = "Isolation")]
pub(crate) struct IsolationArguments {
    /// Look for anomalies in transactions of this level; exit status 4 if the level forbids one that was found
    #[arg(long, value_name = "LEVEL", value_parser = words(&LEVELS))]
    pub(crate) isolation: Option<Level>,
    /// How the transactions read
    #[arg(long, value_name = "METHOD", default_value = "select", value_parser = words(&READ_METHODS))]
    reads: ReadMethod,
    /// Clients, each with a connection
    #[arg(short, long, value_name = "N", default_value_t = 8)]
    clients: u32,
    /// Transactions of all clients together
    #[arg(short, long, value_name = "N", default_value_t = 10_000)]
    transactions: u32,
    /// Seed of the transactions [default: random]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Connection string of a replica, on which transactions read; may be repeated
    #[arg(long = "replica", value_name = "CONNINFO")]
    replicas: Vec<String>,
    /// Write the history to this file, as JSON for elle-cli
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    history: Option<std::path::PathBuf>,
    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(
    arguments: &IsolationArguments,
    level: Level,
    mut target: Target,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<ExitStatus, Failure> {
    let output = arguments.output.output(terminal)?;
    let IsolationArguments { reads, clients, transactions, seed, .. } = *arguments;
    let (replicas, history) = (arguments.replicas.clone(), arguments.history.clone());
    let options = IsolationOptions { level, reads, clients, transactions, seed, replicas, history, create };
    drop(connect_asking(&mut target, signals)?);
    let bar = terminal.waiting(String::new());
    let report = ::isolation::verify(&target, &options, signals.stop(), &mut |text| bar.label(text));
    drop(bar);
    let report = report.map_err(|error| Failure::Usage(error.to_string()))?;
    output.show(Subject::Isolation(&report), terminal)?;
    let status = match (report.findings.is_kept(), report.is_complete()) {
        (false, _) => ExitStatus::WorkLost,
        (true, false) => ExitStatus::Incomplete,
        (true, true) => ExitStatus::Success,
    };
    Ok(status.max(signals.first().map_or(ExitStatus::Success, ExitStatus::Interrupted)))
}
