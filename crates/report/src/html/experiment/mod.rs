//! The page of an experiment: its charts, a table of its cells, what the backends waited for, each cell with its trials
//! and runs, and the file. What it says comes from `experiment`; frame, style and script are those of all pages.

mod charts;
mod parts;

use super::markup::Markup;
use crate::experiment::Overview;
use crate::prose::escaped_line;
use charts::Drawn;

/// The page, one file that opens without a network.
pub fn html(overview: &Overview) -> String {
    let drawn = Drawn::of(overview);
    let has_waits = overview.cells.iter().any(|cell| !cell.waits.is_empty());
    let has_charts = !(overview.charts.is_empty() && overview.stacks.is_empty());
    let contents = [
        ("#charts", "Charts", has_charts),
        ("#results", "Results", true),
        ("#steps", "Steps", overview.has_steps()),
        ("#waits", "Waits", has_waits),
        ("#cells", "Trials", true),
        ("#file", "File", true),
        ("#repeat", "Repeat", true),
    ];
    super::page(&overview.title, &contents, &super::head::Script::Experiment(drawn.to_json()), |page| {
        parts::headline(page, overview);
        parts::concerns(page, overview);
        if has_charts {
            page.section("charts", "Charts", |page| charts::charts(page, overview));
        }
        page.section("results", "Results", |page| {
            parts::results(page, overview);
            parts::costs(page, overview);
        });
        if overview.has_steps() {
            page.section("steps", "Steps", |page| parts::steps(page, overview));
        }
        if has_waits {
            page.section("waits", "Wait events and CPU of the backends", |page| parts::waits(page, overview));
        }
        page.section("cells", "Trials", |page| parts::cells(page, overview));
        page.section("file", "The file", |page| file(page, overview));
        page.section("repeat", "Repeat this experiment", |page| {
            page.raw("<p class=\"how\">In the folder of the file:</p>");
            page.leaf("pre", &[("class", "command")], &overview.repeat_command());
            page.raw("<p class=\"how\">Its trials, as they were measured:</p>");
            let profile = &overview.profile;
            let export = format!(
                "pgmeter report{} --experiment {} --profile {profile} --format csv -o {}.csv",
                overview.store, overview.name, overview.name
            );
            page.leaf("pre", &[("class", "command")], &export);
        });
    })
}

/// The experiment's file, and those beside it folded.
fn file(page: &mut Markup, overview: &Overview) {
    let own = overview.file_name();
    for (name, text) in &overview.files {
        let open: &[(&'static str, &str)] = if Some(name.as_str()) == own { &[("open", "")] } else { &[] };
        page.element("details", open, |page| {
            page.leaf("summary", &[], &escaped_line(name));
            page.leaf("pre", &[], text);
        });
    }
    if overview.files.is_empty() {
        page.raw("<p class=\"how\">The store has no file of it.</p>");
    }
}
