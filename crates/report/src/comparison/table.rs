//! The figures of a comparison: the forest plot of all metrics, and a table with a verdict for the one that decides.
//! Metrics that too few pairs have for a finding show the figures of both sides all the same.

use results::{
    ComparedMetric, ComparisonDecision, ComparisonRecord, DrawnAnew, MetricFinding, UnjudgedMetric,
};
use stats::comparison::{OBSERVATIONS_MIN, PAIRS_OF_SEQUENCE};

use super::{MOST, names};
use crate::document::{Cell, Column, Table, Tone};
use crate::figures::{TIE, percent};
use crate::forest::{BETTER_OR_WORSE, EffectVerdict, Forest, ForestRow};
use crate::prose::cut;
use crate::ratios;

const NOTHING: &str = "—";
/// Characters of a side's label above its column.
const SIDE_LEN_MAX: usize = 18;

/// A row for each metric.
pub(super) fn table(record: &ComparisonRecord) -> Table {
    let [a, b] = names::sides(record).map(|side| Column::figures(cut(&side, SIDE_LEN_MAX)));
    let columns = vec![Column::text(""), a, b, Column::figures("detectable"), Column::text("verdict")];
    let findings = record.findings.iter().map(|finding| row(record, finding));
    let unjudged = record.unjudged.iter().map(|unjudged| row_without_verdict(record, unjudged));
    Table { columns, rows: findings.chain(unjudged).collect(), ..Table::default() }
}

fn row(record: &ComparisonRecord, finding: &MetricFinding) -> Vec<Cell> {
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
        Cell::text(seen),
        Cell::text(if is_decisive { found(finding) } else { "" }).with_tone(tone),
    ]
}

/// The ratio of each metric, that which decides first.
pub(super) fn forest(record: &ComparisonRecord) -> Forest {
    let decisive = record.method.decisive.into();
    let mut findings: Vec<&MetricFinding> = record.findings.iter().collect();
    findings.sort_by_key(|finding| finding.figure() != decisive);
    let of_finding = |finding: &&MetricFinding| {
        let (name, interval) = (names::of_figure(record, finding.figure()), finding.low.zip(finding.high));
        if ratios::says_nothing(interval) {
            return ForestRow::unknown(name, format!("not measurable with {} pairs", finding.pairs));
        }
        let verdict = match (interval, finding.different) {
            (None, _) => EffectVerdict::NotJudged,
            (Some(_), Some(true)) => EffectVerdict::Better,
            (Some(_), Some(false)) => EffectVerdict::Worse,
            (Some(_), None) => EffectVerdict::Inconclusive,
        };
        ForestRow::new(name, finding.ratio, interval, verdict).judged_within(Some(record.method.tolerance))
    };
    let unjudged = record.unjudged.iter().map(|unjudged| {
        let name = names::of_figure(record, unjudged.figure());
        ForestRow::unknown(name, no_verdict(record, unjudged))
    });
    let [a, b] = names::sides(record);
    Forest {
        title: "All metrics".to_owned(),
        caption: format!("{b} ÷ {a}, logarithmic, with 95{TIE}% intervals"),
        rows: findings.iter().map(of_finding).chain(unjudged).collect(),
        tolerance: Some(record.method.tolerance),
        words: BETTER_OR_WORSE,
    }
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

fn no_verdict(record: &ComparisonRecord, unjudged: &UnjudgedMetric) -> String {
    if lacks_transactions(record, unjudged.metric) {
        return "no verdict: too few transactions".to_owned();
    }
    format!("no verdict: {} of the {} pairs needed", unjudged.pairs, pairs_needed(record))
}

/// The figures alone: a change would look like an answer.
fn row_without_verdict(record: &ComparisonRecord, unjudged: &UnjudgedMetric) -> Vec<Cell> {
    let UnjudgedMetric { metric, a, b, .. } = *unjudged;
    let name = Cell::text(names::of_figure(record, unjudged.figure()));
    let verdict = Cell::text(no_verdict(record, unjudged));
    vec![name, figure(metric, a), figure(metric, b), Cell::text(NOTHING), verdict]
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
