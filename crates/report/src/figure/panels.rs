//! The sheet: what is in the picture and where. A title with the figures that are quoted, then panels that share the
//! axis of time, and the percentile plot below them.

use results::{EventKind, Stall};

use super::shapes::{
    AUTOVACUUM, Anchor, CHECKPOINT, Colour, GRID, HEAT, LOCK_QUEUE, PAGE, QUANTILES, QUIET, RUNS, STALL,
    Shape, Sheet, TEXT,
};
use crate::Run;
use crate::chart::runs::{
    LatencyCounts as Heat, LatencyRows, POINTS_MAX, Quantiles, Timeline, TimelinePoint as Point,
    percentile_points,
};
use crate::chart::scale::Scale;
use crate::figures::{as_asked, asked_latency, with_ordinary_spaces};
use crate::prose::cut;
use crate::run::letter;
use crate::sections::{self, Headline};

pub(super) const WIDTH: f32 = 1_000.0;
pub(super) const LEFT: f32 = 76.0;
pub(super) const RIGHT: f32 = 24.0;
const TOP: f32 = 126.0;
pub(super) const PANEL: f32 = 170.0;
/// Between panels: the axis of the one, the title of the other.
pub(super) const GAP: f32 = 62.0;
/// Runs of which a legend has room.
const LEGEND_MAX: usize = 8;
/// Characters of a title.
pub(super) const TITLE_LEN_MAX: usize = 84;

/// A place for marks.
pub(super) struct Panel {
    pub(super) top: f32,
    pub(super) height: f32,
    pub(super) x: Scale,
    pub(super) y: Scale,
}

/// The picture of one run or several.
pub(super) fn sheet(runs: &[Run<'_>]) -> Sheet {
    let rows = LatencyRows::for_all(runs.iter().map(|run| run.record));
    let timelines: Vec<Timeline> =
        runs.iter().map(|run| Timeline::of(run.record, POINTS_MAX, rows)).collect();
    let mut shapes = Vec::new();
    let description = title(&mut shapes, runs);
    let mut top = TOP;
    let has_time = timelines.iter().any(|timeline| !timeline.points.is_empty());
    if has_time {
        throughput(&mut shapes, top, runs, &timelines);
        top += PANEL + GAP;
        response(&mut shapes, top, runs, &timelines);
        top += PANEL + GAP;
        if let ([_], [timeline]) = (runs, &timelines[..]) {
            heat(&mut shapes, top, &timeline.heat, end_of(&timelines));
            top += PANEL + GAP;
        }
        percentiles(&mut shapes, top, runs, &timelines);
        top += PANEL + GAP;
    }
    let height = if has_time { top - GAP + 44.0 } else { TOP + 20.0 };
    let page = Shape::Rectangle { x: 0.0, y: 0.0, width: WIDTH, height, colour: PAGE, opacity: 1.0 };
    shapes.insert(0, page);
    Sheet { width: WIDTH, height, description, shapes }
}

pub(super) fn text(x: f32, y: f32, size: f32, colour: Colour, text: &str) -> Shape {
    let text = with_ordinary_spaces(text);
    Shape::Text { x, y, size, bold: false, anchor: Anchor::Start, colour, text }
}

pub(super) fn bold(x: f32, y: f32, size: f32, words: &str) -> Shape {
    Shape::Text {
        x,
        y,
        size,
        bold: true,
        anchor: Anchor::Start,
        colour: TEXT,
        text: with_ordinary_spaces(words),
    }
}

/// What is said of the picture; it is drawn at the top too.
fn title(shapes: &mut Vec<Shape>, runs: &[Run<'_>]) -> String {
    const MARGIN: f32 = 24.0;
    let (title, figures, below) = match runs {
        [run] => {
            let Headline { tps, interval, quantiles, limit, .. } = sections::headline(run.record);
            let title = format!("{} on {}, {}", run.scripts(), run.server(), run.load_in_short());
            let quantiles: Vec<_> = quantiles.iter().map(|(name, value)| format!("{name} {value}")).collect();
            (title, format!("{tps} tps   {interval}"), format!("{}   {limit}", quantiles.join("   ")))
        }
        several => {
            let compared = sections::comparison(several);
            let sentence = |run: &sections::ComparedRun| {
                run.tps_difference.as_ref().and_then(|told| told.sentence.clone())
            };
            let told: Vec<_> = compared.iter().filter_map(sentence).take(2).collect();
            let mut told = told.into_iter();
            let (first, second) = (told.next().unwrap_or_default(), told.next().unwrap_or_default());
            (format!("{} runs side by side", several.len()), first, second)
        }
    };
    shapes.push(bold(MARGIN, 36.0, 20.0, &cut(&title, TITLE_LEN_MAX)));
    shapes.push(text(MARGIN, 60.0, 13.0, TEXT, &figures));
    shapes.push(text(MARGIN, 79.0, 13.0, QUIET, &below));
    with_ordinary_spaces(&format!("{title}. {figures}. {below}"))
}

fn end_of(timelines: &[Timeline]) -> f64 {
    let ends = timelines.iter().filter_map(|timeline| timeline.points.last()).map(|point| point.end_s);
    ends.fold(0.0, f64::max)
}

fn throughput(shapes: &mut Vec<Shape>, top: f32, runs: &[Run<'_>], timelines: &[Timeline]) {
    let most =
        timelines.iter().flat_map(|timeline| &timeline.points).map(|point| point.tps).fold(0.0, f64::max);
    let y = Scale::linear(0.0, most * 1.08, top + PANEL, top);
    let panel = Panel { top, height: PANEL, x: time_scale(timelines), y };
    let legend = if runs.len() > 1 { run_legend(runs) } else { event_legend(runs) };
    panel.frame(shapes, "Throughput", "transactions per second", &legend);
    panel.time_axis(shapes);
    panel.value_axis(shapes, as_asked);
    panel.events(shapes, runs);
    for (at, timeline) in timelines.iter().enumerate() {
        panel.line(shapes, &timeline.points, RUNS[at % RUNS.len()], |point| Some(point.tps));
    }
}

/// What a line is called, and what of the percentiles it shows.
type Line = (&'static str, fn(&Quantiles) -> f64);

fn response(shapes: &mut Vec<Shape>, top: f32, runs: &[Run<'_>], timelines: &[Timeline]) {
    const ALL: [Line; 5] = [
        ("median", |it| it.p50),
        ("p95", |it| it.p95),
        ("p99", |it| it.p99),
        ("p99.9", |it| it.p999),
        ("max", |it| it.max),
    ];
    let several = runs.len() > 1;
    let quantiles = || timelines.iter().flat_map(|it| &it.points).filter_map(|point| point.quantiles);
    let low = quantiles().map(|it| if several { it.p99 } else { it.p50 }).fold(f64::INFINITY, f64::min);
    let high = quantiles().map(|it| if several { it.p99 } else { it.max }).fold(0.0, f64::max);
    let y = Scale::logarithmic(low / 1.15, high * 1.15, top + PANEL, top);
    let panel = Panel { top, height: PANEL, x: time_scale(timelines), y };
    let legend: Vec<(String, Colour)> = if several {
        run_legend(runs)
    } else {
        ALL.iter().zip(QUANTILES).map(|((name, _), colour)| ((*name).to_owned(), colour)).collect()
    };
    let how = if several { "p99, logarithmic" } else { "percentiles, logarithmic" };
    panel.frame(shapes, "Response time", how, &legend);
    panel.time_axis(shapes);
    panel.value_axis(shapes, asked_latency);
    panel.events(shapes, runs);
    for (at, timeline) in timelines.iter().enumerate() {
        if several {
            let colour = RUNS[at % RUNS.len()];
            panel.line(shapes, &timeline.points, colour, |point| Some(point.quantiles?.p99));
            continue;
        }
        for ((_, of), colour) in ALL.iter().zip(QUANTILES).rev() {
            panel.line(shapes, &timeline.points, colour, |point| point.quantiles.as_ref().map(of));
        }
    }
}

fn heat(shapes: &mut Vec<Shape>, top: f32, heat: &Heat, end_s: f64) {
    let edges = heat.rows.edges_us();
    let (Some(&low), Some(&high)) = (edges.first(), edges.last()) else { return };
    let y = Scale::logarithmic(low, high, top + PANEL, top);
    let panel = Panel { top, height: PANEL, x: Scale::linear(0.0, end_s, LEFT, WIDTH - RIGHT), y };
    panel.frame(shapes, "Latency distribution over time", "darker: more of them, logarithmic", &[]);
    panel.time_axis(shapes);
    panel.value_axis(shapes, asked_latency);
    let most = heat.columns.iter().flat_map(|column| &column.counts).copied().max().unwrap_or(0);
    for column in &heat.columns {
        let (from, to) = (panel.x.at(column.start_s), panel.x.at(column.end_s));
        let cells = column.counts.iter().zip(edges.windows(2)).filter(|(count, _)| **count > 0);
        for (count, edges) in cells {
            let (lower, upper) = (panel.y.at(edges[0]), panel.y.at(edges[1]));
            shapes.push(Shape::Rectangle {
                x: from,
                y: upper,
                width: (to - from).max(0.5),
                height: (lower - upper).max(0.5),
                colour: shade(*count, most),
                opacity: 1.0,
            });
        }
    }
}

// An index below the number of shades.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn shade(count: u64, most: u64) -> Colour {
    let share = (count as f64).ln_1p() / (most.max(1) as f64).ln_1p();
    HEAT[((share * HEAT.len() as f64) as usize).min(HEAT.len() - 1)]
}

fn percentiles(shapes: &mut Vec<Shape>, top: f32, runs: &[Run<'_>], timelines: &[Timeline]) {
    const MARKS: [(f64, &str); 6] =
        [(2.0, "p50"), (10.0, "p90"), (20.0, "p95"), (100.0, "p99"), (1e3, "p99.9"), (1e4, "p99.99")];
    let curves: Vec<_> = timelines.iter().map(|timeline| percentile_points(&timeline.response)).collect();
    let all = || curves.iter().flatten().map(|point| point.us);
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    let x = Scale::logarithmic(1.0, 1e4, LEFT, WIDTH - RIGHT - 20.0);
    let panel =
        Panel { top, height: PANEL, x, y: Scale::logarithmic(low / 1.15, high * 1.15, top + PANEL, top) };
    let legend = if runs.len() > 1 { run_legend(runs) } else { Vec::new() };
    panel.frame(shapes, "Percentiles of the response time", "both axes logarithmic", &legend);
    panel.value_axis(shapes, asked_latency);
    for (tail, name) in MARKS {
        panel.mark(shapes, tail, name);
    }
    for (at, curve) in curves.iter().enumerate().filter(|(_, curve)| curve.len() > 1) {
        let points = curve.iter().map(|point| (panel.x.at(point.tail), panel.y.at(point.us))).collect();
        shapes.push(Shape::Line { points, colour: RUNS[at % RUNS.len()], width: 2.0 });
    }
}

fn time_scale(timelines: &[Timeline]) -> Scale {
    Scale::linear(0.0, end_of(timelines), LEFT, WIDTH - RIGHT)
}

fn run_legend(runs: &[Run<'_>]) -> Vec<(String, Colour)> {
    let item = |(at, run): (usize, &Run<'_>)| {
        let name = cut(&crate::prose::escaped_line(run.name), 24);
        (format!("{} {name}", letter(at)), RUNS[at % RUNS.len()])
    };
    runs.iter().enumerate().take(LEGEND_MAX).map(item).collect()
}

/// The kinds of events that are marked.
fn event_legend(runs: &[Run<'_>]) -> Vec<(String, Colour)> {
    let observations = runs.iter().filter_map(|run| run.record.observation.as_ref());
    let mut kinds: Vec<EventKind> = Vec::new();
    for event in observations.flat_map(|observation| &observation.events) {
        if !kinds.contains(&event.kind) {
            kinds.push(event.kind);
        }
    }
    let has_stalls = runs.iter().any(|run| !stalls(run).is_empty());
    let stall = has_stalls.then(|| (sections::STALL.to_owned(), STALL));
    let kinds = kinds.into_iter().map(|kind| (sections::event_name(kind).to_owned(), event_colour(kind)));
    kinds.chain(stall).collect()
}

/// The stretches that are marked because nothing was completed in them.
fn stalls<'a>(run: &Run<'a>) -> &'a [Stall] {
    run.record.summary.stalls.as_ref().map_or(&[], |stalls| &stalls.longest)
}

fn event_colour(kind: EventKind) -> Colour {
    match kind {
        EventKind::Checkpoint => CHECKPOINT,
        EventKind::Autovacuum => AUTOVACUUM,
        EventKind::LockQueue => LOCK_QUEUE,
    }
}

impl Panel {
    /// Title, how to read it, and which line is which.
    pub(super) fn frame(&self, shapes: &mut Vec<Shape>, title: &str, how: &str, legend: &[(String, Colour)]) {
        // About what a character of these sizes takes.
        const TITLE_CHARACTER: f32 = 7.6;
        const LEGEND_CHARACTER: f32 = 6.6;
        // Characters of a title, at most some hundred.
        #[allow(clippy::cast_possible_truncation)]
        let length = |text: &str| text.chars().count() as f32;
        shapes.push(bold(LEFT, self.top - 14.0, 14.0, title));
        shapes.push(text(LEFT + length(title) * TITLE_CHARACTER + 8.0, self.top - 14.0, 12.0, QUIET, how));
        let mut x = WIDTH - RIGHT;
        for (name, colour) in legend.iter().rev() {
            x -= length(name) * LEGEND_CHARACTER;
            shapes.push(text(x, self.top - 14.0, 12.0, QUIET, name));
            x -= 16.0;
            let y = self.top - 21.0;
            shapes.push(Shape::Rectangle { x, y, width: 11.0, height: 7.0, colour: *colour, opacity: 1.0 });
            x -= 12.0;
        }
    }

    fn time_axis(&self, shapes: &mut Vec<Shape>) {
        for tick in self.x.ticks(10) {
            self.mark(shapes, tick, &format!("{} s", as_asked(tick)));
        }
    }

    /// A line upwards, and a word below it.
    pub(super) fn mark(&self, shapes: &mut Vec<Shape>, value: f64, word: &str) {
        let (x, bottom) = (self.x.at(value), self.top + self.height);
        shapes.push(Shape::Line { points: vec![(x, self.top), (x, bottom)], colour: GRID, width: 1.0 });
        let (y, text) = (bottom + 17.0, word.to_owned());
        shapes.push(Shape::Text {
            x,
            y,
            size: 11.0,
            bold: false,
            anchor: Anchor::Middle,
            colour: QUIET,
            text,
        });
    }

    pub(super) fn value_axis(&self, shapes: &mut Vec<Shape>, write: impl Fn(f64) -> String) {
        for tick in self.y.ticks(5) {
            let y = self.y.at(tick);
            let points = vec![(LEFT, y), (WIDTH - RIGHT, y)];
            shapes.push(Shape::Line { points, colour: GRID, width: 1.0 });
            shapes.push(Shape::Text {
                x: LEFT - 8.0,
                y: y + 4.0,
                size: 11.0,
                bold: false,
                anchor: Anchor::End,
                colour: QUIET,
                text: with_ordinary_spaces(&write(tick)),
            });
        }
    }

    /// Of one run; of several nobody would know whose they are.
    fn events(&self, shapes: &mut Vec<Shape>, runs: &[Run<'_>]) {
        let [run] = runs else { return };
        let (left, right) = (LEFT, WIDTH - RIGHT);
        for stall in stalls(run) {
            let [from, to] = [stall.start_s, stall.end_s].map(|at| self.x.at(at).clamp(left, right));
            let (x, y, width) = (from, self.top, (to - from).max(2.0));
            shapes.push(Shape::Rectangle { x, y, width, height: PANEL, colour: STALL, opacity: 0.16 });
            shapes.push(Shape::Rectangle { x, y, width, height: 4.0, colour: STALL, opacity: 1.0 });
        }
        for event in run.record.observation.iter().flat_map(|observation| &observation.events) {
            let from = self.x.at(event.start_s).clamp(left, right);
            let to = event.end_s.map_or(right, |end_s| self.x.at(end_s)).clamp(left, right);
            let colour = event_colour(event.kind);
            let (x, y, width) = (from, self.top, (to - from).max(2.0));
            // Lock queues may come and go all the time: they are a strip at the top, and hide nothing.
            if event.kind != EventKind::LockQueue {
                shapes.push(Shape::Rectangle { x, y, width, height: PANEL, colour, opacity: 0.16 });
            }
            shapes.push(Shape::Rectangle { x, y, width, height: 4.0, colour, opacity: 1.0 });
        }
    }

    /// A line through all points that have a value; it is broken where they have none.
    fn line(
        &self,
        shapes: &mut Vec<Shape>,
        points: &[Point],
        colour: Colour,
        of: impl Fn(&Point) -> Option<f64>,
    ) {
        for stretch in points.split(|point| of(point).is_none()).filter(|stretch| !stretch.is_empty()) {
            let place = |point: &Point| Some((self.x.at(point.time_s()), self.y.at(of(point)?)));
            let points: Vec<_> = stretch.iter().filter_map(place).collect();
            shapes.push(Shape::Line { points, colour, width: 1.6 });
        }
    }
}
