//! The goals of a run in its report: the first line, and a table of all goals.
//! The sentences are in `wording`.

use results::Record;
use stats::goals::{GoalResult, GoalVerdict};

use crate::document::{Banner, Block, Cell, Column, Table, Tone};
use crate::prose::escaped_line;
use crate::wording;

/// The first line: whether the goals were met. `None` without goals.
pub(super) fn banner(record: &Record) -> Option<Banner> {
    let (verdict, text) = wording::goals(&record.summary.goals)?;
    let stopped = record.summary.goal_stop.and_then(|stop| wording::stopped(&record.summary.goals, stop));
    let text = stopped.map_or(text.clone(), |stopped| format!("{text} {stopped}"));
    Some(Banner::new(tone(verdict), text))
}

fn tone(verdict: GoalVerdict) -> Tone {
    match verdict {
        GoalVerdict::Met => Tone::Good,
        GoalVerdict::Missed => Tone::Bad,
        GoalVerdict::Undecided => Tone::Caution,
    }
}

/// A table of the goals; nothing without goals.
pub(super) fn blocks(record: &Record) -> Vec<Block> {
    let results = &record.summary.goals;
    if results.is_empty() {
        return Vec::new();
    }
    let row = |result: &GoalResult| {
        vec![
            Cell::text(escaped_line(&result.goal.to_string())),
            Cell::text(wording::verdict_name(result.verdict)).with_tone(tone(result.verdict)),
            Cell::text(wording::goal_value(result)),
            Cell::text(wording::goal_interval(result).unwrap_or_default()),
        ]
    };
    let columns = ["goal", "verdict", "figure", "95 % interval"].map(Column::text).to_vec();
    let table = Table { columns, rows: results.iter().map(row).collect(), ..Table::default() };
    let method = wording::method_of_goals(results, record.summary.goal_stop);
    vec![Block::Table(table), Block::Paragraph(Tone::Quiet, method)]
}

/// The goals that were missed or, without one, those that are undecided.
pub fn unmet_goals(record: &Record) -> Option<(GoalVerdict, String)> {
    let unmet = wording::goals(&record.summary.goals).filter(|(verdict, _)| *verdict != GoalVerdict::Met)?;
    let verdict = unmet.0;
    let goals = record.summary.goals.iter().filter(|result| result.verdict == verdict);
    let goals: Vec<String> = goals.map(|result| escaped_line(&result.goal.to_string())).collect();
    Some((verdict, goals.join(", ")))
}
