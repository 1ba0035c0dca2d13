//! Text that others wrote and that ends up in a record: passwords in it are masked on the way in.
//! Recognised are connection strings (`password=…`), connection URIs (`//user:…@`) and SQL
//! (`PASSWORD '…'`). Not a general secret scanner. Used for every field that quotes a user or a server.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

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
        SafeText(mask_uri_passwords(&mask_password_words(&text)))
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
