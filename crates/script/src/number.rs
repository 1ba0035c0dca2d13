//! Numbers as text, in the formats of C and pgbench: `%.15g` for output, `strtod` for input. `variables` and the
//! expression lexer determine types. Output does not allocate.

use std::fmt::{self, Write};

/// Significant digits of a double's text form.
const SIGNIFICANT_DIGITS: usize = 15;

/// Appends the decimal form of an integer.
pub(crate) fn write_integer(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends a double in the format `%.15g`, with PostgreSQL's words for NaN and infinity.
pub(crate) fn write_double(value: f64, out: &mut Vec<u8>) {
    if value.is_nan() {
        out.extend_from_slice(b"NaN");
        return;
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    if value.is_infinite() {
        out.extend_from_slice(b"Infinity");
        return;
    }
    // "d.dddddddddddddde[-]x": correctly rounded digits, and the decimal exponent that determines the format of %g.
    let mut scientific = ShortText::default();
    write!(scientific, "{:.*e}", SIGNIFICANT_DIGITS - 1, value.abs()).expect("24 bytes are enough");
    let (digits, exponent) = scientific.parts();
    let kept = digits.iter().rposition(|&digit| digit != b'0').map_or(1, |last| last + 1);
    write_digits(&digits[..kept], exponent, out);
}

/// Places the decimal point like `%g`.
fn write_digits(digits: &[u8], exponent: i32, out: &mut Vec<u8>) {
    let precision = i32::try_from(SIGNIFICANT_DIGITS).expect("15");
    if exponent < -4 || exponent >= precision {
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
        if exponent.abs() < 10 {
            out.push(b'0');
        }
        write_integer(i64::from(exponent.abs()), out);
    } else if let Ok(whole) = usize::try_from(exponent).map(|exponent| exponent + 1) {
        for place in 0..whole.max(digits.len()) {
            if place == whole {
                out.push(b'.');
            }
            out.push(digits.get(place).copied().unwrap_or(b'0'));
        }
    } else {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', usize::try_from(-exponent - 1).expect("at most 3")));
        out.extend_from_slice(digits);
    }
}

/// Buffer for the scientific form of any finite double.
#[derive(Default)]
struct ShortText {
    bytes: [u8; 24],
    length: usize,
}

impl ShortText {
    /// The significant digits without the decimal point, and the exponent.
    fn parts(&mut self) -> (&[u8], i32) {
        let text = std::str::from_utf8(&self.bytes[..self.length]).expect("only digits were written");
        let exponent =
            text.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).expect("has an exponent");
        self.bytes[1] = self.bytes[0];
        (&self.bytes[1..=SIGNIFICANT_DIGITS], exponent)
    }
}

impl Write for ShortText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// Parses a complete text like C's `strtod`: leading spaces, a sign, decimal or hexadecimal, `inf`, `infinity`, `nan`
/// and `nan(…)` in any case. An error for trailing text, overflow and underflow, as in pgbench.
pub(crate) fn parse_double(text: &[u8]) -> Option<f64> {
    let text = str::from_utf8(trim_start(text)).ok()?;
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let magnitude = parse_magnitude(unsigned)?;
    Some(if text.starts_with('-') { -magnitude } else { magnitude })
}

fn parse_magnitude(text: &str) -> Option<f64> {
    let bytes = text.as_bytes();
    if text.get(..2).is_some_and(|prefix| prefix.eq_ignore_ascii_case("0x")) {
        return parse_hexadecimal(&bytes[2..]);
    }
    if !bytes.first().is_some_and(|&byte| byte.is_ascii_digit() || byte == b'.') {
        return parse_word(text);
    }
    let value: f64 = text.parse().ok()?;
    let has_digit = bytes
        .iter()
        .take_while(|byte| !byte.eq_ignore_ascii_case(&b'e'))
        .any(|byte| (b'1'..=b'9').contains(byte));
    let out_of_range = value.is_infinite() || (has_digit && !value.is_normal());
    (!out_of_range).then_some(value)
}

/// `inf`, `infinity`, `nan`, `nan(letters)`.
fn parse_word(text: &str) -> Option<f64> {
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    if is("inf") || is("infinity") {
        return Some(f64::INFINITY);
    }
    let after = text.get(..3).filter(|word| word.eq_ignore_ascii_case("nan")).map(|_| &text[3..])?;
    let inner = after.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let well_formed = inner.map_or(after.is_empty(), |inner| {
        inner.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
    });
    well_formed.then_some(f64::NAN)
}

/// The part after `0x`: hexadecimal digits with an optional point, then an optional binary exponent.
fn parse_hexadecimal(bytes: &[u8]) -> Option<f64> {
    /// Above any exponent of binary64, for any number of digits.
    const EXPONENT_MAX: i64 = 1 << 40;
    let mut mantissa: u64 = 0;
    let mut exponent: i64 = 0;
    let (mut seen_digit, mut seen_point) = (false, false);
    let mut rest = bytes;
    while let [byte, tail @ ..] = rest {
        if *byte == b'.' && !seen_point {
            seen_point = true;
        } else if let Some(digit) = char::from(*byte).to_digit(16) {
            seen_digit = true;
            if mantissa >> 59 == 0 {
                mantissa = mantissa << 4 | u64::from(digit);
                exponent -= if seen_point { 4 } else { 0 };
            } else {
                // Digits beyond the precision only determine whether the rest is zero.
                mantissa |= u64::from(digit != 0);
                exponent += if seen_point { 0 } else { 4 };
            }
        } else {
            break;
        }
        rest = tail;
    }
    if let [b'p' | b'P', written @ ..] = rest {
        let written = std::str::from_utf8(written).ok()?;
        let digits = written.strip_prefix(['+', '-']).unwrap_or(written);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let size = digits.parse::<i64>().map_or(EXPONENT_MAX, |size| size.min(EXPONENT_MAX));
        exponent += if written.starts_with('-') { -size } else { size };
    } else if !rest.is_empty() {
        return None;
    }
    let scaled = scale_by_power_of_two(mantissa as f64, exponent);
    let in_range = scaled.is_finite() && (scaled != 0.0 || mantissa == 0);
    (seen_digit && in_range).then_some(scaled)
}

/// value · 2^exponent without intermediate overflow or underflow.
fn scale_by_power_of_two(value: f64, exponent: i64) -> f64 {
    /// Powers of two of this size are normal numbers.
    const STEP: i32 = 1000;
    let mut value = value;
    let mut exponent = i32::try_from(exponent.clamp(-4000, 4000)).expect("clamped");
    while exponent.abs() > STEP {
        value *= 2.0_f64.powi(STEP * exponent.signum());
        exponent -= STEP * exponent.signum();
    }
    value * 2.0_f64.powi(exponent)
}

/// Leading spaces, a sign and digits, as in C's `strtol`, saturated at 64 bits; and the rest of the text. `None`
/// without digits.
pub(crate) fn leading_integer(text: &[u8]) -> Option<(i64, &[u8])> {
    let text = trim_start(text);
    let is_negative = text.first() == Some(&b'-');
    let unsigned = if let [b'+' | b'-', unsigned @ ..] = text { unsigned } else { text };
    let length = unsigned.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = unsigned.split_at(length);
    let shift = |value: i64, digit: &u8| {
        let digit = i64::from(digit - b'0');
        value.saturating_mul(10).saturating_add(if is_negative { -digit } else { digit })
    };
    (length > 0).then(|| (digits.iter().fold(0, shift), rest))
}

/// The text without leading white space.
pub(crate) fn trim_start(text: &[u8]) -> &[u8] {
    &text[text.iter().take_while(|&&byte| is_c_space(byte)).count()..]
}

/// C's `isspace` in the C locale.
pub(crate) fn is_c_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\x0b' | b'\x0c' | b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(value: f64) -> String {
        let mut out = Vec::new();
        write_double(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn doubles_are_written_as_c_writes_them() {
        let expected = [
            (0.0, "0"),
            (-0.0, "-0"),
            (0.1, "0.1"),
            (1e-5, "1e-05"),
            (0.0001, "0.0001"),
            (0.000_123_456_789_012_345_67, "0.000123456789012346"),
            (123_456_789_012_345.67, "123456789012346"),
            (999_999_999_999_999.6, "1e+15"),
            (1e15, "1e+15"),
            (100_000_000_000_000.0, "100000000000000"),
            (-1234.5, "-1234.5"),
            (1e100, "1e+100"),
            (f64::MIN_POSITIVE, "2.2250738585072e-308"),
            (5e-324, "4.94065645841247e-324"),
            (f64::MAX, "1.79769313486232e+308"),
            (9.999_999_999_999_999_9, "10"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::NAN, "NaN"),
        ];
        for (value, expected) in expected {
            assert_eq!(text(value), expected);
        }
    }

    #[test]
    fn doubles_are_read_as_c_reads_them() {
        let expected = [
            ("1.5", 1.5),
            (" \t1.5", 1.5),
            ("1.", 1.0),
            (".5", 0.5),
            ("+1e3", 1000.0),
            ("-0.0", -0.0),
            ("0e-999", 0.0),
            ("inf", f64::INFINITY),
            ("-Infinity", f64::NEG_INFINITY),
            ("0x10", 16.0),
            ("0X1.8p1", 3.0),
            ("-0x.8", -0.5),
            ("0x1p-1074", 5e-324),
            ("0x1.fffffffffffffp1023", f64::MAX),
            ("0x1000000000000000000000p-84", 1.0),
            ("0x0p999999999999999999999", 0.0),
        ];
        for (text, expected) in expected {
            assert_eq!(parse_double(text.as_bytes()).map(f64::to_bits), Some(expected.to_bits()), "{text}");
        }
        for text in ["nan", "-NaN", "nan(abc_1)"] {
            assert!(parse_double(text.as_bytes()).is_some_and(f64::is_nan), "{text}");
        }
    }

    #[test]
    fn what_c_would_not_read_whole_is_refused() {
        let refused = [
            "",
            " ",
            "+",
            ".",
            "e5",
            "1.5 ",
            "1e",
            "1e+",
            "0x",
            "0x.",
            "0x1p",
            "0x1g",
            "infin",
            "nan(",
            "nan(-)",
            "1_0",
            "1e999",
            "1e-400",
            "1e-310",
            "0x1p99999",
            "0x1p-99999",
            "--1",
            "é",
            "0é",
        ];
        for text in refused {
            assert_eq!(parse_double(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn reading_never_panics(text in "[0-9a-fxXpPeEinft().+ -]{0,12}|\\PC*") {
            let _ = parse_double(text.as_bytes());
        }

        #[test]
        fn fifteen_digits_come_back(mantissa in -999_999_999_999_999_i64..999_999_999_999_999, exponent in -290_i32..280) {
            let value: f64 = format!("{mantissa}e{exponent}").parse().unwrap();
            prop_assert_eq!(parse_double(text(value).as_bytes()), Some(value));
        }
    }
}
