//! The charts of runs, computed from their records and made small enough to be drawn: series over time, the latency
//! distribution over time, wait events, and percentiles. Of several runs each has a colour of its own, and charts that
//! show a single run share one scale.

mod events;
mod heat;
mod lag;
mod over_time;
mod percentile_plot;
mod server;
mod settled;
mod timeline;

pub(crate) use heat::LatencyRows;
pub(crate) use over_time::RunCharts;
pub(crate) use percentile_plot::percentile_points;
pub(crate) use server::{ServerOverTime, WaitsOverTime};
pub(crate) use timeline::{Quantiles, Timeline, TimelinePoint};

/// Points of a line: a screen shows no more.
pub(crate) const POINTS_MAX: usize = 300;

/// How many neighbours become one, so that no more than `most` are left.
pub(crate) fn neighbours(length: usize, most: usize) -> usize {
    length.div_ceil(most.max(1)).max(1)
}
