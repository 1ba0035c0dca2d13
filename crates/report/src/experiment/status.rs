//! The state of an experiment as text, for `lab status`,
//! for the end of an execution, and as a table during trials.

use std::fmt::Write as _;

use ::experiment::{Forecast, Plan, Readiness, Subject, rough};
use results::{ExperimentRow, TrialStatus};

use crate::{CellSoFar, TextStyle};

/// Maximum number of listed failed trials; the store has all.
const FAILED_SHOWN_MAX: usize = 20;
/// Maximum number of combinations shown during trials, because the screen shows more than this table.
const CELLS_SHOWN_MAX: usize = 12;

/// `interface (full): 90 of 96 trials complete, 2 failed, 4 planned`, and the reasons of the failures.
#[must_use]
pub fn standing(subject: &Subject, row: &ExperimentRow) -> String {
    let number = |status| row.trials.iter().filter(|trial| trial.status == status).count();
    let mut out = format!(
        "{} ({}): {} of {} trials complete",
        results::escaped(&subject.experiment.name),
        subject.profile.name(),
        number(TrialStatus::Complete),
        row.trials.len()
    );
    let others = [
        (TrialStatus::Failed, "failed"),
        (TrialStatus::Planned, "planned"),
        (TrialStatus::Running, "running"),
    ];
    for (status, words) in others {
        if number(status) > 0 {
            let _ = write!(out, ", {} {words}", number(status));
        }
    }
    out.push('\n');
    out += &failures(&subject.plan, row);
    out
}

fn failures(plan: &Plan, row: &ExperimentRow) -> String {
    let mut out = String::new();
    let failed = || row.trials.iter().enumerate().filter(|(_, trial)| trial.status == TrialStatus::Failed);
    for (position, trial) in failed().take(FAILED_SHOWN_MAX) {
        let reason = trial.reason.as_deref().map_or("no reason recorded".into(), results::escaped);
        let _ = writeln!(out, "  {} failed: {reason}", trial_name(plan, position));
    }
    if let Some(more @ 1..) = failed().count().checked_sub(FAILED_SHOWN_MAX) {
        let _ = writeln!(out, "  … and {more} more failed");
    }
    out
}

/// Further details: start, process, current and next trial, and the expected time.
#[must_use]
pub fn outlook(subject: &Subject, row: &ExperimentRow) -> String {
    let plan = &subject.plan;
    let mut out = format!("  begun at {}\n", row.started_at);
    if let Some(pid) = row.worked_on_by {
        let _ = writeln!(out, "  process {pid} is running it");
    }
    if let Some(position) = row.trials.iter().position(|trial| trial.status == TrialStatus::Running) {
        let _ = writeln!(out, "  now: {}", trial_name(plan, position));
    }
    let planned = || row.trials.iter().enumerate().filter(|(_, trial)| trial.status == TrialStatus::Planned);
    if let Some((position, _)) = planned().next() {
        let cells = planned().map(|(position, _)| plan.trials[position].cell);
        let left = Forecast::default().expected_of(plan, cells, &Readiness::default()).total();
        let _ = writeln!(out, "  next: {}", trial_name(plan, position));
        let _ = writeln!(out, "  time left: about {}, estimated", rough(left));
    }
    out
}

/// `trial 3/8, repeat 1: protocol simple, clients 2`.
#[must_use]
pub fn trial_name(plan: &Plan, position: usize) -> String {
    let trial = &plan.trials[position];
    let levels = levels(plan, trial.cell);
    let levels = if levels.is_empty() { levels } else { format!(": {levels}") };
    format!("trial {}/{}, repeat {}{levels}", position + 1, plan.trials.len(), trial.repeat)
}

fn levels(plan: &Plan, cell: usize) -> String {
    let levels = plan.cells[cell].levels.iter().map(|(factor, level)| format!("{factor} {level}"));
    results::escaped(&levels.collect::<Vec<_>>().join(", ")).into_owned()
}

/// A table of combinations with complete trials, those of the newest trials.
#[must_use]
pub fn newest_cells(subject: &Subject, row: &ExperimentRow, style: &TextStyle) -> Vec<String> {
    let plan = &subject.plan;
    let mut newest: Vec<usize> = Vec::new();
    for (trial, planned) in row.trials.iter().zip(&plan.trials).rev() {
        if trial.status == TrialStatus::Complete && trial.figures.is_some() && !newest.contains(&planned.cell)
        {
            newest.push(planned.cell);
        }
    }
    let hidden = newest.len().saturating_sub(CELLS_SHOWN_MAX);
    newest.truncate(CELLS_SHOWN_MAX);
    newest.sort_unstable();
    let of_cell = |cell: usize| {
        let trials = row.trials.iter().zip(&plan.trials);
        let complete =
            trials.filter(|(trial, planned)| planned.cell == cell && trial.status == TrialStatus::Complete);
        CellSoFar {
            label: levels(plan, cell),
            trials: subject.experiment.design.repeats,
            complete: complete.filter_map(|(trial, _)| trial.figures).collect(),
        }
    };
    let cells: Vec<_> = newest.into_iter().map(of_cell).collect();
    let mut lines = crate::cells_so_far(&cells, style);
    if hidden > 0 {
        lines.push(format!("  … and {hidden} other combinations"));
    }
    lines
}
