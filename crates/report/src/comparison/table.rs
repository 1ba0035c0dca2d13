//! The table of a comparison: a row for each metric, with a verdict for the one that decides. Metrics that too few
//! pairs have for a finding show the figures of both sides all the same.

use results::{
    ComparedMetric, ComparisonDecision, ComparisonRecord, DrawnAnew, MetricFinding, UnjudgedMetric,
};
use stats::comparison::{OBSERVATIONS_MIN, PAIRS_OF_SEQUENCE};

use super::{MOST, figures, names};
use crate::document::{Cell, Column, Table, Tone};
use crate::figures::{TIE, percent};

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
    let is_decisive = finding.figure() == record.method.decisive.into();
    let tone = match finding.different.filter(|_| is_decisive) {
        Some(true) => Tone::Good,
        Some(false) => Tone::Bad,
        None => Tone::Plain,
    };
    vec![
        Cell::text(names::of_figure(record, finding.figure())),
        figure(finding.metric, Some(finding.a)),
        figure(finding.metric, Some(finding.b)),
        Cell::text(change.map_or("unknown".to_owned(), |change| format!("{change}{TIE}%"))),
        Cell::text(interval),
        Cell::text(seen),
        Cell::text(if is_decisive { found(finding) } else { "" }).with_tone(tone),
    ]
}

/// Pairs that an interval needs.
fn pairs_needed(record: &ComparisonRecord) -> usize {
    match record.method.draws {
        DrawnAnew::Connections => PAIRS_OF_SEQUENCE * OBSERVATIONS_MIN,
        DrawnAnew::Servers => OBSERVATIONS_MIN,
    }
}

/// Whether a metric without a finding lacks transactions, and not pairs.
pub(super) fn lacks_transactions(record: &ComparisonRecord, metric: ComparedMetric) -> bool {
    let made = record.pairs.iter().filter(|pair| !pair.is_noise_floor).count();
    metric.percentile().is_some() && made >= pairs_needed(record)
}

/// The figures alone: a change would look like an answer.
fn row_without_verdict(record: &ComparisonRecord, unjudged: &UnjudgedMetric) -> Vec<Cell> {
    let UnjudgedMetric { metric, a, b, pairs, .. } = *unjudged;
    let verdict = if lacks_transactions(record, metric) {
        "no verdict: too few transactions".to_owned()
    } else {
        format!("no verdict: {pairs} of the {} pairs needed", pairs_needed(record))
    };
    let [change, interval, seen] = [NOTHING; 3].map(Cell::text);
    let name = Cell::text(names::of_figure(record, unjudged.figure()));
    vec![name, figure(metric, a), figure(metric, b), change, interval, seen, Cell::text(verdict)]
}

fn figure(metric: ComparedMetric, value: Option<f64>) -> Cell {
    Cell::text(value.map_or(NOTHING.to_owned(), |value| names::shown(metric, value)))
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
