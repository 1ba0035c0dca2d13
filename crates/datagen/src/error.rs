//! The one error of the crate: a sentence with its place in the schema's text. Every part of the crate returns it;
//! inside, it is a fault that does not know its file.

use std::fmt;

/// Place in the schema's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Line, from 1; 0 if the error has no place, as that of an option.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// A schema, directive or option that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Name of the schema's file.
    pub file: String,
    /// Line, from 1; 0 without a place.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// One sentence without its full stop: the error and the remedy.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            return write!(formatter, "{}: {}", self.file, self.message);
        }
        write!(formatter, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)
    }
}

impl std::error::Error for Error {}

/// An error that does not know its file yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub place: Place,
    pub message: String,
}

impl Fault {
    pub fn new(place: Place, message: impl Into<String>) -> Self {
        Self { place, message: message.into() }
    }

    pub fn within(self, file: &str) -> Error {
        let Place { line, column } = self.place;
        Error { file: file.to_owned(), line, column, message: self.message }
    }
}

/// Result of all inner functions.
pub(crate) type Checked<T> = Result<T, Fault>;

/// A proposal for a word that is unknown: `; the nearest known name is int`, or nothing if no name is near.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let word = word.to_lowercase();
    let ranked = known.into_iter().map(|name| (strsim::damerau_levenshtein(&word, name), name));
    match ranked.min() {
        Some((distance, name)) if distance <= 1 + name.len() / 3 => {
            format!("; the nearest known name is {name}")
        }
        _ => String::new(),
    }
}
