//! The charts of an experiment on its page. Along numbers they are drawn by the page's script, from the data here;
//! along names they are bars in the page itself, which need no script.

use serde::Serialize;

use super::super::data::{Number, numbers};
use super::super::markup::Markup;
use crate::experiment::{
    Chart, Line, MARKS, Metric, Overview, Panel, Point, Stack, marks_in_words, signs, with_interval,
};
use crate::prose::escaped_line;

/// What the script draws.
#[derive(Debug, Serialize)]
pub(super) struct Drawn {
    panels: Vec<PanelData>,
}

#[derive(Debug, Serialize)]
struct PanelData {
    x: Across,
    y: Up,
    lines: Vec<LineData>,
}

#[derive(Debug, Serialize)]
struct Across {
    name: String,
    positions: Vec<Number>,
    labels: Vec<String>,
    log: bool,
}

#[derive(Debug, Serialize)]
struct Up {
    name: &'static str,
    quantity: &'static str,
    log: bool,
}

/// All lists are as long as the axis; what is not there is `null`.
#[derive(Debug, Serialize)]
struct LineData {
    label: String,
    colour: usize,
    values: Vec<Number>,
    low: Vec<Number>,
    high: Vec<Number>,
    marks: Vec<String>,
}

impl Drawn {
    pub(super) fn of(overview: &Overview) -> Drawn {
        let of_chart = |chart: &Chart| {
            let positions = chart.positions.clone();
            let panel = |panel: &Panel| Some(PanelData::of(overview, chart, positions.as_ref()?, panel));
            chart.panels.iter().filter_map(panel).collect::<Vec<_>>()
        };
        Drawn { panels: overview.charts.iter().flat_map(of_chart).collect() }
    }

    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("numbers, strings and lists")
    }
}

impl PanelData {
    fn of(overview: &Overview, chart: &Chart, positions: &[f64], panel: &Panel) -> PanelData {
        let factor = &overview.factors[chart.x];
        let points = || panel.lines.iter().flat_map(|line| &line.points);
        // Levels in the order of the axis, without those of which nothing is known.
        let mut levels: Vec<usize> = (0..factor.levels.len()).collect();
        levels.retain(|level| points().any(|point| point.level == *level));
        levels.sort_by(|a, b| positions[*a].total_cmp(&positions[*b]));
        let line = |line: &Line| {
            let at = |level: &usize| line.points.iter().find(|point| point.level == *level);
            let figure = |level: &usize| overview.cells[at(level)?.cell].figure(chart.metric);
            let each = |of: &dyn Fn(&crate::experiment::Repeated) -> Option<f64>| {
                numbers(levels.iter().map(|level| figure(level).and_then(of).unwrap_or(f64::NAN)))
            };
            LineData {
                label: escaped_line(&line.label),
                colour: line.colour,
                values: each(&|it| Some(it.mean)),
                low: each(&|it| Some(it.interval?.0)),
                high: each(&|it| Some(it.interval?.1)),
                marks: levels
                    .iter()
                    .map(|level| at(level).map_or(String::new(), |it| signs(it.marks)))
                    .collect(),
            }
        };
        PanelData {
            x: Across {
                name: escaped_line(&factor.name),
                positions: numbers(levels.iter().map(|level| positions[*level])),
                labels: levels.iter().map(|level| escaped_line(&factor.levels[*level])).collect(),
                log: chart.x_log,
            },
            y: Up { name: chart.metric.title(), quantity: chart.metric.quantity().name(), log: chart.y_log },
            lines: panel.lines.iter().map(line).collect(),
        }
    }
}

/// All of them, one below the other.
pub(super) fn charts(page: &mut Markup, overview: &Overview) {
    let marked =
        MARKS.iter().filter(|(.., is)| (0..overview.cells.len()).any(|cell| is(overview.marks(cell))));
    let marked: Vec<String> = marked.map(|(sign, name, _)| format!("{sign} {name}")).collect();
    if !marked.is_empty() {
        let has_compromise = (0..overview.cells.len()).any(|cell| overview.marks(cell).compromise);
        let power = "; the compromise is where throughput ÷ mean latency is greatest";
        let power = if has_compromise { power } else { "" };
        page.leaf("p", &[("class", "how")], &format!("Of each line: {}{power}.", marked.join(", ")));
    }
    overview.stacks.iter().for_each(|stack| stacked(page, overview, stack));
    let mut drawn = 0;
    for chart in &overview.charts {
        for panel in &chart.panels {
            if chart.positions.is_some() {
                place(page, overview, chart, panel, drawn);
                drawn += 1;
            } else {
                bars(page, overview, chart, panel);
            }
        }
    }
}

fn caption(page: &mut Markup, chart: &Chart, panel: &Panel, how: &str) {
    page.element("figcaption", &[], |page| {
        page.leaf("h3", &[], &chart.title);
        let of = escaped_line(&panel.title);
        let how = if of.is_empty() { how.to_owned() } else { format!("{of} · {how}") };
        page.leaf("span", &[("class", "how")], &how);
        page.raw("<span class=\"legend\"></span>");
    });
}

fn how(overview: &Overview, chart: &Chart) -> String {
    let log = if chart.y_log { ", logarithmic" } else { "" };
    let sure = overview.intervals_in_words().map_or("", |_| ", with 95 % intervals over repeats");
    format!("{} by {}{log}{sure}", chart.metric.title(), escaped_line(&overview.factors[chart.x].name))
}

/// Where the script draws.
fn place(page: &mut Markup, overview: &Overview, chart: &Chart, panel: &Panel, number: usize) {
    let how = how(overview, chart);
    let number = number.to_string();
    let attributes = [("class", "chart"), ("data-chart", "cells"), ("data-run", number.as_str())];
    page.element("figure", &attributes, |page| {
        caption(page, chart, panel, &how);
        page.chart_place(&format!("{} {}", chart.title, escaped_line(&panel.title)), &how);
    });
    page.raw("\n");
}

/// A bar for each cell; where the axis is logarithmic, and so has no 0 to begin at, a dot.
fn bars(page: &mut Markup, overview: &Overview, chart: &Chart, panel: &Panel) {
    let factor = &overview.factors[chart.x];
    let grouped = panel.lines.iter().any(|line| !line.label.is_empty());
    let axis = Axis::of(overview, chart, panel);
    page.element("figure", &[("class", "bars")], |page| {
        caption(page, chart, panel, &how(overview, chart));
        page.element("ol", &[("class", if grouped { "bar-list grouped" } else { "bar-list" })], |page| {
            for (level, name) in factor.levels.iter().enumerate() {
                let of_level = |line: &Line| line.points.iter().find(|point| point.level == level).copied();
                let points: Vec<(&Line, Point)> =
                    panel.lines.iter().filter_map(|line| Some((line, of_level(line)?))).collect();
                if points.is_empty() {
                    continue;
                }
                page.element("li", &[], |page| {
                    if grouped {
                        page.leaf("span", &[("class", "group")], &escaped_line(name));
                    }
                    for (line, point) in points {
                        let label = if grouped { &line.label } else { name };
                        row(page, overview, chart.metric, &axis, (line.colour, label, point));
                    }
                });
            }
        });
    });
    page.raw("\n");
}

/// A bar for each cell, of which each step is a part.
fn stacked(page: &mut Markup, overview: &Overview, stack: &Stack) {
    let longest = stack.longest();
    let colour = |step: usize| format!("run-{}", step % 8);
    page.element("figure", &[("class", "bars")], |page| {
        page.element("figcaption", &[], |page| {
            page.leaf("h3", &[], &stack.title);
            page.leaf("span", &[("class", "how")], "the steps of each combination, one after the other");
            page.element("span", &[("class", "legend")], |page| {
                stack.steps.iter().enumerate().for_each(|(step, name)| page.key(name, &colour(step)));
            });
        });
        page.element("ol", &[("class", "bar-list")], |page| {
            for (cell, parts) in &stack.rows {
                page.element("li", &[], |page| {
                    page.element("div", &[("class", "bar-row")], |page| {
                        page.leaf("span", &[("class", "name")], &overview.label(*cell));
                        let part = |(step, figure): (usize, &f64)| (figure / longest.max(1e-9), colour(step));
                        page.stacked_bar(&parts.iter().enumerate().map(part).collect::<Vec<_>>());
                        let total = overview.cells[*cell].figure(stack.metric);
                        page.leaf(
                            "span",
                            &[("class", "value")],
                            &with_interval(total, stack.metric.quantity()),
                        );
                    });
                });
            }
        });
    });
    page.raw("\n");
}

fn row(
    page: &mut Markup,
    overview: &Overview,
    metric: Metric,
    axis: &Axis,
    (colour, label, point): (usize, &str, Point),
) {
    let figure = overview.cells[point.cell].figure(metric);
    page.element("div", &[("class", "bar-row")], |page| {
        page.leaf("span", &[("class", "name")], &escaped_line(label));
        let share = figure.map_or(0.0, |it| axis.share(it.mean));
        let sure = figure.and_then(|it| it.interval).map(|(low, high)| (axis.share(low), axis.share(high)));
        page.bar_with_interval(share, sure, colour, axis.log);
        page.element("span", &[("class", "value")], |page| {
            page.text(&with_interval(figure, metric.quantity()));
            if point.marks.any() {
                page.text(" ");
                page.leaf("abbr", &[("title", &marks_in_words(point.marks))], &signs(point.marks));
            }
        });
    });
}

/// Where figures are between the ends of a row, from 0 to 1.
struct Axis {
    low: f64,
    high: f64,
    log: bool,
}

impl Axis {
    fn of(overview: &Overview, chart: &Chart, panel: &Panel) -> Axis {
        let (low, high) = panel.ends(overview, chart.metric);
        match chart.y_log && low < high {
            true => Axis { low: low / 1.3, high: high * 1.05, log: true },
            false => Axis { low: 0.0, high, log: false },
        }
    }

    fn share(&self, figure: f64) -> f64 {
        let share = match self.log {
            true => (figure.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
            false => figure / self.high,
        };
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }
}
