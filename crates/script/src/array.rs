//! `\set name array(number, expression)`: several values in one variable, as a PostgreSQL array literal. Created by
//! `meta` in the extended dialect; pgbench has no arrays.

use std::fmt::{self, Write};

use crate::datum::Datum;
use crate::error::EvaluationError;
use crate::expression::{Expression, Scope};
use crate::number::write_integer;
use crate::symbols::Slot;
use crate::value::Value;

/// Maximum number of elements. The array of one client then takes some tens of megabytes, which a single statement may
/// contain.
pub(crate) const LENGTH_MAX: i64 = 1_000_000;

/// `\set name array(number, expression)`
#[derive(Debug)]
pub struct SetArray {
    /// The variable that is assigned.
    pub slot: Slot,
    pub(crate) length: Expression,
    pub(crate) element: Expression,
}

impl SetArray {
    /// Evaluates the number once and the element that many times, in order, and assigns. The variable's text is
    /// PostgreSQL's array literal, such as `{1,2.5,t,NULL}`: unchanged as a parameter, quoted in simple queries.
    pub fn execute(&self, scope: &mut Scope<'_>) -> Result<(), EvaluationError> {
        let length = self.length.datum(scope).and_then(Datum::to_int)?;
        if !(0..=LENGTH_MAX).contains(&length) {
            let reason = format!("the length of an array must be in range [0, {LENGTH_MAX}] (not {length})");
            return Err(EvaluationError::new(reason));
        }
        let mut literal = scope.variables.take_array_buffer();
        literal.push(b'{');
        for index in 0..length {
            if index > 0 {
                literal.push(b',');
            }
            write_element(self.element.evaluate(scope)?, &mut literal);
        }
        literal.push(b'}');
        scope.variables.set_array(self.slot, literal);
        Ok(())
    }
}

/// Text form in an array literal; a double with the digits that identify it exactly.
fn write_element(value: Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Boolean(value) => out.push(if value { b't' } else { b'f' }),
        Value::Int(value) => write_integer(value, out),
        Value::Double(value) if value.is_finite() => write_shortest(value, out),
        Value::Double(_) => value.write_text(out),
    }
}

/// Decimal between 1e-5 and 1e15, otherwise with an exponent.
fn write_shortest(value: f64, out: &mut Vec<u8>) {
    let plain = value == 0.0 || (1e-5..1e15).contains(&value.abs());
    let written = if plain { write!(Bytes(out), "{value}") } else { write!(Bytes(out), "{value:e}") };
    written.expect("a vector takes all");
}

/// Appends text to a vector.
struct Bytes<'a>(&'a mut Vec<u8>);

impl Write for Bytes<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}
