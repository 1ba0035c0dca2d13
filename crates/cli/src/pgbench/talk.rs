//! What happens to clients during a run, told on stderr in pgbench's words and order; and the log files.
//! One for each worker, called at once and on its thread. The engine decides; this only tells.

use std::time::Duration;

use dropin::{Level, abort_messages};
use engine::{ClientEvent, ClientStep, Tracer};
use results::Plan;
use script::{Command, CommandKind};
use stats::Timestamp;

use super::diagnostics::Diagnostics;
use crate::logs::WorkerLog;

/// See the module.
pub(super) struct Talk {
    diagnostics: Diagnostics,
    /// `None`: no limit.
    max_tries: Option<u32>,
    latency_limit: Option<Duration>,
    verbose_errors: bool,
    /// Each step of each client is told.
    debug: bool,
    /// What libpq says on stderr each time when it connects.
    connecting: Option<String>,
    log: Option<WorkerLog>,
}

impl Talk {
    pub(super) fn new(diagnostics: Diagnostics, plan: &Plan, verbose_errors: bool, debug: bool) -> Self {
        let latency_limit =
            plan.latency_limit_us.map(|limit| Duration::try_from_secs_f64(limit / MICROS_PER_SECOND));
        let latency_limit = latency_limit.and_then(Result::ok);
        let max_tries = plan.max_tries;
        Self { diagnostics, max_tries, latency_limit, verbose_errors, debug, connecting: None, log: None }
    }

    /// The same, saying this whenever a client connects.
    pub(super) fn with_warning(self, connecting: Option<String>) -> Self {
        Self { connecting, ..self }
    }

    /// The same, with a log of its own.
    pub(super) fn with_log(&self, log: Option<WorkerLog>) -> Self {
        Self { diagnostics: self.diagnostics.clone(), connecting: self.connecting.clone(), log, ..*self }
    }

    /// pgbench does not look whether its log could be written.
    fn tell(&self, written: Result<(), String>) {
        if let Err(reason) = written {
            self.diagnostics.error(format_args!("could not write to log file: {reason}"));
        }
    }

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

const MICROS_PER_SECOND: f64 = 1e6;

impl Tracer for Talk {
    fn wants_transactions(&self) -> bool {
        self.log.is_some()
    }

    fn wants_steps(&self) -> bool {
        self.debug
    }

    fn transaction(&mut self, ended: &engine::EndedTransaction<'_>) {
        if let Some(log) = &mut self.log {
            let written = log.transaction(ended);
            self.tell(written);
        }
    }

    fn on_event(&mut self, event: &ClientEvent<'_>) {
        match event {
            ClientEvent::Connects { .. } => {
                if let Some(words) = &self.connecting {
                    self.diagnostics.write(&format!("{words}\n"));
                }
            }
            ClientEvent::Aborted(aborted) => {
                for sentence in abort_messages(aborted) {
                    self.diagnostics.error(sentence);
                }
            }
            ClientEvent::Failed { client, script, command, error, statement } if self.verbose_errors => {
                let words = error.report(*statement);
                self.diagnostics.say(
                    Level::Info,
                    format_args!(
                        "client {client} got an error in command {command} (SQL) of script {script}; {words}"
                    ),
                );
            }
            ClientEvent::Retried { client, tries, elapsed } if self.verbose_errors => {
                let tries = self.tries(*tries, *elapsed);
                self.diagnostics.say(
                    Level::Info,
                    format_args!("client {client} repeats the transaction after the error {tries}"),
                );
            }
            ClientEvent::GaveUp { client, tries, elapsed } if self.verbose_errors => {
                let tries = self.tries(*tries, *elapsed);
                self.diagnostics
                    .say(Level::Info, format_args!("client {client} ends the failed transaction {tries}"));
            }
            ClientEvent::Failed { .. } | ClientEvent::Retried { .. } | ClientEvent::GaveUp { .. } => {}
            ClientEvent::Unprepared { error, statement, .. } => {
                self.diagnostics.error(error.report(Some(statement)))
            }
            ClientEvent::Debugged { script, command, value, .. } => {
                self.diagnostics.write(&format!("debug(script={script},command={}): {value}\n", command + 1));
            }
            ClientEvent::Stepped { client, what } => {
                self.diagnostics.say(Level::Info, format_args!("client {client} {}", step_text(what)));
            }
            ClientEvent::Notice { notice, .. } => {
                self.diagnostics.write(&format!("{}\n", notice.report_notice(None)));
            }
        }
    }

    fn end(&mut self, now: Timestamp) {
        if let Some(log) = &mut self.log {
            let written = log.close(now);
            self.tell(written);
        }
    }
}

/// A client's step, as `--debug` tells it.
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
