//! Quotes identifiers and literals in SQL: the only code that inserts text from a user, a file or a server into a
//! statement. Control sessions use the simple query protocol, which has no parameters.
//!
//! Manual: "SQL Syntax", "Lexical Structure". The results are safe in every client encoding: no multibyte character
//! ends in a quote, and a backslash, which may be its last byte, is always escaped.

/// An identifier with case and special characters preserved: `a"b` is `"a""b"`. The server truncates names of more than
/// 63 bytes.
pub fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The name of an identifier as PostgreSQL stores it: `"a""b"` is `a"b`, and `A` is `a`.
pub fn unquoted(identifier: &str) -> String {
    match identifier.strip_prefix('"') {
        Some(inner) => inner.strip_suffix('"').unwrap_or(inner).replace("\"\"", "\""),
        None => identifier.to_ascii_lowercase(),
    }
}

/// The text of a dollar-quoted string: `$a$b$a$` is `b`.
pub fn dollar_quoted(string: &str) -> &str {
    let tag = string.match_indices('$').nth(1).map_or(string, |(at, _)| &string[..=at]);
    let inner = string.strip_prefix(tag).unwrap_or(string);
    inner.strip_suffix(tag).unwrap_or(inner)
}

/// A statement without the semicolon at its end.
pub fn without_semicolon(statement: &str) -> &str {
    statement.trim_end().trim_end_matches(';').trim_end()
}

/// A literal, independent of `standard_conforming_strings`: `it's` is `'it''s'`, and `a\b` is `E'a\134b'`.
///
/// A zero byte is preserved; `connect::Session` refuses statements that contain one.
pub fn literal(text: &str) -> String {
    let doubled = text.replace('\'', "''");
    if text.contains('\\') {
        format!("E'{}'", doubled.replace('\\', "\\134"))
    } else {
        format!("'{doubled}'")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The server's reading of a token that must extend to the end of the text (scan.l: `xd`, `xq`, `xe`); `None` if it
    /// ends earlier or never.
    fn scanned(token: &[u8]) -> Option<Vec<u8>> {
        let (is_escape, token) = match token.strip_prefix(b"E") {
            Some(rest) => (true, rest),
            None => (false, token),
        };
        let (&quote, mut rest) = token.split_first()?;
        let mut value = Vec::new();
        loop {
            match *rest {
                [one, two, ..] if one == quote && two == quote => {
                    value.push(quote);
                    rest = &rest[2..];
                }
                [one] if one == quote => return Some(value),
                [b'\\', a, b, c, ..] if is_escape => {
                    let digits = [a, b, c].map(|digit| u32::from(digit.wrapping_sub(b'0')));
                    value.push(u8::try_from(digits[0] * 64 + digits[1] * 8 + digits[2]).ok()?);
                    rest = &rest[4..];
                }
                [one, ref left @ ..] if one != quote => {
                    value.push(one);
                    rest = left;
                }
                _ => return None,
            }
        }
    }

    #[test]
    fn quotes_and_backslashes_stay_inside() {
        assert_eq!(identifier("x\"; DROP TABLE y; --"), "\"x\"\"; DROP TABLE y; --\"");
        assert_eq!(identifier(""), "\"\"");
        assert_eq!(literal("it's"), "'it''s'");
        assert_eq!(literal("a\\'; DROP TABLE y; --"), "E'a\\134''; DROP TABLE y; --'");
        assert_eq!(literal(""), "''");
    }

    #[test]
    fn names_are_read_as_the_server_stores_them() {
        for (written, stored) in [("A", "a"), ("\"A\"", "A"), ("\"a\"\"b\"", "a\"b"), ("É", "É"), ("", "")]
        {
            assert_eq!(unquoted(written), stored);
        }
    }

    #[test]
    fn dollar_quoted_strings_are_read_as_written() {
        for (written, read) in [("$$a$$", "a"), ("$a$ $$ $a$", " $$ "), ("$$$$", ""), ("$$a$", "a$")] {
            assert_eq!(dollar_quoted(written), read);
        }
    }

    #[test]
    fn a_client_encoding_that_takes_the_backslash_for_half_a_character_does_not_open_the_literal() {
        // In GBK, the last byte of a UTF-8 character and a backslash form one character.
        let quoted = literal("\u{fffd}\\'; DROP TABLE y; --");
        assert!(quoted.contains("\u{fffd}\\134''"), "{quoted}");
    }

    proptest! {
        #[test]
        fn any_text_is_one_token_with_that_text(text in "(['\"\\\\\u{0}-\u{7f}é; ]|.){0,20}") {
            for token in [identifier(&text), literal(&text)] {
                prop_assert_eq!(scanned(token.as_bytes()), Some(text.clone().into_bytes()));
            }
            prop_assert_eq!(unquoted(&identifier(&text)), text);
        }
    }
}
