//! What a run of the drop-in looks like: the banner, the lines on stderr, the final report.
//! Texts are made by `report::pgbench` from the record; the order in which they come is pgbench's.

use std::cell::RefCell;

use connect::{Session, Target};
use engine::{End, Outcome, Progress};
use report::pgbench::{Columns, Presentation, ProgressClock, ProgressMeter, final_report};
use results::{Environment, Plan, Record, UtcTime, WaitMean, unix_now};
use workload::WorkloadError;

use super::diagnostics::{Diagnostics, Level};
use super::help::version;
use super::sessions;
use super::talk::Talk;
use crate::describing;
use crate::failure::Failure;
use crate::job::{Showing, Vacuuming, Witnesses};
use crate::logs::{LogOptions, Logs};
use crate::password::connect_asking;
use crate::signals::Signals;

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
    columns: Option<Columns>,
    /// Made when the first second has passed.
    meter: Option<ProgressMeter>,
    /// What libpq would say whenever a client connects.
    connecting: Option<String>,
}

impl<'a> Appearance<'a> {
    pub(super) fn new(diagnostics: &'a Diagnostics, wishes: Wishes) -> Self {
        Self { diagnostics, wishes, columns: None, meter: None, connecting: None }
    }
}

impl Showing for Appearance<'_> {
    fn connect(&mut self, target: &mut Target, signals: &Signals) -> Result<Session, Failure> {
        sessions::warn(target, self.diagnostics);
        let session = connect_asking(target, signals)?;
        self.connecting.clone_from(&target.password_file_warning);
        let server = session.parameter("server_version").unwrap_or_default();
        self.diagnostics.print(&format!("pgbench ({}, server {server})\n", version()));
        if let Some(Debug { clients, limit }) = &self.wishes.debug {
            let host = describing::host(session.address());
            let port = target.host_of(session.address()).port;
            let sentence = format!(
                "pghost: {host} pgport: {port} nclients: {clients} {limit} dbName: {}",
                target.database
            );
            self.diagnostics.say(Level::Info, sentence);
        }
        Ok(session)
    }

    fn scale_ignored(&mut self, _asked: u32, scale: u32) {
        let sentence = format!("scale option ignored, using count from pgbench_branches table ({scale})");
        self.diagnostics.say(Level::Warning, sentence);
    }

    fn vacuuming(&mut self, what: Vacuuming<'_>) {
        match what {
            Vacuuming::SmallTables => self.diagnostics.write("starting vacuum..."),
            Vacuuming::Accounts => self.diagnostics.write("starting vacuum pgbench_accounts..."),
            Vacuuming::Done => self.diagnostics.write("end.\n"),
            Vacuuming::Failed(failure) => {
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

    fn witnesses(&mut self, plan: &Plan) -> Result<Witnesses, Failure> {
        self.columns = Some(Columns::of(plan, self.wishes.presentation.failures_detailed));
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

    /// The clients connect now; with `-C` they do so later, before the eyes of their witness.
    fn begins(&mut self, _: UtcTime, plan: &Plan, _: &Environment) -> Result<(), Failure> {
        if let (Some(words), false) = (&self.connecting, plan.reconnect) {
            (0..plan.clients).for_each(|_| self.diagnostics.write(&format!("{words}\n")));
        }
        Ok(())
    }

    fn second(&mut self, progress: &Progress<'_>, _waits: &[WaitMean]) {
        let (Some(every_s), Some(columns)) = (self.wishes.progress_s, self.columns) else { return };
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

    fn take_intervals(&mut self) -> Vec<results::Interval> {
        Vec::new()
    }

    fn conclude(&mut self, record: &Record, outcome: &Outcome) -> Result<(), Failure> {
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
