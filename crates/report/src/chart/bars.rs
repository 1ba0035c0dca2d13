//! Bars from the left, one below the other: of one part or several, with an interval. On a logarithmic axis, which has no
//! 0 to begin at, they are dots.

use super::colour::Paint;
use super::scale::Scale;
use super::shapes::{Shape, dot};
use super::{Axis, Bar, BarGroup};

/// The height of a bar and the space around it.
pub(super) const ROW_HEIGHT: f32 = 16.0;

/// A bar without its words.
pub(super) struct Row {
    pub(super) height: f32,
    pub(super) shapes: Vec<Shape>,
}

/// The scale of all bars of a chart.
pub(super) fn scale(axis: &Axis, groups: &[BarGroup], width: f32) -> Scale {
    let bars = || groups.iter().flat_map(|group| &group.bars);
    let values = bars().flat_map(|bar| {
        let (low, high) = bar.interval.unwrap_or((bar.sum(), bar.sum()));
        [bar.sum(), low, high]
    });
    let shown = values.filter(|value| value.is_finite() && (*value > 0.0 || !axis.is_logarithmic));
    let (low, high) =
        shown.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    let ends = axis.ends.unwrap_or(match axis.is_logarithmic {
        true => (low / 1.3, high * 1.05),
        false => (0.0, high * 1.01),
    });
    Scale::new(axis.is_logarithmic, ends, (0.0, width))
}

/// One bar; a plot this wide.
pub(super) fn row(bar: &Bar, scale: &Scale, width: f32) -> Row {
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
    if is_logarithmic {
        shapes.push(line(0.0, width, Paint::Grid, 1.0));
        let colour = bar.parts.first().map_or(super::Colour::Quiet, |(_, colour)| *colour);
        shapes.push(dot(at(bar.sum()), middle, 4.5, Paint::Of(colour)));
    } else {
        let opacity = if bar.parts.len() > 1 { 0.85 } else { 0.72 };
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
    }
    if let Some((low, high)) = bar.interval {
        let (low, high) = (at(low), at(high));
        shapes.push(line(low, high, Paint::Text, 1.2));
        for x in [low, high] {
            let paths = vec![vec![(0.0, -ACROSS), (0.0, ACROSS)]];
            shapes.push(Shape::Mark { x, y: middle, paths, paint: Paint::Text, is_filled: false });
        }
    }
    Row { height: ROW_HEIGHT, shapes }
}

impl Bar {
    /// Of all parts.
    pub(super) fn sum(&self) -> f64 {
        self.parts.iter().map(|(value, _)| value).sum()
    }
}
