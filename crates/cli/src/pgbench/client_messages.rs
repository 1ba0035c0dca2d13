//! Messages about clients during a run on stderr, in pgbench's words and order. `tracer` calls this on each worker's
//! thread.

use std::time::Duration;

use dropin::{Level, abort_messages};
use engine::{ClientEvent, ClientStep};
use script::{Command, CommandKind};

use super::diagnostics::Diagnostics;
use crate::tracer::ClientMessages;

/// pgbench's messages about clients.
#[derive(Clone)]
pub(super) struct PgbenchMessages {
    pub(super) diagnostics: Diagnostics,
    /// Maximum tries; `None`: no limit.
    pub(super) max_tries: Option<u32>,
    pub(super) latency_limit: Option<Duration>,
    pub(super) verbose_errors: bool,
    /// Whether each step of each client is printed.
    pub(super) debug: bool,
    /// Messages that libpq prints when it connects.
    pub(super) password_file_warning: Option<String>,
}

impl PgbenchMessages {
    /// `(try 2/3, 40.000% of the maximum time of tries was used)`
    fn tries(&self, tries: u32, elapsed: Duration) -> String {
        let mut text = format!("(try {tries}");
        if let Some(max) = self.max_tries {
            text += &format!("/{max}");
        }
        if let Some(limit) = self.latency_limit {
            let percent = 100.0 * elapsed.as_secs_f64() / limit.as_secs_f64();
            text += &format!(", {percent:.3}% of the maximum time of tries was used");
        }
        text + ")"
    }
}

impl ClientMessages for PgbenchMessages {
    fn wants_steps(&self) -> bool {
        self.debug
    }

    fn event(&self, event: &ClientEvent<'_>) {
        let info = |text: String| self.diagnostics.say(Level::Info, text);
        match event {
            ClientEvent::Connects { .. } => {
                if let Some(warning) = &self.password_file_warning {
                    self.diagnostics.write(&format!("{warning}\n"));
                }
            }
            ClientEvent::Aborted(aborted) => {
                for sentence in abort_messages(aborted) {
                    self.diagnostics.error(sentence);
                }
            }
            ClientEvent::Failed { client, script, command, error, statement } if self.verbose_errors => {
                let words = error.report(*statement);
                info(format!(
                    "client {client} got an error in command {command} (SQL) of script {script}; {words}"
                ));
            }
            ClientEvent::Retried { client, tries, elapsed } if self.verbose_errors => {
                let tries = self.tries(*tries, *elapsed);
                info(format!("client {client} repeats the transaction after the error {tries}"));
            }
            ClientEvent::GaveUp { client, tries, elapsed } if self.verbose_errors => {
                let tries = self.tries(*tries, *elapsed);
                info(format!("client {client} ends the failed transaction {tries}"));
            }
            ClientEvent::Failed { .. } | ClientEvent::Retried { .. } | ClientEvent::GaveUp { .. } => {}
            ClientEvent::Unprepared { error, statement, .. } => {
                self.diagnostics.error(error.report(Some(statement)))
            }
            ClientEvent::Debugged { script, command, value, .. } => {
                self.diagnostics.write(&format!("debug(script={script},command={}): {value}\n", command + 1));
            }
            ClientEvent::Stepped { client, what } => info(format!("client {client} {}", step_text(what))),
            ClientEvent::Notice { notice, .. } => {
                self.diagnostics.write(&format!("{}\n", notice.report_notice(None)));
            }
        }
    }

    fn log_failed(&self, reason: &str) {
        self.diagnostics.error(format_args!("could not write to log file: {reason}"));
    }
}

/// A client's step, as printed with `--debug`.
fn step_text(what: &ClientStep<'_>) -> String {
    match what {
        ClientStep::Begins { script } => format!("executing script \"{script}\""),
        ClientStep::Executes(command) => format!("executing {}", shown(command)),
        ClientStep::Prepares { name } => format!("preparing {name}"),
        ClientStep::Sends { statement } => format!("sending {}", encoding::decode(statement)),
        ClientStep::Receives => "receiving".to_owned(),
        ClientStep::Synchronized { left } => format!("pipeline ending, ongoing syncs: {left}"),
    }
}

/// A meta command without its expression.
fn shown(command: &Command) -> String {
    let words = command.display.split_whitespace();
    let count = match command.kind {
        CommandKind::Set(_) | CommandKind::SetArray(_) => 2,
        CommandKind::If(_) | CommandKind::Elif(_) => 1,
        _ => usize::MAX,
    };
    words.take(count).collect::<Vec<_>>().join(" ")
}
