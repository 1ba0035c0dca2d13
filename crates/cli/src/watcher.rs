//! What `pgmeter bench` tells of single clients while a run goes on, and its log files. One for each worker, called
//! on its thread; clients that cannot go on are told at the end, by `showing`.

use engine::{ClientEvent, EndedTransaction, Tracer, WorkerIntro};
use stats::Timestamp;

use crate::logs::WorkerLog;
use crate::terminal;

/// Makes the tracer of each worker.
pub(crate) type TracerMaker = Box<dyn Fn(WorkerIntro) -> Box<dyn Tracer>>;

/// See the module.
pub(crate) struct Watcher {
    pub(crate) log: Option<WorkerLog>,
    pub(crate) verbose_errors: bool,
}

impl Tracer for Watcher {
    fn wants_transactions(&self) -> bool {
        self.log.is_some()
    }

    fn transaction(&mut self, ended: &EndedTransaction<'_>) {
        if let Some(log) = &mut self.log {
            tell(log.transaction(ended));
        }
    }

    fn on_event(&mut self, event: &ClientEvent<'_>) {
        match event {
            ClientEvent::Debugged { client, script, command, value } => {
                say(&format!("debug: client {client}, script {script}, command {command}: {value}"));
            }
            ClientEvent::Notice { notice, .. } => say(&notice.report_notice(None)),
            ClientEvent::Failed { client, script, command, error, statement } if self.verbose_errors => {
                let words = error.report(*statement);
                say(&format!(
                    "client {client} got an error in command {command} of script {script}: {words}"
                ));
            }
            ClientEvent::Retried { client, tries, .. } if self.verbose_errors => {
                say(&format!("client {client} tries the transaction again after {}", counted_tries(*tries)));
            }
            ClientEvent::GaveUp { client, tries, .. } if self.verbose_errors => {
                say(&format!("client {client} gives the transaction up after {}", counted_tries(*tries)));
            }
            _ => {}
        }
    }

    fn end(&mut self, now: Timestamp) {
        if let Some(log) = &mut self.log {
            tell(log.close(now));
        }
    }
}

fn counted_tries(tries: u32) -> String {
    if tries == 1 { "1 try".to_owned() } else { format!("{tries} tries") }
}

fn tell(written: Result<(), String>) {
    if let Err(reason) = written {
        say(&format!("error: a log file cannot be written ({reason}) and ends early; the run goes on"));
    }
}

/// A line on stderr; whole, whichever worker says it.
fn say(text: &str) {
    terminal::talk(&format!("pgmeter: {text}\n"));
}
