//! The top of the page of one run: what ran, the throughput, the latencies, who was the limit; and the warnings.
//! What it says comes from `sections`; several runs have `comparison`.

use super::markup::Markup;
use crate::Run;
use crate::chart::RunCharts;
use crate::figures::{asked_seconds, counted, measured_seconds};
use crate::run::letter;
use crate::sections::{self, Headline};
use crate::wording;

pub(super) fn headline(page: &mut Markup, run: Run<'_>) {
    let record = run.record;
    let Headline { tps, interval, quantiles, limit, evidence, client_limited, steady, unsettled } =
        sections::headline(record);
    page.element("section", &[("class", "top"), ("aria-labelledby", "title")], |page| {
        page.element("h1", &[("id", "title")], |page| {
            page.text(&run.scripts());
            page.leaf("span", &[("class", "on")], &format!(" on {}", run.server()));
        });
        page.leaf("p", &[("class", "how")], &load(run));
        page.element("div", &[("class", "figures")], |page| {
            page.element("div", &[("class", "hero")], |page| {
                page.element("p", &[("class", "number")], |page| {
                    page.leaf("strong", &[], &tps);
                    page.raw(" <span class=\"unit\">transactions per second</span>");
                });
                page.leaf("p", &[("class", "how")], &interval);
            });
            page.element("dl", &[("class", "quantiles")], |page| {
                for (name, value) in &quantiles {
                    page.element("div", &[], |page| {
                        page.leaf("dt", &[], name);
                        page.leaf("dd", &[], value);
                    });
                }
            });
        });
        let class = if client_limited { "verdict bad" } else { "verdict" };
        page.element("p", &[("class", class)], |page| {
            page.leaf("strong", &[], &limit);
            page.text(" ");
            page.text(&evidence);
        });
        if let Some(steady) = &steady {
            page.leaf("p", &[("class", if unsettled { "verdict bad" } else { "verdict" })], steady);
        }
    });
    page.raw("\n");
}

/// `8 clients on 2 workers, simple protocol, 60.0 s after 5 s of warm-up, started 2026-…`
fn load(run: Run<'_>) -> String {
    let plan = &run.record.plan;
    let warmup = (plan.warmup_s > 0.0).then(|| format!(" after {} of warm-up", asked_seconds(plan.warmup_s)));
    format!(
        "{} on {}, {} protocol, measured for {}{}. Started {}.",
        counted(plan.clients.into(), "client", "clients"),
        counted(plan.workers.into(), "worker", "workers"),
        plan.protocol.name(),
        measured_seconds(run.record.summary.duration_s),
        warmup.unwrap_or_default(),
        minute(&run.record.started_at.to_string()),
    )
}

/// `2026-11-21 12:03 UTC` of `2026-11-21T12:03:01.250Z`.
fn minute(rfc3339: &str) -> String {
    match (rfc3339.get(..10), rfc3339.get(11..16)) {
        (Some(day), Some(time)) => format!("{day} {time} UTC"),
        _ => rfc3339.to_owned(),
    }
}

/// What to know before believing the figures.
pub(super) fn warnings(page: &mut Markup, runs: &[Run<'_>], data: &RunCharts) {
    let mut warnings: Vec<String> = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        let whose = if runs.len() > 1 { format!("{}: ", letter(at)) } else { String::new() };
        let damaged = data.damaged_histograms.get(at).copied().unwrap_or(0);
        let damaged = (damaged > 0).then(|| {
            let histograms = counted(damaged as u64, "histogram", "histograms");
            format!("{histograms} in the record cannot be read; the charts are without them.")
        });
        let recorded = run.record.cautions().map(wording::warning);
        let trouble = run.trouble().into_iter().chain(damaged).map(|it| sections::capitalised(&it));
        warnings.extend(trouble.chain(recorded).map(|warning| whose.clone() + &warning));
    }
    if runs.len() > 1 {
        let records: Vec<&results::Record> = runs.iter().map(|run| run.record).collect();
        warnings.extend(results::warnings_of_comparison(&records).iter().map(wording::warning));
    }
    if !warnings.is_empty() {
        page.element("section", &[("class", "warnings"), ("aria-labelledby", "warnings")], |page| {
            page.leaf("h2", &[("id", "warnings")], "Warnings");
            page.element("ul", &[], |page| warnings.iter().for_each(|warning| page.leaf("li", &[], warning)));
        });
    }
    notes(page, runs);
    page.raw("\n");
}

/// What is good to know and makes no figure wrong; of one run.
fn notes(page: &mut Markup, runs: &[Run<'_>]) {
    let [run] = runs else { return };
    let mut notes = run.record.notes().peekable();
    if notes.peek().is_none() {
        return;
    }
    page.element("details", &[("class", "notes")], |page| {
        page.leaf("summary", &[], "Notes");
        page.element("ul", &[], |page| {
            notes.for_each(|note| page.leaf("li", &[], &wording::warning(note)));
        });
    });
}
