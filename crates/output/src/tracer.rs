//! The tracer of a worker: writes its log files and passes the events of its clients to the messages of a front end,
//! which formats and prints them. Called on the thread of the worker.

use std::cell::RefCell;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use engine::{ClientEvent, EndedTransaction, Tracer, WorkerIntro};
use results::Plan;
use stats::Timestamp;

use crate::log_files::{LogFiles, LogOptions, WorkerLog};

/// Creates the tracer of each worker.
pub type TracerMaker = Box<dyn Fn(WorkerIntro) -> Box<dyn Tracer>>;

/// Why log files are incomplete: the first error of any worker.
pub type LogFault = Arc<OnceLock<String>>;

/// A front end's messages about clients.
pub trait ClientMessages: Clone + Send + Sync + 'static {
    /// Whether each step of each client is a message.
    fn wants_steps(&self) -> bool {
        false
    }

    /// An event of a client.
    fn event(&self, event: &ClientEvent<'_>);

    /// The words for an error of a log file.
    fn reason(&self, error: &io::Error) -> String;

    /// A log file cannot be written; called once per run.
    fn log_failed(&self, reason: &str);
}

struct ClientTracer<M> {
    log: Option<WorkerLog>,
    messages: M,
}

/// Creates the log files, if requested.
///
/// # Errors
/// A log file cannot be created.
pub fn tracers<M: ClientMessages>(
    logs: Option<LogOptions>,
    plan: &Plan,
    fault: LogFault,
    messages: M,
) -> Result<TracerMaker, (PathBuf, io::Error)> {
    let on_log_error = {
        let messages = messages.clone();
        move |error: &io::Error| {
            let reason = messages.reason(error);
            if fault.set(reason.clone()).is_ok() {
                messages.log_failed(&reason);
            }
        }
    };
    let logs = logs.map(|options| LogFiles::create(options, plan, Arc::new(on_log_error))).transpose()?;
    let logs = RefCell::new(logs);
    Ok(Box::new(move |WorkerIntro { number, start, mut sampler, .. }| {
        let sampler = Box::new(move || sampler.next_f64());
        let log = logs.borrow_mut().as_mut().and_then(|logs| logs.of_worker(number, start, sampler));
        Box::new(ClientTracer { log, messages: messages.clone() })
    }))
}

/// A tracer without log files.
pub fn tracer_without_log<M: ClientMessages>(messages: M) -> Box<dyn Tracer> {
    Box::new(ClientTracer { log: None, messages })
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
