//! Text that others wrote and that ends up in a record: passwords in it are masked on the way in.
//! Recognised are connection strings (`password=…`), connection URIs (`//user:…@`) and SQL
//! (`PASSWORD '…'`). Not a general secret scanner. Used for every field that quotes a user or a server.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Whether a character steers what shows it, and shows nothing itself: controls, those that turn the direction of
/// writing (Unicode Standard Annex 9, section 2), by which a text can look like another one, and those that stand for
/// bytes of an unknown encoding.
pub fn steers(character: char) -> bool {
    let turns = matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    turns || character.is_control() || encoding::undecoded_byte(character).is_some()
}

/// What stands where a password stood.
const MASK: &str = "***";

/// Text without the passwords it came with.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct SafeText(String);

impl SafeText {
    /// Text of which nothing may be shown.
    pub fn masked() -> SafeText {
        SafeText(MASK.to_owned())
    }

    /// What may be shown.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for SafeText {
    fn from(text: String) -> SafeText {
        SafeText(mask_encoded_words(&mask_uri_passwords(&mask_password_words(&text))))
    }
}

impl From<&str> for SafeText {
    fn from(text: &str) -> SafeText {
        text.to_owned().into()
    }
}

impl From<SafeText> for String {
    fn from(text: SafeText) -> String {
        text.0
    }
}

impl fmt::Display for SafeText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Masks the values of `password = …` (also `sslpassword`, `PGPASSWORD`), quoted or not, and the
/// literals of SQL's `PASSWORD '…'`. A value without end is masked to the end of the text.
fn mask_password_words(text: &str) -> String {
    const WORD: &str = "password";
    let lower = text.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    while let Some(found) = lower[done..].find(WORD) {
        let after_word = done + found + WORD.len();
        let value = secret_after(&text[after_word..]);
        out.push_str(&text[done..after_word + value.start]);
        if !value.is_empty() {
            out.push_str(MASK);
        }
        done = after_word + value.end;
    }
    out.push_str(&text[done..]);
    out
}

/// Masks the values of URI parameters whose names become `…password` when they are decoded, as libpq decodes them
/// (`conninfo_uri_decode`): `?pass%77ord=…`.
fn mask_encoded_words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('=') {
        let (name, value) = (&rest[..at], &rest[at + 1..]);
        out.push_str(&rest[..=at]);
        rest = value;
        let begin = name.rfind(|c: char| matches!(c, '?' | '&') || c.is_whitespace());
        let name = &name[begin.map_or(0, |begin| begin + 1)..];
        if name.contains('%') && is_password_encoded(name.as_bytes()) {
            let end = value.find(|c: char| c == '&' || c.is_whitespace()).unwrap_or(value.len());
            out.push_str(if end == 0 { "" } else { MASK });
            rest = &value[end..];
        }
    }
    out.push_str(rest);
    out
}

/// Whether a name that is encoded for a URI ends in `password`.
fn is_password_encoded(name: &[u8]) -> bool {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut decoded = Vec::new();
    let mut rest = name;
    while let [byte, after @ ..] = rest {
        rest = after;
        decoded.push(*byte);
        if let ([b'%', ..], [high, low, behind @ ..]) = (&[*byte][..], after)
            && let (Some(high), Some(low)) = (digit(*high), digit(*low))
        {
            decoded.pop();
            decoded.push(high << 4 | low);
            rest = behind;
        }
    }
    decoded.to_ascii_lowercase().ends_with(b"password")
}

/// Where in the text that follows the word `password` the secret is; empty if there is none.
fn secret_after(text: &str) -> Range<usize> {
    let blank = |from: usize| from + text[from..].len() - text[from..].trim_start().len();
    let sign = blank(0);
    if text[sign..].starts_with('=') {
        let start = blank(sign + 1);
        start..start + value_len(&text[start..])
    } else if text[sign..].starts_with('\'') {
        sign..sign + value_len(&text[sign..])
    } else {
        0..0
    }
}

/// The length of a value as conninfo strings and SQL write it: to the closing quote, or to a blank.
/// A backslash takes the next character's meaning away. A mask ends where it ended when it was put there.
fn value_len(text: &str) -> usize {
    let after_mask = text.strip_prefix(MASK).map(|rest| rest.chars().next());
    if let Some(None | Some(' ' | '\'' | '"')) = after_mask {
        return MASK.len();
    }
    let quote = text.chars().next().filter(|first| matches!(first, '\'' | '"'));
    let mut escaped = false;
    let mut previous_closed = false;
    for (at, character) in text.char_indices().skip(usize::from(quote.is_some())) {
        if previous_closed && Some(character) != quote {
            return at;
        }
        let ends = !escaped && quote.map_or(character.is_whitespace(), |quote| character == quote);
        match quote {
            None if ends => return at,
            // A doubled quote is a quote within the value, so look at the next character first.
            Some(_) => previous_closed = ends && !previous_closed,
            None => {}
        }
        escaped = !escaped && character == '\\';
    }
    text.len()
}

/// Masks the password in `scheme://user:password@host`. Where the user's part ends is decided as
/// libpq does (`conninfo_uri_parse_options`): at an `@` before any `/`.
fn mask_uri_passwords(text: &str) -> String {
    const SCHEME_END: &str = "://";
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(found) = rest.find(SCHEME_END) {
        let (before, after) = rest.split_at(found + SCHEME_END.len());
        out.push_str(before);
        rest = after;
        let authority_end = rest.find(|c: char| c == '/' || c.is_whitespace()).unwrap_or(rest.len());
        if let Some(at) = rest[..authority_end].rfind('@')
            && let Some(colon) = rest[..at].find(':')
        {
            out.push_str(&rest[..=colon]);
            out.push_str(MASK);
            rest = &rest[at..];
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, expected: &str) {
        assert_eq!(SafeText::from(input).as_str(), expected);
        assert_eq!(SafeText::from(expected).as_str(), expected, "masking twice changes nothing");
    }

    #[test]
    fn passwords_in_connection_strings_are_masked() {
        check("host=a password=sec&ret port=1", "host=a password=*** port=1");
        check("PGPASSWORD = secret psql", "PGPASSWORD = *** psql");
        check("user=x sslpassword=secret", "user=x sslpassword=***");
        check(r"password='se cr\'et' dbname=d", "password=*** dbname=d");
        check(r"password=se\ cret dbname=d", "password=*** dbname=d");
        check("password=\"se cret\" dbname=d", "password=*** dbname=d");
        check("password='never closed dbname=d", "password=***");
        check("password=", "password=");
        check("'host=a password=***' -S", "'host=a password=***' -S");
        check("password=s€crét é", "password=*** é");
    }

    #[test]
    fn passwords_in_sql_are_masked() {
        check(
            "ALTER ROLE a PASSWORD 'se''cret' VALID UNTIL 'x'",
            "ALTER ROLE a PASSWORD *** VALID UNTIL 'x'",
        );
    }

    #[test]
    fn passwords_in_uris_are_masked() {
        check("postgresql://me:secret@host:5432/db", "postgresql://me:***@host:5432/db");
        check("postgres://me:se@cret@host/db?x=y", "postgres://me:***@host/db?x=y");
        check("postgres://host/db?user=me&password=secret", "postgres://host/db?user=me&password=***");
        check("postgres://h/d?pass%77ord=secret&x=y z", "postgres://h/d?pass%77ord=***&x=y z");
        check(
            "postgres://h/d?%50%61ssword=s&ssl%70assword=",
            "postgres://h/d?%50%61ssword=***&ssl%70assword=",
        );
        check("either postgres://a:b@c or http://d:e@f.", "either postgres://a:***@c or http://d:***@f.");
    }

    #[test]
    fn text_without_passwords_stays_as_it_is() {
        for text in [
            "",
            "FATAL:  password authentication failed for user \"me\"",
            "password_encryption = scram-sha-256",
            "postgresql://me@host:5432/db",
            "postgresql://host:5432/db",
            "10 % of 5:40 @ 3 / 4",
        ] {
            check(text, text);
        }
    }
}
