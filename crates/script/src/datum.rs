//! A value in the machine's representation: two words, kind and bits, which stay in registers; the enum `Value` would
//! be copied through memory in parts (measured: half the time of an evaluation). Type conversions are implemented here.
//! Used by the evaluator and the variables; `Value` is the public type.

use crate::error::{EvaluationError, FixedPoint};
use crate::value::Value;

/// Meaning of the bits of a [`Datum`].
#[repr(u64)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Boolean,
    Int,
    Double,
    /// Only in variables: not assigned.
    Undefined,
    /// Only in variables: the bits are the index of the text.
    Text,
}

/// A value; equal if type and bits are.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Datum {
    pub(crate) kind: Kind,
    pub(crate) bits: u64,
}

impl Datum {
    pub(crate) const NULL: Self = Self { kind: Kind::Null, bits: 0 };
    pub(crate) const TRUE: Self = Self { kind: Kind::Boolean, bits: 1 };
    pub(crate) const FALSE: Self = Self { kind: Kind::Boolean, bits: 0 };

    #[inline(always)]
    pub(crate) const fn boolean(value: bool) -> Self {
        Self { kind: Kind::Boolean, bits: value as u64 }
    }

    #[inline(always)]
    pub(crate) const fn int(value: i64) -> Self {
        Self { kind: Kind::Int, bits: value.cast_unsigned() }
    }

    #[inline(always)]
    pub(crate) const fn double(value: f64) -> Self {
        Self { kind: Kind::Double, bits: value.to_bits() }
    }

    #[inline(always)]
    pub(crate) fn is_null(self) -> bool {
        self.kind == Kind::Null
    }

    #[inline(always)]
    pub(crate) fn is_double(self) -> bool {
        self.kind == Kind::Double
    }

    /// The value of an integer; `None` for other types.
    #[inline(always)]
    pub(crate) fn as_int(self) -> Option<i64> {
        (self.kind == Kind::Int).then_some(self.bits.cast_signed())
    }

    /// Converts to an integer; doubles are rounded half to even.
    #[inline]
    pub(crate) fn to_int(self) -> Result<i64, EvaluationError> {
        match self.kind {
            Kind::Int => Ok(self.bits.cast_signed()),
            Kind::Double => round_to_int(f64::from_bits(self.bits)),
            _ => Err(self.cannot_become("int")),
        }
    }

    /// Converts to a double.
    #[inline]
    pub(crate) fn to_double(self) -> Result<f64, EvaluationError> {
        match self.kind {
            Kind::Int => Ok(self.bits.cast_signed() as f64),
            Kind::Double => Ok(f64::from_bits(self.bits)),
            _ => Err(self.cannot_become("double")),
        }
    }

    /// The value of a boolean; an error for other types.
    #[inline]
    pub(crate) fn to_boolean(self) -> Result<bool, EvaluationError> {
        if self.kind == Kind::Boolean { Ok(self.bits != 0) } else { Err(self.cannot_become("boolean")) }
    }

    /// The value as a condition: numbers are allowed, and NULL is false.
    #[inline]
    pub(crate) fn is_true(self) -> bool {
        match self.kind {
            Kind::Double => f64::from_bits(self.bits) != 0.0,
            Kind::Boolean | Kind::Int => self.bits != 0,
            Kind::Null | Kind::Undefined | Kind::Text => false,
        }
    }

    #[inline]
    pub(crate) fn value(self) -> Value {
        match self.kind {
            Kind::Boolean => Value::Boolean(self.bits != 0),
            Kind::Int => Value::Int(self.bits.cast_signed()),
            Kind::Double => Value::Double(f64::from_bits(self.bits)),
            Kind::Null | Kind::Undefined | Kind::Text => Value::Null,
        }
    }

    #[cold]
    fn cannot_become(self, to: &'static str) -> EvaluationError {
        let from = match self.kind {
            Kind::Boolean => "boolean",
            Kind::Int => "int",
            Kind::Double => "double",
            Kind::Null | Kind::Undefined | Kind::Text => "null",
        };
        EvaluationError::new(format!("cannot coerce {from} to {to}"))
    }
}

impl From<Value> for Datum {
    #[inline]
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Boolean(value) => Self::boolean(value),
            Value::Int(value) => Self::int(value),
            Value::Double(value) => Self::double(value),
        }
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
        Err(EvaluationError::new(format!("double to int overflow for {}", FixedPoint(value))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_round_to_even_and_refuse_what_does_not_fit() {
        let int = |value| Datum::double(value).to_int();
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
        assert_eq!(Datum::int(1).to_boolean().unwrap_err().to_string(), "cannot coerce int to boolean");
        assert_eq!(Datum::NULL.to_int().unwrap_err().to_string(), "cannot coerce null to int");
        assert_eq!(Datum::TRUE.to_double().unwrap_err().to_string(), "cannot coerce boolean to double");
        assert!(Datum::int(-1).is_true() && Datum::double(0.1).is_true() && Datum::TRUE.is_true());
        assert!(!Datum::NULL.is_true() && !Datum::int(0).is_true() && !Datum::double(-0.0).is_true());
    }

    #[test]
    fn values_come_back() {
        for value in
            [Value::Null, Value::Boolean(true), Value::Boolean(false), Value::Int(-1), Value::Double(-0.5)]
        {
            assert_eq!(Datum::from(value).value(), value);
        }
    }
}
