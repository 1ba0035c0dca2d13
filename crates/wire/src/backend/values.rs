//! Values of results as a client application would have them: numbers, times, texts, documents, and lists of these for
//! arrays and composite values. A client parses rows only on request, to include the cost of parsing in a measurement.
//!
//! Built-in types are known by their OIDs. Arrays and composite values of other types are recognized by their text or by
//! their binary structure. Parsing never fails: a value of an unknown type or in an unexpected form remains text or
//! bytes. Formats: PostgreSQL's manual, "Data Types"; the binary ones are those of the types' `send` functions.

use std::hint::black_box;

use super::message::Message;
use super::reader::Reader;
use super::rows::{DataRow, RowDescription};
use crate::protocol_error::ProtocolError;

/// A parsed value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// `boolean`.
    Bool(bool),
    /// Integers; dates as days and timestamps as microseconds since 2000-01-01.
    Integer(i64),
    /// Floating-point numbers.
    Float(f64),
    /// `numeric`: digits without the decimal point, and the number of decimals.
    Decimal(i128, u32),
    /// Everything else in text format.
    Text(String),
    /// Everything else in binary format.
    Bytes(Vec<u8>),
    /// `json` and `jsonb`.
    Document(serde_json::Value),
    /// The elements of an array, or the fields of a composite value.
    List(Vec<Value>),
}

/// Arrays and composite values nested deeper than this remain text or bytes, so that no input exhausts the stack.
const DEPTH_MAX: u32 = 32;
/// OIDs from here on belong to types that users created.
const FIRST_USER_OID: u32 = 16_384;
/// Digits that an `i128` holds.
const DECIMAL_DIGITS_MAX: usize = 38;
const MICROS_PER_DAY: i64 = 86_400_000_000;

/// What the parser does with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bool,
    Integer,
    Float,
    Decimal,
    Text,
    Bytes,
    Date,
    Timestamp,
    Json,
    Jsonb,
    Array,
    Composite,
    /// An array or a composite value, or something unknown: only the value tells.
    Unknown,
}

/// The known types by OID, of `pg_type.dat`.
const KINDS: [(u32, Kind); 43] = [
    (16, Kind::Bool),
    (17, Kind::Bytes),
    (18, Kind::Text),
    (19, Kind::Text),
    (20, Kind::Integer),
    (21, Kind::Integer),
    (23, Kind::Integer),
    (25, Kind::Text),
    (26, Kind::Integer),
    (114, Kind::Json),
    (199, Kind::Array),
    (700, Kind::Float),
    (701, Kind::Float),
    (1000, Kind::Array),
    (1001, Kind::Array),
    (1002, Kind::Array),
    (1003, Kind::Array),
    (1005, Kind::Array),
    (1007, Kind::Array),
    (1009, Kind::Array),
    (1014, Kind::Array),
    (1015, Kind::Array),
    (1016, Kind::Array),
    (1021, Kind::Array),
    (1022, Kind::Array),
    (1028, Kind::Array),
    (1042, Kind::Text),
    (1043, Kind::Text),
    (1082, Kind::Date),
    (1114, Kind::Timestamp),
    (1115, Kind::Array),
    (1182, Kind::Array),
    (1184, Kind::Timestamp),
    (1185, Kind::Array),
    (1231, Kind::Array),
    (1700, Kind::Decimal),
    (2249, Kind::Composite),
    (2287, Kind::Array),
    (2950, Kind::Text),
    (2951, Kind::Array),
    (3802, Kind::Jsonb),
    (3807, Kind::Array),
    (4072, Kind::Text),
];

impl Kind {
    fn of(oid: u32) -> Kind {
        let known = KINDS.binary_search_by_key(&oid, |(oid, _)| *oid).ok().map(|at| KINDS[at].1);
        known.unwrap_or(if oid >= FIRST_USER_OID { Kind::Unknown } else { Kind::Text })
    }
}

/// Parses all values of the rows that a connection receives, and drops them.
#[derive(Debug, Default)]
pub struct RowParser {
    columns: Vec<(u32, bool)>,
    row: Vec<Value>,
}

impl RowParser {
    /// Processes a message that concerns results; the decoder must keep rows.
    ///
    /// # Errors
    /// A description or a row is malformed.
    pub fn take(&mut self, message: &Message<'_>) -> Result<(), ProtocolError> {
        match message {
            Message::RowDescription(description) => self.describe(description),
            Message::DataRow(row) => {
                self.parse(row)?;
                // The compiler must not leave out the work.
                black_box(&self.row);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The values of the last row.
    pub fn row(&self) -> &[Value] {
        &self.row
    }

    fn describe(&mut self, description: &RowDescription<'_>) -> Result<(), ProtocolError> {
        self.columns.clear();
        for column in description.formats() {
            self.columns.push(column?);
        }
        Ok(())
    }

    fn parse(&mut self, row: &DataRow<'_>) -> Result<(), ProtocolError> {
        self.row.clear();
        for (number, value) in row.columns().enumerate() {
            let (oid, is_binary) = self.columns.get(number).copied().unwrap_or_default();
            self.row.push(match value? {
                None => Value::Null,
                Some(value) if is_binary => binary(oid, value, 0),
                Some(value) => text(Kind::of(oid), value, 0),
            });
        }
        Ok(())
    }
}

/// A value in text format.
fn text(kind: Kind, value: &[u8], depth: u32) -> Value {
    let Ok(text) = str::from_utf8(value) else { return Value::Bytes(value.to_vec()) };
    let parsed = match kind {
        Kind::Bool => Some(Value::Bool(text == "t")),
        Kind::Integer => text.parse().ok().map(Value::Integer),
        Kind::Float => text.parse().ok().map(Value::Float),
        Kind::Decimal => decimal(text),
        Kind::Date => days(text).map(Value::Integer),
        Kind::Timestamp => timestamp(text).map(Value::Integer),
        Kind::Json | Kind::Jsonb => serde_json::from_str(text).ok().map(Value::Document),
        Kind::Bytes => hex(text).map(Value::Bytes),
        Kind::Array | Kind::Composite | Kind::Unknown => list(text, depth),
        Kind::Text => None,
    };
    parsed.unwrap_or_else(|| Value::Text(text.to_owned()))
}

/// An array `{…}` or a composite value `(…)`. The types of its parts are not known: those that have such a form are
/// lists too, the others remain text.
fn list(text: &str, depth: u32) -> Option<Value> {
    let bytes = text.as_bytes();
    let (close, null): (u8, &[u8]) = match bytes.first()? {
        b'{' => (b'}', b"NULL"),
        b'(' => (b')', b""),
        _ => return None,
    };
    let mut rest = bytes.get(1..).filter(|_| depth < DEPTH_MAX)?;
    let mut values = Vec::new();
    if bytes == b"{}" {
        return Some(Value::List(values));
    }
    loop {
        let part = if rest.first() == Some(&b'{') { nested_array(rest)? } else { part(rest, close)? };
        values.push(match &part {
            Part { is_quoted: false, bytes, .. } if bytes == null => Value::Null,
            Part { bytes, .. } => self::text(Kind::Unknown, bytes, depth + 1),
        });
        let (end, after) = rest.get(part.length..)?.split_first()?;
        match *end {
            b',' => rest = after,
            end if end == close && after.is_empty() => return Some(Value::List(values)),
            _ => return None,
        }
    }
}

/// A part of an array or a composite value, without quotes and escapes.
struct Part {
    bytes: Vec<u8>,
    is_quoted: bool,
    /// Its length with quotes and escapes.
    length: usize,
}

fn part(input: &[u8], close: u8) -> Option<Part> {
    let (mut bytes, mut is_quoted, mut within, mut at) = (Vec::new(), false, false, 0);
    loop {
        let byte = *input.get(at)?;
        at += 1;
        match byte {
            b'\\' => {
                bytes.push(*input.get(at)?);
                at += 1;
            }
            // Composite values double a quote.
            b'"' if within && close == b')' && input.get(at) == Some(&b'"') => {
                bytes.push(b'"');
                at += 1;
            }
            b'"' => (within, is_quoted) = (!within, true),
            b',' if !within => return Some(Part { bytes, is_quoted, length: at - 1 }),
            byte if byte == close && !within => return Some(Part { bytes, is_quoted, length: at - 1 }),
            byte => bytes.push(byte),
        }
    }
}

/// A dimension of an array within another one, which is not quoted.
fn nested_array(input: &[u8]) -> Option<Part> {
    let (mut level, mut within, mut at) = (0_u32, false, 0);
    loop {
        match *input.get(at)? {
            b'\\' => at += 1,
            b'"' => within = !within,
            b'{' if !within => level += 1,
            b'}' if !within => level -= 1,
            _ => {}
        }
        at += 1;
        if level == 0 {
            let bytes = input.get(..at)?.to_vec();
            return Some(Part { bytes, is_quoted: true, length: at });
        }
    }
}

fn decimal(text: &str) -> Option<Value> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let is_plain = decimals.bytes().all(|byte| byte.is_ascii_digit());
    if !is_plain || whole.len() + decimals.len() > DECIMAL_DIGITS_MAX {
        return None;
    }
    let digits: i128 = format!("{whole}{decimals}").parse().ok()?;
    Some(Value::Decimal(digits, u32::try_from(decimals.len()).ok()?))
}

/// Days since 2000-01-01 of `YYYY-MM-DD`.
fn days(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if !(0..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Howard Hinnant, "chrono-compatible low-level date algorithms".
    let shifted_year = year - i64::from(month <= 2);
    let (era, of_era) = (shifted_year.div_euclid(400), shifted_year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let since_1970 = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    Some(since_1970 - 10_957)
}

/// Microseconds since 2000-01-01 of `YYYY-MM-DD HH:MM:SS[.ffffff][±HH[:MM]]`.
fn timestamp(text: &str) -> Option<i64> {
    let (date, time) = text.split_once(' ')?;
    let (time, offset_minutes) = match time.find(['+', '-']) {
        None => (time, 0),
        Some(at) => {
            let (hours, minutes) = time[at + 1..].split_once(':').unwrap_or((&time[at + 1..], "0"));
            let minutes = 60 * i64::from(hours.parse::<u8>().ok()?) + i64::from(minutes.parse::<u8>().ok()?);
            (&time[..at], if time[at..].starts_with('-') { -minutes } else { minutes })
        }
    };
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut parts = time.splitn(3, ':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let micros: i64 = format!("{fraction:0<6}").get(..6)?.parse().ok()?;
    if ![hour, minute, second].iter().all(|value| (0..=60).contains(value)) {
        return None;
    }
    let seconds = (hour * 60 + minute - offset_minutes) * 60 + second;
    Some(days(date)? * MICROS_PER_DAY + seconds * 1_000_000 + micros)
}

/// `\x…`
fn hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("\\x")?.as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, rest) = digits.as_chunks::<2>();
    let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect();
    if rest.is_empty() { bytes } else { None }
}

/// A value in binary format.
fn binary(oid: u32, value: &[u8], depth: u32) -> Value {
    let parsed = match Kind::of(oid) {
        Kind::Bool => value.first().map(|byte| Value::Bool(*byte != 0)),
        Kind::Integer | Kind::Date | Kind::Timestamp => integer(value).map(Value::Integer),
        Kind::Float => float(value).map(Value::Float),
        Kind::Decimal => binary_decimal(value),
        Kind::Json => serde_json::from_slice(value).ok().map(Value::Document),
        Kind::Jsonb => value.get(1..).and_then(|json| serde_json::from_slice(json).ok()).map(Value::Document),
        Kind::Array => binary_array(value, depth),
        Kind::Composite => binary_composite(value, depth),
        Kind::Unknown => binary_array(value, depth).or_else(|| binary_composite(value, depth)),
        Kind::Text => str::from_utf8(value).ok().map(|text| Value::Text(text.to_owned())),
        Kind::Bytes => None,
    };
    parsed.unwrap_or_else(|| Value::Bytes(value.to_vec()))
}

fn integer(value: &[u8]) -> Option<i64> {
    match *value {
        [a, b] => Some(i16::from_be_bytes([a, b]).into()),
        [a, b, c, d] => Some(i32::from_be_bytes([a, b, c, d]).into()),
        _ => value.try_into().ok().map(i64::from_be_bytes),
    }
}

fn float(value: &[u8]) -> Option<f64> {
    match *value {
        [a, b, c, d] => Some(f32::from_be_bytes([a, b, c, d]).into()),
        _ => value.try_into().ok().map(f64::from_be_bytes),
    }
}

/// Digits to the base 10,000 with the exponent of the first one: `numeric_send`.
fn binary_decimal(value: &[u8]) -> Option<Value> {
    const NEGATIVE: u16 = 0x4000;
    let mut reader = Reader::new(value, "numeric");
    let (count, weight) = (reader.u16().ok()?, reader.u16().ok()?.cast_signed());
    let (sign, decimals) = (reader.u16().ok()?, u32::from(reader.u16().ok()?));
    if sign & !NEGATIVE != 0 {
        // NaN or infinite.
        return None;
    }
    let mut digits: i128 = 0;
    for _ in 0..count {
        digits = digits.checked_mul(10_000)?.checked_add(reader.u16().ok()?.into())?;
    }
    // The exponent of the last digit in decimal places, brought to the number of decimals.
    let shift = 4 * (i32::from(weight) - i32::from(count) + 1) + i32::try_from(decimals).ok()?;
    let power = 10_i128.checked_pow(shift.unsigned_abs())?;
    let digits = if shift < 0 { digits / power } else { digits.checked_mul(power)? };
    Some(Value::Decimal(if sign == NEGATIVE { -digits } else { digits }, decimals))
}

/// Number of dimensions, flag, OID of the elements, length and lower bound of each dimension, elements: `array_send`.
fn binary_array(value: &[u8], depth: u32) -> Option<Value> {
    const DIMENSIONS_MAX: u32 = 6;
    let mut reader = Reader::new(value, "array");
    let dimensions = reader.u32().ok().filter(|count| *count <= DIMENSIONS_MAX && depth < DEPTH_MAX)?;
    let has_nulls = reader.u32().ok()?;
    let oid = reader.u32().ok()?;
    if has_nulls > 1 {
        return None;
    }
    let mut count = u64::from(dimensions > 0);
    for _ in 0..dimensions {
        count = count.checked_mul(reader.u32().ok()?.into())?;
        reader.u32().ok()?;
    }
    let mut values = Vec::new();
    for _ in 0..count {
        values.push(binary_part(&mut reader, oid, depth)?);
    }
    reader.is_empty().then_some(Value::List(values))
}

/// Number of fields; OID, length and value of each: `record_send`.
fn binary_composite(value: &[u8], depth: u32) -> Option<Value> {
    let mut reader = Reader::new(value, "record");
    let count = reader.u32().ok().filter(|_| depth < DEPTH_MAX)?;
    let mut values = Vec::new();
    for _ in 0..count {
        let oid = reader.u32().ok()?;
        values.push(binary_part(&mut reader, oid, depth)?);
    }
    reader.is_empty().then_some(Value::List(values))
}

fn binary_part(reader: &mut Reader<'_>, oid: u32, depth: u32) -> Option<Value> {
    match reader.i32().ok()? {
        -1 => Some(Value::Null),
        length => {
            let part = reader.take(usize::try_from(length).ok()?).ok()?;
            Some(binary(oid, part, depth + 1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_text(oid: u32, value: &str) -> Value {
        text(Kind::of(oid), value.as_bytes(), 0)
    }

    fn string(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    #[test]
    fn the_table_of_types_is_sorted() {
        assert!(KINDS.is_sorted_by(|(a, _), (b, _)| a < b));
    }

    #[test]
    fn scalars_become_the_values_of_their_types() {
        assert_eq!(of_text(16, "t"), Value::Bool(true));
        assert_eq!(of_text(23, "-7"), Value::Integer(-7));
        assert_eq!(of_text(701, "1.5"), Value::Float(1.5));
        assert_eq!(of_text(1700, "-12.340"), Value::Decimal(-12_340, 3));
        assert_eq!(of_text(1700, "NaN"), string("NaN"));
        assert_eq!(of_text(1082, "2000-03-01"), Value::Integer(60));
        assert_eq!(of_text(1082, "infinity"), string("infinity"));
        assert_eq!(of_text(1114, "2000-01-02 00:00:01.5"), Value::Integer(86_401_500_000));
        assert_eq!(of_text(1184, "2000-01-01 01:00:00+01"), Value::Integer(0));
        assert_eq!(of_text(17, "\\x00ff"), Value::Bytes(vec![0, 255]));
        assert_eq!(of_text(3802, "{\"a\": [1]}"), Value::Document(serde_json::json!({ "a": [1] })));
        assert_eq!(of_text(25, "{a}"), string("{a}"), "the type is known");
    }

    #[test]
    fn nested_texts_lose_the_quotes_of_each_level() {
        let composite = r#"(1,,"a ""b""\\c","{""(2020-01-01,\\""x, y\\"")"",NULL}")"#;
        let inner = Value::List(vec![Value::List(vec![string("2020-01-01"), string("x, y")]), Value::Null]);
        let expected = Value::List(vec![string("1"), Value::Null, string(r#"a "b"\c"#), inner]);
        assert_eq!(of_text(2249, composite), expected);
        assert_eq!(of_text(1009, "{}"), Value::List(Vec::new()));
        let row = |a: &str, b: &str| Value::List(vec![string(a), string(b)]);
        assert_eq!(of_text(1007, "{{1,2},{3,4}}"), Value::List(vec![row("1", "2"), row("3", "4")]));
        assert_eq!(of_text(1009, r#"{"NULL",NULL}"#), Value::List(vec![string("NULL"), Value::Null]));
    }

    #[test]
    fn values_in_an_unexpected_form_remain_text() {
        for broken in ["{", "{a", "(a", "{\"a}", "{a}b", "(a,b}", "{{a}", "{a,\\"] {
            assert_eq!(of_text(100_000, broken), string(broken));
        }
        let deep = "(".repeat(100) + &")".repeat(100);
        assert_eq!(of_text(2249, &deep), string(&deep));
    }

    fn part_of(oid: u32, value: &[u8]) -> Vec<u8> {
        let length = i32::try_from(value.len()).unwrap();
        [&oid.to_be_bytes()[..], &length.to_be_bytes(), value].concat()
    }

    #[test]
    fn binary_values_become_the_same_values() {
        assert_eq!(binary(21, &[0, 7], 0), Value::Integer(7));
        assert_eq!(binary(701, &1.5_f64.to_be_bytes(), 0), Value::Float(1.5));
        // 12345.67: digits 1, 2345, 6700; the weight of the first is 1.
        let numeric = [0, 3, 0, 1, 0, 0, 0, 2, 0, 1, 9, 41, 26, 44];
        assert_eq!(binary(1700, &numeric, 0), Value::Decimal(1_234_567, 2));
        assert_eq!(
            binary(1700, &[0, 0, 0, 0, 0xC0, 0, 0, 0], 0),
            Value::Bytes(vec![0, 0, 0, 0, 0xC0, 0, 0, 0])
        );
        assert_eq!(binary(3802, b"\x01[1]", 0), Value::Document(serde_json::json!([1])));
        let fields =
            [part_of(23, &[0, 0, 0, 5]), part_of(25, b"x"), [0, 0, 0, 25, 255, 255, 255, 255].to_vec()];
        let composite = [&3_u32.to_be_bytes()[..], &fields.concat()].concat();
        let expected = Value::List(vec![Value::Integer(5), string("x"), Value::Null]);
        assert_eq!(binary(100_000, &composite, 0), expected);
        let header = [1_u32, 0, 100_000, 1, 1].map(u32::to_be_bytes).concat();
        let array = [&header[..], &part_of(0, &composite)[4..]].concat();
        assert_eq!(binary(100_001, &array, 0), Value::List(vec![expected]));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_of_any_type_become_a_value(
            oid in proptest::sample::select(vec![16, 17, 23, 25, 701, 1007, 1082, 1184, 1700, 2249, 3802, 100_000]),
            value in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..64),
        ) {
            text(Kind::of(oid), &value, 0);
            binary(oid, &value, 0);
        }

        #[test]
        fn any_characters_of_nested_texts_become_a_value(value in "[{}(),\"\\\\a0:. +-]{0,40}") {
            for oid in [1082, 1184, 1700, 2249, 100_000] {
                of_text(oid, &value);
            }
        }

        #[test]
        fn a_composite_value_has_the_texts_that_were_quoted(fields in proptest::collection::vec(".{0,12}", 1..5)) {
            let quoted = |text: &String| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\"\""));
            let value = format!("({})", fields.iter().map(quoted).collect::<Vec<_>>().join(","));
            let Value::List(values) = of_text(2249, &value) else { panic!("{value} is a list") };
            let of_field = |field: &String| text(Kind::Unknown, field.as_bytes(), 1);
            assert_eq!(values, fields.iter().map(of_field).collect::<Vec<_>>());
        }
    }

    #[test]
    fn no_cut_of_a_binary_value_is_a_panic_or_a_list() {
        let header = [1_u32, 0, 23, 2, 1].map(u32::to_be_bytes).concat();
        let array = [&header[..], &part_of(0, &[0, 0, 0, 5])[4..], &part_of(0, &[0, 0, 0, 6])[4..]].concat();
        assert_eq!(binary(1007, &array, 0), Value::List(vec![Value::Integer(5), Value::Integer(6)]));
        for length in 0..array.len() {
            assert_eq!(binary(1007, &array[..length], 0), Value::Bytes(array[..length].to_vec()), "{length}");
        }
        let huge = [6_u32, 0, 23].map(u32::to_be_bytes).concat();
        let huge = [&huge[..], &[255; 48]].concat();
        assert_eq!(binary(1007, &huge, 0), Value::Bytes(huge.clone()));
    }
}
