//! A picture before it has a format: rectangles, lines and words on a sheet. Positions are pixels from the upper left.
//! Made by the panels, written by `svg` and `png`.

/// A colour as 0xRRGGBB.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Colour(pub(super) u32);

/// Where a text has its position.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// What is drawn, in order.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    Rectangle {
        x: f32,
        y: f32,
        width: f32,
        height: f32,
        colour: Colour,
        opacity: f32,
    },
    /// From point to point.
    Line {
        points: Vec<(f32, f32)>,
        colour: Colour,
        width: f32,
    },
    /// Closed and filled.
    Polygon {
        points: Vec<(f32, f32)>,
        colour: Colour,
    },
    /// `y` is its base line.
    Text {
        x: f32,
        y: f32,
        size: f32,
        bold: bool,
        anchor: Anchor,
        colour: Colour,
        text: String,
    },
}

/// The whole.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sheet {
    pub(super) width: f32,
    pub(super) height: f32,
    /// For those who cannot see it.
    pub(super) description: String,
    pub(super) shapes: Vec<Shape>,
}

pub(super) const PAGE: Colour = Colour(0x00ff_ffff);
pub(super) const TEXT: Colour = Colour(0x001b_1d21);
pub(super) const QUIET: Colour = Colour(0x0062_666e);
pub(super) const GRID: Colour = Colour(0x00e4_e4df);

/// Of runs side by side; the page's colours.
pub(super) const RUNS: [Colour; 8] = [
    Colour(0x001f_5fa6),
    Colour(0x00c2_571a),
    Colour(0x002f_8f5b),
    Colour(0x008a_4fa3),
    Colour(0x00a8_871b),
    Colour(0x003b_9bb5),
    Colour(0x00c0_487f),
    Colour(0x006b_6f76),
];

/// Of one run's percentiles: median, p95, p99, p99.9, max.
pub(super) const QUANTILES: [Colour; 5] =
    [Colour(0x002f_8f83), Colour(0x002b_6cb8), Colour(0x006f_4ba8), Colour(0x00b8_3a78), Colour(0x00b9_bbbf)];

/// From few to many.
pub(super) const HEAT: [Colour; 10] = [
    Colour(0x00dc_e8f2),
    Colour(0x00c6_dcec),
    Colour(0x00a9_cbe3),
    Colour(0x0086_b5d8),
    Colour(0x0061_9bcb),
    Colour(0x0042_7fb9),
    Colour(0x002d_64a0),
    Colour(0x0021_4b82),
    Colour(0x001a_3463),
    Colour(0x0013_2247),
];

pub(super) const CHECKPOINT: Colour = Colour(0x00d0_8a00);
pub(super) const AUTOVACUUM: Colour = Colour(0x003d_8f4d);
pub(super) const LOCK_QUEUE: Colour = Colour(0x006d_4326);
pub(super) const STALL: Colour = Colour(0x00b3_261e);
