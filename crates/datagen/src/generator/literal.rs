//! Escapes of values that are already written at the end of a buffer: COPY's text format, elements of arrays and fields
//! of rows. All work in place, without allocation.

/// Escapes `out[start..]` for COPY's text format (PostgreSQL's manual, COPY, "Text Format").
pub(crate) fn escape_copy(out: &mut Vec<u8>, start: usize) {
    escape(out, start, |byte| match byte {
        b'\\' => Some(b'\\'),
        b'\t' => Some(b't'),
        b'\n' => Some(b'n'),
        b'\r' => Some(b'r'),
        _ => None,
    });
}

/// Quotes `out[start..]` as an element of an array or a field of a row, if that is necessary.
pub(crate) fn quote_element(out: &mut Vec<u8>, start: usize, is_field: bool) {
    let text = &out[start..];
    let special = |byte: &u8| b"{}(),\"\\ \t\n\r\x0b\x0c".contains(byte);
    let null = !is_field && text.eq_ignore_ascii_case(b"null");
    if !(text.is_empty() || null || text.iter().any(special)) {
        return;
    }
    escape(out, start, |byte| matches!(byte, b'"' | b'\\').then_some(byte));
    out.insert(start, b'"');
    out.push(b'"');
}

/// Quotes `out[start..]` as a value of CSV, if that is necessary (PostgreSQL's manual, COPY, "CSV Format"). An empty text
/// is quoted, because nothing is NULL; so is the mark of the end of the data.
pub(crate) fn escape_csv(out: &mut Vec<u8>, start: usize) {
    let text = &out[start..];
    let special = |byte: &u8| b",\"\n\r".contains(byte);
    if !(text.is_empty() || text == b"\\." || text.iter().any(special)) {
        return;
    }
    let quotes = text.iter().filter(|byte| **byte == b'"').count();
    if quotes > 0 {
        let doubled: Vec<u8> = out
            .drain(start..)
            .flat_map(|byte| std::iter::repeat_n(byte, if byte == b'"' { 2 } else { 1 }))
            .collect();
        out.extend_from_slice(&doubled);
    }
    out.insert(start, b'"');
    out.push(b'"');
}

/// Puts a backslash before each byte that `replaced` maps, and replaces the byte.
fn escape(out: &mut Vec<u8>, start: usize, replaced: impl Fn(u8) -> Option<u8>) {
    let count = out[start..].iter().filter(|byte| replaced(**byte).is_some()).count();
    if count == 0 {
        return;
    }
    let old = out.len();
    out.resize(old + count, 0);
    let (mut from, mut to) = (old, old + count);
    while from < to {
        from -= 1;
        to -= 1;
        match replaced(out[from]) {
            Some(byte) => {
                out[to] = byte;
                to -= 1;
                out[to] = b'\\';
            }
            None => out[to] = out[from],
        }
    }
}

/// A decimal number.
#[inline]
pub(crate) fn integer(out: &mut Vec<u8>, number: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// A number with exactly so many digits, zeros in front.
#[inline]
pub(crate) fn padded(out: &mut Vec<u8>, number: u64, digits: usize) {
    let mut buffer = itoa::Buffer::new();
    let text = buffer.format(number);
    out.extend(std::iter::repeat_n(b'0', digits.saturating_sub(text.len())));
    out.extend_from_slice(text.as_bytes());
}

/// A fixed-point number: the last digits are decimals.
pub(crate) fn write_decimal(out: &mut Vec<u8>, number: i64, decimals: u32) {
    if number < 0 {
        out.push(b'-');
    }
    let unit = 10_u64.saturating_pow(decimals);
    let number = number.unsigned_abs();
    padded(out, number / unit, 1);
    if decimals > 0 {
        out.push(b'.');
        padded(out, number % unit, decimals as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_escaped_for_copy() {
        let check = |value: &str, expected: &str| {
            let mut out = b"x\\".to_vec();
            out.extend_from_slice(value.as_bytes());
            escape_copy(&mut out, 2);
            assert_eq!(String::from_utf8_lossy(&out[2..]), expected);
        };
        check("plain", "plain");
        check("a\tb\nc\rd\\e", "a\\tb\\nc\\rd\\\\e");
        check("\\\\", "\\\\\\\\");
        check("", "");
    }

    #[test]
    fn values_are_quoted_for_csv() {
        let check = |value: &str, expected: &str| {
            let mut out = b"x,".to_vec();
            out.extend_from_slice(value.as_bytes());
            escape_csv(&mut out, 2);
            assert_eq!(String::from_utf8_lossy(&out[2..]), expected);
        };
        check("plain text", "plain text");
        check("", "\"\"");
        check("a,b", "\"a,b\"");
        check("say \"no\"", "\"say \"\"no\"\"\"");
        check("a\nb", "\"a\nb\"");
        check("\\.", "\"\\.\"");
        check("a\\b", "a\\b");
    }

    #[test]
    fn elements_are_quoted_where_they_must_be() {
        let check = |value: &str, expected: &str| {
            let mut out = value.as_bytes().to_vec();
            quote_element(&mut out, 0, false);
            assert_eq!(String::from_utf8_lossy(&out), expected);
        };
        check("a", "a");
        check("", "\"\"");
        check("NULL", "\"NULL\"");
        check("a b", "\"a b\"");
        check("a\"b\\c", "\"a\\\"b\\\\c\"");
        check("{1,2}", "\"{1,2}\"");
    }
}
