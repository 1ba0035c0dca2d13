//! Layout of tables of figures: aligned decimal points and the terminal's width. To fit, a table reduces first gaps,
//! then decimals, then the length of labels. The caller fills the cells.

use crate::TextStyle;
use crate::figures::fixed;
use crate::prose::{Emphasis, cut, emphasise};

/// Spaces between columns, in the order in which they are tried.
const GAPS: [usize; 3] = [3, 2, 1];

/// Minimum length of a cut label, even in a narrow terminal.
const LABEL_LEN_MIN: usize = 12;

/// A column: title and cells, all of one length.
pub(crate) type Cells = Vec<String>;

/// The lines of a table, each after `indent` spaces. `columns` makes the table for a number of decimals, which is
/// reduced if the lines are too long. The first column contains labels.
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

/// Whether the columns fit in a line with gaps of two spaces.
pub(crate) fn fits(columns: &[Cells], indent: usize, style: &TextStyle) -> bool {
    len(columns, GAPS[1]) + indent <= style.width
}

/// Length of a line.
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

/// Figures with this many decimals, or none for figures of four or more digits before the point, padded to align the
/// decimal points.
pub(crate) fn points_under_points(figures: &[Option<f64>], decimals: usize) -> Vec<String> {
    points_aligned(figures.iter().map(|figure| figure.map(|figure| (figure, decimals))))
}

/// The same with the decimals of each figure.
pub(crate) fn points_aligned(figures: impl Iterator<Item = Option<(f64, usize)>>) -> Vec<String> {
    const LARGE: f64 = 999.5;
    let shown = |(figure, decimals): (f64, usize)| (figure, if figure.abs() >= LARGE { 0 } else { decimals });
    let figures: Vec<Option<(f64, usize)>> = figures.map(|figure| figure.map(shown)).collect();
    let most = figures.iter().flatten().map(|(_, decimals)| *decimals).max().unwrap_or(0);
    let cell = |figure: &Option<(f64, usize)>| match figure {
        None => "-".to_owned(),
        Some((figure, decimals)) => {
            // The point itself, and the decimals that others have.
            let blanks = most - decimals + usize::from(most > 0 && *decimals == 0);
            format!("{}{}", fixed(*figure, *decimals), " ".repeat(blanks))
        }
    };
    padded(figures.iter().map(cell).collect(), Side::Right)
}

#[derive(Copy, Clone)]
pub(crate) enum Side {
    Left,
    Right,
}

/// The cells, padded to the widest and aligned to their side.
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

/// Cuts the labels of the first column to fit.
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
