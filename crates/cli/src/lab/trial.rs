//! One trial: the run that it is, kept like every other, and the line that says how it went.
//! Which trial, and when, is `campaign`'s affair; on what, `stage`'s.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use ::lab::{Cell, Length, LoadSpec, ProtocolChoice, ScriptChoice, ScriptName, Workload};
use connect::{Session, Target};
use engine::{Compatibility, Grace, Limit, Outcome, Progress, Protocol};
use results::{Environment, ObserveLevel, Plan, Record, Status, Store, TrialFigures, UtcTime, WaitMean};

use super::campaign::text_of;
use super::network::{self, RunningRelay};
use super::stage::Ready;
use crate::event_loop;
use crate::failure::Failure;
use crate::introspection;
use crate::job::{Job, Showing, Vacuum, Vacuuming, Witnesses};
use crate::live::{Live, ProgressStyle};
use crate::mix::{Mix, ScriptText};
use crate::showing::{OwnShowing, Watching};
use crate::signals::Signals;
use crate::storing::StoreArguments;
use crate::terminal::Terminal;

/// Without a transaction that ends for so long, a trial fails: the server is silent, or a lock is held elsewhere.
const SILENCE_LIMIT: Duration = Duration::from_secs(600);

/// A trial that began in time and takes longer than was forecast may exceed the time budget by this much.
pub(super) const BUDGET_GRACE: Duration = Duration::from_secs(10);

/// A run ends itself by then, and requests to cancel too: for what comes before and after it.
pub(super) const RUN_MARGIN: Duration = Duration::from_secs(15);

/// A trial that came to its end.
pub(super) struct Finished {
    /// Its run; a trial of steps has none.
    pub(super) run: Option<i64>,
    /// What it found, if it was one of load.
    pub(super) figures: Option<TrialFigures>,
    /// How it went, in a line.
    pub(super) line: String,
}

/// Where it is watched.
pub(super) struct Watched<'a> {
    pub(super) terminal: &'a Terminal,
    /// Lines that stand above its view.
    pub(super) above: Vec<String>,
    /// What is left of the time budget.
    pub(super) budget_left: Option<Duration>,
}

/// Runs one trial of a cell.
pub(super) fn run(
    cell: &Cell,
    seed: u64,
    ready: Ready,
    trial: i64,
    places: &StoreArguments,
    Watched { terminal, above, budget_left }: Watched<'_>,
    signals: &Signals,
) -> Result<Finished, Failure> {
    let load = &cell.configuration.load;
    let style = if terminal.can_draw() { ProgressStyle::View } else { ProgressStyle::Nothing };
    let live = Live::new(terminal, style, None).below(above);
    let own = OwnShowing::new(terminal, live, load.clients, places.clone(), Watching::default());
    let Ready { target, relay } = ready;
    let mut showing = TrialShowing { own, places, trial, relay, finished: None };
    let relay_delay = showing.relay.as_ref().map(|relay| relay.network.delay);
    let deadline = budget_left.map(|left| left + BUDGET_GRACE);
    let job = Job { relay_delay, deadline, ..job(cell, load, seed, target)? };
    job.run(&mut showing, signals)?;
    showing.finished.ok_or(Failure::Interrupted("interrupted; the trial was broken off"))
}

/// Whether the scripts of all cells can be understood.
pub(super) fn check(cells: &[Cell]) -> Result<(), Failure> {
    let mut seen: Vec<&[ScriptChoice]> = Vec::new();
    for Cell { configuration, .. } in cells.iter().filter(|cell| cell.configuration.steps.is_empty()) {
        let scripts = configuration.load.scripts.as_slice();
        if !seen.contains(&scripts) {
            mix(scripts)?;
            seen.push(scripts);
        }
    }
    Ok(())
}

fn mix(scripts: &[ScriptChoice]) -> Result<Mix, Failure> {
    let texts = scripts.iter().map(|choice| match &choice.script {
        ScriptName::Builtin(name) => ScriptText::builtin(name, choice.weight),
        ScriptName::File(path) => {
            Ok(ScriptText::of_file(path.display().to_string(), text_of(path)?.into_bytes(), choice.weight))
        }
    });
    Mix::parse(texts.collect::<Result<_, Failure>>()?)
}

pub(super) fn job(cell: &Cell, load: &LoadSpec, seed: u64, target: Target) -> Result<Job, Failure> {
    let data = &cell.configuration.data;
    let vacuum = data.vacuum && data.workload == Workload::Tpcb;
    Ok(Job {
        target,
        targets: Vec::new(),
        mix: mix(&load.scripts)?,
        variables: load.variables.clone().into_iter().collect(),
        scale: Some(cell.configuration.data.scale),
        clients: load.clients,
        workers: load.threads,
        protocol: match load.protocol {
            ProtocolChoice::Simple => Protocol::Simple,
            ProtocolChoice::Extended => Protocol::Extended,
            ProtocolChoice::Prepared => Protocol::Prepared,
        },
        limit: match load.length {
            Length::Time(time) => Limit::Duration(time),
            Length::Transactions(each) => Limit::TransactionsPerClient(each),
        },
        grace: load.grace.map_or(Grace::Automatic, Grace::Fixed),
        silence_limit: Some(SILENCE_LIMIT),
        deadline: None,
        until: None,
        warmup_s: load.warmup.as_secs_f64(),
        rate_per_s: load.rate_tps,
        seed: Some(seed),
        latency_limit: load.latency_limit,
        reconnect: load.reconnect,
        max_tries: NonZeroU32::new(load.max_tries),
        continue_on_error: false,
        exit_on_abort: true,
        manner: Compatibility::Pgmeter,
        event_loop: event_loop::of_environment()?,
        calibrations: introspection::calibrations(),
        vacuum: if vacuum { Vacuum::SmallTables } else { Vacuum::Nothing },
        asks_settings: true,
        observe: ObserveLevel::Light,
        relay_delay: None,
        is_whole_command: false,
    })
}

/// Keeps the run as `bench` does, says less, and ties it to its trial.
struct TrialShowing<'a> {
    own: OwnShowing<'a>,
    places: &'a StoreArguments,
    trial: i64,
    relay: Option<Rc<RunningRelay>>,
    finished: Option<Finished>,
}

impl TrialShowing<'_> {
    /// What passes the relay before it is measured, is not counted.
    fn forget_what_passed(&self) {
        // One that cannot be asked now cannot be asked at the end either, which is told then.
        let _ = self.relay.as_ref().map(|relay| relay.passed());
    }
}

impl Showing for TrialShowing<'_> {
    fn connect(&mut self, target: &mut Target, signals: &Signals) -> Result<Session, Failure> {
        self.own.connect(target, signals)
    }

    fn scale_ignored(&mut self, _asked: u32, _scale: u32) {}

    fn vacuuming(&mut self, what: Vacuuming<'_>) {
        self.own.vacuuming(what);
    }

    fn witnesses(&mut self, plan: &Plan) -> Result<Witnesses, Failure> {
        self.own.witnesses(plan)
    }

    fn records(&self) -> Option<PathBuf> {
        self.own.records()
    }

    fn begins(&mut self, started_at: UtcTime, plan: &Plan, environment: &Environment) -> Result<(), Failure> {
        self.forget_what_passed();
        let run = self.own.keep_from_now_on(started_at, plan, environment)?;
        Ok(Store::create(&self.places.store())?.begin_trial(self.trial, run)?)
    }

    fn breaks_off(&mut self, failure: &Failure) {
        self.own.breaks_off(failure);
    }

    fn second(&mut self, progress: &Progress<'_>, waits: &[WaitMean]) {
        if progress.warmup {
            self.forget_what_passed();
        }
        self.own.second(progress, waits);
    }

    fn take_intervals(&mut self) -> Vec<results::Interval> {
        self.own.take_intervals()
    }

    fn conclude(&mut self, record: &Record, _outcome: &Outcome) -> Result<(), Failure> {
        let mut record = record.clone();
        if let Some(relay) = &self.relay {
            network::add_cost(&mut record, relay);
        }
        let run = self.own.keep(&record)?;
        match &record.status {
            Status::Complete => {
                let summary = &record.summary;
                let us = summary.response_us.as_ref();
                let figures = TrialFigures {
                    tps: summary.tps,
                    p50_us: us.map(|us| us.p50),
                    p99_us: us.map(|us| us.p99),
                };
                self.finished = Some(Finished {
                    run: Some(run),
                    figures: Some(figures),
                    line: report::trial_line(&record),
                });
                Ok(())
            }
            Status::Interrupted => Err(Failure::Interrupted("interrupted; the trial was broken off")),
            Status::Failed { reason } => Err(Failure::Aborted(reason.as_str().to_owned())),
        }
    }
}
