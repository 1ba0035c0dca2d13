//! Texts of parts behind each other, which `pattern` reads from a regular expression. Unique columns enumerate the texts:
//! see [`PatternSequence::new`].

use script::Random;

use super::{Node, digit};
use crate::generator::draw::{Cell, Lengths};
use crate::generator::random_bits::random;

/// Parts behind each other.
#[derive(Clone, Debug)]
pub(crate) struct PatternSequence {
    key: u64,
    parts: Vec<Part>,
    /// So many parts at the front are enumerated.
    enumerated: usize,
    /// Different texts, saturating; 1 if the parts cannot be enumerated.
    pub count: u64,
}

/// A part of a pattern.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Literal(Vec<u8>),
    /// One of these characters.
    Class(Vec<char>),
    /// One of these sequences.
    Group(Vec<PatternSequence>),
    Repeat(Box<Part>, Lengths),
    Generator(Box<Node>),
}

impl PatternSequence {
    /// Different ranks must give different texts. Parts are enumerated from the front as long as all have a fixed
    /// width; the first part without one is the last, and the text behind it must not continue it.
    pub fn new(key: u64, parts: Vec<Part>) -> Self {
        let (mut enumerated, mut count) = (0, 1_u64);
        for (at, part) in parts.iter().enumerate() {
            let fixed = part.width().is_some();
            let delimited = match parts.get(at + 1) {
                None => true,
                Some(Part::Literal(text)) => text.first().is_some_and(|byte| !byte.is_ascii_alphanumeric()),
                Some(_) => matches!(part, Part::Repeat(..)),
            };
            if fixed || delimited {
                count = count.saturating_mul(part.count());
                enumerated = at + 1;
            }
            if !fixed {
                break;
            }
        }
        Self { key, parts, enumerated, count }
    }

    /// Whether an enumerated part has its own value in each row.
    pub fn is_serial(&self, rows: u64) -> bool {
        let serial = |part: &Part| matches!(part, Part::Generator(node) if node.is_serial(rows));
        self.parts[..self.enumerated].iter().any(serial) || self.ends_in_serial(rows)
    }

    /// Whether the last part is a number of its own in each row, and the text before it cannot be taken for its digits.
    fn ends_in_serial(&self, rows: u64) -> bool {
        match &self.parts[..] {
            [.., before, Part::Generator(last)] => {
                last.is_decimal() && last.is_serial(rows) && !before.may_end_in_digit()
            }
            _ => false,
        }
    }

    /// Characters, if their number is always the same.
    pub fn width(&self) -> Option<u64> {
        self.parts.iter().map(Part::width).sum()
    }

    /// Longest text in bytes.
    pub fn bytes_max(&self) -> u64 {
        self.parts.iter().map(Part::bytes_max).fold(0, u64::saturating_add)
    }

    pub fn write(&self, cell: Cell, out: &mut Vec<u8>) {
        let mut stream = random(self.key, cell.index);
        let mut rank = cell.rank;
        self.write_parts(cell.with_rank(None), &mut stream, &mut rank, out);
    }

    fn write_parts(&self, cell: Cell, stream: &mut Random, rank: &mut Option<u64>, out: &mut Vec<u8>) {
        for (at, part) in self.parts.iter().enumerate() {
            if at < self.enumerated {
                part.write(cell, stream, rank, out);
            } else {
                part.write(cell, stream, &mut None, out);
            }
        }
    }
}

impl Part {
    fn count(&self) -> u64 {
        match self {
            Self::Literal(_) => 1,
            Self::Class(set) => set.len() as u64,
            // Alternatives may have texts in common.
            Self::Group(alternatives) => match &alternatives[..] {
                [only] => only.count,
                _ => 1,
            },
            Self::Repeat(part, lengths) if part.width().is_some() => part.count().saturating_pow(lengths.min),
            Self::Repeat(..) => 1,
            Self::Generator(node) => node.count(),
        }
    }

    fn width(&self) -> Option<u64> {
        match self {
            Self::Literal(text) => Some(String::from_utf8_lossy(text).chars().count() as u64),
            Self::Class(_) => Some(1),
            Self::Group(alternatives) => {
                let mut widths = alternatives.iter().map(PatternSequence::width);
                let first = widths.next()??;
                widths.all(|width| width == Some(first)).then_some(first)
            }
            Self::Repeat(part, lengths) => (lengths.min == lengths.max)
                .then(|| Some(part.width()?.saturating_mul(lengths.min.into())))?,
            Self::Generator(node) => node.width(),
        }
    }

    fn may_end_in_digit(&self) -> bool {
        match self {
            Self::Literal(text) => text.last().is_none_or(u8::is_ascii_digit),
            Self::Class(set) => set.iter().any(char::is_ascii_digit),
            Self::Generator(node) => node.may_end_in_digit(),
            Self::Group(_) | Self::Repeat(..) => true,
        }
    }

    fn bytes_max(&self) -> u64 {
        match self {
            Self::Literal(text) => text.len() as u64,
            Self::Class(set) => set.iter().map(|c| c.len_utf8() as u64).max().unwrap_or(0),
            Self::Group(alternatives) => {
                alternatives.iter().map(PatternSequence::bytes_max).max().unwrap_or(0)
            }
            Self::Repeat(part, lengths) => part.bytes_max().saturating_mul(lengths.max.into()),
            Self::Generator(node) => node.bytes_max(),
        }
    }

    fn write(&self, cell: Cell, stream: &mut Random, rank: &mut Option<u64>, out: &mut Vec<u8>) {
        match self {
            Self::Literal(text) => out.extend_from_slice(text),
            Self::Class(set) => {
                let count = set.len() as u64;
                let index = digit(rank, count).unwrap_or_else(|| stream.range(count - 1));
                let character = set[usize::try_from(index).unwrap_or(0)];
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            Self::Group(alternatives) => match &alternatives[..] {
                [only] => {
                    let mut own = digit(rank, only.count);
                    only.write_parts(cell, stream, &mut own, out);
                }
                _ => {
                    let index = stream.range(alternatives.len() as u64 - 1);
                    alternatives[usize::try_from(index).unwrap_or(0)]
                        .write_parts(cell, stream, &mut None, out);
                }
            },
            Self::Repeat(part, lengths) => {
                let count = lengths.min
                    + u32::try_from(stream.range((lengths.max - lengths.min).into())).unwrap_or(0);
                let enumerable = part.width().is_some();
                for number in 0..count {
                    let cell = cell.nested(number.into(), lengths.max.into());
                    let mut own =
                        if enumerable && number < lengths.min { digit(rank, part.count()) } else { None };
                    part.write(cell, stream, &mut own, out);
                }
            }
            Self::Generator(node) => {
                let own = digit(rank, node.count());
                node.write(cell.with_rank(own), out);
            }
        }
    }
}
