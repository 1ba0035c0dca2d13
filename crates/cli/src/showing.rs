//! How `pgmeter bench`, `quickstart` and trials show a run: a view or lines while it goes on, the report, and the record
//! as a file. The drop-in for pgbench has its own way, in `pgbench::appearance`.

use std::cell::RefCell;

use engine::End;
use results::{Plan, Record};
use run::{Circumstances, Event, Finished, Keeper, Kept, Runner, VacuumEvent};

use crate::failure::Failure;
use crate::listener::circumstances;
use crate::live::Live;
use crate::logs::{LogFault, LogOptions, Logs};
use crate::signals::Signals;
use crate::storing::StoreArguments;
use crate::terminal::Terminal;
use crate::watcher::{TracerMaker, Watcher};

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
        let keeper = Keeper::new(places.places());
        let log_fault = LogFault::default();
        Self { terminal, live, clients, keeper, watching, log_fault, shown: None }
    }

    /// The record of the run, once it is over.
    pub(crate) fn take_shown(&mut self) -> Option<Shown> {
        self.shown.take()
    }

    /// Runs; the report and the record follow.
    pub(crate) fn run(&mut self, runner: Runner, signals: &Signals) -> Result<(), Failure> {
        let terminal = self.terminal;
        let circumstances = Circumstances {
            command_line: Some(run::command_line(runner.drawn_seed())),
            records: Some(self.keeper.records()),
            ..circumstances()
        };
        let prepared = runner.under(circumstances).prepare(signals, &mut |event| warn(&event, terminal))?;
        self.live.begin(prepared.plan());
        let tracers = self.tracers(prepared.plan())?;
        self.keeper.begin(&prepared)?;
        let live = &mut self.live;
        let finished = prepared.run(signals, &*tracers, &mut |event| match event {
            Event::Second { progress, waits } => live.show(progress, waits),
            Event::Checking(number) => {
                live.end();
                let noun = if number == 1 { "check" } else { "checks" };
                terminal.say(format_args!("executing {number} {noun} of the workload …"));
            }
            _ => {}
        });
        let finished = finished.inspect_err(|error| self.keeper.break_off(error))?;
        self.conclude(finished)
    }

    fn tracers(&mut self, plan: &Plan) -> Result<TracerMaker, Failure> {
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

    /// An aborted or interrupted run is reported and recorded too, and then is a failure.
    fn conclude(&mut self, Finished { record, outcome, checked }: Finished) -> Result<(), Failure> {
        let terminal = self.terminal;
        self.live.end();
        // Kept before anything is shown: a terminal that is stopped must not keep the record from being written.
        let kept = self.keeper.finish(&record);
        terminal.say("");
        terminal.print(&report::text(&record, terminal.style()));
        if self.watching.commands {
            terminal.print(&report::command_table(&record, terminal.style()));
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
                None => Ok(checked?),
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

/// What is to be said of a run before it begins.
pub(crate) fn warn(event: &Event<'_>, terminal: &Terminal) {
    match event {
        Event::ScaleIgnored { asked, scale, table } if asked != scale => {
            terminal.warn(format_args!("scale option ignored, using count from {table} table ({scale})"));
        }
        Event::Vacuum(VacuumEvent::Failed(failure)) => {
            terminal.warn(format_args!("{failure} (the run goes on)"));
        }
        _ => {}
    }
}
