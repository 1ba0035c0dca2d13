//! How a table of figures is laid out: points under points, and as wide as the terminal. It gives up gaps, then
//! decimals, then letters of labels to fit. What is in the cells is the business of the tables that use it.

use crate::TextStyle;
use crate::figures::fixed;
use crate::prose::{Emphasis, cut, emphasise};

/// Blanks between columns: if there is room, if there is not, and if nothing else helps.
const GAPS: [usize; 3] = [3, 2, 1];

/// Labels are not cut below this, even in a narrow terminal.
const LABEL_LEN_MIN: usize = 12;

/// A title and the cells under it, all of one length.
pub(crate) type Cells = Vec<String>;

/// The lines of a table that `columns` makes with so many decimals or fewer, each after `indent` blanks. The first
/// column is of labels.
pub(crate) fn fitted(
    columns: impl Fn(usize) -> Vec<Cells>,
    decimals: usize,
    indent: usize,
    style: &TextStyle,
) -> String {
    let [roomy, tight, tightest] = GAPS;
    let fewer_decimals = (0..decimals).rev().map(|decimals| (tight, decimals));
    let attempts = [(roomy, decimals), (tight, decimals)].into_iter().chain(fewer_decimals);
    let room = style.width.saturating_sub(indent);
    let (gap, mut columns) = attempts
        .map(|(gap, decimals)| (gap, columns(decimals)))
        .find(|(gap, columns)| len(columns, *gap) <= room)
        .unwrap_or_else(|| (tightest, columns(0)));
    cut_labels(&mut columns, gap, room);
    lines(&columns, gap, indent, style)
}

/// Whether these columns have room in a line, with a gap between them that can be seen.
pub(crate) fn fits(columns: &[Cells], indent: usize, style: &TextStyle) -> bool {
    len(columns, GAPS[1]) + indent <= style.width
}

/// The length of a line.
fn len(columns: &[Cells], gap: usize) -> usize {
    let cells: usize = columns.iter().map(|cells| cells[0].chars().count()).sum();
    cells + gap * columns.len().saturating_sub(1)
}

fn lines(columns: &[Cells], gap: usize, indent: usize, style: &TextStyle) -> String {
    let line = |number: usize| {
        let cells: Vec<&str> = columns.iter().map(|cells| cells[number].as_str()).collect();
        let line = cells.join(&" ".repeat(gap));
        let line = line.trim_end();
        let line = if number == 0 { emphasise(line, Emphasis::Quiet, style) } else { line.to_owned() };
        format!("{}{line}\n", " ".repeat(indent))
    };
    (0..columns.first().map_or(0, Vec::len)).map(line).collect()
}

/// Figures with so many digits after the point, or none where four stand before it, padded so that the
/// points of a column are under each other.
pub(crate) fn points_under_points(figures: &[Option<f64>], decimals: usize) -> Vec<String> {
    const LARGE: f64 = 999.5;
    let decimals_of = |figure: &f64| if figure.abs() >= LARGE { 0 } else { decimals };
    let after_point = figures.iter().flatten().map(decimals_of).max().unwrap_or(0);
    let cell = |figure: &Option<f64>| match figure {
        None => "-".to_owned(),
        Some(figure) if after_point > 0 && decimals_of(figure) == 0 => {
            format!("{}{}", fixed(*figure, 0), " ".repeat(after_point + 1))
        }
        Some(figure) => fixed(*figure, after_point),
    };
    padded(figures.iter().map(cell).collect(), Side::Right)
}

#[derive(Copy, Clone)]
pub(crate) enum Side {
    Left,
    Right,
}

/// The cells, each at its side of a column that is as wide as the widest.
pub(crate) fn padded(mut cells: Cells, side: Side) -> Cells {
    let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
    for cell in &mut cells {
        *cell = match side {
            Side::Left => format!("{cell:<width$}"),
            Side::Right => format!("{cell:>width$}"),
        };
    }
    cells
}

pub(crate) fn titled(title: &str, mut cells: Cells) -> Cells {
    cells.insert(0, title.to_owned());
    padded(cells, Side::Right)
}

/// The first column gives way if nothing else can.
fn cut_labels(columns: &mut [Cells], gap: usize, room: usize) {
    let others = len(&columns[1..], gap) + gap;
    let labels = &mut columns[0];
    let title_len = labels[0].trim_end().chars().count();
    let label_len = room.saturating_sub(others).max(LABEL_LEN_MIN).max(title_len);
    if label_len < labels[0].chars().count() {
        let cut_labels: Cells = labels.iter().map(|label| cut(label.trim_end(), label_len)).collect();
        *labels = padded(cut_labels, Side::Left);
    }
}
