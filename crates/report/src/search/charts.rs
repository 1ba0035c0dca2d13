//! The pictures of a search: latency against throughput, the share over the limit against the rate, and wait events
//! against the rate.

use results::{LoadFigures, LoadWait, SearchLoad, SearchRecord};
use stats::goals::GoalFigure;

use super::words;
use crate::chart::{Axis, Chart, Colour, Plot, Point, Series, Threshold};
use crate::metrics::Quantity;
use crate::wording;

/// Fewer loads are no curve.
const LOADS_MIN: usize = 2;
/// Wait events that are drawn; the others are together.
const WAITS_MAX: usize = 6;
const NANOS_PER_MICRO: f64 = 1e3;

/// Those that have points.
pub(super) fn charts(record: &SearchRecord) -> Vec<Chart> {
    let loads = &record.search.loads;
    if loads.len() < LOADS_MIN {
        return Vec::new();
    }
    [Some(latency(record)), Some(share(record)), waits(loads)].into_iter().flatten().collect()
}

type PercentileOf = fn(&LoadFigures) -> Option<f64>;

/// Percentiles against the throughput that was reached, with the limits of the goals.
fn latency(record: &SearchRecord) -> Chart {
    let percentiles: [(&str, usize, PercentileOf); 3] = [
        ("p50", 0, |figures| figures.p50_us),
        ("p99", 2, |figures| figures.p99_us),
        ("p99.9", 3, |figures| figures.p999_us),
    ];
    let series = |(name, number, of): (&str, usize, PercentileOf)| {
        let point = |load: &SearchLoad| {
            Point::new(
                load.figures.achieved_tps,
                of(&load.figures).filter(|us| *us > 0.0).unwrap_or(f64::NAN),
            )
        };
        let mut points: Vec<Point> = record.search.loads.iter().map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Series { has_dots: true, ..Series::new(name, Colour::Quantile(number), points) }
    };
    let limits =
        record.search.goals.iter().filter(|goal| matches!(goal.goal.figure, GoalFigure::Latency(..)));
    let threshold = |goal: &results::SearchGoal| Threshold {
        value: goal.goal.limit / NANOS_PER_MICRO,
        label: words::goal(goal),
    };
    let x = Axis::new("throughput, tps", Quantity::PerSecond);
    let y = Axis::new("response time", Quantity::Microseconds)
        .logarithmic(true)
        .with_thresholds(limits.map(threshold).collect());
    Chart::new(
        "Throughput against latency",
        "response times, logarithmic, against the throughput that was reached; a dot for each load",
        Plot::lines(x, y, percentiles.into_iter().map(series).collect()),
    )
}

/// The share over each goal's limit against the rate, with the share that it allows.
fn share(record: &SearchRecord) -> Chart {
    let goals = &record.search.goals;
    let series = |(number, goal): (usize, &results::SearchGoal)| {
        let point = |load: &SearchLoad| {
            let share =
                load.figures.goals.get(number).map(|count| count.share()).filter(|share| *share > 0.0);
            Point::new(load.figures.rate_tps, share.unwrap_or(f64::NAN))
        };
        let points = record.search.loads.iter().map(point).collect();
        Series { has_dots: true, ..Series::new(words::goal(goal), Colour::Run(number), points) }
    };
    let threshold = |goal: &results::SearchGoal| Threshold {
        value: goal.allowed_share,
        label: format!("allowed by {}", words::goal(goal)),
    };
    let x = Axis::new("rate, tps", Quantity::PerSecond);
    let y = Axis::new("share over the limit", Quantity::Share)
        .logarithmic(true)
        .with_thresholds(goals.iter().map(threshold).collect());
    Chart::new(
        "Transactions over the limit",
        "their share, logarithmic, against the rate; a load without any has no dot",
        Plot::lines(x, y, goals.iter().enumerate().map(series).collect()),
    )
}

/// Shares of the most frequent wait events against the rate, on top of each other.
fn waits(loads: &[SearchLoad]) -> Option<Chart> {
    let mut events: Vec<LoadWait> = Vec::new();
    for wait in loads.iter().flat_map(|load| &load.waits) {
        match events.iter_mut().find(|it| is_same(it, wait)) {
            Some(sum) => sum.share += wait.share,
            None => events.push(wait.clone()),
        }
    }
    events.sort_by(|a, b| b.share.total_cmp(&a.share));
    events.truncate(WAITS_MAX);
    let colours = Colour::of_waits(events.iter().map(|wait| wait.event_type.as_str()));
    let series = |(event, colour): (&LoadWait, Colour)| {
        let share = |load: &SearchLoad| {
            load.waits.iter().find(|wait| is_same(wait, event)).map_or(0.0, |wait| wait.share)
        };
        let points = loads.iter().map(|load| Point::new(load.figures.rate_tps, share(load))).collect();
        Series::new(wording::wait_name(&event.event_type, &event.event), colour, points)
    };
    let series: Vec<Series> = events.iter().zip(colours).map(series).collect();
    let x = Axis::new("rate, tps", Quantity::PerSecond);
    let y = Axis::new("share of active time", Quantity::Share);
    let plot = Plot::Lines { x, y, series, is_stacked: true, bands: Vec::new() };
    let caption = "what the backends did, as shares of their active time, against the rate";
    (!events.is_empty()).then(|| Chart::new("Waits against the rate", caption, plot))
}

fn is_same(a: &LoadWait, b: &LoadWait) -> bool {
    a.event == b.event && a.event_type == b.event_type
}
