//! The tables and lists on an experiment's page: what it was, what to know first, a row for each cell, waits as stacked
//! bars, and each cell with its trials and their runs.

use super::super::details;
use super::super::markup::Markup;
use crate::experiment::{
    Cell, IF_ANY, Metric, Overview, Standing, bounds, interval, is_base, limits_in_words, marks_in_words,
    ratio, step_grid, titled, top_waits, wait_name,
};
use crate::prose::escaped_line;
use crate::sections::{self, WaitRow};

/// Waits with a colour of their own; the rest are together.
const WAITS_SHOWN: usize = 10;

/// What was asked, and what came of it in one sentence.
pub(super) fn headline(page: &mut Markup, overview: &Overview) {
    page.element("section", &[("class", "top"), ("aria-labelledby", "title")], |page| {
        page.leaf("h1", &[("id", "title")], &overview.title);
        let source = overview.source.as_ref().map_or(String::new(), |source| format!("After {source}. "));
        let begun = overview.started_at.get(..10).unwrap_or_default();
        let quick = if overview.profile == "quick" { ", in its small size" } else { "" };
        let line = format!("{source}Experiment {}{quick}, begun {begun}.", overview.name);
        page.leaf("p", &[("class", "how")], &line);
        if let Some(description) = &overview.description {
            page.leaf("p", &[("class", "description")], description);
        }
        let class = if overview.trials.iter().any(|trial| trial.standing != Standing::Complete) {
            "verdict bad"
        } else {
            "verdict"
        };
        page.leaf("p", &[("class", class)], &format!("{}.", overview.standing()));
        if let Some(sentence) = best(overview) {
            page.leaf("p", &[("class", "verdict")], &sentence);
        }
    });
    page.raw("\n");
}

/// The best of all, and how far that is from its base.
fn best(overview: &Overview) -> Option<String> {
    let main = overview.main();
    // What was asked for is no outcome.
    if overview.has_rate() {
        return None;
    }
    let (what, sign) = match main {
        Metric::Tps => ("Most transactions per second", 1.0),
        Metric::Operations => ("Most operations per second", 1.0),
        _ => ("Shortest", -1.0),
    };
    let score = |cell: &usize| overview.cells[*cell].figure(main).map(|it| it.mean * sign);
    let measured = (0..overview.cells.len()).filter_map(|cell| Some((cell, score(&cell)?)));
    let (cell, _) = measured.reduce(|best, next| if next.1 > best.1 { next } else { best })?;
    let figure = overview.cells[cell].figure(main)?;
    // Only where the interval leaves all others out.
    let is_beyond = |other: usize| {
        let other = overview.cells[other].figure(main)?;
        let (low, high) = crate::experiment::ratio_of(other, figure, overview.repeats_are_blocks)?.interval?;
        Some(if sign > 0.0 { low > 1.0 } else { high < 1.0 })
    };
    let others = (0..overview.cells.len()).filter(|other| *other != cell);
    let mut measured = others.filter(|other| overview.cells[*other].figure(main).is_some());
    if !measured.all(|other| is_beyond(other).unwrap_or(false)) {
        return None;
    }
    let against = overview.ratio(cell, main).map_or(String::new(), |it| {
        let sure = if it.interval.is_some() { format!(" (95 %: {})", bounds(&it)) } else { String::new() };
        format!(", {} of its base{sure}", ratio(&it))
    });
    (overview.cells.len() > 1).then(|| {
        format!(
            "{what}: {} with {}{against}.",
            main.quantity().shown(figure.mean),
            overview.description_of(cell)
        )
    })
}

/// What to know before believing the figures, and what is not in them.
pub(super) fn concerns(page: &mut Markup, overview: &Overview) {
    let lost = overview.lost();
    if !overview.concerns.is_empty() {
        page.element("section", &[("class", "warnings"), ("aria-labelledby", "warnings")], |page| {
            page.leaf("h2", &[("id", "warnings")], "Warnings");
            page.element("ul", &[], |page| {
                overview.concerns.iter().for_each(|concern| page.leaf("li", &[], concern));
            });
            if !overview.builds.is_empty() {
                page.element("details", &[], |page| {
                    page.raw("<summary>How the servers were built</summary>");
                    let builds = overview.builds.iter();
                    page.element("ul", &[], |page| builds.for_each(|build| page.leaf("li", &[], build)));
                });
            }
        });
    }
    if !lost.is_empty() {
        page.element("section", &[("class", "warnings"), ("aria-labelledby", "lost")], |page| {
            page.leaf("h2", &[("id", "lost")], "Not in the figures");
            page.element("ul", &[], |page| lost.iter().for_each(|lost| page.leaf("li", &[], lost)));
        });
    }
}

/// A row for each cell.
pub(super) fn results(page: &mut Markup, overview: &Overview) {
    for sentence in overview.base_in_words().into_iter().chain(overview.intervals_in_words()) {
        page.leaf("p", &[("class", "how")], &sentence);
    }
    let names: Vec<&str> = overview.factors.iter().map(|factor| factor.name.as_str()).collect();
    let names = if names.is_empty() { "combination".to_owned() } else { escaped_line(&names.join(", ")) };
    let of_every_load: &[Metric] =
        if overview.has_steps() { &[] } else { &[Metric::Mean, Metric::P50, Metric::P99] };
    let usual = of_every_load.iter().copied().chain(overview.has_batches().then_some(Metric::Tps));
    let usual = usual.chain(IF_ANY.into_iter().filter(|metric| overview.has(*metric)));
    let shown = overview.shown(&usual.collect::<Vec<_>>());
    let mut columns = vec![names.as_str(), column(overview, overview.main())];
    columns.extend(overview.has_ratios().then(|| overview.ratio_title()));
    columns.extend(shown.iter().map(|metric| column(overview, *metric)));
    details::table(page, &columns, "figures cells", |page| {
        for cell in 0..overview.cells.len() {
            page.element("tr", &[], |page| result(page, overview, cell, &columns, &shown));
        }
    });
    overview.left_out().iter().for_each(|told| page.leaf("p", &[("class", "how")], told));
}

/// What a column of the table of cells is called.
fn column(overview: &Overview, metric: Metric) -> &'static str {
    match metric {
        Metric::Tps => "tps",
        Metric::P50 => "median",
        Metric::P99 => "p99",
        other => overview.title_of(other),
    }
}

fn result(page: &mut Markup, overview: &Overview, cell: usize, columns: &[&str], shown: &[Metric]) {
    let of = &overview.cells[cell];
    page.element("th", &[("data-label", columns[0]), ("scope", "row")], |page| {
        page.leaf("a", &[("href", &format!("#cell-{}", cell + 1))], &overview.label(cell));
        page.leaf("span", &[("class", "how")], &marks_in_words(overview.marks(cell)));
    });
    let figure = |page: &mut Markup, column: &str, metric: Metric| {
        let figure = of.figure(metric).map_or("—".to_owned(), |it| metric.quantity().shown(it.mean));
        let deviation = of.figure(Metric::Stddev).filter(|_| {
            metric == Metric::Mean && !overview.is_drawn(metric) && !shown.contains(&Metric::Stddev)
        });
        let below = match deviation {
            Some(it) => format!("stddev {}", Metric::Stddev.quantity().shown(it.mean)),
            None => of.figure(metric).map(interval).unwrap_or_default(),
        };
        two_lines(page, column, &figure, &below);
    };
    figure(page, columns[1], overview.main());
    let mut rest = columns[2..].iter();
    if overview.has_ratios() {
        let column = rest.next().copied().unwrap_or_default();
        match overview.ratio(cell, overview.main()) {
            Some(it) => two_lines(page, column, &ratio(&it), &bounds(&it)),
            None => two_lines(page, column, if is_base(overview, cell) { "base" } else { "—" }, ""),
        }
    }
    for (column, metric) in rest.zip(shown) {
        figure(page, column, *metric);
    }
}

fn two_lines(page: &mut Markup, column: &str, figure: &str, below: &str) {
    page.element("td", &[("data-label", column)], |page| {
        page.text(figure);
        page.leaf("span", &[("class", "how")], below);
    });
}

/// Each step of each cell.
pub(super) fn steps(page: &mut Markup, overview: &Overview) {
    let grid = step_grid(overview);
    let columns: Vec<&str> = grid.columns.iter().map(String::as_str).collect();
    details::table(page, &columns, "figures steps", |page| {
        for row in &grid.rows {
            details::row(page, &columns, &row.iter().map(String::as_str).collect::<Vec<_>>());
        }
    });
    for told in overview.step_ratios_in_words().into_iter().chain(limits_in_words(overview)) {
        page.leaf("p", &[("class", "how")], &told);
    }
}

/// What things cost, by subtraction.
pub(super) fn costs(page: &mut Markup, overview: &Overview) {
    for (heading, facts) in overview.costs_in_words() {
        page.leaf("h3", &[], &titled(&heading));
        details::facts(page, &facts);
    }
}

/// What the backends did in each cell, as a bar of shares.
pub(super) fn waits(page: &mut Markup, overview: &Overview) {
    let events = frequent(overview);
    page.raw("<p class=\"how\">Of the backends that were not idle, on average over the repeats.</p>");
    page.element("p", &[("class", "legend keys")], |page| {
        for (name, colour) in &events {
            page.key(name, colour);
        }
        page.key("everything else", OTHER);
    });
    page.element("ol", &[("class", "bar-list stacked")], |page| {
        for (number, cell) in overview.cells.iter().enumerate().filter(|(_, cell)| !cell.waits.is_empty()) {
            page.element("li", &[], |page| {
                page.element("div", &[("class", "bar-row")], |page| {
                    page.leaf("span", &[("class", "name")], &overview.label(number));
                    page.stacked_bar(&stack(cell, &events));
                    page.leaf("span", &[("class", "value")], &top_waits(cell));
                });
            });
        }
    });
}

/// Variable of the page's style for what has no colour of its own.
const OTHER: &str = "wait-other-2";

/// The most frequent events over all cells, each with the variable of its colour.
fn frequent(overview: &Overview) -> Vec<(String, String)> {
    let mut sums: Vec<(&str, String, f64)> = Vec::new();
    for wait in overview.cells.iter().flat_map(|cell| &cell.waits) {
        let name = wait_name(wait);
        match sums.iter_mut().find(|(_, known, _)| *known == name) {
            Some((.., sum)) => *sum += wait.share,
            None => sums.push((&wait.event_type, name, wait.share)),
        }
    }
    sums.sort_by(|a, b| b.2.total_cmp(&a.2));
    let mut seen: Vec<String> = Vec::new();
    let mut colour = |kind: &str| {
        const KINDS: [&str; 6] = ["cpu", "io", "lock", "lwlock", "client", "ipc"];
        let kind = kind.to_ascii_lowercase();
        let kind = if KINDS.contains(&kind.as_str()) { kind } else { "other".to_owned() };
        let shade = seen.iter().filter(|known| **known == kind).count().min(2);
        seen.push(kind.clone());
        format!("wait-{kind}-{shade}")
    };
    sums.into_iter().take(WAITS_SHOWN).map(|(kind, name, _)| (name, colour(kind))).collect()
}

/// Shares and colours of a bar, in the order of the legend.
fn stack(cell: &Cell, events: &[(String, String)]) -> Vec<(f64, String)> {
    let share = |name: &str| {
        cell.waits.iter().filter(|wait| wait_name(wait) == name).map(|wait| wait.share).sum::<f64>()
    };
    let mut stack: Vec<(f64, String)> =
        events.iter().map(|(name, colour)| (share(name), colour.clone())).collect();
    let rest =
        cell.waits.iter().map(|wait| wait.share).sum::<f64>() - stack.iter().map(|it| it.0).sum::<f64>();
    stack.push((rest.max(0.0), OTHER.to_owned()));
    stack
}

/// Each cell with its trials, and the reports of their runs.
pub(super) fn cells(page: &mut Markup, overview: &Overview) {
    if !overview.has_steps() {
        page.raw("<p class=\"how\">Every trial is a run of its own, with a page of its own.</p>");
    }
    for cell in 0..overview.cells.len() {
        let id = format!("cell-{}", cell + 1);
        page.element("details", &[("class", "run"), ("id", &id)], |page| {
            page.leaf("summary", &[], &overview.description_of(cell));
            trials(page, overview, cell);
            let waits = &overview.cells[cell].waits;
            if !waits.is_empty() {
                page.leaf("h3", &[], "Wait events and CPU of the backends");
                let row = |wait: &results::WaitShare| WaitRow {
                    event_type: wait.event_type.clone(),
                    event: wait.event.clone(),
                    share: wait.share,
                    interval: String::new(),
                };
                details::waits(page, &waits.iter().take(WAITS_SHOWN).map(row).collect::<Vec<_>>());
            }
            ceilings(page, overview, cell);
        });
    }
}

fn trials(page: &mut Markup, overview: &Overview, cell: usize) {
    if overview.has_steps() {
        return trials_of_steps(page, overview, cell);
    }
    let columns = ["repeat", "run", "tps", "mean", "p99", "limited by", "its page"];
    details::table(page, &columns, "words trials", |page| {
        for trial in overview.cells[cell].trials.iter().map(|trial| &overview.trials[*trial]) {
            let run = trial.run.as_ref().map(|run| run.run.to_string());
            let figure = |metric: Metric| {
                trial.figure(metric).map_or("—".to_owned(), |figure| metric.quantity().shown(figure))
            };
            let limit = trial.complete_run().and_then(results::StoredRun::limited_by);
            let outcome = match (&trial.standing, limit) {
                (Standing::Failed(reason), _) => format!("failed: {reason}"),
                (Standing::Complete, limit) => limit.map_or(String::new(), |limit| limit.name().to_owned()),
                (other, _) => other.name().to_owned(),
            };
            let command = run
                .as_ref()
                .map(|run| format!("pgmeter report{} {run} --format html -o run-{run}.html", overview.store));
            let cells = [
                trial.repeat.to_string(),
                run.unwrap_or_else(|| "—".to_owned()),
                figure(Metric::Tps),
                figure(Metric::Mean),
                figure(Metric::P99),
                outcome,
                command.unwrap_or_default(),
            ];
            details::row(page, &columns, &cells.each_ref().map(String::as_str));
        }
    });
}

fn trials_of_steps(page: &mut Markup, overview: &Overview, cell: usize) {
    let columns = ["repeat", "all steps", "WAL", "server CPU", "what came of it"];
    details::table(page, &columns, "words", |page| {
        for trial in overview.cells[cell].trials.iter().map(|trial| &overview.trials[*trial]) {
            let figure = |metric: Metric| {
                trial.figure(metric).map_or("—".to_owned(), |figure| metric.quantity().shown(figure))
            };
            let outcome = match &trial.standing {
                Standing::Failed(reason) => format!("failed: {reason}"),
                other => other.name().to_owned(),
            };
            let figures = [Metric::Duration, Metric::WalBytes, Metric::ServerCpu].map(figure);
            let [duration, wal, cpu] = figures.each_ref().map(String::as_str);
            details::row(page, &columns, &[&trial.repeat.to_string(), duration, wal, cpu, &outcome]);
        }
    });
}

/// Of the first complete trial; they are bounds of the first order, and hardly differ between repeats.
fn ceilings(page: &mut Markup, overview: &Overview, cell: usize) {
    let Some((_, run)) = overview.complete(cell).next() else { return };
    details::ceilings(page, &sections::ceiling_rows(&run.ceilings));
}
