//! Places for the charts: captions, what a screen reader says of them, and where the script draws. The same data can be
//! had as a table below each.

use super::data::PageData;
use super::markup::Markup;
use crate::Run;
use crate::run::letter;

/// A chart's place.
struct Place<'a> {
    /// What the script draws.
    chart: &'static str,
    /// The run it is of; `None`: all of them.
    run: Option<usize>,
    title: &'a str,
    /// How to read it.
    how: &'static str,
    class: &'static str,
}

const ONE_CLASS: &str = "chart";
const LOW_CLASS: &str = "chart low";

/// Everything that shares the axis of time.
pub(super) fn over_time(page: &mut Markup, runs: &[Run<'_>], data: &PageData) {
    if !data.has_time() {
        return;
    }
    page.section("over-time", "Over time", |page| {
        legend_of_events(page, data);
        let throughput = Place {
            chart: "throughput",
            run: None,
            title: "Throughput",
            how: "transactions per second",
            class: ONE_CLASS,
        };
        place(page, &throughput);
        let percentiles = Place {
            chart: "percentiles-over-time",
            run: None,
            title: "Response time",
            how: "percentiles, logarithmic",
            class: ONE_CLASS,
        };
        place(page, &percentiles);
        for (at, _) in runs.iter().enumerate() {
            pictures(page, at, runs.len() > 1, data);
        }
        if data.has_wal() {
            let wal = Place {
                chart: "wal",
                run: None,
                title: "Write-ahead log",
                how: "bytes per second",
                class: LOW_CLASS,
            };
            place(page, &wal);
        }
    });
}

/// The charts that hold one run each.
fn pictures(page: &mut Markup, run: usize, several: bool, data: &PageData) {
    let title = |title: &str| if several { format!("{title} of {}", letter(run)) } else { title.to_owned() };
    let pictures = [
        (
            data.has_heat(run),
            "heat",
            "Latency distribution over time",
            "darker: more of them; logarithmic",
            ONE_CLASS,
        ),
        (
            data.has_waits(run),
            "waits",
            "Wait events and CPU of the backends",
            "backends, on average, stacked",
            ONE_CLASS,
        ),
        (data.has_host(run), "host", "Processors of the server's host", "share of all", LOW_CLASS),
    ];
    for (there, chart, name, how, class) in pictures {
        if there {
            place(page, &Place { chart, run: Some(run), title: &title(name), how, class });
        }
    }
}

/// The percentile plot.
pub(super) fn percentiles(page: &mut Markup, data: &PageData) {
    if !data.has_latency() {
        page.leaf("p", &[("class", "how")], "No transaction succeeded, so there is no latency to show.");
        return;
    }
    let how = if data.has_service() {
        "response time counts from when a transaction was due, service time (dashed) from when it began"
    } else {
        "how long the fastest so many percent took at most; each step to the right is a tenth of the rest"
    };
    place(page, &Place { chart: "percentiles", run: None, title: "Percentiles", how, class: ONE_CLASS });
}

/// What the bands behind the charts are.
fn legend_of_events(page: &mut Markup, data: &PageData) {
    let kinds = data.event_kinds();
    if kinds.is_empty() {
        return;
    }
    page.element("p", &[("class", "bands")], |page| {
        page.raw("Marked in the charts: ");
        for kind in &kinds {
            page.leaf("span", &[("class", "band"), ("data-kind", kind)], kind);
            page.text(" ");
        }
    });
}

fn place(page: &mut Markup, place: &Place<'_>) {
    let Place { chart, run, title, how, class } = place;
    let run = run.map(|run| run.to_string()).unwrap_or_default();
    page.element("figure", &[("class", class), ("data-chart", chart), ("data-run", &run)], |page| {
        page.element("figcaption", &[], |page| {
            page.leaf("h3", &[], title);
            page.leaf("span", &[("class", "how")], how);
            page.raw("<span class=\"legend\"></span>");
        });
        page.chart_place(title, how);
    });
    page.raw("\n");
}
