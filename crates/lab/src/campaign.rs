//! The execution of an experiment, from its first trial to its last, with any number of interruptions. The store
//! records each trial before it begins and after it has ended.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use connect::Patience;
use experiment::{Experiment, FindHost, Memory, Plan, Profile, Subject, Trial, design, hide_levels};
use results::{
    Annotation, EntryId, EntryKind, ExperimentRow, KeptText, NewDirectories, PlannedTrial, SafeText, Store,
    TrialRow, TrialStatus, UnfinishedExperiment,
};
use run::{RunError, StorePlaces, without_secret_values};

use crate::budget::{TimeBudget, TrialTiming};
use crate::error::LabError;
use crate::event::{Event, Listener};
use crate::files::files;
use crate::goals;
use crate::leftovers;
use crate::provision::Provisioner;
use crate::query_pass;
use crate::repeating_failure::would_repeat;
use crate::running_pooler;
use crate::schema_change;
use crate::screen::directory::file_of;
use crate::search_trial;
use crate::timed;
use crate::trial::{self, ExecutionContext, Finished};

/// Reads, checks and plans an experiment; of a directory, its `experiment.toml`. `dsn` names a running server instead of
/// the file's. Secret labels are hidden. Without `find_host`, values relative to a server's host get no number, which
/// is sufficient for reading the store.
///
/// # Errors
/// The file, or a file that it names, is invalid.
pub fn read_experiment(
    file: &Path,
    profile: Profile,
    dsn: Option<&str>,
    find_host: Option<FindHost<'_>>,
) -> Result<Subject, LabError> {
    let file = if file.is_dir() { file.join("experiment.toml") } else { file.to_owned() };
    let mut experiment = Experiment::read(&file, profile)?;
    experiment.connect_to(dsn)?;
    let folder = file.parent().unwrap_or(Path::new(".")).to_owned();
    let memory = Memory {
        available_bytes: server::available_memory(),
        shared_buffers_bytes: server::default_shared_buffers(),
    };
    let mut plan =
        Plan::within(&experiment, &file.display().to_string(), folder.as_path(), &memory, find_host)?;
    hide_levels(&experiment, &mut plan.cells);
    timed::check(&plan.cells)?;
    schema_change::check(plan.cells.iter().map(|cell| &cell.configuration))?;
    trial::check(&plan.cells)?;
    Ok(Subject { experiment, plan, profile, folder, file })
}

/// The user's options for running trials.
#[derive(Clone, Debug, Default)]
pub struct CampaignLimits {
    /// Start no trial that would end after this time.
    pub budget: Option<Duration>,
    /// Repeat failed trials once, after all others.
    pub retry_failed: bool,
    /// Repeat trials of a process on another host or in another container.
    pub take_over: bool,
    /// Operating system user of embedded servers if pgmeter runs as root.
    pub server_user: Option<String>,
}

/// An experiment and the state of its trials.
pub struct Campaign {
    subject: Rc<Subject>,
    places: StorePlaces,
    row: ExperimentRow,
    /// What the store did not have before, if this process has begun the experiment.
    begun: Option<Begun>,
    is_forgotten: bool,
}

/// What began with an experiment.
struct Begun {
    /// Whether there was no store.
    store: bool,
    directories: NewDirectories,
}

impl Campaign {
    /// A new execution with all trials planned. Warns if an earlier one is incomplete.
    ///
    /// # Errors
    /// A file of the experiment cannot be read, or the store cannot be written.
    pub fn begin(subject: Subject, places: StorePlaces, listener: Listener<'_>) -> Result<Self, RunError> {
        let files = files(&subject)?;
        let directories = NewDirectories::of(places.store().parent().unwrap_or(Path::new("")));
        let begun = Begun { store: !places.store().exists(), directories };
        let mut store = places.open()?;
        let (name, profile) = (&subject.experiment.name, subject.profile.name());
        let before = store.newest_experiment(name, profile)?;
        if let Some(words) = before.as_ref().and_then(|before| broken_off(before, &subject.file)) {
            listener.say(words);
        }
        let trials: Vec<_> = subject
            .plan
            .trials
            .iter()
            .map(|trial| PlannedTrial { factors: factors(&subject.plan, trial.cell), repeat: trial.repeat })
            .collect();
        let design = design(&subject.experiment, &subject.plan);
        let number = store.begin_experiment(name, profile, &files, &trials, Some(&design))?;
        if subject.experiment.annotation != Annotation::default() {
            store
                .annotate(EntryId { kind: EntryKind::Experiment, number }, &subject.experiment.annotation)?;
        }
        drop(store);
        Ok(Self { begun: Some(begun), ..Self::find(subject, places)? })
    }

    /// The newest execution of this experiment.
    ///
    /// # Errors
    /// The store has none, or the experiment's files have changed since.
    pub fn find(subject: Subject, places: StorePlaces) -> Result<Self, RunError> {
        let (name, profile) = (&subject.experiment.name, subject.profile.name());
        let row = match places.store() {
            // A query must not create a store.
            store if !store.exists() => None,
            store => Store::create(store)?.newest_experiment(name, profile)?,
        };
        let Some(row) = row else {
            let store = places.store();
            return Err(RunError::Usage(format!(
                "the store {} has no experiment {name} ({profile}): start it with pgmeter lab run {}{}",
                store.display(),
                subject.file.display(),
                unfinished(&places)
            )));
        };
        let begun_at = row.started_at.clone();
        let other = what_changed(&files(&subject)?, &row.files);
        let row = in_plan_order(&subject.plan, row).filter(|_| other.is_none());
        let Some(row) = row else {
            let other = other.unwrap_or_else(|| subject.file.display().to_string());
            return Err(RunError::Usage(format!(
                "{other} is not what it was when the experiment was begun at {begun_at}: begin anew with pgmeter lab run, \
                 or look at what there is with pgmeter report --experiment {name} --profile {profile}",
            )));
        };
        Ok(Self { subject: Rc::new(subject), places, row, begun: None, is_forgotten: false })
    }

    /// Runs the remaining trials.
    ///
    /// # Errors
    /// Not all trials are complete, or the store cannot be written.
    pub fn run(&mut self, limits: &CampaignLimits, context: &ExecutionContext<'_>) -> Result<(), RunError> {
        let &ExecutionContext { listener, control, .. } = context;
        if limits.take_over {
            self.take_over()?;
        }
        let execution = self.places.open()?.begin_execution(self.row.experiment)?;
        leftovers::remove(&self.subject.plan, self.row.experiment, &self.places, listener)?;
        running_pooler::warn(&self.subject.plan.cells, listener);
        let prefix = leftovers::prefix(&execution.mark);
        let (subject, user) = (Rc::clone(&self.subject), limits.server_user.clone());
        let patience = Patience::default();
        let result =
            Provisioner::new(subject, user, prefix, patience, self.places.clone(), listener, control)
                .and_then(|mut provisioner| {
                    let mut budget = TimeBudget::new(limits.budget);
                    let is_over = self.go_through(&mut provisioner, &mut budget, context)?;
                    if is_over && limits.retry_failed && self.retry_failed()? {
                        self.go_through(&mut provisioner, &mut budget, context)?;
                    }
                    Ok(())
                });
        leftovers::end(&self.subject.plan, &execution, &self.places, listener)?;
        if let Err(RunError::Interrupted(_)) = result {
            listener.tell(Event::Ended(&self.subject, &self.row));
            return Err(RunError::Interrupted(
                format!("interrupted; continue with {}", self.resume()).into(),
            ));
        }
        if !matches!(result, Ok(()) | Err(RunError::Aborted(_))) {
            if let Some(begun) = self.begun.take() {
                begun.remove(&self.places)?;
            }
            return result;
        }
        listener.tell(Event::Ended(&self.subject, &self.row));
        result.and_then(|()| self.judge())
    }

    /// Marks trials that a process of another host or container had started as planned.
    fn take_over(&mut self) -> Result<(), RunError> {
        self.places.open()?.take_over(self.row.experiment)?;
        for trial in self.row.trials.iter_mut().filter(|trial| trial.status == TrialStatus::Running) {
            trial.status = TrialStatus::Planned;
        }
        Ok(())
    }

    /// Marks failed trials as planned; returns whether there are any.
    fn retry_failed(&mut self) -> Result<bool, RunError> {
        self.places.open()?.retry_failed(self.row.experiment)?;
        let mut any = false;
        for trial in self.row.trials.iter_mut().filter(|trial| trial.status == TrialStatus::Failed) {
            trial.status = TrialStatus::Planned;
            any = true;
        }
        Ok(any)
    }

    /// Runs the planned trials in order; returns whether the time budget was sufficient.
    fn go_through(
        &mut self,
        provisioner: &mut Provisioner<'_>,
        budget: &mut TimeBudget,
        context: &ExecutionContext<'_>,
    ) -> Result<bool, RunError> {
        let &ExecutionContext { listener, control, .. } = context;
        let subject = Rc::clone(&self.subject);
        let plan = &subject.plan;
        for position in 0..self.row.trials.len() {
            if self.row.trials[position].status != TrialStatus::Planned {
                continue;
            }
            control.check()?;
            let cell = plan.trials[position].cell;
            let Some(mut timing) = budget.begin(plan, cell) else { return Ok(false) };
            if !self.places.open()?.take_trial(self.row.trials[position].trial)? {
                // Started by a process on another host.
                self.row.trials[position].status = TrialStatus::Running;
                continue;
            }
            let finished = self.run_trial(position, provisioner, budget, &mut timing, context);
            control.check()?;
            if let Err(RunError::Unfinished(_)) = finished {
                // The server is unavailable: the trial stays planned.
                return finished.map(|_| false);
            }
            budget.end(plan, cell, &timing, finished.is_ok());
            let planned = self.row.trials.iter().zip(&plan.trials).skip(position + 1);
            let planned = planned.filter(|(trial, _)| trial.status == TrialStatus::Planned);
            let left = budget.left(plan, planned.map(|(_, planned)| planned.cell));
            let repeats = finished.as_ref().err().is_some_and(would_repeat);
            // If nothing was measured, there is nothing to be continued.
            let is_new = matches!(finished, Err(RunError::Statement(_))) && self.begun.is_some();
            if is_new && self.places.open()?.forget_experiment(self.row.experiment)? {
                self.is_forgotten = true;
                return finished.map(|_| true);
            }
            self.note(position, finished, left, listener)?;
            let others = self.row.trials.iter().filter(|trial| trial.status == TrialStatus::Planned).count();
            if repeats && others > 0 {
                return Err(RunError::Aborted(format!(
                    "this failure would repeat, so the other {others} trials were not run: correct the cause, and begin anew \
                     with pgmeter lab run, or continue with {} --retry-failed",
                    self.resume()
                )));
            }
        }
        Ok(true)
    }

    fn run_trial(
        &self,
        position: usize,
        provisioner: &mut Provisioner<'_>,
        budget: &TimeBudget,
        timing: &mut TrialTiming,
        context: &ExecutionContext<'_>,
    ) -> Result<Finished, RunError> {
        let &ExecutionContext { listener, control, .. } = context;
        let plan = &self.subject.plan;
        let planned = &plan.trials[position];
        listener.tell(Event::TrialBegins(&self.subject, &self.row, position));
        let time_left = || budget.time_left().map(|left| left + trial::BUDGET_GRACE);
        let ready = control.within(time_left(), || provisioner.ready(planned.cell))?;
        budget.ready(timing);
        let trial = self.row.trials[position].trial;
        let cell = &plan.cells[planned.cell];
        if !cell.configuration.steps.is_empty() {
            let steps = || timed::run(cell, &ready.target, trial, &self.places, listener, control);
            return control.within(time_left(), steps);
        }
        if cell.configuration.queries.is_some() {
            let pass = || query_pass::run(cell, &ready.target, trial, &self.places, listener, control);
            return control.within(time_left(), pass);
        }
        if let Some(search) = cell.configuration.search {
            let of_trial = (trial, planned.seed, &self.places);
            let search = || search_trial::run(cell, search, ready, of_trial, context);
            return control.within(time_left(), search);
        }
        let of_trial = trial::OfTrial {
            trial,
            seed: planned.seed,
            places: &self.places,
            budget_left: budget.time_left(),
            context,
        };
        let limit = time_left().map(|left| left + trial::RUN_MARGIN);
        control.within(limit, || trial::run(cell, ready, &of_trial))
    }

    /// Stores and reports the result of a trial.
    fn note(
        &mut self,
        position: usize,
        finished: Result<Finished, RunError>,
        left: Duration,
        listener: Listener<'_>,
    ) -> Result<(), RunError> {
        let cell = self.subject.plan.trials[position].cell;
        let variables = &self.subject.plan.cells[cell].configuration.load.variables;
        let row = &mut self.row.trials[position];
        let reason = match &finished {
            Ok(Finished { record, .. }) => {
                listener.tell(Event::TrialEnded(record, left));
                None
            }
            Err(failure) => {
                let reason = without_secret_values(&failure.to_string(), variables);
                let reason = SafeText::from(reason);
                let next = if would_repeat(failure) { "" } else { ", the experiment continues" };
                listener.warn(format_args!("the trial failed{next}: {reason}"));
                Some(String::from(reason))
            }
        };
        self.places.open()?.end_trial(row.trial, reason.as_deref())?;
        row.status = if reason.is_none() { TrialStatus::Complete } else { TrialStatus::Failed };
        let finished = finished.ok();
        row.run = finished.as_ref().and_then(|finished| finished.run);
        row.figures = finished.and_then(|finished| finished.figures);
        row.reason = reason;
        Ok(())
    }

    /// The experiment, its plan and its files.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// The state in the store.
    pub fn row(&self) -> &ExperimentRow {
        &self.row
    }

    /// The command that continues this experiment.
    fn resume(&self) -> String {
        let quick = if self.subject.profile == Profile::Quick { " --quick" } else { "" };
        format!("pgmeter lab resume {}{quick}", self.subject.file.display())
    }

    /// Whether the experiment was removed from the store, since nothing was measured.
    pub(crate) fn is_forgotten(&self) -> bool {
        self.is_forgotten
    }

    fn judge(&self) -> Result<(), RunError> {
        let number = |status| self.row.trials.iter().filter(|trial| trial.status == status).count();
        let total = self.row.trials.len();
        if let running @ 1.. = number(TrialStatus::Running) {
            return Err(RunError::Unfinished(format!(
                "{running} of {total} trials were started by a process on another host or in another container, which \
                 may still be running: if it has ended, {} --take-over runs them again",
                self.resume()
            )));
        }
        match (number(TrialStatus::Planned), number(TrialStatus::Failed)) {
            (left @ 1.., 0) => Err(RunError::Unfinished(format!(
                "the time budget is exhausted, {left} of {total} trials remain; continue with {}",
                self.resume()
            ))),
            (0, failed @ 1..) => Err(RunError::Aborted(format!(
                "{failed} of {total} trials failed; repeat them with {} --retry-failed",
                self.resume()
            ))),
            (left @ 1.., failed) => Err(RunError::Aborted(format!(
                "{failed} of {total} trials failed, and {left} remain because the time budget is exhausted; continue \
                 with {} --retry-failed",
                self.resume()
            ))),
            (0, 0) => goals::judge(&self.subject.plan, &self.row, &self.places),
        }
    }
}

/// The error of a command that needs the file of an experiment.
pub fn file_missing(places: &StorePlaces) -> RunError {
    RunError::Usage(format!("name the experiment's file, such as experiment.toml{}", unfinished(places)))
}

/// Experiments that are named.
const UNFINISHED_MAX: usize = 3;

/// `; with trials left: pgmeter lab resume cells.toml (4 of 6)`, for the experiments in a store.
fn unfinished(places: &StorePlaces) -> String {
    let found = Store::open(places.store()).and_then(|store| store.unfinished_experiments());
    let found = found.unwrap_or_default();
    let commands: Vec<String> = found.iter().take(UNFINISHED_MAX).map(|it| resume_of(it, places)).collect();
    if commands.is_empty() { String::new() } else { format!("; with trials left: {}", commands.join(", ")) }
}

fn resume_of(experiment: &UnfinishedExperiment, places: &StorePlaces) -> String {
    let UnfinishedExperiment { name, profile, files, left, trials } = experiment;
    let of_screening = file_of(places.store(), name);
    let is_experiment = |file: &&String| file.ends_with(".toml") && !file.ends_with("workload.toml");
    let file = if of_screening.exists() {
        of_screening.display().to_string()
    } else {
        files.iter().find(is_experiment).unwrap_or(name).clone()
    };
    let quick = if profile == Profile::Quick.name() { " --quick" } else { "" };
    format!("pgmeter lab resume {file}{quick} ({left} of {trials})")
}

impl Begun {
    /// Removes the store that was made for an experiment without a measurement.
    fn remove(&self, places: &StorePlaces) -> Result<(), RunError> {
        if self.store && places.open()?.remove_if_empty()? {
            self.directories.remove_empty();
        }
        Ok(())
    }
}

/// The first file that was changed, added or removed.
fn what_changed(now: &BTreeMap<String, String>, then: &BTreeMap<String, KeptText>) -> Option<String> {
    let is_same =
        |name: &String| now.get(name).zip(then.get(name)).is_some_and(|(now, then)| then.is_of(now));
    now.keys().chain(then.keys()).find(|name| !is_same(name)).cloned()
}

/// The warning about an incomplete earlier execution.
fn broken_off(row: &ExperimentRow, file: &Path) -> Option<String> {
    let is_left = |trial: &&TrialRow| matches!(trial.status, TrialStatus::Planned | TrialStatus::Running);
    let left = row.trials.iter().filter(is_left).count();
    let at_work = row.worked_on_by.map_or(String::new(), |pid| format!(", and process {pid} is running it"));
    (left > 0).then(|| {
        format!(
            "this is a new execution; the one that began at {} has {left} of {} trials left{at_work}: pgmeter lab \
             resume {} would have continued it",
            row.started_at,
            row.trials.len(),
            file.display()
        )
    })
}

/// The stored trials in the order of the plan. The order depends on the available memory, which may have changed
/// since the start; `None` if the trials are not those of the plan.
fn in_plan_order(plan: &Plan, row: ExperimentRow) -> Option<ExperimentRow> {
    let key = |trial: &TrialRow| (trial.factors.clone(), trial.repeat);
    let mut stored: BTreeMap<_, _> = row.trials.into_iter().map(|trial| (key(&trial), trial)).collect();
    let find = |trial: &Trial| stored.remove(&(factors(plan, trial.cell), trial.repeat));
    let trials: Vec<TrialRow> = plan.trials.iter().map(find).collect::<Option<_>>()?;
    stored.is_empty().then_some(ExperimentRow { trials, ..row })
}

fn factors(plan: &Plan, cell: usize) -> BTreeMap<String, String> {
    plan.cells[cell].levels.iter().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_stands_for_its_experiment() {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/protocol"));
        let subject =
            read_experiment(folder, Profile::Quick, None, None).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((subject.file, &*subject.folder), (folder.join("experiment.toml"), folder));
    }
}
