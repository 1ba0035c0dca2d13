//! The charts of a report below each other as one picture, which needs no browser: a title, the figures that are quoted,
//! then a chart after the other. Light, since pictures end up in documents.

use std::borrow::Cow;

use super::bars;
use super::colour::Paint;
use super::legend;
use super::lines::sign_shapes;
use super::plot::{self, AXIS_HEIGHT, AXIS_NAME_HEIGHT};
use super::png::{Fonts, PngError};
use super::shapes::{Anchor, Shape, Sheet, point};
use super::{Bar, BarGroup, Chart, Colour, Plot};
use crate::document::{Audience, Block, Document, KeyFigure, Section, Tone};
use crate::figures::with_ordinary_spaces;
use crate::prose::cut;

const WIDTH: f32 = 1_000.0;
const MARGIN: f32 = 24.0;
/// Where plots begin, behind the figures of their axis, and where they end.
const LEFT: f32 = 76.0;
const RIGHT: f32 = WIDTH - 24.0;
/// Where bars begin, behind their names, and where they end, before their figures.
const BARS_LEFT: f32 = 280.0;
const FIGURES_WIDTH_MIN: f32 = 160.0;
const FIGURES_WIDTH_MAX: f32 = 360.0;
const BAR_SPACE: f32 = 4.0;
const GROUP_SPACE: f32 = 8.0;
const CHART_SPACE: f32 = 30.0;
/// What a sign takes before a figure.
const SIGN_WIDTH: f32 = 12.0;
/// Characters of a bar's name.
const NAME_LEN_MAX: usize = 38;
/// Lines of text below the title.
const LINES_MAX: usize = 12;

/// The charts of a report as one SVG document.
pub fn svg(document: &Document) -> String {
    super::svg::written(&sheet(document))
}

/// The charts of a report as one PNG file.
///
/// # Errors
/// If there is no memory for the picture.
pub fn png(document: &Document) -> Result<Vec<u8>, PngError> {
    super::png::drawn(&sheet(document))
}

fn sheet(document: &Document) -> Sheet {
    let mut charts = Vec::new();
    for section in &document.sections {
        match section.audience {
            Audience::Terminal => {}
            Audience::All | Audience::Documents | Audience::Page => charts_in(&section.blocks, &mut charts),
        }
    }
    let mut pen = Pen { shapes: Vec::new(), top: 16.0, fonts: Fonts::load().ok() };
    pen.title(&document.title, &document.subtitle);
    for banner in &document.banners {
        let is_bold = !matches!(banner.tone, Tone::Plain | Tone::Quiet);
        pen.line(&Line { text: banner.text.clone(), size: 13.0, is_bold, is_quiet: false });
    }
    let lines = document.sections.iter().find(|it| it.audience != Audience::Terminal).map(lines);
    let lines = lines.unwrap_or_default();
    lines.iter().take(LINES_MAX).for_each(|line| pen.line(line));
    pen.top += 32.0;
    if charts.is_empty() {
        pen.line(&Line {
            text: "There is nothing to draw.".to_owned(),
            size: 13.0,
            is_bold: false,
            is_quiet: true,
        });
    }
    charts.iter().for_each(|chart| pen.chart(chart));
    let height = pen.top.ceil();
    let page = Shape::Rectangle { x: 0.0, y: 0.0, width: WIDTH, height, paint: Paint::Page, opacity: 1.0 };
    pen.shapes.insert(0, page);
    let told = lines.iter().take(2).map(|line| line.text.as_str());
    let title = format!("{} {}", document.title, document.subtitle);
    let description: Vec<&str> = std::iter::once(title.trim()).chain(told).collect();
    let description = with_ordinary_spaces(&description.join(". "));
    Sheet { width: WIDTH, height, description, shapes: pen.shapes }
}

fn charts_in<'a>(blocks: &'a [Block], found: &mut Vec<Cow<'a, Chart>>) {
    for block in blocks {
        match block {
            Block::Chart(chart) => {
                if chart.choice.is_none_or(|choice| choice.is_first) {
                    found.push(Cow::Borrowed(chart));
                }
            }
            Block::Forest(forest) => found.push(Cow::Owned(forest.chart())),
            Block::Folded { blocks, .. } => charts_in(blocks, found),
            Block::Columns(columns) => columns.iter().for_each(|blocks| charts_in(blocks, found)),
            Block::Heading(_)
            | Block::Paragraph(..)
            | Block::Banner(..)
            | Block::Answer(..)
            | Block::Figures(..)
            | Block::Facts(_)
            | Block::Table(_)
            | Block::List(..)
            | Block::Code(_)
            | Block::Preformatted(_) => {}
        }
    }
}

/// A line of text below the title.
struct Line {
    text: String,
    size: f32,
    is_bold: bool,
    is_quiet: bool,
}

/// The sentences and the headline of a section.
fn lines(section: &Section) -> Vec<Line> {
    const SIZE: f32 = 13.0;
    let mut lines = Vec::new();
    for block in &section.blocks {
        match block {
            Block::Paragraph(tone, text) => lines.push(Line {
                text: text.clone(),
                size: SIZE,
                is_bold: false,
                is_quiet: *tone == Tone::Quiet,
            }),
            Block::Banner(_, sentence, evidence) => {
                let text = format!("{sentence} {evidence}");
                lines.push(Line { text, size: SIZE, is_bold: false, is_quiet: false });
            }
            Block::Answer(_, text) => {
                lines.push(Line { text: text.clone(), size: 16.0, is_bold: true, is_quiet: false });
            }
            Block::Figures(figures, beneath) => {
                let figure =
                    |it: &KeyFigure| format!("{} {} {}", it.label, it.value, it.note).trim_end().to_owned();
                let figures: Vec<String> = figures.iter().map(figure).collect();
                let text = figures.join("   ");
                lines.push(Line { text, size: SIZE, is_bold: true, is_quiet: false });
                lines.push(Line { text: beneath.clone(), size: SIZE, is_bold: false, is_quiet: true });
            }
            Block::Heading(_)
            | Block::Facts(_)
            | Block::Table(_)
            | Block::List(..)
            | Block::Code(_)
            | Block::Preformatted(_)
            | Block::Folded { .. }
            | Block::Columns(_)
            | Block::Chart(_)
            | Block::Forest(_) => {}
        }
    }
    lines.retain(|line| !line.text.trim().is_empty());
    lines
}

/// What is drawn so far, and where the next piece begins.
struct Pen {
    shapes: Vec<Shape>,
    top: f32,
    /// To measure text; without them it is estimated.
    fonts: Option<Fonts>,
}

impl Pen {
    fn width(&self, text: &str, size: f32, is_bold: bool) -> f32 {
        // Some hundred characters at most.
        #[allow(clippy::cast_possible_truncation)]
        let estimated = || text.chars().count() as f32 * size * 0.55;
        self.fonts.as_ref().map_or_else(estimated, |fonts| fonts.width(text, size, is_bold))
    }

    /// Text with its base line at the top plus `down`; returns where it ends.
    fn text(&mut self, x: f32, down: f32, anchor: Anchor, style: (f32, bool, Paint), words: &str) -> f32 {
        let (size, is_bold, paint) = style;
        let text = with_ordinary_spaces(words);
        let end = x + self.width(&text, size, is_bold);
        let y = self.top + down;
        self.shapes.push(Shape::Text { x, y, size, is_bold, anchor, paint, text, is_optional: false });
        end
    }

    fn title(&mut self, title: &str, subtitle: &str) {
        let end = self.text(MARGIN, 20.0, Anchor::Start, (20.0, true, Paint::Text), &cut(title, 80));
        let subtitle = with_ordinary_spaces(subtitle);
        let is_beside = end + 8.0 + self.width(&subtitle, 16.0, false) < WIDTH - MARGIN;
        if !subtitle.is_empty() && is_beside {
            self.text(end + 8.0, 20.0, Anchor::Start, (16.0, false, QUIET), &subtitle);
        }
        self.top += 28.0;
        if !subtitle.is_empty() && !is_beside {
            self.line(&Line { text: subtitle, size: 13.0, is_bold: false, is_quiet: true });
        }
    }

    /// A line, wrapped at the right margin.
    fn line(&mut self, line: &Line) {
        let Line { text, size, is_bold, is_quiet } = line;
        let paint = if *is_quiet { QUIET } else { Paint::Text };
        for row in self.wrapped(&with_ordinary_spaces(text), *size, *is_bold) {
            self.text(MARGIN, size + 4.0, Anchor::Start, (*size, *is_bold, paint), &row);
            self.top += size + 6.0;
        }
    }

    fn wrapped(&self, text: &str, size: f32, is_bold: bool) -> Vec<String> {
        let mut rows = vec![String::new()];
        for word in text.split(' ') {
            let row = rows.last().map_or("", String::as_str);
            let longer = if row.is_empty() { word.to_owned() } else { format!("{row} {word}") };
            let fits = row.is_empty() || MARGIN + self.width(&longer, size, is_bold) <= WIDTH - MARGIN;
            match rows.last_mut() {
                Some(row) if fits => *row = longer,
                _ => rows.push(word.to_owned()),
            }
        }
        rows
    }

    /// As much of a text as there is room for.
    fn shortened(&self, text: &str, room: f32) -> String {
        let lengths = (1..=text.chars().count()).rev().map(|length| cut(text, length));
        let mut fitting = lengths.skip_while(|text| self.width(text, 12.0, false) > room);
        fitting.next().unwrap_or_default()
    }

    fn chart(&mut self, chart: &Chart) {
        let left = if matches!(chart.plot, Plot::Bars { .. }) { MARGIN } else { LEFT };
        self.head(chart, left);
        match (&chart.plot, plot::drawn(&chart.plot, chart.is_low, RIGHT - LEFT)) {
            (Plot::Bars { axis, groups, .. }, _) => self.bars(axis, groups),
            (Plot::Lines { x, .. } | Plot::Heat { x, .. }, Some(drawn)) => {
                let top = self.top;
                self.shapes.extend(drawn.gutter.shapes.into_iter().map(|shape| shape.moved(LEFT, top)));
                self.top += drawn.gutter.height;
                let top = self.top;
                self.shapes.extend(drawn.shapes.into_iter().map(|shape| shape.moved(LEFT, top)));
                let name_height = if x.name.is_empty() { 0.0 } else { AXIS_NAME_HEIGHT };
                self.top += drawn.height + AXIS_HEIGHT + name_height;
            }
            (_, None) => {}
        }
        self.top += CHART_SPACE;
    }

    /// Title, how to read it, and the legend: beside the title if there is room, else below.
    fn head(&mut self, chart: &Chart, left: f32) {
        let mut end =
            self.text(left, 0.0, Anchor::Start, (14.0, true, Paint::Text), &cut(&chart.title, 84)) + 8.0;
        let caption = with_ordinary_spaces(&chart.caption);
        if end + self.width(&caption, 12.0, false) > RIGHT {
            self.top += 16.0;
            end = left;
        }
        end = self.text(end, 0.0, Anchor::Start, (12.0, false, QUIET), &caption);
        let items = legend::items(chart);
        let widths: Vec<f32> = items.iter().map(|item| self.width(&item.name, 12.0, false) + 32.0).collect();
        let all: f32 = widths.iter().sum();
        let mut x = RIGHT + 16.0 - all;
        if x < end + 16.0 {
            x = left;
            self.top += 17.0;
        }
        for (item, width) in items.iter().zip(widths) {
            if x + width > RIGHT + 16.0 && x > left {
                x = left;
                self.top += 17.0;
            }
            self.legend_item(item, x);
            x += width;
        }
        self.top += 12.0;
    }

    fn legend_item(&mut self, item: &legend::Item, x: f32) {
        let (paint, y) = (Paint::Of(item.colour), self.top - 7.0);
        let rectangle = |height, opacity| Shape::Rectangle { x, y, width: 11.0, height, paint, opacity };
        match item.kind {
            legend::Kind::Solid => self.shapes.push(rectangle(7.0, 1.0)),
            legend::Kind::Dashed => {
                let points = vec![(x, y + 3.5), (x + 11.0, y + 3.5)];
                self.shapes.push(Shape::Line { points, paint, width: 2.0, is_dashed: true });
            }
            legend::Kind::Band => self.shapes.push(rectangle(4.0, 1.0).moved(0.0, 1.5)),
            legend::Kind::Form(form) => {
                self.shapes.push(point(form, x + 6.0, y + 3.5, 3.6, paint));
            }
            legend::Kind::Sign(sign) => {
                self.shapes.extend(sign_shapes(&[sign], (x + 6.0, 0.0), y + 3.0, paint, 0.5));
            }
        }
        self.text(x + 16.0, 0.0, Anchor::Start, (12.0, false, QUIET), &item.name);
    }

    fn bars(&mut self, axis: &super::Axis, groups: &[BarGroup]) {
        let is_grouped = groups.iter().any(|group| group.bars.iter().any(|bar| !bar.label.is_empty()));
        let all = || groups.iter().flat_map(|group| &group.bars);
        let room = |bar: &Bar| {
            self.width(&with_ordinary_spaces(&bar.shown), 12.0, false) + SIGN_WIDTH * bar.signs.len() as f32
        };
        let figures_width = all().map(room).fold(FIGURES_WIDTH_MIN, f32::max).min(FIGURES_WIDTH_MAX);
        let width = RIGHT - figures_width - 20.0 - BARS_LEFT;
        let scale = bars::scale(axis, groups, width);
        for BarGroup { name, bars } in groups {
            if is_grouped {
                self.text(
                    MARGIN,
                    12.0,
                    Anchor::Start,
                    (12.0, true, Paint::Text),
                    &cut(name, NAME_LEN_MAX * 2),
                );
                self.top += 18.0;
            }
            for bar in bars {
                let label = if is_grouped { &bar.label } else { name };
                let style = (12.0, false, Paint::Text);
                self.text(BARS_LEFT - 10.0, 12.0, Anchor::End, style, &cut(label, NAME_LEN_MAX));
                let row = bars::row(bar, axis, &scale, width);
                let top = self.top;
                self.shapes.extend(row.shapes.into_iter().map(|shape| shape.moved(BARS_LEFT, top)));
                let shown = self.shortened(&with_ordinary_spaces(&bar.shown), figures_width);
                let figure_width = self.width(&shown, 12.0, false);
                self.text(RIGHT, 12.0, Anchor::End, style, &shown);
                let (x, y) = (RIGHT - figure_width - 12.0, top + row.height / 2.0);
                let colour = bar.parts.first().map_or(Colour::Quiet, |(_, colour)| *colour);
                self.shapes.extend(sign_shapes(&bar.signs, (x, 0.0), y, Paint::Of(colour), 1.0));
                self.top += row.height + BAR_SPACE;
            }
            self.top += if is_grouped { GROUP_SPACE } else { 0.0 };
        }
        if let Some(row) = bars::axis_row(axis, &scale, width) {
            let top = self.top;
            self.shapes.extend(row.shapes.into_iter().map(|shape| shape.moved(BARS_LEFT, top)));
            self.top += row.height;
        }
    }
}

const QUIET: Paint = Paint::Of(Colour::Quiet);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Axis, Point, Series, Sign};
    use crate::metrics::Quantity;

    fn document() -> Document {
        let signs = vec![Sign::Up, Sign::Down];
        let point = |x: f64| Point { interval: Some((1.0, 9.0)), signs: signs.clone(), ..Point::new(x, 5.0) };
        let points = vec![point(1.0), point(f64::NAN), point(64.0)];
        let series = Series { has_dots: true, ..Series::new("simple", Colour::Run(0), points) };
        let lines = Plot::lines(
            Axis::new("clients", Quantity::Number).logarithmic(true),
            Axis::new("", Quantity::PerSecond),
            vec![Series { is_dashed: true, ..series.clone() }, series],
        );
        let bar = Bar {
            label: String::new(),
            parts: vec![(5.0, Colour::Run(0)), (2.0, Colour::Run(1))],
            interval: Some((6.0, 8.0)),
            shown: "7 MB".to_owned(),
            signs,
            ..Bar::default()
        };
        let groups = vec![BarGroup { name: "<PostgreSQL> 18".to_owned(), bars: vec![bar] }];
        let bars = Plot::Bars { axis: Axis::new("", Quantity::Bytes), groups, legend: Vec::new() };
        let long = "a sentence that is repeated until it takes more than one line of the picture, ".repeat(3);
        let figure = |label: &str, value: &str| KeyFigure {
            label: label.to_owned(),
            value: value.to_owned(),
            note: String::new(),
            is_large: false,
        };
        let figures = vec![figure("tps", "5,288"), figure("median", "3 ms")];
        let headline = Block::Figures(figures, "± 1 %".to_owned());
        let chart = |title: &str, plot: Plot| Block::chart(Chart::new(title, "a caption", plot));
        let folded = Block::folded(String::new(), vec![chart("Sizes", bars)]);
        let first = vec![headline, Block::Paragraph(Tone::Plain, long)];
        let of_terminal =
            Section::new("brief", "", "", Audience::Terminal, vec![chart("Hidden", lines.clone())]);
        Document {
            banners: Vec::new(),
            title: "tpcb-like".to_owned(),
            subtitle: "on PostgreSQL 18.1".to_owned(),
            sections: vec![
                of_terminal,
                Section::new("top", "", "", Audience::All, first),
                Section::new("charts", "", "", Audience::Page, vec![chart("Throughput", lines), folded]),
            ],
        }
    }

    #[test]
    fn a_picture_has_the_title_the_first_section_and_all_charts() {
        let svg = svg(&document());
        for words in [
            "tpcb-like",
            "on PostgreSQL 18.1",
            "tps 5,288   median 3 ms",
            "Throughput",
            "Sizes",
            "7 MB",
            "&lt;PostgreSQL&gt; 18",
        ] {
            assert!(svg.contains(&format!(">{words}</text>")), "no {words} in {svg}");
        }
        assert!(!svg.contains("Hidden") && !svg.contains("NaN"), "{svg}");
    }

    #[test]
    fn no_line_of_text_leaves_the_picture() {
        let sheet = sheet(&document());
        let fonts = Fonts::load().unwrap();
        for shape in &sheet.shapes {
            let Shape::Text { x, y, size, is_bold, anchor, text, .. } = shape else { continue };
            let width = fonts.width(text, *size, *is_bold);
            let left = match anchor {
                Anchor::Start => *x,
                Anchor::Middle => x - width / 2.0,
                Anchor::End => x - width,
            };
            assert!(left >= 0.0 && left + width <= WIDTH && *y <= sheet.height, "{text}: {left} {width} {y}");
        }
    }

    #[test]
    fn pixels_are_of_the_same_sheet() {
        let png = png(&document()).unwrap();
        // Width of the image header (Portable Network Graphics, §11.2.2).
        assert_eq!((&png[1..4], &png[16..20]), (&b"PNG"[..], &[0, 0, 7, 208][..]));
        assert!(super::png(&Document::default()).is_ok());
    }
}
