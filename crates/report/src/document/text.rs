//! A document as terminal text: its sections for the terminal, wrapped to its width. The terminal shows no charts and
//! nothing folded; colours repeat what the words say. All text is escaped here, so that none steers the terminal.

use std::ops::RangeInclusive;

use results::escaped;

use super::forest_text;
use super::layout::{LatencyFormat, is_left, latency_format, table_text};
use super::{Audience, Banner, Block, Document, Fact, KeyFigure, Section, Table, Tone};
use crate::TextStyle;
use crate::figures::with_ordinary_spaces;
use crate::prose::{Emphasis, cut, emphasise, wrap};
use crate::table::{Cells, Side, fits, fitted, padded};

/// Blanks before everything below the title.
const INDENT: usize = 2;
/// Where values begin behind the indent; further right if a label of the list is longer, but no further than the second.
const VALUE_COLUMN: usize = 16;
const VALUE_COLUMN_MAX: usize = 22;
/// Characters of the first column of a table that are shown: what the others leave, within these.
const LABEL_LEN: RangeInclusive<usize> = 20..=60;
/// Blanks between columns that a long first column leaves.
const GAP: usize = 2;

/// The document, several lines, the last with its line end.
pub fn text(document: &Document, style: &TextStyle) -> String {
    let Document { banners, title, subtitle, sections } = document;
    let mut out = String::new();
    for Banner { tone, text, .. } in banners {
        let lines =
            text.lines().map(|line| wrap(&escaped(line), 0, 0, style.width)).collect::<Vec<_>>().join("\n");
        let emphasised = match tone {
            Tone::Plain | Tone::Quiet => lines,
            Tone::Good | Tone::Strong => emphasise(&lines, Emphasis::Strong, style),
            Tone::Bad | Tone::Caution => emphasise(&lines, Emphasis::Alarm, style),
        };
        out += &format!("{emphasised}\n\n");
    }
    let title = [title.as_str(), subtitle.as_str()].join(" ");
    let title = wrap(&escaped(title.trim_end()), 0, INDENT, style.width);
    out += &format!("{}\n", emphasise(&title, Emphasis::Strong, style));
    let shown = sections.iter().filter(|it| matches!(it.audience, Audience::All | Audience::Terminal));
    for (at, section) in shown.enumerate() {
        let Section { title, blocks, .. } = section;
        let lines: String = blocks.iter().map(|it| block(it, style)).collect();
        if lines.is_empty() {
            continue;
        }
        if at > 0 {
            out.push('\n');
        }
        if !title.is_empty() {
            out += &format!("{}\n", emphasise(&escaped(title), Emphasis::Quiet, style));
        }
        out += &lines;
    }
    with_ordinary_spaces(&out)
}

fn block(block: &Block, style: &TextStyle) -> String {
    match block {
        Block::Heading(text) => format!("\n{}\n", emphasise(&escaped(text), Emphasis::Quiet, style)),
        Block::Paragraph(tone, text) => paragraph(*tone, text, INDENT, style),
        Block::Banner(tone, strong, text) => {
            paragraph(*tone, &[strong.as_str(), text.as_str()].join(" "), INDENT, style)
        }
        Block::Answer(tone, text) => paragraph(*tone, text, INDENT, style),
        Block::Figures(figures, beneath) => {
            let fact = |it: &KeyFigure| Fact::new(&it.label, format!("{} {}", it.value, it.note).trim_end());
            facts(&figures.iter().map(fact).collect::<Vec<_>>(), style)
                + &paragraph(Tone::Quiet, beneath, INDENT, style)
        }
        Block::Facts(list) => facts(list, style),
        Block::Table(it) => table(it, style),
        Block::List(tone, items) => items.iter().map(|item| list_item(*tone, item, style)).collect(),
        Block::Code(text) | Block::Preformatted(text) => {
            text.lines().map(|line| format!("{}{}\n", " ".repeat(INDENT), escaped(line).trim_end())).collect()
        }
        Block::Columns(columns) => columns.iter().flatten().map(|it| self::block(it, style)).collect(),
        Block::Forest(it) => forest_text::forest(it, INDENT, style),
        Block::Folded { .. } | Block::Chart(_) => String::new(),
    }
}

fn emphasis(tone: Tone) -> Option<Emphasis> {
    match tone {
        Tone::Plain | Tone::Good => None,
        Tone::Quiet => Some(Emphasis::Quiet),
        Tone::Strong => Some(Emphasis::Strong),
        Tone::Bad => Some(Emphasis::Alarm),
        Tone::Caution => Some(Emphasis::Caution),
    }
}

fn paragraph(tone: Tone, text: &str, indent: usize, style: &TextStyle) -> String {
    let lines = wrap(&escaped(text), INDENT, indent, style.width);
    let lines = match emphasis(tone) {
        // Explanations are as readable as the rest.
        None | Some(Emphasis::Quiet) => lines,
        Some(emphasis) => emphasise(&lines, emphasis, style),
    };
    format!("{}{lines}\n", " ".repeat(INDENT))
}

/// Warnings and notes have their kind before them.
fn list_item(tone: Tone, text: &str, style: &TextStyle) -> String {
    let label = match tone {
        Tone::Caution => "warning: ",
        Tone::Quiet => "note: ",
        Tone::Plain | Tone::Good | Tone::Bad | Tone::Strong => {
            return paragraph(tone, text, 2 * INDENT, style);
        }
    };
    let indent = INDENT + label.len();
    let words = wrap(&escaped(text), indent, indent, style.width);
    let emphasis = emphasis(tone).unwrap_or(Emphasis::Quiet);
    format!("{}{}{words}\n", " ".repeat(INDENT), emphasise(label, emphasis, style))
}

fn facts(facts: &[Fact], style: &TextStyle) -> String {
    // Two blanks before the value, however long the label is.
    let width_of = |label: &str| VALUE_COLUMN.max(label.chars().count() + 2);
    let widths = facts.iter().map(|fact| width_of(&escaped(&fact.label)));
    let common = widths.filter(|width| *width <= VALUE_COLUMN_MAX).max().unwrap_or(VALUE_COLUMN);
    let line = |Fact { label, value }: &Fact| {
        let column = INDENT + common;
        let (label, value) = (escaped(label), escaped(value));
        let width = common.max(width_of(&label));
        let label = emphasise(&format!("{label:<width$}"), Emphasis::Quiet, style);
        format!("{}{label}{}\n", " ".repeat(INDENT), wrap(&value, INDENT + width, column, style.width))
    };
    facts.iter().map(line).collect()
}

/// The first column is cut to the room that the others leave without decimals. Then the table gives up columns that may be
/// left out, gaps and decimals.
fn table(table: &Table, style: &TextStyle) -> String {
    let format = latency_format(table);
    let decimals = format.map_or(0, |format| format.decimals);
    let length = |column: &Cells| column.first().map_or(0, |title| title.chars().count() + GAP);
    let with = |decimals: usize| format.map(|format| LatencyFormat { decimals, ..format });
    let others: usize = columns(table, with(0), 0).iter().skip(1).map(length).sum();
    let label_len = style.width.saturating_sub(INDENT + others).clamp(*LABEL_LEN.start(), *LABEL_LEN.end());
    let of = |decimals: usize| columns(table, with(decimals), label_len);
    let all = of(decimals);
    let mut number = all.len();
    let least = number.saturating_sub(table.optional_columns).max(1);
    while number > least && !fits(&all[..number], INDENT, style) {
        number -= 1;
    }
    fitted(|decimals| of(decimals)[..number].to_vec(), decimals, INDENT, style)
}

fn columns(table: &Table, format: Option<LatencyFormat>, label_len: usize) -> Vec<Cells> {
    let text = table_text(table, format);
    let titles = text.titles.into_iter().zip(text.columns);
    let column = |(at, (title, cells)): (usize, (String, Vec<String>))| {
        let cell = |(row, cell): (usize, String)| {
            let note = table.rows[row].get(at).map_or("", |cell| cell.note.as_str());
            let shown = if note.is_empty() { cell } else { format!("{cell} {note}") };
            let shown = escaped(&with_ordinary_spaces(&shown)).into_owned();
            if at == 0 { cut(&shown, label_len) } else { shown }
        };
        let cells = std::iter::once(title).chain(cells.into_iter().enumerate().map(cell)).collect();
        padded(cells, if is_left(at, &table.columns[at]) { Side::Left } else { Side::Right })
    };
    titles.enumerate().map(column).collect()
}
