//! A report before it has a format: a title, banners, facts, tables, charts and notes. It is built once, from a run, runs
//! side by side, an experiment, a comparison or a calibration; the writers for the terminal, HTML, Markdown, SVG and PNG
//! render it, and add nothing. Numbers stay numbers until a writer needs their text.

mod forest_text;
mod layout;
mod markdown;
mod text;

pub(crate) use layout::{latency_format, plus_minus, table_text};
pub use markdown::markdown;
pub use text::text;

use results::Annotation;

use crate::chart::Chart;
use crate::forest::Forest;
use crate::metrics::Quantity;
use crate::prose::escaped_line;

/// A report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// What comes before everything else: the answer to the question, and facts such as an interrupted run.
    pub(crate) banners: Vec<Banner>,
    /// Of the page and of the first heading, such as `tpcb-like`.
    pub(crate) title: String,
    /// The less prominent rest of the title, such as `on PostgreSQL 18.1`.
    pub(crate) subtitle: String,
    pub(crate) sections: Vec<Section>,
}

/// A line before everything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Banner {
    /// `Good`, `Bad`, or `Caution` for an answer that is open.
    pub(crate) tone: Tone,
    pub(crate) text: String,
    /// Only the terminal shows what the answer of the page says already.
    pub(crate) audience: Audience,
}

/// A part of a report.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Section {
    /// Unique on the page, which links to it.
    pub(crate) id: &'static str,
    /// Empty for the first section, which stands directly below the title.
    pub(crate) title: String,
    /// In the page's list of contents; empty if the section is not in it.
    pub(crate) link: &'static str,
    pub(crate) audience: Audience,
    pub(crate) blocks: Vec<Block>,
}

/// The formats that show a section.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Every format.
    All,
    /// The terminal, which has room for one screen.
    Terminal,
    /// The page and Markdown.
    Documents,
    /// The page alone.
    Page,
}

/// A piece of a section.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Block {
    Heading(String),
    /// One or more sentences.
    Paragraph(Tone, String),
    /// A sentence that stands out, before others of the same subject: `Not limited by pgmeter.`, then the evidence.
    Banner(Tone, String, String),
    /// The answer of the report in one short sentence.
    Answer(Tone, String),
    /// The first figures, each of the size that its precision allows, and a line beneath them.
    Figures(Vec<KeyFigure>, String),
    Facts(Vec<Fact>),
    Table(Table),
    /// Sentences of equal rank, such as warnings.
    List(Tone, Vec<String>),
    /// Shell commands, SQL or a file, word for word.
    Code(String),
    /// Lines that are not wrapped, such as the tree of a plan.
    Preformatted(String),
    /// Details that the page shows on request; Markdown and the terminal leave them out.
    Folded {
        /// To link to it.
        id: Option<String>,
        title: String,
        is_open: bool,
        blocks: Vec<Block>,
    },
    /// Blocks beside each other, where there is room.
    Columns(Vec<Vec<Block>>),
    Chart(Box<Chart>),
    /// Effects as ratios: a chart on the page, characters on the terminal, a table in Markdown.
    Forest(Box<Forest>),
}

impl Block {
    pub(crate) fn chart(chart: Chart) -> Block {
        Block::Chart(Box::new(chart))
    }

    pub(crate) fn forest(forest: Forest) -> Block {
        Block::Forest(Box::new(forest))
    }

    /// Closed at first, and without a link to it.
    pub(crate) fn folded(title: impl Into<String>, blocks: Vec<Block>) -> Block {
        Block::Folded { id: None, title: title.into(), is_open: false, blocks }
    }

    /// An explanation.
    pub(crate) fn quiet(text: impl Into<String>) -> Block {
        Block::Paragraph(Tone::Quiet, text.into())
    }
}

/// How much a text matters, and which way.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    #[default]
    Plain,
    /// Explanations, which readers who know them skip.
    Quiet,
    Strong,
    Good,
    Bad,
    /// A warning.
    Caution,
}

/// One of the first figures of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyFigure {
    /// Such as `p99`.
    pub(crate) label: String,
    pub(crate) value: String,
    /// A less prominent line below it: its interval. May be empty.
    pub(crate) note: String,
    /// Whether it stands out from the others; never if its interval is wide.
    pub(crate) is_large: bool,
}

/// A label and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) label: String,
    pub(crate) value: String,
}

/// A table; the first column names its rows. All latencies in it have one unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Cell>>,
    /// Of a table of latencies alone: the latencies by which their common unit is chosen, the most important first.
    pub(crate) typical_us: Vec<f64>,
    /// Columns at the end that a narrow terminal may leave out.
    pub(crate) optional_columns: usize,
}

/// The head of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) title: String,
    /// The heading above this column and its neighbours with the same one; empty without one.
    pub(crate) group: &'static str,
    /// Words are aligned to the left, figures to the right.
    pub(crate) is_text: bool,
}

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cell {
    pub(crate) content: Content,
    /// A less prominent second line, or words behind the first: an interval, a script's name.
    pub(crate) note: String,
    pub(crate) tone: Tone,
    /// A bar of this share of the column's width, from 0 to 1.
    pub(crate) bar: Option<f64>,
    /// The id of an element of the page.
    pub(crate) link: Option<String>,
}

/// The content of a cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Content {
    #[default]
    Nothing,
    Text(String),
    /// SQL and commands.
    Code(String),
    /// A figure, and the half width of its 95 % interval as a share of it.
    Figure {
        quantity: Quantity,
        value: f64,
        plus_minus: Option<f64>,
    },
    /// The mean of a distribution of times, and its standard deviation.
    MeanAndDeviation {
        mean_us: f64,
        deviation_us: f64,
    },
}

impl Banner {
    pub(crate) fn new(tone: Tone, text: impl Into<String>) -> Banner {
        Banner { tone, text: text.into(), audience: Audience::All }
    }

    #[must_use]
    pub(crate) fn for_terminal(self) -> Banner {
        Banner { audience: Audience::Terminal, ..self }
    }
}

impl Fact {
    /// Those that are known.
    pub(crate) fn known<const N: usize>(facts: [(&str, Option<String>); N]) -> impl Iterator<Item = Fact> {
        facts.into_iter().filter_map(|(label, value)| Some(Fact::new(label, value?)))
    }

    pub(crate) fn new(label: impl Into<String>, value: impl Into<String>) -> Fact {
        Fact { label: label.into(), value: value.into() }
    }
}

/// A table that has a row for each item, and gets its columns one by one.
pub(crate) struct TableOf<T> {
    items: Vec<T>,
    pub(crate) table: Table,
}

impl<T> TableOf<T> {
    pub(crate) fn new(items: impl IntoIterator<Item = T>) -> TableOf<T> {
        let items: Vec<T> = items.into_iter().collect();
        let rows = items.iter().map(|_| Vec::new()).collect();
        TableOf { items, table: Table { rows, ..Table::default() } }
    }

    pub(crate) fn column(&mut self, column: Column, cell: impl Fn(&T) -> Cell) {
        self.table.columns.push(column);
        self.table.rows.iter_mut().zip(&self.items).for_each(|(row, item)| row.push(cell(item)));
    }

    /// A column of words.
    pub(crate) fn text(&mut self, title: impl Into<String>, text: impl Fn(&T) -> String) {
        self.column(Column::text(title), |item| Cell::text(text(item)));
    }

    pub(crate) fn figures(&mut self, title: impl Into<String>, cell: impl Fn(&T) -> Cell) {
        self.column(Column::figures(title), cell);
    }
}

/// Makes the cell of an item.
type CellOf<'a, T> = &'a dyn Fn(&T) -> Cell;

impl Table {
    /// A row for each item; each column is a head, and its cell of a row.
    pub(crate) fn of<T>(items: impl IntoIterator<Item = T>, columns: &[(Column, CellOf<'_, T>)]) -> Table {
        let mut table = TableOf::new(items);
        columns.iter().for_each(|(column, cell)| table.column(column.clone(), cell));
        table.table
    }

    /// Nothing of a table without rows.
    pub(crate) fn if_any(self) -> Option<Block> {
        (!self.rows.is_empty()).then_some(Block::Table(self))
    }
}

impl Column {
    pub(crate) fn text(title: impl Into<String>) -> Column {
        Column { title: title.into(), is_text: true, ..Column::default() }
    }

    pub(crate) fn figures(title: impl Into<String>) -> Column {
        Column { title: title.into(), ..Column::default() }
    }

    /// A column of figures below a heading that it shares with its neighbours.
    pub(crate) fn grouped(group: &'static str, title: impl Into<String>) -> Column {
        Column { group, ..Column::figures(title) }
    }
}

impl Cell {
    pub(crate) fn text(text: impl Into<String>) -> Cell {
        Cell { content: Content::Text(text.into()), ..Cell::default() }
    }

    pub(crate) fn code(text: impl Into<String>) -> Cell {
        Cell { content: Content::Code(text.into()), ..Cell::default() }
    }

    pub(crate) fn figure(quantity: Quantity, value: f64) -> Cell {
        Cell { content: Content::Figure { quantity, value, plus_minus: None }, ..Cell::default() }
    }

    /// With half of its 95 % interval as a share of the figure.
    pub(crate) fn figure_with_interval(quantity: Quantity, value: f64, plus_minus: Option<f64>) -> Cell {
        Cell { content: Content::Figure { quantity, value, plus_minus }, ..Cell::default() }
    }

    pub(crate) fn mean_and_deviation(mean_us: f64, deviation_us: f64) -> Cell {
        Cell { content: Content::MeanAndDeviation { mean_us, deviation_us }, ..Cell::default() }
    }

    /// An empty cell if there is no value.
    pub(crate) fn figure_if(quantity: Quantity, value: Option<f64>) -> Cell {
        value.map_or_else(Cell::default, |value| Cell::figure(quantity, value))
    }

    #[must_use]
    pub(crate) fn with_note(self, note: impl Into<String>) -> Cell {
        Cell { note: note.into(), ..self }
    }

    #[must_use]
    pub(crate) fn with_bar(self, share: f64) -> Cell {
        Cell { bar: Some(share), ..self }
    }

    #[must_use]
    pub(crate) fn with_tone(self, tone: Tone) -> Cell {
        Cell { tone, ..self }
    }

    #[must_use]
    pub(crate) fn with_link(self, id: impl Into<String>) -> Cell {
        Cell { link: Some(id.into()), ..self }
    }
}

/// Those that have blocks.
pub(crate) fn with_contents(sections: impl IntoIterator<Item = Section>) -> Vec<Section> {
    sections.into_iter().filter(|section| !section.blocks.is_empty()).collect()
}

impl Section {
    pub(crate) fn new(
        id: &'static str,
        title: impl Into<String>,
        link: &'static str,
        audience: Audience,
        blocks: Vec<Block>,
    ) -> Section {
        Section { id, title: title.into(), link, audience, blocks }
    }

    /// The user's label and note; without blocks if the user gave neither.
    pub(crate) fn annotation(annotation: &Annotation) -> Section {
        let Annotation { label, note } = annotation;
        let label = label.as_ref().map(|label| Fact::new("label", escaped_line(label.as_str())));
        let note = note.as_ref().map(|note| Fact::new("note", escaped_line(note.as_str())));
        let facts: Vec<Fact> = label.into_iter().chain(note).collect();
        let blocks = if facts.is_empty() { Vec::new() } else { vec![Block::Facts(facts)] };
        Section::new("annotation", "", "", Audience::All, blocks)
    }
}
