//! What a run of the drop-in looks like: the banner, the lines on stderr, the final report.
//! Texts are made by `report::pgbench` from the record; the order in which they come is pgbench's.

use std::cell::RefCell;

use connect::{Session, Target};
use dropin::{Level, version};
use engine::{End, Progress};
use report::pgbench::{Columns, Presentation, ProgressClock, ProgressMeter, final_report};
use results::{Plan, unix_now};
use run::{Event, Finished, Runner, VacuumEvent};
use workload::{WorkloadError, tpcb};

use super::diagnostics::Diagnostics;
use super::sessions;
use super::talk::Talk;
use crate::failure::Failure;
use crate::logs::{LogOptions, Logs};
use crate::signals::Signals;
use crate::watcher::TracerMaker;

/// What is to be shown beyond the run itself.
#[derive(Clone, Debug)]
pub(super) struct Wishes {
    pub(super) presentation: Presentation,
    /// Seconds between progress lines.
    pub(super) progress_s: Option<u32>,
    pub(super) progress_timestamp: bool,
    pub(super) verbose_errors: bool,
    /// What goes on is told step by step.
    pub(super) debug: Option<Debug>,
    pub(super) logs: Option<LogOptions>,
}

/// What `--debug` tells of the plan.
#[derive(Clone, Debug)]
pub(super) struct Debug {
    pub(super) clients: u32,
    /// `nxacts: 10` or `duration: 60`.
    pub(super) limit: String,
}

/// pgbench's way of showing a run.
pub(super) struct Appearance<'a> {
    diagnostics: &'a Diagnostics,
    wishes: Wishes,
    /// Made when the first second has passed.
    meter: Option<ProgressMeter>,
    /// What libpq would say whenever a client connects.
    connecting: Option<String>,
}

impl<'a> Appearance<'a> {
    pub(super) fn new(diagnostics: &'a Diagnostics, wishes: Wishes) -> Self {
        Self { diagnostics, wishes, meter: None, connecting: None }
    }
}

impl Appearance<'_> {
    /// Runs, and reports as pgbench does.
    pub(super) fn run(mut self, runner: Runner, signals: &Signals) -> Result<(), Failure> {
        let prepared = runner.prepare(signals, &mut |event| self.before(&event))?;
        let plan = prepared.plan();
        let columns = Columns::of(plan, self.wishes.presentation.failures_detailed);
        let tracers = self.tracers(plan)?;
        // The clients connect now; with `-C` they do so later, when their tracer is there.
        if let (Some(words), false) = (&self.connecting, plan.reconnect) {
            (0..plan.clients).for_each(|_| self.diagnostics.write(&format!("{words}\n")));
        }
        let finished = prepared.run(signals, &*tracers, &mut |event| {
            if let Event::Second { progress, .. } = event {
                self.second(progress, columns);
            }
        })?;
        self.conclude(&finished)
    }

    /// What is told before the run begins.
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
        self.connecting.clone_from(&target.password_file_warning);
        let server = session.parameter("server_version").unwrap_or_default();
        self.diagnostics.print(&format!("pgbench ({}, server {server})\n", version()));
        if let Some(Debug { clients, limit }) = &self.wishes.debug {
            let host = run::host(session.address());
            let port = target.host_of(session.address()).port;
            let sentence = format!(
                "pghost: {host} pgport: {port} nclients: {clients} {limit} dbName: {}",
                target.database
            );
            self.diagnostics.say(Level::Info, sentence);
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

    fn tracers(&self, plan: &Plan) -> Result<TracerMaker, Failure> {
        let logs = self.wishes.logs.clone().map(|options| Logs::open(options, plan)).transpose()?;
        let logs = RefCell::new(logs);
        let talk = Talk::new(
            self.diagnostics.clone(),
            plan,
            self.wishes.verbose_errors,
            self.wishes.debug.is_some(),
        )
        .with_warning(self.connecting.clone());
        Ok(Box::new(move |intro| {
            let log = logs.borrow_mut().as_mut().and_then(|logs| logs.of_worker(&intro));
            Box::new(talk.with_log(log))
        }))
    }

    fn second(&mut self, progress: &Progress<'_>, columns: Columns) {
        let Some(every_s) = self.wishes.progress_s else { return };
        let meter = self.meter.get_or_insert_with(|| {
            let clock = match self.wishes.progress_timestamp {
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
        self.diagnostics.print(&final_report(record, &self.wishes.presentation));
        if outcome.aborted.is_empty() {
            return Ok(());
        }
        Err(Failure::Aborted("Run was aborted; the above results are incomplete.".to_owned()))
    }
}
