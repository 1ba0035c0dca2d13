//! Charts that are worth their place: one whose series do not move becomes a sentence with a sparkline, and one of a
//! few points is left out.

use crate::chart::{Axis, Chart, Plot, Point, Series};
use crate::figures::with_ordinary_spaces;

/// Fewer points show no course.
pub(super) const POINTS_MIN: usize = 10;

/// Values that lie within this share of the axis do not move.
const MOVES_FROM: f64 = 0.05;
/// Parts of the values at both ends that do not count.
const TRIMMED: f64 = 0.05;
const SPARKS: [char; 5] = ['▁', '▂', '▃', '▄', '▅'];
/// The height of the greatest value, so that a line that does not move is no black bar.
const SPARK_TOP: f64 = 4.0;
const SPARKLINE: usize = 20;

/// A chart over time, or the sentence that says the same.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shown {
    Chart(Box<Chart>),
    Sentence(String),
}

/// `None` of a chart with less than ten points; series that are always 0 are left out beside others.
pub(super) fn shown(mut chart: Chart) -> Option<Shown> {
    let Plot::Lines { y, series, .. } = &mut chart.plot else { return Some(Shown::Chart(Box::new(chart))) };
    if series.iter().map(|series| values(series).len()).max().unwrap_or(0) < POINTS_MIN {
        return None;
    }
    let is_something = |series: &Series| values(series).iter().any(|value| *value != 0.0);
    if series.iter().any(is_something) {
        series.retain(is_something);
    }
    let top = series.iter().flat_map(values).fold(0.0, f64::max);
    let is_still = |series: &Series| spread(&values(series)) <= MOVES_FROM * top;
    if y.is_logarithmic || !y.thresholds.is_empty() || !series.iter().all(is_still) {
        return Some(Shown::Chart(Box::new(chart)));
    }
    let told: Vec<String> = series.iter().map(|series| sentence(series, y, top)).collect();
    // A figure with a unit of its own says what the caption says.
    let has_caption = !chart.caption.is_empty() && y.suffix.is_empty();
    let caption = if has_caption { format!(" ({})", chart.caption) } else { String::new() };
    Some(Shown::Sentence(format!("{}{caption}: {}.", chart.title, told.join("; "))))
}

fn values(series: &Series) -> Vec<f64> {
    series.points.iter().map(|point| point.y).filter(|value| value.is_finite()).collect()
}

/// From the low values to the high ones, without the lowest and highest few.
// Indices below the length.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn spread(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1) as f64;
    let at = |share: f64| sorted.get((share * last).round() as usize).copied().unwrap_or(0.0);
    at(1.0 - TRIMMED) - at(TRIMMED)
}

/// `busy 98 % (96 % to 99 %) ▇▇▇▇▇▇`
fn sentence(series: &Series, y: &Axis, top: f64) -> String {
    let mut sorted = values(series);
    sorted.sort_by(f64::total_cmp);
    let (Some(low), Some(high)) = (sorted.first(), sorted.last()) else { return series.label.clone() };
    let written = |value: f64| with_ordinary_spaces(&format!("{}{}", y.quantity.shown(value), y.suffix));
    let middle = sorted[sorted.len() / 2];
    let range = if written(*low) == written(*high) {
        " all the time".to_owned()
    } else {
        format!(" ({} to {})", written(*low), written(*high))
    };
    let text = format!("{} {}{range} {}", series.label, written(middle), sparkline(&series.points, top));
    text.trim().to_owned()
}

// An index below the number of sparks.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn sparkline(points: &[Point], top: f64) -> String {
    let every = points.len().div_ceil(SPARKLINE).max(1);
    let spark = |points: &[Point]| {
        let known = || points.iter().map(|point| point.y).filter(|value| value.is_finite());
        let count = known().count();
        if count == 0 || top <= 0.0 {
            return ' ';
        }
        let mean = known().sum::<f64>() / count as f64;
        let height = (mean / top).clamp(0.0, 1.0) * SPARK_TOP;
        SPARKS[height.round() as usize]
    };
    points.chunks(every).map(spark).collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Colour;
    use crate::metrics::Quantity;

    fn chart(series: &[(&str, Vec<f64>)]) -> Chart {
        let series = series.iter().map(|(label, values)| {
            let points = values.iter().enumerate().map(|(x, y)| Point::new(x as f64, *y)).collect();
            Series::new(*label, Colour::Run(0), points)
        });
        let (x, y) = (Axis::new("", Quantity::Seconds), Axis::new("", Quantity::Share));
        Chart::new("CPU", "", Plot::lines(x, y, series.collect()))
    }

    #[test]
    fn series_that_do_not_move_are_a_sentence_with_a_sparkline() {
        let still = chart(&[("busy", vec![0.5; 40]), ("stolen", vec![0.0; 40])]);
        let Some(Shown::Sentence(told)) = shown(still) else { panic!("it is a chart") };
        assert!(told.starts_with("CPU: busy 50") && told.ends_with("▅▅▅▅▅▅▅▅▅▅▅▅▅."), "{told}");
        assert!(!told.contains("stolen"), "{told}");
        let rising = (0..40).map(f64::from).collect();
        assert!(matches!(shown(chart(&[("busy", rising)])), Some(Shown::Chart(_))));
    }

    #[test]
    fn fewer_than_ten_points_are_no_chart() {
        let rising = |points: u32| chart(&[("busy", (0..points).map(f64::from).collect())]);
        assert_eq!(shown(rising(9)), None);
        assert!(shown(rising(10)).is_some());
    }
}
