//! A picture as SVG, with the reader's own fonts. Text is escaped; there is neither script nor link in it.
//! For the same sheet as pixels, see `png`.

use std::fmt::Write;

use super::panels::sheet;
use super::shapes::{Anchor, Colour, Shape, Sheet};
use crate::Run;

/// The main charts of one run or several as one SVG document.
pub fn svg(runs: &[Run<'_>]) -> String {
    written(&sheet(runs))
}

/// A sheet as one SVG document.
pub(super) fn written(sheet: &Sheet) -> String {
    let Sheet { width, height, description, shapes } = sheet;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" \
         font-family=\"Inter, system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif\">\n\
         <title>{}</title>\n",
        escaped(description)
    );
    for shape in shapes {
        // Writing to a string cannot fail.
        let _ = draw(&mut out, shape);
    }
    out + "</svg>\n"
}

fn draw(out: &mut String, shape: &Shape) -> std::fmt::Result {
    match shape {
        Shape::Rectangle { x, y, width, height, colour, opacity } => {
            let (width, height) = (width.max(0.0), height.max(0.0));
            write!(
                out,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{}\"",
                hex(*colour)
            )?;
            if *opacity < 1.0 {
                write!(out, " fill-opacity=\"{opacity:.2}\"")?;
            }
            out.write_str("/>\n")
        }
        Shape::Line { points, colour, width } => {
            out.write_str("<polyline points=\"")?;
            // A record of others may hold figures beyond what a picture can show.
            for (x, y) in points.iter().filter(|(x, y)| x.is_finite() && y.is_finite()) {
                write!(out, "{x:.1},{y:.1} ")?;
            }
            let colour = hex(*colour);
            writeln!(
                out,
                "\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"/>"
            )
        }
        Shape::Polygon { points, colour } => {
            out.write_str("<polygon points=\"")?;
            for (x, y) in points.iter().filter(|(x, y)| x.is_finite() && y.is_finite()) {
                write!(out, "{x:.1},{y:.1} ")?;
            }
            writeln!(out, "\" fill=\"{}\"/>", hex(*colour))
        }
        Shape::Text { x, y, size, bold, anchor, colour, text } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let weight = if *bold { 600 } else { 400 };
            writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" font-weight=\"{weight}\" \
                 text-anchor=\"{anchor}\" fill=\"{}\">{}</text>",
                hex(*colour),
                escaped(text)
            )
        }
    }
}

fn hex(colour: Colour) -> String {
    format!("#{:06x}", colour.0)
}

/// XML has no place for control characters at all (Extensible Markup Language 1.0, §2.2).
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            character if results::steers(character) => out.push('\u{fffd}'),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            character => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        assert_eq!(escaped("<a href=\"x\">&\u{1}"), "&lt;a href=&quot;x&quot;&gt;&amp;\u{fffd}");
    }
}
