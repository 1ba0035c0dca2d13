//! One running of an experiment, from its first trial to its last, however often it is broken off: each trial is
//! marked in the store before it begins and when it has ended.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use ::lab::{Configuration, Length, Plan, Profile, ScriptName, Step, StepSql, StepWork};
use results::{ExperimentRow, PlannedTrial, Store, TrialRow, TrialStatus};

use super::stage::Stage;
use super::steps;
use super::stopwatch::Stopwatch;
use super::trial::{self, Finished};
use super::{Limits, Subject};
use crate::failure::Failure;
use crate::signals::Signals;
use crate::storing::StoreArguments;
use crate::terminal::Terminal;

/// An experiment and how far it has come.
pub(super) struct Campaign {
    subject: Rc<Subject>,
    places: StoreArguments,
    row: ExperimentRow,
}

/// What must be read of a file before it is taken for a mistake.
const FILE_LENGTH_MAX: u64 = 16 << 20;

impl Campaign {
    /// A new one: all trials are to be made.
    pub(super) fn begin(subject: Subject, places: StoreArguments) -> Result<Self, Failure> {
        let files = files(&subject)?;
        let mut store = Store::create(&places.store())?;
        let trials: Vec<_> = subject
            .plan
            .trials
            .iter()
            .map(|trial| PlannedTrial { factors: factors(&subject.plan, trial.cell), repeat: trial.repeat })
            .collect();
        store.begin_experiment(&subject.experiment.name, profile_name(subject.profile), &files, &trials)?;
        drop(store);
        Self::find(subject, places)
    }

    /// The newest one of this experiment.
    pub(super) fn find(subject: Subject, places: StoreArguments) -> Result<Self, Failure> {
        let (name, profile) = (&subject.experiment.name, profile_name(subject.profile));
        let row = Store::create(&places.store())?.newest_experiment(name, profile)?;
        let Some(row) = row else {
            let store = places.store();
            return Err(Failure::Usage(format!(
                "the store {} has no experiment {name} ({profile}): begin with pgmeter lab run",
                store.display()
            )));
        };
        if row.files != files(&subject)? || row.trials.len() != subject.plan.trials.len() {
            return Err(Failure::Usage(format!(
                "{} or a file beside it is not what it was when the experiment was begun at {}: begin anew with \
                 pgmeter lab run",
                subject.file.display(),
                row.started_at
            )));
        }
        Ok(Self { subject: Rc::new(subject), places, row })
    }

    /// What failed is to be made again.
    pub(super) fn retry_failed(&mut self) -> Result<(), Failure> {
        Store::create(&self.places.store())?.retry_failed(self.row.experiment)?;
        for trial in &mut self.row.trials {
            if trial.status == TrialStatus::Failed {
                trial.status = TrialStatus::Planned;
            }
        }
        Ok(())
    }

    /// Runs what is still to be run.
    pub(super) fn run(
        &mut self,
        limits: &Limits,
        terminal: &Terminal,
        signals: &Signals,
    ) -> Result<(), Failure> {
        let stopwatch = Stopwatch::start();
        let budget = limits.budget.map(|minutes| Duration::from_secs(u64::from(minutes) * 60));
        let mut stage = Stage::new(Rc::clone(&self.subject), limits.server_user.clone(), terminal, signals)?;
        let total = self.row.trials.len();
        let mut clock = Clock::default();
        for position in 0..total {
            if self.row.trials[position].status != TrialStatus::Planned {
                continue;
            }
            signals.check()?;
            let asked = length(&self.subject.plan, self.subject.plan.trials[position].cell);
            if budget.is_some_and(|budget| stopwatch.passed() + clock.expected(asked) > budget) {
                terminal.say("the time budget is used up; pgmeter lab resume goes on from here");
                break;
            }
            let begun = stopwatch.passed();
            let finished = self.run_trial(position, &mut stage, terminal, signals);
            signals.check().map_err(|_| {
                Failure::Interrupted(
                    "interrupted; pgmeter lab resume goes on with the trial that was broken off",
                )
            })?;
            self.note(position, finished, terminal)?;
            clock.add(asked, stopwatch.passed().saturating_sub(begun));
            let left: Duration = self.left(position + 1).map(|asked| clock.expected(asked)).sum();
            if !left.is_zero() {
                terminal.say(format_args!("  about {} min left", left.as_secs().div_ceil(60)));
            }
        }
        drop(stage);
        terminal.print(&self.standing());
        self.judge()
    }

    /// Lengths of the trials that are still to be run, from a position on.
    fn left(&self, from: usize) -> impl Iterator<Item = Duration> {
        let of_row = |(trial, planned): (&TrialRow, &::lab::Trial)| {
            (trial.status == TrialStatus::Planned).then(|| length(&self.subject.plan, planned.cell))
        };
        self.row.trials.iter().zip(&self.subject.plan.trials).skip(from).filter_map(of_row)
    }

    fn run_trial(
        &self,
        position: usize,
        stage: &mut Stage<'_>,
        terminal: &Terminal,
        signals: &Signals,
    ) -> Result<Finished, Failure> {
        let planned = &self.subject.plan.trials[position];
        let cell = &self.subject.plan.cells[planned.cell];
        let levels: Vec<String> =
            cell.levels.iter().map(|(factor, level)| format!("{factor} {level}")).collect();
        let total = self.row.trials.len();
        terminal.say(format_args!(
            "trial {}/{total}, repeat {}: {}",
            position + 1,
            planned.repeat,
            levels.join(", ")
        ));
        let ready = stage.ready(planned.cell)?;
        let trial = self.row.trials[position].trial;
        if !cell.configuration.steps.is_empty() {
            return steps::run(cell, &ready.target, trial, &self.places, terminal, signals);
        }
        trial::run(cell, planned.seed, ready, trial, &self.places, terminal, signals)
    }

    /// Keeps and tells how a trial ended.
    fn note(
        &mut self,
        position: usize,
        finished: Result<Finished, Failure>,
        terminal: &Terminal,
    ) -> Result<(), Failure> {
        let row = &mut self.row.trials[position];
        let reason = match &finished {
            Ok(Finished { line, .. }) => {
                terminal.say(format_args!("  {line}"));
                None
            }
            Err(failure) => {
                terminal.warn(format_args!("the trial failed, the experiment goes on: {failure}"));
                Some(failure.to_string())
            }
        };
        Store::create(&self.places.store())?.end_trial(row.trial, reason.as_deref())?;
        row.status = if reason.is_none() { TrialStatus::Complete } else { TrialStatus::Failed };
        row.run = finished.ok().and_then(|finished| finished.run);
        row.reason = reason;
        Ok(())
    }

    /// `interface (full): 90 of 96 trials complete, 2 failed, 4 to be made`, and why they failed.
    pub(super) fn standing(&self) -> String {
        let number = |status| self.row.trials.iter().filter(|trial| trial.status == status).count();
        let mut out = format!(
            "{} ({}): {} of {} trials complete",
            self.subject.experiment.name,
            profile_name(self.subject.profile),
            number(TrialStatus::Complete),
            self.row.trials.len()
        );
        let others = [
            (TrialStatus::Failed, "failed"),
            (TrialStatus::Planned, "to be made"),
            (TrialStatus::Running, "running"),
        ];
        for (status, words) in others {
            if number(status) > 0 {
                let _ = write!(out, ", {} {words}", number(status));
            }
        }
        out.push('\n');
        for (position, trial) in self.row.trials.iter().enumerate() {
            if let Some(reason) = trial.reason.as_ref().filter(|_| trial.status == TrialStatus::Failed) {
                let _ = writeln!(out, "  trial {} failed: {reason}", position + 1);
            }
        }
        out
    }

    fn judge(&self) -> Result<(), Failure> {
        let failed = self.row.trials.iter().filter(|trial| trial.status == TrialStatus::Failed).count();
        if failed == 0 {
            return Ok(());
        }
        let total = self.row.trials.len();
        Err(Failure::Aborted(format!(
            "{failed} of {total} trials failed; pgmeter lab resume --retry-failed makes them again"
        )))
    }
}

/// How much longer trials take than their lengths, as seen so far.
#[derive(Default)]
struct Clock {
    trials: u32,
    beyond: Duration,
}

impl Clock {
    fn add(&mut self, asked: Duration, took: Duration) {
        self.trials += 1;
        self.beyond += took.saturating_sub(asked);
    }

    fn expected(&self, asked: Duration) -> Duration {
        asked + self.beyond.checked_div(self.trials).unwrap_or(Duration::from_secs(5))
    }
}

/// What a cell's trials are asked to take.
fn length(plan: &Plan, cell: usize) -> Duration {
    let Configuration { load, steps, .. } = &plan.cells[cell].configuration;
    if !steps.is_empty() {
        return steps.iter().map(Step::estimate).sum();
    }
    match load.length {
        Length::Time(time) => time + load.warmup,
        Length::Transactions(_) => load.warmup,
    }
}

fn factors(plan: &Plan, cell: usize) -> BTreeMap<String, String> {
    plan.cells[cell].levels.iter().cloned().collect()
}

fn profile_name(profile: Profile) -> &'static str {
    match profile {
        Profile::Full => "full",
        Profile::Quick => "quick",
    }
}

/// The experiment's file and all that its trials read, by name beside it.
fn files(subject: &Subject) -> Result<BTreeMap<String, String>, Failure> {
    let mut files = BTreeMap::new();
    let mut add = |path: &Path| -> Result<(), Failure> {
        let name = path.strip_prefix(&subject.folder).unwrap_or(path).display().to_string();
        if let Entry::Vacant(entry) = files.entry(name) {
            entry.insert(text_of(path)?);
        }
        Ok(())
    };
    add(&subject.file)?;
    for cell in &subject.plan.cells {
        let configuration = &cell.configuration;
        for step in &configuration.steps {
            let timed = if let StepWork::Sql(sql) = &step.work { Some(sql) } else { None };
            for sql in [timed, step.before.as_ref()].into_iter().flatten() {
                if let StepSql::File(path) = sql {
                    add(path)?;
                }
            }
        }
        for script in &configuration.load.scripts {
            if let ScriptName::File(path) = &script.script {
                add(path)?;
            }
        }
        for setup in [&configuration.load.setup, &configuration.data.setup].into_iter().flatten() {
            add(setup)?;
        }
    }
    Ok(files)
}

/// The text of a file beside the experiment.
pub(super) fn text_of(path: &Path) -> Result<String, Failure> {
    let unreadable = |error| Failure::System { what: format!("read {}", path.display()), error };
    let about = fs::metadata(path).map_err(unreadable)?;
    if !about.is_file() || about.len() > FILE_LENGTH_MAX {
        return Err(Failure::Usage(format!("{} is no file of at most 16 MiB", path.display())));
    }
    fs::read_to_string(path).map_err(unreadable)
}
