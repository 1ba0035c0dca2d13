//! The outages of an experiment's trials: lost connections, the longest time without a write, and the time until the load
//! had recovered, of each combination with its interval over the repeats. Used by `document`.

use super::Metric;
use super::overview::Overview;
use super::repeats::{Repeated, figure};
use crate::document::{Block, Cell, Column, Table};
use crate::prose::{cut, escaped_line};

/// The longest name of a combination.
const LABEL_LEN_MAX: usize = 48;
const COLUMNS: [Metric; 3] = [Metric::WriteOutage, Metric::Recovery, Metric::LostConnections];

/// A row for each combination that lost connections; nothing if none did.
pub(super) fn blocks(overview: &Overview) -> Vec<Block> {
    let rows: Vec<Vec<Cell>> = (0..overview.cells.len()).filter_map(|cell| of_cell(overview, cell)).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let mut columns = vec![Column::text("combination")];
    columns.extend(COLUMNS.map(|metric| Column::figures(metric.title())));
    let explanation = "The time without a write is the longest in an outage of the trial. The time to recover is that \
                       from the last write before that outage until two seconds with 90 % of the former rate. A \
                       combination has a mean only if all its complete trials have the figure.";
    vec![Block::Table(Table { columns, rows, ..Table::default() }), Block::quiet(explanation)]
}

fn of_cell(overview: &Overview, cell: usize) -> Option<Vec<Cell>> {
    let number = overview.complete_trials(cell);
    let having = |metric: Metric| {
        let trials = overview.complete(cell);
        trials.filter(|(trial, _)| trial.figure(metric).is_some()).count()
    };
    if having(Metric::LostConnections) == 0 {
        return None;
    }
    let label = cut(&escaped_line(&overview.label(cell)), LABEL_LEN_MAX);
    let mut row = vec![Cell::text(label).with_link(format!("cell-{}", cell + 1))];
    row.extend(COLUMNS.map(|metric| {
        let known: Option<&Repeated> = overview.cells[cell].figure(metric);
        match known {
            Some(_) => figure(known, metric.quantity(), true),
            None => Cell::text(format!("in {} of {number}", having(metric))),
        }
    }));
    Some(row)
}
