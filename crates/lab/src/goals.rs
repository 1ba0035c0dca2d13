//! The goals of all trials, evaluated after the last one: which were missed or are undecided. The verdicts are in the
//! records of the trials, also of those that an earlier execution ran.

use experiment::{Cell, Plan};
use results::{ExperimentRow, GoalVerdict, Record, TrialRow};
use run::{RunError, StorePlaces};

/// Trials that the message names.
const NAMED_MAX: usize = 6;

/// An error if a goal of a trial was missed or, otherwise, if one is undecided.
pub(crate) fn judge(plan: &Plan, row: &ExperimentRow, places: &StorePlaces) -> Result<(), RunError> {
    let (mut missed, mut undecided, mut total) = (Vec::new(), Vec::new(), 0);
    for (trial, planned) in row.trials.iter().zip(&plan.trials) {
        let cell = &plan.cells[planned.cell];
        let Some(run) = trial.run.filter(|_| !cell.configuration.load.goals.is_empty()) else { continue };
        total += 1;
        let record = results::find(places.store(), &run.to_string())?;
        match GoalVerdict::of_all(&record.summary.goals) {
            Some(GoalVerdict::Missed) => missed.push(named(cell, trial, &record, GoalVerdict::Missed)),
            Some(GoalVerdict::Undecided) => {
                undecided.push(named(cell, trial, &record, GoalVerdict::Undecided))
            }
            Some(GoalVerdict::Met) | None => {}
        }
    }
    let listed = |trials: &[String]| {
        let more = trials.len().saturating_sub(NAMED_MAX);
        let more = (more > 0).then(|| format!("{more} more"));
        let named = trials.iter().take(NAMED_MAX).cloned().chain(more).collect::<Vec<_>>();
        format!("in {} of {total} trials: {}", trials.len(), named.join("; "))
    };
    match (missed.is_empty(), undecided.is_empty()) {
        (false, _) => Err(RunError::GoalMissed(listed(&missed))),
        (true, false) => Err(RunError::GoalUndecided(listed(&undecided))),
        (true, true) => Ok(()),
    }
}

/// `clients 8, repeat 1 (p99 < 20ms)`
fn named(cell: &Cell, trial: &TrialRow, record: &Record, verdict: GoalVerdict) -> String {
    let levels: String = cell.levels.iter().map(|(factor, level)| format!("{factor} {level}, ")).collect();
    let goals = record.summary.goals.iter().filter(|result| result.verdict == verdict);
    let goals: Vec<String> = goals.map(|result| result.goal.to_string()).collect();
    format!("{levels}repeat {} ({})", trial.repeat, goals.join(", "))
}
