//! The goals of an experiment's trials: the first line of the report says which combinations met them. A table has each
//! goal of each combination, with the figure of the trial that is farthest from meeting it.

use stats::goals::{GoalResult, GoalSide, GoalVerdict};

use super::Overview;
use crate::document::{Banner, Block};
use crate::goals::{table, tone};
use crate::prose::escaped_line;
use crate::wording::{self, Measurement};

/// Combinations that the first line names for each verdict.
const NAMED_MAX: usize = 4;

/// Which combinations met their goals. `None` without goals.
pub(super) fn banner(overview: &Overview) -> Option<Banner> {
    let of_cells: Vec<(GoalVerdict, String)> =
        (0..overview.cells.len()).filter_map(|cell| of_cell(overview, cell)).collect();
    let all = of_cells.len();
    let order = [GoalVerdict::Missed, GoalVerdict::Undecided, GoalVerdict::Met];
    let worst = order.into_iter().find(|verdict| of_cells.iter().any(|(it, _)| it == verdict))?;
    let clause = |verdict: GoalVerdict| {
        let named: Vec<&str> =
            of_cells.iter().filter(|(it, _)| *it == verdict).map(|(_, name)| name.as_str()).collect();
        let more = named.len().saturating_sub(NAMED_MAX);
        let more = if more > 0 { format!("; {more} more") } else { String::new() };
        let listed = named.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join("; ");
        let verdict = wording::verdict_name(verdict).to_uppercase();
        (!named.is_empty())
            .then(|| format!("{verdict} BY {} OF {all} COMBINATIONS: {listed}{more}.", named.len()))
    };
    let clauses: Vec<String> = order.into_iter().filter_map(clause).collect();
    Some(Banner::new(tone(worst), format!("GOALS {}", clauses.join(" "))))
}

/// The goals of each combination.
pub(super) fn blocks(overview: &Overview) -> Vec<Block> {
    let rows = (0..overview.cells.len()).flat_map(|cell| {
        let name = escaped_line(&overview.label(cell));
        worst(overview, cell).into_iter().map(move |result| (name.clone(), result))
    });
    table(Some("combination"), rows, Measurement::Run)
}

/// The verdict on a combination, and its name with the goals that have this verdict.
fn of_cell(overview: &Overview, cell: usize) -> Option<(GoalVerdict, String)> {
    let results = worst(overview, cell);
    let verdicts = results.iter().map(|result| result.verdict);
    let verdict = verdicts.collect::<stats::goals::GoalTally>().verdict()?;
    let name = escaped_line(&overview.description_of(cell));
    if verdict == GoalVerdict::Met {
        return Some((verdict, name));
    }
    let goals = results.iter().filter(|result| result.verdict == verdict);
    let goals: Vec<String> = goals.map(|result| escaped_line(&result.goal.to_string())).collect();
    Some((verdict, format!("{name} ({})", goals.join(", "))))
}

/// Each goal of a combination in the trial that is farthest from meeting it.
fn worst(overview: &Overview, cell: usize) -> Vec<&GoalResult> {
    let mut worst: Vec<&GoalResult> = Vec::new();
    let trials = overview.cells[cell].trials.iter().map(|trial| &overview.trials[*trial]);
    for result in trials.flat_map(|trial| trial.goals()) {
        match worst.iter_mut().find(|known| known.goal == result.goal) {
            Some(known) if is_worse(result, known) => *known = result,
            Some(_) => {}
            None => worst.push(result),
        }
    }
    worst
}

/// Whether a trial's result is farther from meeting the goal than another's. A figure without a value is the farthest.
fn is_worse(result: &GoalResult, than: &GoalResult) -> bool {
    let rank = |verdict| match verdict {
        GoalVerdict::Met => 0,
        GoalVerdict::Undecided => 1,
        GoalVerdict::Missed => 2,
    };
    let distance = |result: &GoalResult| match (result.value, result.goal.side) {
        (Some(value), GoalSide::Below) => value,
        (Some(value), GoalSide::Above) => -value,
        (None, _) => f64::INFINITY,
    };
    let ranks = rank(result.verdict).cmp(&rank(than.verdict));
    ranks.then(distance(result).total_cmp(&distance(than))).is_gt()
}
