//! The texts of a table's cells: one unit for all latencies of a table, points under points.
//! Used by all writers, so that a table has the same figures in each format.

use super::{Cell, Column, Content, Table};
use crate::figures::{TIE, Unit, count, decimals_of_rates, decimals_of_table, known_to, percent};
use crate::metrics::Quantity;
use crate::prose::escaped_line;
use crate::table::points_aligned;

/// Digits after the point of latencies, at most.
const DECIMALS_MAX: usize = 3;

/// A table whose cells are texts.
pub(crate) struct TableText {
    /// The first column of a group has the group's name before its own.
    pub(crate) titles: Vec<String>,
    /// The titles below those of the groups.
    pub(crate) below_groups: Vec<String>,
    /// The titles, each with its group and its unit: for cells that stand alone.
    pub(crate) labels: Vec<String>,
    /// Of each column, its cells; of figures with their points under each other.
    pub(crate) columns: Vec<Vec<String>>,
}

/// The unit of a table's latencies, and the digits after the point with which they are shown.
#[derive(Copy, Clone)]
pub(crate) struct LatencyFormat {
    pub(crate) unit: Unit,
    pub(crate) decimals: usize,
}

/// By the table's typical latencies, or else the middle one of all that it has; `None` if it has none.
pub(crate) fn latency_format(table: &Table) -> Option<LatencyFormat> {
    let mut typical: Vec<f64> = table.typical_us.clone();
    if typical.is_empty() {
        let is_latency = |cell: &&Cell| latency_of(cell).is_some_and(|us| us > 0.0 && us.is_finite());
        typical = table.rows.iter().flatten().filter(is_latency).filter_map(latency_of).collect();
        typical.sort_by(f64::total_cmp);
        let middle = typical.get(typical.len() / 2).copied();
        typical.splice(..0, middle);
    }
    let first = *typical.first()?;
    let unit = Unit::for_typical(first);
    let smallest = typical.iter().copied().fold(first, f64::min);
    Some(LatencyFormat { unit, decimals: decimals_of_table(unit.of(smallest)).min(DECIMALS_MAX) })
}

fn latency_of(cell: &Cell) -> Option<f64> {
    match cell.content {
        Content::Figure { quantity: Quantity::Microseconds, value, .. }
        | Content::MeanAndDeviation { mean_us: value, .. } => Some(value),
        Content::Figure { .. } | Content::Text(_) | Content::Code(_) | Content::Nothing => None,
    }
}

/// The table with its latencies as `format` has them.
pub(crate) fn table_text(table: &Table, format: Option<LatencyFormat>) -> TableText {
    let mut below_groups: Vec<String> =
        table.columns.iter().map(|column| escaped_line(&column.title)).collect();
    let mut labels: Vec<String> = table.columns.iter().map(label).collect();
    let is_first = |at: usize| at == 0 || table.columns[at - 1].group != table.columns[at].group;
    let mut titles: Vec<String> = (0..labels.len())
        .map(|at| if is_first(at) { labels[at].clone() } else { below_groups[at].clone() })
        .collect();
    let unit = format.map(|format| format.unit.symbol());
    let empty = Cell::default();
    let column =
        |at: usize| -> Vec<&Cell> { table.rows.iter().map(|row| row.get(at).unwrap_or(&empty)).collect() };
    if let Some(unit) = unit {
        let has_latency = |at: usize| column(at).into_iter().any(|cell| latency_of(cell).is_some());
        let with_latency: Vec<usize> = (0..labels.len()).filter(|at| has_latency(*at)).collect();
        let add_unit =
            |titles: &mut [String]| with_latency.iter().for_each(|at| titles[*at] += &format!(", {unit}"));
        add_unit(&mut labels);
        // Above the names of the rows, if the table is of latencies alone.
        if table.typical_us.is_empty() {
            [&mut titles, &mut below_groups].into_iter().for_each(|titles| add_unit(titles));
        } else {
            [&mut titles, &mut below_groups].into_iter().for_each(|titles| titles[0] += &format!(", {unit}"));
        }
    }
    let columns = (0..table.columns.len()).map(|at| column_text(&column(at), format)).collect();
    TableText { titles, below_groups, labels, columns }
}

/// The title of a column behind that of its group.
fn label(column: &Column) -> String {
    format!("{} {}", column.group, escaped_line(&column.title)).trim_start().to_owned()
}

fn column_text(cells: &[&Cell], format: Option<LatencyFormat>) -> Vec<String> {
    let quantity = cells.iter().find_map(|cell| match cell.content {
        Content::Figure { quantity, .. } => Some(quantity),
        Content::MeanAndDeviation { .. } => Some(Quantity::Microseconds),
        Content::Text(_) | Content::Code(_) | Content::Nothing => None,
    });
    let values: Vec<Option<f64>> = cells
        .iter()
        .map(|cell| match cell.content {
            Content::Figure { value, .. } | Content::MeanAndDeviation { mean_us: value, .. } => Some(value),
            Content::Text(_) | Content::Code(_) | Content::Nothing => None,
        })
        .collect();
    let shares: Vec<Option<f64>> = cells
        .iter()
        .map(|cell| match cell.content {
            Content::Figure { plus_minus, .. } => plus_minus,
            Content::MeanAndDeviation { .. } | Content::Text(_) | Content::Code(_) | Content::Nothing => None,
        })
        .collect();
    let figures = quantity.map_or_else(Vec::new, |quantity| figures(quantity, &values, &shares, format));
    let deviations: Vec<Option<f64>> = cells
        .iter()
        .map(|cell| match cell.content {
            Content::MeanAndDeviation { deviation_us, .. } => Some(deviation_us),
            Content::Figure { .. } | Content::Text(_) | Content::Code(_) | Content::Nothing => None,
        })
        .collect();
    let has_deviations = deviations.iter().any(Option::is_some);
    let deviations = if has_deviations {
        figures_of_latency(&deviations, &[], format)
    } else {
        vec![String::new(); cells.len()]
    };
    let intervals: Vec<String> = shares.iter().map(|share| share.map_or(String::new(), plus_minus)).collect();
    let intervals_len = intervals.iter().map(|it| it.chars().count()).max().unwrap_or(0);
    let text = |(at, cell): (usize, &&Cell)| {
        let main = match &cell.content {
            Content::Text(text) | Content::Code(text) => escaped_line(text),
            Content::Figure { .. } => figures[at].clone(),
            Content::MeanAndDeviation { .. } => format!("{} ± {}", figures[at], deviations[at]),
            Content::Nothing if has_deviations => format!("{} ± {}", figures[at], deviations[at]),
            Content::Nothing if quantity.is_some() => figures[at].clone(),
            Content::Nothing => String::new(),
        };
        if intervals_len > 0 { format!("{main} {:<intervals_len$}", intervals[at]) } else { main }
    };
    cells.iter().enumerate().map(text).collect()
}

/// Half of an interval as a share of its figure: `± 1.2 %`.
pub(crate) fn plus_minus(share: f64) -> String {
    if share < 1.0 { format!("±{TIE}{}", percent(share, 1.0)) } else { format!("±{TIE}100{TIE}% or more") }
}

/// Figures with their points under each other; the interval of each, a share of it, takes digits away.
fn with_known_digits(values: &[Option<f64>], shares: &[Option<f64>], decimals: usize) -> Vec<String> {
    let known = |(at, value): (usize, &Option<f64>)| {
        let value = (*value)?;
        let Some(share) = shares.get(at).copied().flatten() else { return Some((value, decimals)) };
        let (value, known) = known_to(value, share);
        Some((value, known.min(decimals)))
    };
    points_aligned(values.iter().enumerate().map(known))
}

fn figures_of_latency(
    values: &[Option<f64>],
    shares: &[Option<f64>],
    format: Option<LatencyFormat>,
) -> Vec<String> {
    let Some(LatencyFormat { unit, decimals }) = format else { return vec![String::new(); values.len()] };
    let in_unit: Vec<Option<f64>> = values.iter().map(|us| us.map(|us| unit.of(us))).collect();
    with_known_digits(&in_unit, shares, decimals)
}

fn figures(
    quantity: Quantity,
    values: &[Option<f64>],
    shares: &[Option<f64>],
    format: Option<LatencyFormat>,
) -> Vec<String> {
    match quantity {
        Quantity::Microseconds => figures_of_latency(values, shares, format),
        Quantity::PerSecond => {
            let positive = values.iter().flatten().copied().filter(|value| *value > 0.0);
            let decimals = decimals_of_rates(positive.fold(f64::INFINITY, f64::min));
            with_known_digits(values, shares, decimals)
        }
        Quantity::Count => {
            let shown = |value: f64| if is_count(value) { whole(value) } else { quantity.shown(value) };
            values.iter().map(|value| value.map_or("-".to_owned(), shown)).collect()
        }
        Quantity::Bytes | Quantity::Seconds | Quantity::Share | Quantity::Number | Quantity::Percentile => {
            values.iter().map(|value| value.map_or("-".to_owned(), |value| quantity.shown(value))).collect()
        }
    }
}

fn is_count(value: f64) -> bool {
    (0.0..1e15).contains(&value)
}

// Whole and below 10¹⁵.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(value: f64) -> String {
    count(value.round() as u64)
}

/// Whether a column is of words, and begins at the left.
pub(super) fn is_left(at: usize, column: &Column) -> bool {
    at == 0 || column.is_text
}

#[cfg(test)]
mod tests {
    use super::super::{Block, Document, Section};
    use super::*;
    use crate::figures::with_ordinary_spaces;

    fn figures_of(quantity: Quantity, values: &[f64]) -> Table {
        let row = |value: &f64| vec![Cell::text("a"), Cell::figure(quantity, *value)];
        let columns = vec![Column::text("name"), Column::figures("figure")];
        Table { columns, rows: values.iter().map(row).collect(), ..Table::default() }
    }

    #[test]
    fn sizes_have_the_unit_that_the_server_gives_them() {
        let table = figures_of(Quantity::Bytes, &[0.0, 12.0, 4.5e6, 5e6, 6e6]);
        let column = table_text(&table, None).columns.remove(1);
        let shown: Vec<String> = column.iter().map(|cell| with_ordinary_spaces(cell)).collect();
        assert_eq!(shown, ["0 bytes", "12 bytes", "4395 kB", "4883 kB", "5859 kB"]);
        let column = table_text(&figures_of(Quantity::Bytes, &[0.25]), None).columns.remove(1);
        assert_eq!(with_ordinary_spaces(&column[0]), "0.250 bytes");
    }

    #[test]
    fn columns_of_a_group_share_its_name_and_a_cell_that_stands_alone_has_it() {
        let mut table = figures_of(Quantity::Microseconds, &[1_500.0]);
        table.columns = vec![Column::text("name"), Column::grouped("staleness", "mean")];
        table.columns.push(Column::grouped("staleness", "max"));
        table.rows[0].push(Cell::figure(Quantity::Microseconds, 2_500.0));
        let text = table_text(&table, latency_format(&table));
        assert_eq!(text.titles, ["name", "staleness mean, ms", "max, ms"]);
        assert_eq!(text.below_groups, ["name", "mean, ms", "max, ms"]);
        assert_eq!(text.labels, ["name", "staleness mean, ms", "staleness max, ms"]);
        let sections =
            vec![Section::new("a", "", "", super::super::Audience::All, vec![Block::Table(table)])];
        let page = crate::html(&Document { sections, ..Document::default() });
        assert!(page.contains("<th scope=\"colgroup\" colspan=\"2\">staleness</th>"), "{page}");
        assert!(page.contains("data-label=\"staleness max, ms\""), "{page}");
    }

    #[test]
    fn a_row_that_is_shorter_than_the_others_has_empty_cells() {
        let mut table = figures_of(Quantity::Number, &[1.0, 2.0, f64::INFINITY, f64::NAN]);
        table.rows[0].truncate(1);
        assert_eq!(table_text(&table, None).columns[1][..2], ["-", "2.00"]);
        let blocks = vec![Block::Table(table)];
        let sections = vec![Section::new("a", "", "", super::super::Audience::All, blocks)];
        let document = Document { sections, ..Document::default() };
        let style = crate::TextStyle { colour: false, width: 80 };
        assert!(super::super::text(&document, &style).contains("2.00"));
        assert!(super::super::markdown(&document).contains("| 2.00 |"));
        assert!(crate::html(&document).contains("2.00"));
    }
}
