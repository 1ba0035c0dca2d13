//! The latency table of a summary: one unit for all of it, so that figures can be compared down a column.
//! Made by `text`; knows nothing of records but their latencies, nor how a table is laid out, which is
//! `table`'s.

use results::Latency;

use crate::TextStyle;
use crate::figures::{Unit, count, decimals_of_rates, decimals_of_table};
use crate::table::{Cells, Side, fitted, padded, points_under_points, titled};

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

/// The table, with `indent` blanks before each line; empty if no row has latencies. The unit suits the
/// median of the first row, the decimals suit the smallest median of all.
pub(crate) fn latency_table(title: &str, rows: &[Row], indent: usize, style: &TextStyle) -> String {
    let medians = || rows.iter().filter_map(|row| row.latency.as_ref()).map(|latency| latency.p50);
    let Some(typical) = medians().next() else {
        return String::new();
    };
    let unit = Unit::for_typical(typical);
    let decimals = decimals_of_table(unit.of(medians().fold(typical, f64::min)));
    fitted(|decimals| columns(title, rows, unit, decimals), decimals, indent, style)
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
