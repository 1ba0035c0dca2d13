//! Several runs side by side as terminal text: each against the first, with differences and their intervals, as the
//! page has them. Called by `cli` for `pgmeter report` of several runs; each run in full is `text`'s.

use results::Record;

use crate::figures::with_ordinary_spaces;
use crate::prose::{Emphasis, emphasise, enumerate, wrap};
use crate::sections::{self, ComparedRun, ComparisonVerdict, Told};
use crate::table::{Cells, Side, fitted, padded};
use crate::wording;
use crate::{Run, TextStyle};

/// Blanks before everything below a title.
const INDENT: usize = 2;
/// What the quantiles of a compared run are called.
const QUANTILES: [&str; 4] = ["median", "p95", "p99", "p99.9"];
/// Settings that are listed at most; the page has all.
const SETTINGS_MAX: usize = 20;

/// The comparison, several lines, the last with its line end.
pub fn side_by_side(runs: &[Run<'_>], style: &TextStyle) -> String {
    let compared = sections::comparison(runs);
    let Some((first, others)) = compared.split_first() else { return String::new() };
    let title = format!("{} runs side by side", runs.len());
    let mut out = emphasise(&title, Emphasis::Strong, style) + "\n";
    for run in &compared {
        let what = format!("{} ({}): {}", run.letter, run.name, run.what);
        out += &paragraph(&what, style);
    }
    for run in others {
        out.push('\n');
        out += &fitted(|_| columns(first, run), 0, INDENT, style);
    }
    out.push('\n');
    let told = others.iter().flat_map(|run| run.tps_difference.iter().chain(&run.mean_difference));
    for sentence in told.filter_map(|told| told.sentence.as_deref()) {
        out += &paragraph(sentence, style);
    }
    for caution in cautions(runs) {
        out += &emphasise(&paragraph(&caution, style), Emphasis::Caution, style);
    }
    out += &differing(runs, style);
    with_ordinary_spaces(&out)
}

fn paragraph(text: &str, style: &TextStyle) -> String {
    format!("{}{}\n", " ".repeat(INDENT), wrap(text, INDENT, 2 * INDENT, style.width))
}

/// A label, and the share of the transactions that ended so.
type Ending = (&'static str, fn(&ComparedRun) -> &String);

/// The first run, another one, and by how much they differ.
fn columns(first: &ComparedRun, other: &ComparedRun) -> Vec<Cells> {
    let with_interval = |run: &ComparedRun| format!("{} {}", run.tps, run.tps_interval).trim_end().to_owned();
    let change = |told: &Option<Told>| {
        // Why there is none is a sentence, which is below.
        let interval = |told: &Told| match told.verdict {
            ComparisonVerdict::Unknown => "—".to_owned(),
            _ => told.interval.clone(),
        };
        told.as_ref().map_or_else(Default::default, |told| (told.change.clone(), interval(told)))
    };
    let row = |label: &str, cells: [String; 2], (change, interval): (String, String)| {
        let [a, b] = cells;
        [label.to_owned(), a, b, change, interval]
    };
    let heads = ["", &first.letter, &other.letter, "difference", "95 %"].map(str::to_owned);
    let mut rows = vec![
        heads,
        row("tps", [with_interval(first), with_interval(other)], change(&other.tps_difference)),
        row("mean", [first.mean.clone(), other.mean.clone()], change(&other.mean_difference)),
    ];
    for (label, (a, b)) in QUANTILES.iter().zip(first.quantiles.iter().zip(&other.quantiles)) {
        let change = (b.1.clone().unwrap_or_default(), String::new());
        rows.push(row(label, [a.0.clone(), b.0.clone()], change));
    }
    let endings: [Ending; 3] = [
        ("failed", |run| &run.failed),
        ("skipped", |run| &run.skipped),
        ("late or skipped", |run| &run.late_or_skipped),
    ];
    for (label, of) in endings {
        rows.push(row(label, [of(first).clone(), of(other).clone()], Default::default()));
    }
    let column = |at: usize| {
        let side = if at == 0 || at == 4 { Side::Left } else { Side::Right };
        padded(rows.iter().map(|row| row[at].clone()).collect(), side)
    };
    (0..5).map(column).collect()
}

/// What to know before believing the comparison.
fn cautions(runs: &[Run<'_>]) -> Vec<String> {
    let records: Vec<&Record> = runs.iter().map(|run| run.record).collect();
    let warnings = results::warnings_of_comparison(&records);
    let of_comparison = warnings.iter().map(wording::warning);
    let of_runs = runs.iter().enumerate().flat_map(|(at, run)| {
        let letter = crate::run::letter(at);
        let recorded = run.record.cautions().map(wording::warning);
        run.trouble().into_iter().chain(recorded).map(move |warning| format!("{letter}: {warning}"))
    });
    let all = sections::builds(runs).into_iter().chain(of_comparison).chain(of_runs);
    all.map(|warning| format!("warning: {warning}")).collect()
}

/// What was asked for and set in different ways.
fn differing(runs: &[Run<'_>], style: &TextStyle) -> String {
    let settings: Vec<_> = sections::settings(runs).into_iter().filter(|setting| setting.differs).collect();
    let mut out = String::new();
    for setting in settings.iter().take(SETTINGS_MAX) {
        let value = |(at, value): (usize, &Option<String>)| {
            format!("{} {}", crate::run::letter(at), value.as_deref().unwrap_or("default"))
        };
        let values: Vec<String> = setting.values.iter().enumerate().map(value).collect();
        out += &paragraph(&format!("{}: {}", setting.name, enumerate(&values)), style);
    }
    if settings.len() > SETTINGS_MAX {
        let more = settings.len() - SETTINGS_MAX;
        out += &paragraph(
            &format!("… and {more} more settings differ; the page (--format html) has all"),
            style,
        );
    }
    if out.is_empty() {
        out
    } else {
        format!("\n{}\n{out}", emphasise("what differs", Emphasis::Quiet, style))
    }
}
