//! An experiment as text for a terminal: what was varied, a table of throughput and latency, one of costs and waits,
//! what to know before believing them. Shown by `cli` on request and at the end of an experiment.

use super::said::{MARKS_TOLD, against, interval, limits_in_words, signs, step_grid};
use super::{Metric, Overview, Repeated, top_waits};
use crate::TextStyle;
use crate::figures::untied;
use crate::prose::{Emphasis, cut, emphasise, wrap};
use crate::table::{Cells, Side, fits, laid_out, padded, titled, width};

const INDENT: usize = 2;
/// Trials that came to nothing are listed so far; the page has all.
const LOST_SHOWN_MAX: usize = 20;
/// Of waits no less is shown, if any.
const WAITS_LEN_MIN: usize = 21;
/// The longest name of a combination.
const LABEL_LEN_MAX: usize = 48;

/// The whole, several paragraphs.
pub fn text(overview: &Overview, style: &TextStyle) -> String {
    let strong = |text: &str| emphasise(text, Emphasis::Strong, style);
    let mut out =
        format!("{}: {}\n", strong(&format!("{} ({})", overview.name, overview.profile)), overview.title);
    out += &paragraph(&format!("{}.", overview.standing()), style);
    out.push('\n');
    out += &table(speed(overview), style);
    out.push('\n');
    if overview.charts.first().is_some_and(has_marks) {
        out += &paragraph(MARKS_TOLD, style);
    }
    for sentence in overview.base_in_words().into_iter().chain(overview.intervals_in_words()) {
        out += &paragraph(&sentence, style);
    }
    let by_subtraction = overview.costs_in_words();
    if !by_subtraction.is_empty() {
        out += &format!("\n{}\n", strong("by subtraction"));
        by_subtraction.iter().for_each(|it| out += &paragraph(&format!("{}: {}", it.label, it.value), style));
    }
    let costs = costs(overview, style);
    if costs.len() > 1 {
        out.push('\n');
        out += &table(costs, style);
    }
    limits_in_words(overview).iter().for_each(|told| out += &paragraph(told, style));
    if !overview.concerns.is_empty() {
        out += &format!("\n{}\n", emphasise("before believing the figures", Emphasis::Caution, style));
        overview.concerns.iter().for_each(|concern| out += &paragraph(concern, style));
    }
    let lost = overview.lost();
    if !lost.is_empty() {
        out += &format!("\n{}\n", strong("not in the figures"));
        lost.iter().take(LOST_SHOWN_MAX).for_each(|lost| out += &paragraph(lost, style));
        if lost.len() > LOST_SHOWN_MAX {
            out += &paragraph(&format!("… and {} more", lost.len() - LOST_SHOWN_MAX), style);
        }
    }
    out += &format!("\npage with charts: {}\n", overview.page_command());
    untied(&out)
}

fn has_marks(chart: &super::Chart) -> bool {
    let mut points = chart.panels.iter().flat_map(|panel| &panel.lines).flat_map(|line| &line.points);
    points.any(|point| point.marks.any())
}

fn paragraph(text: &str, style: &TextStyle) -> String {
    format!("  {}\n", wrap(text, INDENT, INDENT, style.width))
}

/// As many columns as there is room for; what is most worth knowing stands first.
fn table(mut columns: Vec<Cells>, style: &TextStyle) -> String {
    while columns.len() > 2 && !fits(&columns, INDENT, style) {
        columns.pop();
    }
    laid_out(columns, INDENT, style)
}

/// The names of the cells, their factors above them.
fn labels(overview: &Overview) -> Cells {
    let names: Vec<&str> = overview.factors.iter().map(|factor| factor.name.as_str()).collect();
    let title = cut(&names.join(", "), LABEL_LEN_MAX);
    let label = |cell| cut(&overview.label(cell), LABEL_LEN_MAX);
    padded(std::iter::once(title).chain((0..overview.cells.len()).map(label)).collect(), Side::Left)
}

fn column(overview: &Overview, title: &str, of: impl Fn(usize) -> String) -> Cells {
    titled(title, (0..overview.cells.len()).map(of).collect())
}

fn left(overview: &Overview, title: &str, of: impl Fn(usize) -> String) -> Cells {
    let cells = (0..overview.cells.len()).map(of);
    padded(std::iter::once(title.to_owned()).chain(cells).collect(), Side::Left)
}

fn figure(overview: &Overview, metric: Metric) -> impl Fn(usize) -> String {
    move |cell| {
        let figure = overview.cells[cell].figure(metric);
        figure.map_or_else(|| "-".to_owned(), |figure| metric.quantity().shown(figure.mean))
    }
}

/// Who is compared with whom, and how fast all are; of steps, how long they took.
fn speed(overview: &Overview) -> Vec<Cells> {
    let main = overview.main();
    let sure = |cell: usize| {
        let figure: Option<&Repeated> = overview.cells[cell].figure(main);
        figure.map_or(String::new(), interval)
    };
    let mut columns = vec![labels(overview)];
    if overview.charts.first().is_some_and(has_marks) {
        columns.push(left(overview, "", |cell| signs(overview.marks(cell))));
    }
    let title = match main {
        Metric::Tps => "tps",
        Metric::Operations => "operations/s",
        other => other.title(),
    };
    columns.push(column(overview, title, figure(overview, main)));
    columns.push(left(overview, "", sure));
    if overview.base_in_words().is_some() {
        columns.push(left(overview, "ratio (95 %)", |cell| against(overview, cell)));
    }
    if overview.has_batches() {
        columns.push(column(overview, "tps", figure(overview, Metric::Tps)));
    }
    let rest: &[(&str, Metric)] = if overview.has_steps() {
        &[("WAL", Metric::WalBytes), ("server CPU", Metric::ServerCpu)]
    } else {
        &[("mean", Metric::Mean), ("p99", Metric::P99), ("stddev", Metric::Stddev), ("p50", Metric::P50)]
    };
    columns.extend(rest.iter().map(|(title, metric)| column(overview, title, figure(overview, *metric))));
    columns
}

/// What a transaction cost, and what the backends did; of steps, each of them.
fn costs(overview: &Overview, style: &TextStyle) -> Vec<Cells> {
    if overview.has_steps() {
        return steps(overview);
    }
    let mut columns = vec![labels(overview)];
    for (title, metric) in [
        ("failed", Metric::Failed),
        ("late", Metric::Late),
        ("WAL/tx", Metric::WalBytes),
        ("server CPU/tx", Metric::ServerCpu),
    ] {
        if overview.has(metric) {
            columns.push(column(overview, title, figure(overview, metric)));
        }
    }
    if overview.cells.iter().any(|cell| !cell.waits.is_empty()) {
        let room = style.width.saturating_sub(INDENT + width(&columns)).max(WAITS_LEN_MIN);
        let waits = |cell: usize| cut(&untied(&top_waits(&overview.cells[cell])), room);
        columns.push(left(overview, "what the backends did", waits));
    }
    columns
}

fn steps(overview: &Overview) -> Vec<Cells> {
    let grid = step_grid(overview);
    let column = |at: usize| grid.rows.iter().map(|row| untied(&row[at])).collect::<Cells>();
    let named = |at: usize, title: &str| {
        padded(std::iter::once(title.to_owned()).chain(column(at)).collect(), Side::Left)
    };
    let titles = grid.columns.iter().enumerate();
    titles.map(|(at, title)| if at < 2 { named(at, title) } else { titled(title, column(at)) }).collect()
}
