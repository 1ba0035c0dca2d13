//! The charts of an experiment's page: along numbers as lines, along names as bars, steps, sizes and waits as parts of
//! bars. Which cells a chart shows is decided in `chart`; `crate::chart` draws them.

use super::cells::ExperimentCell;
use super::chart::{CellChart, CellPoint, Curve, Line, Marks, Panel, Stack};
use super::overview::Overview;
use super::said::{MARKS, top_waits, with_interval};
use super::{Metric, Quantity, query_sets};
use crate::chart::{Axis, Bar, BarGroup, Chart, Colour, Plot, Point, Series, Sign};
use crate::document::{Block, Tone};
use crate::prose::escaped_line;
use crate::queries::part_colours;
use crate::wording::wait_name;

/// Wait events with a colour of their own; the others are summed.
const WAITS_DRAWN_MAX: usize = 10;

/// Parts of the sizes.
const SIZED: [&str; 2] = ["tables", "indexes"];

/// Wait events behind a bar.
const WAITS_SHOWN_MAX: usize = 3;

/// All charts of the cells.
pub(super) fn charts(overview: &Overview) -> Vec<Block> {
    let stacks = overview.stacks.iter().map(|stack| stacked(overview, stack));
    let panels =
        overview.charts.iter().flat_map(|chart| chart.panels.iter().map(move |panel| (chart, panel)));
    let panels = panels.map(|(chart, panel)| match &chart.positions {
        Some(positions) => lines(overview, chart, positions, panel),
        None => bars(overview, chart, panel),
    });
    let ratios = query_sets::ratio_charts(overview);
    let charts = stacks.chain(panels).chain(curves(overview)).map(Block::chart);
    let charts: Vec<Block> = charts.chain(sizes(overview)).collect();
    if charts.is_empty() && ratios.is_empty() {
        return vec![Block::Paragraph(Tone::Plain, "There are no figures to draw.".to_owned())];
    }
    let marks = overview.marks_told().map(Block::quiet);
    marks.into_iter().chain(charts).chain(ratios).collect()
}

impl From<Marks> for Vec<Sign> {
    fn from(marks: Marks) -> Vec<Sign> {
        let all = [Sign::Up, Sign::Down, Sign::Diamond];
        all.into_iter().zip(MARKS).filter(|(_, (.., has))| has(marks)).map(|(sign, _)| sign).collect()
    }
}

/// `network tls · mean latency by clients, logarithmic, with 95 % intervals over repeats`
fn caption(overview: &Overview, chart: &CellChart, panel: &Panel) -> String {
    let logarithmic = if chart.y_log { ", logarithmic" } else { "" };
    let intervals = overview.intervals_in_words().map_or("", |_| ", with 95 % intervals over repeats");
    let factor = escaped_line(&overview.factors[chart.x].name);
    let how = format!("{} by {factor}{logarithmic}{intervals}", overview.title_of(chart.metric));
    if panel.title.is_empty() { how } else { format!("{} · {how}", escaped_line(&panel.title)) }
}

fn value_axis(overview: &Overview, chart: &CellChart) -> Axis {
    Axis::new(overview.title_of(chart.metric), chart.metric.quantity()).logarithmic(chart.y_log)
}

fn lines(overview: &Overview, chart: &CellChart, positions: &[f64], panel: &Panel) -> Chart {
    let factor = &overview.factors[chart.x];
    let points = || panel.lines.iter().flat_map(|line| &line.points);
    let is_drawn = |level: &usize| points().any(|point| point.level == *level);
    let mut marks: Vec<(f64, String)> = (0..factor.levels.len())
        .filter(is_drawn)
        .map(|level| (positions[level], escaped_line(&factor.levels[level])))
        .collect();
    marks.sort_by(|a, b| a.0.total_cmp(&b.0));
    let point = |point: &CellPoint| {
        let figure = overview.cells[point.cell].figure(chart.metric)?;
        let (x, signs) = (positions[point.level], point.marks.into());
        Some(Point { interval: figure.interval, signs, ..Point::new(x, figure.mean) })
    };
    let series = |line: &Line| {
        let mut points: Vec<Point> = line.points.iter().filter_map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let series = Series::new(escaped_line(&line.label), Colour::Run(line.colour), points);
        Series { has_dots: true, is_dashed: line.host > 0, ..series }
    };
    let plot = Plot::lines(
        Axis::new(escaped_line(&factor.name), Quantity::Number).logarithmic(chart.x_log).with_marks(marks),
        value_axis(overview, chart),
        panel.lines.iter().map(series).collect(),
    );
    Chart::new(&chart.title, caption(overview, chart, panel), plot)
}

fn bars(overview: &Overview, chart: &CellChart, panel: &Panel) -> Chart {
    // Bars cannot be dashed: each host has colours of its own.
    let colours = panel.lines.iter().map(|line| line.colour + 1).max().unwrap_or(1);
    let colour = |line: &Line| Colour::Run(line.colour + line.host * colours);
    let group = |(level, name): (usize, &String)| {
        let bar = |line: &Line| {
            let point = line.points.iter().find(|point| point.level == level)?;
            let figure = overview.cells[point.cell].figure(chart.metric)?;
            Some(Bar {
                label: escaped_line(&line.label),
                parts: vec![(figure.mean, colour(line))],
                interval: figure.interval,
                shown: with_interval(Some(figure), chart.metric.quantity()),
                signs: point.marks.into(),
                ..Bar::default()
            })
        };
        BarGroup { name: escaped_line(name), bars: panel.lines.iter().filter_map(bar).collect() }
    };
    let groups = overview.factors[chart.x].levels.iter().enumerate().map(group);
    let labelled = panel.lines.iter().filter(|line| !line.label.is_empty());
    let plot = Plot::Bars {
        axis: value_axis(overview, chart),
        groups: groups.filter(|group| !group.bars.is_empty()).collect(),
        legend: labelled.map(|line| (escaped_line(&line.label), colour(line))).collect(),
    };
    Chart::new(&chart.title, caption(overview, chart, panel), plot)
}

/// A bar for each cell, with a part for each step.
fn stacked(overview: &Overview, stack: &Stack) -> Chart {
    let sum = |step: usize| stack.rows.iter().map(|(_, parts)| parts[step]).sum();
    let sums: Vec<f64> = (0..stack.steps.len()).map(sum).collect();
    let (colours, legend) = part_colours(&stack.steps, &sums);
    let group = |(cell, parts): &(usize, Vec<f64>)| BarGroup {
        name: escaped_line(&overview.label(*cell)),
        bars: vec![Bar {
            label: String::new(),
            parts: parts.iter().copied().zip(colours.iter().copied()).collect(),
            names: stack.steps.clone(),
            interval: None,
            shown: with_interval(overview.cells[*cell].figure(stack.metric), stack.metric.quantity()),
            signs: Vec::new(),
            ..Bar::default()
        }],
    };
    let plot = Plot::Bars {
        axis: Axis::new(stack.metric.title_of_steps(), stack.metric.quantity()),
        groups: stack.rows.iter().map(group).collect(),
        legend,
    };
    Chart::new(&stack.title, "the steps of each combination, one after the other", plot)
}

/// The throughput of some cells over time.
fn curves(overview: &Overview) -> Option<Chart> {
    let series = |(number, curve): (usize, &Curve)| {
        let points = curve.points.iter().map(|(x, y)| Point::new(*x, *y)).collect();
        let series = Series::new(escaped_line(&overview.label(curve.cell)), Colour::Run(number), points);
        Series { is_dashed: overview.cells[curve.cell].host > 0, ..series }
    };
    let plot = Plot::lines(
        Axis::new("time", Quantity::Seconds),
        Axis::new(Metric::Tps.title(), Quantity::PerSecond),
        overview.curves.iter().enumerate().map(series).collect(),
    );
    let chart = || Chart::new("Throughput over time", overview.curves_in_words(), plot);
    (!overview.curves.is_empty()).then(chart)
}

/// `tables 1907 MB, indexes 954 MB`
fn shown_sizes(sizes: [f64; 2]) -> String {
    let shown = SIZED.iter().zip(sizes).map(|(name, size)| format!("{name} {}", Quantity::Bytes.shown(size)));
    shown.collect::<Vec<_>>().join(", ")
}

/// The sizes of tables and indexes at the end of the cells' trials; a sentence if all have the same.
fn sizes(overview: &Overview) -> Option<Block> {
    let mut all = overview.cells.iter().filter_map(ExperimentCell::sizes).map(shown_sizes);
    let first = all.next()?;
    if all.all(|other| other == first) {
        return Some(Block::quiet(format!("Sizes at the end, the same in all combinations: {first}.")));
    }
    let group = |(number, cell): (usize, &ExperimentCell)| {
        let sizes = cell.sizes()?;
        let shown = shown_sizes(sizes);
        let parts = sizes.iter().enumerate().map(|(part, size)| (*size, Colour::Run(part))).collect();
        let bar = Bar { parts, shown, ..Bar::default() };
        Some(BarGroup { name: escaped_line(&overview.label(number)), bars: vec![bar] })
    };
    let groups: Vec<BarGroup> = overview.cells.iter().enumerate().filter_map(group).collect();
    let legend = SIZED.iter().enumerate().map(|(part, name)| ((*name).to_owned(), Colour::Run(part)));
    let plot = Plot::Bars { axis: Axis::new("size", Quantity::Bytes), groups, legend: legend.collect() };
    let caption = if overview.has_steps() {
        "all user tables and their indexes after the last step, mean of the repeats"
    } else {
        "tables that the run used, and their indexes, at its end, mean of the repeats"
    };
    Some(Block::chart(Chart::new("Sizes of tables and indexes", caption, plot)))
}

/// The activity of the backends of each cell, as shares.
pub(super) fn waits(overview: &Overview) -> Vec<Block> {
    let events = frequent(overview);
    if events.is_empty() {
        return Vec::new();
    }
    let group = |(number, cell): (usize, &ExperimentCell)| BarGroup {
        name: escaped_line(&overview.label(number)),
        bars: vec![Bar {
            label: String::new(),
            parts: parts(cell, &events),
            interval: None,
            shown: top_waits(cell, WAITS_SHOWN_MAX),
            signs: Vec::new(),
            ..Bar::default()
        }],
    };
    let cells = overview.cells.iter().enumerate().filter(|(_, cell)| !cell.waits.is_empty());
    let plot = Plot::Bars {
        axis: Axis::new("share of the samples", Quantity::Share).with_ends(0.0, 1.0),
        groups: cells.map(group).collect(),
        legend: events.into_iter().chain([("everything else".to_owned(), OTHER)]).collect(),
    };
    let caption = "share of the samples of backends that were not idle, mean of the repeats";
    vec![Block::chart(Chart::new("Wait events and CPU", caption, plot))]
}

const OTHER: Colour = Colour::Wait("other", 2);

/// The most frequent events of all cells, with their colours.
fn frequent(overview: &Overview) -> Vec<(String, Colour)> {
    let mut sums: Vec<(&str, String, f64)> = Vec::new();
    for wait in overview.cells.iter().flat_map(|cell| &cell.waits) {
        let name = wait_name(&wait.event_type, &wait.event);
        match sums.iter_mut().find(|(_, known, _)| *known == name) {
            Some((.., sum)) => *sum += wait.share,
            None => sums.push((&wait.event_type, name, wait.share)),
        }
    }
    sums.sort_by(|a, b| b.2.total_cmp(&a.2));
    sums.truncate(WAITS_DRAWN_MAX);
    let colours = Colour::of_waits(sums.iter().map(|(event_type, ..)| *event_type));
    sums.into_iter().zip(colours).map(|((_, name, _), colour)| (name, colour)).collect()
}

/// Shares in the order of the legend, the rest last.
fn parts(cell: &ExperimentCell, events: &[(String, Colour)]) -> Vec<(f64, Colour)> {
    let share = |name: &str| {
        cell.waits
            .iter()
            .filter(|wait| wait_name(&wait.event_type, &wait.event) == name)
            .map(|wait| wait.share)
            .sum::<f64>()
    };
    let mut parts: Vec<(f64, Colour)> = events.iter().map(|(name, colour)| (share(name), *colour)).collect();
    let all: f64 = cell.waits.iter().map(|wait| wait.share).sum();
    let named: f64 = parts.iter().map(|(share, _)| share).sum();
    parts.push(((all - named).max(0.0), OTHER));
    parts
}
