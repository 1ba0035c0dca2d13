//! An experiment as text for a terminal: what was varied, a table of throughput and latency, one of costs and waits,
//! what to know before believing them. Shown by `cli` on request and at the end of an experiment.

use super::said::{IF_ANY, OF_EVERY_LOAD, against, interval, limits_in_words, signs, step_grid};
use super::{Metric, Overview, top_waits};
use crate::TextStyle;
use crate::figures::with_ordinary_spaces;
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
    let sentences = [
        overview.marks_told(),
        Some(overview.ratios_in_words()).filter(|it| !it.is_empty()),
        overview.intervals_in_words(),
    ];
    for sentence in sentences.into_iter().flatten().chain(overview.left_out()) {
        out += &paragraph(&sentence, style);
    }
    for (heading, facts) in overview.contrasts_in_words() {
        out += &format!("\n{}\n", strong(&heading));
        facts.iter().for_each(|it| out += &paragraph(&format!("{}: {}", it.label, it.value), style));
    }
    let costs = costs(overview, style);
    if costs.len() > 1 {
        out.push('\n');
        out += &table(costs, style);
    }
    for sentence in overview.step_ratios_in_words().into_iter().chain(limits_in_words(overview)) {
        out += &paragraph(&sentence, style);
    }
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
    with_ordinary_spaces(&out)
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

/// The figures, titled, and how sure they are, if there are repeats to say so.
fn figures(overview: &Overview, metric: Metric, with_intervals: bool) -> Vec<Cells> {
    let sure = |cell: usize| overview.cells[cell].figure(metric).map_or(String::new(), interval);
    let mut columns = vec![column(overview, metric.short(overview.has_steps()), figure(overview, metric))];
    if with_intervals && (0..overview.cells.len()).any(|cell| !sure(cell).is_empty()) {
        columns.push(left(overview, "", sure));
    }
    columns
}

/// What stands in the first table, behind the figure in which cells are compared.
fn of_first_table(overview: &Overview) -> Vec<Metric> {
    if overview.has_steps() {
        return overview.shown(&[Metric::WalBytes, Metric::ServerCpu]);
    }
    let [mean, stddev, median, p99] = OF_EVERY_LOAD;
    let batches = overview.has_batches().then_some(Metric::Tps);
    overview.shown(&batches.into_iter().chain([mean, p99, stddev, median]).collect::<Vec<_>>())
}

/// Who is compared with whom, and how fast all are; of steps, how long they took.
fn speed(overview: &Overview) -> Vec<Cells> {
    let mut columns = vec![labels(overview)];
    if overview.marks_told().is_some() {
        columns.push(left(overview, "", |cell| signs(overview.marks(cell))));
    }
    columns.extend(figures(overview, overview.main(), true));
    if overview.has_ratios() {
        columns.push(left(overview, super::said::RATIO_TO_BASE, |cell| against(overview, cell)));
    }
    for metric in of_first_table(overview) {
        columns.extend(figures(overview, metric, overview.is_drawn(metric)));
    }
    columns
}

/// What a transaction cost, and what the backends did; of steps, each of them.
fn costs(overview: &Overview, style: &TextStyle) -> Vec<Cells> {
    if overview.has_steps() {
        return steps(overview);
    }
    let mut columns = vec![labels(overview)];
    let told = of_first_table(overview);
    for metric in IF_ANY.into_iter().filter(|metric| overview.has(*metric) && !told.contains(metric)) {
        columns.extend(figures(overview, metric, false));
    }
    if overview.cells.iter().any(|cell| !cell.waits.is_empty()) {
        let room = style.width.saturating_sub(INDENT + width(&columns)).max(WAITS_LEN_MIN);
        let waits = |cell: usize| cut(&with_ordinary_spaces(&top_waits(&overview.cells[cell])), room);
        columns.push(left(overview, "what the backends did", waits));
    }
    columns
}

fn steps(overview: &Overview) -> Vec<Cells> {
    let grid = step_grid(overview);
    let column = |at: usize| grid.rows.iter().map(|row| with_ordinary_spaces(&row[at])).collect::<Cells>();
    let named = |at: usize, title: &str| {
        padded(std::iter::once(title.to_owned()).chain(column(at)).collect(), Side::Left)
    };
    let titles = grid.columns.iter().enumerate();
    titles.map(|(at, title)| if at < 2 { named(at, title) } else { titled(title, column(at)) }).collect()
}
