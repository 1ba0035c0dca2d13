//! Checksum of a query's answer. It does not depend on the order of the rows, and is the same for equal answers of all
//! server versions: numbers are compared by value, in the canonical form of [`ValueKind`]. Pure.

use std::borrow::Cow;
use std::fmt;

use sha2::{Digest, Sha256};

/// OIDs of types in `pg_type`, the same in all versions.
const FLOAT4: u32 = 700;
const FLOAT8: u32 = 701;
const NUMERIC: u32 = 1700;

/// How values of a column are made canonical.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ValueKind {
    /// Unchanged.
    #[default]
    Verbatim,
    /// Without trailing zeros of the fraction: the scale of a result differs between versions and plans.
    Numeric,
    /// Rounded to 6 significant digits, which `real` has.
    Float4,
    /// Rounded to 12 significant digits, because parallel plans add in another order; without an exponent.
    Float8,
}

impl ValueKind {
    /// By the OID of the column's type.
    pub fn new(type_oid: u32) -> ValueKind {
        match type_oid {
            FLOAT4 => ValueKind::Float4,
            FLOAT8 => ValueKind::Float8,
            NUMERIC => ValueKind::Numeric,
            _ => ValueKind::Verbatim,
        }
    }

    /// The canonical text of a value.
    pub fn canonical(self, value: &[u8]) -> Cow<'_, [u8]> {
        match self {
            ValueKind::Verbatim => Cow::Borrowed(value),
            ValueKind::Numeric => without_trailing_zeros(value),
            ValueKind::Float4 => rounded(value, 6),
            ValueKind::Float8 => rounded(value, 12),
        }
    }
}

fn without_trailing_zeros(value: &[u8]) -> Cow<'_, [u8]> {
    if !value.contains(&b'.') {
        return Cow::Borrowed(value);
    }
    let end = value.iter().rposition(|byte| *byte != b'0').map_or(0, |last| last + 1);
    let short = value[..end].strip_suffix(b".").unwrap_or(&value[..end]);
    Cow::Borrowed(if short == b"-0" { b"0" } else { short })
}

fn rounded(value: &[u8], digits: usize) -> Cow<'_, [u8]> {
    let number = std::str::from_utf8(value).ok().and_then(|text| text.parse::<f64>().ok());
    match number {
        // PostgreSQL writes NaN and Infinity in one way.
        Some(number) if number.is_finite() => {
            let positive_zero = if number == 0.0 { 0.0 } else { number };
            let rounded = format!("{positive_zero:.*e}", digits - 1);
            // Without an exponent, as a numeric: extract() returned double precision before PostgreSQL 14.
            let plain = rounded.parse::<f64>().map(|number| number.to_string());
            Cow::Owned(plain.unwrap_or(rounded).into_bytes())
        }
        _ => Cow::Borrowed(value),
    }
}

/// The checksum of an answer: the sum, modulo 2¹²⁸, of the first 128 bits of the SHA-256 of each row. A row is hashed as
/// its values in order: a zero byte for NULL; otherwise a one, the length as 8 bytes (little endian), and the canonical
/// text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checksum {
    kinds: Vec<ValueKind>,
    sum: u128,
    rows: u64,
}

impl Checksum {
    /// Of an answer without rows; further columns than these are taken verbatim.
    pub fn new(kinds: Vec<ValueKind>) -> Checksum {
        Checksum { kinds, sum: 0, rows: 0 }
    }

    /// Adds a row; `None` is NULL.
    pub fn add<'a>(&mut self, values: impl IntoIterator<Item = Option<&'a [u8]>>) {
        let mut hash = Sha256::new();
        for (column, value) in values.into_iter().enumerate() {
            let Some(value) = value else {
                hash.update([0]);
                continue;
            };
            let kind = self.kinds.get(column).copied().unwrap_or_default();
            let value = kind.canonical(value);
            hash.update([1]);
            hash.update((value.len() as u64).to_le_bytes());
            hash.update(&value);
        }
        let digest = hash.finalize();
        let mut first = [0; 16];
        first.copy_from_slice(&digest[..16]);
        self.sum = self.sum.wrapping_add(u128::from_be_bytes(first));
        self.rows += 1;
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }
}

/// 32 hexadecimal digits.
impl fmt::Display for Checksum {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:032x}", self.sum)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(kinds: &[ValueKind], rows: &[&[Option<&str>]]) -> String {
        let mut checksum = Checksum::new(kinds.to_vec());
        for row in rows {
            checksum.add(row.iter().map(|value| value.map(str::as_bytes)));
        }
        checksum.to_string()
    }

    fn check(kind: ValueKind, value: &str, expected: &str) {
        assert_eq!(String::from_utf8_lossy(&kind.canonical(value.as_bytes())), expected, "{kind:?} {value}");
    }

    #[test]
    fn numbers_are_compared_by_value() {
        for (value, expected) in [
            ("1.500", "1.5"),
            ("100", "100"),
            ("100.00", "100"),
            ("0.00", "0"),
            ("-0.0", "0"),
            ("-1.10", "-1.1"),
            ("NaN", "NaN"),
        ] {
            check(ValueKind::Numeric, value, expected);
        }
        check(ValueKind::Float8, "1995", "1995");
        check(ValueKind::Float8, "0.1", "0.1");
        check(ValueKind::Float8, "0.100000000000000006", "0.1");
        check(ValueKind::Float8, "-0", "0");
        check(ValueKind::Float8, "1e+20", "100000000000000000000");
        check(ValueKind::Float8, "Infinity", "Infinity");
        check(ValueKind::Float4, "3.1415927", "3.14159");
        check(ValueKind::Verbatim, "1.500", "1.500");
        assert_eq!(ValueKind::new(1700), ValueKind::Numeric);
        assert_eq!(ValueKind::new(25), ValueKind::Verbatim);
    }

    #[test]
    fn different_rows_have_different_checksums() {
        let rows: [&[Option<&str>]; 9] = [
            &[],
            &[None],
            &[Some("")],
            &[Some("a"), Some("b")],
            &[Some("b"), Some("a")],
            &[Some("ab")],
            &[Some("ab"), None],
            &[Some("ab"), Some("")],
            &[Some("a"), None, Some("b")],
        ];
        let mut all: Vec<String> = rows.iter().map(|row| of(&[], &[row])).collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), rows.len());
        assert_ne!(of(&[], &[&[Some("a")], &[Some("a")]]), of(&[], &[&[Some("a")]]), "rows are counted");
        assert_eq!(of(&[], &[]), "0".repeat(32));
    }

    #[test]
    fn the_checksum_of_known_rows_never_changes() {
        let rows: [&[Option<&str>]; 2] = [&[Some("1.50"), Some("x")], &[None, Some("y")]];
        assert_eq!(of(&[ValueKind::Numeric], &rows), "7ede9506258027708327575e3272e583");
    }

    proptest! {
        #[test]
        fn the_order_of_rows_does_not_matter(
            mut rows in proptest::collection::vec(proptest::collection::vec(proptest::option::of(".{0,9}"), 3), 0..20)
        ) {
            let sum = |rows: &[Vec<Option<String>>]| {
                let mut checksum = Checksum::default();
                for row in rows {
                    checksum.add(row.iter().map(|value| value.as_ref().map(String::as_bytes)));
                }
                checksum
            };
            let before = sum(&rows);
            rows.reverse();
            prop_assert_eq!(&sum(&rows), &before);
            prop_assert_eq!(before.rows(), rows.len() as u64);
        }
    }
}
