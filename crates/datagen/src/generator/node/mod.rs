//! A compiled generator: writes the value of one draw. Values do not depend on each other, and writing allocates nothing
//! but the growth of the buffer.

mod column;
mod sequence;

use std::io::Write as _;
use std::sync::Arc;

use super::address::{Network, hex, write_mac};
use super::calendar::{write_date, write_interval, write_time, write_timestamp};
use super::draw::{Cell, Draw, Lengths, Sub};
use super::float::Distribution;
use super::literal::{integer, quote_element, write_decimal};
use super::random_bits::{bits, random, unit};
use super::text::{Chars, CheckedNumber, NumberFormat, Prefixed, digits_of};

pub(crate) use column::{CaseValue, ColumnCases, ColumnNode, Rank};
pub(crate) use sequence::{Part, PatternSequence};

/// A generator with the settings that all have.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub key: u64,
    /// Share of NULL.
    pub null: f64,
    /// Draws the number that this generator is a function of.
    pub share: Option<Arc<Draw>>,
    pub kind: Kind,
}

/// Mappings of a draw to a value.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Int(Draw),
    /// A number at a distance from the next, whose last digits are decimals.
    Decimal {
        draw: Draw,
        step: i64,
        decimals: u32,
    },
    Bool {
        rate: f64,
    },
    Float(Float),
    Date {
        draw: Draw,
        start: i64,
        step: i64,
    },
    Timestamp {
        draw: Draw,
        start: i64,
        step: i64,
        zone: Vec<u8>,
    },
    Time {
        draw: Draw,
        start: i64,
        step: i64,
        zone: Vec<u8>,
    },
    Interval {
        draw: Draw,
        unit: &'static str,
    },
    String(Prefixed),
    Chars(Chars),
    Word {
        draw: Draw,
        words: Arc<Words>,
    },
    Text {
        source: Box<Node>,
        separator: Vec<u8>,
        prefix: Vec<u8>,
        suffix: Vec<u8>,
        lengths: Lengths,
    },
    Const(Vec<u8>),
    Count {
        start: i64,
        step: i64,
        format: NumberFormat,
    },
    Alt {
        nodes: Vec<(u64, Node)>,
        total: u64,
    },
    Repeat {
        node: Box<Node>,
        draw: Draw,
        min: u32,
        max: u32,
    },
    Reduce {
        nodes: Vec<Node>,
        operation: Operation,
    },
    Tuple(Vec<Node>),
    Array {
        node: Box<Node>,
        lengths: Lengths,
    },
    /// One draw for each row, wherever the same macro is named.
    Value(Box<Node>),
    Pattern(PatternSequence),
    /// Random, or a function of a draw.
    Uuid {
        draw: Option<Draw>,
        ordered: bool,
    },
    Bit {
        draw: Draw,
        lengths: Lengths,
    },
    Blob {
        draw: Draw,
        lengths: Lengths,
        /// The values sort like their numbers.
        ordered: bool,
    },
    File {
        draw: Draw,
        files: Arc<Vec<Vec<u8>>>,
        mode: FileMode,
    },
    Inet {
        draw: Draw,
        network: Network,
    },
    Mac {
        draw: Draw,
        bytes: u8,
    },
    Checked(CheckedNumber),
    Null,
    Reference {
        draw: Draw,
        target: Arc<ColumnNode>,
        order: ReferenceOrder,
    },
    Linear {
        source: Arc<ColumnNode>,
        slope: f64,
        intercept: f64,
        noise: f64,
        scale: Option<u32>,
    },
}

/// Numbers of the generator `float`, with the decimals of the column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Float {
    pub distribution: Distribution,
    pub scale: Option<u32>,
    /// Largest absolute value of the type.
    pub limit: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Add,
    Multiply,
    Min,
    Max,
    Concatenate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileMode {
    Blob,
    Text,
}

/// Which rows of the referenced table a foreign key may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReferenceOrder {
    /// All.
    All,
    /// Of the same table: earlier rows; the first row has NULL.
    EarlierOrNull,
    /// Of the same table: earlier rows; the first row references itself.
    EarlierOrSelf,
}

/// Words of the generator `word`.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    pub list: Vec<Vec<u8>>,
    pub distinct: bool,
}

impl Kind {
    /// The n-th text in the n-th row.
    pub fn listed(list: Vec<Vec<u8>>, key: u64) -> Self {
        let size = (list.len() as u64).max(1);
        let draw = Draw { key, size, sub: Sub::Serial, xor: 0, step: 1, shift: 0, offset: 0 };
        let mut sorted: Vec<&Vec<u8>> = list.iter().collect();
        sorted.sort_unstable();
        sorted.dedup();
        let distinct = sorted.len() == list.len();
        Self::Word { draw, words: Arc::new(Words { list, distinct }) }
    }
}

/// Mixed into a key for decisions that must not depend on the value.
const NULL_SALT: u64 = 0x6e75_6c6c;

impl Node {
    /// The same values without a preference for some of them.
    pub fn uniform(mut self) -> Self {
        match &mut self.kind {
            Kind::Int(draw)
            | Kind::Word { draw, .. }
            | Kind::Date { draw, .. }
            | Kind::Timestamp { draw, .. }
            | Kind::Time { draw, .. }
                if draw.is_skewed() =>
            {
                draw.sub = Sub::Uniform;
            }
            _ => {}
        }
        self
    }

    /// Writes a value; `false` for NULL, which writes nothing.
    pub fn write(&self, cell: Cell, out: &mut Vec<u8>) -> bool {
        if self.null > 0.0 && unit(bits(self.key ^ NULL_SALT, cell.index)) < self.null {
            return false;
        }
        self.write_value(cell, out)
    }

    pub(super) fn write_value(&self, cell: Cell, out: &mut Vec<u8>) -> bool {
        let cell = match &self.share {
            None => cell,
            Some(share) => {
                let row = Cell { index: cell.row, rank: None, ..cell };
                Cell { index: share.base(row), rank: None, ..cell }
            }
        };
        match &self.kind {
            Kind::Int(draw) => integer(out, draw.number(cell)),
            Kind::Decimal { draw, step, decimals } => {
                let distance = step.saturating_mul(draw.base(cell).cast_signed());
                write_decimal(out, draw.offset.saturating_add(distance), *decimals);
            }
            Kind::Bool { rate } => out.push(if self.truth(*rate, cell) { b't' } else { b'f' }),
            Kind::Float(float) => float.write(self.key, cell, out),
            Kind::Date { draw, start, step } => write_date(out, start + step * draw.number(cell)),
            Kind::Timestamp { draw, start, step, zone } => {
                write_timestamp(out, start + step * draw.number(cell));
                out.extend_from_slice(zone);
            }
            Kind::Time { draw, start, step, zone } => {
                write_time(out, start + step * draw.number(cell));
                out.extend_from_slice(zone);
            }
            Kind::Interval { draw, unit } => write_interval(out, draw.number(cell), unit),
            Kind::String(string) => string.write(cell, out),
            Kind::Chars(chars) => chars.write(cell, out),
            Kind::Word { draw, words } => {
                let index = usize::try_from(draw.base(cell)).unwrap_or(0);
                out.extend_from_slice(&words.list[index]);
            }
            Kind::Const(text) => out.extend_from_slice(text),
            Kind::Count { start, step, format } => {
                let number =
                    start.wrapping_add(step.wrapping_mul(cell.rank.unwrap_or(cell.index).cast_signed()));
                format.write(number, out);
            }
            Kind::Pattern(sequence) => sequence.write(cell, out),
            Kind::Uuid { draw, ordered } => self.write_uuid(draw.as_ref(), *ordered, cell, out),
            Kind::Inet { draw, network } => network.write(draw.base(cell), out),
            Kind::Mac { draw, bytes } => write_mac(draw, *bytes, cell, out),
            Kind::Checked(checked) => checked.write(cell, out),
            Kind::Null => return false,
            Kind::Reference { draw, target, order } => {
                return write_reference(draw, target, *order, cell, out);
            }
            Kind::File { draw, files, mode } => {
                let index = usize::try_from(draw.base(cell)).unwrap_or(0);
                match mode {
                    FileMode::Text => out.extend_from_slice(&files[index]),
                    FileMode::Blob => write_bytes(out, files[index].iter().copied()),
                }
            }
            Kind::Bit { .. } | Kind::Blob { .. } => self.write_bits(cell, out),
            Kind::Text { .. } | Kind::Array { .. } => self.write_list(cell, out),
            Kind::Alt { .. }
            | Kind::Repeat { .. }
            | Kind::Reduce { .. }
            | Kind::Tuple(_)
            | Kind::Value(_)
            | Kind::Linear { .. } => return self.write_composed(cell, out),
        }
        true
    }

    fn truth(&self, rate: f64, cell: Cell) -> bool {
        match cell.rank {
            Some(rank) => rank == 0,
            None => unit(bits(self.key, cell.index)) < rate,
        }
    }

    /// Values made of those of other generators.
    fn write_composed(&self, cell: Cell, out: &mut Vec<u8>) -> bool {
        match &self.kind {
            Kind::Tuple(nodes) => {
                let mut rank = cell.rank;
                out.push(b'(');
                for (number, node) in nodes.iter().enumerate() {
                    if number > 0 {
                        out.push(b',');
                    }
                    let start = out.len();
                    let own = digit(&mut rank, node.count());
                    if node.write(cell.with_rank(own), out) {
                        quote_element(out, start, true);
                    }
                }
                out.push(b')');
            }
            Kind::Alt { nodes, total } => {
                let mut place = bits(self.key, cell.index) % total;
                for (weight, node) in nodes {
                    match place.checked_sub(*weight) {
                        None => return node.write(cell.with_rank(None), out),
                        Some(left) => place = left,
                    }
                }
            }
            Kind::Repeat { node, draw, min, max } => {
                let count = min + u32::try_from(draw.base(cell.with_rank(None))).unwrap_or(0);
                for number in 0..count.min(*max) {
                    node.write(cell.nested(number.into(), (*max).into()), out);
                }
            }
            Kind::Reduce { nodes, operation } => return reduce(nodes, *operation, cell.with_rank(None), out),
            Kind::Value(node) => return node.write(Cell { index: cell.row, rank: None, ..cell }, out),
            Kind::Linear { source, slope, intercept, noise, scale } => {
                let start = out.len();
                if !source.write(cell.row, out) {
                    return false;
                }
                let number = take_number(out, start);
                let noise = if *noise == 0.0 { 0.0 } else { noise * random(self.key, cell.index).normal() };
                write_number(out, slope * number + intercept + noise, *scale);
            }
            // All others are written by `write_value`.
            _ => {}
        }
        true
    }

    /// Bit strings and bytes.
    fn write_bits(&self, cell: Cell, out: &mut Vec<u8>) {
        match &self.kind {
            Kind::Bit { draw, lengths } => {
                let (seed, mut digits) = (cell.rank.unwrap_or_else(|| draw.base(cell)), cell.rank);
                let mut stream = random(draw.key, seed);
                for position in 0..lengths.pick(stream.next_u64()) {
                    let bit = match &mut digits {
                        Some(rank) if position < lengths.min => std::mem::replace(rank, *rank >> 1) & 1,
                        _ => stream.next_u64() >> 63,
                    };
                    out.push(if bit == 1 { b'1' } else { b'0' });
                }
            }
            Kind::Blob { draw, lengths, ordered: true } => {
                let number = draw.base(cell);
                let mut stream = random(draw.key, number);
                let first = digits_of(draw.size, 256);
                let length = lengths.pick(stream.next_u64()).max(first);
                let bytes = (0..length).map(|position| match first.checked_sub(position + 1) {
                    Some(left) => number.checked_shr(8 * left).unwrap_or(0),
                    None => stream.next_u64() >> 56,
                });
                #[expect(clippy::cast_possible_truncation, reason = "the low byte")]
                write_bytes(out, bytes.map(|byte| byte as u8));
            }
            Kind::Blob { draw, lengths, ordered: false } => {
                let (seed, digits) = (cell.rank.unwrap_or_else(|| draw.base(cell)), cell.rank);
                let mut stream = random(draw.key, seed);
                let length = lengths.pick(stream.next_u64());
                let bytes = (0..length).map(|position| match digits {
                    Some(rank) if position < lengths.min => rank.checked_shr(8 * position).unwrap_or(0),
                    _ => stream.next_u64() >> 56,
                });
                #[expect(clippy::cast_possible_truncation, reason = "the low byte")]
                write_bytes(out, bytes.map(|byte| byte as u8));
            }
            _ => {}
        }
    }

    /// Texts and arrays: several values of one generator.
    fn write_list(&self, cell: Cell, out: &mut Vec<u8>) {
        match &self.kind {
            Kind::Text { source, separator, prefix, suffix, lengths } => {
                let count = lengths.pick(bits(self.key, cell.index));
                let mut rank = cell.rank;
                out.extend_from_slice(prefix);
                for number in 0..count {
                    if number > 0 {
                        out.extend_from_slice(separator);
                    }
                    source.write_nested(cell, number, *lengths, &mut rank, out);
                }
                out.extend_from_slice(suffix);
            }
            Kind::Array { node, lengths } => {
                let count = lengths.pick(bits(self.key, cell.index));
                let mut rank = cell.rank;
                out.push(b'{');
                for number in 0..count {
                    if number > 0 {
                        out.push(b',');
                    }
                    let start = out.len();
                    if node.write_nested(cell, number, *lengths, &mut rank, out) {
                        // Elements of a nested array are not quoted.
                        if !matches!(node.kind, Kind::Array { .. }) {
                            quote_element(out, start, false);
                        }
                    } else {
                        out.extend_from_slice(b"NULL");
                    }
                }
                out.push(b'}');
            }
            _ => {}
        }
    }

    /// Repetition `number` of a generator, with its digit of the rank.
    fn write_nested(
        &self,
        cell: Cell,
        number: u32,
        lengths: Lengths,
        rank: &mut Option<u64>,
        out: &mut Vec<u8>,
    ) -> bool {
        let nested = cell.nested(number.into(), lengths.max.into());
        if number < lengths.min {
            let own = digit(rank, self.count());
            return self.write(nested.with_rank(own), out);
        }
        self.write(nested, out)
    }

    /// 128 random bits without version bits; the first 64 differ for different draws, and may be in their order.
    fn write_uuid(&self, draw: Option<&Draw>, ordered: bool, cell: Cell, out: &mut Vec<u8>) {
        let index = draw.map_or_else(|| cell.rank.unwrap_or(cell.index), |draw| draw.base(cell));
        let first = match draw {
            Some(draw) if ordered => index * (u64::MAX / draw.size),
            _ => bits(self.key, index),
        };
        let halves = [first, bits(!self.key, index)];
        for (number, byte) in halves.iter().flat_map(|half| half.to_be_bytes()).enumerate() {
            if matches!(number, 4 | 6 | 8 | 10) {
                out.push(b'-');
            }
            hex(out, byte);
        }
    }

    /// Longest value in bytes, at least; saturating.
    pub fn bytes_max(&self) -> u64 {
        let many = |node: &Self, count: u32, more: usize| {
            node.bytes_max().saturating_add(more as u64).saturating_mul(count.into())
        };
        match &self.kind {
            Kind::Chars(chars) => u64::from(chars.lengths.max) * 4,
            Kind::String(string) => string.lengths.max.into(),
            Kind::Bit { lengths, .. } => lengths.max.into(),
            Kind::Blob { lengths, .. } => u64::from(lengths.max) * 2 + 2,
            Kind::Word { words, .. } => words.list.iter().map(Vec::len).max().unwrap_or(0) as u64,
            Kind::File { files, .. } => files.iter().map(Vec::len).max().unwrap_or(0) as u64 * 2,
            Kind::Const(text) => text.len() as u64,
            Kind::Text { source, separator, lengths, prefix, suffix } => {
                many(source, lengths.max, separator.len())
                    .saturating_add((prefix.len() + suffix.len()) as u64)
            }
            Kind::Array { node, lengths } => many(node, lengths.max, 1).saturating_mul(2),
            Kind::Repeat { node, max, .. } => many(node, *max, 0),
            Kind::Tuple(nodes) | Kind::Reduce { nodes, .. } => {
                nodes.iter().map(Self::bytes_max).fold(0, u64::saturating_add).saturating_mul(2)
            }
            Kind::Alt { nodes, .. } => nodes.iter().map(|(_, node)| node.bytes_max()).max().unwrap_or(0),
            Kind::Value(node) => node.bytes_max(),
            Kind::Pattern(sequence) => sequence.bytes_max(),
            Kind::Reference { target, .. } => target.node.bytes_max(),
            _ => 64,
        }
    }
}

/// The next digit of a mixed-radix number.
fn digit(rank: &mut Option<u64>, count: u64) -> Option<u64> {
    let value = (*rank)?;
    *rank = Some(value / count.max(1));
    Some(value % count.max(1))
}

fn write_reference(
    draw: &Draw,
    target: &ColumnNode,
    order: ReferenceOrder,
    cell: Cell,
    out: &mut Vec<u8>,
) -> bool {
    let row = draw.base(cell);
    match order {
        ReferenceOrder::All => target.write_key(row, out),
        ReferenceOrder::EarlierOrNull if cell.row == 0 => false,
        ReferenceOrder::EarlierOrSelf if cell.row == 0 => target.write_key(0, out),
        ReferenceOrder::EarlierOrNull | ReferenceOrder::EarlierOrSelf => {
            let earlier = u128::from(row) * u128::from(cell.row) / u128::from(draw.size);
            target.write_key(u64::try_from(earlier).unwrap_or(0), out)
        }
    }
}

/// Removes the text from `start` on and reads it as a number; 0 if it is none.
fn take_number(out: &mut Vec<u8>, start: usize) -> f64 {
    let text = std::str::from_utf8(&out[start..]).unwrap_or("");
    let number = text.trim().parse().unwrap_or(0.0);
    out.truncate(start);
    number
}

fn reduce(nodes: &[Node], operation: Operation, cell: Cell, out: &mut Vec<u8>) -> bool {
    let mut total: Option<f64> = None;
    for node in nodes {
        let start = out.len();
        if !node.write(cell, out) || operation == Operation::Concatenate {
            continue;
        }
        let number = take_number(out, start);
        total = Some(match (total, operation) {
            (None, _) => number,
            (Some(total), Operation::Multiply) => total * number,
            (Some(total), Operation::Min) => total.min(number),
            (Some(total), Operation::Max) => total.max(number),
            (Some(total), Operation::Add | Operation::Concatenate) => total + number,
        });
    }
    if let Some(total) = total {
        write_number(out, total, None);
    }
    true
}

/// A number, with so many decimals if the column has a scale. Numbers without a fraction have no point.
fn write_number(out: &mut Vec<u8>, number: f64, scale: Option<u32>) {
    let number = if number == 0.0 { 0.0 } else { number };
    // Writing to a vector cannot fail.
    let _ = match scale {
        Some(scale) => write!(out, "{number:.*}", scale as usize),
        None => write!(out, "{number}"),
    };
}

/// bytea's hexadecimal format.
fn write_bytes(out: &mut Vec<u8>, bytes: impl Iterator<Item = u8>) {
    out.extend_from_slice(b"\\x");
    bytes.for_each(|byte| hex(out, byte));
}

impl Float {
    /// A uniform float has a value for each of these ranks; other distributions cannot be unique.
    pub fn count(&self) -> u64 {
        let Distribution::Uniform { low, high } = self.distribution else { return 1 };
        match self.scale {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
            Some(scale) => ((high - low) * 10_f64.powi(scale.cast_signed())) as u64,
            None => 1 << 24,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "the rank has 24 bits, or is rounded to the scale")]
    fn write(&self, key: u64, cell: Cell, out: &mut Vec<u8>) {
        let drawn = match (cell.rank, self.distribution) {
            (Some(rank), Distribution::Uniform { low, high }) => {
                low + (high - low) * (rank as f64 / self.count() as f64)
            }
            (_, distribution) => distribution.draw(&mut random(key, cell.index)),
        };
        write_number(out, drawn.clamp(-self.limit, self.limit), self.scale);
    }
}
