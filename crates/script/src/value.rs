//! Values of the language. Text is not a type: the type of a variable set from text is determined when an expression
//! uses it (see `variables`). This is the public type; the evaluator uses `Datum`, which implements conversions.

use std::fmt;

use crate::number::{write_double, write_integer};

/// A typed value.
// Full words, so that a copy needs no partial moves.
#[repr(u64)]
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
    /// Appends its text form for SQL.
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

    /// The output of `debug()`: type and text.
    pub fn described(self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Boolean(value) => format!("boolean {value}"),
            Self::Int(value) => format!("int {value}"),
            Self::Double(_) => format!("double {self}"),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_a_text_form_and_a_description() {
        let values = [
            Value::Null,
            Value::Boolean(true),
            Value::Boolean(false),
            Value::Int(i64::MIN),
            Value::Double(0.5),
        ];
        let texts: Vec<_> = values.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["NULL", "true", "false", "-9223372036854775808", "0.5"]);
        let descriptions: Vec<_> = values.iter().map(|value| value.described()).collect();
        let expected = ["null", "boolean true", "boolean false", "int -9223372036854775808", "double 0.5"];
        assert_eq!(descriptions, expected);
    }
}
