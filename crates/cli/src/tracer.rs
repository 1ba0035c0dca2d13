//! pgmeter's own messages about clients during a run, printed on the workers' threads.
//! `output` writes the log files and calls these messages.

use std::io;
use std::path::PathBuf;

use dropin::system_words;
use engine::{ClientEvent, Tracer, WorkerIntro};
use output::{ClientMessages, tracer_without_log};

use crate::failure::Failure;
use crate::terminal;

/// The tracer of a trial's worker.
pub(crate) fn of_trial(_: WorkerIntro) -> Box<dyn Tracer> {
    tracer_without_log(RunMessages { verbose_errors: false })
}

/// The error of a log file that cannot be created.
pub(crate) fn no_log((path, error): (PathBuf, io::Error)) -> Failure {
    Failure::LogFile { path: path.display().to_string(), reason: system_words(&error) }
}

/// pgmeter's own messages. `run_output` prints aborted clients at the end.
#[derive(Clone, Copy)]
pub(crate) struct RunMessages {
    pub(crate) verbose_errors: bool,
}

impl ClientMessages for RunMessages {
    fn event(&self, event: &ClientEvent<'_>) {
        if let Some(text) = run::client_message(event, self.verbose_errors) {
            say(&text);
        }
    }

    fn reason(&self, error: &io::Error) -> String {
        system_words(error)
    }

    fn log_failed(&self, reason: &str) {
        say(&format!("error: cannot write a log file ({reason}), so it ends early; the run continues"));
    }
}

/// Prints a line on stderr; lines of different workers are never mixed.
fn say(text: &str) {
    terminal::write_message(&format!("pgmeter: {text}\n"));
}
