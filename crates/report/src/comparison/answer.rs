//! The answer of a comparison: the decision in a sentence, and why a setting cannot have an effect.
//! The notes of the report are in `wording`.

use std::borrow::Cow;

use results::{
    Checkpoints, ComparedMetric, ComparisonDecision, ComparisonNote, ComparisonRecord, ComparisonStatus,
    MetricFinding, NoEffect,
};

use stats::comparison::confidence_of_agreement;

use super::notes::{is_merged, is_without_effect};
use super::table::lacks_transactions;
use super::{MOST, figures, names};
use crate::figures::{TIE, fixed, percent};
use crate::wording;

/// The decision and, if a setting cannot have an effect on this load, why.
pub(super) fn answer(record: &ComparisonRecord) -> String {
    let no_effects = record.notes.iter().filter(|note| is_without_effect(note)).map(|note| {
        let remedy = match (note, record.method.checkpoints) {
            (
                ComparisonNote::SettingWithoutEffect { cause: NoEffect::NoFullPageImages, .. },
                Checkpoints::NotWanted,
            ) => " With --checkpoint auto, each block begins with a checkpoint, and the server writes them.",
            _ => "",
        };
        format!(" {}{remedy}", wording::comparison_note(note))
    });
    std::iter::once(sentence(record)).chain(no_effects).collect()
}

/// *B is 4.2 % faster (95 %: +2.9 … +5.6), smallest detectable difference 1.1 %.*
pub(super) fn sentence(record: &ComparisonRecord) -> String {
    let Some(finding) = record.finding(record.method.decisive) else {
        let remedy = match record.status {
            ComparisonStatus::Complete => " Increase --budget.",
            ComparisonStatus::Interrupted | ComparisonStatus::EndedEarly => "",
        };
        let lacks_transactions = lacks_transactions(record, record.method.decisive);
        let few = if lacks_transactions { "transactions" } else { "pairs" };
        return agreement(record)
            .unwrap_or_else(|| format!("Inconclusive: there were too few {few} for an answer.{remedy}"));
    };
    if let Some(sentence) = agreement(record).filter(|_| finding.low.zip(finding.high).is_none()) {
        return sentence;
    }
    let tolerance = percent(record.method.tolerance, 1.0);
    let mut sentence = in_words(finding);
    // A comparison that was broken off, or is too short to know its noise, claims nothing.
    if let Some(smallest) = finding.smallest_difference {
        sentence += &format!(", smallest detectable difference {}", percent(smallest.min(MOST), 1.0));
    }
    match (record.decision, finding.different) {
        (ComparisonDecision::WorseThanTolerance, _) => {
            sentence += &format!(": worse than the tolerance of {tolerance}");
        }
        (ComparisonDecision::Better, _) => {}
        (ComparisonDecision::NoWorse | ComparisonDecision::Equivalent, Some(false)) => {
            sentence += &format!(": worse, within the tolerance of {tolerance}");
        }
        (ComparisonDecision::Equivalent, _) => {
            let above = finding.no_difference_above.map_or(tolerance, |above| percent(above, 1.0));
            sentence += &format!(": no difference above {above}");
        }
        (ComparisonDecision::NoWorse, _) => {
            sentence += &format!(": no worse than the tolerance of {tolerance} allows");
        }
        // Otherwise the answer is what was found of the metric that decides.
        (ComparisonDecision::Undecided, _) if finding.decision != ComparisonDecision::Undecided => {
            sentence += ": inconclusive, since B stalled, and blocks without a transaction are excluded from all figures";
        }
        (ComparisonDecision::Undecided, Some(_)) => {
            sentence += &format!(": whether that is beyond the tolerance of {tolerance} is inconclusive");
        }
        (ComparisonDecision::Undecided, None) => {}
    }
    sentence + "."
}

/// Fewer pairs that agree are no evidence: three do so by chance in a quarter of all comparisons.
const AGREEING_MIN: usize = 4;
/// Ratios from here on are shown as ratios, and smaller ones as a change in per cent.
const LARGE_RATIO: f64 = 2.0;

/// *In all 6 pairs, B was faster: × 15.2 … 20.1 in single pairs. By a sign test, the confidence that B is faster is
/// 96.9 %.* Needs no estimate of the variation, and so fewer pairs than an interval. `None` if the pairs do not agree or
/// are too few.
fn agreement(record: &ComparisonRecord) -> Option<String> {
    let metric = record.method.decisive;
    if is_merged(record, metric.into()) {
        return None;
    }
    let compared = record.pairs.iter().filter(|pair| !pair.is_noise_floor);
    let ratios: Vec<f64> = compared.map(|pair| pair.pair().ln_ratio(metric)).collect::<Option<_>>()?;
    let (low, high) = ratios
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), ratio| (low.min(*ratio), high.max(*ratio)));
    let agree = low > 0.0 || high < 0.0;
    if ratios.len() < AGREEING_MIN || !agree || !low.is_finite() || !high.is_finite() {
        return None;
    }
    let (name, more, less) = words(metric);
    let word = if low > 0.0 { more } else { less };
    let ends = [low.exp(), high.exp()];
    let size = if ends.iter().any(|ratio| *ratio >= LARGE_RATIO || *ratio <= 1.0 / LARGE_RATIO) {
        let [low, high] = ends.map(|ratio| fixed(ratio, if ratio < 1.0 { 3 } else { 1 }));
        format!("×{TIE}{low}{TIE}…{TIE}{high}")
    } else {
        let [low, high] = ends.map(|ratio| signed_percent(ratio - 1.0));
        format!("{low}{TIE}…{TIE}{high}{TIE}%")
    };
    let confidence = confidence_of_agreement(ratios.len());
    let is_known = 1.0 - confidence <= record.method.error_rate;
    let verdict = if is_known { "" } else { ", which is inconclusive" };
    Some(format!(
        "{name} {word} in all {} pairs: {size} in single pairs. By a sign test, the confidence in this direction is \
         {}{verdict}. An interval needs more pairs: increase --budget.",
        ratios.len(),
        format_args!("{}{TIE}%", fixed(confidence * 100.0, 1)),
    ))
}

fn signed_percent(share: f64) -> String {
    let text = fixed(share.abs() * 100.0, 1);
    if share < 0.0 { format!("−{text}") } else { format!("+{text}") }
}

/// `B is 4.2 % faster (95 %: +2.9 … +5.6)`; where the interval holds 0, `Inconclusive: tps of B −0.3 % (95 %: −1.9 …
/// +1.4)`. Signs are those of the table.
fn in_words(finding: &MetricFinding) -> String {
    let (name, more, less) = words(finding.metric);
    let [change, low, high] = figures(finding);
    match (finding.different, low.zip(high)) {
        (_, None) => format!(
            "Inconclusive: {} of B {}{TIE}%, without an interval, since there were too few pairs",
            names::short(finding.metric),
            change.unwrap_or_default()
        ),
        (None, Some((low, high))) => format!(
            "Inconclusive: {} of B {}{TIE}% (95{TIE}%: {low}{TIE}…{TIE}{high})",
            names::short(finding.metric),
            change.unwrap_or_default()
        ),
        (Some(_), Some((low, high))) => {
            let word = if finding.ratio < 1.0 { less } else { more };
            let size = change.unwrap_or_default().replace(['+', '−'], "");
            format!("{name} {size}{TIE}% {word} (95{TIE}%: {low}{TIE}…{TIE}{high})")
        }
    }
}

/// What B is, and what more and less of a metric is called.
fn words(metric: ComparedMetric) -> (Cow<'static, str>, &'static str, &'static str) {
    let (name, more, less) = match metric {
        ComparedMetric::Tps => ("B is", "faster", "slower"),
        ComparedMetric::P50 => ("The median latency of B is", "longer", "shorter"),
        ComparedMetric::P99 | ComparedMetric::Percentile(_) => {
            return (format!("{} of B is", names::short(metric)).into(), "longer", "shorter");
        }
        ComparedMetric::ServerCpu => ("The server's CPU time for a transaction of B is", "more", "less"),
        ComparedMetric::ClientCpu => ("The client's CPU time for a transaction of B is", "more", "less"),
        ComparedMetric::Wal => ("WAL for a transaction of B is", "more", "less"),
        ComparedMetric::FullPageImages => ("B writes full-page images for a transaction", "more", "less"),
        ComparedMetric::BlocksRead => ("B reads blocks for a transaction", "more", "less"),
    };
    (name.into(), more, less)
}
