//! The charts of one run, or of several side by side: which there are, in which order, with which scales and limits.
//! Series come from the modules beside this one; `plot` draws them.

use results::StandbyLag;
use stats::Distribution;
use stats::goals::{Goal, GoalFigure, LatencyKind};
use stats::rate::{Intensity, LoadStage, RateCurve, clients_at};

use super::events::Events;
use super::lag::lag_charts;
use super::settled::{self, Shown};
use super::{
    LatencyRows, POINTS_MAX, Quantiles, ServerOverTime, Timeline, TimelinePoint, WaitsOverTime,
    percentile_points,
};
use crate::Run;
use crate::chart::{Axis, Band, Chart, Choice, Colour, Heat, Plot, Point, Series, Threshold, stacked_max};
use crate::document::Block;
use crate::figures::{asked_latency, count, latency, with_ordinary_spaces};
use crate::metrics::Quantity;
use crate::prose::{cut, escaped_line};
use crate::run::labels;
use crate::wording::wait_name;

/// Points of all runs together that are lines in one chart.
const POINTS_IN_ALL: usize = 12_000;
/// Fewer show no course.
const POINTS_MIN: usize = 60;
/// Heat maps, waits and counters are drawn of the first few runs.
const DETAILED_MAX: usize = 12;

/// All charts of some runs.
#[derive(Clone, Debug)]
pub(crate) struct RunCharts {
    /// On one axis of time, below each other; those of several runs in pairs. Sentences stand for what does not move.
    pub(crate) over_time: Vec<Block>,
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
    events: Events<'a>,
    latency_limit_us: Option<f64>,
    /// Of a rate that changes.
    scheduled: Option<Intensity>,
    /// With numbers of clients.
    stages: &'a [LoadStage],
    goals: &'a [Goal],
    /// Of the server's host, if its counters are in the record.
    processors: Option<u32>,
}

impl RunCharts {
    pub(crate) fn new<'a>(runs: &[Run<'a>]) -> RunCharts {
        let rows = LatencyRows::for_all(runs.iter().map(|run| run.record));
        let points_max = (POINTS_IN_ALL / runs.len().max(1)).clamp(POINTS_MIN, POINTS_MAX);
        let labels = labels(runs);
        let label = |at: usize| if runs.len() < 2 { String::new() } else { labels[at].clone() };
        let source = |(at, run): (usize, &Run<'a>)| {
            let record = run.record;
            let observation = record.observation.as_ref().filter(|_| at < DETAILED_MAX);
            Source {
                label: label(at),
                colour: Colour::Run(at),
                timeline: Timeline::of(record, points_max, rows),
                waits: observation.and_then(WaitsOverTime::of),
                server: observation.map(ServerOverTime::of),
                standbys: observation.map_or(&[], |observation| &observation.standbys),
                events: Events {
                    observed: observation.map_or(&[], |observation| &observation.events),
                    stalls: record.summary.stalls.as_ref().map_or(&[], |stalls| &stalls.longest),
                    actions: &record.summary.actions,
                    outages: record.summary.outages.as_ref(),
                    population: record.summary.population.as_ref(),
                },
                latency_limit_us: record.plan.latency_limit_us,
                scheduled: scheduled(&record.plan),
                stages: if record.plan.has_client_stages() { &record.plan.stages } else { &[] },
                goals: &record.plan.goals,
                processors: record.environment.host.cpu_count.filter(|processors| *processors > 0),
            }
        };
        let sources: Vec<Source<'_>> = runs.iter().enumerate().map(source).collect();
        RunCharts {
            over_time: over_time(&sources),
            percentiles: percentile_plot(&sources),
            damaged_histograms: sources.iter().map(|source| source.timeline.damaged).collect(),
        }
    }
}

/// The rate over time, if it changes.
fn scheduled(plan: &results::Plan) -> Option<Intensity> {
    let curve = match (plan.rate_curve(), plan.rate_tps) {
        (Some(curve), _) => curve,
        (None, Some(rate_tps)) if !plan.arrivals.is_poisson() => RateCurve::constant(rate_tps),
        (None, _) => return None,
    };
    Some(Intensity::new(&curve, plan.arrivals, 0.0))
}

fn over_time(sources: &[Source<'_>]) -> Vec<Block> {
    let end_s = sources.iter().map(Source::end_s).fold(0.0, f64::max);
    if end_s <= 0.0 {
        return Vec::new();
    }
    let points = sources.iter().map(|source| source.timeline.points.len()).max().unwrap_or(0);
    if points < settled::POINTS_MIN {
        let text = format!(
            "There are {} points over time; charts over time need {}.",
            count(points as u64),
            settled::POINTS_MIN
        );
        return vec![Block::quiet(text)];
    }
    let time = Axis::new("", Quantity::Seconds).with_ends(0.0, end_s);
    let mut page = Pages { blocks: Vec::new(), low: Vec::new(), sentences: Vec::new() };
    page.sentences.extend(sources.iter().flat_map(Source::sentences));
    page.across(throughput(sources, &time));
    page.abreast(sources.iter().filter_map(|source| source.clients_chart(&time)).collect());
    response_times(sources, &time).into_iter().for_each(|chart| page.across(chart));
    page.abreast(heat_charts(sources, &time));
    page.abreast(waits_charts(sources, &time));
    page.abreast(with_shared_ends(sources.iter().filter_map(|source| source.cpu_chart(&time)).collect()));
    let lags = sources
        .iter()
        .flat_map(|source| lag_charts(source.standbys, |title| source.title(title), &time, &source.bands()));
    page.abreast(lags.collect());
    page.abreast(wal(sources, &time).into_iter().collect());
    page.finished()
}

/// Charts and sentences, and the low charts that wait for one to stand beside.
struct Pages {
    blocks: Vec<Block>,
    low: Vec<Chart>,
    sentences: Vec<String>,
}

impl Pages {
    /// As wide as the page.
    fn across(&mut self, chart: Chart) {
        match settled::shown(chart) {
            Some(Shown::Chart(chart)) => self.blocks.push(Block::chart(*chart)),
            Some(Shown::Sentence(text)) => self.sentences.push(text),
            None => {}
        }
    }

    /// Those of several runs stand in pairs; a single high one is as wide as the page, and low ones stand in pairs.
    fn abreast(&mut self, charts: Vec<Chart>) {
        let mut drawn = Vec::new();
        for chart in charts {
            match settled::shown(chart) {
                Some(Shown::Chart(chart)) => drawn.push(*chart),
                Some(Shown::Sentence(text)) => self.sentences.push(text),
                None => {}
            }
        }
        match &drawn[..] {
            [only] if !only.is_low => self.blocks.extend(drawn.into_iter().map(Block::chart)),
            [_] => self.low.extend(drawn),
            _ => self.blocks.extend(pairs(drawn)),
        }
    }

    /// The first chart with events has their words.
    fn finished(mut self) -> Vec<Block> {
        match self.low.len() {
            1 => self.blocks.extend(self.low.into_iter().map(Block::chart)),
            _ => self.blocks.extend(pairs(self.low)),
        }
        let mut has_words = false;
        self.blocks.iter_mut().for_each(|block| give_words(block, &mut has_words));
        self.blocks.extend((!self.sentences.is_empty()).then(|| Block::quiet(self.sentences.join(" "))));
        self.blocks
    }
}

fn pairs(charts: Vec<Chart>) -> Option<Block> {
    let columns: Vec<Vec<Block>> = charts.into_iter().map(|chart| vec![Block::chart(chart)]).collect();
    (!columns.is_empty()).then_some(Block::Columns(columns))
}

/// The charts of a pair have words of their own each, since each is of another run.
fn give_words(block: &mut Block, has_words: &mut bool) {
    let bands = |chart: &mut Chart| match &mut chart.plot {
        Plot::Lines { bands, .. } | Plot::Heat { bands, .. } => {
            bands.iter_mut().for_each(|band| band.has_words = true);
            !bands.is_empty()
        }
        Plot::Bars { .. } => false,
    };
    if *has_words {
        return;
    }
    if let Block::Chart(chart) = block {
        *has_words = bands(chart);
    } else if let Block::Columns(columns) = block {
        for block in columns.iter_mut().flatten() {
            if let Block::Chart(chart) = block {
                *has_words |= bands(chart);
            }
        }
    }
}

/// Charts of several runs with one scale from 0.
fn with_shared_ends(mut charts: Vec<Chart>) -> Vec<Chart> {
    let top = |chart: &Chart| match &chart.plot {
        Plot::Lines { series, .. } => {
            series.iter().flat_map(|series| &series.points).map(|point| point.y).fold(0.0, f64::max)
        }
        Plot::Heat { .. } | Plot::Bars { .. } => 0.0,
    };
    let most = charts.iter().map(top).fold(0.0, f64::max);
    for chart in charts.iter_mut().filter(|_| most > 0.0) {
        if let Plot::Lines { y, .. } = &mut chart.plot {
            y.ends = Some((0.0, most * 1.08));
        }
    }
    charts
}

/// Of a chart that shows several runs, no reader could tell whose events they were.
fn bands(sources: &[Source<'_>]) -> Vec<Band> {
    match sources {
        [only] => only.bands(),
        _ => Vec::new(),
    }
}

fn heat_charts(sources: &[Source<'_>], time: &Axis) -> Vec<Chart> {
    let shown = || sources.iter().take(DETAILED_MAX);
    let heats: Vec<Option<Heat>> = shown().map(|it| heat(&it.timeline)).collect();
    let most = heats.iter().flatten().map(|heat| heat.most).max().unwrap_or(0);
    let chart =
        |(source, heat): (&Source<'_>, Option<Heat>)| Some(source.heat_chart(Heat { most, ..heat? }, time));
    shown().zip(heats).filter_map(chart).collect()
}

fn waits_charts(sources: &[Source<'_>], time: &Axis) -> Vec<Chart> {
    let waits: Vec<Vec<Series>> = sources.iter().map(wait_series).collect();
    let most = waits.iter().map(|series| stacked_max(series)).fold(0.0, f64::max);
    let waits = sources.iter().zip(waits).filter(|(_, series)| !series.is_empty());
    waits.map(|(source, series)| source.waits_chart(series, most, time)).collect()
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
        let mut lost = |label: &str, colour: Colour, of: fn(&TimelinePoint) -> f64| {
            if source.timeline.points.iter().any(|point| of(point) > 0.0) {
                let line = Series::new(label, colour, points(source, of));
                series.push(Series { is_dashed: colour != Colour::Bad, ..line });
            }
        };
        lost("failed", Colour::Bad, |point| point.failed_tps);
        lost("skipped, when it was due", Colour::Run(1), |point| point.skipped_tps);
        series.extend(source.scheduled_series());
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
    (P999, |it| it.p999),
    ("max", |it| it.max),
];
const P999: &str = "p99.9";
/// With fewer transactions, p99.9 is next to their maximum.
const P999_TRANSACTIONS_MIN: f64 = 1_000.0;

/// Whether most points have so many transactions that p99.9 says something.
fn has_p999(source: &Source<'_>) -> bool {
    let points = &source.timeline.points;
    let is_enough =
        |point: &&TimelinePoint| point.tps * (point.end_s - point.start_s) >= P999_TRANSACTIONS_MIN;
    2 * points.iter().filter(is_enough).count() > points.len()
}

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
        let bands = bands(sources);
        let plot = Plot::Lines { x: time.clone(), y: y.clone(), series, is_stacked: false, bands };
        Chart::new("Response time", caption, plot)
    };
    if let [source] = sources {
        let series = |(number, (label, of)): (usize, &Line)| {
            let series = Series::new(*label, Colour::Quantile(number), points(source, *of));
            Series { is_dashed: *label == "max", ..series }
        };
        let is_shown = |(_, (label, _)): &(usize, &Line)| *label != P999 || has_p999(source);
        let series = LINES.iter().enumerate().filter(is_shown).map(series).collect();
        return vec![chart("percentiles, logarithmic".to_owned(), series)];
    }
    let of_all_runs = |(name, of): Line| {
        let series = |source: &Source<'_>| Series::new(&source.label, source.colour, points(source, of));
        let choice = Some(Choice { of: "percentile", name, is_first: name == LINES[SHOWN].0 });
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
    let bands = bands(sources);
    let plot = Plot::Lines { x: time.clone(), y, series, is_stacked: false, bands };
    Some(Chart { is_low: true, ..Chart::new("WAL written", "bytes per second", plot) })
}

/// 1 ÷ (1 − p) that have a mark.
const PERCENTILE_MARKS: [f64; 9] = [2.0, 4.0, 10.0, 20.0, 100.0, 1e3, 1e4, 1e5, 1e6];

fn percentile_plot(sources: &[Source<'_>]) -> Option<Chart> {
    let has_service = sources.iter().any(|source| source.timeline.service.is_some());
    let is_only = sources.len() == 1;
    let series = |source: &Source<'_>| {
        let Timeline { response, service, .. } = &source.timeline;
        let series = |distribution: &Distribution, name: &str, is_dashed: bool| {
            let curve = percentile_points(distribution);
            let points: Vec<Point> = curve.iter().map(|point| Point::new(point.tail, point.us)).collect();
            let label = format!("{} {name}", source.label).trim().to_owned();
            let named =
                curve.iter().enumerate().filter(|(_, it)| is_only && !is_dashed && !it.name.is_empty());
            let words = named.map(|(at, it)| (at, format!("{} {}", it.name, latency(it.us)))).collect();
            let series = Series { is_dashed, words, ..Series::new(label, source.colour, points) };
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
    let end =
        series.iter().filter_map(|series| series.points.last()).map(|point| point.x).fold(10.0, f64::max);
    let known = PERCENTILE_MARKS.into_iter().filter(|tail| *tail < end);
    let mut marks: Vec<(f64, String)> = known.map(|tail| (tail, Quantity::Percentile.tick(tail))).collect();
    if is_only {
        marks.extend(series[0].points.last().map(|point| (point.x, "max".to_owned())));
    }
    let x = Axis::new("", Quantity::Percentile).logarithmic(true).with_marks(marks).with_ends(1.0, end);
    let y = Axis::new("response time", Quantity::Microseconds).logarithmic(true);
    let y = y.with_thresholds(latency_limits(sources));
    let caption = if has_service {
        "response time counts from when a transaction was due, service time (dashed) from when it began; up to the maximum"
    } else {
        "response time at each percentile, up to the maximum; p90, p99, p99.9 and p99.99 are equally far apart"
    };
    let plot = Plot::lines(x, y, series);
    Some(Chart::new("Percentiles", caption, plot))
}

impl Source<'_> {
    fn title(&self, title: &str) -> String {
        if self.label.is_empty() { title.to_owned() } else { format!("{title} of {}", self.label) }
    }

    /// When the last transaction ended.
    fn end_s(&self) -> f64 {
        self.timeline.points.last().map_or(0.0, |point| point.end_s)
    }

    fn bands(&self) -> Vec<Band> {
        self.events.bands(self.end_s())
    }

    fn sentences(&self) -> Vec<String> {
        let told = self.events.sentences(self.end_s()).into_iter();
        told.map(|text| if self.label.is_empty() { text } else { format!("{}: {text}", self.label) })
            .collect()
    }

    fn heat_chart(&self, heat: Heat, time: &Axis) -> Chart {
        let y = Axis::new("", Quantity::Microseconds).logarithmic(true);
        let y = y.with_thresholds(latency_limits([self]));
        let plot = Plot::Heat { x: time.clone(), y, heat, bands: self.bands() };
        Chart::new(
            self.title("Latency distribution over time"),
            "stronger colours: more transactions; logarithmic",
            plot,
        )
    }

    fn waits_chart(&self, series: Vec<Series>, backends_max: f64, time: &Axis) -> Chart {
        let y = Axis::new("", Quantity::Number).with_ends(0.0, backends_max * 1.08);
        let bands = self.bands();
        Chart::new(
            self.title("Wait events and CPU of the backends"),
            "backends, on average, stacked",
            Plot::Lines { x: time.clone(), y, series, is_stacked: true, bands },
        )
    }

    /// What was scheduled, beside what succeeded.
    fn scheduled_series(&self) -> Option<Series> {
        let scheduled = self.scheduled.as_ref()?;
        let point = |point: &TimelinePoint| {
            let seconds = point.end_s - point.start_s;
            Point::new(point.time_s(), scheduled.between(point.start_s, point.end_s) / seconds)
        };
        let points = self.timeline.points.iter().map(point).collect();
        Some(Series { is_dashed: true, ..Series::new("scheduled", Colour::Quiet, points) })
    }

    /// The number of clients over time, if stages change it.
    fn clients_chart(&self, time: &Axis) -> Option<Chart> {
        if self.stages.is_empty() {
            return None;
        }
        let clients = |point: &TimelinePoint| clients_at(self.stages, point.time_s()).unwrap_or(f64::NAN);
        let point = |point: &TimelinePoint| Point::new(point.time_s(), clients(point));
        let points = self.timeline.points.iter().map(point).collect();
        let series = vec![Series::new("", self.colour, points)];
        let y = Axis::new("", Quantity::Number);
        let plot = Plot::Lines { x: time.clone(), y, series, is_stacked: false, bands: Vec::new() };
        let chart = Chart::new(self.title("Clients"), "clients that had work, as scheduled", plot);
        Some(Chart { is_low: true, ..chart })
    }

    /// Of the server's host, and of it the load's backends: as shares of all processors, or as CPUs if their number or
    /// the host's figures are not known.
    fn cpu_chart(&self, time: &Axis) -> Option<Chart> {
        const HOST: [(&str, &str, Colour); 3] = [
            ("host_busy_share", "all processes", Colour::Run(0)),
            ("host_iowait_share", "waiting for disks", Colour::Run(1)),
            ("host_steal_share", "stolen by the hypervisor", Colour::Bad),
        ];
        let server = self.server.as_ref()?;
        let host = HOST
            .iter()
            .filter_map(|(name, label, colour)| Some(Series::new(*label, *colour, server.points(name)?)));
        let mut series: Vec<Series> = host.collect();
        let backends = |processors: f64| {
            let parts = ["backend_user_cpu_s", "backend_system_cpu_s"].map(|name| server.points(name));
            let mut points = parts[0].clone().or_else(|| parts[1].clone())?;
            if let [Some(_), Some(system)] = &parts {
                points.iter_mut().zip(system).for_each(|(sum, point)| sum.y += point.y);
            }
            points.iter_mut().for_each(|point| point.y /= processors);
            Some(Series { is_dashed: true, ..Series::new("the load's backends", Colour::Run(2), points) })
        };
        let (quantity, caption) = match self.processors.filter(|_| !series.is_empty()) {
            Some(processors) => {
                series.splice(
                    1.min(series.len())..,
                    backends(processors.into()).into_iter().chain(series.clone().into_iter().skip(1)),
                );
                (
                    Quantity::Share,
                    format!("share of the {} of the server's host", processors_in_words(processors)),
                )
            }
            None if series.is_empty() => {
                series.extend(backends(1.0));
                (Quantity::Number, "CPUs that the load's backends kept busy".to_owned())
            }
            None => (Quantity::Share, "share of the processors of the server's host".to_owned()),
        };
        if series.is_empty() {
            return None;
        }
        let y = Axis::new("", quantity);
        let plot = Plot::Lines { x: time.clone(), y, series, is_stacked: false, bands: self.bands() };
        Some(Chart { is_low: true, ..Chart::new(self.title("CPU"), caption, plot) })
    }
}

fn processors_in_words(processors: u32) -> String {
    crate::figures::counted(processors.into(), "processor", "processors")
}

impl ServerOverTime {
    /// A counter or gauge; `None` if it was not seen at all.
    fn points(&self, name: &str) -> Option<Vec<Point>> {
        let values = self.values.get(name)?.iter();
        let times = self.time_s.iter().zip(values);
        Some(times.map(|(time_s, value)| Point::new(*time_s, value.unwrap_or(f64::NAN))).collect())
    }
}
