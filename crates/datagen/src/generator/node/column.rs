//! The generator of a column in its table: the number of a row becomes the cell of a draw, with the digit that makes the
//! rows of a unique constraint different, and the case that the row takes.

use std::sync::Arc;

use super::Node;
use crate::generator::draw::Cell;
use crate::generator::random_bits::bits;
use crate::generator::weighted::Combinations;

/// A column's generator with the enumeration of its unique values.
#[derive(Clone, Debug)]
pub(crate) struct ColumnNode {
    pub node: Node,
    pub rows: u64,
    pub rank: Option<Rank>,
    /// What the case of a row says about the column.
    pub cases: Option<ColumnCases>,
}

/// The part of a column in the cases of its table.
#[derive(Clone, Debug)]
pub(crate) struct ColumnCases {
    /// All columns of the table have the same: it selects the case of a row.
    pub key: u64,
    pub values: Vec<CaseValue>,
}

/// A column in one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CaseValue {
    Any,
    Null,
    NotNull,
    /// One of these.
    Words(Vec<Vec<u8>>),
}

impl ColumnCases {
    fn of(&self, row: u64) -> &CaseValue {
        chosen(&self.values, bits(self.key, row)).unwrap_or(&CaseValue::Any)
    }
}

fn chosen<T>(list: &[T], number: u64) -> Option<&T> {
    let place = number.checked_rem(list.len() as u64)?;
    list.get(usize::try_from(place).unwrap_or(0))
}

/// The part of a column in the combinations of values that make the rows of a unique constraint different.
#[derive(Clone, Debug)]
pub(crate) enum Rank {
    /// A digit of a mixed-radix number, at random.
    Digit { size: u64, seed: i64, divisor: u64, radix: u64 },
    /// The column at this place, in an order between sorted and random.
    Combined { all: Arc<Combinations>, place: usize },
}

impl Rank {
    fn of(&self, row: u64) -> u64 {
        match self {
            Self::Digit { size, seed, divisor, radix } => {
                let number = script::permute(row.cast_signed(), size.cast_signed(), *seed).cast_unsigned();
                number / divisor % radix
            }
            Self::Combined { all, place } => all.value(row, *place),
        }
    }
}

impl ColumnNode {
    pub fn cell(&self, row: u64) -> Cell {
        Cell { row, rows: self.rows, index: row, rank: self.rank.as_ref().map(|rank| rank.of(row)) }
    }

    /// Writes the value of a row; `false` for NULL.
    pub fn write(&self, row: u64, out: &mut Vec<u8>) -> bool {
        match self.cases.as_ref().map(|cases| cases.of(row)) {
            None | Some(CaseValue::Any) => self.node.write(self.cell(row), out),
            Some(CaseValue::Null) => false,
            Some(CaseValue::NotNull) => self.write_key(row, out),
            Some(CaseValue::Words(words)) => {
                let word = chosen(words, bits(!self.node.key, row)).map(Vec::as_slice);
                out.extend_from_slice(word.unwrap_or_default());
                true
            }
        }
    }

    /// The value that a foreign key takes: never NULL because of a NULL rate.
    pub fn write_key(&self, row: u64, out: &mut Vec<u8>) -> bool {
        self.node.write_value(self.cell(row), out)
    }
}
