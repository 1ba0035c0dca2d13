//! Chooses the charts of an experiment: those of its file or the default ones, their panels and lines of cells, the best
//! cells of each line, and the bars that stack the steps of each cell.

use results::ChartSpec;

use super::Repeated;
use super::cells::{ExperimentCell, Factor};
use super::chart::{CellChart, CellPoint, Line, Marks, Panel, Stack};
use super::metric::Metric;
use super::overview::Overview;
use super::repeats::ratio;
use super::steps;
use crate::prose::{escaped_line, titled};
use crate::queries::{ROWS_MAX, class_of};

/// The charts of the file, or the default charts.
pub(super) fn charts(overview: &Overview, of_file: &[ChartSpec]) -> Vec<CellChart> {
    if overview.factors.is_empty() || overview.cells.iter().all(|cell| cell.figure(overview.main()).is_none())
    {
        return Vec::new();
    }
    let number = |name: &String| overview.factors.iter().position(|factor| factor.name == *name);
    // Charts of single steps are stacked bars, which are made elsewhere.
    let of_cells = of_file.iter().filter(|chart| !is_by_step(chart));
    let of_file = of_cells.filter_map(|chart| {
        let ChartSpec { title, x, y, series, facet, x_log, y_log } = chart;
        let [series, facet] = [series, facet].map(|name| name.as_ref().and_then(number));
        let asked = Asked { x: number(x)?, series, facet, x_log: *x_log, y_log: *y_log };
        Some(build(overview, Metric::named(y)?, title.as_deref(), asked))
    });
    let charts: Vec<CellChart> = of_file.filter(|chart| !chart.panels.is_empty()).collect();
    if charts.is_empty() && !overview.has_steps() { suggested(overview) } else { charts }
}

/// Whether a chart shows each step separately.
fn is_by_step(chart: &ChartSpec) -> bool {
    [Some(&chart.x), chart.series.as_ref(), chart.facet.as_ref()]
        .into_iter()
        .flatten()
        .any(|it| it == ::experiment::STEP)
}

/// The factor along the axis of the first chart.
pub(super) fn axis(overview: &Overview, of_file: &[ChartSpec]) -> Option<usize> {
    let factor = |chart: &ChartSpec| overview.factors.iter().position(|factor| factor.name == chart.x);
    of_file.iter().find_map(factor).or_else(|| overview.charts.first().map(|chart| chart.x))
}

struct Asked {
    x: usize,
    series: Option<usize>,
    facet: Option<usize>,
    x_log: bool,
    y_log: bool,
}

/// Default charts: throughput and latency along the factor with the most numeric levels, or the most levels; the next
/// factor makes the lines.
fn suggested(overview: &Overview) -> Vec<CellChart> {
    let mut by_size: Vec<usize> =
        (0..overview.factors.len()).filter(|factor| Some(*factor) != overview.host_factor).collect();
    let size = |factor: &usize| {
        let Factor { levels, .. } = &overview.factors[*factor];
        (numbers(levels).is_some() && levels.len() > 2, levels.len())
    };
    by_size.sort_by_key(|factor| std::cmp::Reverse(size(factor)));
    let x = by_size[0];
    let x_log = numbers(&overview.factors[x].levels).is_some_and(|numbers| {
        let ends =
            numbers.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), it| (low.min(*it), high.max(*it)));
        ends.0 > 0.0 && ends.1 / ends.0 >= 16.0
    });
    let several = |factor: &usize| overview.factors[*factor].levels.len() > 1;
    let chart = |metric| {
        let series = by_size.get(1).copied().filter(several);
        build(overview, metric, None, Asked { x, series, facet: None, x_log, y_log: false })
    };
    [Metric::Tps, Metric::Mean].map(chart).into_iter().filter(|chart| !chart.panels.is_empty()).collect()
}

/// Each combination of factors that the chart does not name has its own panel: cells are never averaged.
fn build(overview: &Overview, metric: Metric, title: Option<&str>, asked: Asked) -> CellChart {
    let Asked { x, series, facet, x_log, y_log } = asked;
    let along = &overview.factors[x];
    let others: Vec<usize> = facet
        .into_iter()
        .chain((0..overview.factors.len()).filter(|factor| Some(*factor) != facet))
        .filter(|factor| *factor != x && Some(*factor) != series && Some(*factor) != overview.host_factor)
        .collect();
    let varied: Vec<usize> =
        others.iter().copied().filter(|factor| overview.factors[*factor].levels.len() > 1).collect();
    let mut panels: Vec<(Vec<Option<usize>>, Panel)> = Vec::new();
    for (number, cell) in overview.cells.iter().enumerate() {
        let (Some(level), Some(_)) = (cell.levels[x], cell.figure(metric)) else { continue };
        let key: Vec<Option<usize>> = others.iter().map(|factor| cell.levels[*factor]).collect();
        let at = panels.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
            let name = |factor: &usize| {
                let Factor { name, levels } = &overview.factors[*factor];
                format!("{name} {}", cell.levels[*factor].map_or("—", |level| levels[level].as_str()))
            };
            let title = varied.iter().map(name).collect::<Vec<_>>().join(", ");
            panels.push((key, Panel { title, lines: Vec::new() }));
            panels.len() - 1
        });
        let of_series = series.and_then(|factor| Some((factor, cell.levels[factor]?)));
        let level_of_series = of_series.map_or(String::new(), |(factor, level)| {
            let Factor { name, levels } = &overview.factors[factor];
            // A number needs the factor's name as context.
            if numbers(levels).is_some() {
                format!("{name} {}", levels[level])
            } else {
                levels[level].clone()
            }
        });
        let label = match overview.hosts[cell.host].name.as_str() {
            "" => level_of_series,
            host if level_of_series.is_empty() => host.to_owned(),
            host => format!("{level_of_series}, {host}"),
        };
        let colour = of_series.map_or(0, |(_, level)| level);
        let lines = &mut panels[at].1.lines;
        let is_it = |line: &Line| (line.colour, line.host) == (colour, cell.host);
        let line = lines.iter().position(is_it).unwrap_or_else(|| {
            lines.push(Line { label, colour, host: cell.host, points: Vec::new() });
            lines.len() - 1
        });
        lines[line].points.push(CellPoint { level, cell: number, marks: Marks::default() });
    }
    panels.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut panels: Vec<Panel> = panels.into_iter().map(|(_, panel)| panel).collect();
    for panel in &mut panels {
        panel.lines.sort_by_key(|line| (line.host, line.colour));
        panel.lines.iter_mut().for_each(|line| mark(overview, line));
    }
    let positions = numbers(&along.levels);
    let x_log = x_log && positions.as_ref().is_some_and(|all| all.iter().all(|position| *position > 0.0));
    let title = title.map_or_else(|| told(overview, metric, x, series), escaped_line);
    CellChart { title, x, metric, positions, x_log, y_log, panels }
}

/// Default title: `Throughput by clients and protocol`.
fn told(overview: &Overview, metric: Metric, x: usize, series: Option<usize>) -> String {
    let and = series.map_or(String::new(), |series| format!(" and {}", overview.factors[series].name));
    format!("{} by {}{and}", titled(metric.title()), overview.factors[x].name)
}

/// A criterion, from throughput and mean latency: a higher value is better.
type Goodness = fn(f64, f64) -> f64;

/// The value of a criterion for a cell, in each repeat.
fn goodness(overview: &Overview, cell: usize, of: Goodness) -> Option<Repeated> {
    let cell = &overview.cells[cell];
    let (tps, mean_us) = (cell.figure(Metric::Tps)?, cell.figure(Metric::Mean)?);
    let of_repeat = |(repeat, tps): &(u32, f64)| {
        let (_, us) = mean_us.values.iter().find(|(number, _)| number == repeat)?;
        Some((*repeat, of(*tps, *us))).filter(|(_, good)| good.is_finite())
    };
    Repeated::of(tps.values.iter().filter_map(of_repeat).collect())
}

/// Marks the best cells of a line. The compromise has the greatest "power", throughput ÷ delay (Giessler, Hänle, König
/// and Pade, Free buffer allocation, Computer Networks 2, 1978; Kleinrock, Power and deterministic rules of thumb, ICC
/// 1979). A cell is marked only if it exceeds every other cell of the line at 95 %; a smaller lead may not be
/// reproducible. A line of one cell has no best cell.
fn mark(overview: &Overview, line: &mut Line) {
    line.points.sort_by_key(|point| point.level);
    let figures = |point: &CellPoint| {
        let cell = &overview.cells[point.cell];
        Some((cell.figure(Metric::Tps)?.mean, cell.figure(Metric::Mean)?.mean))
    };
    let best = |of: Goodness| {
        let all: Vec<(usize, Repeated)> = line
            .points
            .iter()
            .enumerate()
            .filter_map(|(at, point)| Some((at, goodness(overview, point.cell, of)?)))
            .collect();
        let (best, figure) = all.iter().max_by(|a, b| a.1.mean.total_cmp(&b.1.mean))?;
        let is_above = |other: &Repeated| {
            let bounds = ratio(other, figure, overview.repeats_are_blocks).and_then(|it| it.interval);
            bounds.is_some_and(|(low, _)| low > 1.0)
        };
        all.iter().all(|(at, other)| at == best || is_above(other)).then_some(*best)
    };
    if line.points.iter().filter_map(figures).count() < 2 {
        return;
    }
    let bests = [best(|tps, _| tps), best(|_, us| 1.0 / us), best(|tps, us| tps / us)];
    // With a rate, throughput is an input: no cell is marked for throughput or compromise.
    let has_rate = line.points.iter().all(|point| overview.cells[point.cell].has_rate);
    let [throughput, latency, compromise] = if has_rate { [None, bests[1], None] } else { bests };
    for (at, point) in line.points.iter_mut().enumerate() {
        let is = |best: Option<usize>| best == Some(at);
        point.marks = Marks { throughput: is(throughput), latency: is(latency), compromise: is(compromise) };
    }
}

/// How long everything took, and what else the file wants to see by steps.
pub(super) fn stacks(overview: &Overview, of_file: &[ChartSpec]) -> Vec<Stack> {
    let asked = of_file.iter().filter(|chart| is_by_step(chart));
    let mut asked: Vec<(Metric, Option<String>)> = asked
        .filter_map(|chart| Some((Metric::named(&chart.y)?, chart.title.as_deref().map(escaped_line))))
        .collect();
    if !asked.iter().any(|(metric, _)| *metric == Metric::Duration) {
        asked.insert(0, (Metric::Duration, None));
    }
    let stacks = asked.into_iter().map(|(metric, title)| stack(overview, metric, title));
    stacks.filter(|stack| !stack.rows.is_empty()).collect()
}

fn stack(overview: &Overview, metric: Metric, title: Option<String>) -> Stack {
    let names =
        steps::distinct(overview.cells.iter().flat_map(|cell| &cell.steps).map(|step| step.name.as_str()));
    let has_classes = names.len() > ROWS_MAX;
    let steps = steps::distinct(names.into_iter().map(|name| part_of(name, has_classes)));
    let place = |part: &str| steps.iter().position(|step| *step == part);
    let row = |(number, cell): (usize, &ExperimentCell)| {
        let mut parts = vec![0.0; steps.len()];
        for step in &cell.steps {
            if let (Some(place), Some(figure)) =
                (place(part_of(&step.name, has_classes)), step.figure(metric))
            {
                parts[place] += figure.mean;
            }
        }
        (number, parts)
    };
    let cells = overview.cells.iter().enumerate().filter(|(_, cell)| !cell.steps.is_empty());
    let rows = cells.map(row).collect();
    let title = title.unwrap_or_else(|| titled(metric.title_of_steps()));
    let steps = steps.into_iter().map(str::to_owned).collect();
    Stack { title, metric, steps, rows }
}

/// The part of a bar to which a step belongs: of many steps, its class.
fn part_of(name: &str, has_classes: bool) -> &str {
    if has_classes { class_of(name) } else { name }
}

/// The levels as numbers, if all are numbers with at most one common unit: `8`, `10ms`, `2GB`.
fn numbers(levels: &[String]) -> Option<Vec<f64>> {
    const UNITS: [(&str, f64, &str); 14] = [
        ("", 1.0, "number"),
        ("%", 1.0, "percent"),
        ("us", 1e-6, "time"),
        ("ms", 1e-3, "time"),
        ("s", 1.0, "time"),
        ("min", 60.0, "time"),
        ("h", 3600.0, "time"),
        ("d", 86_400.0, "time"),
        ("B", 1.0, "size"),
        ("kB", 1024.0, "size"),
        ("MB", 1_048_576.0, "size"),
        ("GB", 1_073_741_824.0, "size"),
        ("TB", 1_099_511_627_776.0, "size"),
        ("k", 1e3, "number"),
    ];
    let number = |level: &String| {
        let end = level.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-').unwrap_or(level.len());
        let (digits, unit) = level.split_at(end);
        let (_, factor, kind) = UNITS.iter().find(|(name, ..)| *name == unit.trim())?;
        let number: f64 = digits.parse().ok()?;
        number.is_finite().then_some((number * factor, *kind))
    };
    let all: Vec<(f64, &str)> = levels.iter().map(number).collect::<Option<_>>()?;
    let same = all.windows(2).all(|pair| pair[0].1 == pair[1].1);
    (same && all.len() > 1).then(|| all.into_iter().map(|(number, _)| number).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_numbers_if_all_of_them_are() {
        let of = |levels: &[&str]| numbers(&levels.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["1", "8", "64"]), Some(vec![1.0, 8.0, 64.0]));
        assert_eq!(of(&["64kB", "1MB"]), Some(vec![65_536.0, 1_048_576.0]));
        for words in [&["1", "off"][..], &["10ms", "8"], &["16.4", "socket"], &["1"], &["", "1"], &[]] {
            assert_eq!(of(words), None, "{words:?}");
        }
    }
}
