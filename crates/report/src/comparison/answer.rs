//! The answer of a comparison: one short sentence, then what it means for the tolerance and what could have been seen.
//! The notes of the report are in `wording`.

use std::borrow::Cow;

use results::{
    Checkpoints, ComparedMetric, ComparisonDecision, ComparisonNote, ComparisonRecord, ComparisonStatus,
    MetricFinding, NoEffect,
};

use stats::comparison::confidence_of_agreement;

use super::notes::{is_merged, is_without_effect};
use super::table::lacks_transactions;
use super::{MOST, names};
use crate::figures::{TIE, fixed, percent};
use crate::ratios;
use crate::wording;

/// What a comparison comes to.
pub(super) struct Answer {
    /// One short sentence: the direction and its size.
    pub(super) sentence: String,
    /// What it means for the tolerance, what could have been seen, and why a setting cannot have an effect.
    pub(super) details: String,
}

/// The decision and, if a setting cannot have an effect on this load, why.
pub(super) fn answer(record: &ComparisonRecord) -> Answer {
    let no_effects = record.notes.iter().filter(|note| is_without_effect(note)).map(|note| {
        let remedy = match (note, record.method.checkpoints) {
            (
                ComparisonNote::SettingWithoutEffect { cause: NoEffect::NoFullPageImages, .. },
                Checkpoints::NotWanted,
            ) => " With --checkpoint auto, each block begins with a checkpoint, and the server writes them.",
            _ => "",
        };
        format!("{}{remedy}", wording::comparison_note(note))
    });
    let (sentence, details) = sentences(record);
    let details = details.into_iter().chain(no_effects).collect::<Vec<_>>().join(" ");
    Answer { sentence, details }
}

/// *prepared is 4.2 % faster than simple: ×1.042 (1.029 … 1.056).* and *The smallest detectable difference is 1.1 %.*
fn sentences(record: &ComparisonRecord) -> (String, Vec<String>) {
    let finding = record.finding(record.method.decisive);
    if finding.is_none_or(|finding| finding.low.zip(finding.high).is_none())
        && let Some((sentence, sign_test)) = agreement(record)
    {
        return (sentence, vec![sign_test]);
    }
    let Some(finding) = finding else {
        let remedy = match record.status {
            ComparisonStatus::Complete => Some("Increase --budget."),
            ComparisonStatus::Interrupted | ComparisonStatus::EndedEarly => None,
        };
        let lacks_transactions = lacks_transactions(record, record.method.decisive);
        let few = if lacks_transactions { "transactions" } else { "pairs" };
        let sentence = format!("Inconclusive: there were too few {few} for an answer.");
        return (sentence, remedy.map(str::to_owned).into_iter().collect());
    };
    // A comparison that was broken off, or is too short to know its noise, claims nothing.
    let smallest = finding.smallest_difference.map(|smallest| {
        format!("The smallest detectable difference is {}.", percent(smallest.min(MOST), 1.0))
    });
    let details = meaning(record, finding).into_iter().chain(smallest).collect();
    (in_words(finding, &names::sides(record)), details)
}

/// What the difference means for the tolerance.
fn meaning(record: &ComparisonRecord, finding: &MetricFinding) -> Option<String> {
    let tolerance = percent(record.method.tolerance, 1.0);
    Some(match (record.decision, finding.different) {
        (ComparisonDecision::WorseThanTolerance, _) => {
            format!("That is worse than the tolerance of {tolerance}.")
        }
        (ComparisonDecision::Better, _) | (ComparisonDecision::Undecided, None) => return None,
        (ComparisonDecision::NoWorse | ComparisonDecision::Equivalent, Some(false)) => {
            format!("That is worse, within the tolerance of {tolerance}.")
        }
        (ComparisonDecision::Equivalent, _) => {
            let above = finding.no_difference_above.map_or(tolerance, |above| percent(above, 1.0));
            format!("There is no difference above {above}.")
        }
        (ComparisonDecision::NoWorse, _) => {
            format!("It is no worse than the tolerance of {tolerance} allows.")
        }
        // Otherwise the answer is what was found of the metric that decides.
        (ComparisonDecision::Undecided, _) if finding.decision != ComparisonDecision::Undecided => {
            "This is inconclusive, since B stalled, and blocks without a transaction are excluded from all figures."
                .to_owned()
        }
        (ComparisonDecision::Undecided, Some(_)) => {
            format!("Whether that is beyond the tolerance of {tolerance} is inconclusive.")
        }
    })
}

/// Fewer pairs that agree are no evidence: three do so by chance in a quarter of all comparisons.
const AGREEING_MIN: usize = 4;

/// *prepared was faster than simple in all 6 pairs: ×15.2 … 20.1.* and the confidence of a sign test. Needs no estimate of
/// the variation, and so fewer pairs than an interval. `None` if the pairs do not agree or are too few.
fn agreement(record: &ComparisonRecord) -> Option<(String, String)> {
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
    let [of_a, of_b] = names::sides(record);
    let words = words(metric);
    let word = if low > 0.0 { words.more } else { words.less };
    let [low, high] = [low.exp(), high.exp()].map(|ratio| ratios::value(ratio, None));
    let confidence = confidence_of_agreement(ratios.len());
    let is_known = 1.0 - confidence <= record.method.error_rate;
    let verdict = if is_known { "" } else { ", which is inconclusive" };
    let (subject, object) = words.named(&of_b, &of_a);
    let pairs = ratios.len();
    let sentence = format!(
        "{subject} {word} than {object} in all {pairs} pairs: {low}{TIE}…{TIE}{}.",
        high.trim_start_matches('×')
    );
    let test = format!(
        "By a sign test, the confidence in this direction is {}{TIE}%{verdict}. An interval needs more pairs: increase \
         --budget.",
        fixed(confidence * 100.0, 1)
    );
    Some((sentence, test))
}

/// `prepared is 4.2 % faster than simple: ×1.042 (1.029 … 1.056).`; where the interval holds 1, `Inconclusive: tps of
/// prepared is ×0.996 (0.979 … 1.013) that of simple.`
fn in_words(finding: &MetricFinding, [a, b]: &[String; 2]) -> String {
    let metric = names::short(finding.metric);
    let interval = finding.low.zip(finding.high);
    let ratio = finding.ratio;
    let shown = ratios::ratio(ratio, interval);
    match (finding.different, interval) {
        (_, None) => format!(
            "Inconclusive: {metric} of {b} is {shown} that of {a}, without an interval, since there were too few pairs."
        ),
        (_, Some(_)) if ratios::says_nothing(interval) => {
            format!("Inconclusive: {metric} of {b} ÷ {a} is not measurable with {} pairs.", finding.pairs)
        }
        (None, Some(_)) => format!("Inconclusive: {metric} of {b} is {shown} that of {a}."),
        (Some(_), Some(_)) => {
            let words = words(finding.metric);
            let (subject, object) = words.named(b, a);
            let word = if ratio < 1.0 { words.less } else { words.more };
            let factor = ratios::factor_in_words(ratio, interval);
            match ratios::size(ratio, interval) {
                Some(size) => format!("{subject} {size} {word} than {object}: {shown}."),
                None if ratio > 1.0 && words.of.is_empty() => {
                    let (factor, range) = factor.split_once(' ').unwrap_or((&factor, ""));
                    format!("{subject} {factor} times as fast as {object} {range}.").replace(" .", ".")
                }
                None => format!("{subject} {word} than {object} by a factor of {factor}."),
            }
        }
    }
}

/// What more and less of a metric is called.
struct Words {
    /// `p99 of `, or nothing where the side itself is faster.
    of: Cow<'static, str>,
    more: &'static str,
    less: &'static str,
}

impl Words {
    /// `p99 of prepared is` and `of simple`; `prepared is` and `simple`.
    fn named(&self, b: &str, a: &str) -> (String, String) {
        let of_a = if self.of.is_empty() { a.to_owned() } else { format!("of {a}") };
        (format!("{}{b} is", self.of), of_a)
    }
}

fn words(metric: ComparedMetric) -> Words {
    let (more, less) = match metric {
        ComparedMetric::Tps => return Words { of: "".into(), more: "faster", less: "slower" },
        ComparedMetric::P50 | ComparedMetric::P99 | ComparedMetric::Percentile(_) => ("longer", "shorter"),
        ComparedMetric::ServerCpu
        | ComparedMetric::ClientCpu
        | ComparedMetric::Wal
        | ComparedMetric::FullPageImages
        | ComparedMetric::BlocksRead => ("more", "less"),
    };
    Words { of: format!("{} of ", names::short(metric)).into(), more, less }
}
