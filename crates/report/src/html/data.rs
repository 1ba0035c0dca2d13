//! What the page's script draws, as compact JSON: numbers with as many digits as a screen can show. All of it is
//! computed here; `assets/*.js` only draws.

use results::{Event, Record, Stall};
use serde::{Serialize, Serializer};

use crate::Run;
use crate::charts::{
    Heat, LatencyRows, POINTS_MAX, ServerOverTime, Timeline, WaitsOverTime, percentile_points,
};
use crate::figures::{latency, with_ordinary_spaces};
use crate::prose::{cut, escaped_line};
use crate::run::letter;
use crate::sections;

/// Points of all runs together that are lines in one chart.
const POINTS_IN_ALL: usize = 12_000;
/// Fewer than that show no course.
const POINTS_MIN: usize = 60;
/// Heat maps and waits are drawn for the first few runs.
const PICTURES_MAX: usize = 12;
/// Characters of an event's detail.
const DETAIL_LEN_MAX: usize = 120;

/// The whole.
#[derive(Debug, Serialize)]
pub(super) struct PageData {
    runs: Vec<RunData>,
}

#[derive(Debug, Serialize)]
struct RunData {
    letter: String,
    name: String,
    /// When it ended.
    end: Number,
    time: Lines,
    /// Of response times, and of service times where they are something else.
    response: Curve,
    service: Option<Curve>,
    heat: Option<HeatData>,
    waits: Option<WaitsData>,
    server: Option<ServerData>,
    events: Vec<EventData>,
    /// How many histograms could not be read.
    #[serde(skip)]
    damaged: usize,
}

#[derive(Debug, Serialize)]
struct Lines {
    t: Vec<Number>,
    tps: Vec<Number>,
    /// Absent if nothing was lost.
    lost: Option<Vec<Number>>,
    p50: Vec<Number>,
    p95: Vec<Number>,
    p99: Vec<Number>,
    p999: Vec<Number>,
    max: Vec<Number>,
}

/// A percentile plot.
#[derive(Debug, Serialize)]
struct Curve {
    tail: Vec<Number>,
    us: Vec<Number>,
}

#[derive(Debug, Serialize)]
struct HeatData {
    start: Vec<Number>,
    end: Vec<Number>,
    edges: Vec<Number>,
    /// Of each column: row, count, row, count …, without the empty ones.
    cells: Vec<Vec<u64>>,
    max: u64,
}

#[derive(Debug, Serialize)]
struct WaitsData {
    t: Vec<Number>,
    series: Vec<WaitData>,
}

#[derive(Debug, Serialize)]
struct WaitData {
    kind: String,
    event: String,
    backends: Vec<Number>,
}

#[derive(Debug, Serialize)]
struct ServerData {
    t: Vec<Number>,
    /// Bytes per second; `null` where it was not seen.
    wal: Option<Vec<Number>>,
    /// Shares from 0 to 1.
    busy: Option<Vec<Number>>,
    iowait: Option<Vec<Number>>,
    steal: Option<Vec<Number>>,
}

#[derive(Debug, Serialize)]
struct EventData {
    kind: &'static str,
    start: Number,
    end: Option<Number>,
    detail: String,
}

/// Five digits; not a number is `null`.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Number(pub(super) f64);

impl Serialize for Number {
    // Whole numbers below 10¹⁵.
    #[allow(clippy::cast_possible_truncation)]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const DIGITS_AFTER_FIRST: usize = 4;
        if !self.0.is_finite() {
            return serializer.serialize_none();
        }
        let rounded: f64 = format!("{:.DIGITS_AFTER_FIRST$e}", self.0).parse().unwrap_or(self.0);
        if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
            serializer.serialize_i64(rounded as i64)
        } else {
            serializer.serialize_f64(rounded)
        }
    }
}

pub(super) fn numbers(values: impl IntoIterator<Item = f64>) -> Vec<Number> {
    values.into_iter().map(Number).collect()
}

impl PageData {
    pub(super) fn of(runs: &[Run<'_>]) -> PageData {
        let rows = LatencyRows::for_all(runs.iter().map(|run| run.record));
        let points_max = (POINTS_IN_ALL / runs.len().max(1)).clamp(POINTS_MIN, POINTS_MAX);
        let of_run = |(at, run): (usize, &Run<'_>)| {
            let with_pictures = at < PICTURES_MAX;
            RunData::of(at, run, points_max, rows, with_pictures)
        };
        PageData { runs: runs.iter().enumerate().map(of_run).collect() }
    }

    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("numbers, strings and lists")
    }

    pub(super) fn has_time(&self) -> bool {
        self.runs.iter().any(|run| !run.time.t.is_empty())
    }

    pub(super) fn has_latency(&self) -> bool {
        self.runs.iter().any(|run| !run.response.tail.is_empty())
    }

    pub(super) fn has_service(&self) -> bool {
        self.runs.iter().any(|run| run.service.is_some())
    }

    pub(super) fn has_heat(&self, run: usize) -> bool {
        self.runs.get(run).is_some_and(|run| run.heat.is_some())
    }

    pub(super) fn has_waits(&self, run: usize) -> bool {
        self.runs.get(run).is_some_and(|run| run.waits.is_some())
    }

    pub(super) fn has_wal(&self) -> bool {
        self.runs.iter().filter_map(|run| run.server.as_ref()).any(|server| server.wal.is_some())
    }

    pub(super) fn has_host(&self, run: usize) -> bool {
        self.runs.get(run).and_then(|run| run.server.as_ref()).is_some_and(|server| server.busy.is_some())
    }

    pub(super) fn damaged(&self, run: usize) -> usize {
        self.runs.get(run).map_or(0, |run| run.damaged)
    }

    /// Kinds of events that are marked in the charts.
    pub(super) fn event_kinds(&self) -> Vec<&'static str> {
        let mut kinds: Vec<_> =
            self.runs.iter().flat_map(|run| run.events.iter().map(|event| event.kind)).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }
}

impl RunData {
    fn of(at: usize, run: &Run<'_>, points_max: usize, rows: LatencyRows, with_pictures: bool) -> RunData {
        let Record { observation, .. } = run.record;
        let timeline = Timeline::of(run.record, points_max, rows);
        let watched = observation.as_ref().filter(|_| with_pictures);
        let stalls = run.record.summary.stalls.iter().flat_map(|stalls| &stalls.longest);
        let stalls = stalls.filter(|_| with_pictures).map(EventData::of_stall);
        RunData {
            letter: letter(at),
            name: escaped_line(run.name),
            end: Number(timeline.points.last().map_or(0.0, |point| point.end_s)),
            time: Lines::of(&timeline),
            response: Curve::of(&timeline.response),
            service: timeline.service.as_ref().map(Curve::of),
            heat: with_pictures.then(|| HeatData::of(&timeline.heat)).flatten(),
            waits: watched.and_then(WaitsOverTime::of).map(WaitsData::of),
            server: watched.map(|observation| ServerData::of(ServerOverTime::of(observation))),
            events: watched.iter().flat_map(|it| &it.events).map(EventData::of).chain(stalls).collect(),
            damaged: timeline.damaged,
        }
    }
}

impl Lines {
    fn of(timeline: &Timeline) -> Lines {
        let points = &timeline.points;
        let quantile = |of: fn(&crate::charts::Quantiles) -> f64| {
            numbers(points.iter().map(|point| point.quantiles.as_ref().map_or(f64::NAN, of)))
        };
        let lost = points.iter().any(|point| point.lost_tps > 0.0);
        Lines {
            t: numbers(points.iter().map(crate::charts::Point::time_s)),
            tps: numbers(points.iter().map(|point| point.tps)),
            lost: lost.then(|| numbers(points.iter().map(|point| point.lost_tps))),
            p50: quantile(|quantiles| quantiles.p50),
            p95: quantile(|quantiles| quantiles.p95),
            p99: quantile(|quantiles| quantiles.p99),
            p999: quantile(|quantiles| quantiles.p999),
            max: quantile(|quantiles| quantiles.max),
        }
    }
}

impl Curve {
    fn of(distribution: &stats::Distribution) -> Curve {
        let points = percentile_points(distribution);
        Curve {
            tail: numbers(points.iter().map(|point| point.tail)),
            us: numbers(points.iter().map(|point| point.us)),
        }
    }
}

impl HeatData {
    fn of(heat: &Heat) -> Option<HeatData> {
        let max =
            heat.columns.iter().flat_map(|column| &column.counts).copied().max().filter(|max| *max > 0)?;
        let cells = heat.columns.iter().map(|column| {
            let filled = column.counts.iter().enumerate().filter(|(_, count)| **count > 0);
            filled.flat_map(|(row, count)| [row as u64, *count]).collect()
        });
        Some(HeatData {
            start: numbers(heat.columns.iter().map(|column| column.start_s)),
            end: numbers(heat.columns.iter().map(|column| column.end_s)),
            edges: numbers(heat.rows.edges_us()),
            cells: cells.collect(),
            max,
        })
    }
}

impl WaitsData {
    fn of(waits: WaitsOverTime) -> WaitsData {
        let WaitsOverTime { time_s, series } = waits;
        let series = series.into_iter().map(|series| WaitData {
            kind: escaped_line(&series.event_type),
            event: escaped_line(&series.event),
            backends: numbers(series.backends),
        });
        WaitsData { t: numbers(time_s), series: series.collect() }
    }
}

impl ServerData {
    fn of(mut server: ServerOverTime) -> ServerData {
        let mut take = |name: &str| {
            let values = server.values.remove(name)?;
            Some(numbers(values.into_iter().map(|value| value.unwrap_or(f64::NAN))))
        };
        let (wal, busy) = (take("wal_bytes"), take("host_busy_share"));
        let (iowait, steal) = (take("host_iowait_share"), take("host_steal_share"));
        ServerData { t: numbers(server.time_s), wal, busy, iowait, steal }
    }
}

impl EventData {
    fn of_stall(stall: &Stall) -> EventData {
        EventData {
            kind: sections::STALL,
            start: Number(stall.start_s),
            end: Some(Number(stall.end_s)),
            detail: format!(
                "no transaction completed for {}",
                with_ordinary_spaces(&latency(stall.length_s() * 1e6))
            ),
        }
    }

    fn of(event: &Event) -> EventData {
        EventData {
            kind: sections::event_name(event.kind),
            start: Number(event.start_s),
            end: event.end_s.map(Number),
            detail: cut(&escaped_line(event.detail.as_str()), DETAIL_LEN_MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_five_digits_and_no_more_characters_than_they_need() {
        let json = serde_json::to_string(&numbers([12_345.678, 0.000_123_456, 2.0, f64::NAN, -0.5])).unwrap();
        assert_eq!(json, "[12346,0.00012346,2,null,-0.5]");
    }
}
