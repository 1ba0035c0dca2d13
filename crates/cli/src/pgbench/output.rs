//! Output of the drop-in's run: banner, lines on stderr, final report. `report::pgbench` makes the texts from the
//! record; their order is pgbench's.

use connect::{Session, Target};
use dropin::{Level, Options, version};
use engine::{End, Limit, Progress};
use report::pgbench::{Columns, LogOptions, Presentation, ProgressClock, ProgressMeter, final_report};
use results::unix_now;
use run::{Event, Finished, Runner, VacuumEvent};
use workload::{WorkloadError, tpcb};

use super::client_messages::PgbenchMessages;
use super::diagnostics::Diagnostics;
use super::sessions;
use crate::failure::Failure;
use crate::signals::Signals;
use crate::tracer::{LogFault, tracers};

/// Default prefix of log files.
const LOG_PREFIX: &str = "pgbench_log";

/// Output of a run as in pgbench.
pub(super) struct Output<'a> {
    diagnostics: &'a Diagnostics,
    options: Options,
    /// Created after the first second.
    meter: Option<ProgressMeter>,
    /// Messages that libpq prints when a client connects.
    password_file_warning: Option<String>,
}

impl<'a> Output<'a> {
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
            writes_last_interval: false,
        });
        let messages = PgbenchMessages {
            diagnostics: self.diagnostics.clone(),
            max_tries: plan.max_tries,
            latency_limit: options.spec.latency_limit,
            verbose_errors: options.verbose_errors,
            debug: options.debug,
            password_file_warning: self.password_file_warning.clone(),
        };
        let tracers = tracers(logs, plan, LogFault::default(), messages)?;
        // The clients connect now; with `-C` they connect later, and their tracer prints the messages.
        if let (Some(warning), false) = (&self.password_file_warning, plan.reconnect) {
            (0..plan.clients).for_each(|_| self.diagnostics.write(&format!("{warning}\n")));
        }
        let finished = prepared.run(signals, &*tracers, &mut |event| {
            if let Event::Second { progress, .. } = event {
                self.second(progress, columns);
            }
        })?;
        self.conclude(&finished)
    }

    /// Messages before the run begins.
    fn before(&mut self, event: &Event<'_>) {
        match event {
            Event::Connecting(target) => sessions::warn(target, self.diagnostics),
            Event::Connected(session, target) => self.connected(session, target),
            Event::ScaleIgnored { scale, table, .. } => {
                let sentence = format!("scale option ignored, using count from {table} table ({scale})");
                self.diagnostics.say(Level::Warning, sentence);
            }
            Event::Vacuum(event) => self.vacuum(*event),
            Event::Checking(_) | Event::Second { .. } => {}
        }
    }

    fn connected(&mut self, session: &Session, target: &Target) {
        self.password_file_warning.clone_from(&target.password_file_warning);
        let server = session.parameter("server_version").unwrap_or_default();
        self.diagnostics.print(&format!("pgbench ({}, server {server})\n", version()));
        if self.options.debug {
            let host = run::host(session.address());
            let port = target.host_of(session.address()).port;
            let (clients, database) = (self.options.spec.clients, &target.database);
            let limit = match self.options.spec.limit {
                Limit::Duration(time) => format!("duration: {}", time.as_secs()),
                Limit::TransactionsPerClient(each) => format!("nxacts: {each}"),
            };
            self.diagnostics.say(
                Level::Info,
                format_args!("pghost: {host} pgport: {port} nclients: {clients} {limit} dbName: {database}"),
            );
        }
    }

    fn vacuum(&self, event: VacuumEvent<'_>) {
        match event {
            VacuumEvent::SmallTables => self.diagnostics.write("starting vacuum..."),
            VacuumEvent::LargeTables => {
                self.diagnostics.write(&format!("starting vacuum {}...", tpcb::ACCOUNTS_NAME));
            }
            VacuumEvent::Done => self.diagnostics.write("end.\n"),
            VacuumEvent::Failed(failure) => {
                match failure {
                    WorkloadError::Query { sql, source } => {
                        self.diagnostics.error(sessions::words(source, Some(sql)));
                    }
                    other => self.diagnostics.error(other),
                }
                self.diagnostics.say(Level::Detail, "(ignoring this error and continuing anyway)");
            }
        }
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
