//! A document as Markdown, for issues, pull requests and notes: the sections of the page without its charts. Text from
//! users and servers is escaped, so that it stays text wherever it is pasted.

use super::forest_text;
use super::layout::{is_left, latency_format, table_text};
use super::{Audience, Block, Document, Fact, KeyFigure, Section, Table, Tone};
use crate::figures::with_ordinary_spaces;

/// The document; ends with a line end.
pub fn markdown(document: &Document) -> String {
    let Document { banners, title, subtitle, sections } = document;
    let title = escaped([title.as_str(), subtitle.as_str()].join(" ").trim_end());
    let mut out = format!("# {title}\n\n");
    let banners = banners.iter().filter(|it| it.audience != Audience::Terminal);
    out += &banners.map(|it| format!("> **{}**\n\n", escaped(&it.text))).collect::<String>();
    let shown = sections.iter().filter(|it| matches!(it.audience, Audience::All | Audience::Documents));
    for Section { title, blocks, .. } in shown {
        let content: String = blocks.iter().map(block).collect();
        if content.is_empty() {
            continue;
        }
        if !title.is_empty() {
            out += &format!("## {}\n\n", escaped(title));
        }
        out += &content;
    }
    with_ordinary_spaces(out.trim_end()) + "\n"
}

fn block(block: &Block) -> String {
    match block {
        Block::Heading(text) => format!("### {}\n\n", escaped(text)),
        Block::Paragraph(Tone::Strong, text) => format!("**{}**\n\n", escaped(text)),
        Block::Paragraph(_, text) => format!("{}\n\n", escaped(text)),
        Block::Banner(_, strong, text) => {
            let strong = if strong.is_empty() { String::new() } else { format!("**{}**", escaped(strong)) };
            let parts = [strong, escaped(text)];
            parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(" ") + "\n\n"
        }
        Block::Answer(_, text) => format!("**{}**\n\n", escaped(text)),
        Block::Figures(figures, beneath) => {
            let fact = |it: &KeyFigure| Fact::new(&it.label, format!("{} {}", it.value, it.note).trim_end());
            facts(&figures.iter().map(fact).collect::<Vec<_>>()) + &format!("{}\n\n", escaped(beneath))
        }
        Block::Facts(list) => facts(list),
        Block::Table(it) => table(it),
        Block::List(Tone::Caution, items) => {
            items.iter().map(|item| format!("> **Warning:** {}\n\n", escaped(item))).collect()
        }
        Block::List(Tone::Quiet, items) => {
            items.iter().map(|item| format!("> **Note:** {}\n\n", escaped(item))).collect()
        }
        Block::List(_, items) => {
            let lines: String = items.iter().map(|item| format!("- {}\n", escaped(item))).collect();
            if lines.is_empty() { lines } else { lines + "\n" }
        }
        Block::Code(text) => code_block(&results::escaped(text), "sh") + "\n",
        Block::Preformatted(text) => code_block(&results::escaped(text), "text") + "\n",
        Block::Columns(columns) => columns.iter().flatten().map(self::block).collect(),
        Block::Forest(it) => table(&forest_text::table(it)),
        Block::Folded { .. } | Block::Chart(_) => String::new(),
    }
}

/// A list of facts.
fn facts(facts: &[Fact]) -> String {
    let line = |fact: &Fact| format!("- {}: {}\n", escaped(&fact.label), escaped(&fact.value));
    let lines: String = facts.iter().map(line).collect();
    if lines.is_empty() { lines } else { lines + "\n" }
}

fn table(table: &Table) -> String {
    if table.rows.is_empty() {
        return String::new();
    }
    let text = table_text(table, latency_format(table));
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let rule = |(at, column)| if is_left(at, column) { "---" } else { "---:" }.to_owned();
    let mut out = line(text.titles.iter().map(|title| escaped(title)).collect());
    out += &line(table.columns.iter().enumerate().map(rule).collect());
    for (row, cells) in table.rows.iter().enumerate() {
        let cell = |(at, cell): (usize, &super::Cell)| {
            let shown = text.columns[at][row].trim();
            let tied = [shown, cell.note.as_str()].join(" ");
            escaped(tied.trim_end())
        };
        out += &line(cells.iter().enumerate().map(cell).collect());
    }
    out + "\n"
}

/// A block of words in this language. More backticks than in the text, so that none in it ends it (CommonMark, §4.5).
fn code_block(text: &str, language: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}\n")
}

/// Text for a line of Markdown, where it can neither begin an element nor end a cell of a table.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in crate::prose::escaped_line(text).chars() {
        match character {
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '&' => out += "&amp;",
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' | '@' => out.extend(['\\', character]),
            _ => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_banner_without_strong_words_has_no_empty_emphasis() {
        let banner =
            |strong: &str, text: &str| block(&Block::Banner(Tone::Plain, strong.into(), text.into()));
        assert_eq!(banner("", "It was steady."), "It was steady.\n\n");
        assert_eq!(banner("CLIENT-LIMITED:", ""), "**CLIENT-LIMITED:**\n\n");
        assert_eq!(banner("NOT KEPT:", "4 % late"), "**NOT KEPT:** 4 % late\n\n");
    }
}
