//! Text that others wrote and that ends up in a record: secrets in it are masked on the way in, see `secrets`. Used for
//! every field that quotes a user or a server, also when a record is read: others may have changed it.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::secrets::{self, Kind};

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

/// Text of others for one who reads it on a terminal or a page: what would steer stands as its code, `\x1b` or
/// `\u{202e}`, and a byte that is not UTF-8 as `\xff`. Newlines and tabs stay.
pub fn escaped(text: &str) -> Cow<'_, str> {
    let must_be = |character: char| steers(character) && !matches!(character, '\n' | '\t');
    if !text.contains(must_be) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if !must_be(character) {
            out.push(character);
            continue;
        }
        // Writing to a String cannot fail.
        match (encoding::undecoded_byte(character), u32::from(character)) {
            (Some(byte), _) => drop(write!(out, "\\x{byte:02x}")),
            (None, code @ ..0x80) => drop(write!(out, "\\x{code:02x}")),
            (None, code) => drop(write!(out, "\\u{{{code:x}}}")),
        }
    }
    Cow::Owned(out)
}

/// The same on one line, for messages: newlines and tabs stand as `\n` and `\t`.
pub(crate) fn in_one_line(text: &str) -> String {
    escaped(text).replace('\n', "\\n").replace('\t', "\\t")
}

/// A JSON document for one who reads it on a terminal: the same document, in which what would steer stands as `\u001b`,
/// and a byte that is not UTF-8 as U+FFFD.
pub fn escaped_json(json: String) -> String {
    let must_be = |character: char| steers(character) && !matches!(character, '\n' | '\t' | '\r');
    if !json.contains(must_be) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        match (must_be(character), encoding::undecoded_byte(character)) {
            (false, _) => out.push(character),
            (true, Some(_)) => out.push(char::REPLACEMENT_CHARACTER),
            // In JSON only strings can hold one; writing to a String cannot fail.
            (true, None) => drop(write!(out, "\\u{:04x}", u32::from(character))),
        }
    }
    out
}

/// A document as people read it: indented, with a newline at its end.
pub(crate) fn indented(document: &impl Serialize) -> String {
    serde_json::to_string_pretty(document).expect("the documents have string keys only") + "\n"
}

/// Text without the secrets it came with.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
pub struct SafeText(String);

impl SafeText {
    /// Text of which nothing may be shown.
    pub fn masked() -> SafeText {
        SafeText(secrets::MASK.to_owned())
    }

    /// A statement or a script of SQL: unlike in other text, `key = other_column` is no secret.
    pub fn sql(text: &str) -> SafeText {
        SafeText(secrets::mask(text, Kind::Sql))
    }

    /// The value of a variable or a parameter, whose name may say that it is secret as a whole.
    pub fn named(name: &str, value: &str) -> SafeText {
        SafeText(secrets::mask_named(name, value))
    }

    /// What may be shown.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for SafeText {
    fn from(text: String) -> SafeText {
        SafeText(secrets::mask(&text, Kind::Plain))
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

/// Reads a field that is made by [`SafeText::sql`].
pub(crate) fn read_sql<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SafeText, D::Error> {
    String::deserialize(deserializer).map(|text| SafeText::sql(&text))
}

/// As [`read_sql`], where there may be none.
pub(crate) fn read_optional_sql<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<SafeText>, D::Error> {
    Option::<String>::deserialize(deserializer).map(|text| text.map(|text| SafeText::sql(&text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_shown_as_its_code() {
        assert_eq!(escaped("a\x1b]0;x\x07\u{9b}2J\r\n\tü"), "a\\x1b]0;x\\x07\\u{9b}2J\\x0d\n\tü");
        assert_eq!(escaped("a\u{202e}b\x7f"), "a\\u{202e}b\\x7f");
        assert!(matches!(escaped("as it was\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_byte_that_is_not_utf_8_is_shown_as_its_code() {
        let text = encoding::decode(b"gr\xf6\x9b2J");
        assert_eq!(escaped(&text), "gr\\xf6\\x9b2J");
        assert_eq!(escaped_json(format!("[\"{text}\x1b\"]")), "[\"gr\u{fffd}\u{fffd}2J\\u001b\"]");
    }
}
