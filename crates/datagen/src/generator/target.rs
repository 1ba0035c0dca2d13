//! What a generator is compiled for: a column with its type, its bounds and its table, and the limits of types of numbers.
//! Used by `compile`, and by all that selects or describes generators.

use crate::schema::{Bounds, Type};

/// What a generator is compiled for.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    /// Of the table.
    pub rows: u64,
    /// Key of the table, for draws that columns share.
    pub table_key: u64,
    /// Name of the column.
    pub name: &'a str,
    pub kind: &'a Type,
    /// Name of the type in SQL.
    pub type_name: &'a str,
    pub bounds: &'a Bounds,
    /// Directives that a CHECK constraint suggests.
    pub hint: Option<&'a str>,
    /// Every row must have its own value.
    pub unique: bool,
    /// A unique draw counts by default.
    pub serial: bool,
    /// First number of integers.
    pub offset: i64,
    pub depth: u32,
}

/// Decimals of a type of numbers.
pub(crate) fn scale(kind: &Type) -> Option<u32> {
    match kind {
        Type::Integer { .. } => Some(0),
        Type::Numeric { digits } => digits.map(|(_, scale)| scale.clamp(0, 1000).unsigned_abs()),
        Type::Money => Some(2),
        _ => None,
    }
}

/// Largest absolute value of a type of numbers.
#[expect(clippy::cast_precision_loss, reason = "rounded down below")]
pub(crate) fn limit(kind: &Type) -> f64 {
    match kind {
        // The cast rounds bigint's limit up.
        Type::Integer { max } => (*max as f64).min(9.2e18),
        Type::Numeric { digits: Some((precision, scale)) } => {
            let power = |digits: i32| 10_f64.powi(digits.clamp(-300, 300));
            power(precision.cast_signed().saturating_sub(*scale)) - power(scale.saturating_neg())
        }
        Type::Money => 9e16,
        Type::Float => 3e38,
        _ => 1e300,
    }
}
