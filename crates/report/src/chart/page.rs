//! A chart on the page: caption, legend, the drawing, and its values for the script. The drawing is as wide as the page:
//! lines and areas are stretched, while words and marks keep their size and only move. Colours are variables of the style
//! sheet, as attributes, since the page's policy forbids styles there.

use std::fmt::Write;

use super::bars::{self, Row};
use super::colour::Paint;
use super::plot::{self, Drawn};
use super::shapes::{CELL_OVERLAP, Shape, point};
use super::svg::{path, short, text_escaped};
use super::{Bar, BarGroup, Chart, Choice, Plot, legend};
use crate::prose::names_escaped;

/// Units of the drawing's width; words and marks stand at so many thousandths of it.
const UNITS: f32 = 1_000.0;

/// The chart as a `<figure>`; `id` is unique on the page.
pub(crate) fn markup(chart: &Chart, id: usize) -> String {
    let Chart { title, caption, is_low, choice, plot } = chart;
    let mut out = String::new();
    let class = match plot {
        Plot::Bars { .. } => "bars",
        Plot::Lines { .. } | Plot::Heat { .. } if *is_low => "chart low",
        Plot::Lines { .. } | Plot::Heat { .. } => "chart",
    };
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "<figure class=\"{class}\" id=\"chart-{id}\"{}><figcaption><h3>{}</h3><span class=\"how\">{}</span>{}</figcaption>",
        choice_attributes(*choice),
        text_escaped(title),
        text_escaped(caption),
        legend_markup(chart)
    );
    match (plot, plot::drawn(plot, *is_low, UNITS)) {
        (Plot::Bars { axis, groups, legend }, _) => {
            out += &bar_list(axis, groups);
            let values = super::values::json_of_bars(axis, groups, legend);
            let _ = write!(out, "<script type=\"application/json\">{values}</script>");
        }
        (_, Some(drawn)) => {
            let label = text_escaped(&format!("Chart: {title}, {caption}."));
            let named = match plot {
                Plot::Lines { x, .. } | Plot::Heat { x, .. } if !x.name.is_empty() => " named",
                _ => "",
            };
            let _ = write!(
                out,
                "<div class=\"plot{named}\" role=\"img\" aria-label=\"{label}\">{}</div>",
                drawing(&drawn)
            );
            if let Some(values) = super::values::json(plot, &drawn) {
                let _ = write!(out, "<script type=\"application/json\">{values}</script>");
            }
        }
        (_, None) => {}
    }
    out + "</figure>\n"
}

/// Alternatives follow the first of them.
fn choice_attributes(choice: Option<Choice>) -> String {
    match choice {
        None => String::new(),
        Some(Choice { of, name, is_first: true }) => {
            format!(" data-choice=\"{name}\" data-of=\"{of}\" data-first")
        }
        Some(Choice { of, name, is_first: false }) => {
            format!(" data-choice=\"{name}\" data-of=\"{of}\" hidden")
        }
    }
}

fn variable(paint: Paint) -> String {
    format!("var(--{})", paint.variable())
}

fn legend_markup(chart: &Chart) -> String {
    let mut out = String::new();
    for legend::Item { name, colour, kind, series } in legend::items(chart) {
        let paint = variable(Paint::Of(colour));
        let key = match kind {
            legend::Kind::Solid => format!("<rect width=\"12\" height=\"7\" rx=\"1\" fill=\"{paint}\"/>"),
            legend::Kind::Dashed => {
                format!(
                    "<path d=\"M0 3.5H12\" stroke=\"{paint}\" stroke-width=\"2\" stroke-dasharray=\"3 1.5\"/>"
                )
            }
            legend::Kind::Band => format!("<rect y=\"1.5\" width=\"12\" height=\"4\" fill=\"{paint}\"/>"),
            legend::Kind::Form(form) => {
                let Shape::Mark { paths, is_filled, .. } = point(form, 0.0, 0.0, 4.0, Paint::Of(colour))
                else {
                    continue;
                };
                let moved = |points: &Vec<(f32, f32)>| -> Vec<(f32, f32)> {
                    points.iter().map(|(x, y)| (x * 0.75 + 6.0, y * 0.75 + 3.5)).collect()
                };
                let outline: String = paths.iter().map(|points| path(&moved(points))).collect();
                if is_filled {
                    format!("<path d=\"{outline}Z\" fill=\"{paint}\"/>")
                } else {
                    format!("<path d=\"{outline}\" fill=\"none\" stroke=\"{paint}\" stroke-width=\"1.2\"/>")
                }
            }
            legend::Kind::Sign(sign) => {
                let corners: Vec<_> =
                    sign.outline().iter().map(|(x, y)| (x * 0.75 + 6.0, y * 0.75 + 3.5)).collect();
                format!("<path d=\"{}Z\" fill=\"{paint}\"/>", path(&corners))
            }
        };
        let of_series = series.map_or(String::new(), |number| format!(" data-s=\"{number}\""));
        let _ = write!(
            out,
            "<span class=\"item\"{of_series}><svg class=\"key\" viewBox=\"0 0 12 7\" aria-hidden=\"true\">{key}</svg>{}</span> ",
            text_escaped(&name)
        );
    }
    if out.is_empty() { out } else { format!("<span class=\"legend\">{out}</span>") }
}

/// The gutter, then the plot.
fn drawing(drawn: &Drawn) -> String {
    let mut out = String::new();
    if drawn.gutter.height > 0.0 {
        let (mut stretched, mut fixed) = (String::new(), String::new());
        drawn.gutter.shapes.iter().for_each(|shape| draw(&mut stretched, &mut fixed, shape));
        let height = short(drawn.gutter.height);
        let _ = write!(
            out,
            "<svg class=\"gutter\" height=\"{height}\" aria-hidden=\"true\"><svg viewBox=\"0 0 {UNITS} {height}\" \
             width=\"100%\" height=\"{height}\" preserveAspectRatio=\"none\">{stretched}</svg>{fixed}</svg>"
        );
    }
    let height = short(drawn.height);
    let mut stretched = String::new();
    let mut fixed = String::new();
    let (mut grid, mut upright) = (String::new(), String::new());
    for shape in &drawn.shapes {
        match shape {
            Shape::Line { points, paint: Paint::Grid, .. } => match points[..] {
                [(from, _), (to, _)] if from < to => grid += &path(points),
                _ => upright += &path(points),
            },
            shape => draw(&mut stretched, &mut fixed, shape),
        }
    }
    // A line at the upper or lower edge is not cut: the inner drawing is a pixel higher on both sides.
    let higher = short(drawn.height + 2.0);
    let paint = variable(Paint::Grid);
    let _ = write!(
        out,
        "<svg class=\"area\" height=\"{height}\" aria-hidden=\"true\"><svg y=\"-1\" viewBox=\"0 -1 {UNITS} {higher}\" \
         width=\"100%\" height=\"{higher}\" preserveAspectRatio=\"none\"><path fill=\"none\" stroke=\"{paint}\" \
         d=\"{grid}\"/><path class=\"upright\" fill=\"none\" stroke=\"{paint}\" d=\"{upright}\"/>{stretched}</svg>{fixed}</svg>"
    );
    out
}

/// Position across the drawing: a share of its width; what lies left of it has a distance in pixels.
fn across(x: f32) -> String {
    if x < 0.0 { short(x) } else { format!("{}%", short(x * 100.0 / UNITS)) }
}

fn draw(stretched: &mut String, fixed: &mut String, shape: &Shape) {
    // Writing to a string cannot fail.
    let _ = match shape {
        Shape::Rectangle { x, y, width, height, paint, opacity } => {
            let [x, width, height] = [x, width, height].map(|length| short(length.max(0.0)));
            let (y, opacity) = (short(*y), opacity_attribute(*opacity));
            write!(
                stretched,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{}\"{opacity}/>",
                variable(*paint)
            )
        }
        Shape::Cells { cells, height, paint } => {
            let mut path = String::new();
            for (from, to, middle) in cells {
                let _ = write!(path, "M{} {}H{}", short(*from), short(*middle), short(*to));
            }
            write!(
                stretched,
                "<path class=\"cells\" fill=\"none\" stroke=\"{}\" stroke-width=\"{:.2}\" d=\"{path}\"/>",
                variable(*paint),
                height + CELL_OVERLAP
            )
        }
        Shape::Line { points, paint, width, is_dashed } => {
            let dashed = if *is_dashed { " stroke-dasharray=\"4 3\"" } else { "" };
            write!(
                stretched,
                "<path fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\"{dashed} d=\"{}\"/>",
                variable(*paint),
                path(points)
            )
        }
        Shape::Area { points, paint, opacity } => {
            let opacity = opacity_attribute(*opacity);
            write!(stretched, "<path fill=\"{}\"{opacity} d=\"{}Z\"/>", variable(*paint), path(points))
        }
        Shape::Mark { x, y, paths, paint, is_filled } => {
            let lines: String = paths.iter().map(|points| path(points)).collect();
            let paint = variable(*paint);
            let paint = if *is_filled {
                format!("fill=\"{paint}\"")
            } else {
                format!("fill=\"none\" stroke=\"{paint}\"")
            };
            let (x, y) = (across(*x), short(*y));
            write!(fixed, "<svg class=\"mark\" x=\"{x}\" y=\"{y}\"><path {paint} d=\"{lines}\"/></svg>")
        }
        Shape::Group { series, shapes } => {
            let (mut of_stretched, mut of_fixed) = (String::new(), String::new());
            shapes.iter().for_each(|shape| draw(&mut of_stretched, &mut of_fixed, shape));
            for (whole, part) in [(stretched, of_stretched), (fixed, of_fixed)] {
                if !part.is_empty() {
                    let _ = write!(whole, "<g data-s=\"{series}\">{part}</g>");
                }
            }
            Ok(())
        }
        Shape::Text { x, y, anchor, paint, text, is_optional, .. } => {
            let class = class_of_words(*paint, *is_optional);
            write!(
                fixed,
                "<text{class} x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>",
                across(*x),
                short(*y),
                anchor.name(),
                text_escaped(text)
            )
        }
    };
}

fn class_of_words(paint: Paint, is_optional: bool) -> &'static str {
    match (paint, is_optional) {
        (Paint::Page, true) => " class=\"wide light\"",
        (Paint::Page, false) => " class=\"light\"",
        (Paint::Text, true) => " class=\"wide ink\"",
        (Paint::Text, false) => " class=\"ink\"",
        (Paint::Of(_) | Paint::Heat(_) | Paint::Grid, true) => " class=\"wide\"",
        (Paint::Of(_) | Paint::Heat(_) | Paint::Grid, false) => "",
    }
}

fn opacity_attribute(opacity: f32) -> String {
    if opacity < 1.0 { format!(" fill-opacity=\"{opacity}\"") } else { String::new() }
}

/// Bars with their names and figures as text of the page.
fn bar_list(axis: &super::Axis, groups: &[BarGroup]) -> String {
    let is_grouped = groups.iter().any(|group| group.bars.iter().any(|bar| !bar.label.is_empty()));
    let scale = bars::scale(axis, groups, UNITS);
    let is_stacked = groups.iter().any(|group| group.bars.iter().any(|bar| bar.parts.len() > 1));
    let class = [
        (is_grouped, " grouped"),
        (is_stacked, " stacked"),
        (!axis.thresholds.is_empty() || axis.is_logarithmic, " scaled"),
    ];
    let class: String = class.into_iter().filter(|(is, _)| *is).map(|(_, name)| name).collect();
    let mut out = format!("<ol class=\"bar-list{class}\">");
    for BarGroup { name, bars } in groups {
        out += "<li>";
        if is_grouped {
            let _ = write!(out, "<span class=\"group\">{}</span>", text_escaped(name));
        }
        for bar in bars {
            let label = if is_grouped { &bar.label } else { name };
            out += &bar_row(bar, label, &bars::row(bar, axis, &scale, UNITS));
        }
        out += "</li>";
    }
    if let Some(row) = bars::axis_row(axis, &scale, UNITS) {
        let axis = bar_row(&Bar::default(), "", &row);
        let _ = write!(out, "<li class=\"axis\" aria-hidden=\"true\">{axis}</li>");
    }
    out + "</ol>"
}

fn bar_row(bar: &Bar, label: &str, row: &Row) -> String {
    let (mut stretched, mut fixed) = (String::new(), String::new());
    row.shapes.iter().for_each(|shape| draw(&mut stretched, &mut fixed, shape));
    let height = short(row.height);
    let mut signs = String::new();
    for sign in &bar.signs {
        let _ = write!(signs, " <abbr title=\"{}\">{}</abbr>", sign.meaning(), sign.character());
    }
    let (title, said) = match bar.meaning {
        "" => (String::new(), String::new()),
        word => (format!(" title=\"{word}\""), format!("<span class=\"meaning\">: {word}</span>")),
    };
    format!(
        "<div class=\"bar-row\"{title}><span class=\"name\">{}</span><svg class=\"area strip\" height=\"{height}\" \
         aria-hidden=\"true\"><svg viewBox=\"0 0 {UNITS} {height}\" width=\"100%\" height=\"{height}\" \
         preserveAspectRatio=\"none\">{stretched}</svg>{fixed}</svg><span class=\"value\">{}{signs}{said}</span></div>",
        names_escaped(label, text_escaped),
        // A number and its unit stay together.
        text_escaped(&bar.shown),
    )
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Point, Series, Sign};
    use super::*;
    use crate::chart::Colour;
    use crate::metrics::Quantity;

    const HOSTILE: &str = "</script><img src=x>\"'&";

    fn assert_harmless(markup: &str) {
        assert!(!markup.contains("<img"), "{markup}");
        assert_eq!(markup.matches("<script").count(), markup.matches("</script>").count(), "{markup}");
        assert!(!markup.contains(" style=") && !markup.contains("NaN"), "{markup}");
    }

    #[test]
    fn a_chart_of_lines_is_a_figure_with_its_values() {
        let point = Point {
            interval: Some((90.0, 110.0)),
            signs: vec![Sign::Up, Sign::Diamond],
            ..Point::new(8.0, 100.0)
        };
        let series = |label: &str, is_dashed| Series {
            is_dashed,
            has_dots: true,
            ..Series::new(label, Colour::Run(9), vec![Point::new(1.0, f64::NAN), point.clone()])
        };
        let x = Axis::new("clients", Quantity::Number)
            .logarithmic(true)
            .with_marks(vec![(1.0, "1".to_owned()), (8.0, HOSTILE.to_owned())]);
        let y = Axis::new("throughput", Quantity::PerSecond);
        let plot = Plot::lines(x, y, vec![series(HOSTILE, false), series("b", true)]);
        let markup = markup(&Chart::new(HOSTILE, HOSTILE, plot), 3);
        assert!(markup.starts_with("<figure class=\"chart\" id=\"chart-3\">"), "{markup}");
        assert!(
            markup.contains("stroke=\"var(--run-1)\"") && markup.contains("stroke-dasharray"),
            "{markup}"
        );
        assert!(
            markup.contains("</svg>best throughput</span>") && markup.contains("</svg>compromise</span>")
        );
        assert!(!markup.contains("lowest mean latency"), "no point has this sign");
        assert!(
            markup.contains("\"values\":[null,100],\"intervals\":[null,[90,110]],\"signs\":[\"\",\"▲◆\"]")
        );
        assert_harmless(&markup);
    }

    #[test]
    fn bars_have_their_figures_as_text_and_those_of_a_logarithmic_axis_are_dots() {
        let bar = |label: &str, value: f64| Bar {
            label: label.to_owned(),
            parts: vec![(value, Colour::Run(0)), (value, Colour::Run(1))],
            interval: Some((value, 3.0 * value)),
            shown: format!("{value}{HOSTILE}"),
            signs: vec![Sign::Down],
            ..Bar::default()
        };
        let groups =
            vec![BarGroup { name: HOSTILE.to_owned(), bars: vec![bar("a", 1.0), bar(HOSTILE, 100.0)] }];
        for is_logarithmic in [false, true] {
            let axis = Axis::new("size", Quantity::Bytes).logarithmic(is_logarithmic);
            let plot = Plot::Bars {
                axis,
                groups: groups.clone(),
                legend: vec![(HOSTILE.to_owned(), Colour::Run(1))],
            };
            let markup = markup(&Chart::new("t", "c", plot), 0);
            let rectangles = markup.matches("<rect x=").count();
            assert_eq!(rectangles, if is_logarithmic { 0 } else { 4 }, "{markup}");
            assert!(markup.contains("<abbr title=\"lowest mean latency\">▼</abbr>"), "{markup}");
            assert_harmless(&markup);
        }
    }
}
