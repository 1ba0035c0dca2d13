//! The operators' arithmetic on two values that are not NULL: doubles if either is one, else 64-bit integers that
//! never wrap silently. Called by the evaluator, and by the parser to fold constants.

use std::ops;

use crate::error::EvaluationError;
use crate::value::Value;

type Outcome = Result<Value, EvaluationError>;

/// `+ - *` on integers that overflow into `operation`, or on doubles.
#[inline(always)]
fn exact(
    (left, right): (Value, Value),
    operation: &'static str,
    integers: fn(i64, i64) -> Option<i64>,
    doubles: fn(f64, f64) -> f64,
) -> Outcome {
    if either_double(left, right) {
        return Ok(Value::Double(doubles(left.to_double()?, right.to_double()?)));
    }
    match integers(left.to_int()?, right.to_int()?) {
        Some(result) => Ok(Value::Int(result)),
        None => Err(EvaluationError::IntegerOverflow { operation }),
    }
}

#[inline(always)]
fn either_double(left: Value, right: Value) -> bool {
    matches!(left, Value::Double(_)) || matches!(right, Value::Double(_))
}

#[inline]
pub(super) fn add(left: Value, right: Value) -> Outcome {
    exact((left, right), "add", i64::checked_add, ops::Add::add)
}

#[inline]
pub(super) fn subtract(left: Value, right: Value) -> Outcome {
    exact((left, right), "sub", i64::checked_sub, ops::Sub::sub)
}

#[inline]
pub(super) fn multiply(left: Value, right: Value) -> Outcome {
    exact((left, right), "mul", i64::checked_mul, ops::Mul::mul)
}

/// Integers are cut towards zero; doubles follow IEEE 754 and never fail.
pub(super) fn divide(left: Value, right: Value) -> Outcome {
    if either_double(left, right) {
        return Ok(Value::Double(left.to_double()? / right.to_double()?));
    }
    let (left, right) = (left.to_int()?, right.to_int()?);
    match left.checked_div(right) {
        Some(quotient) => Ok(Value::Int(quotient)),
        None if right == 0 => Err(EvaluationError::DivisionByZero),
        None => Err(EvaluationError::IntegerOverflow { operation: "div" }),
    }
}

/// Always of integers, with the sign of the dividend.
pub(super) fn remainder(left: Value, right: Value) -> Outcome {
    match (left.to_int()?, right.to_int()?) {
        (_, 0) => Err(EvaluationError::DivisionByZero),
        (left, right) => Ok(Value::Int(left.wrapping_rem(right))),
    }
}

/// An operation on the bits of two integers.
#[inline(always)]
pub(super) fn bits(left: Value, right: Value, operation: fn(i64, i64) -> i64) -> Outcome {
    Ok(Value::Int(operation(left.to_int()?, right.to_int()?)))
}

/// The machine's shift: the count is taken modulo 64.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the low six bits count")]
fn shift_count(count: i64) -> u32 {
    count as u32
}

pub(super) fn shift_left(value: i64, count: i64) -> i64 {
    value.wrapping_shl(shift_count(count))
}

/// Keeps the sign.
pub(super) fn shift_right(value: i64, count: i64) -> i64 {
    value.wrapping_shr(shift_count(count))
}

/// A comparison of doubles if either is one, else of integers; booleans have no order here and no equality.
#[inline(always)]
pub(super) fn compare(
    left: Value,
    right: Value,
    integers: fn(&i64, &i64) -> bool,
    doubles: fn(&f64, &f64) -> bool,
) -> Outcome {
    if either_double(left, right) {
        return Ok(Value::Boolean(doubles(&left.to_double()?, &right.to_double()?)));
    }
    Ok(Value::Boolean(integers(&left.to_int()?, &right.to_int()?)))
}
