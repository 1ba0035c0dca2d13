//! The binary: parses the command line, calls a library, and returns an exit status. Only this crate uses the
//! terminal, handles signals and exits. Each command's arguments are in the command's module.

mod arguments;
mod bench;
mod calibrate;
mod check_command;
mod compare;
mod data;
mod failure;
mod init;
mod isolation;
mod lab_command;
mod listener;
mod manual;
mod null_server;
mod options;
mod output;
mod password;
mod pgbench;
mod progress;
mod queries;
mod quickstart;
mod relay;
mod reporting;
mod run_output;
mod runs;
mod screen;
mod search;
mod self_test;
mod server_command;
mod signals;
mod terminal;
mod tls;
mod tracer;
mod verify;
mod workload_command;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use config::Mistake;
use results::SafeText;
use run::{ExitStatus, Machines};

use failure::Failure;
use signals::Signals;
use terminal::{Colour, Terminal};

/// Benchmark PostgreSQL: latency percentiles, comparisons, experiments; a replacement for pgbench
#[derive(Debug, Parser)]
#[command(name = "pgmeter", version, max_term_width = 110, subcommand_required = true)]
#[command(
    after_help = "`pgmeter pgbench …`, or pgmeter started through a link named pgbench, accepts pgbench's command line: \
                  see `pgmeter pgbench --help`"
)]
struct Arguments {
    /// When to use colour in reports
    #[arg(long = "color", value_name = "WHEN", default_value = "auto", global = true)]
    colour: Colour,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start an embedded PostgreSQL, load it, run two workloads and report; requires no setup
    Quickstart(quickstart::QuickstartArguments),
    /// Run a workload against any server
    Bench(Box<bench::BenchArguments>),
    /// Time the queries of a workload one by one, and compare their answers
    Queries(queries::QueriesArguments),
    /// Create and fill the tables of a workload
    Init(init::InitArguments),
    /// Test whether the data of a workload are consistent
    Check(check_command::CheckArguments),
    /// Find out whether the server has kept what it acknowledged in a run with --verify, or whether it keeps its isolation levels
    Verify(verify::VerifyArguments),
    /// List, describe and prepare workloads; write a new one
    Workload(workload_command::WorkloadArguments),
    /// Print rows for the tables of any schema, or learn a schema from live tables
    Data(data::DataArguments),
    /// Show stored runs, experiments, comparisons and query sets as text, page, table or image
    Report(reporting::ReportArguments),
    /// Measure the maximum rate of pgmeter on this machine, as a reference for later runs
    Calibrate(calibrate::CalibrateArguments),
    /// Test in 20 seconds whether this machine can measure: event loop, clock, CPUs, wake-ups, rate of a worker
    SelfTest(self_test::SelfTestArguments),
    /// List stored runs, comparisons, experiments and query sets, newest last; label, remove and import them
    Runs(runs::RunsArguments),
    /// Run experiments from files: many trials in interleaved order, resumable
    Lab(lab_command::LabArguments),
    /// Find out which of many server settings matter for a script
    Screen(Box<screen::ScreenArguments>),
    /// Test whether B is faster than A with short alternating blocks; the exit status reports the verdict
    Compare(Box<compare::CompareArguments>),
    /// Find the highest rate that keeps a promise such as p99 < 20ms, with an interval
    Search(Box<search::SearchArguments>),
    /// Install, start, stop and list PostgreSQL servers managed by pgmeter
    Server(server_command::ManagedServerArguments),
    /// Find out which versions and cipher suites of TLS a server accepts, its certificates, and what is weak
    Tls(tls::TlsArguments),
    /// Simulate a network between clients and a server: delay, jitter and limited bandwidth
    Relay(relay::RelayArguments),
    /// Print shell completions: pgmeter completions bash > ~/.local/share/bash-completion/completions/pgmeter
    Completions(manual::CompletionsArguments),
    /// Write manual pages, one per command
    Man(manual::ManArguments),
    /// Answer every query at once and do nothing else, to measure the load generator
    #[command(hide = true)]
    NullServer(null_server::NullServerArguments),
}

fn main() -> ExitCode {
    if let Some(call) = pgbench::Call::of_process() {
        run::hide_secrets_of_arguments();
        return call.run();
    }
    let parsed = Arguments::try_parse();
    run::hide_secrets_of_arguments();
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(error) => return show_usage_error(&error),
    };
    let terminal = Terminal::of_process(arguments.colour);
    let (signals, machines) = match begin(&arguments.command) {
        Ok(begun) => begun,
        Err(failure) => {
            terminal.complain(&failure);
            return ExitCode::from(failure.exit_status(None).code());
        }
    };
    let done = match machines.as_ref().filter(|machines| !machines.is_first()) {
        Some(machines) => machines.serve(&signals).map(|()| ExitStatus::Success).map_err(Failure::from),
        None => execute(&arguments.command, &terminal, &signals),
    };
    let status = done.unwrap_or_else(|failure| {
        terminal.complain(&failure);
        failure.exit_status(signals.first())
    });
    let lost = terminal.lost().map_or(ExitStatus::Success, |failure| {
        terminal.complain(&failure);
        ExitStatus::Incomplete
    });
    ::output::message_queue::flush();
    let status = status.max(lost).code();
    machines.into_iter().for_each(|machines| machines.leave(status));
    ExitCode::from(status)
}

/// Catches signals. If a process manager started several processes, rank 0 executes the command, and the others serve it.
/// This does not apply to commands that pgmeter starts itself.
fn begin(command: &Command) -> Result<(Signals, Option<Machines>), Failure> {
    let signals = Signals::catch()?;
    let is_alone = matches!(command, Command::Relay(_) | Command::NullServer(_) | Command::Server(_));
    let machines = if is_alone { None } else { Machines::join(&signals)? };
    Ok((signals, machines))
}

/// Prints a usage error or help.
fn show_usage_error(error: &clap::Error) -> ExitCode {
    let shown = error.render();
    let to_stderr = error.use_stderr();
    let colour = if to_stderr { std::io::stderr().is_terminal() } else { std::io::stdout().is_terminal() };
    let colour = colour && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let text = if colour { shown.ansi().to_string() } else { shown.to_string() };
    if to_stderr {
        let text = config::in_plain_words(&masked(&text));
        let first = text.lines().next().unwrap_or_default();
        let corrected = corrected(error).map(|command| format!("{first}; {}\n", SafeText::from(command)));
        terminal::write_styled(&corrected.unwrap_or(text));
    } else {
        let terminal = Terminal::of_process(Colour::Auto);
        terminal.print(&text);
        if let Some(failure) = terminal.lost() {
            terminal.complain(&failure);
            return ExitCode::from(ExitStatus::Incomplete.code());
        }
    }
    let status = if to_stderr { ExitStatus::NotStarted } else { ExitStatus::Success };
    ExitCode::from(status.code())
}

/// The command that was probably meant.
fn corrected(error: &clap::Error) -> Option<String> {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|it| it.to_string_lossy().into_owned()).collect();
    let text = |kind| match error.get(kind)? {
        ContextValue::String(text) => Some(text.as_str()),
        ContextValue::Strings(texts) => texts.first().map(String::as_str),
        _ => None,
    };
    let unknown = |given, similar| Some(Mistake::Unknown { given: text(given)?, similar: text(similar) });
    let mistake = match error.kind() {
        ErrorKind::UnknownArgument => unknown(ContextKind::InvalidArg, ContextKind::SuggestedArg)?,
        ErrorKind::InvalidSubcommand => {
            unknown(ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand)?
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => Mistake::Value {
            option: text(ContextKind::InvalidArg)?,
            given: text(ContextKind::InvalidValue).unwrap_or_default(),
        },
        _ => return None,
    };
    config::corrected_command(&words, mistake)
}

/// Masks secrets in the quoted arguments of the first line; the following help contains none.
fn masked(text: &str) -> String {
    let (error, help) = text.split_once('\n').unwrap_or((text, ""));
    format!("{}\n{help}", SafeText::from(error))
}

fn execute(command: &Command, terminal: &Terminal, signals: &Signals) -> Result<ExitStatus, Failure> {
    let done = match command {
        Command::Compare(arguments) => return compare::run(arguments, terminal, signals),
        Command::Search(arguments) => return search::run(arguments, terminal, signals),
        Command::Verify(arguments) => return verify::run(arguments, terminal, signals),
        Command::SelfTest(arguments) => return self_test::run(arguments, terminal, signals),
        Command::Queries(arguments) => return queries::run(arguments, terminal, signals),
        Command::Quickstart(arguments) => quickstart::run(arguments, terminal, signals),
        Command::Bench(arguments) => bench::run(arguments, terminal, signals),
        Command::Init(arguments) => init::run(arguments, terminal, signals),
        Command::Check(arguments) => check_command::run(arguments, terminal, signals),
        Command::Workload(arguments) => workload_command::run(arguments, terminal, signals),
        Command::Data(arguments) => data::run(arguments, terminal, signals),
        Command::Report(arguments) => reporting::run(arguments, terminal),
        Command::Calibrate(arguments) => calibrate::run(arguments, terminal, signals),
        Command::Runs(arguments) => runs::run(arguments, terminal),
        Command::Lab(arguments) => lab_command::run(arguments, terminal, signals),
        Command::Screen(arguments) => screen::run(arguments, terminal, signals),
        Command::Server(arguments) => server_command::run(arguments, terminal, signals),
        Command::Tls(arguments) => tls::run(arguments, terminal, signals),
        Command::Relay(arguments) => relay::run(arguments, terminal, signals),
        Command::Completions(arguments) => manual::completions(arguments, Arguments::command(), terminal),
        Command::Man(arguments) => manual::man(arguments, Arguments::command()),
        Command::NullServer(arguments) => null_server::run(arguments, terminal, signals),
    };
    done.map(|()| ExitStatus::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_do_not_contradict_each_other() {
        Arguments::command().debug_assert();
    }
}
