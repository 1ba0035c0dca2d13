//! Bars from the left, one below the other: of one part or several, with an interval. On a logarithmic axis, which has no
//! 0 to begin at, they are dots whose form tells the verdict; a bound is an open dot with an arrow, and so ends an interval
//! that the axis cuts. Thresholds are lines across all bars, with an axis.

use super::colour::Paint;
use super::scale::Scale;
use super::shapes::{Anchor, Shape, circle, dot, point};
use super::{Axis, Bar, BarGroup, Bound, Colour, Form};
use crate::figures::with_ordinary_spaces;

/// The height of a bar and the space around it.
pub(super) const ROW_HEIGHT: f32 = 16.0;

/// At least half of the space between two bars.
const BETWEEN_ROWS: f32 = 2.5;

/// A bar without its words.
pub(super) struct Row {
    pub(super) height: f32,
    pub(super) shapes: Vec<Shape>,
}

/// The scale of all bars of a chart.
pub(super) fn scale(axis: &Axis, groups: &[BarGroup], width: f32) -> Scale {
    // Intervals that are much wider than the values end in an arrow.
    const BEYOND: f64 = 2.5;
    const DECADES_BEYOND: f64 = 10.0;
    let bars = || groups.iter().flat_map(|group| &group.bars);
    let extent = |values: &mut dyn Iterator<Item = f64>| {
        let shown = values.filter(|value| value.is_finite() && (*value > 0.0 || !axis.is_logarithmic));
        shown.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)))
    };
    let thresholds = axis.thresholds.iter().map(|threshold| threshold.value);
    let (low, high) = extent(&mut bars().map(Bar::sum).chain(thresholds));
    let intervals = bars().filter_map(|bar| bar.interval).flat_map(|(low, high)| [low, high]);
    let (least, most) = extent(&mut { intervals });
    let ceiling = high * if axis.is_logarithmic { DECADES_BEYOND } else { BEYOND };
    let (low, high) = (low.min(least.max(low / DECADES_BEYOND)), high.max(most.min(ceiling)));
    let ends = axis.ends.unwrap_or(match axis.is_logarithmic {
        true => (low / 1.3, high * 1.05),
        false => (0.0, high * 1.01),
    });
    Scale::new(axis.is_logarithmic, ends, (0.0, width))
}

/// The height of an axis below the bars.
pub(super) const AXIS_HEIGHT: f32 = 18.0;
/// About what a character of a name takes, and the width of plots on a page, which are wider on most screens.
const CHARACTER: f32 = 6.6;
const NARROWEST: f32 = 430.0;
const NAME_SIZE: f32 = 11.0;

/// The axis below bars with thresholds or a logarithmic axis: round values.
pub(super) fn axis_row(axis: &Axis, scale: &Scale, width: f32) -> Option<Row> {
    const BETWEEN: f32 = 14.0;
    if axis.thresholds.is_empty() && !axis.is_logarithmic {
        return None;
    }
    // Thresholds have their words, whatever else has.
    let thresholds = axis.thresholds.iter().map(|threshold| threshold.value);
    let mut taken: Vec<(f32, f32)> = Vec::new();
    let mut shapes = Vec::new();
    let named = |value: f64| (value, with_ordinary_spaces(&axis.quantity.tick(value)));
    let ticks: Vec<(f64, String)> = match axis.marks.is_empty() {
        true => scale.ticks_of(axis.quantity, 8).into_iter().map(named).collect(),
        false => axis.marks.clone(),
    };
    for (value, text) in thresholds.map(named).chain(ticks) {
        let x = scale.at(value);
        let half = text.chars().count() as f32 * CHARACTER / 2.0 + BETWEEN / 2.0;
        // As on a narrow page: the words keep their size there.
        let narrow = x / width * NARROWEST;
        let (from, to) = (narrow - half, narrow + half);
        if taken.iter().any(|(start, end)| from < *end && to > *start) {
            continue;
        }
        taken.push((from, to));
        let (y, size, paint) = (13.0, NAME_SIZE, Paint::Of(Colour::Quiet));
        let anchor = Anchor::Middle;
        shapes.push(Shape::Text { x, y, size, is_bold: false, anchor, paint, text, is_optional: false });
    }
    Some(Row { height: AXIS_HEIGHT, shapes })
}

/// One bar; a plot this wide.
pub(super) fn row(bar: &Bar, axis: &Axis, scale: &Scale, width: f32) -> Row {
    const ACROSS: f32 = 4.0;
    let middle = ROW_HEIGHT / 2.0;
    let at = |value: f64| if value.is_finite() { scale.at(value).clamp(0.0, width) } else { 0.0 };
    let line = |from: f32, to: f32, paint: Paint, width: f32| Shape::Line {
        points: vec![(from, middle), (to, middle)],
        paint,
        width,
        is_dashed: false,
    };
    let mut shapes = Vec::new();
    let (.., is_logarithmic) = scale.ends();
    if let Some((low, high)) = axis.band {
        let (x, paint) = (at(low), Paint::Of(Colour::Quiet));
        let (y, height) = (-BETWEEN_ROWS, ROW_HEIGHT + 2.0 * BETWEEN_ROWS);
        shapes.push(Shape::Rectangle { x, y, width: at(high) - x, height, paint, opacity: 0.1 });
    }
    if is_logarithmic {
        shapes.push(line(0.0, width, Paint::Grid, 1.0));
    } else {
        // Names stand in the parts of a bar, whose colours have the contrast for that.
        let opacity = if bar.parts.len() > 1 { 1.0 } else { 0.72 };
        let mut sum = 0.0;
        for (value, colour) in bar.parts.iter().filter(|(value, _)| value.is_finite()) {
            let x = at(sum);
            sum += value;
            let bar_width = at(sum) - x;
            let (y, height) = (1.0, ROW_HEIGHT - 2.0);
            shapes.push(Shape::Rectangle {
                x,
                y,
                width: bar_width,
                height,
                paint: Paint::Of(*colour),
                opacity,
            });
        }
        shapes.extend(names(bar, width, at));
    }
    for threshold in &axis.thresholds {
        // Over the space between two bars too.
        let paths = vec![vec![(0.0, -BETWEEN_ROWS), (0.0, ROW_HEIGHT + BETWEEN_ROWS)]];
        let (x, paint) = (at(threshold.value), Paint::Of(Colour::Quiet));
        shapes.push(Shape::Mark { x, y: 0.0, paths, paint, is_filled: false });
    }
    if let Some((low, high)) = bar.interval {
        let (first, last, _) = scale.ends();
        let is_cut = [low < first, high > last];
        let (low, high) = (at(low), at(high));
        shapes.push(line(low, high, Paint::Text, 1.2));
        for ((x, is_cut), back) in [low, high].into_iter().zip(is_cut).zip([1.0, -1.0]) {
            // An arrow where the axis ends before the interval does.
            let paths = match is_cut {
                true => vec![vec![(back * 6.0, -ACROSS), (0.0, 0.0), (back * 6.0, ACROSS)]],
                false => vec![vec![(0.0, -ACROSS), (0.0, ACROSS)]],
            };
            shapes.push(Shape::Mark { x, y: middle, paths, paint: Paint::Text, is_filled: false });
        }
    }
    if is_logarithmic && !bar.parts.is_empty() {
        // The line of the interval does not go through a dot that is not filled.
        if bar.bound == Bound::Exact && matches!(bar.form, Form::Ring | Form::Diamond) {
            shapes.push(dot(at(bar.sum()), middle, 4.5, Paint::Page));
        }
        shapes.push(mark(bar, at(bar.sum()), middle, width));
    }
    Row { height: ROW_HEIGHT, shapes }
}

/// A dot, or an open dot with an arrow to where the value is.
fn mark(bar: &Bar, x: f32, y: f32, width: f32) -> Shape {
    const RADIUS: f32 = 4.5;
    // Room for an arrow at the end of the plot, on a narrow page too.
    const BESIDE: f32 = 0.05;
    let paint = Paint::Of(bar.parts.first().map_or(Colour::Quiet, |(_, colour)| *colour));
    let x = match bar.bound {
        Bound::Exact => x,
        Bound::AtLeast => x.min(width * (1.0 - BESIDE)),
        Bound::AtMost => x.max(width * BESIDE),
    };
    let to = match bar.bound {
        Bound::Exact => return point(bar.form, x, y, RADIUS, paint),
        Bound::AtLeast => 1.0,
        Bound::AtMost => -1.0,
    };
    let shaft = vec![(to * RADIUS, 0.0), (to * 16.0, 0.0)];
    let head = vec![(to * 12.0, -3.0), (to * 16.0, 0.0), (to * 12.0, 3.0)];
    Shape::Mark { x, y, paths: vec![circle(RADIUS), shaft, head], paint, is_filled: false }
}

/// Names in the parts that have room for them also where the plot is narrow.
fn names(bar: &Bar, width: f32, at: impl Fn(f64) -> f32) -> Vec<Shape> {
    let mut sum = 0.0;
    let mut shapes = Vec::new();
    for ((value, colour), name) in
        bar.parts.iter().zip(&bar.names).filter(|((value, _), _)| value.is_finite())
    {
        let from = at(sum);
        sum += value;
        let to = at(sum);
        if (to - from) / width * NARROWEST > name.chars().count() as f32 * CHARACTER + 4.0 {
            let (x, y, size) = (f32::midpoint(from, to), ROW_HEIGHT / 2.0 + 4.0, NAME_SIZE);
            // The shades of wait events, of which parts without a colour of their own have some, are pale.
            let paint = if matches!(colour, Colour::Wait(..)) { Paint::Text } else { Paint::Page };
            let (anchor, text) = (Anchor::Middle, name.clone());
            shapes.push(Shape::Text { x, y, size, is_bold: false, anchor, paint, text, is_optional: true });
        }
    }
    shapes
}

impl Bar {
    /// Of all parts.
    pub(super) fn sum(&self) -> f64 {
        self.parts.iter().map(|(value, _)| value).sum()
    }
}
