//! A picture as SVG, with the reader's own fonts. Text is escaped; there is neither script nor link in it.
//! For the same sheet as pixels, see `png`.

use std::fmt::Write;

use super::colour::Paint;
use super::shapes::{CELL_OVERLAP, Shape, Sheet};
use crate::prose::markup_escaped;

/// A sheet as one SVG document.
pub(super) fn written(sheet: &Sheet) -> String {
    let Sheet { width, height, description, shapes } = sheet;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" \
         font-family=\"Inter, system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif\">\n\
         <title>{}</title>\n",
        text_escaped(description)
    );
    for shape in shapes {
        // Writing to a string cannot fail.
        let _ = draw(&mut out, shape);
    }
    out + "</svg>\n"
}

fn draw(out: &mut String, shape: &Shape) -> std::fmt::Result {
    match shape {
        Shape::Rectangle { x, y, width, height, paint, opacity } => {
            let [x, y, width, height] = [*x, *y, width.max(0.0), height.max(0.0)].map(short);
            let fill = hex(*paint);
            write!(out, "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\"")?;
            if *opacity < 1.0 {
                write!(out, " fill-opacity=\"{opacity}\"")?;
            }
            out.write_str("/>\n")
        }
        Shape::Cells { cells, height, paint } => {
            out.write_str("<path d=\"")?;
            for (from, to, middle) in cells {
                write!(out, "M{} {}H{}", short(*from), short(*middle), short(*to))?;
            }
            writeln!(
                out,
                "\" stroke=\"{}\" stroke-width=\"{:.2}\" shape-rendering=\"crispEdges\"/>",
                hex(*paint),
                height + CELL_OVERLAP
            )
        }
        Shape::Line { points, paint, width, is_dashed } => {
            let dashed = if *is_dashed { " stroke-dasharray=\"4 3\"" } else { "" };
            writeln!(
                out,
                "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"{dashed}/>",
                path(points),
                hex(*paint)
            )
        }
        Shape::Area { points, paint, opacity } => {
            writeln!(
                out,
                "<path d=\"{}Z\" fill=\"{}\" fill-opacity=\"{opacity}\"/>",
                path(points),
                hex(*paint)
            )
        }
        Shape::Mark { x, y, paths, paint, is_filled } => {
            out.write_str("<path d=\"")?;
            for points in paths {
                let moved: Vec<_> = points.iter().map(|(right, down)| (x + right, y + down)).collect();
                out.write_str(&path(&moved))?;
            }
            let hex = hex(*paint);
            if *is_filled {
                writeln!(out, "Z\" fill=\"{hex}\"/>")
            } else {
                writeln!(out, "\" fill=\"none\" stroke=\"{hex}\" stroke-width=\"1.2\"/>")
            }
        }
        Shape::Group { shapes, .. } => shapes.iter().try_for_each(|shape| draw(out, shape)),
        Shape::Text { x, y, size, is_bold, anchor, paint, text, is_optional: _ } => {
            let weight = if *is_bold { 600 } else { 400 };
            writeln!(
                out,
                "<text x=\"{}\" y=\"{}\" font-size=\"{size}\" font-weight=\"{weight}\" text-anchor=\"{}\" \
                 fill=\"{}\">{}</text>",
                short(*x),
                short(*y),
                anchor.name(),
                hex(*paint),
                text_escaped(text)
            )
        }
    }
}

fn hex(paint: Paint) -> String {
    format!("#{:06x}", paint.light())
}

/// A length with a tenth of a pixel.
pub(super) fn short(length: f32) -> String {
    let length = if length.is_finite() { length } else { 0.0 };
    let text = format!("{length:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Lines from point to point.
pub(super) fn path(points: &[(f32, f32)]) -> String {
    let mut out = String::with_capacity(points.len() * 10);
    // A record of others may hold figures beyond what a picture can show.
    for (at, (x, y)) in points.iter().filter(|(x, y)| x.is_finite() && y.is_finite()).enumerate() {
        // Positions after the second begin another line without its letter.
        out.push_str(match at {
            0 => "M",
            1 => "L",
            _ => " ",
        });
        let _ = write!(out, "{} {}", short(*x), short(*y));
    }
    out
}

/// Text that is neither markup nor the end of an attribute, in SVG and in HTML. XML has no place for control characters
/// at all (Extensible Markup Language 1.0, §2.2).
pub(super) fn text_escaped(text: &str) -> String {
    markup_escaped(text, |character| match character {
        '\'' => Some("&#39;"),
        '\u{fffe}' | '\u{ffff}' => Some("\u{fffd}"),
        character => results::steers(character).then_some("\u{fffd}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        assert_eq!(text_escaped("<a href=\"x\">&\u{1}'"), "&lt;a href=&quot;x&quot;&gt;&amp;\u{fffd}&#39;");
    }

    #[test]
    fn lengths_are_short_and_always_numbers() {
        assert_eq!([0.04, -0.04, 12.0, 3.26, f32::NAN].map(short), ["0", "0", "12", "3.3", "0"]);
        assert_eq!(path(&[(0.0, 1.0), (f32::INFINITY, 2.0), (3.5, 4.0), (5.0, 6.0)]), "M0 1L3.5 4 5 6");
    }
}
