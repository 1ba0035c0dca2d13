//! `\copy_rows number (value, …)` and `\copy_file name`: the rows of the `COPY … FROM STDIN` before them. Created by `meta`
//! in the extended dialect; pgbench has no COPY. The engine sends the rows in pieces.

use std::fmt;
use std::sync::Arc;

use crate::datum::Datum;
use crate::error::EvaluationError;
use crate::expression::{Expression, Scope};
use crate::random::Random;
use crate::string::StringValue;
use crate::symbols::{Slot, Symbols};
use crate::value::Value;
use crate::variables::Variables;

/// The variable that `\copy_rows` sets to the number of the row, from 1.
pub(crate) const ROW: &str = "copy_row";

/// Maximum number of values of a row: PostgreSQL's limit for the columns of a table.
pub(crate) const VALUES_MAX: usize = 1600;

/// Origin of the rows of a `COPY … FROM STDIN`.
#[derive(Debug)]
pub enum CopySource {
    /// `\copy_rows`
    Rows(CopyRows),
    /// `\copy_file`
    File(CopyFile),
}

/// `\copy_rows number (value, …)`
#[derive(Debug)]
pub struct CopyRows {
    number: Expression,
    values: Box<[CopyValue]>,
    /// The variable with the number of the row.
    row: Slot,
}

/// One column of generated rows.
#[derive(Debug)]
pub(crate) enum CopyValue {
    Expression(Expression),
    /// A single variable, whose text is not changed.
    Variable(Slot),
    String(StringValue),
}

/// `\copy_file name`
pub struct CopyFile {
    /// The name as written.
    pub name: Box<str>,
    /// Line of the meta command in the script, from 1.
    pub line: u32,
    /// Its bytes; empty until [`Program::read_files`](crate::Program::read_files).
    pub content: Arc<[u8]>,
}

/// Only the length of the content.
impl fmt::Debug for CopyFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, line, content } = self;
        let mut shown = f.debug_struct("CopyFile");
        shown.field("name", name).field("line", line).field("length", &content.len()).finish()
    }
}

/// The next row of one execution of `\copy_rows`.
#[derive(Debug)]
pub struct RowPosition {
    /// Number of rows, including the current one, that are not written yet.
    left: u64,
    /// Number of the current row, from 1.
    row: i64,
    /// Its next value.
    column: usize,
    random: Random,
}

impl CopyRows {
    pub(crate) fn new(number: Expression, values: Vec<CopyValue>, symbols: &mut Symbols) -> Self {
        Self { number, values: values.into(), row: symbols.intern(ROW) }
    }

    /// Number of values of a row.
    pub fn columns(&self) -> usize {
        self.values.len()
    }

    /// The variable that counts the rows.
    pub(crate) fn row_slot(&self) -> Slot {
        self.row
    }

    /// Evaluates the number of rows once; negative numbers are zero. Draws one number, the seed of all random values of
    /// the rows: the scope's stream continues in the same way if the server stops reading after some rows.
    pub fn begin(&self, scope: &mut Scope<'_>) -> Result<RowPosition, EvaluationError> {
        let number = self.number.datum(scope).and_then(Datum::to_int)?;
        let random = Random::from_seed(scope.random.next_u64());
        Ok(RowPosition { left: u64::try_from(number).unwrap_or(0), row: 1, column: 0, random })
    }

    /// Appends values in COPY's text format until at least `length` bytes are appended or all rows are written; true
    /// while rows remain. A piece may end within a row, but not within a value.
    pub fn write_piece(
        &self,
        position: &mut RowPosition,
        length: usize,
        variables: &mut Variables,
        symbols: &Symbols,
        out: &mut Vec<u8>,
    ) -> Result<bool, EvaluationError> {
        let RowPosition { left, row, column, random } = position;
        let end = out.len().saturating_add(length);
        while *left > 0 {
            variables.set(self.row, Value::Int(*row));
            while let Some(value) = self.values.get(*column) {
                if out.len() >= end {
                    return Ok(true);
                }
                value.write(&mut Scope::new(variables, random, symbols), out)?;
                *column += 1;
                out.push(if *column < self.values.len() { b'\t' } else { b'\n' });
            }
            *column = 0;
            *left -= 1;
            *row = row.saturating_add(1);
        }
        Ok(false)
    }
}

impl CopyValue {
    /// Appends the value in COPY's text format; NULL is `\N`.
    fn write(&self, scope: &mut Scope<'_>, out: &mut Vec<u8>) -> Result<(), EvaluationError> {
        let start = out.len();
        let is_null = match self {
            Self::Expression(expression) => {
                let value = expression.evaluate(scope)?;
                value.write_text(out);
                value == Value::Null
            }
            Self::Variable(slot) => {
                let is_set = scope.variables.write_text(*slot, out);
                if !is_set {
                    return Err(EvaluationError::undefined(*slot, scope.symbols));
                }
                scope.variables.is_null(*slot)
            }
            Self::String(value) => {
                value.write(scope, out)?;
                false
            }
        };
        if is_null {
            out.truncate(start);
            out.extend_from_slice(b"\\N");
        } else {
            escape(out, start);
        }
        Ok(())
    }
}

/// Replaces the characters with a meaning in COPY's text format from byte `start` on (PostgreSQL manual, COPY, "Text
/// Format"); most values have none.
fn escape(out: &mut Vec<u8>, start: usize) {
    let letter = |byte: u8| match byte {
        b'\\' => Some(b'\\'),
        b'\t' => Some(b't'),
        b'\n' => Some(b'n'),
        b'\r' => Some(b'r'),
        _ => None,
    };
    let Some(first) = out[start..].iter().position(|byte| letter(*byte).is_some()) else { return };
    let rest = out.split_off(start + first);
    for byte in rest {
        match letter(byte) {
            Some(letter) => out.extend_from_slice(&[b'\\', letter]),
            None => out.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A value as the server reads it (PostgreSQL manual, COPY, "Text Format").
    fn unescaped(text: &[u8]) -> Vec<u8> {
        let mut value = Vec::new();
        let mut bytes = text.iter();
        while let Some(&byte) = bytes.next() {
            value.push(match byte {
                b'\\' => match bytes.next().expect("a character after the backslash") {
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'r' => b'\r',
                    other => *other,
                },
                b'\t' | b'\n' | b'\r' => panic!("an end of a value or row in {text:?}"),
                byte => byte,
            });
        }
        value
    }

    proptest! {
        #[test]
        fn any_text_is_one_value(before in "[a\\\\\t]{0,3}", value in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut out = [before.as_bytes(), &value].concat();
            escape(&mut out, before.len());
            prop_assert!(out.starts_with(before.as_bytes()), "earlier bytes changed");
            prop_assert_eq!(unescaped(&out[before.len()..]), value);
        }
    }
}
