//! Throughput against latency: the picture of an experiment that varies the load. Each curve goes from the lowest to the
//! highest number of clients or rate, and its points have these written beside them.

use super::metric::Metric;
use super::overview::Overview;
use super::said::interval;
use crate::chart::{Axis, Chart, Colour, Plot, Point, Series};
use crate::figures::{counted, half_width, rate_known_to};
use crate::models::{self, ModelledCurve};
use crate::prose::{escaped_line, titled};
use crate::ratios;

/// Points that have their load beside them; of more, the first and the last of each curve.
const LABELS_MAX: usize = 40;
/// More curves cannot be told apart.
const CURVES_MAX: usize = 12;
/// Factors that are load.
const LOADS: [&str; 2] = ["clients", "rate"];
/// Fewer levels are no curve.
const LEVELS_MIN: usize = 3;

/// The factor that varies the load, with its levels as numbers.
fn load(overview: &Overview) -> Option<(usize, Vec<f64>)> {
    let is_load = |name: &str| LOADS.iter().any(|load| name.rsplit('.').next() == Some(load));
    let number = |level: &String| level.parse::<f64>().ok().filter(|number| number.is_finite());
    let factors = overview.factors.iter().enumerate().filter(|(_, factor)| is_load(&factor.name));
    let mut numbers = factors.filter_map(|(at, factor)| {
        let levels = factor.levels.iter().map(number).collect::<Option<Vec<f64>>>()?;
        (levels.len() > 1).then_some((at, levels))
    });
    numbers.next()
}

/// Whether the load has so many levels that its curve is the answer.
pub(super) fn is_first(overview: &Overview) -> bool {
    load(overview).is_some_and(|(_, levels)| levels.len() >= LEVELS_MIN)
}

/// `Highest throughput: 3,319 tps ± 0.4 % with protocol prepared, clients 96, ×1.29 (1.19 … 1.41) of its base.` Combinations
/// that may have as much are named too. `None` unless the answer is the curve of numbers of clients.
pub(super) fn answer(overview: &Overview) -> Option<String> {
    if !is_first(overview) || overview.has_rate() || overview.main() != Metric::Tps {
        return None;
    }
    let known = || {
        (0..overview.cells.len()).filter_map(|cell| Some((cell, overview.cells[cell].figure(Metric::Tps)?)))
    };
    let (best, figure) = known().max_by(|a, b| a.1.mean.total_cmp(&b.1.mean))?;
    let (low, high) = figure.interval?;
    let is_rival = |cell: usize| {
        let interval = overview.ratio_to(cell, best, Metric::Tps).and_then(|ratio| ratio.interval);
        cell != best && interval.is_none_or(|(low, _)| low <= 1.0)
    };
    let rivals: Vec<usize> = known().map(|(cell, _)| cell).filter(|cell| is_rival(*cell)).collect();
    let with = escaped_line(&overview.description_of(best));
    let half = half_width(figure.mean, low, high) / figure.mean;
    let shown = format!("{} tps {}", rate_known_to(figure.mean, half), interval(figure));
    Some(match rivals.as_slice() {
        [] => {
            let base = overview.ratio(best, Metric::Tps);
            let base = base.map_or(String::new(), |it| {
                format!(", {} of its base", ratios::ratio(it.value, it.interval))
            });
            format!("Highest throughput: {shown} with {with}{base}.")
        }
        [rival] => {
            let rival = escaped_line(&overview.label(*rival));
            format!("Highest throughput: {shown} with {with}; {rival} may have as much.")
        }
        rivals => {
            let others = counted(rivals.len() as u64, "other combination", "other combinations");
            format!("Highest throughput: {shown} with {with}; {others} may have as much.")
        }
    })
}

/// The closed loops of an experiment over clients, a curve for each combination of the other factors, for models.
pub(super) fn modelled(overview: &Overview) -> Vec<ModelledCurve> {
    let is_of_clients = |factor: usize| overview.factors[factor].name.rsplit('.').next() == Some("clients");
    let Some((factor, _)) = load(overview).filter(|(factor, _)| is_of_clients(*factor)) else {
        return Vec::new();
    };
    let mut curves = Vec::new();
    for cell in 0..overview.cells.len() {
        for (_, run) in overview.complete(cell) {
            let (Some(plan), Some(summary)) = (&run.plan, &run.summary) else { continue };
            if let Some(point) =
                models::measurement(plan, summary, run.environment.as_ref(), run.costs.cpu_us())
            {
                models::add(&mut curves, others(overview, cell, factor), point);
            }
        }
    }
    curves
}

/// The levels of the other factors: `protocol simple, network tcp`.
fn others(overview: &Overview, cell: usize, load: usize) -> String {
    let others = overview.levels(cell).enumerate();
    let others = others.filter(|(at, (factor, _))| *at != load && factor.levels.len() > 1);
    let others: Vec<String> = others.map(|(_, (factor, level))| format!("{} {level}", factor.name)).collect();
    escaped_line(&others.join(", "))
}

/// A curve for each combination of the other factors; `None` if the load is not varied.
pub(super) fn chart(overview: &Overview) -> Option<Chart> {
    let (factor, loads) = load(overview)?;
    let mut curves: Vec<(String, Vec<(f64, Point)>)> = Vec::new();
    for (number, cell) in overview.cells.iter().enumerate() {
        let figure = |metric| cell.figure(metric);
        let (Some(level), Some(tps), Some(us)) =
            (cell.levels[factor], figure(Metric::Tps), figure(Metric::Mean))
        else {
            continue;
        };
        let label = overview.factors[factor].levels[level].clone();
        let point = Point {
            interval: us.interval.filter(|(low, _)| *low > 0.0),
            label: escaped_line(&label),
            ..Point::new(tps.mean, us.mean)
        };
        let name = others(overview, number, factor);
        match curves.iter_mut().find(|(known, _)| *known == name) {
            Some((_, points)) => points.push((loads[level], point)),
            None => curves.push((name, vec![(loads[level], point)])),
        }
    }
    curves.retain(|(_, points)| points.len() > 1);
    if curves.is_empty() {
        return None;
    }
    let all: usize = curves.iter().map(|(_, points)| points.len()).sum();
    let series = |(number, (name, mut points)): (usize, (String, Vec<(f64, Point)>))| {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let last = points.len() - 1;
        let points = points.into_iter().enumerate().map(|(at, (_, point))| {
            let is_named = all <= LABELS_MAX || at == 0 || at == last;
            Point { label: if is_named { point.label } else { String::new() }, ..point }
        });
        Series { has_dots: true, ..Series::new(name, Colour::Run(number), points.collect()) }
    };
    let series: Vec<Series> = curves.into_iter().take(CURVES_MAX).enumerate().map(series).collect();
    let x = Axis::new(Metric::Tps.title(), Metric::Tps.quantity());
    let y = Axis::new(Metric::Mean.title(), Metric::Mean.quantity()).logarithmic(true);
    let name = escaped_line(&overview.factors[factor].name);
    let title = format!("{} against latency", titled(Metric::Tps.title()));
    Some(Chart::new(
        title,
        format!("mean latency, logarithmic; the numbers are {name}"),
        Plot::lines(x, y, series),
    ))
}
