//! Values of the language and the rules that turn one type into another. Text is not a type: a variable set from
//! text is typed when an expression asks (see `variables`). Used by the evaluator and the variables.

use std::fmt;

use crate::error::EvaluationError;
use crate::number::{write_double, write_integer};

/// A typed value.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Value {
    /// SQL's NULL.
    Null,
    /// true or false.
    Boolean(bool),
    /// A 64-bit integer.
    Int(i64),
    /// A binary64 number.
    Double(f64),
}

impl Value {
    /// Its type's name in messages.
    pub fn type_name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "boolean",
            Self::Int(_) => "int",
            Self::Double(_) => "double",
        }
    }

    /// As an integer; doubles are rounded, halves to even.
    #[inline]
    pub fn to_int(self) -> Result<i64, EvaluationError> {
        match self {
            Self::Int(value) => Ok(value),
            Self::Double(value) => round_to_int(value),
            Self::Null | Self::Boolean(_) => Err(self.cannot_become("int")),
        }
    }

    /// As a double.
    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "the language rounds large integers")]
    pub fn to_double(self) -> Result<f64, EvaluationError> {
        match self {
            Self::Int(value) => Ok(value as f64),
            Self::Double(value) => Ok(value),
            Self::Null | Self::Boolean(_) => Err(self.cannot_become("double")),
        }
    }

    /// As a boolean, which only a boolean is.
    #[inline]
    pub fn to_boolean(self) -> Result<bool, EvaluationError> {
        match self {
            Self::Boolean(value) => Ok(value),
            Self::Null | Self::Int(_) | Self::Double(_) => Err(self.cannot_become("boolean")),
        }
    }

    /// Whether it holds as the condition of `\if` or CASE WHEN, where numbers count and NULL does not hold.
    #[inline]
    pub fn is_true(self) -> bool {
        match self {
            Self::Null => false,
            Self::Boolean(value) => value,
            Self::Int(value) => value != 0,
            Self::Double(value) => value != 0.0,
        }
    }

    /// Appends the text that stands for it in SQL.
    #[inline]
    pub fn write_text(self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"NULL"),
            Self::Boolean(true) => out.extend_from_slice(b"true"),
            Self::Boolean(false) => out.extend_from_slice(b"false"),
            Self::Int(value) => write_integer(value, out),
            Self::Double(value) => write_double(value, out),
        }
    }

    #[cold]
    fn cannot_become(self, wanted: &'static str) -> EvaluationError {
        EvaluationError::CannotCoerce { from: self.type_name(), to: wanted }
    }
}

/// The text form of SQL.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::new();
        self.write_text(&mut text);
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
fn round_to_int(value: f64) -> Result<i64, EvaluationError> {
    /// −2^63 and 2^63 are doubles; the largest i64 is not.
    const LOWEST: f64 = i64::MIN as f64;
    let rounded = value.round_ties_even();
    if (LOWEST..-LOWEST).contains(&rounded) {
        Ok(rounded as i64)
    } else {
        Err(EvaluationError::DoubleToIntOverflow { value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_round_to_even_and_refuse_what_does_not_fit() {
        let int = |value| Value::Double(value).to_int();
        assert_eq!(int(2.5), Ok(2));
        assert_eq!(int(3.5), Ok(4));
        assert_eq!(int(-2.5), Ok(-2));
        assert_eq!(int(-9_223_372_036_854_775_808.0), Ok(i64::MIN));
        assert_eq!(int(9_223_372_036_854_774_784.0), Ok(9_223_372_036_854_774_784));
        let message = |value| int(value).unwrap_err().to_string();
        assert_eq!(message(-(i64::MIN as f64)), "double to int overflow for 9223372036854775808.000000");
        assert_eq!(message(1e30), "double to int overflow for 1000000000000000019884624838656.000000");
        assert_eq!(message(f64::NAN), "double to int overflow for NaN");
        assert_eq!(message(f64::NEG_INFINITY), "double to int overflow for -Infinity");
    }

    #[test]
    fn only_booleans_are_booleans_but_numbers_are_conditions() {
        assert_eq!(Value::Int(1).to_boolean().unwrap_err().to_string(), "cannot coerce int to boolean");
        assert_eq!(Value::Null.to_int().unwrap_err().to_string(), "cannot coerce null to int");
        assert_eq!(
            Value::Boolean(true).to_double().unwrap_err().to_string(),
            "cannot coerce boolean to double"
        );
        assert!(Value::Int(-1).is_true() && Value::Double(0.1).is_true() && Value::Boolean(true).is_true());
        assert!(!Value::Null.is_true() && !Value::Int(0).is_true() && !Value::Double(-0.0).is_true());
    }

    #[test]
    fn values_have_a_text_form() {
        let texts = [
            Value::Null,
            Value::Boolean(true),
            Value::Boolean(false),
            Value::Int(i64::MIN),
            Value::Double(0.5),
        ];
        let texts: Vec<_> = texts.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["NULL", "true", "false", "-9223372036854775808", "0.5"]);
    }
}
