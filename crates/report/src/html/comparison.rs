//! The top of the page of several runs: what differs and whether it can be told from chance, and their settings.
//! The figures are `compare`'s.

use super::details::table;
use super::markup::Markup;
use crate::Run;
use crate::run::letter;
use crate::sections::{self, ComparedRun, ComparisonVerdict, Setting, Told};

/// Differences that are told as sentences; of more runs the table tells.
const SENTENCES_MAX: usize = 4;
/// Runs whose settings have a column each; of more, equal values are one.
const SETTING_COLUMNS_MAX: usize = 4;

pub(super) fn headline(page: &mut Markup, runs: &[Run<'_>]) {
    let compared = sections::comparison(runs);
    page.element("section", &[("class", "top"), ("id", "comparison"), ("aria-labelledby", "title")], |page| {
        page.leaf("h1", &[("id", "title")], &format!("{} runs side by side", runs.len()));
        for run in compared.iter().skip(1).take(SENTENCES_MAX) {
            for told in run.tps_difference.iter().chain(&run.mean_difference) {
                let sentence = told.sentence.as_deref();
                sentence.into_iter().for_each(|it| {
                    page.leaf("p", &[("class", verdict_class(told.verdict))], it);
                });
            }
        }
        page.raw(
            "<p class=\"how\">Differences are against A. The 95 % intervals hold what varies within the runs; \
             what varies from run to run, only more runs can show.</p>",
        );
        runs_table(page, &compared);
    });
    page.raw("\n");
}

fn verdict_class(verdict: ComparisonVerdict) -> &'static str {
    match verdict {
        ComparisonVerdict::Better => "verdict good",
        ComparisonVerdict::Worse => "verdict bad",
        ComparisonVerdict::CannotTell | ComparisonVerdict::Unknown => "verdict",
    }
}

fn runs_table(page: &mut Markup, compared: &[ComparedRun]) {
    let columns = [
        "run",
        "tps",
        "difference",
        "mean latency",
        "median",
        "p95",
        "p99",
        "p99.9",
        "failed",
        "skipped",
        "late or skipped",
    ];
    table(page, &columns, "figures runs", |page| {
        for (at, run) in compared.iter().enumerate() {
            page.element("tr", &[], |page| {
                page.element("th", &[("data-label", columns[0]), ("scope", "row")], |page| {
                    let run_index = at.to_string();
                    page.leaf("span", &[("class", "letter"), ("data-run", &run_index)], &run.letter);
                    page.text(" ");
                    page.text(&run.name);
                    page.leaf("span", &[("class", "how")], &run.what);
                });
                cell(page, columns[1], &run.tps, &run.tps_interval);
                difference(page, columns[2], run.tps_difference.as_ref());
                difference(page, columns[3], run.mean_difference.as_ref());
                for ((latency, change), column) in run.quantiles.iter().zip(&columns[4..]) {
                    cell(page, column, latency, change.as_deref().unwrap_or_default());
                }
                let endings = [&run.failed, &run.skipped, &run.late_or_skipped];
                endings.into_iter().zip(&columns[8..]).for_each(|(it, column)| cell(page, column, it, ""));
            });
        }
    });
}

fn cell(page: &mut Markup, column: &str, figure: &str, below: &str) {
    page.element("td", &[("data-label", column)], |page| {
        page.text(figure);
        page.leaf("span", &[("class", "how")], below);
    });
}

fn difference(page: &mut Markup, column: &str, told: Option<&Told>) {
    let Some(told) = told else { return cell(page, column, "—", "") };
    let (class, word) = match told.verdict {
        ComparisonVerdict::Better => ("better", "better, "),
        ComparisonVerdict::Worse => ("worse", "worse, "),
        ComparisonVerdict::CannotTell => ("same", "inconclusive, "),
        ComparisonVerdict::Unknown => ("same", ""),
    };
    page.element("td", &[("data-label", column), ("class", class)], |page| {
        page.text(&told.change);
        page.leaf("span", &[("class", "how")], &format!("{word}{}", told.interval));
    });
}

/// All settings, those that differ first and marked.
pub(super) fn settings(page: &mut Markup, runs: &[Run<'_>]) {
    let settings = sections::settings(runs);
    let (differing, same): (Vec<Setting>, Vec<Setting>) =
        settings.into_iter().partition(|setting| setting.differs);
    if let Some(builds) = sections::builds(runs) {
        page.leaf("p", &[("class", "verdict bad")], &builds);
    }
    if differing.is_empty() {
        page.raw("<p class=\"how\">No setting that is known differs.</p>");
    } else if runs.len() <= SETTING_COLUMNS_MAX {
        let letters: Vec<String> = (0..runs.len()).map(letter).collect();
        let columns: Vec<&str> = ["setting"].into_iter().chain(letters.iter().map(String::as_str)).collect();
        table(page, &columns, "words differing", |page| {
            for setting in &differing {
                page.element("tr", &[], |page| {
                    page.leaf("th", &[("data-label", "setting"), ("scope", "row")], &setting.name);
                    for (value, column) in setting.values.iter().zip(&columns[1..]) {
                        page.leaf("td", &[("data-label", column)], value.as_deref().unwrap_or("default"));
                    }
                });
            }
        });
    } else {
        table(page, &["setting", "values"], "words differing", |page| {
            for setting in &differing {
                page.element("tr", &[], |page| {
                    page.leaf("th", &[("data-label", "setting"), ("scope", "row")], &setting.name);
                    page.leaf("td", &[("data-label", "values")], &grouped(setting));
                });
            }
        });
    }
    if !same.is_empty() {
        page.element("details", &[], |page| {
            page.leaf("summary", &[], &format!("{} settings that are the same in all", same.len()));
            let facts = same.into_iter().map(|setting| {
                let value = setting.values.into_iter().flatten().next().unwrap_or_default();
                sections::Fact::new(setting.name, value)
            });
            super::details::facts(page, &facts.collect::<Vec<_>>());
        });
    }
}

/// `64MB in A, C; default in B`
fn grouped(setting: &Setting) -> String {
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    for (at, value) in setting.values.iter().enumerate() {
        let value = value.as_deref().unwrap_or("default");
        match groups.iter_mut().find(|(other, _)| *other == value) {
            Some((_, letters)) => letters.push(letter(at)),
            None => groups.push((value, vec![letter(at)])),
        }
    }
    let groups: Vec<_> =
        groups.iter().map(|(value, letters)| format!("{value} in {}", letters.join(", "))).collect();
    groups.join("; ")
}
