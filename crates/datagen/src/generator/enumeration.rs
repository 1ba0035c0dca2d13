//! Which generators can give every row its own value: how many values they enumerate, and where one text cannot be the
//! beginning of another. Used for unique constraints; `node` writes the values.

use super::draw::{Draw, Lengths};
use super::node::{Kind, Node, ReferenceOrder};
use super::text::{Chars, CheckedNumber, Prefixed, power};

impl Node {
    /// Different values that ranks select, saturating; 1 if the generator cannot enumerate its values.
    pub fn count(&self) -> u64 {
        if self.share.is_some() {
            return 1;
        }
        match &self.kind {
            Kind::Int(draw)
            | Kind::Decimal { draw, .. }
            | Kind::Uuid { draw: Some(draw), .. }
            | Kind::Blob { draw, ordered: true, .. }
            | Kind::Date { draw, .. }
            | Kind::Timestamp { draw, .. }
            | Kind::Time { draw, .. }
            | Kind::Interval { draw, .. }
            | Kind::Inet { draw, .. }
            | Kind::Mac { draw, .. }
            | Kind::Reference { draw, order: ReferenceOrder::All, .. } => draw.size,
            Kind::Checked(checked) => checked.draw.size,
            Kind::Bool { .. } => 2,
            Kind::Float(float) => float.count(),
            Kind::String(string) => string.count(),
            Kind::Chars(chars) => chars.count(),
            Kind::Word { draw, words } => {
                if words.distinct {
                    draw.size
                } else {
                    1
                }
            }
            Kind::Text { source, separator, lengths, .. } => source.count_of_words(separator, *lengths),
            Kind::Array { node, lengths } => power(node.count(), lengths.min),
            Kind::Tuple(nodes) => nodes.iter().map(Self::count).fold(1, u64::saturating_mul),
            Kind::Pattern(sequence) => sequence.count,
            Kind::Uuid { draw: None, .. } | Kind::Count { .. } => u64::MAX,
            Kind::Bit { lengths, .. } => power(2, lengths.min),
            Kind::Blob { lengths, ordered: false, .. } => power(256, lengths.min),
            Kind::Const(_)
            | Kind::Alt { .. }
            | Kind::Repeat { .. }
            | Kind::Reduce { .. }
            | Kind::Value(_)
            | Kind::File { .. }
            | Kind::Null
            | Kind::Reference { .. }
            | Kind::Linear { .. } => 1,
        }
    }

    /// The draw that selects the value, of generators with one.
    pub fn draw(&self) -> Option<&Draw> {
        match &self.kind {
            Kind::Int(draw)
            | Kind::Decimal { draw, .. }
            | Kind::Uuid { draw: Some(draw), .. }
            | Kind::Blob { draw, ordered: true, .. }
            | Kind::Date { draw, .. }
            | Kind::Timestamp { draw, .. }
            | Kind::Time { draw, .. }
            | Kind::Interval { draw, .. }
            | Kind::Inet { draw, .. }
            | Kind::Mac { draw, .. }
            | Kind::Word { draw, .. }
            | Kind::File { draw, .. }
            | Kind::Chars(Chars { draw, .. })
            | Kind::Reference { draw, order: ReferenceOrder::All, .. }
            | Kind::Checked(CheckedNumber { draw, .. })
            | Kind::String(Prefixed { draw, .. }) => Some(draw),
            _ => None,
        }
    }

    /// Each row has its own value without further means.
    pub fn is_serial(&self, rows: u64) -> bool {
        if self.share.is_some() {
            return false;
        }
        match &self.kind {
            Kind::Count { step, .. } => *step != 0,
            Kind::Uuid { draw: None, .. } => true,
            Kind::Pattern(sequence) => sequence.is_serial(rows),
            _ => self.draw().is_some_and(|draw| draw.is_serial(rows) && self.count() >= draw.size),
        }
    }

    pub fn is_skewed(&self) -> bool {
        self.draw().is_some_and(Draw::is_skewed)
    }

    pub fn is_reference(&self) -> bool {
        matches!(self.kind, Kind::Reference { .. })
    }

    /// Writes decimal numbers, as `linear` needs them.
    pub fn is_number(&self) -> bool {
        match &self.kind {
            Kind::Int(_)
            | Kind::Decimal { .. }
            | Kind::Float(_)
            | Kind::Count { .. }
            | Kind::Reduce { .. }
            | Kind::Linear { .. }
            | Kind::Checked(_) => true,
            Kind::Reference { target, .. } => target.node.is_number(),
            Kind::Value(node) => node.is_number(),
            Kind::Alt { nodes, .. } => nodes.iter().all(|(_, node)| node.is_number()),
            _ => false,
        }
    }

    /// Writes nothing but decimal digits, without zeros in front.
    pub fn is_decimal(&self) -> bool {
        match &self.kind {
            Kind::Int(draw) => draw.offset >= 0,
            Kind::Count { start, step, format } => *start >= 0 && *step > 0 && format.is_plain(),
            _ => false,
        }
    }

    pub fn may_end_in_digit(&self) -> bool {
        let digit = |word: &Vec<u8>| word.last().is_none_or(u8::is_ascii_digit);
        match &self.kind {
            Kind::Word { words, .. } => words.list.iter().any(digit),
            Kind::Const(text) => digit(text),
            Kind::Chars(chars) => chars.lengths.min == 0 || chars.set.iter().any(char::is_ascii_digit),
            _ => true,
        }
    }

    /// Texts of so many words differ if no word contains the separator.
    fn count_of_words(&self, separator: &[u8], lengths: Lengths) -> u64 {
        match &self.kind {
            Kind::Word { words, .. } if !separator.is_empty() => {
                let contains = |word: &Vec<u8>| word.windows(separator.len()).any(|part| part == separator);
                if words.list.iter().any(contains) { 1 } else { power(self.count(), lengths.min) }
            }
            _ => 1,
        }
    }

    /// Characters of every value, if their number is always the same.
    pub fn width(&self) -> Option<u64> {
        match &self.kind {
            Kind::Const(text) => Some(String::from_utf8_lossy(text).chars().count() as u64),
            Kind::Date { .. } => Some(10),
            Kind::Uuid { .. } => Some(36),
            Kind::Bool { .. } => Some(1),
            Kind::Mac { bytes, .. } => Some(u64::from(*bytes) * 3 - 1),
            Kind::Checked(checked) => Some(checked.length.into()),
            Kind::Chars(Chars { lengths, .. }) | Kind::Bit { lengths, .. } => {
                (lengths.min == lengths.max).then_some(lengths.min.into())
            }
            Kind::Pattern(sequence) => sequence.width(),
            Kind::Word { words, .. } => {
                let mut widths =
                    words.list.iter().map(|word| String::from_utf8_lossy(word).chars().count() as u64);
                let first = widths.next()?;
                widths.all(|width| width == first).then_some(first)
            }
            _ => None,
        }
    }
}
