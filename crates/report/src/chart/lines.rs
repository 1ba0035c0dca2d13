//! Series as shapes: lines with their intervals, dots and words, and stacked areas with their names on them. Each series
//! is a group of shapes, which the page's legend switches.

use super::colour::Paint;
use super::scale::Frame;
use super::shapes::{Anchor, Shape, dot, point};
use super::{Point, Series, Sign};
use crate::figures::with_ordinary_spaces;

/// Width of the plot on a phone.
const NARROW: f32 = 300.0;
const WORD_SIZE: f32 = 11.0;
/// About what a character of a word in the plot takes.
const CHARACTER: f32 = 6.0;

/// Lines that are not stacked, the first in front.
pub(super) fn lines(frame: &Frame, series: &[Series]) -> Vec<Shape> {
    let middle = series.len().saturating_sub(1) as f32 / 2.0;
    let mut labels = Labels::default();
    let group = |(number, series): (usize, &Series)| {
        let mut shapes = Vec::new();
        if series.has_band {
            band(frame, series, &mut shapes);
        }
        if !series.has_no_line {
            line(frame, series, &mut shapes);
        }
        // Intervals and signs of several series at one position stand beside each other.
        marks(frame, series, (number as f32 - middle).clamp(-2.0, 2.0), &mut labels, &mut shapes);
        words(frame, series, &mut shapes);
        Shape::Group { series: number, shapes }
    };
    series.iter().enumerate().rev().map(group).collect()
}

/// Where a series over the ones before it ends upwards. A layer without a figure is as good as one of 0.
pub(super) fn stacked(series: &[Series]) -> Vec<Series> {
    let mut sums: Vec<f64> = Vec::new();
    let layer = |series: &Series| {
        sums.resize(series.points.len().max(sums.len()), 0.0);
        let mut layer = series.clone();
        for (point, sum) in layer.points.iter_mut().zip(&mut sums) {
            *sum += if point.y.is_finite() { point.y } else { 0.0 };
            point.y = *sum;
        }
        layer
    };
    series.iter().map(layer).collect()
}

/// Each layer lies between its upper edge and that of the layer before it.
pub(super) fn layers(frame: &Frame, layers: &[Series]) -> Vec<Shape> {
    let mut below: Vec<(f32, f32)> = Vec::new();
    let group = |(number, layer): (usize, &Series)| {
        let is_drawn = |point: &&Point| point.x.is_finite() && point.y.is_finite();
        let upper: Vec<_> = layer.points.iter().filter(is_drawn).map(|point| place(frame, point)).collect();
        let ground = upper.iter().map(|(x, _)| (*x, frame.height)).collect();
        let lower = std::mem::replace(&mut below, upper.clone());
        let lower = if lower.is_empty() { ground } else { lower };
        let points: Vec<_> = upper.iter().chain(lower.iter().rev()).copied().collect();
        let mut shapes = Vec::new();
        if !points.is_empty() {
            shapes.push(Shape::Area { points, paint: Paint::Of(layer.colour), opacity: 1.0 });
            let name = with_ordinary_spaces(&layer.label);
            shapes.extend(name_within(frame, name, &upper, &lower));
            shapes.push(Shape::Line { points: upper, paint: Paint::Page, width: 1.0, is_dashed: false });
        }
        Shape::Group { series: number, shapes }
    };
    layers.iter().enumerate().map(group).collect()
}

/// The name of a layer where the layer is highest and has room for it; on a narrow page, if there is room there, too.
fn name_within(frame: &Frame, name: String, upper: &[(f32, f32)], lower: &[(f32, f32)]) -> Option<Shape> {
    const HEIGHT: f32 = 11.5;
    const CANDIDATES: usize = 48;
    const BESIDE: f32 = 6.0;
    if name.is_empty() {
        return None;
    }
    // The greatest room for words of a width: its middle.
    let best = |length: f32| {
        let middle = |at: usize| {
            let x = upper[at].0;
            let (from, to) = (x - length / 2.0, x + length / 2.0);
            if from < 0.0 || to > frame.width {
                return None;
            }
            let (mut top, mut bottom) = (0.0_f32, frame.height);
            for (up, down) in upper.iter().zip(lower).filter(|(up, _)| up.0 >= from && up.0 <= to) {
                (top, bottom) = (top.max(up.1), bottom.min(down.1));
            }
            (bottom - top >= HEIGHT).then_some((x, f32::midpoint(top, bottom), bottom - top))
        };
        let every = upper.len().div_ceil(CANDIDATES).max(1);
        (0..upper.len()).step_by(every).filter_map(middle).max_by(|a, b| a.2.total_cmp(&b.2))
    };
    let length = name.chars().count() as f32 * CHARACTER + 2.0 * BESIDE;
    let narrow = best(length * frame.width / NARROW);
    let (x, y, _) = narrow.or_else(|| best(length))?;
    Some(Shape::Text {
        x,
        y: y + 4.0,
        size: WORD_SIZE,
        is_bold: false,
        anchor: Anchor::Middle,
        paint: Paint::Text,
        text: name,
        is_optional: narrow.is_none(),
    })
}

/// A place in the plot; what lies outside is on its edge.
fn place(frame: &Frame, point: &Point) -> (f32, f32) {
    (frame.x.at(point.x), frame.y.at(point.y).clamp(0.0, frame.height))
}

fn is_gap(point: &Point) -> bool {
    !(point.x.is_finite() && point.y.is_finite())
}

fn stretches(series: &Series) -> impl Iterator<Item = &[Point]> {
    series.points.split(is_gap).filter(|stretch| !stretch.is_empty())
}

/// The intervals as one area.
fn band(frame: &Frame, series: &Series, shapes: &mut Vec<Shape>) {
    for stretch in series.points.split(|point| is_gap(point) || point.interval.is_none()) {
        let edge = |point: &Point, of: fn((f64, f64)) -> f64| {
            let y = frame.y.at(of(point.interval.unwrap_or((point.y, point.y))));
            (frame.x.at(point.x), y.clamp(0.0, frame.height))
        };
        let upper = stretch.iter().map(|point| edge(point, |interval| interval.1));
        let lower = stretch.iter().rev().map(|point| edge(point, |interval| interval.0));
        let points: Vec<_> = upper.chain(lower).collect();
        if stretch.len() > 1 {
            shapes.push(Shape::Area { points, paint: Paint::Of(series.colour), opacity: 0.16 });
        }
    }
}

fn line(frame: &Frame, series: &Series, shapes: &mut Vec<Shape>) {
    let paint = Paint::Of(series.colour);
    for stretch in stretches(series) {
        let points: Vec<_> = stretch.iter().map(|point| place(frame, point)).collect();
        if let ([only], false) = (&points[..], series.has_dots) {
            shapes.push(dot(only.0, only.1, 2.4, paint));
            continue;
        }
        if series.is_filled {
            let ends = points.last().into_iter().chain(points.first());
            let area = points.iter().copied().chain(ends.map(|(x, _)| (*x, frame.height))).collect();
            shapes.push(Shape::Area { points: area, paint, opacity: 0.13 });
        }
        if points.len() < 2 {
            continue;
        }
        let width = if series.is_dashed { 1.3 } else { 1.6 };
        shapes.push(Shape::Line { points, paint, width, is_dashed: series.is_dashed });
    }
}

/// Dots, intervals and signs; `nth` is the number of the series, counted from the middle one.
fn marks(frame: &Frame, series: &Series, nth: f32, labels: &mut Labels, shapes: &mut Vec<Shape>) {
    const BETWEEN_INTERVALS: f32 = 3.0;
    const BETWEEN_SIGNS: f32 = 11.0;
    // Points with words have places of their own; others may stand above each other.
    let is_shared = series.points.iter().all(|point| point.label.is_empty());
    let middle = if is_shared { nth * BETWEEN_INTERVALS } else { 0.0 };
    let paint = Paint::Of(series.colour);
    for point in series.points.iter().filter(|point| !is_gap(point)) {
        let (x, y) = place(frame, point);
        let end = |value: f64| frame.y.at(value) - y;
        let interval = point.interval.filter(|_| !series.has_band);
        let ends = interval.map(|(low, high)| (end(low), end(high)));
        if let Some((low, high)) = ends {
            let paths = whiskers(middle, (low, high), (-y, frame.height - y));
            shapes.push(Shape::Mark { x, y, paths, paint, is_filled: false });
        }
        if series.has_dots {
            shapes.push(self::point(series.form, x, y, 3.4, paint));
        }
        if !point.label.is_empty() {
            shapes.extend(labels.label(frame, (x, y), &point.label));
        }
        let (low, high) = ends.unwrap_or((0.0, 0.0));
        let (low, high) = (low.min(frame.height - y), high.max(-y));
        // Above the interval, or below it where there is no room above.
        let at = if y + high > 18.0 { y + high - 11.0 } else { y + low + 12.0 };
        shapes.extend(sign_shapes(&point.signs, (x, nth * BETWEEN_SIGNS), at, paint, 0.5));
    }
}

/// Where words of points stand, in a wide plot and in a narrow one.
#[derive(Default)]
struct Labels {
    wide: Vec<Label>,
    narrow: Vec<Label>,
}

/// Words of a point: left and right end, base line.
struct Label {
    from: f32,
    to: f32,
    y: f32,
    text: String,
}

impl Labels {
    /// The words of a point: left of it where there is no room right of it. Where others stand already, there are none;
    /// the pointer and the keys still read them.
    fn label(&mut self, frame: &Frame, (x, y): (f32, f32), text: &str) -> Option<Shape> {
        const BESIDE: f32 = 8.0;
        const BETWEEN: f32 = 4.0;
        // Points of one load that lie beside each other need one label.
        const BETWEEN_SAME: f32 = 30.0;
        let text = with_ordinary_spaces(text);
        let length = text.chars().count() as f32 * CHARACTER;
        let is_left = x > frame.width - length - BESIDE - 4.0;
        let (anchor, x) = if is_left { (Anchor::End, x - BESIDE) } else { (Anchor::Start, x + BESIDE) };
        let y = if y < 12.0 { y + 14.0 } else { y - 6.0 };
        let has_room = |taken: &mut Vec<Label>, x: f32| {
            let (from, to) = if is_left { (x - length, x) } else { (x, x + length) };
            let is_taken = |other: &Label| {
                let between = if other.text == text { BETWEEN_SAME } else { BETWEEN };
                from < other.to + between
                    && other.from < to + between
                    && (y - other.y).abs() < WORD_SIZE + between
            };
            let has_room = !taken.iter().any(is_taken);
            if has_room {
                taken.push(Label { from, to, y, text: text.clone() });
            }
            has_room
        };
        let narrow_x = x * NARROW / frame.width;
        if !has_room(&mut self.wide, x) {
            return None;
        }
        let is_optional = !has_room(&mut self.narrow, narrow_x);
        let paint = Paint::Of(super::Colour::Quiet);
        Some(Shape::Text { x, y, size: WORD_SIZE, is_bold: false, anchor, paint, text, is_optional })
    }
}

/// An interval as a line with a bar at each end, or with an arrow where it goes on beyond the plot.
fn whiskers(x: f32, (low, high): (f32, f32), (top, bottom): (f32, f32)) -> Vec<Vec<(f32, f32)>> {
    const ACROSS: f32 = 3.5;
    const HEAD: f32 = 5.0;
    let (from, to) = (high.max(top), low.min(bottom));
    let end = |y: f32, is_beyond: bool, back: f32| match is_beyond {
        true => vec![(x - ACROSS, y + back), (x, y), (x + ACROSS, y + back)],
        false => vec![(x - ACROSS, y), (x + ACROSS, y)],
    };
    // Half a pixel beyond is still at the edge.
    let (above, below) = (high < top - 0.5, low > bottom + 0.5);
    vec![vec![(x, from), (x, to)], end(from, above, HEAD), end(to, below, -HEAD)]
}

/// Words at points of a line: left above the point, where a line that rises has room.
fn words(frame: &Frame, series: &Series, shapes: &mut Vec<Shape>) {
    const BESIDE: f32 = 7.0;
    const HEIGHT: f32 = 15.0;
    const BETWEEN: f32 = 5.0;
    // The plot of a small chart on a phone, in pixels.
    const NARROWEST: f32 = 240.0;
    // Where the last words ended, and their base line; also as on a phone.
    let mut last: Option<(f32, f32)> = None;
    let mut last_narrow: Option<(f32, f32)> = None;
    for (at, text) in &series.words {
        let Some(point) = series.points.get(*at).filter(|point| !is_gap(point)) else { continue };
        let (x, y) = place(frame, point);
        shapes.push(dot(x, y, 2.6, Paint::Of(series.colour)));
        let text = with_ordinary_spaces(text);
        let length = text.chars().count() as f32 * CHARACTER;
        let is_left = x > length + BESIDE;
        let (anchor, right) = if is_left { (Anchor::End, x - BESIDE) } else { (Anchor::Start, x + BESIDE) };
        let base = if is_left { (y - 4.0).max(10.0) } else { (y + 14.0).min(frame.height - 4.0) };
        let touches = |last: Option<(f32, f32)>, end: f32| {
            let start = if is_left { end - length } else { end };
            start < 0.0
                || last.is_some_and(|(to, below)| start < to + BETWEEN && (base - below).abs() < HEIGHT)
        };
        let ends_at = |end: f32| (if is_left { end } else { end + length }, base);
        if touches(last, right) {
            continue;
        }
        last = Some(ends_at(right));
        let narrow = x / frame.width * NARROWEST + (right - x);
        let is_optional = touches(last_narrow, narrow);
        if !is_optional {
            last_narrow = Some(ends_at(narrow));
        }
        shapes.push(Shape::Text {
            x: right,
            y: base,
            size: WORD_SIZE,
            is_bold: false,
            anchor,
            paint: Paint::Text,
            text,
            is_optional,
        });
    }
}

/// Signs beside each other, so many pixels right of a place in the plot; `align` of their width lies before it.
pub(super) fn sign_shapes(
    signs: &[Sign],
    (x, right): (f32, f32),
    y: f32,
    paint: Paint,
    align: f32,
) -> Vec<Shape> {
    const STEP: f32 = 11.5;
    let first = right - (signs.len().saturating_sub(1) as f32) * STEP * align;
    let shifted = |at: usize, sign: &Sign| {
        let right = first + at as f32 * STEP;
        sign.outline().into_iter().map(|(x, y)| (x + right, y)).collect()
    };
    let shape = |(at, sign): (usize, &Sign)| {
        let paths = vec![shifted(at, sign)];
        Shape::Mark { x, y, paths, paint, is_filled: true }
    };
    signs.iter().enumerate().map(shape).collect()
}
