//! The actions of an experiment's trials: how long each took in each combination, what it wrote and left behind, and the
//! longest response, which shows whether it blocked the load.

use results::{ActionOutcome, ActionResult};

use super::overview::Overview;
use super::repeats::{Known, Repeated, figure};
use super::{Metric, Quantity};
use crate::document::{Block, Cell, Column, Table, Tone};
use crate::figures::{asked_seconds, half_width, latency, latency_known_to, plus_minus};
use crate::prose::{cut, escaped_line};
use crate::run::{ActionEffect, action_detail, action_outcome};

/// The longest name of a combination.
const LABEL_LEN_MAX: usize = 48;

type Of = fn(&ActionEffect) -> Option<f64>;
/// What an action wrote and left: title, quantity, value.
const COLUMNS: [(&str, Quantity, Of); 3] = [
    ("rows written", Quantity::Count, |effect| effect.written_rows),
    ("dead rows after", Quantity::Count, |effect| effect.dead_rows),
    ("size after", Quantity::Bytes, |effect| effect.bytes),
];

/// A row for each combination and action; nothing without actions.
pub(super) fn blocks(overview: &Overview) -> Vec<Block> {
    let rows: Vec<Vec<Cell>> = (0..overview.cells.len()).flat_map(|cell| of_cell(overview, cell)).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let mut columns = vec![Column::text("combination")];
    columns.extend(["at", "took", "longest response"].map(Column::figures));
    columns.extend(COLUMNS.map(|(title, _, _)| Column::figures(title)));
    columns.extend(["ended", "action"].map(Column::text));
    let explanation = "Rows, dead rows and sizes are those of the tables that the action names or the scripts use, with \
                       their indexes. The longest response is that of the whole run.";
    vec![
        Block::Table(Table { columns, rows, optional_columns: 1, ..Table::default() }),
        Block::quiet(explanation),
    ]
}

fn of_cell(overview: &Overview, cell: usize) -> Vec<Vec<Cell>> {
    let trials: Vec<(u32, &[ActionResult])> = overview
        .complete(cell)
        .filter_map(|(trial, run)| Some((trial.repeat, run.summary.as_ref()?.actions.as_slice())))
        .collect();
    let number = trials.iter().map(|(_, actions)| actions.len()).max().unwrap_or(0);
    let longest = overview.cells[cell].figure(Metric::Max);
    let row = |at: usize| -> Option<Vec<Cell>> {
        let of_trials = || trials.iter().filter_map(|(repeat, actions)| Some((*repeat, actions.get(at)?)));
        let (_, first) = of_trials().next()?;
        let effects =
            |of: Of| of_trials().map(move |(repeat, action)| (repeat, of(&ActionEffect::new(action))));
        let label = cut(&escaped_line(&overview.label(cell)), LABEL_LEN_MAX);
        let mut row = vec![
            Cell::text(label).with_link(format!("cell-{}", cell + 1)),
            Cell::text(asked_seconds(first.action.at_s)),
            time(Known::of(effects(|effect| effect.took_us)).figure()),
            time(longest),
        ];
        row.extend(COLUMNS.map(|(_, quantity, of)| figure(Known::of(effects(of)).figure(), quantity, false)));
        row.push(ended(of_trials().map(|(_, action)| &action.outcome)));
        row.push(Cell::code(action_detail(&first.action.work)));
        Some(row)
    };
    (0..number).filter_map(row).collect()
}

/// A time in its own unit: actions of one experiment may take milliseconds or minutes.
fn time(figure: Option<&Repeated>) -> Cell {
    let Some(figure) = figure else { return Cell::default() };
    let Some((low, high)) = figure.interval.filter(|_| figure.mean > 0.0) else {
        return Cell::text(latency(figure.mean));
    };
    let share = half_width(figure.mean, low, high) / figure.mean;
    let note = plus_minus(figure.mean, low, high).unwrap_or_default();
    Cell::text(latency_known_to(figure.mean, share)).with_note(note)
}

/// The outcome, if all trials have the same; otherwise each with its number.
fn ended<'a>(outcomes: impl Iterator<Item = &'a ActionOutcome>) -> Cell {
    let mut kinds: Vec<(String, usize)> = Vec::new();
    let mut tone = Tone::Plain;
    for outcome in outcomes {
        if *outcome != ActionOutcome::Succeeded {
            tone = Tone::Bad;
        }
        let name = action_outcome(outcome);
        match kinds.iter_mut().find(|(known, _)| *known == name) {
            Some((_, number)) => *number += 1,
            None => kinds.push((name, 1)),
        }
    }
    let text = match kinds.as_slice() {
        [(name, _)] => name.clone(),
        several => {
            several.iter().map(|(name, number)| format!("{number} {name}")).collect::<Vec<_>>().join(", ")
        }
    };
    Cell::text(text).with_tone(tone)
}
