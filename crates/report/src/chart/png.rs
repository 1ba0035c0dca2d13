//! A picture as PNG: shapes rasterised by tiny-skia, words by the outlines of a small font of our own. What the font does
//! not have is drawn as its mark for missing characters.

use std::fmt;

use tiny_skia::{FillRule, Path, PathBuilder, Pixmap, Rect, Stroke, Transform};
use ttf_parser::{Face, OutlineBuilder};

use super::colour::Paint;
use super::shapes::{Anchor, Shape, Sheet};

/// Inter, reduced to Latin-1 and a few signs; assets/VENDORED.md says how.
const REGULAR: &[u8] = include_bytes!("../../assets/Inter-400.ttf");
const BOLD: &[u8] = include_bytes!("../../assets/Inter-600.ttf");
/// Pixels of the picture for each of the sheet: sharp on today's screens.
const PIXELS: f32 = 2.0;
/// A picture that is higher than that has half of them, so that its memory stays within some hundred megabytes.
const SHARP_HEIGHT_MAX: f32 = 8_000.0;

/// Why there is no picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PngError(String);

impl fmt::Display for PngError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the picture cannot be drawn: {}", self.0)
    }
}

impl std::error::Error for PngError {}

/// A sheet as one PNG file.
pub(super) fn drawn(sheet: &Sheet) -> Result<Vec<u8>, PngError> {
    let Sheet { width, height, shapes, .. } = sheet;
    let pixels = if *height > SHARP_HEIGHT_MAX { PIXELS / 2.0 } else { PIXELS };
    // Some thousand pixels, and not negative.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let size = |length: f32| (length * pixels).ceil() as u32;
    let mut pixmap =
        Pixmap::new(size(*width), size(*height)).ok_or_else(|| PngError("it is too large".to_owned()))?;
    pixmap.fill(colour(Paint::Page, 1.0));
    let fonts = Fonts::load()?;
    for shape in shapes {
        draw(&mut pixmap, shape, &fonts, Transform::from_scale(pixels, pixels));
    }
    pixmap.encode_png().map_err(|error| PngError(error.to_string()))
}

pub(super) struct Fonts {
    regular: Face<'static>,
    bold: Face<'static>,
}

impl Fonts {
    pub(super) fn load() -> Result<Fonts, PngError> {
        let face = |bytes| Face::parse(bytes, 0).map_err(|error| PngError(error.to_string()));
        Ok(Fonts { regular: face(REGULAR)?, bold: face(BOLD)? })
    }

    fn face(&self, is_bold: bool) -> &Face<'static> {
        if is_bold { &self.bold } else { &self.regular }
    }

    /// Pixels that a text takes.
    pub(super) fn width(&self, text: &str, size: f32, is_bold: bool) -> f32 {
        text_width(self.face(is_bold), text, size)
    }
}

fn draw(pixmap: &mut Pixmap, shape: &Shape, fonts: &Fonts, scale: Transform) {
    let stroke_path =
        |pixmap: &mut Pixmap, points: &[(f32, f32)], paint: Paint, width: f32, is_dashed: bool| {
            let dash = if is_dashed { tiny_skia::StrokeDash::new(vec![4.0, 3.0], 0.0) } else { None };
            let stroke = Stroke { width, line_join: tiny_skia::LineJoin::Round, dash, ..Stroke::default() };
            if let Some(path) = path_of(points) {
                pixmap.stroke_path(&path, &paint_of(paint, 1.0), &stroke, scale, None);
            }
        };
    match shape {
        Shape::Line { points, paint, width, is_dashed } => {
            stroke_path(pixmap, points, *paint, *width, *is_dashed);
        }
        Shape::Mark { x, y, paths, paint, is_filled } => {
            for points in paths {
                let moved: Vec<_> = points.iter().map(|(right, down)| (x + right, y + down)).collect();
                if !is_filled {
                    stroke_path(pixmap, &moved, *paint, 1.2, false);
                } else if let Some(path) = path_of(&moved) {
                    pixmap.fill_path(&path, &paint_of(*paint, 1.0), FillRule::Winding, scale, None);
                }
            }
        }
        Shape::Rectangle { x, y, width, height, paint, opacity } => {
            fill_rectangle(pixmap, (*x, *y, *width, *height), *paint, *opacity, scale);
        }
        Shape::Cells { cells, height, paint } => {
            for (from, to, middle) in cells {
                let place = (*from, middle - height / 2.0, to - from, *height);
                fill_rectangle(pixmap, place, *paint, 1.0, scale);
            }
        }
        Shape::Area { points, paint, opacity } => {
            if let Some(path) = path_of(points) {
                pixmap.fill_path(&path, &paint_of(*paint, *opacity), FillRule::Winding, scale, None);
            }
        }
        Shape::Group { shapes, .. } => shapes.iter().for_each(|shape| draw(pixmap, shape, fonts, scale)),
        Shape::Text { x, y, size, is_bold, anchor, paint, text, is_optional: _ } => {
            let face = fonts.face(*is_bold);
            let width = text_width(face, text, *size);
            let x = match anchor {
                Anchor::Start => *x,
                Anchor::Middle => x - width / 2.0,
                Anchor::End => x - width,
            };
            if let Some(path) = text_path(face, text, x, *y, *size) {
                pixmap.fill_path(&path, &paint_of(*paint, 1.0), FillRule::Winding, scale, None);
            }
        }
    }
}

/// Cells of the heat map meet exactly, so their edges are not softened.
fn fill_rectangle(
    pixmap: &mut Pixmap,
    (x, y, width, height): (f32, f32, f32, f32),
    paint: Paint,
    opacity: f32,
    scale: Transform,
) {
    if let Some(rect) = Rect::from_xywh(x, y, width, height) {
        let paint = tiny_skia::Paint { anti_alias: false, ..paint_of(paint, opacity) };
        pixmap.fill_rect(rect, &paint, scale, None);
    }
}

fn path_of(points: &[(f32, f32)]) -> Option<Path> {
    let mut path = PathBuilder::new();
    let (first, others) = points.split_first()?;
    path.move_to(first.0, first.1);
    others.iter().for_each(|(x, y)| path.line_to(*x, *y));
    path.finish()
}

fn paint_of(paint: Paint, opacity: f32) -> tiny_skia::Paint<'static> {
    let mut painted = tiny_skia::Paint { anti_alias: true, ..tiny_skia::Paint::default() };
    painted.set_color(colour(paint, opacity));
    painted
}

fn colour(paint: Paint, opacity: f32) -> tiny_skia::Color {
    let [_, red, green, blue] = paint.light().to_be_bytes();
    let mut colour = tiny_skia::Color::from_rgba8(red, green, blue, u8::MAX);
    colour.apply_opacity(opacity);
    colour
}

/// Pixels of the sheet for each unit of the font.
fn unit(face: &Face<'_>, size: f32) -> f32 {
    size / f32::from(face.units_per_em())
}

fn text_width(face: &Face<'_>, text: &str, size: f32) -> f32 {
    let advance = |character| {
        let glyph = face.glyph_index(character).unwrap_or_default();
        f32::from(face.glyph_hor_advance(glyph).unwrap_or(0))
    };
    text.chars().map(advance).sum::<f32>() * unit(face, size)
}

fn text_path(face: &Face<'_>, text: &str, x: f32, y: f32, size: f32) -> Option<Path> {
    let mut pen = Pen { path: PathBuilder::new(), x, y, unit: unit(face, size) };
    for character in text.chars() {
        let glyph = face.glyph_index(character).unwrap_or_default();
        face.outline_glyph(glyph, &mut pen);
        pen.x += f32::from(face.glyph_hor_advance(glyph).unwrap_or(0)) * pen.unit;
    }
    pen.path.finish()
}

/// Draws a glyph at a place of the sheet; fonts count upwards, sheets downwards.
struct Pen {
    path: PathBuilder,
    x: f32,
    y: f32,
    unit: f32,
}

impl Pen {
    fn place(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.unit, self.y - y * self.unit)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.place(x1, y1), self.place(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.place(x1, y1), self.place(x2, y2), self.place(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_font_has_what_figures_need() {
        for face in [Fonts::load().unwrap().regular, Fonts::load().unwrap().bold] {
            for character in "0123456789,.%±µ−–…·×÷ü AZaz\u{a0}".chars() {
                assert!(face.glyph_index(character).is_some(), "{character:?}");
            }
        }
    }

    #[test]
    fn text_is_as_wide_as_its_characters() {
        let fonts = Fonts::load().unwrap();
        let width = |text| text_width(&fonts.regular, text, 14.0);
        assert!((width("aaaa") - 4.0 * width("a")).abs() < 1e-3);
        assert!(width("a") > 5.0 && width("a") < 12.0, "{}", width("a"));
    }
}
