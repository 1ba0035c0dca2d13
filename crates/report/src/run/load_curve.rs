//! Throughput against latency of runs side by side that differ in their load: a curve for each protocol, script and
//! server, from the lowest to the highest number of clients or rate.

use super::Run;
use crate::chart::{Axis, Chart, Colour, Plot, Point, Series};
use crate::figures::as_asked;
use crate::metrics::Metric;

/// Fewer points are no curve.
const POINTS_MIN: usize = 3;

/// `None` unless a curve has so many points of different loads.
pub(super) fn chart(runs: &[Run<'_>]) -> Option<Chart> {
    // A mean over different loads is no point of a curve.
    let runs = || runs.iter().filter(|run| !run.record.plan.is_changing());
    let has_rates = runs().all(|run| run.record.plan.rate_tps.is_some());
    let load = |run: &Run<'_>| {
        let plan = &run.record.plan;
        if has_rates { plan.rate_tps.unwrap_or(0.0) } else { f64::from(plan.clients) }
    };
    let mut curves: Vec<(String, Vec<(f64, Point)>)> = Vec::new();
    for run in runs().filter(|run| has_rates || run.record.plan.rate_tps.is_none()) {
        let record = run.record;
        let Some(mean_us) = Metric::Mean.of(record).filter(|us| *us > 0.0) else { continue };
        let load = load(run);
        let point = Point { label: as_asked(load), ..Point::new(record.summary.tps, mean_us) };
        let name = format!("{}, {}, {}", run.scripts(), record.plan.protocol.name(), run.server());
        match curves.iter_mut().find(|(known, _)| *known == name) {
            Some((_, points)) => points.push((load, point)),
            None => curves.push((name, vec![(load, point)])),
        }
    }
    curves.iter_mut().for_each(|(_, points)| points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    let loads = |points: &[(f64, Point)]| 1 + points.windows(2).filter(|pair| pair[0].0 < pair[1].0).count();
    if !curves.iter().any(|(_, points)| loads(points) >= POINTS_MIN) {
        return None;
    }
    let series = |(number, (name, points)): (usize, (String, Vec<(f64, Point)>))| {
        let points = points.into_iter().map(|(_, point)| point).collect();
        Series { has_dots: true, ..Series::new(name, Colour::Run(number), points) }
    };
    let series = curves.into_iter().enumerate().map(series).collect();
    let x = Axis::new(Metric::Tps.title(), Metric::Tps.quantity());
    let y = Axis::new(Metric::Mean.title(), Metric::Mean.quantity()).logarithmic(true);
    let load = if has_rates { "rates" } else { "clients" };
    let caption = format!("mean latency, logarithmic; the numbers are {load}");
    Some(Chart::new("Throughput against latency", caption, Plot::lines(x, y, series)))
}
