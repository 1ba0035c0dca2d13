//! One running of an experiment, from its first trial to its last, however often it is broken off: each trial is
//! marked in the store before it begins and when it has ended.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use ::lab::{Plan, Profile, ScriptName, StepSql, StepWork};
use results::{ExperimentRow, KeptText, PlannedTrial, SafeText, Store, TrialRow, TrialStatus};

use super::pace::{self, Pace};
use super::stage::Stage;
use super::trial::{self, Finished};
use super::{Limits, Subject, leftovers, standing, steps};
use crate::describing;
use crate::failure::Failure;
use crate::reporting::experiments;
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
    /// A new one: all trials are to be made. One that was broken off is not gone on with, which is said.
    pub(super) fn begin(
        subject: Subject,
        places: StoreArguments,
        terminal: &Terminal,
    ) -> Result<Self, Failure> {
        let files = files(&subject)?;
        let mut store = Store::create(&places.store())?;
        let (name, profile) = (&subject.experiment.name, profile_name(subject.profile));
        let before = store.newest_experiment(name, profile)?;
        if let Some(words) = before.as_ref().and_then(broken_off) {
            terminal.say(words);
        }
        let trials: Vec<_> = subject
            .plan
            .trials
            .iter()
            .map(|trial| PlannedTrial { factors: factors(&subject.plan, trial.cell), repeat: trial.repeat })
            .collect();
        store.begin_experiment(name, profile, &files, &trials)?;
        drop(store);
        Self::find(subject, places)
    }

    /// The newest one of this experiment.
    pub(super) fn find(subject: Subject, places: StoreArguments) -> Result<Self, Failure> {
        let (name, profile) = (&subject.experiment.name, profile_name(subject.profile));
        let row = match places.store() {
            // Asking for what is not there makes nothing.
            store if !store.exists() => None,
            store => Store::create(&store)?.newest_experiment(name, profile)?,
        };
        let Some(row) = row else {
            let store = places.store();
            return Err(Failure::Usage(format!(
                "the store {} has no experiment {name} ({profile}): begin with pgmeter lab run",
                store.display()
            )));
        };
        let begun_at = row.started_at.clone();
        let other = what_changed(&files(&subject)?, &row.files);
        let row = in_plan_order(&subject.plan, row).filter(|_| other.is_none());
        let Some(row) = row else {
            let other = other.unwrap_or_else(|| subject.file.display().to_string());
            return Err(Failure::Usage(format!(
                "{other} is not what it was when the experiment was begun at {begun_at}: begin anew with pgmeter lab run, \
                 or look at what there is with pgmeter report --experiment {name} --profile {profile}",
            )));
        };
        Ok(Self { subject: Rc::new(subject), places, row })
    }

    /// Runs what is still to be run.
    pub(super) fn run(
        &mut self,
        limits: &Limits,
        terminal: &Terminal,
        signals: &Signals,
    ) -> Result<(), Failure> {
        if limits.take_over {
            self.take_over()?;
        }
        let sitting = Store::create(&self.places.store())?.begin_sitting(self.row.experiment)?;
        leftovers::remove(&self.subject.plan, self.row.experiment, &self.places, terminal)?;
        let prefix = leftovers::prefix(&sitting.mark);
        let (subject, user) = (Rc::clone(&self.subject), limits.server_user.clone());
        let result = Stage::new(subject, user, prefix, terminal, signals).and_then(|mut stage| {
            let mut pace = Pace::new(limits.budget);
            let is_over = self.go_through(&mut stage, &mut pace, terminal, signals)?;
            if is_over && limits.retry_failed && self.retry_failed()? {
                self.go_through(&mut stage, &mut pace, terminal, signals)?;
            }
            Ok(())
        });
        leftovers::end(&self.subject.plan, &sitting, &self.places, terminal)?;
        if let Err(Failure::Interrupted(_)) = result {
            terminal.print(&standing::standing(&self.subject, &self.row));
            return Err(Failure::Interrupted("interrupted; pgmeter lab resume goes on"));
        }
        result?;
        terminal.print(&standing::standing(&self.subject, &self.row));
        self.report(terminal);
        self.judge()
    }

    /// What came of it so far, if anything did.
    fn report(&self, terminal: &Terminal) {
        if self.row.trials.iter().all(|trial| trial.status != TrialStatus::Complete) {
            return;
        }
        let (name, profile) = (&self.subject.experiment.name, profile_name(self.subject.profile));
        match experiments::text(&self.places.store(), name, profile, terminal.style()) {
            Ok(report) => terminal.print(&format!("\n{report}")),
            Err(failure) => terminal.warn(format_args!("the trials are stored, but not reported: {failure}")),
        }
    }

    /// Trials that a process of another host or container had begun are to be made again.
    fn take_over(&mut self) -> Result<(), Failure> {
        Store::create(&self.places.store())?.take_over(self.row.experiment)?;
        for trial in self.row.trials.iter_mut().filter(|trial| trial.status == TrialStatus::Running) {
            trial.status = TrialStatus::Planned;
        }
        Ok(())
    }

    /// What failed is to be made again; whether there is any.
    fn retry_failed(&mut self) -> Result<bool, Failure> {
        Store::create(&self.places.store())?.retry_failed(self.row.experiment)?;
        let mut any = false;
        for trial in self.row.trials.iter_mut().filter(|trial| trial.status == TrialStatus::Failed) {
            trial.status = TrialStatus::Planned;
            any = true;
        }
        Ok(any)
    }

    /// Makes one planned trial after another; whether the time was enough for all.
    fn go_through(
        &mut self,
        stage: &mut Stage<'_>,
        pace: &mut Pace,
        terminal: &Terminal,
        signals: &Signals,
    ) -> Result<bool, Failure> {
        let subject = Rc::clone(&self.subject);
        let plan = &subject.plan;
        for position in 0..self.row.trials.len() {
            if self.row.trials[position].status != TrialStatus::Planned {
                continue;
            }
            signals.check()?;
            let cell = plan.trials[position].cell;
            let Some(mut step) = pace.begin(plan, cell) else { return Ok(false) };
            if !Store::create(&self.places.store())?.take_trial(self.row.trials[position].trial)? {
                // Of a process on another host.
                self.row.trials[position].status = TrialStatus::Running;
                continue;
            }
            let finished = self.run_trial(position, stage, pace, &mut step, terminal, signals);
            signals.check().map_err(|_| {
                Failure::Interrupted(
                    "interrupted; pgmeter lab resume goes on with the trial that was broken off",
                )
            })?;
            if let Err(Failure::Unfinished(_)) = finished {
                // Nothing to make it on: it is left for another time.
                return finished.map(|_| false);
            }
            pace.end(plan, cell, &step, finished.is_ok());
            let planned = self.row.trials.iter().zip(&plan.trials).skip(position + 1);
            let planned = planned.filter(|(trial, _)| trial.status == TrialStatus::Planned);
            let left = pace.left(plan, planned.map(|(_, planned)| planned.cell));
            self.note(position, finished, left, terminal)?;
        }
        Ok(true)
    }

    fn run_trial(
        &self,
        position: usize,
        stage: &mut Stage<'_>,
        pace: &Pace,
        step: &mut pace::Step,
        terminal: &Terminal,
        signals: &Signals,
    ) -> Result<Finished, Failure> {
        let plan = &self.subject.plan;
        let planned = &plan.trials[position];
        terminal.say(standing::name(plan, position));
        let time_left = || pace.budget_left().map(|left| left + trial::BUDGET_GRACE);
        let ready = signals.within(time_left(), || stage.ready(planned.cell))?;
        pace.ready(step);
        let trial = self.row.trials[position].trial;
        let cell = &plan.cells[planned.cell];
        if !cell.configuration.steps.is_empty() {
            let steps = || steps::run(cell, &ready.target, trial, &self.places, terminal, signals);
            return signals.within(time_left(), steps);
        }
        let watched =
            trial::Watched { terminal, above: self.above(terminal), budget_left: pace.budget_left() };
        let limit = time_left().map(|left| left + trial::RUN_MARGIN);
        signals.within(limit, || trial::run(cell, planned.seed, ready, trial, &self.places, watched, signals))
    }

    /// What a terminal shows above a running trial.
    fn above(&self, terminal: &Terminal) -> Vec<String> {
        if !terminal.can_draw() {
            return Vec::new();
        }
        standing::cells_so_far(&self.subject, &self.row, &terminal.talk_style())
    }

    /// Keeps and tells how a trial ended.
    fn note(
        &mut self,
        position: usize,
        finished: Result<Finished, Failure>,
        left: Duration,
        terminal: &Terminal,
    ) -> Result<(), Failure> {
        let cell = self.subject.plan.trials[position].cell;
        let variables = &self.subject.plan.cells[cell].configuration.load.variables;
        let row = &mut self.row.trials[position];
        let reason = match &finished {
            Ok(Finished { line, .. }) if left.is_zero() => {
                terminal.say(format_args!("  {line}"));
                None
            }
            Ok(Finished { line, .. }) => {
                terminal.say(format_args!("  {line}; about {} left", ::lab::rough(left)));
                None
            }
            Err(failure) => {
                let reason = describing::without_secret_values(&failure.to_string(), variables);
                let reason = SafeText::from(reason);
                terminal.warn(format_args!("the trial failed, the experiment goes on: {reason}"));
                Some(String::from(reason))
            }
        };
        Store::create(&self.places.store())?.end_trial(row.trial, reason.as_deref())?;
        row.status = if reason.is_none() { TrialStatus::Complete } else { TrialStatus::Failed };
        let finished = finished.ok();
        row.run = finished.as_ref().and_then(|finished| finished.run);
        row.figures = finished.and_then(|finished| finished.figures);
        row.reason = reason;
        Ok(())
    }

    /// How far it has come, for whoever asks.
    pub(super) fn status(&self) -> String {
        standing::standing(&self.subject, &self.row) + &standing::outlook(&self.subject, &self.row)
    }

    fn judge(&self) -> Result<(), Failure> {
        let number = |status| self.row.trials.iter().filter(|trial| trial.status == status).count();
        let total = self.row.trials.len();
        if let running @ 1.. = number(TrialStatus::Running) {
            return Err(Failure::Unfinished(format!(
                "{running} of {total} trials are another process's, of which nothing is known here (another host or \
                 container): if it is gone, pgmeter lab resume --take-over makes them again"
            )));
        }
        match (number(TrialStatus::Planned), number(TrialStatus::Failed)) {
            (left @ 1.., _) => Err(Failure::Unfinished(format!(
                "the time budget is used up, {left} of {total} trials are left; pgmeter lab resume goes on with them"
            ))),
            (_, failed @ 1..) => Err(Failure::Aborted(format!(
                "{failed} of {total} trials failed; pgmeter lab resume --retry-failed makes them again"
            ))),
            _ => Ok(()),
        }
    }
}

/// A file that is other than it was, or is there only then or only now.
fn what_changed(now: &BTreeMap<String, String>, then: &BTreeMap<String, KeptText>) -> Option<String> {
    let is_same =
        |name: &String| now.get(name).zip(then.get(name)).is_some_and(|(now, then)| then.is_of(now));
    now.keys().chain(then.keys()).find(|name| !is_same(name)).cloned()
}

/// What is said of one that has trials left when another begins.
fn broken_off(row: &ExperimentRow) -> Option<String> {
    let is_left = |trial: &&TrialRow| matches!(trial.status, TrialStatus::Planned | TrialStatus::Running);
    let left = row.trials.iter().filter(is_left).count();
    let at_work =
        row.worked_on_by.map_or(String::new(), |pid| format!(", and process {pid} is at work on it"));
    (left > 0).then(|| {
        format!(
            "this begins anew; the one begun at {} has {left} of {} trials left{at_work} (pgmeter lab resume would \
             have gone on with it)",
            row.started_at,
            row.trials.len()
        )
    })
}

/// The stored trials in the order of the plan, which follows from the memory there is and may not be that of the
/// beginning; `None` if they are not those of the plan.
fn in_plan_order(plan: &Plan, row: ExperimentRow) -> Option<ExperimentRow> {
    let key = |trial: &TrialRow| (trial.factors.clone(), trial.repeat);
    let mut stored: BTreeMap<_, _> = row.trials.into_iter().map(|trial| (key(&trial), trial)).collect();
    let find = |trial: &::lab::Trial| stored.remove(&(factors(plan, trial.cell), trial.repeat));
    let trials: Vec<TrialRow> = plan.trials.iter().map(find).collect::<Option<_>>()?;
    stored.is_empty().then_some(ExperimentRow { trials, ..row })
}

fn factors(plan: &Plan, cell: usize) -> BTreeMap<String, String> {
    plan.cells[cell].levels.iter().cloned().collect()
}

pub(super) fn profile_name(profile: Profile) -> &'static str {
    match profile {
        Profile::Full => "full",
        Profile::Quick => "quick",
    }
}

/// The experiment's file and all that its trials read, by name beside it.
pub(super) fn files(subject: &Subject) -> Result<BTreeMap<String, String>, Failure> {
    let mut files = BTreeMap::new();
    let mut add = |path: &Path| -> Result<(), Failure> {
        let name = path.strip_prefix(&subject.folder).unwrap_or(path).display().to_string();
        if let Entry::Vacant(entry) = files.entry(name) {
            entry.insert(text_of(path)?);
        }
        Ok(())
    };
    if !subject.file.as_os_str().is_empty() {
        add(&subject.file)?;
    }
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
