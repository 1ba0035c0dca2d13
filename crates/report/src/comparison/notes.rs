//! The notes of a comparison that follow from its figures: effects of the order, and metrics that some pairs or blocks
//! lack. The sentences of the notes of its record are in `wording`.

use results::{
    ComparedFigure, ComparedMetric, ComparisonNote, ComparisonRecord, MetricFinding, Percentile, Severity,
};

use super::{effect, names};
use crate::document::{Block, Tone};
use crate::figures::{TIE, percent};
use crate::wording;

/// What to know before using the figures: lists of warnings and of notes, if there are any.
pub(super) fn blocks(record: &ComparisonRecord) -> Vec<Block> {
    let effects = record.findings.iter().flat_map(|finding| not_negligible(record, finding));
    let note = |text| (Severity::Note, text);
    let lacking = record.findings.iter().filter_map(|finding| lacking(record, finding)).map(note);
    let of_record = record.notes.iter().filter(|note| !is_without_effect(note));
    let of_record = of_record.map(|note| (note.severity(), wording::comparison_note(note)));
    let of_method = wording::notes_of_method(&record.method).into_iter().map(note);
    let all: Vec<(Severity, String)> = effects.chain(lacking).chain(of_record).chain(of_method).collect();
    let kinds = [(Severity::Caution, Tone::Caution), (Severity::Note, Tone::Quiet)];
    let list = |(severity, tone)| {
        let texts = all.iter().filter(|(of, _)| *of == severity).map(|(_, text)| text.clone());
        Block::List(tone, texts.collect())
    };
    let is_empty = |block: &Block| matches!(block, Block::List(_, texts) if texts.is_empty());
    kinds.into_iter().map(list).filter(|block| !is_empty(block)).collect()
}

/// Whether a note says that a setting cannot have an effect; the answer has it.
pub(super) fn is_without_effect(note: &ComparisonNote) -> bool {
    matches!(note, ComparisonNote::SettingWithoutEffect { .. })
}

fn not_negligible(record: &ComparisonRecord, finding: &MetricFinding) -> Vec<(Severity, String)> {
    let name = names::of_figure(record, finding.figure());
    let order = finding.order_effect.filter(|it| !it.is_negligible).map(|it| {
        let text = format!(
            "The order is not negligible: {name} of the second block of a pair differs by {} from the first. Each \
             side goes first equally often, so the effect cancels out of the change.",
            effect(&it)
        );
        (Severity::Note, text)
    });
    let carried = finding.carry_over.filter(|it| !it.is_negligible).map(|it| {
        // In A B B A and B A A B, B follows A three times for each time that it follows itself, and A likewise.
        let off = (it.ratio.ln().abs() / 4.0).exp_m1();
        let text = format!(
            "Carry-over is not negligible: {name} of a block that follows B differs by {} from one that follows A. \
             The change may be off by {}. Longer blocks (--block) reduce this error.",
            effect(&it),
            percent(off, 1.0)
        );
        (Severity::Caution, text)
    });
    order.into_iter().chain(carried).collect()
}

/// Whether the observations of a figure are of the blocks of several pairs together.
pub(super) fn is_merged(record: &ComparisonRecord, figure: ComparedFigure) -> bool {
    record.pairs.iter().flat_map(|pair| &pair.merged).any(|merged| merged.figure() == figure)
}

/// A percentile for which single blocks have too few transactions.
fn merged(record: &ComparisonRecord, finding: &MetricFinding) -> Option<String> {
    let least = finding.metric.percentile()?.transactions_min();
    let figure = finding.figure();
    let all = record.pairs.iter().flat_map(|pair| &pair.merged).filter(|merged| merged.figure() == figure);
    let name = names::of_figure(record, figure);
    Some(format!(
        "{name} is of {} groups of pairs ({} pairs in all), each with at least {least} transactions of A and of B: single \
         blocks have too few.",
        all.count(),
        finding.pairs,
    ))
}

/// A metric that some pairs have no figure for: those that have one may not be like the others. Of what all metrics lack
/// only tps tells.
fn lacking(record: &ComparisonRecord, finding: &MetricFinding) -> Option<String> {
    let (figure, tps) = (finding.figure(), ComparedFigure::from(ComparedMetric::Tps));
    if is_merged(record, figure) {
        return merged(record, finding);
    }
    let pairs = || record.pairs.iter().filter(|pair| !pair.is_noise_floor);
    let blocks = || pairs().flat_map(|pair| &pair.blocks);
    let with = |figure: ComparedFigure| {
        blocks().filter(|block| block.figure(figure).is_some_and(|value| value > 0.0)).count()
    };
    let (made, all) = (pairs().count(), blocks().count());
    let (pairs_due, blocks_due) = match record.finding(tps) {
        Some(of_tps) if figure != tps => (of_tps.pairs, with(tps)),
        _ => (made, all),
    };
    let known = with(figure);
    let (of, others) = if finding.pairs < pairs_due {
        (format!("{} of {made} pairs", finding.pairs), "had a block")
    } else if known < blocks_due {
        (format!("{known} of {all} blocks"), "are blocks")
    } else {
        return None;
    };
    let why = match finding.metric {
        ComparedMetric::P99 | ComparedMetric::Percentile(_) => {
            let least = finding.metric.percentile().map_or(1, Percentile::transactions_min);
            format!("with fewer than {least} transactions; give --block more seconds")
        }
        ComparedMetric::ServerCpu => "in which not all backends' time could be read".to_owned(),
        ComparedMetric::Wal | ComparedMetric::FullPageImages => "in which none was written".to_owned(),
        ComparedMetric::BlocksRead => "in which none was read".to_owned(),
        ComparedMetric::Tps | ComparedMetric::P50 | ComparedMetric::ClientCpu => {
            "without a transaction".to_owned()
        }
    };
    Some(format!("{} is of {of}: the others {others} {why}.", names::of_figure(record, figure)))
}

/// The meaning of the intervals of metrics that do not decide.
pub(super) fn together(record: &ComparisonRecord) -> Option<String> {
    let method = &record.method;
    let decides = names::short(method.decisive);
    let others =
        record.findings.iter().filter(|it| it.figure() != method.decisive.into() && it.low.is_some()).count();
    let rate = method.error_rate_of_others.filter(|_| others > 0)?;
    let confidence = (1.0 - rate) * 100.0;
    Some(format!(
        "Only {decides} decides. The intervals of the other metrics hold together with {confidence:.0}{TIE}% confidence \
         (Šidák)."
    ))
}

/// Of the metric that decides, whatever it is.
pub(super) fn order(finding: &MetricFinding) -> Option<String> {
    let order = finding.order_effect.as_ref()?;
    let carried = finding.carry_over.as_ref();
    let carried = carried.map_or(String::new(), |it| {
        format!("; a block that follows B differs by {} from one that follows A", effect(it))
    });
    Some(format!(
        "Order: {} of the second block of a pair differs by {} from the first{carried}.",
        names::short(finding.metric),
        effect(order)
    ))
}
