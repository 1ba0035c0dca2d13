//! The gutter above a plot: a row for each kind of event, in which a mark shows when it was, with its words beside it.
//! Nothing of it stands over the data.

use super::colour::Paint;
use super::scale::Scale;
use super::shapes::{Anchor, Shape};
use super::{Band, Colour};
use crate::figures::with_ordinary_spaces;
use crate::prose::cut;

/// Rows with words, and without.
const ROW: f32 = 16.0;
const ROW_LOW: f32 = 7.0;
const MARK_HEIGHT: f32 = 7.0;
const MARK_HEIGHT_LOW: f32 = 4.0;
const MARK_WIDTH_MIN: f32 = 3.0;
/// Between a mark and its words, and between words and the next mark.
const BESIDE: f32 = 6.0;
const SIZE: f32 = 11.0;
/// About what a character takes.
const CHARACTER: f32 = 6.0;
/// Width of the plot on a phone.
const NARROW: f32 = 300.0;
/// Characters of a detail that are worth their room.
const DETAIL_MIN: usize = 8;

/// What stands above a plot; its shapes count from its own upper edge.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Gutter {
    pub(super) height: f32,
    pub(super) shapes: Vec<Shape>,
}

/// The events of one kind at one time.
struct Mark<'a> {
    from: f32,
    to: f32,
    bands: Vec<&'a Band>,
}

/// A row for each kind, in the order in which they first happened.
pub(super) fn gutter(bands: &[Band], x: &Scale, width: f32) -> Gutter {
    let mut kinds: Vec<&str> = Vec::new();
    for band in bands {
        if !kinds.contains(&band.kind.as_str()) {
            kinds.push(&band.kind);
        }
    }
    let mut gutter = Gutter::default();
    for kind in kinds {
        let of_kind: Vec<&Band> = bands.iter().filter(|band| band.kind == kind).collect();
        let has_words = of_kind.iter().any(|band| band.has_words);
        let marks = marks(&of_kind, x, width);
        let (row, mark_height) = if has_words { (ROW, MARK_HEIGHT) } else { (ROW_LOW, MARK_HEIGHT_LOW) };
        let top = gutter.height;
        let y = top + (row - mark_height) / 2.0;
        for mark in &marks {
            let (from, length) = (mark.from, mark.to - mark.from);
            let paint = Paint::Of(mark.bands[0].colour);
            gutter.shapes.push(Shape::Rectangle {
                x: from,
                y,
                width: length,
                height: mark_height,
                paint,
                opacity: 1.0,
            });
        }
        if has_words {
            words(&marks, width, top + ROW / 2.0 + 4.0, &mut gutter.shapes);
        }
        gutter.height += row;
    }
    gutter
}

/// Events that touch are one mark.
fn marks<'a>(bands: &[&'a Band], x: &Scale, width: f32) -> Vec<Mark<'a>> {
    let place = |band: &&'a Band| {
        let from = x.at(band.start).clamp(0.0, width - MARK_WIDTH_MIN);
        let to = band.end.map_or(width, |end| x.at(end)).clamp(from + MARK_WIDTH_MIN, width);
        Mark { from, to, bands: vec![*band] }
    };
    let mut places: Vec<Mark<'a>> = bands.iter().map(place).collect();
    places.sort_by(|a, b| a.from.total_cmp(&b.from));
    let mut marks: Vec<Mark<'a>> = Vec::new();
    for mark in places {
        match marks.last_mut() {
            Some(last) if mark.from <= last.to + 1.0 => {
                last.to = last.to.max(mark.to);
                last.bands.extend(mark.bands);
            }
            _ => marks.push(mark),
        }
    }
    marks
}

/// Words right of each mark, or left of it, as far as there is room up to the next one.
fn words(marks: &[Mark<'_>], width: f32, y: f32, shapes: &mut Vec<Shape>) {
    let mut taken = 0.0_f32;
    for (at, mark) in marks.iter().enumerate() {
        let next = marks.get(at + 1).map_or(width, |next| next.from - BESIDE);
        let right = (mark.to + BESIDE, next - mark.to - BESIDE, Anchor::Start);
        let left = (mark.from - BESIDE, mark.from - BESIDE - taken, Anchor::End);
        let side = if right.1 >= left.1 || fitting(mark, right.1).is_some_and(|(_, whole)| whole) {
            right
        } else {
            left
        };
        taken = mark.to + BESIDE;
        let (x, room, anchor) = side;
        let Some((text, _)) = fitting(mark, room) else { continue };
        let length = length_of(&text);
        if anchor == Anchor::Start {
            taken = x + length + BESIDE;
        }
        let is_optional = length > room / width * NARROW;
        let paint = Paint::Of(Colour::Quiet);
        shapes.push(Shape::Text { x, y, size: SIZE, is_bold: false, anchor, paint, text, is_optional });
    }
}

// Some hundred characters at most.
#[allow(clippy::cast_possible_truncation)]
fn length_of(text: &str) -> f32 {
    text.chars().count() as f32 * CHARACTER
}

/// The words of a mark for so much room, and whether they are all of them.
// A number of characters.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn fitting(mark: &Mark<'_>, room: f32) -> Option<(String, bool)> {
    let (name, detail) = match &mark.bands[..] {
        [only] => (only.kind.clone(), only.detail.clone()),
        several => (format!("{} × {}", several.len(), several[0].kind), several[0].detail.clone()),
    };
    let room = (room.max(0.0) / CHARACTER) as usize;
    let all =
        with_ordinary_spaces(&if detail.is_empty() { name.clone() } else { format!("{name}: {detail}") });
    let length = name.chars().count();
    match room {
        room if all.chars().count() <= room => Some((all, true)),
        room if room >= length + DETAIL_MIN => Some((cut(&all, room), false)),
        room if room >= length => Some((name, false)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn band(kind: &str, start: f64, end: f64) -> Band {
        Band {
            colour: Colour::Checkpoint,
            kind: kind.to_owned(),
            detail: "time: 120 buffers written".to_owned(),
            start,
            end: Some(end),
            is_shaded: false,
            has_words: true,
        }
    }

    fn of(bands: &[Band]) -> (f32, Vec<(f32, f32)>, Vec<String>) {
        let Gutter { height, shapes } = gutter(bands, &Scale::linear(0.0, 100.0, 0.0, 1_000.0), 1_000.0);
        let marks = shapes.iter().filter_map(|shape| match shape {
            Shape::Rectangle { x, width, .. } => Some((*x, *width)),
            _ => None,
        });
        let words = shapes.iter().filter_map(|shape| match shape {
            Shape::Text { text, .. } => Some(text.clone()),
            _ => None,
        });
        (height, marks.collect(), words.collect())
    }

    #[test]
    fn each_kind_has_a_row_and_its_words() {
        let (height, marks, words) = of(&[band("checkpoint", 10.0, 30.0), band("stall", 50.0, 51.0)]);
        assert_eq!(height, 2.0 * ROW);
        assert_eq!(marks, [(100.0, 200.0), (500.0, 10.0)]);
        assert_eq!(words, ["checkpoint: time: 120 buffers written", "stall: time: 120 buffers written"]);
    }

    #[test]
    fn several_events_of_a_kind_at_one_time_are_one_mark() {
        let (_, marks, words) =
            of(&[band("vacuum", 10.0, 12.0), band("vacuum", 11.0, 14.0), band("vacuum", 40.0, 40.0)]);
        assert_eq!(marks, [(100.0, 40.0), (400.0, MARK_WIDTH_MIN)]);
        assert_eq!(words[0], "2 × vacuum: time: 120 buffers written");
    }

    #[test]
    fn words_without_room_are_shortened_or_left_out() {
        let (_, marks, words) =
            of(&[band("stall", 10.0, 11.0), band("stall", 15.0, 16.0), band("stall", 18.0, 20.0)]);
        assert_eq!(marks.len(), 3);
        assert!(words[0].starts_with("stall: ") && words[0].chars().count() <= 15, "{words:?}");
        assert_eq!(words.len(), 2, "the middle one has no room");
        assert_eq!(words.last().unwrap(), "stall: time: 120 buffers written");
    }

    #[test]
    fn words_of_a_late_mark_stand_left_of_it() {
        let bands = [band("stall", 97.0, 99.0)];
        let Gutter { shapes, .. } = gutter(&bands, &Scale::linear(0.0, 100.0, 0.0, 1_000.0), 1_000.0);
        assert!(matches!(shapes[1], Shape::Text { x, anchor: Anchor::End, .. } if x < 970.0), "{shapes:?}");
    }
}
