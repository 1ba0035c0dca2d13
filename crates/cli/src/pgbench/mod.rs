//! `pgmeter pgbench …`, and the binary started as `pgbench` through a link: pgbench's command line, output and exit
//! statuses with the engine of `pgmeter bench`. Called by `main` before its own options are parsed.

mod benchmark;
mod diagnostics;
mod initialization;
mod output;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

use diagnostics::Diagnostics;
use dropin::{HELP, Options, PROGRAM, Stop, Task};

/// A command line for the drop-in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// The program's name in getopt's messages.
    typed: String,
    arguments: Vec<OsString>,
}

impl Call {
    /// This process's command line, if the program was started as `pgbench` or as `pgmeter pgbench`.
    pub(crate) fn of_process() -> Option<Self> {
        Self::of(std::env::args_os())
    }

    fn of(words: impl Iterator<Item = OsString>) -> Option<Self> {
        let mut words = words;
        let program = words.next()?;
        let mut words = words.peekable();
        let typed = if Path::new(&program).file_name() == Some(OsStr::new(PROGRAM)) {
            encoding::decode(program.as_bytes()).into_owned()
        } else if words.next_if(|word| word == PROGRAM).is_some() {
            PROGRAM.to_owned()
        } else {
            return None;
        };
        Some(Self { typed, arguments: words.collect() })
    }

    /// Executes the command line.
    pub(crate) fn run(self) -> ExitCode {
        let diagnostics = Diagnostics::of_process();
        if let Some(text) = answer(self.arguments.first().map(OsString::as_os_str)) {
            diagnostics.print(&text);
            return ExitCode::SUCCESS;
        }
        match self.execute(&diagnostics) {
            Ok(()) => ExitCode::SUCCESS,
            Err(Stop { messages, code }) => {
                diagnostics.say_all(&messages);
                ExitCode::from(code)
            }
        }
    }

    fn execute(self, diagnostics: &Diagnostics) -> Result<(), Stop> {
        let (mut options, others) = Options::act_on(self.arguments, &self.typed, &mut |message| {
            diagnostics.say_all(&[message]);
        })?;
        match dropin::decide(&mut options, others)? {
            Task::Initialize => initialization::run(options, diagnostics),
            Task::Benchmark => benchmark::run(options, diagnostics),
        }
    }
}

/// Help and version are recognized only as the first argument.
fn answer(first: Option<&OsStr>) -> Option<String> {
    match first?.to_str()? {
        "--help" | "-?" => Some(HELP.to_owned()),
        "--version" | "-V" => Some(dropin::version_line()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &[&str], expected: Option<(&str, &[&str])>) {
        let call = Call::of(words.iter().map(OsString::from));
        let expected = expected.map(|(typed, arguments)| Call {
            typed: typed.to_owned(),
            arguments: arguments.iter().map(OsString::from).collect(),
        });
        assert_eq!(call, expected, "{words:?}");
    }

    #[test]
    fn the_name_or_the_first_word_makes_it_pgbench() {
        check(&["/usr/bin/pgbench", "-i"], Some(("/usr/bin/pgbench", &["-i"])));
        check(&["pgbench"], Some(("pgbench", &[])));
        check(&["/x/pgmeter", "pgbench", "-S"], Some(("pgbench", &["-S"])));
        check(&["pgmeter", "bench", "pgbench"], None);
        check(&["pgmeter"], None);
        check(&[], None);
    }
}
