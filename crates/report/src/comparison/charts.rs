//! The charts of a comparison: the change in each pair beside the noise floor, and the estimate with its interval as pairs
//! were added, recomputed from the pairs of the record.

use results::{ComparedPair, ComparisonRecord, DrawnAnew};
use stats::comparison::{Comparison, PAIRS_OF_SEQUENCE, Question};

use super::names;
use super::notes::is_merged;
use crate::chart::{Axis, Chart, Colour, Plot, Point, Series};
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

/// The change of B in each pair, and between identical sides.
pub(super) fn pairs(record: &ComparisonRecord) -> Vec<Chart> {
    let metric = record.method.decisive;
    let points = |is_noise_floor: bool| -> Vec<Point> {
        let of_purpose = record.pairs.iter().filter(|pair| pair.is_noise_floor == is_noise_floor);
        let change = |pair: &ComparedPair| {
            let change = pair.pair().ln_ratio(metric)?.exp_m1();
            change.is_finite().then(|| Point::new(pair.start_s, change))
        };
        // A line that ends after each point is a dot.
        let gap = |point: Point| [Point::new(point.x, f64::NAN), point];
        of_purpose.filter_map(change).flat_map(gap).collect()
    };
    let series =
        [("noise floor", Colour::Quiet, points(true)), ("pairs of A and B", Colour::Run(1), points(false))];
    let series: Vec<Series> = series
        .into_iter()
        .filter(|(.., points)| !points.is_empty())
        .map(|(label, colour, points)| Series { has_dots: true, ..Series::new(label, colour, points) })
        .collect();
    if series.iter().all(|series| series.points.is_empty()) {
        return Vec::new();
    }
    let y = Axis::new("change", Quantity::Share);
    let title = format!("Change of the {} in each pair", names::title(metric));
    vec![lines(title, "B ÷ A − 1; for the noise floor, both sides are identical", y, series)]
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
    let [mut middle, mut low, mut high] = [Vec::new(), Vec::new(), Vec::new()];
    for (at, pair) in (1..).zip(&record.pairs) {
        comparison.add(pair.pair());
        if at % every != 0 && at != record.pairs.len() {
            continue;
        }
        let mut ended = comparison.clone();
        ended.close();
        let Some(finding) = ended.finding(method.decisive) else { continue };
        let (Some(from), Some(to)) = (finding.low, finding.high) else { continue };
        for (points, ratio) in [(&mut middle, finding.ratio), (&mut low, from), (&mut high, to)] {
            points.push(Point::new(pair.start_s, ratio - 1.0));
        }
    }
    if middle.len() < 2 {
        return Vec::new();
    }
    let end = |points| Series { is_dashed: true, ..Series::new("95 % interval", Colour::Quiet, points) };
    let series = vec![
        Series::new("change", Colour::Run(1), middle),
        end(low),
        Series { label: String::new(), ..end(high) },
    ];
    let y = Axis::new("change", Quantity::Share);
    let title = format!("Change of the {} with its interval", names::title(method.decisive));
    vec![lines(title, "B ÷ A − 1, if the comparison had ended then", y, series)]
}

fn lines(title: String, caption: &str, y: Axis, series: Vec<Series>) -> Chart {
    let x = Axis::new("time", Quantity::Seconds);
    Chart::new(title, caption, Plot::lines(x, y, series))
}
