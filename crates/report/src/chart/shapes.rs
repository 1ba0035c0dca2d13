//! A picture before it has a format: areas, lines and words. Positions are pixels from the upper left corner of the plot;
//! axes have their words outside of it. The page stretches the plot to the width there is, and leaves words and marks as
//! they are, so its shapes say which is which.

use super::Form;
use super::colour::Paint;

/// Where a text has its position.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    /// Of SVG's `text-anchor`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}

/// What is drawn, in order.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    Rectangle {
        x: f32,
        y: f32,
        width: f32,
        height: f32,
        paint: Paint,
        opacity: f32,
    },
    /// Rectangles of one height: left end, right end, and the middle between top and bottom.
    Cells {
        cells: Vec<(f32, f32, f32)>,
        height: f32,
        paint: Paint,
    },
    /// From point to point.
    Line {
        points: Vec<(f32, f32)>,
        paint: Paint,
        width: f32,
        is_dashed: bool,
    },
    /// Closed and filled.
    Area {
        points: Vec<(f32, f32)>,
        paint: Paint,
        opacity: f32,
    },
    /// Lines or a filled outline around a point, which keep their form when the plot is stretched.
    Mark {
        x: f32,
        y: f32,
        paths: Vec<Vec<(f32, f32)>>,
        paint: Paint,
        is_filled: bool,
    },
    /// The shapes of a series, which the page's legend switches.
    Group {
        series: usize,
        shapes: Vec<Shape>,
    },
    /// `y` is its base line.
    Text {
        x: f32,
        y: f32,
        size: f32,
        is_bold: bool,
        anchor: Anchor,
        paint: Paint,
        text: String,
        /// Whether there is no room for it where the plot is narrow.
        is_optional: bool,
    },
}

/// Cells are drawn that much higher than they are, so that no gap shows where two meet between pixels.
pub(super) const CELL_OVERLAP: f32 = 0.4;

/// The whole of a picture.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sheet {
    pub(super) width: f32,
    pub(super) height: f32,
    /// For readers who cannot see it.
    pub(super) description: String,
    pub(super) shapes: Vec<Shape>,
}

impl Shape {
    /// The same elsewhere.
    #[must_use]
    pub(super) fn moved(mut self, right: f32, down: f32) -> Shape {
        match &mut self {
            Shape::Rectangle { x, y, .. } | Shape::Mark { x, y, .. } | Shape::Text { x, y, .. } => {
                *x += right;
                *y += down;
            }
            Shape::Cells { cells, .. } => cells.iter_mut().for_each(|(from, to, middle)| {
                *from += right;
                *to += right;
                *middle += down;
            }),
            Shape::Group { shapes, .. } => {
                *shapes = std::mem::take(shapes).into_iter().map(|shape| shape.moved(right, down)).collect();
            }
            Shape::Line { points, .. } | Shape::Area { points, .. } => {
                points.iter_mut().for_each(|(x, y)| {
                    *x += right;
                    *y += down;
                });
            }
        }
        self
    }
}

/// A filled circle.
pub(super) fn dot(x: f32, y: f32, radius: f32, paint: Paint) -> Shape {
    Shape::Mark { x, y, paths: vec![circle(radius)], paint, is_filled: true }
}

/// A point of this form.
pub(super) fn point(form: Form, x: f32, y: f32, radius: f32, paint: Paint) -> Shape {
    // As large as the circle.
    let (side, corner) = (radius * 0.9, radius * 1.25);
    let square = vec![(-side, -side), (side, -side), (side, side), (-side, side), (-side, -side)];
    let rhombus = vec![(0.0, -corner), (corner, 0.0), (0.0, corner), (-corner, 0.0), (0.0, -corner)];
    let triangle = vec![(0.0, -corner), (corner, side), (-corner, side)];
    let (paths, is_filled) = match form {
        Form::Dot => return dot(x, y, radius, paint),
        Form::Square => (vec![square], true),
        Form::Triangle => (vec![triangle], true),
        Form::Ring => (vec![circle(radius)], false),
        Form::Diamond => (vec![rhombus], false),
    };
    Shape::Mark { x, y, paths, paint, is_filled }
}

/// A closed circle, as good as one of 16 corners is.
pub(super) fn circle(radius: f32) -> Vec<(f32, f32)> {
    let corner = |number: u8| {
        let angle = f32::from(number) / 16.0 * std::f32::consts::TAU;
        (radius * angle.cos(), radius * angle.sin())
    };
    (0..=16).map(corner).collect()
}
