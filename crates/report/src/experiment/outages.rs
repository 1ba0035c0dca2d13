//! The outages of an experiment's trials: lost connections, the longest time without a write, and the time until the load
//! had recovered, of each combination with its interval over the repeats. Used by `document`.

use super::chart::Curve;
use super::overview::Overview;
use super::repeats::{Repeated, figure};
use super::{Metric, Quantity};
use crate::chart::{Axis, Band, Chart, Colour, Plot, Point, Series};
use crate::document::{Block, Cell, Column, KeyFigure, Table};
use crate::figures::{counted, measured_seconds};
use crate::prose::{cut, escaped_line};

/// The longest name of a combination.
const LABEL_LEN_MAX: usize = 48;
const COLUMNS: [Metric; 3] = [Metric::WriteOutage, Metric::Recovery, Metric::LostConnections];

/// Combinations that the answer names.
const NAMED_MAX: usize = 3;
/// And the first screen of a page.
const FIGURES_MAX: usize = 8;

/// The combinations with their times without a write, the longest first.
fn longest_first(overview: &Overview) -> Vec<(usize, &Repeated)> {
    let known = (0..overview.cells.len())
        .filter_map(|cell| Some((cell, overview.cells[cell].figure(Metric::WriteOutage)?)));
    let mut known: Vec<(usize, &Repeated)> = known.collect();
    known.sort_by(|(_, one), (_, other)| other.mean.total_cmp(&one.mean));
    known
}

/// `The longest time without a write: 3.0 s with kill (2.0 to 4.0 s in 3 repeats).`
pub(super) fn longest(overview: &Overview) -> Option<String> {
    let (cell, times) = *longest_first(overview).first()?;
    let label = cut(&escaped_line(&overview.label(cell)), LABEL_LEN_MAX);
    let mean = measured_seconds(times.mean);
    Some(format!("The longest time without a write: {mean} with {label} ({}).", range(times)))
}

/// The time without a write of each fault.
pub(super) fn figures(overview: &Overview) -> Option<Block> {
    let figure = |(cell, times): &(usize, &Repeated)| KeyFigure {
        label: cut(&escaped_line(&overview.label(*cell)), LABEL_LEN_MAX),
        value: measured_seconds(times.mean),
        note: range(times),
        is_large: false,
    };
    let figures: Vec<KeyFigure> = longest_first(overview).iter().take(FIGURES_MAX).map(figure).collect();
    (!figures.is_empty())
        .then(|| Block::Figures(figures, "time without a write of each combination".to_owned()))
}

/// The longest times without a write, the longest first: `Without a write: kill 3.0 s (2.0 to 4.0 s in 3 repeats), pause
/// 2.1 s (1 repeat).` `None` if no trial lost a connection.
pub(super) fn answer(overview: &Overview) -> Option<String> {
    let known = longest_first(overview);
    let told = |(cell, times): &(usize, &Repeated)| {
        let label = cut(&escaped_line(&overview.label(*cell)), LABEL_LEN_MAX);
        format!("{label} {} ({})", measured_seconds(times.mean), range(times))
    };
    let named: Vec<String> = known.iter().take(NAMED_MAX).map(told).collect();
    let more = known.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!("; {more} more are shorter") } else { String::new() };
    (!named.is_empty()).then(|| format!("Without a write: {}{more}.", named.join(", ")))
}

/// `2.0 to 4.0 s in 3 repeats`, `1 repeat`
fn range(times: &Repeated) -> String {
    let values = times.values.iter().map(|(_, seconds)| *seconds);
    let (low, high) = (values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max));
    let repeats = counted(times.values.len() as u64, "repeat", "repeats");
    if times.values.len() < 2 {
        return repeats;
    }
    format!("{} to {} in {repeats}", measured_seconds(low), measured_seconds(high))
}

/// The throughput of each combination over time, small, on common axes, with its faults marked; nothing without faults.
pub(super) fn multiples(overview: &Overview) -> Vec<Block> {
    let curves = &overview.curves;
    if answer(overview).is_none() || curves.iter().all(|curve| curve.actions.is_empty()) {
        return Vec::new();
    }
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let (end_s, tps_max) =
        points().fold((0.0_f64, 0.0_f64), |(end_s, max), (time_s, tps)| (end_s.max(*time_s), max.max(*tps)));
    let chart = |curve: &Curve| {
        let label = cut(&escaped_line(&overview.label(curve.cell)), LABEL_LEN_MAX);
        let points = curve.points.iter().map(|(x, y)| Point::new(*x, *y)).collect();
        let series = Series { is_filled: true, ..Series::new("", Colour::Run(0), points) };
        let band = |(start, end, detail): &(f64, Option<f64>, String)| Band {
            colour: Colour::Action,
            kind: "action".to_owned(),
            detail: detail.clone(),
            start: *start,
            end: *end,
            is_shaded: true,
            has_words: false,
        };
        let plot = Plot::Lines {
            x: Axis::new("", Quantity::Seconds).with_ends(0.0, end_s),
            y: Axis::new("", Quantity::PerSecond).with_ends(0.0, tps_max),
            series: vec![series],
            is_stacked: false,
            bands: curve.actions.iter().map(band).collect(),
        };
        vec![Block::chart(Chart { is_low: true, ..Chart::new(label, "transactions per second", plot) })]
    };
    vec![Block::Columns(curves.iter().map(chart).collect())]
}

/// A row for each combination if any lost connections; nothing if none did.
pub(super) fn blocks(overview: &Overview) -> Vec<Block> {
    let cells = 0..overview.cells.len();
    if !cells.clone().any(|cell| having(overview, cell, Metric::LostConnections) > 0) {
        return Vec::new();
    }
    let rows: Vec<Vec<Cell>> = cells.map(|cell| of_cell(overview, cell)).collect();
    let mut columns = vec![Column::text("combination")];
    columns.extend(COLUMNS.map(|metric| Column::figures(metric.title())));
    let explanation = "The time without a write is the longest in an outage of the trial. The time to recover is that \
                       from the last write before that outage until two seconds with 90 % of the former rate. A \
                       combination has a mean only if all its complete trials have the figure.";
    vec![Block::Table(Table { columns, rows, ..Table::default() }), Block::quiet(explanation)]
}

/// Complete trials of a combination that have the figure.
fn having(overview: &Overview, cell: usize, metric: Metric) -> usize {
    overview.complete(cell).filter(|(trial, _)| trial.figure(metric).is_some()).count()
}

fn of_cell(overview: &Overview, cell: usize) -> Vec<Cell> {
    let trials = overview.complete_trials(cell);
    let lost = having(overview, cell, Metric::LostConnections);
    let label = cut(&escaped_line(&overview.label(cell)), LABEL_LEN_MAX);
    let mut row = vec![Cell::text(label).with_link(format!("cell-{}", cell + 1))];
    row.extend(COLUMNS.map(|metric| {
        let known: Option<&Repeated> = overview.cells[cell].figure(metric);
        let number = having(overview, cell, metric);
        match (known, metric) {
            (Some(times), Metric::WriteOutage) => {
                figure(known, metric.quantity(), true).with_note(range(times))
            }
            (Some(_), _) => figure(known, metric.quantity(), true),
            (None, _) if lost == 0 => Cell::text(if trials == 0 { "—" } else { "no connection lost" }),
            (None, Metric::Recovery) if number == 0 => Cell::text("did not recover in the run"),
            (None, Metric::Recovery) => Cell::text(format!("recovered in {number} of {lost} outages")),
            (None, _) => Cell::text(format!("in {number} of {trials} trials")),
        }
    }));
    row
}
