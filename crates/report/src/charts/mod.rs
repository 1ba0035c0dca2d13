//! What charts are made of: series over time, quantiles and counts, computed from a record and made small enough to
//! be drawn. Not how they look: the page's script, `figure` and the tables draw what is here.

mod heat;
mod percentile_plot;
mod server;
mod timeline;

pub(crate) use heat::{Heat, LatencyRows};
pub(crate) use percentile_plot::percentile_points;
pub(crate) use server::{ServerOverTime, WaitsOverTime};
pub(crate) use timeline::{Point, Quantiles, Timeline};

/// Points of a line: more than that a screen does not show.
pub(crate) const POINTS_MAX: usize = 600;

/// The time between points, or rather how many neighbours become one, so that no more than `most` are left.
pub(crate) fn neighbours(length: usize, most: usize) -> usize {
    length.div_ceil(most.max(1)).max(1)
}
