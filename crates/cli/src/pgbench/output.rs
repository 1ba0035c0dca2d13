//! Output of the drop-in's run: banner, lines on stderr, final report. `report::pgbench` makes the texts from the
//! record; their order is pgbench's.

use std::io;

use dropin::{ClientMessages, Level, Options, system_words};
use engine::{ClientEvent, End, Progress};
use output::{LogFault, LogOptions, tracers};
use report::pgbench::{Columns, Presentation, ProgressClock, ProgressMeter, final_report};
use results::{Record, unix_now};
use run::{Event, Finished, Keeper, RunError, Runner, StorePlaces};

use super::diagnostics::Diagnostics;
use crate::failure::Failure;
use crate::signals::Signals;
use crate::tracer::no_log;

/// Default prefix of log files.
const LOG_PREFIX: &str = "pgbench_log";

/// Output of a run as in pgbench.
pub(super) struct DropinOutput<'a> {
    diagnostics: &'a Diagnostics,
    options: Options,
    /// Created after the first second.
    meter: Option<ProgressMeter>,
    /// Messages that libpq prints when a client connects.
    password_file_warning: Option<String>,
}

impl<'a> DropinOutput<'a> {
    pub(super) fn new(diagnostics: &'a Diagnostics, options: Options) -> Self {
        Self { diagnostics, options, meter: None, password_file_warning: None }
    }

    /// Runs, and reports as pgbench does.
    pub(super) fn run(mut self, runner: Runner, signals: &Signals) -> Result<(), Failure> {
        let prepared = runner.prepare(signals, &mut |event| self.before(&event))?;
        let plan = prepared.plan();
        let options = &self.options;
        let columns = Columns::of(plan, options.failures_detailed);
        let logs = options.log.then(|| LogOptions {
            prefix: options.log_prefix.clone().unwrap_or_else(|| LOG_PREFIX.into()),
            sampling_rate: options.sampling_rate,
            aggregate_interval_s: options.aggregate_interval,
            failures_detailed: options.failures_detailed,
            compatibility: engine::Compatibility::Pgbench,
        });
        let messages = ClientMessages {
            max_tries: plan.max_tries,
            latency_limit: options.spec.latency_limit,
            verbose_errors: options.verbose_errors,
            debug: options.debug,
            password_file_warning: self.password_file_warning.clone(),
        };
        let messages = PrintedMessages { diagnostics: self.diagnostics.clone(), messages };
        let tracers = tracers(logs, plan, LogFault::default(), messages).map_err(no_log)?;
        // The clients connect now; with `-C` they connect later, and their tracer prints the messages.
        if !plan.reconnect {
            (0..plan.clients).for_each(|_| self.warn_of_password_file(self.password_file_warning.as_deref()));
        }
        let finished = prepared.run(signals, &*tracers, &mut |event| {
            if let Event::Second { progress, .. } = event {
                self.second(progress, columns);
            }
        })?;
        let result = self.conclude(&finished);
        if let Err(error) = store(&finished.record) {
            self.diagnostics.say(Level::Warning, format_args!("the run is not stored: {error}"));
        }
        result
    }

    /// Messages before the run begins.
    fn before(&mut self, event: &Event<'_>) {
        match event {
            // libpq looks for a password before it connects.
            Event::Connecting(target) => self.warn_of_password_file(target.password_file_warning.as_deref()),
            Event::Connected(session, target) => {
                self.password_file_warning.clone_from(&target.password_file_warning);
                self.diagnostics.print(&dropin::banner(session));
                let parameters = dropin::parameters_message(&self.options, session, target);
                self.diagnostics.say_all(parameters.as_slice());
            }
            Event::ScaleIgnored { scale, table, .. } => {
                self.diagnostics.say_all(&[dropin::scale_ignored(table, *scale)]);
            }
            Event::Vacuum(event) => self.diagnostics.say_all(&dropin::vacuum_messages(*event)),
            // pgbench has no such messages.
            Event::Warning(_)
            | Event::Verifying(_)
            | Event::Checking(_)
            | Event::Checked(_)
            | Event::Second { .. } => {}
        }
    }

    fn warn_of_password_file(&self, warning: Option<&str>) {
        warning.iter().for_each(|warning| self.diagnostics.write(&format!("{warning}\n")));
    }

    fn second(&mut self, progress: &Progress<'_>, columns: Columns) {
        let Some(every_s) = self.options.progress else { return };
        let meter = self.meter.get_or_insert_with(|| {
            let clock = match self.options.progress_timestamp {
                false => ProgressClock::SinceStart,
                true => ProgressClock::Unix { start: unix_now().saturating_sub(progress.elapsed) },
            };
            ProgressMeter::new(every_s, clock, columns)
        });
        if let Some(line) = meter.take(progress.elapsed, progress.interval) {
            self.diagnostics.write(&format!("{line}\n"));
        }
    }

    fn conclude(&self, Finished { record, outcome, .. }: &Finished) -> Result<(), Failure> {
        if let End::AbortedOnError { worker } = outcome.end {
            return Err(Failure::Aborted(format!("Run was aborted due to an error in thread {worker}")));
        }
        let presentation = Presentation {
            failures_detailed: self.options.failures_detailed,
            report_per_command: self.options.per_command,
            progress: self.options.progress.is_some(),
        };
        self.diagnostics.print(&final_report(record, &presentation));
        if outcome.aborted.is_empty() {
            return Ok(());
        }
        Err(Failure::Aborted("Run was aborted; the above results are incomplete.".to_owned()))
    }
}

/// Stores the run if `PGMETER_STORE` is set, without output.
fn store(record: &Record) -> Result<(), RunError> {
    match StorePlaces::named_by_variable(&server::Environment::of_process())? {
        None => Ok(()),
        Some(places) => Keeper::new(places).finish(record).map(drop),
    }
}

/// Messages about clients, printed on each worker's thread.
#[derive(Clone)]
struct PrintedMessages {
    diagnostics: Diagnostics,
    messages: ClientMessages,
}

impl output::ClientMessages for PrintedMessages {
    fn wants_steps(&self) -> bool {
        self.messages.debug
    }

    fn event(&self, event: &ClientEvent<'_>) {
        self.diagnostics.say_all(&self.messages.of(event));
    }

    fn reason(&self, error: &io::Error) -> String {
        system_words(error)
    }

    fn log_failed(&self, reason: &str) {
        self.diagnostics.error(format_args!("could not write to log file: {reason}"));
    }
}
