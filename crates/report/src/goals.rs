//! The table of goals that reports of runs, of comparisons and of experiments share.
//! The sentences are in `wording`.

use stats::goals::{GoalFigure, GoalResult, GoalVerdict};

use crate::document::{Block, Cell, Column, TableOf, Tone};
use crate::forest::{EffectVerdict, Forest, ForestRow};
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
    let forest = forest(of.is_some(), &results);
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
    let figures = [Block::Table(table.table), Block::quiet(method)];
    forest.map(Block::forest).into_iter().chain(figures).collect()
}

/// Fewer goals are told by the table alone.
const FOREST_MIN: usize = 2;
/// Of more goals the table tells.
const FOREST_MAX: usize = 40;

/// Each figure ÷ its limit: which side of 1 is met follows from the goal.
fn forest(is_of_several: bool, results: &[(String, &GoalResult)]) -> Option<Forest> {
    if !(FOREST_MIN..=FOREST_MAX).contains(&results.len()) {
        return None;
    }
    let row = |(name, result): &(String, &GoalResult)| {
        let goal = escaped_line(&result.goal.to_string());
        let name = match (result.stage, is_of_several) {
            (Some(stage), _) => format!("stage {}: {goal}", stage + 1),
            (None, true) => format!("{name}: {goal}"),
            (None, false) => goal,
        };
        // Latencies are microseconds here, and nanoseconds in goals.
        let limit = match result.goal.figure {
            GoalFigure::Latency(..) => result.goal.limit / 1e3,
            GoalFigure::Over(..)
            | GoalFigure::Failed
            | GoalFigure::Skipped
            | GoalFigure::Late
            | GoalFigure::Tps => result.goal.limit,
        };
        let verdict = match result.verdict {
            GoalVerdict::Met => EffectVerdict::Better,
            GoalVerdict::Missed => EffectVerdict::Worse,
            GoalVerdict::Undecided => EffectVerdict::Inconclusive,
        };
        let ratio = result.value.map(|value| value / limit).filter(|ratio| ratio.is_finite() && *ratio > 0.0);
        let interval = result.low.zip(result.high).map(|(low, high)| (low / limit, high / limit));
        match ratio {
            Some(ratio) => {
                ForestRow { change: String::new(), ..ForestRow::new(name, ratio, interval, verdict) }
            }
            None => ForestRow { verdict, ..ForestRow::unknown(name, wording::goal_value(result)) },
        }
    };
    Some(Forest {
        title: "Figures and their limits".to_owned(),
        caption: "figure ÷ limit of its goal, logarithmic, with 95 % intervals".to_owned(),
        rows: results.iter().map(row).collect(),
        tolerance: None,
        words: ["met", "missed", "undecided", "", "not judged"],
    })
}

/// The goals that were missed or, without one, those that are undecided.
pub fn unmet_goals(results: &[GoalResult]) -> Option<(GoalVerdict, String)> {
    let verdict = GoalVerdict::of_all(results).filter(|verdict| *verdict != GoalVerdict::Met)?;
    let goals = results.iter().filter(|result| result.verdict == verdict);
    let goals: Vec<String> = goals.map(wording::named_goal).collect();
    Some((verdict, goals.join(", ")))
}
