//! The table of goals that reports of runs, of comparisons and of experiments share.
//! The sentences are in `wording`.

use stats::goals::{GoalResult, GoalVerdict};

use crate::document::{Block, Cell, Column, TableOf, Tone};
use crate::prose::escaped_line;
use crate::wording::{self, Measurement};

/// The colour of a verdict.
pub(crate) fn tone(verdict: GoalVerdict) -> Tone {
    match verdict {
        GoalVerdict::Met => Tone::Good,
        GoalVerdict::Missed => Tone::Bad,
        GoalVerdict::Undecided => Tone::Caution,
    }
}

/// A row for each goal, and how the intervals were computed; nothing without goals. `of` is the title of a column that
/// says what each result is of.
pub(crate) fn table<'a>(
    of: Option<&str>,
    results: impl IntoIterator<Item = (String, &'a GoalResult)>,
    measurement: Measurement,
) -> Vec<Block> {
    let results: Vec<(String, &GoalResult)> = results.into_iter().collect();
    if results.is_empty() {
        return Vec::new();
    }
    let method = wording::method_of_goals(results.iter().map(|(_, result)| *result), measurement);
    let mut table = TableOf::new(results);
    if let Some(of) = of {
        table.text(of, |(name, _)| name.clone());
    }
    table.text("goal", |(_, result)| escaped_line(&result.goal.to_string()));
    table.column(Column::text("verdict"), |(_, result)| {
        Cell::text(wording::verdict_name(result.verdict)).with_tone(tone(result.verdict))
    });
    table.text("figure", |(_, result)| wording::goal_value(result));
    table.text("95 % interval", |(_, result)| wording::goal_interval(result).unwrap_or_default());
    vec![Block::Table(table.table), Block::quiet(method)]
}

/// The goals that were missed or, without one, those that are undecided.
pub fn unmet_goals(results: &[GoalResult]) -> Option<(GoalVerdict, String)> {
    let verdict = GoalVerdict::of_all(results).filter(|verdict| *verdict != GoalVerdict::Met)?;
    let goals = results.iter().filter(|result| result.verdict == verdict);
    let goals: Vec<String> = goals.map(|result| escaped_line(&result.goal.to_string())).collect();
    Some((verdict, goals.join(", ")))
}
