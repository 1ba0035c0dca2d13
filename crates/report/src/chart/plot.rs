//! From a chart to shapes: the scales of its axes, grid and words of the axes, heat maps and thresholds. Series are in
//! `lines`, events in `gutter`; bars are in `bars`, since their names need room that depends on the format.

use super::colour::{Paint, SHADES};
use super::gutter::{Gutter, gutter};
use super::lines;
use super::scale::{Frame, Scale};
use super::shapes::{Anchor, Shape};
use super::{Axis, Band, Heat, Plot, Point, Series, Threshold};
use crate::figures::with_ordinary_spaces;
use crate::metrics::Quantity;

/// Height of a plot.
const HEIGHT: f32 = 200.0;
const HEIGHT_LOW: f32 = 96.0;
/// Below a plot: the words of its axis.
pub(super) const AXIS_HEIGHT: f32 = 24.0;
/// And its name, if it has one.
pub(super) const AXIS_NAME_HEIGHT: f32 = 16.0;
/// Width of the plot on a phone.
const NARROW: f32 = 300.0;
/// About what a character of an axis takes.
const CHARACTER: f32 = 6.4;
const AXIS_SIZE: f32 = 11.0;
/// From here on, times of an axis are like those of a clock: 12:05.
const CLOCK_FROM_S: f64 = 150.0;

/// A plot as shapes.
pub(super) struct Drawn {
    pub(super) height: f32,
    /// Behind, in, and around the plot.
    pub(super) shapes: Vec<Shape>,
    pub(super) x: Scale,
    pub(super) y: Scale,
    /// Above the plot.
    pub(super) gutter: Gutter,
}

/// A plot of lines or a heat map with so wide a plot; `None` of bars.
pub(super) fn drawn(plot: &Plot, is_low: bool, width: f32) -> Option<Drawn> {
    let height = if is_low { HEIGHT_LOW } else { HEIGHT };
    match plot {
        Plot::Bars { .. } => None,
        Plot::Lines { x, y, series, is_stacked, bands } => {
            let layers = if *is_stacked { lines::stacked(series) } else { Vec::new() };
            let tops = if *is_stacked { &layers } else { series };
            let (x_scale, y_scale) = (x_scale(x, series, width), y_scale(y, tops, height));
            let mut drawn = Drawn::new(height, x_scale, y_scale, gutter(bands, &x_scale, width));
            drawn.axes(x, y, width);
            drawn.shades(bands, width);
            let frame = Frame { x: x_scale, y: y_scale, width, height };
            let shapes =
                if *is_stacked { lines::layers(&frame, &layers) } else { lines::lines(&frame, series) };
            drawn.shapes.extend(shapes);
            drawn.thresholds(&y.thresholds, width);
            Some(drawn)
        }
        Plot::Heat { x, y, heat, bands } => {
            let (low, high) = (heat.edges.first().copied(), heat.edges.last().copied());
            let rows = y.ends.or(low.zip(high)).unwrap_or((1.0, 10.0));
            let values = y.thresholds.iter().map(|threshold| threshold.value).chain([rows.0, rows.1]);
            let ends = extent(values, y.is_logarithmic);
            let last = heat.columns.last().map_or(1.0, |(_, end, _)| *end);
            let (from, to) = x.ends.unwrap_or((0.0, last));
            let y_scale = Scale::new(y.is_logarithmic, ends, (height, 0.0));
            let x_scale = Scale::new(x.is_logarithmic, (from, to), (0.0, width));
            let mut drawn = Drawn::new(height, x_scale, y_scale, gutter(bands, &x_scale, width));
            drawn.axes(x, y, width);
            drawn.heat(heat);
            drawn.thresholds(&y.thresholds, width);
            Some(drawn)
        }
    }
}

fn points(series: &[Series]) -> impl Iterator<Item = &Point> {
    series.iter().flat_map(|series| &series.points)
}

/// The lowest and the highest finite value; of a logarithmic axis, of those above 0.
fn extent(values: impl Iterator<Item = f64>, is_logarithmic: bool) -> (f64, f64) {
    let shown = values.filter(|value| value.is_finite() && (*value > 0.0 || !is_logarithmic));
    shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}

fn x_scale(axis: &Axis, series: &[Series], width: f32) -> Scale {
    let has_dots = series.iter().any(|series| series.has_dots);
    let (low, high) = extent(points(series).map(|point| point.x), axis.is_logarithmic);
    let ends = axis.ends.unwrap_or_else(|| match (has_dots, axis.is_logarithmic) {
        (false, _) => (low, high),
        (true, true) => {
            let beside = (high / low).powf(0.03).max(1.1);
            (low / beside, high * beside)
        }
        (true, false) => {
            let beside = if high > low { (high - low) * 0.03 } else { 1.0 };
            (low - beside, high + beside)
        }
    });
    Scale::new(axis.is_logarithmic, ends, (0.0, width))
}

/// Fits the values, and their intervals as far as these are not much wider: one that says little must not make the
/// others flat. It ends in an arrow.
fn y_scale(axis: &Axis, series: &[Series], height: f32) -> Scale {
    const BEYOND: f64 = 2.5;
    const DECADES_BEYOND: f64 = 10.0;
    let is_logarithmic = axis.is_logarithmic;
    let thresholds = axis.thresholds.iter().map(|threshold| threshold.value);
    let (low, high) = extent(points(series).map(|point| point.y).chain(thresholds), is_logarithmic);
    let intervals = points(series).filter_map(|point| point.interval).flat_map(|(low, high)| [low, high]);
    let (least, most) = extent(intervals, is_logarithmic);
    let (floor, ceiling) = if is_logarithmic {
        (low / DECADES_BEYOND, high * DECADES_BEYOND)
    } else {
        let reach = (high.max(0.0) - low.min(0.0)).max(f64::MIN_POSITIVE) * (BEYOND - 1.0);
        (low.min(0.0) - reach, high.max(0.0) + reach)
    };
    let (low, high) = (low.min(least.max(floor)), high.max(most.min(ceiling)));
    // Signs and words stand above their points.
    let has_signs = points(series).any(|point| !point.signs.is_empty())
        || series.iter().any(|series| !series.words.is_empty());
    let ends = axis.ends.unwrap_or(match (is_logarithmic, has_signs) {
        (true, false) => (low / 1.15, high * 1.15),
        (true, true) => (low / 1.2, high * 1.3),
        (false, false) => (low.min(0.0) * 1.08, high.max(0.0) * 1.08),
        (false, true) => (low.min(0.0) * 1.08, high.max(0.0) * 1.14),
    });
    Scale::new(is_logarithmic, ends, (height, 0.0))
}

/// As the axis has a value: a mark's name, the time of a clock, or a figure without digits that say nothing.
fn tick(axis: &Axis, value: f64, last: f64) -> String {
    match axis.quantity {
        Quantity::Seconds if last >= CLOCK_FROM_S => clock(value),
        quantity => quantity.tick(value),
    }
}

/// `12:05`, `1:12:05`.
// Whole seconds below 2⁵³.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn clock(seconds: f64) -> String {
    let (sign, whole) = (if seconds < 0.0 { "−" } else { "" }, seconds.abs().round() as u64);
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    match hours {
        0 => format!("{sign}{minutes}:{seconds:02}"),
        hours => format!("{sign}{hours}:{minutes:02}:{seconds:02}"),
    }
}

// Some hundred characters at most.
#[allow(clippy::cast_possible_truncation)]
fn width_of(text: &str) -> f32 {
    text.chars().count() as f32 * CHARACTER
}

impl Drawn {
    fn new(height: f32, x: Scale, y: Scale, gutter: Gutter) -> Drawn {
        Drawn { height, shapes: Vec::new(), x, y, gutter }
    }

    fn axes(&mut self, x: &Axis, y: &Axis, width: f32) {
        self.x_axis(x, width);
        if let Some((low, high)) = y.band {
            let [top, bottom] = [high, low].map(|value| self.y.at(value).clamp(0.0, self.height));
            let (paint, height) = (Paint::Of(super::Colour::Quiet), bottom - top);
            self.shapes.push(Shape::Rectangle { x: 0.0, y: top, width, height, paint, opacity: 0.1 });
        }
        for (value, name) in self.y_ticks(y) {
            let at = self.y.at(value);
            self.grid_line((0.0, at), (width, at));
            self.word(-8.0, at + 4.0, Anchor::End, &name, false);
        }
        let (low, high, is_logarithmic) = self.y.ends();
        if low < 0.0 && high > 0.0 && !is_logarithmic {
            let points = vec![(0.0, self.y.at(0.0)), (width, self.y.at(0.0))];
            let paint = Paint::Of(super::Colour::Quiet);
            self.shapes.push(Shape::Line { points, paint, width: 1.0, is_dashed: false });
        }
        if !x.name.is_empty() {
            let y = self.height + AXIS_HEIGHT + AXIS_NAME_HEIGHT - 7.0;
            self.word(width, y, Anchor::End, &x.name, false);
        }
    }

    /// The marks of a vertical axis, or else round values.
    fn y_ticks(&self, axis: &Axis) -> Vec<(f64, String)> {
        if !axis.marks.is_empty() {
            return axis.marks.clone();
        }
        let most = if self.height < HEIGHT { 3 } else { 5 };
        let ticks = self.y.ticks_of(axis.quantity, most).into_iter();
        ticks.map(|value| (value, axis.quantity.tick(value))).collect()
    }

    /// Marks that would touch the one before have a line and no name; on a narrow page there is room for fewer.
    fn x_axis(&mut self, axis: &Axis, width: f32) {
        let mut marks = match &axis.marks[..] {
            [] => {
                let ticks =
                    if axis.quantity == Quantity::Seconds { self.x.time_ticks(10) } else { self.x.ticks(10) };
                let last = ticks.last().copied().unwrap_or(0.0);
                ticks.into_iter().map(|value| (value, tick(axis, value, last))).collect()
            }
            marks => marks.to_vec(),
        };
        marks.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut end, mut narrow_end) = (f32::NEG_INFINITY, f32::NEG_INFINITY);
        for (value, name) in marks {
            let at = self.x.at(value);
            if !(-0.5..=width + 0.5).contains(&at) {
                continue;
            }
            self.grid_line((at, 0.0), (at, self.height));
            let (half, narrow_at) = (width_of(&name) / 2.0, at / width * NARROW);
            if at - half < end {
                continue;
            }
            end = at + half + 8.0;
            let is_optional = narrow_at - half < narrow_end;
            if !is_optional {
                narrow_end = narrow_at + half + 6.0;
            }
            self.word(at, self.height + 17.0, Anchor::Middle, &name, is_optional);
        }
    }

    fn grid_line(&mut self, from: (f32, f32), to: (f32, f32)) {
        let points = vec![from, to];
        self.shapes.push(Shape::Line { points, paint: Paint::Grid, width: 1.0, is_dashed: false });
    }

    fn word(&mut self, x: f32, y: f32, anchor: Anchor, text: &str, is_optional: bool) {
        let (text, paint) = (with_ordinary_spaces(text), Paint::Of(super::Colour::Quiet));
        self.shapes.push(Shape::Text {
            x,
            y,
            size: AXIS_SIZE,
            is_bold: false,
            anchor,
            paint,
            text,
            is_optional,
        });
    }

    fn shades(&mut self, bands: &[Band], width: f32) {
        for band in bands.iter().filter(|band| band.is_shaded) {
            let from = self.x.at(band.start).clamp(0.0, width);
            let to = band.end.map_or(width, |end| self.x.at(end)).clamp(0.0, width);
            let (paint, height) = (Paint::Of(band.colour), self.height);
            let (x, y, width, opacity) = (from, 0.0, (to - from).max(2.0), 0.16);
            self.shapes.push(Shape::Rectangle { x, y, width, height, paint, opacity });
        }
    }

    /// In front of the series. A scale that is given may end before a threshold, which then has no line.
    fn thresholds(&mut self, thresholds: &[Threshold], width: f32) {
        for threshold in thresholds {
            let at = self.y.at(threshold.value);
            if (0.0..=self.height).contains(&at) {
                let (points, paint) = (vec![(0.0, at), (width, at)], Paint::Of(super::Colour::Bad));
                self.shapes.push(Shape::Line { points, paint, width: 1.3, is_dashed: true });
            }
        }
    }

    /// Cells of equal shade that touch are one; those of one shade are one shape.
    fn heat(&mut self, heat: &Heat) {
        let rows = heat.edges.len().saturating_sub(1);
        // All rows are equally high.
        let row_height = match heat.edges[..] {
            [lower, upper, ..] => self.y.at(lower) - self.y.at(upper),
            _ => self.height,
        };
        let mut shades: Vec<Vec<(f32, f32, f32)>> = vec![Vec::new(); SHADES];
        for row in (0..rows).rev() {
            let [lower, upper] = [heat.edges[row], heat.edges[row + 1]].map(|edge| self.y.at(edge));
            let middle = f32::midpoint(lower, upper);
            let mut last: Option<usize> = None;
            for (start, end, counts) in &heat.columns {
                let count = counts.get(row).copied().unwrap_or(0);
                let shade = (count > 0).then(|| shade(count, heat.most));
                if let Some(shade) = shade {
                    let (from, to) = (self.x.at(*start), self.x.at(*end));
                    match shades[shade].last_mut() {
                        Some(before) if last == Some(shade) => before.1 = to,
                        _ => shades[shade].push((from, to.max(from + 0.5), middle)),
                    }
                }
                last = shade;
            }
        }
        for (shade, cells) in shades.into_iter().enumerate().filter(|(_, cells)| !cells.is_empty()) {
            self.shapes.push(Shape::Cells { cells, height: row_height, paint: Paint::Heat(shade) });
        }
    }
}

/// By the logarithm of the count.
// An index below the number of shades.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn shade(count: u64, most: u64) -> usize {
    let share = (count as f64).ln_1p() / (most.max(1) as f64).ln_1p();
    ((share * SHADES as f64) as usize).min(SHADES - 1)
}

#[cfg(test)]
mod tests {
    use super::super::Colour;
    use super::*;

    fn series(values: &[f64]) -> Series {
        let points = values.iter().enumerate().map(|(x, y)| Point::new(x as f64, *y)).collect();
        Series::new("a", Colour::Run(0), points)
    }

    fn lines(series: Vec<Series>, is_stacked: bool) -> Drawn {
        let (x, y) = (Axis::new("", Quantity::Seconds), Axis::new("", Quantity::Number));
        let plot = Plot::Lines { x, y, series, is_stacked, bands: Vec::new() };
        drawn(&plot, false, 1_000.0).unwrap()
    }

    fn of_colour(drawn: &Drawn) -> Vec<&Shape> {
        let is = |paint: &Paint| *paint == Paint::Of(Colour::Run(0));
        let is_coloured = |shape: &&Shape| match shape {
            Shape::Line { paint, .. } | Shape::Area { paint, .. } | Shape::Mark { paint, .. } => is(paint),
            _ => false,
        };
        fn parts(shape: &Shape) -> Vec<&Shape> {
            match shape {
                Shape::Group { shapes, .. } => shapes.iter().collect(),
                other => vec![other],
            }
        }
        drawn.shapes.iter().flat_map(parts).filter(is_coloured).collect()
    }

    #[test]
    fn a_line_has_a_gap_where_there_is_no_value_and_a_dot_where_it_has_no_neighbour() {
        let drawn = lines(vec![series(&[1.0, 2.0, f64::NAN, 3.0, f64::NAN, 1.0, 1.0])], false);
        let shapes = of_colour(&drawn);
        assert_eq!(shapes.len(), 3);
        assert!(matches!(shapes[0], Shape::Line { points, .. } if points.len() == 2));
        assert!(matches!(shapes[1], Shape::Mark { is_filled: true, .. }));
    }

    #[test]
    fn stacked_layers_end_at_the_sum_of_those_below() {
        let layers = lines::stacked(&[series(&[1.0, 2.0]), series(&[3.0, f64::NAN])]);
        assert_eq!(layers[1].points.iter().map(|point| point.y).collect::<Vec<_>>(), [4.0, 2.0]);
        let drawn = lines(vec![series(&[1.0, 2.0]), series(&[3.0, 4.0])], true);
        let areas = of_colour(&drawn);
        assert!(matches!(areas[0], Shape::Area { points, .. } if points.len() == 4), "{areas:?}");
    }

    #[test]
    fn runs_of_one_load_beside_each_other_share_a_label_and_no_labels_touch() {
        let labels = |places: &[(f64, &str)]| {
            let labelled = |(x, text): &(f64, &str)| {
                let mut point = Point::new(*x, 1.0);
                point.label = (*text).to_owned();
                point
            };
            let points = places.iter().map(labelled).collect();
            let drawn = lines(vec![Series::new("a", Colour::Run(0), points)], false);
            let mut found = Vec::new();
            for shape in &drawn.shapes {
                let Shape::Group { shapes, .. } = shape else { continue };
                let texts = shapes.iter().filter_map(|shape| match shape {
                    Shape::Text { text, .. } => Some(text.clone()),
                    _ => None,
                });
                found.extend(texts);
            }
            found
        };
        assert_eq!(labels(&[(0.0, "8"), (1.0, "8"), (50.0, "16"), (100.0, "16")]), ["8", "16", "16"]);
        assert_eq!(labels(&[(0.0, "8"), (0.5, "16"), (100.0, "32")]), ["8", "32"]);
    }

    #[test]
    fn cells_of_one_shade_that_touch_are_one() {
        let column = |start: f64, counts: &[u64]| (start, start + 1.0, counts.to_vec());
        let heat = Heat {
            edges: vec![1.0, 10.0, 100.0],
            columns: vec![column(0.0, &[9, 0]), column(1.0, &[9, 0]), column(2.0, &[0, 9])],
            most: 9,
        };
        let x = Axis::new("", Quantity::Seconds);
        let y = Axis::new("", Quantity::Microseconds).logarithmic(true);
        let plot = Plot::Heat { x, y, heat, bands: Vec::new() };
        let drawn = drawn(&plot, false, 300.0).unwrap();
        let cells = drawn.shapes.iter().find_map(|shape| match shape {
            Shape::Cells { cells, height, .. } => Some((cells.clone(), *height)),
            _ => None,
        });
        // The upper row first.
        assert_eq!(cells, Some((vec![(200.0, 300.0, 50.0), (0.0, 200.0, 150.0)], 100.0)));
    }

    #[test]
    fn names_on_an_axis_that_would_touch_are_left_out() {
        let name = |position: f64| (position, "synchronous_commit off".to_owned());
        let x = Axis::new("", Quantity::Number).with_marks((0..10).map(|at| name(f64::from(at))).collect());
        let y = Axis::new("", Quantity::Number);
        let points = (0..10).map(|at| Point::new(f64::from(at), 1.0)).collect();
        let series = vec![Series { has_dots: true, ..Series::new("", Colour::Run(0), points) }];
        let plot = Plot::lines(x, y, series);
        let drawn = drawn(&plot, false, 900.0).unwrap();
        let names = drawn.shapes.iter().filter_map(|shape| match shape {
            Shape::Text { x, text, .. } if text.starts_with("sync") => Some(*x),
            _ => None,
        });
        let places: Vec<f32> = names.collect();
        assert!((3..9).contains(&places.len()), "{places:?}");
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] > 140.0), "{places:?}");
    }

    #[test]
    fn times_of_long_runs_are_like_those_of_a_clock() {
        let axis = Axis::new("", Quantity::Seconds);
        assert_eq!(with_ordinary_spaces(&tick(&axis, 60.0, 120.0)), "60 s");
        assert_eq!([tick(&axis, 60.0, 600.0), tick(&axis, 3_725.0, 7_200.0)], ["1:00", "1:02:05"]);
    }

    #[test]
    fn a_threshold_is_a_dashed_line_across_lines_and_heat_maps_also_above_all_values() {
        let limit = Threshold { value: 1_000.0, label: "latency limit 1 ms".to_owned() };
        let axis = |quantity| Axis::new("", quantity).logarithmic(true).with_thresholds(vec![limit.clone()]);
        let (x, y) = (Axis::new("", Quantity::Seconds), axis(Quantity::Microseconds));
        let bands = Vec::new;
        let series = vec![series(&[1.0, 10.0])];
        let lines = Plot::Lines { x: x.clone(), y: y.clone(), series, is_stacked: false, bands: bands() };
        let heat = Heat { edges: vec![1.0, 10.0, 100.0], columns: vec![(0.0, 1.0, vec![9, 9])], most: 9 };
        for plot in [lines, Plot::Heat { x, y, heat, bands: bands() }] {
            let drawn = drawn(&plot, false, 300.0).unwrap();
            let at = drawn.y.at(1_000.0);
            assert!((0.0..=drawn.height).contains(&at), "{at}");
            let is_threshold = |shape: &Shape| matches!(shape, Shape::Line { points, is_dashed: true, .. } if *points == [(0.0, at), (300.0, at)]);
            assert_eq!(drawn.shapes.iter().filter(|shape| is_threshold(shape)).count(), 1);
            let cells = drawn.shapes.iter().find_map(|shape| match shape {
                Shape::Cells { cells, height, .. } => Some((cells[0].2, *height)),
                _ => None,
            });
            // Two of three decades are rows.
            assert!(cells.is_none_or(|(_, height)| (height - drawn.height / 3.0).abs() < 0.01), "{cells:?}");
        }
    }

    #[test]
    fn figures_beyond_all_bounds_are_drawn_within_the_plot() {
        let drawn = lines(vec![series(&[f64::MAX, 0.0, -1e300, f64::INFINITY])], false);
        for shape in of_colour(&drawn) {
            let Shape::Line { points, .. } = shape else { continue };
            assert!(points.iter().all(|(x, y)| x.is_finite() && (0.0..=200.0).contains(y)), "{points:?}");
        }
    }
}
