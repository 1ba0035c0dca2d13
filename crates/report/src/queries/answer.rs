//! The first screen of a report of query sets: the answer in one sentence, and the first figures of a single set.
//! The full lists of queries are in the sections below.

use results::AnswerCheck;

use super::comparison::{Compared, ComparedSet, QueryRatio, Verdict};
use super::figures::QueryFigures;
use super::{regressions, said};
use crate::document::{Block, Fact, KeyFigure, Tone};
use crate::figures::counted;

/// The sentence; `None` without a query set.
pub(super) fn answer(compared: &Compared<'_>) -> Option<Block> {
    let (tone, text) = match (compared.sets.as_slice(), &compared.regressions) {
        ([], _) => return None,
        ([only], _) => of_one(compared, only),
        (_, Some(found)) => (regressions::tone(found), regressions::in_short(found)),
        ([base, others @ ..], None) => of_several(compared, base, others),
    };
    Some(Block::Answer(tone, text))
}

/// `22 queries took 12.3 s; the longest, q18, took 3.10 s.`
fn of_one(compared: &Compared<'_>, set: &ComparedSet<'_>) -> (Tone, String) {
    let number = number(compared, set);
    let Some(total) = set.total else {
        return (Tone::Bad, "No query has a duration.".to_owned());
    };
    let is_wrong = |query: &&QueryFigures| matches!(query.answer, Some(AnswerCheck::Different { .. }));
    let wrong = set.figures.queries.iter().filter(is_wrong).count() as u64;
    let failed = set.figures.queries.iter().filter(|query| query.failed > 0).count() as u64;
    let troubles = [
        (failed, counted(failed, "query failed", "queries failed")),
        (wrong, counted(wrong, "answer is wrong", "answers are wrong")),
    ];
    let troubles: Vec<String> =
        troubles.into_iter().filter(|(number, _)| *number > 0).map(|(_, text)| text).collect();
    let known = |query: &'_ QueryFigures| Some((query.name.clone(), compared.durations(query)?.mean()));
    let longest = set.figures.queries.iter().filter_map(known);
    let longest = longest.max_by(|a, b| a.1.value.total_cmp(&b.1.value));
    let queries = counted(number, "query", "queries");
    let longest = longest.filter(|_| number > 1 && troubles.is_empty());
    let longest =
        longest.map(|(query, mean)| format!("; the longest, {query}, took {}", said::duration(mean)));
    let tone = if troubles.is_empty() { Tone::Strong } else { Tone::Bad };
    let troubles = if troubles.is_empty() { String::new() } else { format!("; {}", troubles.join(", ")) };
    (tone, format!("{queries} took {}{}{troubles}.", said::duration(total), longest.unwrap_or_default()))
}

/// `after is slower than before: ×1.22 (1.04 … 1.42) of the time per query.` Of several, the shortest.
fn of_several(compared: &Compared<'_>, base: &ComparedSet<'_>, others: &[ComparedSet<'_>]) -> (Tone, String) {
    let known = others.iter().filter_map(|set| Some((set, set.ratio?)));
    let Some((set, ratio)) = known.min_by(|a, b| a.1.value.total_cmp(&b.1.value)) else {
        return (Tone::Strong, format!("No query has a duration in {} and in another set.", base.label));
    };
    // What only some of the sets have finished is in no ratio.
    let lacking = compared.left_out.len() as u64;
    let lacking = (lacking > 0)
        .then(|| format!("; {} not finished in all sets", counted(lacking, "query was", "queries were")));
    let tone = match ratio.verdict() {
        _ if lacking.is_some() => Tone::Strong,
        Verdict::Faster => Tone::Good,
        Verdict::Slower => Tone::Bad,
        Verdict::NotSlower | Verdict::Inconclusive | Verdict::NotJudged => Tone::Strong,
    };
    let first = if others.len() > 1 { "Shortest: " } else { "" };
    let shown = |ratio: &QueryRatio| format!("{} {}", said::ratio(ratio), said::bounds(ratio));
    let shown = shown(&ratio);
    let lacking = lacking.unwrap_or_default();
    let is = match ratio.verdict() {
        Verdict::Faster => "is faster than",
        Verdict::Slower => "is slower than",
        Verdict::NotSlower => "is not slower than",
        Verdict::Inconclusive => "is not surely faster or slower than",
        Verdict::NotJudged => "against",
    };
    let (label, base) = (&set.label, &base.label);
    (tone, format!("{first}{label} {is} {base}: {} of the time per query{lacking}.", shown.trim_end()))
}

/// Queries with a duration.
fn number(compared: &Compared<'_>, set: &ComparedSet<'_>) -> u64 {
    (set.figures.pure_queries().count() - compared.left_out.len()) as u64
}

/// Total, geometric mean, answers and rates of a single set.
pub(super) fn figures(compared: &Compared<'_>, set: &ComparedSet<'_>, basis: &str) -> Block {
    let figure = |label: &str, value| KeyFigure {
        label: label.to_owned(),
        value,
        note: String::new(),
        is_large: false,
    };
    let total = set.total.map_or("—".to_owned(), said::duration);
    let mut figures = vec![KeyFigure { is_large: true, ..figure("total", total) }];
    figures.extend(set.geometric_mean.map(|mean| figure("geometric mean", said::duration(mean))));
    figures.extend(said::answers(set).map(|told| {
        let (value, note) = split_answers(&told);
        KeyFigure { note: note.to_owned(), ..figure("answers", value.to_owned()) }
    }));
    figures.extend(said::rates(set).into_iter().map(|Fact { label, value }| figure(&label, value)));
    let queries = number(compared, set);
    let beneath = format!("durations of {}: {basis}", counted(queries, "query", "queries"));
    Block::Figures(figures, beneath)
}

/// `22 of 22` and `equal to the expected ones`.
fn split_answers(told: &str) -> (&str, &str) {
    let words = if told.starts_with(|first: char| first.is_ascii_digit()) { 3 } else { 2 };
    let end = told.match_indices(' ').nth(words - 1).map_or(told.len(), |(at, _)| at);
    (&told[..end], told[end..].trim_start())
}
