//! The table of a comparison: a row for each metric, with a verdict for the one that decides. Metrics that too few
//! pairs have for a finding show the figures of both sides all the same.

use results::{
    ComparedMetric, ComparisonDecision, ComparisonRecord, DrawnAnew, MetricFinding, UnjudgedMetric,
};
use stats::comparison::{OBSERVATIONS_MIN, PAIRS_OF_SEQUENCE};

use super::{MOST, figures};
use crate::document::{Cell, Column, Table, Tone};
use crate::figures::{TIE, percent};
use crate::metrics::{Metric, Quantity};

const NANOS_PER_MICRO: f64 = 1e3;
const NOTHING: &str = "—";

/// A row for each metric.
pub(super) fn table(record: &ComparisonRecord) -> Table {
    let figures = ["A", "B", "change", "95 %", "detectable"].map(Column::figures);
    let columns = std::iter::once(Column::text("")).chain(figures).chain([Column::text("B is")]).collect();
    let findings = record.findings.iter().map(|finding| row(record, finding));
    let unjudged = record.unjudged.iter().map(|unjudged| row_without_verdict(record, unjudged));
    Table { columns, rows: findings.chain(unjudged).collect(), ..Table::default() }
}

fn row(record: &ComparisonRecord, finding: &MetricFinding) -> Vec<Cell> {
    let [change, low, high] = figures(finding);
    let interval = low.zip(high).map_or("unknown".to_owned(), |(low, high)| format!("{low} … {high}"));
    let seen = finding.smallest_difference.map_or(NOTHING.to_owned(), |it| percent(it.min(MOST), 1.0));
    let is_decisive = finding.metric == record.method.decisive;
    let tone = match finding.different.filter(|_| is_decisive) {
        Some(true) => Tone::Good,
        Some(false) => Tone::Bad,
        None => Tone::Plain,
    };
    vec![
        Cell::text(Metric::from(finding.metric).row().short),
        figure(finding.metric, Some(finding.a)),
        figure(finding.metric, Some(finding.b)),
        Cell::text(change.map_or("unknown".to_owned(), |change| format!("{change}{TIE}%"))),
        Cell::text(interval),
        Cell::text(seen),
        Cell::text(if is_decisive { found(finding) } else { "" }).with_tone(tone),
    ]
}

/// The figures alone: a change would look like an answer.
fn row_without_verdict(record: &ComparisonRecord, unjudged: &UnjudgedMetric) -> Vec<Cell> {
    let pairs_needed = match record.method.draws {
        DrawnAnew::Connections => PAIRS_OF_SEQUENCE * OBSERVATIONS_MIN,
        DrawnAnew::Servers => OBSERVATIONS_MIN,
    };
    let UnjudgedMetric { metric, a, b, pairs } = *unjudged;
    let [change, interval, seen] = [NOTHING; 3].map(Cell::text);
    let verdict = format!("no verdict: {pairs} of the {pairs_needed} pairs needed");
    let name = Cell::text(Metric::from(metric).row().short);
    vec![name, figure(metric, a), figure(metric, b), change, interval, seen, Cell::text(verdict)]
}

fn figure(metric: ComparedMetric, value: Option<f64>) -> Cell {
    let shown = |value| Metric::from(metric).quantity().shown(in_unit(metric, value));
    Cell::text(value.map_or(NOTHING.to_owned(), shown))
}

/// A figure of a comparison, whose times are nanoseconds, as the table of metrics has it.
pub(super) fn in_unit(metric: ComparedMetric, value: f64) -> f64 {
    match Metric::from(metric).quantity() {
        Quantity::Microseconds => value / NANOS_PER_MICRO,
        Quantity::PerSecond
        | Quantity::Seconds
        | Quantity::Share
        | Quantity::Bytes
        | Quantity::Number
        | Quantity::Percentile
        | Quantity::Count => value,
    }
}

/// The word for the metric that decides; others have none, because one of many metrics often differs by chance. An
/// interval that holds 0 is inconclusive, whatever else is known.
fn found(finding: &MetricFinding) -> &'static str {
    match (finding.different, finding.decision) {
        (Some(true), _) => "better",
        (Some(false), _) => "worse",
        (None, ComparisonDecision::Equivalent) => "inconclusive (within tolerance)",
        (None, ComparisonDecision::NoWorse) => "inconclusive (no worse)",
        (None, _) => "inconclusive",
    }
}
