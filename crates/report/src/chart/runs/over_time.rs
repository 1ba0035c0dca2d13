//! The charts of one run, or of several side by side: which there are, in which order, with which scales and limits.
//! Series come from the modules beside this one; `plot` draws them.

use results::{ActionResult, Event, EventKind, LagSample, LagValue, Outages, Stall, StandbyLag};
use stats::goals::{Goal, GoalFigure, LatencyKind};

use super::{
    LatencyRows, POINTS_MAX, Quantiles, ServerOverTime, Timeline, TimelinePoint, WaitsOverTime, neighbours,
    percentile_points,
};
use crate::Run;
use crate::chart::{Axis, Band, Chart, Choice, Colour, Heat, Plot, Point, Series, Threshold, stacked_max};
use crate::figures::{asked_latency, latency, with_ordinary_spaces};
use crate::metrics::Quantity;
use crate::prose::{cut, escaped_line};
use crate::run::{action_detail, action_outcome, labels, outage_phases};
use crate::wording::wait_name;

/// Points of all runs together that are lines in one chart.
const POINTS_IN_ALL: usize = 12_000;
/// Fewer show no course.
const POINTS_MIN: usize = 60;
/// Heat maps, waits and counters are drawn of the first few runs.
const DETAILED_MAX: usize = 12;
/// Characters of a standby's name in a legend.
const NAME_LEN_MAX: usize = 24;
/// Characters of an event's detail.
const DETAIL_LEN_MAX: usize = 120;

/// All charts of some runs.
#[derive(Clone, Debug)]
pub(crate) struct RunCharts {
    /// Below each other, on one axis of time.
    pub(crate) over_time: Vec<Chart>,
    /// `None` if no transaction succeeded.
    pub(crate) percentiles: Option<Chart>,
    /// Of each run, the histograms that could not be read.
    pub(crate) damaged_histograms: Vec<usize>,
}

/// What is drawn of a run.
struct Source<'a> {
    /// In legends; empty if it is the only run.
    label: String,
    colour: Colour,
    timeline: Timeline,
    waits: Option<WaitsOverTime>,
    server: Option<ServerOverTime>,
    standbys: &'a [StandbyLag],
    events: &'a [Event],
    stalls: &'a [Stall],
    actions: &'a [ActionResult],
    outages: Option<&'a Outages>,
    latency_limit_us: Option<f64>,
    goals: &'a [Goal],
}

impl RunCharts {
    pub(crate) fn new<'a>(runs: &[Run<'a>]) -> RunCharts {
        let rows = LatencyRows::for_all(runs.iter().map(|run| run.record));
        let points_max = (POINTS_IN_ALL / runs.len().max(1)).clamp(POINTS_MIN, POINTS_MAX);
        let labels = labels(runs);
        let label = |at: usize| if runs.len() < 2 { String::new() } else { labels[at].clone() };
        let source = |(at, run): (usize, &Run<'a>)| {
            let observation = run.record.observation.as_ref().filter(|_| at < DETAILED_MAX);
            Source {
                label: label(at),
                colour: Colour::Run(at),
                timeline: Timeline::of(run.record, points_max, rows),
                waits: observation.and_then(WaitsOverTime::of),
                server: observation.map(ServerOverTime::of),
                standbys: observation.map_or(&[], |observation| &observation.standbys),
                events: observation.map_or(&[], |observation| &observation.events),
                stalls: run.record.summary.stalls.as_ref().map_or(&[], |stalls| &stalls.longest),
                actions: &run.record.summary.actions,
                outages: run.record.summary.outages.as_ref(),
                latency_limit_us: run.record.plan.latency_limit_us,
                goals: &run.record.plan.goals,
            }
        };
        let sources: Vec<Source<'_>> = runs.iter().enumerate().map(source).collect();
        RunCharts {
            over_time: charts_over_time(&sources),
            percentiles: percentile_plot(&sources),
            damaged_histograms: sources.iter().map(|source| source.timeline.damaged).collect(),
        }
    }
}

fn charts_over_time(sources: &[Source<'_>]) -> Vec<Chart> {
    let ends = sources.iter().filter_map(|source| source.timeline.points.last()).map(|point| point.end_s);
    let end_s = ends.fold(0.0, f64::max);
    if end_s <= 0.0 {
        return Vec::new();
    }
    let time = Axis::new("", Quantity::Seconds).with_ends(0.0, end_s);
    let mut charts = vec![throughput(sources, &time)];
    charts.extend(response_times(sources, &time));
    let heats: Vec<Option<Heat>> = sources.iter().take(DETAILED_MAX).map(|it| heat(&it.timeline)).collect();
    let most = heats.iter().flatten().map(|heat| heat.most).max().unwrap_or(0);
    let waits: Vec<Vec<Series>> = sources.iter().map(wait_series).collect();
    let backends_max = waits.iter().map(|series| stacked_max(series)).fold(0.0, f64::max);
    for ((source, heat), waits) in sources.iter().zip(heats).zip(waits) {
        if let Some(heat) = heat {
            charts.push(source.heat_chart(Heat { most, ..heat }, &time));
        }
        if !waits.is_empty() {
            charts.push(source.waits_chart(waits, backends_max, &time));
        }
        charts.extend(source.backend_cpu_chart(&time));
        charts.extend(source.processors_chart(&time));
        charts.extend(source.lag_charts(&time));
    }
    charts.extend(wal(sources, &time));
    charts
}

/// Of a chart that shows several runs, no reader could tell whose events they were.
fn bands(sources: &[Source<'_>]) -> Vec<Band> {
    match sources {
        [only] => only.bands(),
        _ => Vec::new(),
    }
}

/// The latency limits of the runs and their goals for latencies, each once.
fn latency_limits<'a, 's: 'a>(sources: impl IntoIterator<Item = &'a Source<'s>>) -> Vec<Threshold> {
    let of_source = |source: &'a Source<'s>| {
        let limit = source.latency_limit_us.map(|us| (us, format!("latency limit {}", asked_latency(us))));
        let is_drawn = |goal: &&Goal| goal.figure.latency() != Some(LatencyKind::Lag);
        let of_goal = |goal: &Goal| Some((goal.latency_limit_ns()? / NANOS_PER_MICRO, goal_label(goal)));
        limit.into_iter().chain(source.goals.iter().filter(is_drawn).filter_map(of_goal))
    };
    distinct(sources.into_iter().flat_map(of_source))
}

const NANOS_PER_MICRO: f64 = 1e3;

fn goal_label(goal: &Goal) -> String {
    cut(&format!("goal {}", escaped_line(&goal.to_string())), GOAL_LEN_MAX)
}

/// Characters of a goal in a legend.
const GOAL_LEN_MAX: usize = 40;

/// The goals of the runs for throughput, each once.
fn throughput_goals(sources: &[Source<'_>]) -> Vec<Threshold> {
    let goals = sources.iter().flat_map(|source| source.goals);
    let of_all = goals.filter(|goal| goal.figure == GoalFigure::Tps && goal.script.is_none());
    distinct(of_all.map(|goal| (goal.limit, goal_label(goal))))
}

fn distinct(values: impl Iterator<Item = (f64, String)>) -> Vec<Threshold> {
    let mut thresholds: Vec<Threshold> = Vec::new();
    for (value, label) in values {
        let label = with_ordinary_spaces(&label);
        if value > 0.0 && thresholds.iter().all(|known| known.label != label) {
            thresholds.push(Threshold { value, label });
        }
    }
    thresholds
}

fn without_legend(bands: Vec<Band>) -> Vec<Band> {
    bands.into_iter().map(|band| Band { is_in_legend: false, ..band }).collect()
}

fn throughput(sources: &[Source<'_>], time: &Axis) -> Chart {
    let points = |source: &Source<'_>, of: fn(&TimelinePoint) -> f64| {
        source.timeline.points.iter().map(|point| Point::new(point.time_s(), of(point))).collect()
    };
    let series = |source: &Source<'_>| {
        let (label, points) = (source.label.clone(), points(source, |point| point.tps));
        Series { is_filled: sources.len() == 1, ..Series::new(label, source.colour, points) }
    };
    let mut series: Vec<Series> = sources.iter().map(series).collect();
    if let ([source], [succeeded]) = (sources, &mut series[..]) {
        succeeded.label = "succeeded".to_owned();
        if source.timeline.points.iter().any(|point| point.lost_tps > 0.0) {
            let lost = points(source, |point| point.lost_tps);
            series.push(Series::new("failed or skipped", Colour::Bad, lost));
        }
    }
    let y = Axis { suffix: "\u{a0}tps", ..Axis::new("", Quantity::PerSecond) };
    let y = y.with_thresholds(throughput_goals(sources));
    Chart::new(
        "Throughput",
        "transactions per second",
        Plot::Lines { x: time.clone(), y, series, is_stacked: false, bands: bands(sources) },
    )
}

/// What of the percentiles a line shows.
type Line = (&'static str, fn(&Quantiles) -> f64);
const LINES: [Line; 5] = [
    ("median", |it| it.p50),
    ("p95", |it| it.p95),
    ("p99", |it| it.p99),
    ("p99.9", |it| it.p999),
    ("max", |it| it.max),
];
/// The line that is shown of several runs, unless the reader chooses another one.
const SHOWN: usize = 2;

/// Of one run all percentiles; of several one, and a choice of the others while there are few runs.
fn response_times(sources: &[Source<'_>], time: &Axis) -> Vec<Chart> {
    let points = |source: &Source<'_>, of: fn(&Quantiles) -> f64| {
        let y = |point: &TimelinePoint| point.quantiles.as_ref().map_or(f64::NAN, of);
        source.timeline.points.iter().map(|point| Point::new(point.time_s(), y(point))).collect()
    };
    let y = Axis::new("", Quantity::Microseconds).logarithmic(true).with_thresholds(latency_limits(sources));
    let chart = |caption: String, series: Vec<Series>| {
        let bands = without_legend(bands(sources));
        let plot = Plot::Lines { x: time.clone(), y: y.clone(), series, is_stacked: false, bands };
        Chart::new("Response time", caption, plot)
    };
    if let [source] = sources {
        let series = |(number, (label, of)): (usize, &Line)| {
            let series = Series::new(*label, Colour::Quantile(number), points(source, *of));
            Series { is_dashed: *label == "max", ..series }
        };
        let series = LINES.iter().enumerate().map(series).collect();
        return vec![chart("percentiles, logarithmic".to_owned(), series)];
    }
    let of_all_runs = |(name, of): Line| {
        let series = |source: &Source<'_>| Series::new(&source.label, source.colour, points(source, of));
        let choice = Some(Choice { name, is_first: name == LINES[SHOWN].0 });
        Chart { choice, ..chart(format!("{name}, logarithmic"), sources.iter().map(series).collect()) }
    };
    if sources.len() > DETAILED_MAX {
        return vec![Chart { choice: None, ..of_all_runs(LINES[SHOWN]) }];
    }
    let mut order = LINES;
    order[..=SHOWN].rotate_right(1);
    order.map(of_all_runs).into()
}

fn heat(timeline: &Timeline) -> Option<Heat> {
    let counts = timeline.heat.columns.iter().flat_map(|column| &column.counts);
    let most = counts.copied().max().filter(|most| *most > 0)?;
    let columns = timeline.heat.columns.iter();
    Some(Heat {
        edges: timeline.heat.rows.edges_us(),
        columns: columns.map(|it| (it.start_s, it.end_s, it.counts.clone())).collect(),
        most,
    })
}

/// Kinds of waits, the most frequent first.
fn wait_series(source: &Source<'_>) -> Vec<Series> {
    let Some(waits) = &source.waits else { return Vec::new() };
    let colours = Colour::of_waits(waits.series.iter().map(|series| series.event_type.as_str()));
    let series = waits.series.iter().zip(colours).map(|(series, colour)| {
        let label = with_ordinary_spaces(&wait_name(&series.event_type, &series.event));
        let times = waits.time_s.iter().zip(&series.backends);
        let points = times.map(|(time_s, backends)| Point::new(*time_s, *backends)).collect();
        Series::new(label, colour, points)
    });
    series.collect()
}

fn wal(sources: &[Source<'_>], time: &Axis) -> Option<Chart> {
    let series = |source: &Source<'_>| {
        let points = source.server.as_ref()?.points("wal_bytes")?;
        Some(Series::new(&source.label, source.colour, points))
    };
    let series: Vec<Series> = sources.iter().filter_map(series).collect();
    if series.is_empty() {
        return None;
    }
    let y = Axis { suffix: "/s", ..Axis::new("written", Quantity::Bytes) };
    let bands = without_legend(bands(sources));
    let plot = Plot::Lines { x: time.clone(), y, series, is_stacked: false, bands };
    Some(Chart { is_low: true, ..Chart::new("WAL written", "bytes per second", plot) })
}

/// 1 ÷ (1 − p) that have a mark.
const PERCENTILE_MARKS: [f64; 7] = [2.0, 4.0, 10.0, 20.0, 100.0, 1e3, 1e4];

fn percentile_plot(sources: &[Source<'_>]) -> Option<Chart> {
    let has_service = sources.iter().any(|source| source.timeline.service.is_some());
    let series = |source: &Source<'_>| {
        let Timeline { response, service, .. } = &source.timeline;
        let series = |distribution, name: &str, is_dashed| {
            let points = percentile_points(distribution);
            let points: Vec<Point> = points.iter().map(|point| Point::new(point.tail, point.us)).collect();
            let label = format!("{} {name}", source.label).trim().to_owned();
            let series = Series { is_dashed, ..Series::new(label, source.colour, points) };
            (!series.points.is_empty()).then_some(series)
        };
        let response = series(response, if service.is_some() { "response" } else { "" }, false);
        let service = service.as_ref().and_then(|service| series(service, "service", true));
        response.into_iter().chain(service)
    };
    let series: Vec<Series> = sources.iter().flat_map(series).collect();
    if series.is_empty() {
        return None;
    }
    let marks = PERCENTILE_MARKS.map(|tail| (tail, Quantity::Percentile.tick(tail)));
    let x =
        Axis::new("", Quantity::Percentile).logarithmic(true).with_marks(marks.to_vec()).with_ends(1.0, 1e4);
    let y = Axis::new("response time", Quantity::Microseconds).logarithmic(true);
    let y = y.with_thresholds(latency_limits(sources));
    let caption = if has_service {
        "response time counts from when a transaction was due, service time (dashed) from when it began"
    } else {
        "response time at each percentile; p90, p99, p99.9 and p99.99 are equally far apart"
    };
    let plot = Plot::lines(x, y, series);
    Some(Chart::new("Percentiles", caption, plot))
}

impl Source<'_> {
    fn title(&self, title: &str) -> String {
        if self.label.is_empty() { title.to_owned() } else { format!("{title} of {}", self.label) }
    }

    fn bands(&self) -> Vec<Band> {
        let events = self.events.iter().map(|event| Band {
            colour: match event.kind {
                EventKind::Checkpoint => Colour::Checkpoint,
                EventKind::Autovacuum => Colour::Autovacuum,
                EventKind::LockQueue => Colour::LockQueue,
            },
            kind: crate::run::event_name(event.kind).to_owned(),
            detail: cut(&escaped_line(event.detail.as_str()), DETAIL_LEN_MAX),
            start: event.start_s,
            end: event.end_s,
            is_strip: event.kind == EventKind::LockQueue,
            is_in_legend: true,
        });
        let stalls = self.stalls.iter().map(|stall| Band {
            colour: Colour::Stall,
            kind: "stall".to_owned(),
            detail: format!("no transaction completed for {}", latency(stall.length_s() * 1e6)),
            start: stall.start_s,
            end: Some(stall.end_s),
            is_strip: false,
            is_in_legend: true,
        });
        let actions = self.actions.iter().filter_map(|result| {
            let outcome = action_outcome(&result.outcome);
            Some(Band {
                colour: Colour::Action,
                kind: "action".to_owned(),
                detail: cut(&format!("{}, {outcome}", action_detail(&result.action.work)), DETAIL_LEN_MAX),
                start: result.begin_s?,
                end: result.end_s,
                is_strip: false,
                is_in_legend: true,
            })
        });
        let phases = self.outages.map(outage_phases).unwrap_or_default();
        let phases = phases.into_iter().map(|(kind, detail, start, end)| Band {
            colour: Colour::Stall,
            kind: kind.to_owned(),
            detail: cut(&detail, DETAIL_LEN_MAX),
            start,
            end,
            is_strip: true,
            is_in_legend: true,
        });
        // Events go on being observed for a moment after the last transaction.
        let end_s = self.timeline.points.last().map_or(0.0, |point| point.end_s);
        actions.chain(events).chain(stalls).chain(phases).filter(|band| band.start < end_s).collect()
    }

    fn heat_chart(&self, heat: Heat, time: &Axis) -> Chart {
        let y = Axis::new("", Quantity::Microseconds).logarithmic(true);
        let y = y.with_thresholds(latency_limits([self]));
        // Of several runs this is the first chart that shows the events of one.
        let bands = if self.label.is_empty() { without_legend(self.bands()) } else { self.bands() };
        let plot = Plot::Heat { x: time.clone(), y, heat, bands };
        Chart::new(
            self.title("Latency distribution over time"),
            "stronger colours: more transactions; logarithmic",
            plot,
        )
    }

    fn waits_chart(&self, series: Vec<Series>, backends_max: f64, time: &Axis) -> Chart {
        let y = Axis::new("", Quantity::Number).with_ends(0.0, backends_max * 1.08);
        let bands = without_legend(self.bands());
        Chart::new(
            self.title("Wait events and CPU of the backends"),
            "backends, on average, stacked",
            Plot::Lines { x: time.clone(), y, series, is_stacked: true, bands },
        )
    }

    /// Of the load's backends; 1 is a CPU that is always busy.
    fn backend_cpu_chart(&self, time: &Axis) -> Option<Chart> {
        const LINES: [(&str, &str, Colour); 2] = [
            ("backend_user_cpu_s", "user", Colour::Run(0)),
            ("backend_system_cpu_s", "system", Colour::Run(1)),
        ];
        let server = self.server.as_ref()?;
        let series: Vec<Series> = LINES
            .iter()
            .filter_map(|(name, label, colour)| Some(Series::new(*label, *colour, server.points(name)?)))
            .collect();
        if series.is_empty() {
            return None;
        }
        let y = Axis::new("", Quantity::Number);
        let bands = without_legend(self.bands());
        let plot = Plot::Lines { x: time.clone(), y, series, is_stacked: false, bands };
        let title = self.title("CPU time of the backends");
        Some(Chart { is_low: true, ..Chart::new(title, "CPUs", plot) })
    }

    fn processors_chart(&self, time: &Axis) -> Option<Chart> {
        const LINES: [(&str, &str, Colour); 3] = [
            ("host_busy_share", "busy", Colour::Run(0)),
            ("host_iowait_share", "waiting for disks", Colour::Run(1)),
            ("host_steal_share", "stolen by the hypervisor", Colour::Bad),
        ];
        let server = self.server.as_ref()?;
        server.values.get(LINES[0].0)?;
        let series = LINES
            .iter()
            .filter_map(|(name, label, colour)| Some(Series::new(*label, *colour, server.points(name)?)));
        let y = Axis::new("", Quantity::Share).with_ends(0.0, 1.0);
        let bands = without_legend(self.bands());
        let plot = Plot::Lines { x: time.clone(), y, series: series.collect(), is_stacked: false, bands };
        let title = self.title("Processors of the server's host");
        Some(Chart { is_low: true, ..Chart::new(title, "share of all", plot) })
    }
}

/// A line of the lag of a standby: its name, its time, and its WAL.
type LagLine = (&'static str, LagValue, LagValue);
const LAG_LINES: [LagLine; 3] = [
    ("replay", |sample| sample.replay_us, |sample| sample.replay_bytes),
    ("flush", |sample| sample.flush_us, |sample| sample.flush_bytes),
    ("write", |sample| sample.write_us, |sample| sample.write_bytes),
];

impl Source<'_> {
    /// Replay lag of all standbys; of a single one also the lags of writing and flushing.
    fn lag_charts(&self, time: &Axis) -> Vec<Chart> {
        let lines = if self.standbys.len() == 1 { &LAG_LINES[..] } else { &LAG_LINES[..1] };
        let of = |pick: fn(&LagLine) -> LagValue| {
            let mut series = Vec::new();
            for standby in self.standbys.iter().take(LAGS_MAX) {
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
            let plot = Plot::Lines {
                x: time.clone(),
                y: Axis::new("", quantity),
                series,
                is_stacked: false,
                bands: without_legend(self.bands()),
            };
            Chart { is_low: true, ..Chart::new(self.title(title), subtitle, plot) }
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
}

/// Lines of lag in one chart.
const LAGS_MAX: usize = 8;

/// One point per sample of the measured time; of many samples, the largest of neighbours.
fn lag_points(samples: &[LagSample], of: LagValue) -> Vec<Point> {
    let measured: Vec<&LagSample> = samples.iter().filter(|sample| sample.time_s >= 0.0).collect();
    let largest = |chunk: &[&LagSample]| {
        let value = chunk.iter().filter_map(|sample| of(sample)).reduce(f64::max);
        Some(Point::new(chunk.first()?.time_s, value.unwrap_or(f64::NAN)))
    };
    measured.chunks(neighbours(measured.len(), POINTS_MAX)).filter_map(largest).collect()
}

impl ServerOverTime {
    /// A counter or gauge; `None` if it was not seen at all.
    fn points(&self, name: &str) -> Option<Vec<Point>> {
        let values = self.values.get(name)?.iter();
        let times = self.time_s.iter().zip(values);
        Some(times.map(|(time_s, value)| Point::new(*time_s, value.unwrap_or(f64::NAN))).collect())
    }
}
