//! Numbers on the command line as parsed by the C library, because pgbench accepts these: `strtol` with surrounding
//! spaces, `atoi`, `atof`, and the unsigned number of `sscanf`. Pure; called by `options`.

use std::ops::RangeInclusive;

/// Errors of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadInteger {
    /// Not a number.
    Invalid,
    /// A number outside the allowed range.
    OutOfRange,
}

/// An integer with optional surrounding spaces. As in `strtol`, an empty text is 0.
pub(crate) fn integer(text: &[u8], range: RangeInclusive<i32>) -> Result<i32, BadInteger> {
    let Leading { value, rest, .. } = leading_integer(text);
    if rest.iter().any(|byte| !is_blank(*byte)) {
        return Err(BadInteger::Invalid);
    }
    let fits = value.and_then(|value| i32::try_from(value).ok());
    fits.filter(|value| range.contains(value)).ok_or(BadInteger::OutOfRange)
}

/// A weight: a number up to the end of the text, with at least one digit.
pub(crate) fn weight(text: &[u8]) -> Option<i64> {
    match leading_integer(text) {
        Leading { value: Some(value), rest: [], digits } if digits > 0 => Some(value),
        _ => None,
    }
}

/// `atoi`: the number at the start, 0 without a number, truncated to 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "the C library's atoi cuts")]
pub(crate) fn atoi(text: &[u8]) -> i32 {
    let saturated =
        if text.iter().find(|byte| !is_blank(**byte)) == Some(&b'-') { i64::MIN } else { i64::MAX };
    leading_integer(text).value.unwrap_or(saturated) as i32
}

/// `sscanf("%lu%c")`: spaces, a sign, digits, no further text; saturated at the maximum.
pub(crate) fn unsigned(text: &[u8]) -> Option<u64> {
    let text = trim_start(text);
    let (negative, digits) = sign(text);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits
        .iter()
        .try_fold(0_u64, |value, digit| value.checked_mul(10)?.checked_add(u64::from(digit - b'0')));
    Some(match value {
        Some(value) if negative => value.wrapping_neg(),
        Some(value) => value,
        None => u64::MAX,
    })
}

/// `atof`: the number at the start, 0 without a number.
pub(crate) fn atof(text: &[u8]) -> f64 {
    let text = trim_start(text);
    let (negative, unsigned) = sign(text);
    let magnitude = hexadecimal(unsigned).or_else(|| decimal(unsigned)).or_else(|| word(unsigned));
    let magnitude = magnitude.unwrap_or(0.0);
    if negative { -magnitude } else { magnitude }
}

fn decimal(text: &[u8]) -> Option<f64> {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits(text);
    let mut end = whole;
    let mut fraction = 0;
    if text.get(end) == Some(&b'.') {
        fraction = digits(&text[end + 1..]);
        end += 1 + fraction;
    }
    if whole + fraction == 0 {
        return None;
    }
    if let Some(b'e' | b'E') = text.get(end) {
        let (_, exponent) = sign(&text[end + 1..]);
        let signed = usize::from(exponent.len() < text.len() - end - 1);
        let count = digits(exponent);
        if count > 0 {
            end += 1 + signed + count;
        }
    }
    // Only digits, a point and an exponent: Rust reads these as C does.
    std::str::from_utf8(&text[..end]).ok()?.parse().ok()
}

/// `0x1.8p3`
fn hexadecimal(text: &[u8]) -> Option<f64> {
    let [b'0', b'x' | b'X', text @ ..] = text else { return None };
    let (mut value, mut digits, mut scale, mut at) = (0.0_f64, 0, 0_i32, 0);
    let mut point = false;
    while let Some(byte) = text.get(at) {
        match char::from(*byte).to_digit(16) {
            Some(digit) => {
                value = value * 16.0 + f64::from(digit);
                digits += 1;
                scale = scale.saturating_sub(if point { 4 } else { 0 });
            }
            None if *byte == b'.' && !point => point = true,
            None => break,
        }
        at += 1;
    }
    // Without a digit, "0x" is the number 0 with following text.
    if digits == 0 {
        return None;
    }
    if let Some(b'p' | b'P') = text.get(at) {
        let Leading { value, digits, .. } = leading_integer(&text[at + 1..]);
        if digits > 0 && !text.get(at + 1).is_some_and(|byte| is_blank(*byte)) {
            let exponent = value.unwrap_or(i64::MAX).clamp(-100_000, 100_000);
            scale = scale.saturating_add(i32::try_from(exponent).unwrap_or(0));
        }
    }
    Some(value * 2.0_f64.powi(scale))
}

fn word(text: &[u8]) -> Option<f64> {
    let begins = |word: &[u8]| text.len() >= word.len() && text[..word.len()].eq_ignore_ascii_case(word);
    if begins(b"inf") {
        Some(f64::INFINITY)
    } else if begins(b"nan") {
        Some(f64::NAN)
    } else {
        None
    }
}

/// Result of `strtol`.
struct Leading<'a> {
    /// `None` if it exceeds 64 bits.
    value: Option<i64>,
    digits: usize,
    rest: &'a [u8],
}

fn leading_integer(text: &[u8]) -> Leading<'_> {
    let (negative, from) = sign(trim_start(text));
    let digits = from.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return Leading { value: Some(0), digits, rest: text };
    }
    let value = from[..digits].iter().try_fold(0_i64, |value, digit| {
        let digit = i64::from(digit - b'0');
        value.checked_mul(10)?.checked_add(if negative { -digit } else { digit })
    });
    Leading { value, digits, rest: &from[digits..] }
}

fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    }
}

fn trim_start(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|byte| is_blank(**byte)).count();
    &text[blanks..]
}

/// `isspace` of the C locale.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_may_have_blanks_around_and_nothing_else() {
        let check =
            |text: &str, expected| assert_eq!(integer(text.as_bytes(), 1..=i32::MAX), expected, "{text}");
        check(" 5 \n", Ok(5));
        check("+5", Ok(5));
        for invalid in ["4x", "x", "4 5", "- 4", "4.0", "0x10"] {
            check(invalid, Err(BadInteger::Invalid));
        }
        for outside in ["", "  ", "0", "-1", "2147483648", "99999999999999999999", "-99999999999999999999"] {
            check(outside, Err(BadInteger::OutOfRange));
        }
    }

    #[test]
    fn atoi_takes_what_is_there() {
        for (text, expected) in [("12abc", 12), ("x", 0), ("-3", -3), ("", 0), (" 7", 7)] {
            assert_eq!(atoi(text.as_bytes()), expected, "{text}");
        }
        // As in glibc: saturated at 64 bits, then truncated to 32.
        assert_eq!(atoi(b"3000000000"), -1_294_967_296);
        assert_eq!(atoi(b"99999999999999999999"), -1);
    }

    #[test]
    fn atof_takes_what_is_there() {
        for (text, expected) in [
            ("10abc", 10.0),
            (" 1.5", 1.5),
            (".5", 0.5),
            ("5.", 5.0),
            ("1e3", 1000.0),
            ("1e", 1.0),
            ("1e+x", 1.0),
            ("1.5E-1z", 0.15),
            ("0x10", 16.0),
            ("0x1.8p1", 3.0),
            ("0xg", 0.0),
            ("-2", -2.0),
            ("infinite", f64::INFINITY),
            ("abc", 0.0),
            ("", 0.0),
            (".", 0.0),
        ] {
            assert_eq!(atof(text.as_bytes()), expected, "{text}");
        }
        assert!(atof(b"nan").is_nan());
    }

    #[test]
    fn an_unsigned_number_has_nothing_behind_it() {
        for (text, expected) in [
            ("5", Some(5)),
            (" 5", Some(5)),
            ("+5", Some(5)),
            ("-1", Some(u64::MAX)),
            ("99999999999999999999999", Some(u64::MAX)),
            ("5 ", None),
            ("", None),
            ("x", None),
            ("-", None),
        ] {
            assert_eq!(unsigned(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn a_weight_has_digits_up_to_the_end() {
        for (text, expected) in
            [("3", Some(3)), (" 3", Some(3)), ("-1", Some(-1)), ("", None), ("3x", None), ("3 ", None)]
        {
            assert_eq!(weight(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(weight(b"99999999999999999999"), None);
    }
}
