//! How `pgmeter bench` and `quickstart` show a run: lines while it goes on, the report, and the record as a file.
//! The drop-in for pgbench has its own way, in `pgbench::benchmark`.

use std::cell::RefCell;
use std::path::PathBuf;

use connect::{Session, Target};
use engine::{End, Outcome, Progress};
use results::{Environment, Plan, Record, UtcTime, WaitMean};

use crate::failure::Failure;
use crate::job::{Showing, Vacuuming, Witnesses};
use crate::live::Live;
use crate::logs::{LogFault, LogOptions, Logs};
use crate::password::connect_asking;
use crate::signals::Signals;
use crate::storing::{Keeper, Kept, StoreArguments};
use crate::terminal::Terminal;
use crate::watcher::Watcher;

/// Reasons of aborted clients that are shown one by one.
const REASONS_SHOWN_MAX: usize = 3;

/// What is looked at beyond the run as a whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watching {
    pub(crate) logs: Option<LogOptions>,
    pub(crate) verbose_errors: bool,
    /// Whether the report has a table of the single commands.
    pub(crate) commands: bool,
}

/// pgmeter's own way of showing a run.
pub(crate) struct OwnShowing<'a> {
    terminal: &'a Terminal,
    live: Live<'a>,
    clients: u32,
    keeper: Keeper,
    watching: Watching,
    log_fault: LogFault,
    /// What was measured, for whoever shows it again.
    shown: Option<Shown>,
}

/// A run that was measured, and what it is called in the store.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) record: Record,
    pub(crate) name: String,
}

impl<'a> OwnShowing<'a> {
    pub(crate) fn new(
        terminal: &'a Terminal,
        live: Live<'a>,
        clients: u32,
        places: StoreArguments,
        watching: Watching,
    ) -> Self {
        let keeper = Keeper::new(places);
        Self { terminal, live, clients, keeper, watching, log_fault: LogFault::default(), shown: None }
    }

    /// The record of the run, once it is over.
    pub(crate) fn take_shown(&mut self) -> Option<Shown> {
        self.shown.take()
    }
}

impl OwnShowing<'_> {
    /// The run has its row in the store; its number.
    pub(crate) fn keep_from_now_on(
        &mut self,
        started_at: UtcTime,
        plan: &Plan,
        environment: &Environment,
    ) -> Result<i64, Failure> {
        self.keeper.begin(started_at, plan, environment)
    }

    /// The run is over: it is kept and not shown; its number.
    pub(crate) fn keep(&mut self, record: &Record) -> Result<i64, Failure> {
        self.live.end();
        Ok(self.keeper.finish(record)?.run)
    }
}

impl Showing for OwnShowing<'_> {
    fn connect(&mut self, target: &mut Target, signals: &Signals) -> Result<Session, Failure> {
        connect_asking(target, signals)
    }

    fn scale_ignored(&mut self, asked: u32, scale: u32) {
        if asked != scale {
            self.terminal.warn(format_args!(
                "scale option ignored, using count from pgbench_branches table ({scale})"
            ));
        }
    }

    fn vacuuming(&mut self, what: Vacuuming<'_>) {
        if let Vacuuming::Failed(failure) = what {
            self.terminal.warn(format_args!("{failure} (the run goes on)"));
        }
    }

    fn witnesses(&mut self, plan: &Plan) -> Result<Witnesses, Failure> {
        self.live.begin(plan);
        let logs = self.watching.logs.clone().map(|options| Logs::open(options, plan)).transpose()?;
        if let Some(logs) = &logs {
            self.log_fault = logs.fault();
        }
        let logs = RefCell::new(logs);
        let verbose_errors = self.watching.verbose_errors;
        Ok(Box::new(move |intro| {
            let log = logs.borrow_mut().as_mut().and_then(|logs| logs.of_worker(&intro));
            Box::new(Watcher { log, verbose_errors })
        }))
    }

    fn records(&self) -> Option<PathBuf> {
        Some(self.keeper.records())
    }

    fn begins(&mut self, started_at: UtcTime, plan: &Plan, environment: &Environment) -> Result<(), Failure> {
        self.keeper.begin(started_at, plan, environment).map(drop)
    }

    fn breaks_off(&mut self, failure: &Failure) {
        self.keeper.break_off(failure);
    }

    fn second(&mut self, progress: &Progress<'_>, waits: &[WaitMean]) {
        self.live.show(progress, waits);
    }

    fn take_intervals(&mut self) -> Vec<results::Interval> {
        self.live.take_intervals()
    }

    /// An aborted or interrupted run is reported and recorded too, and then is a failure.
    fn conclude(&mut self, record: &Record, outcome: &Outcome) -> Result<(), Failure> {
        let terminal = self.terminal;
        self.live.end();
        // Kept before anything is shown: a terminal that is stopped must not keep the record from being written.
        let kept = self.keeper.finish(record);
        terminal.say("");
        terminal.print(&report::text(record, terminal.style()));
        if self.watching.commands {
            terminal.print(&report::command_table(record, terminal.style()));
        }
        let Kept { run, record: path } = kept?;
        terminal.print(&format!("\n  run {run:<11} {}\n", path.display()));
        self.shown = Some(Shown { record: record.clone(), name: format!("run {run}") });
        if record.summary.counts.scheduled == 0 {
            terminal
                .warn("no transaction was scheduled in the measured time; run longer, or at a higher rate");
        }
        for aborted in outcome.aborted.iter().take(REASONS_SHOWN_MAX) {
            terminal.complain(aborted);
        }
        match outcome.end {
            End::Interrupted => {
                Err(Failure::Interrupted("interrupted; the results above are of the time until then"))
            }
            End::CutOff(cut_off) if outcome.aborted.is_empty() => Err(Failure::Aborted(cut_off.to_string())),
            _ if outcome.aborted.is_empty() => match self.log_fault.get() {
                None => Ok(()),
                Some(reason) => Err(Failure::LogCut(reason.to_owned())),
            },
            _ => Err(Failure::Aborted(format!(
                "{} of {} clients were aborted; the above results are incomplete",
                outcome.aborted.len(),
                self.clients
            ))),
        }
    }
}
