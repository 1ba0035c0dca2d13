//! The binary operators: integers first, the most frequent operands, then NULL, doubles and errors. Called by the
//! machine, and by the parser for constant folding.

use crate::datum::Datum;
use crate::error::EvaluationError;

/// An operation on two values; NULL if either operand is NULL.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
}

impl Binary {
    #[inline(always)]
    pub(super) fn apply(self, left: Datum, right: Datum) -> Result<Datum, EvaluationError> {
        if let (Some(first), Some(second)) = (left.as_int(), right.as_int())
            && let Some(result) = self.on_integers(first, second)
        {
            return Ok(result);
        }
        self.apply_to_any(left, right)
    }

    /// Whether the operation is commutative.
    pub(super) fn commutes(self) -> bool {
        matches!(
            self,
            Self::Add
                | Self::Multiply
                | Self::Equal
                | Self::Unequal
                | Self::BitAnd
                | Self::BitOr
                | Self::BitXor
        )
    }

    #[inline(never)]
    fn apply_to_any(self, left: Datum, right: Datum) -> Result<Datum, EvaluationError> {
        if left.is_null() || right.is_null() {
            return Ok(Datum::NULL);
        }
        if let Some(on_doubles) = self.on_doubles()
            && (left.is_double() || right.is_double())
        {
            return Ok(on_doubles(left.to_double()?, right.to_double()?));
        }
        let (left, right) = (left.to_int()?, right.to_int()?);
        self.on_integers(left, right).ok_or_else(|| self.failure(right))
    }

    /// `None` if the result overflows 64 bits. Division truncates towards zero, the remainder has the sign of the
    /// dividend, and shift counts are taken modulo 64.
    #[inline(always)]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a shift's low six bits count"
    )]
    fn on_integers(self, left: i64, right: i64) -> Option<Datum> {
        let integer = match self {
            Self::Add => left.checked_add(right)?,
            Self::Subtract => left.checked_sub(right)?,
            Self::Multiply => left.checked_mul(right)?,
            Self::Divide => left.checked_div(right)?,
            Self::Remainder if right == 0 => return None,
            Self::Remainder => left.wrapping_rem(right),
            Self::Equal => return Some(Datum::boolean(left == right)),
            Self::Unequal => return Some(Datum::boolean(left != right)),
            Self::Less => return Some(Datum::boolean(left < right)),
            Self::LessOrEqual => return Some(Datum::boolean(left <= right)),
            Self::BitAnd => left & right,
            Self::BitOr => left | right,
            Self::BitXor => left ^ right,
            Self::ShiftLeft => left.wrapping_shl(right as u32),
            Self::ShiftRight => left.wrapping_shr(right as u32),
        };
        Some(Datum::int(integer))
    }

    /// The operation on doubles, if it is applied when an operand is a double; other operations round doubles to
    /// integers. IEEE 754: there are no errors.
    fn on_doubles(self) -> Option<fn(f64, f64) -> Datum> {
        match self {
            Self::Add => Some(|left, right| Datum::double(left + right)),
            Self::Subtract => Some(|left, right| Datum::double(left - right)),
            Self::Multiply => Some(|left, right| Datum::double(left * right)),
            Self::Divide => Some(|left, right| Datum::double(left / right)),
            Self::Equal => Some(|left, right| Datum::boolean(left == right)),
            Self::Unequal => Some(|left, right| Datum::boolean(left != right)),
            Self::Less => Some(|left, right| Datum::boolean(left < right)),
            Self::LessOrEqual => Some(|left, right| Datum::boolean(left <= right)),
            Self::Remainder
            | Self::BitAnd
            | Self::BitOr
            | Self::BitXor
            | Self::ShiftLeft
            | Self::ShiftRight => None,
        }
    }

    /// Why the operation on two integers has no result.
    #[cold]
    fn failure(self, right: i64) -> EvaluationError {
        let operation = match self {
            Self::Divide | Self::Remainder if right == 0 => return EvaluationError::new("division by zero"),
            Self::Add => "add",
            Self::Subtract => "sub",
            Self::Multiply => "mul",
            _ => "div",
        };
        EvaluationError::new(format!("bigint {operation} out of range"))
    }
}
