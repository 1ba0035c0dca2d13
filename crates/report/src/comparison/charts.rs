//! The charts of a comparison: the ratio in each pair beside the noise floor, and the estimate with its interval as pairs
//! were added, recomputed from the pairs of the record.

use results::{ComparedPair, ComparisonRecord, DrawnAnew};
use stats::comparison::{Comparison, PAIRS_OF_SEQUENCE, Question};

use super::names;
use super::notes::is_merged;
use crate::chart::{Axis, Chart, Colour, Form, Plot, Point, Series};
use crate::forest::{BETTER_OR_WORSE, EffectVerdict, Forest, ForestRow};
use crate::metrics::Quantity;

/// Moments at which the interval is recomputed.
const MOMENTS_MAX: usize = 200;

/// With fewer moments than this there is no line to see.
const MOMENTS_MIN: usize = 10;

/// More planned pairs are not drawn: the test takes too long to compute.
const NUMBERS_MAX: usize = 10_000;

/// The averages of two observations each that are sorted, at all moments together: some seconds of work. Their number
/// grows with the square of the pairs.
const AVERAGES_MAX: usize = 20_000_000;

/// The ratio of the sides in each pair, and between identical sides, with the estimate and its interval through them.
pub(super) fn pairs(record: &ComparisonRecord) -> Vec<Chart> {
    let metric = record.method.decisive;
    let ratio = |pair: &ComparedPair| {
        let ratio = pair.pair().ln_ratio(metric)?.exp();
        (ratio > 0.0 && ratio.is_finite()).then_some(ratio)
    };
    // All series have a point at each pair, so that they are read out together.
    let points = |is_noise_floor: bool| -> Vec<Point> {
        let of_purpose =
            |pair: &ComparedPair| (pair.is_noise_floor == is_noise_floor).then(|| ratio(pair)).flatten();
        let known = record.pairs.iter().filter(|pair| pair.start_s.is_finite());
        known.map(|pair| Point::new(pair.start_s, of_purpose(pair).unwrap_or(f64::NAN))).collect()
    };
    let is_any = |points: &[Point]| points.iter().any(|point| point.y.is_finite());
    let [a, b] = names::sides(record);
    let dots = |label: String, colour, form, points| Series {
        has_dots: true,
        has_no_line: true,
        form,
        ..Series::new(label, colour, points)
    };
    let [floor, of_sides] = [points(true), points(false)];
    let all: Vec<f64> =
        floor.iter().chain(&of_sides).map(|point| point.y).filter(|y| y.is_finite()).collect();
    if all.is_empty() {
        return Vec::new();
    }
    let finding = record.finding(metric);
    let interval = finding.and_then(|finding| finding.low.zip(finding.high));
    let estimate =
        finding.filter(|finding| finding.ratio > 0.0 && finding.ratio.is_finite()).map(|finding| {
            let point = |point: &Point| Point { interval, ..Point::new(point.x, finding.ratio) };
            let label = "estimate with its 95 % interval";
            Series {
                has_band: interval.is_some(),
                ..Series::new(label, Colour::Run(1), of_sides.iter().map(point).collect())
            }
        });
    let y = ratio_axis(record, all.iter().copied().chain(finding.map(|finding| finding.ratio)));
    let mut series = vec![dots(format!("pair: {b} ÷ {a}"), Colour::Run(0), Form::Dot, of_sides)];
    if is_any(&floor) {
        series.push(dots("noise floor: identical sides".to_owned(), Colour::Quiet, Form::Diamond, floor));
    }
    series.extend(estimate);
    let title = format!("The {} in each pair", names::title(metric));
    vec![lines(title, "ratios, logarithmic; the grey area is the tolerance", y, series)]
}

/// An axis of ratios around 1, the tolerance and all of these.
fn ratio_axis(record: &ComparisonRecord, ratios: impl Iterator<Item = f64>) -> Axis {
    let rows = ratios.map(|ratio| ForestRow::new("", ratio, None, EffectVerdict::NotJudged)).collect();
    let tolerance = Some(record.method.tolerance).filter(|tolerance| (0.0..1.0).contains(tolerance));
    let (title, caption) = (String::new(), String::new());
    let forest = Forest { title, caption, rows, tolerance, words: BETTER_OR_WORSE };
    let (low, high) = forest.ends();
    let axis = Axis::new("ratio", Quantity::Number).logarithmic(true).with_ends(low, high);
    Axis { band: forest.band(), ..axis.with_marks(Forest::ticks((low, high))) }
}

/// The estimate and its interval after so many pairs.
pub(super) fn interval(record: &ComparisonRecord) -> Vec<Chart> {
    let method = &record.method;
    let question = Question {
        error_rate: method.error_rate,
        tolerance: method.tolerance,
        numbers: match method.draws {
            DrawnAnew::Connections => method.pairs_planned / PAIRS_OF_SEQUENCE,
            DrawnAnew::Servers => method.pairs_planned,
        },
        decisive: method.decisive,
        scripts: 0,
    };
    let is_sound = |rate: f64| rate > 0.0 && rate < 1.0;
    // Merged blocks give few observations, of a number that was planned for them alone.
    if is_merged(record, method.decisive.into())
        || !(1..=NUMBERS_MAX).contains(&question.numbers)
        || !is_sound(question.error_rate)
        || !is_sound(question.tolerance)
    {
        return Vec::new();
    }
    let mut comparison = match method.draws {
        DrawnAnew::Connections => Comparison::new(&question),
        DrawnAnew::Servers => Comparison::of_few_draws(&question),
    };
    // The mean over the moments is a third of those at the end.
    let observations = record.pairs.len() / PAIRS_OF_SEQUENCE;
    let moments = (3 * AVERAGES_MAX / (observations * (observations + 1) / 2).max(1)).min(MOMENTS_MAX);
    if moments < MOMENTS_MIN {
        return Vec::new();
    }
    let every = record.pairs.len().div_ceil(moments).max(1);
    let mut points = Vec::new();
    for (at, pair) in (1..).zip(&record.pairs) {
        comparison.add(pair.pair());
        if at % every != 0 && at != record.pairs.len() {
            continue;
        }
        let mut ended = comparison.clone();
        ended.close();
        let Some(finding) = ended.finding(method.decisive) else { continue };
        let (Some(from), Some(to)) = (finding.low, finding.high) else { continue };
        points.push(Point { interval: Some((from, to)), ..Point::new(pair.start_s, finding.ratio) });
    }
    if points.len() < 2 {
        return Vec::new();
    }
    // The first intervals are far wider than those that matter.
    let ends = points[points.len() / 3..].iter().filter_map(|point| point.interval);
    let y = ratio_axis(record, ends.flat_map(|(low, high)| [low, high]).collect::<Vec<_>>().into_iter());
    let series =
        Series { has_band: true, ..Series::new("estimate and 95 % interval", Colour::Run(1), points) };
    let [a, b] = names::sides(record);
    let title = format!("The {} with its interval", names::title(method.decisive));
    vec![lines(title, &format!("{b} ÷ {a}, if the comparison had ended then"), y, vec![series])]
}

fn lines(title: String, caption: &str, y: Axis, series: Vec<Series>) -> Chart {
    let x = Axis::new("time", Quantity::Seconds);
    Chart::new(title, caption, Plot::lines(x, y, series))
}
