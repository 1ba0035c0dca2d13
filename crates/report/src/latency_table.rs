//! The latency table of a summary: one unit for all of it and points under points, so that figures can
//! be compared down a column. It gives up gaps, then decimals, then letters of labels to fit the
//! terminal. Made by `text`; knows nothing of records but their latencies.

use results::Latency;

use crate::TextStyle;
use crate::figures::{Unit, count, decimals_of_rates, decimals_of_table, fixed};
use crate::prose::{Emphasis, cut, emphasise};

/// One line of the table.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// What it is the latency of.
    pub(crate) label: String,
    /// Its latencies; without any the line has dashes.
    pub(crate) latency: Option<Latency>,
    /// What else is known of a script, if the table is of scripts.
    pub(crate) script: Option<ScriptFigures>,
}

/// The figures of a script that are not latencies.
#[derive(Copy, Clone, Debug)]
pub(crate) struct ScriptFigures {
    pub(crate) tps: f64,
    pub(crate) failed: u64,
}

/// A column of latencies: its title and its figure.
type Column = (&'static str, fn(&Latency) -> f64);

/// What follows mean and deviation.
const COLUMNS: [Column; 5] = [
    ("p50", |latency| latency.p50),
    ("p90", |latency| latency.p90),
    ("p99", |latency| latency.p99),
    ("p99.9", |latency| latency.p999),
    ("max", |latency| latency.max),
];

/// Blanks between columns: if there is room, if there is not, and if nothing else helps.
const GAPS: [usize; 3] = [3, 2, 1];

/// Labels are not cut below this, even in a narrow terminal.
const LABEL_LEN_MIN: usize = 12;

/// A title and the cells under it, all of one length.
type Cells = Vec<String>;

/// The table, with `indent` blanks before each line; empty if no row has latencies. The unit suits the
/// median of the first row, the decimals suit the smallest median of all.
pub(crate) fn latency_table(title: &str, rows: &[Row], indent: usize, style: &TextStyle) -> String {
    let medians = || rows.iter().filter_map(|row| row.latency.as_ref()).map(|latency| latency.p50);
    let Some(typical) = medians().next() else {
        return String::new();
    };
    let unit = Unit::for_typical(typical);
    let decimals = decimals_of_table(unit.of(medians().fold(typical, f64::min)));
    let [roomy, tight, tightest] = GAPS;
    let fewer_decimals = (0..decimals).rev().map(|decimals| (tight, decimals));
    let attempts = [(roomy, decimals), (tight, decimals)].into_iter().chain(fewer_decimals);
    let room = style.width.saturating_sub(indent);
    let (gap, mut columns) = attempts
        .map(|(gap, decimals)| (gap, columns(title, rows, unit, decimals)))
        .find(|(gap, columns)| len(columns, *gap) <= room)
        .unwrap_or_else(|| (tightest, columns(title, rows, unit, 0)));
    cut_labels(&mut columns, gap, room);
    lines(&columns, gap, indent, style)
}

/// The length of a line.
fn len(columns: &[Cells], gap: usize) -> usize {
    let cells: usize = columns.iter().map(|cells| cells[0].chars().count()).sum();
    cells + gap * columns.len().saturating_sub(1)
}

fn lines(columns: &[Cells], gap: usize, indent: usize, style: &TextStyle) -> String {
    let line = |number: usize| {
        let cells: Vec<&str> = columns.iter().map(|cells| cells[number].as_str()).collect();
        let line = cells.join(&" ".repeat(gap));
        let line = line.trim_end();
        let line = if number == 0 { emphasise(line, Emphasis::Quiet, style) } else { line.to_owned() };
        format!("{}{line}\n", " ".repeat(indent))
    };
    (0..columns.first().map_or(0, Vec::len)).map(line).collect()
}

fn columns(title: &str, rows: &[Row], unit: Unit, decimals: usize) -> Vec<Cells> {
    let labels = std::iter::once(format!("{title}, {}", unit.symbol()))
        .chain(rows.iter().map(|row| row.label.clone()));
    let mut columns = vec![padded(labels.collect(), Side::Left)];
    columns.extend(script_columns(rows));
    let latencies = |of: fn(&Latency) -> f64| {
        let figures: Vec<Option<f64>> =
            rows.iter().map(|row| row.latency.as_ref().map(|latency| unit.of(of(latency)))).collect();
        points_under_points(&figures, decimals)
    };
    let (means, deviations) = (latencies(|latency| latency.mean), latencies(|latency| latency.stddev));
    let both = means.iter().zip(&deviations).map(|(mean, deviation)| format!("{mean} ± {deviation}"));
    columns.push(titled("mean ± stddev", both.collect()));
    columns.extend(COLUMNS.iter().map(|(title, of)| titled(title, latencies(*of))));
    columns
}

/// Rates, if the rows are of scripts, and failures, if there were any.
fn script_columns(rows: &[Row]) -> Vec<Cells> {
    let Some(scripts) = rows.iter().map(|row| row.script).collect::<Option<Vec<_>>>() else {
        return Vec::new();
    };
    let rates: Vec<Option<f64>> = scripts.iter().map(|script| Some(script.tps)).collect();
    let slowest =
        scripts.iter().map(|script| script.tps).filter(|tps| *tps > 0.0).fold(f64::INFINITY, f64::min);
    let mut columns = vec![titled("tps", points_under_points(&rates, decimals_of_rates(slowest)))];
    if scripts.iter().any(|script| script.failed > 0) {
        columns.push(titled("failed", scripts.iter().map(|script| count(script.failed)).collect()));
    }
    columns
}

/// Figures with so many digits after the point, or none where four stand before it, padded so that the
/// points of a column are under each other.
fn points_under_points(figures: &[Option<f64>], decimals: usize) -> Vec<String> {
    const LARGE: f64 = 999.5;
    let decimals_of = |figure: &f64| if figure.abs() >= LARGE { 0 } else { decimals };
    let after_point = figures.iter().flatten().map(decimals_of).max().unwrap_or(0);
    let cell = |figure: &Option<f64>| match figure {
        None => "-".to_owned(),
        Some(figure) if after_point > 0 && decimals_of(figure) == 0 => {
            format!("{}{}", fixed(*figure, 0), " ".repeat(after_point + 1))
        }
        Some(figure) => fixed(*figure, after_point),
    };
    padded(figures.iter().map(cell).collect(), Side::Right)
}

#[derive(Copy, Clone)]
enum Side {
    Left,
    Right,
}

/// The cells, each at its side of a column that is as wide as the widest.
fn padded(mut cells: Cells, side: Side) -> Cells {
    let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
    for cell in &mut cells {
        *cell = match side {
            Side::Left => format!("{cell:<width$}"),
            Side::Right => format!("{cell:>width$}"),
        };
    }
    cells
}

fn titled(title: &str, mut cells: Cells) -> Cells {
    cells.insert(0, title.to_owned());
    padded(cells, Side::Right)
}

/// The first column gives way if nothing else can.
fn cut_labels(columns: &mut [Cells], gap: usize, room: usize) {
    let others = len(&columns[1..], gap) + gap;
    let labels = &mut columns[0];
    let title_len = labels[0].trim_end().chars().count();
    let label_len = room.saturating_sub(others).max(LABEL_LEN_MIN).max(title_len);
    if label_len < labels[0].chars().count() {
        let cut_labels: Cells = labels.iter().map(|label| cut(label.trim_end(), label_len)).collect();
        *labels = padded(cut_labels, Side::Left);
    }
}
