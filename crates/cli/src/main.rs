//! The binary: what was typed becomes a job for one of the libraries, and an exit status. Only this crate
//! owns the terminal, the signals and the exit status.

mod arguments;
mod bench;
mod calibrate;
mod compare;
mod failure;
mod init;
mod lab_command;
mod lab_status;
mod listener;
mod live;
mod logs;
mod manual;
mod metrics;
mod null_server;
mod options;
mod password;
mod pgbench;
mod quickstart;
mod relay;
mod reporting;
mod runs;
mod server_command;
mod serving;
mod showing;
mod signals;
mod stderr_queue;
mod storing;
mod terminal;
mod watcher;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};
use failure::Failure;
use signals::Signals;
use terminal::Terminal;

fn main() -> ExitCode {
    if let Some(call) = pgbench::Call::of_process() {
        return call.run();
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return misunderstood(&error),
    };
    let terminal = Terminal::of_process(arguments.colour);
    let signals = match Signals::catch() {
        Ok(signals) => signals,
        Err(failure) => {
            terminal.complain(&failure);
            return failure.exit_code(None);
        }
    };
    let result = obey(&arguments.command, &terminal, &signals);
    let result = match (result, terminal.lost()) {
        (Ok(_), Some(error)) => Err(Failure::System { what: "write to standard output".to_owned(), error }),
        (result, _) => result,
    };
    let code = match result {
        Ok(code) => code,
        Err(failure) => {
            terminal.complain(&failure);
            failure.exit_code(signals.exit_status())
        }
    };
    stderr_queue::flush();
    code
}

/// What was typed makes no sense, or asks for help. Where an error has the wording of Rust's own parsers, ours takes its
/// place.
fn misunderstood(error: &clap::Error) -> ExitCode {
    let shown = error.render();
    let to_stderr = error.use_stderr();
    let colour = if to_stderr { std::io::stderr().is_terminal() } else { std::io::stdout().is_terminal() };
    let colour = colour && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let text = if colour { shown.ansi().to_string() } else { shown.to_string() };
    if to_stderr {
        terminal::talk_styled(&arguments::in_plain_words(&masked(&text)));
    } else {
        terminal::put_out(&text);
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Without secrets in the words that were typed; what follows is help, which holds none.
fn masked(text: &str) -> String {
    let (error, help) = text.split_once('\n').unwrap_or((text, ""));
    format!("{}\n{help}", results::SafeText::from(error))
}

fn obey(command: &Command, terminal: &Terminal, signals: &Signals) -> Result<ExitCode, Failure> {
    let done = match command {
        Command::Compare(arguments) => return compare::run(arguments, terminal, signals),
        Command::Quickstart(arguments) => quickstart::run(arguments, terminal, signals),
        Command::Bench(arguments) => bench::run(arguments, terminal, signals),
        Command::Init(arguments) => init::run(arguments, terminal, signals),
        Command::Report(arguments) => reporting::run(arguments, terminal),
        Command::Calibrate(arguments) => calibrate::run(arguments, terminal, signals),
        Command::Runs(arguments) => runs::run(arguments, terminal),
        Command::Lab(arguments) => lab_command::run(arguments, terminal, signals),
        Command::Server(arguments) => server_command::run(&arguments.action, terminal, signals),
        Command::Relay(arguments) => relay::run(arguments, terminal, signals),
        Command::Completions(arguments) => manual::completions(arguments, terminal),
        Command::Man(arguments) => manual::man(arguments),
        Command::NullServer(arguments) => null_server::run(arguments, terminal, signals),
    };
    done.map(|()| ExitCode::SUCCESS)
}
