//! Charts of the lag of standbys, as time and as WAL: the replay lag of all standbys, and of a single one also the lags
//! of writing and flushing.

use results::{LagSample, LagValue, StandbyLag};

use super::{POINTS_MAX, neighbours};
use crate::chart::{Axis, Band, Chart, Colour, Plot, Point, Series};
use crate::metrics::Quantity;
use crate::prose::{cut, escaped_line};

/// Lines of lag in one chart.
const LAGS_MAX: usize = 8;
const NAME_LEN_MAX: usize = 24;

/// A line of the lag of a standby: its name, its time, and its WAL.
type LagLine = (&'static str, LagValue, LagValue);
const LAG_LINES: [LagLine; 3] = [
    ("replay", |sample| sample.replay_us, |sample| sample.replay_bytes),
    ("flush", |sample| sample.flush_us, |sample| sample.flush_bytes),
    ("write", |sample| sample.write_us, |sample| sample.write_bytes),
];

/// Of one run; `titled` names the run in a title.
pub(super) fn lag_charts(
    standbys: &[StandbyLag],
    titled: impl Fn(&str) -> String,
    time: &Axis,
    bands: &[Band],
) -> Vec<Chart> {
    let lines = if standbys.len() == 1 { &LAG_LINES[..] } else { &LAG_LINES[..1] };
    let of = |pick: fn(&LagLine) -> LagValue| {
        let mut series = Vec::new();
        for standby in standbys.iter().take(LAGS_MAX) {
            for line in lines {
                let name = cut(&escaped_line(standby.name.as_str()), NAME_LEN_MAX);
                let label = if lines.len() == 1 { name } else { format!("{name}, {}", line.0) };
                let points = lag_points(&standby.samples, pick(line));
                let colour = Colour::Run(series.len());
                if points.iter().any(|point| point.y.is_finite()) {
                    series.push(Series::new(label, colour, points));
                }
            }
        }
        series
    };
    let chart = |title: &str, subtitle: &str, quantity: Quantity, series: Vec<Series>| {
        let (x, y, bands) = (time.clone(), Axis::new("", quantity), bands.to_vec());
        let plot = Plot::Lines { x, y, series, is_stacked: false, bands };
        Chart { is_low: true, ..Chart::new(titled(title), subtitle, plot) }
    };
    let (until, lacks) = if lines.len() == 1 {
        ("time until recent WAL was replayed", "bytes not replayed yet")
    } else {
        (
            "time until recent WAL was written, flushed and replayed",
            "bytes not written, flushed and replayed yet",
        )
    };
    let (times, bytes) = (of(|line| line.1), of(|line| line.2));
    let of_time = (!times.is_empty())
        .then(|| chart("Replication lag of the standbys", until, Quantity::Microseconds, times));
    let of_wal =
        (!bytes.is_empty()).then(|| chart("WAL that the standbys lack", lacks, Quantity::Bytes, bytes));
    of_time.into_iter().chain(of_wal).collect()
}

/// One point per sample of the measured time; of many samples, the largest of neighbours.
fn lag_points(samples: &[LagSample], of: LagValue) -> Vec<Point> {
    let measured: Vec<&LagSample> = samples.iter().filter(|sample| sample.time_s >= 0.0).collect();
    let largest = |chunk: &[&LagSample]| {
        let value = chunk.iter().filter_map(|sample| of(sample)).reduce(f64::max);
        Some(Point::new(chunk.first()?.time_s, value.unwrap_or(f64::NAN)))
    };
    measured.chunks(neighbours(measured.len(), POINTS_MAX)).filter_map(largest).collect()
}
