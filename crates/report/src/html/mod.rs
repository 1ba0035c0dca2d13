//! The page: one file that opens without a network. What it says is written by Rust from `sections` and `chart`; its
//! script shows the values of charts at the pointer. Called by `cli` for one run or several.

mod comparison;
mod data;
mod details;
pub(crate) mod experiment;
mod head;
mod headline;
mod markup;

use crate::Run;
use crate::chart::{RunCharts, markup};
use crate::run::letter;
use crate::sections;
use head::Script;
use markup::Markup;

/// Runs of which a page shows the details, one below the other; of more there is the comparison alone.
const DETAILED_MAX: usize = 12;

/// The page of one run, or of several side by side.
pub fn html(runs: &[Run<'_>]) -> String {
    let data = RunCharts::new(runs);
    page(&title(runs), &contents(runs, &data), &Script::Pointer, |page| match runs {
        [only] => one(page, *only, &data),
        several => side_by_side(page, several, &data),
    })
}

/// What all pages have around what they say: head, links to their parts, the data of the charts and what draws them.
fn page(title: &str, contents: &[Link], script: &Script, main: impl FnOnce(&mut Markup)) -> String {
    let mut page = Markup::new();
    page.raw("<!doctype html>\n<html lang=\"en\">\n");
    head::head(&mut page, title, script);
    page.raw("<body>\n<a class=\"skip\" href=\"#main\">Skip to the results</a>\n");
    page.element("header", &[("class", "bar")], |page| {
        page.leaf("span", &[("class", "brand")], "pgmeter");
        page.element("nav", &[("aria-label", "Contents")], |page| {
            for (href, name, _) in contents.iter().filter(|(_, _, there)| *there) {
                page.leaf("a", &[("href", href)], name);
            }
        });
        page.raw("<button type=\"button\" id=\"theme\" hidden>Theme: system</button>");
    });
    page.raw("\n<main id=\"main\" tabindex=\"-1\">\n");
    main(&mut page);
    page.raw("</main>\n");
    page.element("footer", &[], |page| {
        page.text("Made by pgmeter ");
        page.text(env!("CARGO_PKG_VERSION"));
        page.raw(". This page is complete: it loads nothing and sends nothing.");
        script.credits(page);
    });
    page.raw("\n<noscript><p class=\"note\">Without JavaScript the charts show no values at the pointer; all figures are in the tables.</p></noscript>\n");
    head::scripts(&mut page, script);
    page.raw("</body>\n</html>\n");
    page.finish()
}

/// A part of a page: where, what, and whether it is there.
type Link = (&'static str, &'static str, bool);

fn title(runs: &[Run<'_>]) -> String {
    match runs {
        [only] => format!(
            "{} on {}: {} tps",
            only.scripts(),
            only.server(),
            crate::figures::rate(only.record.summary.tps)
        ),
        several => format!("{} runs side by side", several.len()),
    }
}

/// Links to the parts.
fn contents(runs: &[Run<'_>], data: &RunCharts) -> [Link; 8] {
    let several = runs.len() > 1;
    [
        ("#comparison", "Comparison", several),
        ("#over-time", "Over time", !data.over_time.is_empty()),
        ("#latency", "Latency", data.percentiles.is_some()),
        ("#server", "Server", !several),
        ("#commands", "Commands", !several || sections::commands_side_by_side(runs).is_some()),
        ("#settings", "Settings", true),
        ("#runs", "Runs", several && runs.len() <= DETAILED_MAX),
        ("#repeat", "Repeat", !several),
    ]
}

fn one(page: &mut Markup, run: Run<'_>, data: &RunCharts) {
    headline::headline(page, run);
    headline::warnings(page, &[run], data);
    over_time(page, data);
    page.section("latency", "Latency", |page| {
        percentiles(page, data);
        details::latencies(page, run.record);
    });
    page.section("server", "Server activity", |page| details::server(page, run.record));
    page.section("cost", "Cost per transaction", |page| details::costs(page, run.record));
    page.section("commands", "Commands", |page| details::commands(page, run.record));
    page.section("generator", "Load generator", |page| details::generator(page, run.record));
    page.section("settings", "Load, settings and environment", |page| details::environment(page, &[run]));
    page.section("repeat", "Repeat this run", |page| details::repeat(page, run.record));
}

fn over_time(page: &mut Markup, data: &RunCharts) {
    if !data.over_time.is_empty() {
        page.section("over-time", "Over time", |page| {
            data.over_time.iter().enumerate().for_each(|(at, chart)| page.made_safe(&markup(chart, at)));
        });
    }
}

fn percentiles(page: &mut Markup, data: &RunCharts) {
    match &data.percentiles {
        Some(chart) => page.made_safe(&markup(chart, data.over_time.len())),
        None => {
            page.leaf("p", &[("class", "how")], "No transaction succeeded, so there is no latency to show.")
        }
    }
}

fn side_by_side(page: &mut Markup, runs: &[Run<'_>], data: &RunCharts) {
    comparison::headline(page, runs);
    headline::warnings(page, runs, data);
    over_time(page, data);
    page.section("latency", "Latency", |page| percentiles(page, data));
    if let Some(commands) = sections::commands_side_by_side(runs) {
        page.section("commands", "Commands", |page| details::grid(page, &commands, "figures commands"));
    }
    page.section("settings", "Load and settings", |page| comparison::settings(page, runs));
    if runs.len() > DETAILED_MAX {
        return;
    }
    page.section("runs", "Each run", |page| {
        for (at, run) in runs.iter().enumerate() {
            page.element("details", &[("class", "run")], |page| {
                let name = format!("{}: {} on {}, {}", letter(at), run.scripts(), run.server(), run.name);
                page.leaf("summary", &[], &name);
                details::latencies(page, run.record);
                page.leaf("h3", &[], "Server activity");
                details::server(page, run.record);
                page.leaf("h3", &[], "Cost per transaction");
                details::costs(page, run.record);
                page.leaf("h3", &[], "Commands");
                details::commands(page, run.record);
                page.leaf("h3", &[], "Load generator");
                details::generator(page, run.record);
                page.leaf("h3", &[], "Load and environment");
                details::environment(page, std::slice::from_ref(run));
                page.leaf("h3", &[], "Repeat this run");
                details::repeat(page, run.record);
            });
        }
    });
}
