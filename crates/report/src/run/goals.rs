//! The goals of a run in its report: the first line, and a table of all goals.
//! The sentences are in `wording`.

use crate::document::{Banner, Block};
use crate::goals;
use crate::wording::{self, Measurement};
use results::{GoalResult, Record};

/// The first line: whether the goals were met. `None` without goals.
pub(super) fn banner(record: &Record) -> Option<Banner> {
    let (verdict, text) = wording::goals(&record.summary.goals, Measurement::Run)?;
    let stopped = record.summary.goal_stop.and_then(|stop| wording::stopped(&record.summary.goals, stop));
    let text = stopped.map_or(text.clone(), |stopped| format!("{text} {stopped}"));
    Some(Banner::new(goals::tone(verdict), text))
}

/// A table of the goals; nothing without goals.
pub(super) fn blocks(record: &Record) -> Vec<Block> {
    let results = &record.summary.goals;
    let of = results.iter().any(|result| result.stage.is_some()).then_some("stage");
    let stage = |result: &GoalResult| result.stage.map_or(String::new(), |stage| (stage + 1).to_string());
    let rows = results.iter().map(|result| (stage(result), result));
    let mut blocks = goals::table(of, rows, Measurement::Run);
    let stopped = record.summary.goal_stop.and_then(|stop| wording::stopped(results, stop));
    blocks.extend(stopped.map(Block::quiet));
    blocks
}
