//! Receives single transactions and events of clients during a run: writes log files and prints messages, which each
//! front end formats in its own way. One tracer per worker, called on its thread.

use std::cell::RefCell;
use std::io;
use std::sync::{Arc, OnceLock};

use dropin::system_words;
use engine::{ClientEvent, EndedTransaction, Tracer, WorkerIntro};
use report::pgbench::{LogFiles, LogOptions, WorkerLog};
use results::Plan;
use stats::Timestamp;

use crate::failure::Failure;
use crate::terminal;

/// Creates the tracer of each worker.
pub(crate) type TracerMaker = Box<dyn Fn(WorkerIntro) -> Box<dyn Tracer>>;

/// Why log files are incomplete: the first error of any worker.
pub(crate) type LogFault = Arc<OnceLock<String>>;

/// A front end's messages about clients.
pub(crate) trait ClientMessages: Clone + Send + Sync + 'static {
    /// Whether each step of each client is printed.
    fn wants_steps(&self) -> bool {
        false
    }

    fn event(&self, event: &ClientEvent<'_>);

    /// A log file cannot be written; printed once per run.
    fn log_failed(&self, reason: &str);
}

struct ClientTracer<M> {
    log: Option<WorkerLog>,
    messages: M,
}

/// Creates the log files, if requested.
pub(crate) fn tracers<M: ClientMessages>(
    logs: Option<LogOptions>,
    plan: &Plan,
    fault: LogFault,
    messages: M,
) -> Result<TracerMaker, Failure> {
    let on_log_error = {
        let messages = messages.clone();
        move |error: &io::Error| {
            let reason = system_words(error);
            if fault.set(reason.clone()).is_ok() {
                messages.log_failed(&reason);
            }
        }
    };
    let logs = logs.map(|options| LogFiles::create(options, plan, Arc::new(on_log_error))).transpose();
    let logs = RefCell::new(logs.map_err(|(path, error)| Failure::LogFile {
        path: path.display().to_string(),
        reason: system_words(&error),
    })?);
    Ok(Box::new(move |WorkerIntro { number, start, mut sampler, .. }| {
        let sampler = Box::new(move || sampler.next_f64());
        let log = logs.borrow_mut().as_mut().and_then(|logs| logs.of_worker(number, start, sampler));
        Box::new(ClientTracer { log, messages: messages.clone() })
    }))
}

/// The tracer of a trial's worker.
pub(crate) fn of_trial(_: WorkerIntro) -> Box<dyn Tracer> {
    Box::new(ClientTracer { log: None, messages: RunMessages { verbose_errors: false } })
}

impl<M: ClientMessages> Tracer for ClientTracer<M> {
    fn wants_transactions(&self) -> bool {
        self.log.is_some()
    }

    fn wants_steps(&self) -> bool {
        self.messages.wants_steps()
    }

    fn transaction(&mut self, ended: &EndedTransaction<'_>) {
        if let Some(log) = &mut self.log {
            log.transaction(ended.client, ended.number, ended.sample);
        }
    }

    fn on_event(&mut self, event: &ClientEvent<'_>) {
        self.messages.event(event);
    }

    fn end(&mut self, now: Timestamp) {
        if let Some(log) = &mut self.log {
            log.close(now);
        }
    }
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

    fn log_failed(&self, reason: &str) {
        say(&format!("error: cannot write a log file ({reason}), so it ends early; the run continues"));
    }
}

/// Prints a line on stderr; lines of different workers are never mixed.
fn say(text: &str) {
    terminal::write_message(&format!("pgmeter: {text}\n"));
}
