//! Messages about clients during a run, in pgbench's words and order.
//! The program prints them on each worker's thread.

use std::fmt::Display;
use std::time::Duration;

use engine::{ClientEvent, ClientStep};
use script::{Command, CommandKind};

use crate::abort::abort_messages;
use crate::message::{Level, Message};

/// pgbench's messages about clients.
#[derive(Clone, Debug)]
pub struct ClientMessages {
    /// Maximum tries; `None`: no limit.
    pub max_tries: Option<u32>,
    /// The latency limit.
    pub latency_limit: Option<Duration>,
    /// Whether failed and repeated transactions have messages.
    pub verbose_errors: bool,
    /// Whether each step of each client has a message.
    pub debug: bool,
    /// The message that libpq prints when it connects.
    pub password_file_warning: Option<String>,
}

impl ClientMessages {
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

    /// The messages about an event.
    pub fn of(&self, event: &ClientEvent<'_>) -> Vec<Message> {
        match event {
            ClientEvent::Connects { .. } => self.password_file_warning.iter().map(Message::line).collect(),
            ClientEvent::Aborted(aborted) => {
                abort_messages(aborted).into_iter().map(|text| Message::new(Level::Error, text)).collect()
            }
            ClientEvent::Failed { client, script, command, error, statement } if self.verbose_errors => {
                let words = error.report(*statement);
                info(format_args!(
                    "client {client} got an error in command {command} (SQL) of script {script}; {words}"
                ))
            }
            ClientEvent::Retried { client, tries, elapsed } if self.verbose_errors => {
                let tries = self.tries(*tries, *elapsed);
                info(format_args!("client {client} repeats the transaction after the error {tries}"))
            }
            ClientEvent::GaveUp { client, tries, elapsed } if self.verbose_errors => {
                let tries = self.tries(*tries, *elapsed);
                info(format_args!("client {client} ends the failed transaction {tries}"))
            }
            ClientEvent::Failed { .. } | ClientEvent::Retried { .. } | ClientEvent::GaveUp { .. } => {
                Vec::new()
            }
            ClientEvent::Unprepared { error, statement, .. } => {
                vec![Message::new(Level::Error, error.report(Some(statement)))]
            }
            ClientEvent::Debugged { script, command, value, .. } => {
                vec![Message::line(format_args!("debug(script={script},command={}): {value}", command + 1))]
            }
            ClientEvent::Stepped { client, what } => {
                info(format_args!("client {client} {}", step_text(what)))
            }
            ClientEvent::Notice { notice, .. } => vec![Message::line(notice.report_notice(None))],
        }
    }
}

fn info(text: impl Display) -> Vec<Message> {
    vec![Message::new(Level::Info, text)]
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
        CommandKind::Set(_) | CommandKind::SetArray(_) | CommandKind::SetString(_) => 2,
        CommandKind::If(_) | CommandKind::Elif(_) => 1,
        _ => usize::MAX,
    };
    words.take(count).collect::<Vec<_>>().join(" ")
}
