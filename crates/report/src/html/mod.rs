//! A document as a page: one file that opens without a network. Everything on it is made here, charts included; its script
//! adds the values at the pointer and the choice of the theme.

mod head;
mod markup;

use crate::chart::Chart;
use crate::document::{
    Audience, Banner, Block, Cell, Column, Content, Document, Fact, KeyFigure, Section, Table, Tone,
    latency_format, table_text,
};
use crate::prose::first_sentence;
use markup::Markup;

/// A table with more columns scrolls by itself, so that the page does not.
const COLUMNS_MAX: usize = 16;

/// A table with so few columns is not as wide as the page, so that its rows can be read across.
const SHORT_COLUMNS_MAX: usize = 3;

/// The page; ends with a line end.
pub fn html(document: &Document) -> String {
    let Document { banners, title, subtitle, sections } = document;
    let mut page = Markup::new();
    page.raw("<!doctype html>\n<html lang=\"en\">\n");
    head::head(&mut page, [title.as_str(), subtitle.as_str()].join(" ").trim_end());
    page.raw("<body>\n<a class=\"skip\" href=\"#main\">Skip to the results</a>\n");
    let shown: Vec<&Section> =
        sections.iter().filter(|section| section.audience != Audience::Terminal).collect();
    page.element("header", &[("class", "bar")], |page| {
        page.leaf("span", &[("class", "brand")], "pgmeter");
        page.element("nav", &[("aria-label", "Contents")], |page| {
            for Section { id, link, .. } in shown.iter().filter(|section| !section.link.is_empty()) {
                page.leaf("a", &[("href", &format!("#{id}"))], link);
            }
        });
        page.raw("<button type=\"button\" id=\"theme\" hidden>Theme: system</button>");
    });
    page.raw("\n<main id=\"main\" tabindex=\"-1\">\n");
    let mut body = Body { page: &mut page, charts: 0 };
    // A page that has an answer begins with it.
    let is_answer = |it: &Section| matches!(it.blocks.first(), Some(Block::Answer(..)));
    let (first, others) = match shown.split_first() {
        Some((first, others)) if is_answer(first) => (Some(*first), others),
        _ => (None, &shown[..]),
    };
    let attributes = [("id", "title"), ("class", "titled")];
    let attributes = if first.is_some() { &attributes[..] } else { &attributes[..1] };
    body.page.element("h1", attributes, |page| {
        page.text(title);
        if !subtitle.is_empty() {
            page.leaf("span", &[("class", "on")], &format!(" {subtitle}"));
        }
    });
    if let Some(Block::Answer(tone, text)) = first.and_then(|section| section.blocks.first()) {
        let class = format!("answer {}", tone_class(*tone));
        body.page.leaf("p", &[("class", class.trim_end())], text);
    }
    for Banner { tone, text, .. } in banners.iter().filter(|it| it.audience != Audience::Terminal) {
        line(body.page, *tone, "", text);
    }
    if let Some(section) = first {
        body.section(section, &section.blocks[1..]);
    }
    others.iter().for_each(|it| body.section(it, &it.blocks));
    page.raw("</main>\n");
    page.element("footer", &[], |page| {
        page.text("Made by pgmeter ");
        page.text(env!("CARGO_PKG_VERSION"));
        page.raw(". This page is one file: it loads nothing and sends nothing.");
    });
    page.raw("\n<noscript><p class=\"note\">Without JavaScript the charts show no values at the pointer; all figures are in the tables.</p></noscript>\n");
    head::scripts(&mut page);
    page.raw("</body>\n</html>\n");
    page.finish()
}

/// The page below its title, and how many charts it has so far.
struct Body<'a> {
    page: &'a mut Markup,
    charts: usize,
}

impl Body<'_> {
    fn section(&mut self, Section { id, title, .. }: &Section, blocks: &[Block]) {
        let is_warnings = matches!(blocks.first(), Some(Block::List(Tone::Caution, _)));
        let class = match (is_warnings, title.is_empty()) {
            (true, _) => "warnings",
            (false, true) => "top",
            (false, false) => "part",
        };
        self.inside("section", &[("id", id), ("class", class)], |body| {
            // The line of the warnings says what they are.
            if !title.is_empty() && !is_warnings {
                body.page.leaf("h2", &[], title);
            }
            body.blocks(blocks);
        });
        self.page.raw("\n");
    }

    /// Neighbouring charts stand abreast where there is room.
    fn blocks(&mut self, blocks: &[Block]) {
        for blocks in blocks.chunk_by(|one, other| is_drawing(one) && is_drawing(other)) {
            if blocks.len() > 1 {
                self.inside("div", &[("class", "charts")], |body| {
                    blocks.iter().for_each(|it| body.block(it));
                });
            } else {
                blocks.iter().for_each(|it| self.block(it));
            }
        }
    }

    fn inside(
        &mut self,
        tag: &'static str,
        attributes: &[(&'static str, &str)],
        content: impl FnOnce(&mut Body<'_>),
    ) {
        let Body { page, charts } = self;
        page.element(tag, attributes, |page| {
            let mut body = Body { page, charts: *charts };
            content(&mut body);
            *charts = body.charts;
        });
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Heading(text) => self.page.leaf("h3", &[], text),
            Block::Paragraph(tone, text) => self.page.leaf("p", &[("class", paragraph_class(*tone))], text),
            Block::Banner(tone, strong, text) => line(self.page, *tone, strong, text),
            Block::Answer(tone, text) => {
                let class = format!("answer {}", tone_class(*tone));
                self.page.leaf("p", &[("class", class.trim_end())], text);
            }
            Block::Figures(figures, beneath) => key_figures(self.page, figures, beneath),
            Block::Facts(list) => facts(self.page, list, "facts"),
            Block::Table(it) if it.columns.len() > COLUMNS_MAX => {
                self.page.element("div", &[("class", "sideways"), ("tabindex", "0")], |page| table(page, it));
            }
            Block::Table(it) => table(self.page, it),
            Block::List(tone, items) => {
                let list = |page: &mut Markup| {
                    page.element("ul", &[], |page| items.iter().for_each(|item| page.leaf("li", &[], item)));
                };
                match tone {
                    Tone::Quiet => self.page.element("details", &[("class", "notes")], |page| {
                        page.leaf("summary", &[], "Notes");
                        list(page);
                    }),
                    Tone::Caution => self.page.element("details", &[], |page| {
                        page.element("summary", &[], |page| warnings_in_short(page, items));
                        list(page);
                    }),
                    Tone::Plain | Tone::Strong | Tone::Good | Tone::Bad => list(self.page),
                }
            }
            Block::Code(text) => {
                self.page.element("pre", &[("class", "command"), ("tabindex", "0")], |page| {
                    page.leaf("code", &[], text);
                })
            }
            Block::Preformatted(text) => {
                self.page.element("pre", &[("tabindex", "0")], |page| page.leaf("code", &[], text));
            }
            Block::Folded { id, title, is_open, blocks } => {
                let mut attributes: Vec<(&'static str, &str)> = vec![("class", "folded")];
                attributes.extend(id.as_ref().map(|id| ("id", id.as_str())));
                attributes.extend(is_open.then_some(("open", "")));
                self.inside("details", &attributes, |body| {
                    body.page.leaf("summary", &[], title);
                    body.blocks(blocks);
                });
            }
            Block::Columns(columns) => self.inside("div", &[("class", "columns")], |body| {
                for blocks in columns {
                    body.inside("div", &[], |body| body.blocks(blocks));
                }
            }),
            Block::Chart(chart) if chart.has_points() => self.chart(chart),
            Block::Chart(_) => {}
            Block::Forest(forest) => self.chart(&forest.chart()),
        }
        self.page.raw("\n");
    }

    fn chart(&mut self, chart: &Chart) {
        self.page.made_safe(&crate::chart::markup(chart, self.charts));
        self.charts += 1;
    }
}

/// Characters of a line that stands on the page without being unfolded.
const LINE_LEN_MAX: usize = 150;

/// One line, which unfolds to the rest of its sentences.
fn line(page: &mut Markup, tone: Tone, strong: &str, text: &str) {
    let class = format!("verdict {}", tone_class(tone));
    let class = class.trim_end();
    let (first, rest) = match strong.is_empty() {
        true => first_sentence(text),
        false => ("", text),
    };
    let is_short = strong.chars().count() + text.chars().count() <= LINE_LEN_MAX;
    if rest.is_empty() || is_short {
        return page.element("p", &[("class", class)], |page| {
            if !strong.is_empty() {
                page.leaf("strong", &[], strong);
                page.text(" ");
            }
            page.text(text);
        });
    }
    page.element("details", &[("class", class)], |page| {
        page.element("summary", &[], |page| {
            if !strong.is_empty() {
                page.leaf("strong", &[], strong);
            }
            page.text(first);
        });
        page.leaf("p", &[], rest);
    });
}

/// How many warnings there are, and the first one.
fn warnings_in_short(page: &mut Markup, warnings: &[String]) {
    let first = warnings.first().map_or("", |warning| first_sentence(warning).0);
    if warnings.len() > 1 {
        page.leaf("strong", &[], &format!("{} warnings", warnings.len()));
    } else {
        page.leaf("strong", &[], "Warning");
    }
    let before = if warnings.len() > 1 { ", first of all: " } else { ": " };
    // The list below says it again.
    page.leaf("span", &[("class", "folded-only")], &format!("{before}{first}"));
}

fn key_figures(page: &mut Markup, figures: &[KeyFigure], beneath: &str) {
    page.element("dl", &[("class", "key-figures")], |page| {
        for KeyFigure { label, value, note, is_large } in figures {
            let class = if *is_large { "large" } else { "" };
            page.element("div", &[("class", class)], |page| {
                page.leaf("dt", &[], label);
                page.element("dd", &[], |page| {
                    page.text(value);
                    if !note.is_empty() {
                        page.leaf("span", &[("class", "how")], &format!(" {note}"));
                    }
                });
            });
        }
    });
    if !beneath.is_empty() {
        page.leaf("p", &[("class", "how")], beneath);
    }
}

/// Whether a block is a chart with axes; bars need the whole width for their names and figures.
fn is_drawing(block: &Block) -> bool {
    matches!(block, Block::Chart(chart) if chart.has_axes())
}

fn tone_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain | Tone::Strong => "",
        Tone::Quiet => "how",
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Caution => "caution",
    }
}

fn paragraph_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "plain",
        Tone::Strong => "strong",
        Tone::Quiet => "how",
        Tone::Good => "verdict good",
        Tone::Bad | Tone::Caution => "verdict bad",
    }
}

fn facts(page: &mut Markup, facts: &[Fact], class: &'static str) {
    if facts.is_empty() {
        return;
    }
    page.element("dl", &[("class", class)], |page| {
        for Fact { label, value } in facts {
            page.element("div", &[], |page| {
                page.leaf("dt", &[], label);
                page.leaf("dd", &[], value);
            });
        }
    });
}

/// On a narrow page each row becomes a block whose cells have the names of their columns before them.
fn table(page: &mut Markup, table: &Table) {
    if table.rows.is_empty() {
        return;
    }
    let text = table_text(table, latency_format(table));
    let is_short = table.columns.len() <= SHORT_COLUMNS_MAX;
    page.element("table", if is_short { &[("class", "short")] } else { &[] }, |page| {
        page.element("thead", &[], |page| {
            let has_groups = table.columns.iter().any(|column| !column.group.is_empty());
            if has_groups {
                page.element("tr", &[("class", "groups")], |page| groups(page, &table.columns));
            }
            page.element("tr", &[], |page| {
                for (title, column) in text.below_groups.iter().zip(&table.columns) {
                    page.leaf("th", &[("scope", "col"), ("class", column_class(column))], title);
                }
            });
        });
        page.element("tbody", &[], |page| {
            for (row, cells) in table.rows.iter().enumerate() {
                page.element("tr", &[], |page| {
                    for (at, it) in cells.iter().enumerate() {
                        let shown = text.columns[at][row].trim();
                        cell(page, at == 0, &text.labels[at], &table.columns[at], it, shown);
                    }
                });
            }
        });
    });
}

/// The headings above groups of columns.
fn groups(page: &mut Markup, columns: &[Column]) {
    for group in columns.chunk_by(|one, other| one.group == other.group) {
        let (name, span) = (group[0].group, group.len().to_string());
        if name.is_empty() {
            page.leaf("td", &[("colspan", &span)], "");
        } else {
            page.leaf("th", &[("scope", "colgroup"), ("colspan", &span)], name);
        }
    }
}

fn column_class(column: &Column) -> &'static str {
    if column.is_text { "text" } else { "figure" }
}

fn cell(page: &mut Markup, is_first: bool, title: &str, column: &Column, cell: &Cell, shown: &str) {
    let class = format!("{} {}", column_class(column), tone_class(cell.tone));
    let class = ("class", class.trim_end());
    let (tag, attributes) = match is_first {
        true => ("th", [class, ("scope", "row"), ("data-label", title)]),
        false => ("td", [class, ("data-label", title), ("data-row", "")]),
    };
    let attributes = if is_first { &attributes[..] } else { &attributes[..2] };
    page.element(tag, attributes, |page| {
        match (&cell.content, &cell.link) {
            (Content::Code(_), _) => page.leaf("code", &[], shown),
            (_, Some(id)) => page.leaf("a", &[("href", &format!("#{id}"))], shown),
            (_, None) => page.names(shown),
        }
        if !cell.note.is_empty() {
            page.leaf("span", &[("class", "how")], &cell.note);
        }
        if let Some(share) = cell.bar {
            page.share_bar(share);
        }
    });
}
