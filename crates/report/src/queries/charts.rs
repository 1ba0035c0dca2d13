//! Charts of query sets: the durations of the queries, stacked in a bar for each set, and the sorted ratios of the queries
//! on a logarithmic axis. Experiments of query sets have the same charts for their cells.

use std::collections::HashSet;

use super::classes::{self, class_of};
use super::comparison::{Certainty, Compared, ComparedSet, QueryRatio, Verdict};
use super::said;
use crate::chart::{Axis, Bar, BarGroup, Bound, Chart, Choice, Colour, Plot, Point, Series, Threshold};
use crate::document::{Block, Tone};
use crate::figures::counted;
use crate::forest::{EffectVerdict, Forest, ForestRow};
use crate::metrics::Quantity;

/// Parts of stacked bars with a colour of their own: those that take most time.
const COLOURED_MAX: usize = 7;
/// Shades of the others, in turns.
const OTHERS: [Colour; 2] = [Colour::Wait("other", 1), Colour::Wait("other", 2)];

/// Queries with a row of their own; more are dots beside each other.
const DOTS_MAX: usize = 100;

/// Rows of ratios that a page shows without being asked.
const ROWS_MAX: usize = 100;

pub(super) fn charts(compared: &Compared<'_>) -> Vec<Block> {
    let is_large = compared.names.len() > DOTS_MAX;
    let charts: Vec<Chart> = match compared.sets.as_slice() {
        [] => Vec::new(),
        [only] if is_large => sorted_durations(compared, only).into_iter().collect(),
        [only] => of_one(compared, only),
        _ => stacked(compared).into_iter().collect(),
    };
    let mut blocks: Vec<Block> = charts.into_iter().map(Block::chart).collect();
    blocks.extend(ratio_charts(compared));
    if blocks.is_empty() {
        return vec![Block::Paragraph(Tone::Plain, "There are no figures to draw.".to_owned())];
    }
    blocks
}

/// The ratios of each set but the first. Those that make the page long are shown on request.
fn ratio_charts(compared: &Compared<'_>) -> Vec<Block> {
    let chart = |set: &ComparedSet<'_>| {
        let names = compared.names.iter().zip(&set.ratios);
        let known = names.filter_map(|(name, ratio)| Some((name.clone(), (*ratio)?)));
        let base = &compared.sets[0].label;
        let chart = ratio_chart(&set.label, base, known.collect())?;
        Some((format!("Duration of each query: {} ÷ {base}", set.label), chart))
    };
    let charts: Vec<(String, Block)> = compared.sets.iter().skip(1).filter_map(chart).collect();
    let in_sight = (ROWS_MAX / compared.names.len().max(1)).max(1);
    let block = |(number, (title, chart)): (usize, (String, Block))| match number {
        number if number < in_sight => chart,
        _ => Block::folded(title, vec![chart]),
    };
    charts.into_iter().enumerate().map(block).collect()
}

/// Points of a line: more would not be seen.
const POINTS_MAX: usize = 500;

/// A query's name, its value, and the 95 % interval of that.
type Named = (String, f64, Option<(f64, f64)>);

/// Sorted values as dots beside each other; of many, every so many-th.
fn sorted_dots(values: &[Named], y: Axis) -> Plot {
    let every = values.len().div_ceil(POINTS_MAX).max(1);
    let shown = || values.iter().enumerate().step_by(every).map(|(at, named)| ((at + 1) as f64, named));
    let point = |(x, (_, y, interval)): (f64, &Named)| Point { interval: *interval, ..Point::new(x, *y) };
    let points = shown().map(point).collect();
    let series = Series { has_dots: true, has_no_line: true, ..Series::new("", Colour::Run(0), points) };
    let names = shown().map(|(x, (name, ..))| (x, name.clone())).collect();
    let x = Axis { names, ..Axis::new("query", Quantity::Count) };
    Plot::lines(x, y.logarithmic(true), vec![series])
}

/// The durations of many queries.
fn sorted_durations(compared: &Compared<'_>, set: &ComparedSet<'_>) -> Option<Chart> {
    let named = |query: &super::QueryFigures| {
        let durations = compared.durations(query)?;
        Some((query.name.clone(), durations.us.mean, durations.interval()))
    };
    let mut all: Vec<Named> =
        set.figures.queries.iter().filter_map(named).filter(|(_, mean, _)| *mean > 0.0).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    let plot = sorted_dots(&all, Axis::new("duration", Quantity::Microseconds));
    let caption = "a dot for each query, sorted, logarithmic";
    (!all.is_empty()).then(|| Chart::new("Duration of each query", caption, plot))
}

/// The ratios of many queries, the greatest first.
fn sorted_ratios(of: &str, base: &str, ratios: &[(String, QueryRatio)]) -> Chart {
    let named = |(name, ratio): &(String, QueryRatio)| (name.clone(), ratio.value, ratio.interval);
    let values: Vec<Named> = ratios.iter().map(named).collect();
    let one = Threshold { value: 1.0, label: String::new() };
    let plot = sorted_dots(&values, Axis::new("ratio", Quantity::Number).with_thresholds(vec![one]));
    let is_bound = |(_, ratio): &&(String, QueryRatio)| ratio.certainty != Certainty::Exact;
    let mut caption = "a dot for each query, sorted, logarithmic; above 1 is slower".to_owned();
    if let bounds @ 1.. = ratios.iter().filter(is_bound).count() {
        let bounds = counted(bounds as u64, "ratio is a bound", "ratios are bounds");
        caption += &format!("; {bounds}: an execution reached the limit");
    }
    Chart::new(format!("Duration of each query: {of} ÷ {base}"), caption, plot)
}

/// The durations of a single set's queries, on a logarithmic axis: sorted by duration, or in the order of the set.
fn of_one(compared: &Compared<'_>, set: &ComparedSet<'_>) -> Vec<Chart> {
    let mut has_limited = false;
    let mut group = |query: &super::QueryFigures| {
        let durations = compared.durations(query)?;
        let mean = durations.mean();
        has_limited |= mean.is_bound;
        let bar = Bar {
            parts: vec![(mean.value, if mean.is_bound { Colour::Bad } else { Colour::Run(0) })],
            interval: durations.interval(),
            shown: said::duration(mean),
            bound: if mean.is_bound { Bound::AtLeast } else { Bound::Exact },
            ..Bar::default()
        };
        Some((mean.value, BarGroup { name: query.name.clone(), bars: vec![bar] }))
    };
    let in_order: Vec<(f64, BarGroup)> = set.figures.queries.iter().filter_map(&mut group).collect();
    let legend: Vec<(String, Colour)> =
        has_limited.then(|| ("at the limit".to_owned(), Colour::Bad)).into_iter().collect();
    let how = if compared.is_warm {
        "mean of the later executions, with 95 % intervals if there are three"
    } else {
        "of the first execution"
    };
    if in_order.is_empty() {
        return Vec::new();
    }
    let mut by_duration = in_order.clone();
    by_duration.sort_by(|a, b| b.0.total_cmp(&a.0));
    let chart = |groups: Vec<(f64, BarGroup)>, name: &'static str, is_first: bool| {
        let axis = Axis::new("duration", Quantity::Microseconds).logarithmic(true);
        let groups = groups.into_iter().map(|(_, group)| group).collect();
        let plot = Plot::Bars { axis, groups, legend: legend.clone() };
        let choice = Some(Choice { of: "sorted by", name, is_first });
        Chart { choice, ..Chart::new("Duration of each query", format!("{how}, logarithmic"), plot) }
    };
    vec![chart(by_duration, "duration", true), chart(in_order, "number", false)]
}

/// Colours of the parts of stacked bars, given the sum of each part over all bars, and the legend.
pub(crate) fn part_colours(names: &[String], sums: &[f64]) -> (Vec<Colour>, Vec<(String, Colour)>) {
    let mut order: Vec<usize> = (0..names.len()).collect();
    if names.len() > COLOURED_MAX + 1 {
        order.sort_by(|a, b| sums[*b].total_cmp(&sums[*a]));
        order.truncate(COLOURED_MAX);
        order.sort_unstable();
    }
    let colour = |part: usize| match order.iter().position(|coloured| *coloured == part) {
        Some(number) => Colour::Run(number),
        None => OTHERS[part % OTHERS.len()],
    };
    let mut legend: Vec<(String, Colour)> =
        order.iter().map(|part| (names[*part].clone(), colour(*part))).collect();
    let others = names.len() - order.len();
    legend.extend((others > 0).then(|| (format!("{others} others"), OTHERS[0])));
    ((0..names.len()).map(colour).collect(), legend)
}

/// A bar for each set, with a part for each query that all sets have.
fn stacked(compared: &Compared<'_>) -> Option<Chart> {
    let left_out: HashSet<&str> = compared.left_out.iter().map(String::as_str).collect();
    let is_query = |name: &&String| {
        let of_set = |set: &ComparedSet<'_>| set.figures.query(name).is_some_and(|query| !query.is_refresh);
        !left_out.contains(name.as_str()) && compared.sets.iter().all(of_set)
    };
    // Of many queries, each class is a part.
    let mut names: Vec<String> = Vec::new();
    let mut parts_of: Vec<(&str, usize)> = Vec::new();
    let is_large = compared.names.len() > classes::ROWS_MAX;
    for query in compared.names.iter().filter(is_query) {
        let name = if is_large { class_of(query) } else { query };
        let known = if is_large { names.iter().position(|known| known == name) } else { None };
        parts_of.push((query, known.unwrap_or(names.len())));
        if known.is_none() {
            names.push(name.to_owned());
        }
    }
    let parts = |set: &ComparedSet<'_>| -> Vec<f64> {
        let mut parts = vec![0.0; names.len()];
        for (query, part) in &parts_of {
            let durations = set.figures.query(query).and_then(|query| compared.durations(query));
            parts[*part] += durations.map_or(0.0, |durations| durations.us.mean);
        }
        parts
    };
    let all: Vec<Vec<f64>> = compared.sets.iter().map(parts).collect();
    let sums: Vec<f64> = (0..names.len()).map(|at| all.iter().map(|parts| parts[at]).sum()).collect();
    let (colours, legend) = part_colours(&names, &sums);
    let group = |(set, parts): (&ComparedSet<'_>, Vec<f64>)| BarGroup {
        name: set.label.clone(),
        bars: vec![Bar {
            parts: parts.into_iter().zip(colours.iter().copied()).collect(),
            names: names.clone(),
            shown: set.total.map_or("—".to_owned(), said::duration),
            ..Bar::default()
        }],
    };
    let groups = compared.sets.iter().zip(all).map(group).collect();
    let plot = Plot::Bars { axis: Axis::new("duration", Quantity::Microseconds), groups, legend };
    (!names.is_empty()).then(|| {
        Chart::new("Total duration", "the queries of each set, one after the other in their order", plot)
    })
}

/// The ratios of queries, the greatest first; `None` without ratios.
pub(crate) fn ratio_chart(of: &str, base: &str, mut ratios: Vec<(String, QueryRatio)>) -> Option<Block> {
    ratios.retain(|(_, ratio)| ratio.value > 0.0 && ratio.value.is_finite());
    if ratios.is_empty() {
        return None;
    }
    ratios.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
    if ratios.len() > classes::ROWS_MAX {
        return Some(Block::chart(sorted_ratios(of, base, &ratios)));
    }
    let is_in_turns = ratios.iter().any(|(_, ratio)| ratio.regression.is_some());
    let words = if is_in_turns {
        [
            "not slower by more than the limit",
            "slower by more than the limit",
            "undecided",
            "",
            "without an interval",
        ]
    } else {
        ["faster", "slower", "inconclusive: the interval contains 1", "", "without an interval"]
    };
    let row = |(name, ratio): &(String, QueryRatio)| {
        let verdict = match ratio.verdict() {
            Verdict::Slower => EffectVerdict::Worse,
            Verdict::Faster | Verdict::NotSlower => EffectVerdict::Better,
            Verdict::Inconclusive => EffectVerdict::Inconclusive,
            Verdict::NotJudged => EffectVerdict::NotJudged,
        };
        let shown = format!("{} {}", said::ratio(ratio), said::bounds(ratio)).trim_end().to_owned();
        let row = ForestRow::new(name.clone(), ratio.value, ratio.interval, verdict);
        // Durations that are bounds have no change.
        let change = if ratio.certainty == Certainty::Exact { row.change.clone() } else { String::new() };
        ForestRow { bound: ratio.certainty.into(), shown, change, ..row }
    };
    let has_intervals = ratios.iter().any(|(_, ratio)| ratio.interval.is_some());
    let intervals = if has_intervals { ", with 95 % intervals" } else { "" };
    let mut caption = format!("sorted, logarithmic{intervals}; above 1 is slower");
    if ratios.iter().any(|(_, ratio)| ratio.certainty != Certainty::Exact) {
        caption += "; an arrow is a bound: an execution reached the limit";
    }
    let title = format!("Duration of each query: {of} ÷ {base}");
    let rows = ratios.iter().map(row).collect();
    Some(Block::forest(Forest { title, caption, rows, tolerance: None, words }))
}

impl From<Certainty> for Bound {
    fn from(certainty: Certainty) -> Bound {
        match certainty {
            Certainty::Exact => Bound::Exact,
            Certainty::AtLeast => Bound::AtLeast,
            Certainty::AtMost => Bound::AtMost,
        }
    }
}
