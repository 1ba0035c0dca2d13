//! Runs side by side that differ in their load: throughput against latency as a curve for each protocol, script and
//! server, from the lowest to the highest number of clients or rate, and the load with the highest throughput. Runs of one
//! load are its repeats.

use stats::{CONFIDENCE, SampleMean};

use super::Run;
use super::difference::same_scripts;
use crate::chart::{Axis, Chart, Colour, Plot, Point, Series};
use crate::figures::{as_asked, counted, rate, rate_known_to};
use crate::metrics::Metric;
use crate::models::{self, ModelledCurve};
use crate::prose::enumerate;
use crate::ratios;

/// Fewer points are no curve.
const POINTS_MIN: usize = 3;
/// Loads that may be the best and are named; of more, their number.
const RIVALS_MAX: usize = 3;

/// The runs of one curve, in the order of their loads.
struct Curve {
    name: String,
    loads: Vec<Load>,
}

/// The repeats of one load.
struct Load {
    load: f64,
    tps: Vec<f64>,
    mean_us: Vec<f64>,
    /// The interval of a single run.
    tps_of_one: Option<(f64, f64)>,
}

impl Load {
    fn mean_tps(&self) -> f64 {
        SampleMean::of(&self.tps).map_or(f64::NAN, |it| it.mean)
    }

    /// Of repeats from their scatter; of a single run, its own.
    fn tps_interval(&self) -> Option<(f64, f64)> {
        match self.tps.as_slice() {
            [_] => self.tps_of_one,
            repeats => SampleMean::of(repeats)?.interval(CONFIDENCE),
        }
    }

    fn point(&self) -> Option<Point> {
        let latency = SampleMean::of(&self.mean_us)?;
        let interval = latency.interval(CONFIDENCE).filter(|(low, _)| *low > 0.0);
        Some(Point { interval, label: as_asked(self.load), ..Point::new(self.mean_tps(), latency.mean) })
    }
}

/// The closed loops of runs that differ in their clients, for models.
pub(super) fn modelled(runs: &[Run<'_>]) -> Vec<ModelledCurve> {
    let mut curves = Vec::new();
    for run in constant(runs) {
        let record = run.record;
        let cpu_us = record.observation.as_ref().and_then(|it| it.per_transaction.cpu_us());
        let point = models::measurement(&record.plan, &record.summary, Some(&record.environment), cpu_us);
        if let Some(point) = point {
            models::add(&mut curves, name(run), point);
        }
    }
    curves
}

/// What the runs of a curve have in common.
fn name(run: &Run<'_>) -> String {
    format!("{}, {}, {}", run.scripts(), run.record.plan.protocol.name(), run.server())
}

/// A mean over different loads is no point of a curve.
fn constant<'a, 'b>(runs: &'b [Run<'a>]) -> impl Iterator<Item = &'b Run<'a>> {
    runs.iter().filter(|run| !run.record.plan.is_changing())
}

fn are_rates(runs: &[Run<'_>]) -> bool {
    constant(runs).all(|run| run.record.plan.rate_tps.is_some())
}

/// Empty unless a curve has so many loads.
fn curves(runs: &[Run<'_>]) -> Vec<Curve> {
    let has_rates = are_rates(runs);
    let mut curves: Vec<Curve> = Vec::new();
    for run in constant(runs).filter(|run| has_rates || run.record.plan.rate_tps.is_none()) {
        let (record, plan) = (run.record, &run.record.plan);
        let Some(mean_us) = Metric::Mean.of(record).filter(|us| *us > 0.0) else { continue };
        let load = if has_rates { plan.rate_tps.unwrap_or(0.0) } else { f64::from(plan.clients) };
        let name = name(run);
        let of_name = curves.iter().position(|curve| curve.name == name).unwrap_or_else(|| {
            curves.push(Curve { name, loads: Vec::new() });
            curves.len() - 1
        });
        let loads = &mut curves[of_name].loads;
        let of_load = loads.iter().position(|it| it.load.total_cmp(&load).is_eq()).unwrap_or_else(|| {
            loads.push(Load { load, tps: Vec::new(), mean_us: Vec::new(), tps_of_one: None });
            loads.len() - 1
        });
        let of_load = &mut loads[of_load];
        of_load.tps.push(record.summary.tps);
        of_load.mean_us.push(mean_us);
        of_load.tps_of_one = record.summary.confidence.tps.map(|it| (it.low, it.high));
    }
    curves.iter_mut().for_each(|curve| curve.loads.sort_by(|a, b| a.load.total_cmp(&b.load)));
    if curves.iter().any(|curve| curve.loads.len() >= POINTS_MIN) { curves } else { Vec::new() }
}

/// Whether any load of a curve was run more than once.
pub(super) fn has_repeats(runs: &[Run<'_>]) -> bool {
    curves(runs).iter().flat_map(|curve| &curve.loads).any(|load| load.tps.len() > 1)
}

/// `None` unless a curve has so many points of different loads.
pub(super) fn chart(runs: &[Run<'_>]) -> Option<Chart> {
    let curves = curves(runs);
    if curves.is_empty() {
        return None;
    }
    let series = |(number, curve): (usize, &Curve)| {
        let points = curve.loads.iter().filter_map(Load::point).collect();
        Series { has_dots: true, ..Series::new(&*curve.name, Colour::Run(number), points) }
    };
    let series = curves.iter().enumerate().map(series).collect();
    let x = Axis::new(Metric::Tps.title(), Metric::Tps.quantity());
    let y = Axis::new(Metric::Mean.title(), Metric::Mean.quantity()).logarithmic(true);
    let load = if are_rates(runs) { "rates" } else { "clients" };
    let repeats = if has_repeats(runs) { "; a point is the mean of the runs of one load" } else { "" };
    let caption = format!("mean latency, logarithmic; the numbers are {load}{repeats}");
    Some(Chart::new("Throughput against latency", caption, Plot::lines(x, y, series)))
}

/// `Highest throughput: 3,319 tps (3,300 … 3,340) with 96 clients, ×12.0 of 1 client.` Loads whose intervals overlap with
/// that of the best are named too. `None` of rates, which are throughputs that were asked for, and of different scripts.
pub(super) fn answer(runs: &[Run<'_>]) -> Option<String> {
    let is_one_load = runs.windows(2).all(|pair| same_scripts(pair[0].record, pair[1].record));
    if are_rates(runs) || !is_one_load {
        return None;
    }
    let curves = curves(runs);
    let all = || curves.iter().flat_map(|curve| curve.loads.iter().map(move |load| (curve, load)));
    let (curve, best) = all().max_by(|a, b| a.1.mean_tps().total_cmp(&b.1.mean_tps()))?;
    let is_rival = |load: &Load| match best.tps_interval().zip(load.tps_interval()) {
        Some(((low, _), (_, high))) => high >= low,
        None => true,
    };
    let of_others = all().filter(|(of, load)| of.name != curve.name && is_rival(load)).count();
    let rivals: Vec<&Load> = curve.loads.iter().filter(|load| is_rival(load)).collect();
    let first = curve.loads.first().filter(|first| !is_rival(first));
    let factor = first.map_or(String::new(), |first| {
        let ratio = ratios::value(best.mean_tps() / first.mean_tps(), None);
        format!(", {ratio} of {}", clients(first.load))
    });
    let tps = best.mean_tps();
    let name = if curves.len() > 1 { format!(" ({})", curve.name) } else { String::new() };
    if best.tps_interval().is_none() {
        return Some(format!(
            "Highest throughput: {} tps with {}{name}; too short for an interval.",
            rate(tps),
            clients(best.load)
        ));
    }
    if rivals.len() == 1 && of_others == 0 {
        let (low, high) = best.tps_interval()?;
        let half = (high - low) / 2.0 / tps;
        let [shown, low, high] = [tps, low, high].map(|it| rate_known_to(it, half));
        return Some(format!(
            "Highest throughput: {shown} tps ({low} … {high}) with {}{name}{factor}.",
            clients(best.load)
        ));
    }
    let named = match rivals.as_slice() {
        few if few.len() <= RIVALS_MAX => {
            let loads: Vec<String> = few.iter().map(|load| as_asked(load.load)).collect();
            enumerate(&loads).replace(" and ", " or ")
        }
        many => format!("{} to {}", as_asked(many[0].load), as_asked(many[many.len() - 1].load)),
    };
    let others = if of_others > 0 { " or on another curve" } else { "" };
    let tps = rate(tps);
    Some(format!(
        "Highest throughput: about {tps} tps with {named} clients{name}{others}, whose difference may be chance{factor}."
    ))
}

fn clients(load: f64) -> String {
    // Whole numbers of clients.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    counted(load as u64, "client", "clients")
}
