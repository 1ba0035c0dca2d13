//! The charts of an experiment as one picture: each panel below the one before, with the intervals of its cells and the
//! best of each line marked. What is in them comes from `experiment`; here it gets places and becomes shapes.

use super::panels::{GAP, LEFT, PANEL, Panel as Frame, RIGHT, TITLE_LEN_MAX, WIDTH, bold, text};
use super::png::PngError;
use super::shapes::{Anchor, Colour, GRID, PAGE, QUIET, RUNS, Shape, Sheet, TEXT};
use crate::chart::scale::Scale;
use crate::experiment::{Chart, Line, Marks, Metric, Overview, Panel, Point, Repeated, Stack};
use crate::figures::with_ordinary_spaces;
use crate::prose::{cut, escaped_line};

const MARGIN: f32 = 24.0;
/// Where the first panel begins.
const TOP: f32 = 108.0;
/// What a character of a legend takes, about.
const LEGEND_CHARACTER: f32 = 6.6;
/// A row of a chart of names: the bar of one line.
const BAR: f32 = 17.0;
/// Between the bars of one name and the next.
const BETWEEN_NAMES: f32 = 9.0;
/// Where bars begin, behind the names, and where they end, before the figures.
const BARS_FROM: f32 = 280.0;
const BARS_TO: f32 = WIDTH - 190.0;
/// Characters of a name.
const NAME_LEN_MAX: usize = 36;

/// The charts as one SVG document.
pub fn svg(overview: &Overview) -> String {
    super::svg::written(&sheet(overview))
}

/// The charts as one PNG file.
///
/// # Errors
/// If there is no memory for the picture.
pub fn png(overview: &Overview) -> Result<Vec<u8>, PngError> {
    super::png::drawn(&sheet(overview))
}

fn sheet(overview: &Overview) -> Sheet {
    let mut shapes = Vec::new();
    let title = format!("{} ({})", overview.title, overview.profile);
    shapes.push(bold(MARGIN, 36.0, 20.0, &cut(&title, TITLE_LEN_MAX)));
    let standing = format!("{}.", overview.standing());
    shapes.push(text(MARGIN, 60.0, 13.0, TEXT, &standing));
    let how = overview
        .intervals_in_words()
        .unwrap_or_else(|| "No intervals: each combination ran once.".to_owned());
    shapes.push(text(MARGIN, 79.0, 13.0, QUIET, &how));
    let mut top = TOP;
    for stack in &overview.stacks {
        top = stacked(&mut shapes, top, overview, stack);
    }
    for chart in &overview.charts {
        for panel in &chart.panels {
            top += head(&mut shapes, top, &chart.title, panel);
            top = match &chart.positions {
                Some(positions) => lines(&mut shapes, top, overview, chart, positions, panel),
                None => bars(&mut shapes, top, overview, chart, panel),
            };
        }
    }
    if overview.charts.is_empty() && overview.stacks.is_empty() {
        shapes.push(text(MARGIN, top, 13.0, TEXT, "Nothing was measured that could be drawn."));
        top += 20.0;
    }
    let height = top + 10.0;
    let page = Shape::Rectangle { x: 0.0, y: 0.0, width: WIDTH, height, colour: PAGE, opacity: 1.0 };
    shapes.insert(0, page);
    Sheet { width: WIDTH, height, description: with_ordinary_spaces(&format!("{title}. {standing}")), shapes }
}

/// Titles, and which colour is which line; returns the height of it all.
fn head(shapes: &mut Vec<Shape>, top: f32, title: &str, panel: &Panel) -> f32 {
    shapes.push(bold(MARGIN, top + 16.0, 14.0, &cut(title, TITLE_LEN_MAX)));
    let mut y = top + 34.0;
    if !panel.title.is_empty() {
        shapes.push(text(MARGIN, y, 12.0, TEXT, &cut(&escaped_line(&panel.title), TITLE_LEN_MAX)));
        y += 18.0;
    }
    let mut x = MARGIN;
    for line in panel.lines.iter().filter(|line| !line.label.is_empty()) {
        let name = cut(&escaped_line(&line.label), NAME_LEN_MAX);
        let width = 34.0 + length(&name) * LEGEND_CHARACTER;
        if x + width > WIDTH - RIGHT && x > MARGIN {
            x = MARGIN;
            y += 16.0;
        }
        let colour = colour_of(line);
        shapes.push(Shape::Rectangle { x, y: y - 7.0, width: 11.0, height: 7.0, colour, opacity: 1.0 });
        shapes.push(text(x + 16.0, y, 12.0, QUIET, &name));
        x += width;
    }
    if x > MARGIN {
        y += 18.0;
    }
    let mut x = MARGIN;
    for (sign, (word, present)) in SIGNS.iter().zip(marked(panel)) {
        if present {
            sign_shape(shapes, *sign, x + 6.0, y - 4.0, QUIET);
            shapes.push(text(x + 16.0, y, 12.0, QUIET, word));
            x += 34.0 + length(word) * LEGEND_CHARACTER;
        }
    }
    if x > MARGIN {
        y += 10.0;
    }
    y - top + 8.0
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum Sign {
    Up,
    Down,
    Diamond,
}

const SIGNS: [Sign; 3] = [Sign::Up, Sign::Down, Sign::Diamond];

/// The words of the marks, and whether the panel has them.
fn marked(panel: &Panel) -> [(&'static str, bool); 3] {
    let points = || panel.lines.iter().flat_map(|line| &line.points);
    crate::experiment::MARKS.map(|(_, words, is)| (words, points().any(|point| is(point.marks))))
}

// Characters of a title, at most some hundred.
#[allow(clippy::cast_possible_truncation)]
fn length(text: &str) -> f32 {
    text.chars().count() as f32
}

fn colour_of(line: &Line) -> Colour {
    RUNS[line.colour % RUNS.len()]
}

/// The figure that a chart shows of a cell.
fn figure<'a>(overview: &'a Overview, metric: Metric, point: &Point) -> Option<&'a Repeated> {
    overview.cells[point.cell].figure(metric)
}

fn lines(
    shapes: &mut Vec<Shape>,
    top: f32,
    overview: &Overview,
    chart: &Chart,
    positions: &[f64],
    panel: &Panel,
) -> f32 {
    let (low, high) = panel.ends(overview, chart.metric);
    let (height, bottom) = (PANEL + 40.0, top + PANEL + 40.0);
    let y = if chart.y_log {
        Scale::logarithmic(low / 1.15, high * 1.15, bottom, top)
    } else {
        Scale::linear(0.0, high * 1.08, bottom, top)
    };
    let drawn = panel.lines.iter().flat_map(|line| &line.points).map(|point| positions[point.level]);
    let (from, to) = drawn.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), it| (a.min(it), b.max(it)));
    let x = if chart.x_log {
        Scale::logarithmic(from / 1.1, to * 1.1, LEFT, WIDTH - RIGHT)
    } else {
        let beside = (to - from).max(1e-9) * 0.03;
        Scale::linear(from - beside, to + beside, LEFT, WIDTH - RIGHT)
    };
    let frame = Frame { top, height, x, y };
    let factor = &overview.factors[chart.x];
    let mut taken = f32::NEG_INFINITY;
    let mut levels: Vec<(f64, &String)> = positions.iter().copied().zip(&factor.levels).collect();
    levels.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (position, level) in levels {
        let width = length(level) * LEGEND_CHARACTER;
        let at = frame.x.at(position);
        if (LEFT..=WIDTH - RIGHT).contains(&at) && at - width / 2.0 > taken {
            frame.mark(shapes, position, level);
            taken = at + width / 2.0 + 6.0;
        }
    }
    shapes.push(anchored(WIDTH - RIGHT, bottom + 33.0, Anchor::End, QUIET, &escaped_line(&factor.name)));
    frame.value_axis(shapes, |value| chart.metric.quantity().tick(value));
    for line in &panel.lines {
        let place = |point: &Point| {
            let it = figure(overview, chart.metric, point)?;
            Some((frame.x.at(positions[point.level]), it, point.marks))
        };
        let mut points: Vec<_> = line.points.iter().filter_map(place).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let colour = colour_of(line);
        let through = points.iter().map(|(x, it, _)| (*x, frame.y.at(it.mean).min(bottom))).collect();
        shapes.push(Shape::Line { points: through, colour, width: 1.8 });
        for (x, it, marks) in points {
            let clamped = |value: f64| frame.y.at(value).clamp(top, bottom);
            if let Some((from, to)) = it.interval {
                whisker(shapes, (x, clamped(from)), (x, clamped(to)), colour);
            }
            let y = clamped(it.mean);
            shapes.push(dot(x, y, 3.4, colour));
            signs(shapes, marks, x, y - 13.0, colour);
        }
    }
    bottom + GAP
}

/// Of a factor whose levels are names: a bar for each, from 0; on a logarithmic axis, which has no 0, a dot.
fn bars(shapes: &mut Vec<Shape>, top: f32, overview: &Overview, chart: &Chart, panel: &Panel) -> f32 {
    let (low, high) = panel.ends(overview, chart.metric);
    let x = if chart.y_log {
        Scale::logarithmic(low / 1.3, high * 1.05, BARS_FROM, BARS_TO)
    } else {
        Scale::linear(0.0, high * 1.02, BARS_FROM, BARS_TO)
    };
    let mut y = top + 8.0;
    let begin = y;
    for (level, name) in overview.factors[chart.x].levels.iter().enumerate() {
        let of_level = panel.lines.iter().filter_map(|line| {
            let point = line.points.iter().find(|point| point.level == level)?;
            Some((line, point, figure(overview, chart.metric, point)?))
        });
        let first = y;
        for (line, point, it) in of_level {
            let (colour, middle) = (colour_of(line), y + BAR / 2.0 - 1.0);
            let end = x.at(it.mean).clamp(BARS_FROM, BARS_TO);
            if chart.y_log {
                shapes.push(Shape::Line {
                    points: vec![(BARS_FROM, middle), (BARS_TO, middle)],
                    colour: GRID,
                    width: 1.0,
                });
                shapes.push(dot(end, middle, 4.0, colour));
            } else {
                let (width, height) = ((end - BARS_FROM).max(1.0), BAR - 3.0);
                shapes.push(Shape::Rectangle { x: BARS_FROM, y, width, height, colour, opacity: 0.72 });
            }
            if let Some((from, to)) = it.interval {
                let at = |value: f64| (x.at(value).clamp(BARS_FROM, BARS_TO + 8.0), middle);
                whisker(shapes, at(from), at(to), TEXT);
            }
            let shown = crate::experiment::with_interval(Some(it), chart.metric.quantity());
            shapes.push(anchored(WIDTH - RIGHT, y + 11.0, Anchor::End, TEXT, &shown));
            // Before the figure, as many as there are.
            let number = crate::experiment::MARKS.iter().filter(|(.., is)| is(point.marks)).count();
            let room =
                length(&shown) * LEGEND_CHARACTER + 12.0 * f32::from(u8::try_from(number).unwrap_or(0));
            signs(shapes, point.marks, WIDTH - RIGHT - room, middle, colour);
            y += BAR;
        }
        if y > first {
            let name = cut(&escaped_line(name), NAME_LEN_MAX);
            shapes.push(anchored(BARS_FROM - 10.0, first + 11.0, Anchor::End, TEXT, &name));
            y += BETWEEN_NAMES;
        }
    }
    shapes.push(Shape::Line {
        points: vec![(BARS_FROM, begin - 4.0), (BARS_FROM, y - BETWEEN_NAMES + 2.0)],
        colour: QUIET,
        width: 1.0,
    });
    y + 16.0
}

/// A bar for each cell, of which each step is a part.
fn stacked(shapes: &mut Vec<Shape>, top: f32, overview: &Overview, stack: &Stack) -> f32 {
    let line = |(colour, label): (usize, &String)| Line {
        label: label.clone(),
        colour,
        host: 0,
        points: Vec::new(),
    };
    let lines = stack.steps.iter().enumerate().map(line).collect();
    let mut y = top + head(shapes, top, &stack.title, &Panel { title: String::new(), lines }) + 8.0;
    let x = Scale::linear(0.0, stack.longest() * 1.02, BARS_FROM, BARS_TO);
    for (cell, parts) in &stack.rows {
        let mut sum = 0.0;
        for (step, figure) in parts.iter().enumerate() {
            let from = x.at(sum);
            sum += figure;
            let (width, height, colour) = (x.at(sum) - from, BAR - 3.0, RUNS[step % RUNS.len()]);
            shapes.push(Shape::Rectangle { x: from, y, width, height, colour, opacity: 0.85 });
        }
        let name = cut(&escaped_line(&overview.label(*cell)), NAME_LEN_MAX);
        shapes.push(anchored(BARS_FROM - 10.0, y + 11.0, Anchor::End, TEXT, &name));
        let total = overview.cells[*cell].figure(stack.metric);
        let shown = crate::experiment::with_interval(total, stack.metric.quantity());
        shapes.push(anchored(WIDTH - RIGHT, y + 11.0, Anchor::End, TEXT, &shown));
        y += BAR + 4.0;
    }
    y + 16.0
}

fn anchored(x: f32, y: f32, anchor: Anchor, colour: Colour, words: &str) -> Shape {
    Shape::Text { x, y, size: 12.0, bold: false, anchor, colour, text: with_ordinary_spaces(words) }
}

/// An interval, with a stroke across each end.
fn whisker(shapes: &mut Vec<Shape>, from: (f32, f32), to: (f32, f32), colour: Colour) {
    const ACROSS: f32 = 3.5;
    let upright = (from.0 - to.0).abs() < (from.1 - to.1).abs();
    shapes.push(Shape::Line { points: vec![from, to], colour, width: 1.2 });
    for (x, y) in [from, to] {
        let points = if upright {
            vec![(x - ACROSS, y), (x + ACROSS, y)]
        } else {
            vec![(x, y - ACROSS), (x, y + ACROSS)]
        };
        shapes.push(Shape::Line { points, colour, width: 1.2 });
    }
}

/// A circle, as good as one of 16 corners is.
fn dot(x: f32, y: f32, radius: f32, colour: Colour) -> Shape {
    let corner = |number: u8| {
        let angle = f32::from(number) / 16.0 * std::f32::consts::TAU;
        (x + radius * angle.cos(), y + radius * angle.sin())
    };
    Shape::Polygon { points: (0..16).map(corner).collect(), colour }
}

/// The marks of a cell, beside each other, the first at `x`.
fn signs(shapes: &mut Vec<Shape>, marks: Marks, x: f32, y: f32, colour: Colour) {
    const STEP: f32 = 12.0;
    let present: Vec<Sign> = SIGNS
        .iter()
        .zip(crate::experiment::MARKS)
        .filter(|(_, (.., is))| is(marks))
        .map(|(sign, _)| *sign)
        .collect();
    let mut at = x;
    for sign in present {
        sign_shape(shapes, sign, at, y, colour);
        at += STEP;
    }
}

fn sign_shape(shapes: &mut Vec<Shape>, sign: Sign, x: f32, y: f32, colour: Colour) {
    const SIZE: f32 = 4.8;
    let points = match sign {
        Sign::Up => vec![(x, y - SIZE), (x + SIZE, y + SIZE * 0.8), (x - SIZE, y + SIZE * 0.8)],
        Sign::Down => vec![(x, y + SIZE), (x + SIZE, y - SIZE * 0.8), (x - SIZE, y - SIZE * 0.8)],
        Sign::Diamond => vec![(x, y - SIZE), (x + SIZE, y), (x, y + SIZE), (x - SIZE, y)],
    };
    shapes.push(Shape::Polygon { points, colour });
}
