//! Programs with only the necessary work of any client: exchanging the bytes of requests and answers, connecting,
//! waiting for a moment. Their cost is a lower bound for load generators on the machine.
//!
//! docs/performance.md has their commands. Each prints lines of a name and a number.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints what it measured")]

mod connecting;
mod exchange;
mod punctuality;
#[cfg(target_os = "linux")]
mod rings;
mod session;

use std::process::ExitCode;
use std::str::FromStr;

const USAGE: &str = "usage: bare exchange io_uring|epoll CLIENTS SECONDS CONNECTION\n       \
                     bare connect CLIENTS AT_ONCE CONNECTION\n       \
                     bare wait RATE SECONDS SHARE";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(figures) => {
            figures.iter().for_each(|(name, figure)| println!("{name} {figure}"));
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("bare: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// Names and numbers.
type Figures = Vec<(&'static str, f64)>;

fn run(arguments: &[&str]) -> Result<Figures, String> {
    match *arguments {
        ["exchange", way, clients, seconds, connection] => {
            exchange::run(way, number(clients)?, number(seconds)?, connection)
        }
        ["connect", clients, at_once, connection] => {
            connecting::run(number(clients)?, number(at_once)?, connection)
        }
        ["wait", rate, seconds, share] => {
            Ok(punctuality::run(number(rate)?, number(seconds)?, number(share)?))
        }
        _ => Err(USAGE.to_owned()),
    }
}

fn number<T: FromStr>(word: &str) -> Result<T, String> {
    word.parse().map_err(|_| format!("\"{word}\" is no such number\n{USAGE}"))
}
