//! The label and the note that a user gives to a run, a comparison or an experiment. A label is also a name: reports and
//! lists find results by it, so it must not look like a number, `last` or a path. `store` has both in columns of their own.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SafeText;
use crate::entry_id::is_reserved_name;
use crate::safe_text::steers;

/// Maximum number of characters of a label: lists show it in a column.
const LABEL_LEN_MAX: usize = 64;
/// Maximum number of characters of a note: some paragraphs.
const NOTE_LEN_MAX: usize = 2_000;

/// Endings of files that commands accept as arguments.
const FILE_ENDINGS: [&str; 2] = [".json", ".toml"];

/// The label and the note of a run, a comparison or an experiment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Annotation {
    /// A name by which commands find the results; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
    /// Text for readers; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
}

impl Annotation {
    /// Replaces what `other` has.
    pub fn replace(&mut self, other: Annotation) {
        let Annotation { label, note } = other;
        self.label = label.or(self.label.take());
        self.note = note.or(self.note.take());
    }
}

/// A label: 1 to 64 characters on one line, secrets masked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("maxLength" = LABEL_LEN_MAX))]
pub struct Label(SafeText);

/// A note: 1 to 2,000 characters on one line, secrets masked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("maxLength" = NOTE_LEN_MAX))]
pub struct Note(SafeText);

/// The text on one line, within its length.
fn one_line(what: &str, text: &str, len_max: usize) -> Result<SafeText, String> {
    let len = text.chars().count();
    if text.trim().is_empty() {
        return Err(format!("a {what} has at least one character that is not a space"));
    }
    if len > len_max {
        return Err(format!("a {what} has at most {len_max} characters, and this one has {len}: shorten it"));
    }
    if text.contains(steers) {
        return Err(format!("a {what} is one line of text without control characters: remove them"));
    }
    Ok(SafeText::from(text))
}

impl Label {
    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl Note {
    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl FromStr for Label {
    type Err = String;

    fn from_str(text: &str) -> Result<Label, String> {
        let label = one_line("label", text, LABEL_LEN_MAX)?;
        let looks_like = |what: &str| Err(format!("a label must not look like {what}: choose another text"));
        if text.contains(is_invisible) {
            return Err("a label has no invisible characters: remove them".to_owned());
        }
        if is_reserved_name(text) || is_like_a_number(text) {
            return looks_like("a number, such as 12, c3 or e2, or like last");
        }
        if text.contains(['/', '\\'])
            || text.starts_with(['.', '~'])
            || FILE_ENDINGS.iter().any(|ending| text.ends_with(ending))
        {
            return looks_like("the path of a file");
        }
        if text.starts_with('-') {
            return looks_like("an option");
        }
        if text.trim() != text {
            return Err("a label begins and ends without a space: remove it".to_owned());
        }
        Ok(Label(label))
    }
}

/// Digits of any script, also after a sign or the letter of comparisons and experiments.
fn is_like_a_number(text: &str) -> bool {
    let digits = text.strip_prefix(['+', 'c', 'C', 'e', 'E']).unwrap_or(text);
    !digits.is_empty() && digits.chars().all(char::is_numeric)
}

/// Characters without width: soft hyphen, joiners, byte order mark.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

impl FromStr for Note {
    type Err = String;

    fn from_str(text: &str) -> Result<Note, String> {
        one_line("note", text, NOTE_LEN_MAX).map(Note)
    }
}

/// Conversions from and to text, for records and the store.
macro_rules! as_text {
    ($($kind:ty),*) => {
        $(impl TryFrom<String> for $kind {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }

        impl From<$kind> for String {
            fn from(kind: $kind) -> String {
                kind.0.into()
            }
        }

        impl fmt::Display for $kind {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(self.as_str())
            }
        })*
    };
}

as_text!(Label, Note);

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        text.parse::<Label>().expect_err("it must be refused")
    }

    #[test]
    fn a_label_is_a_short_line_of_text() {
        for text in ["before", "with index 2", "last-week", "c", "e1x", "a;DROP TABLE runs", "<b>", "ünïcödé"]
        {
            assert_eq!(text.parse::<Label>().map(|label| label.to_string()), Ok(text.to_owned()));
        }
        assert!(refusal("").contains("at least one character"));
        assert!(refusal("  ").contains("at least one character"));
        assert!(refusal(&"x".repeat(10_240)).contains("at most 64 characters, and this one has 10240"));
        for text in ["a\nb", "a\tb", "a\x1b[2J", "a\u{202e}b", "a\0"] {
            assert!(refusal(text).contains("without control characters"), "{text:?}");
        }
        assert!(refusal("a\u{200b}").contains("no invisible characters"));
        assert!(refusal(" a").contains("without a space") && refusal("a ").contains("without a space"));
    }

    #[test]
    fn a_label_does_not_look_like_a_number_last_a_path_or_an_option() {
        for text in ["12", "c3", "e2", "last", "last-1", "C3", "E2", "+5", "١٢", "c١"] {
            assert!(refusal(text).contains("a number, such as 12, c3 or e2, or like last"), "{text}");
        }
        for text in ["a/b", "a\\b", ".hidden", "~me", "r.json", "ladder.toml"] {
            assert!(refusal(text).contains("the path of a file"), "{text}");
        }
        assert!(refusal("-x").contains("an option"));
    }

    #[test]
    fn secrets_are_masked_and_an_invalid_label_of_a_record_is_refused() {
        let label: Label = "password=hunter2".parse().unwrap();
        assert_eq!(label.as_str(), "password=***");
        let read = |json: &str| serde_json::from_str::<Annotation>(json);
        assert_eq!(read("{}").unwrap(), Annotation::default());
        assert!(read(r#"{"label": "a\u001b[2J"}"#).is_err());
        assert!(read(r#"{"note": "a\nb"}"#).is_err());
        let both = read(r#"{"label": "before", "note": "it's 'quoted'"}"#).unwrap();
        assert_eq!(serde_json::to_string(&both).unwrap(), r#"{"label":"before","note":"it's 'quoted'"}"#);
    }
}
