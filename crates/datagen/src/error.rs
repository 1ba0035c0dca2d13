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
    /// Other errors that were found in the same schema.
    pub more: Vec<Error>,
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(formatter, "{}: {}", self.file, self.message)?,
            line => write!(formatter, "{}:{line}:{}: {}", self.file, self.column, self.message)?,
        }
        self.more.iter().try_for_each(|other| write!(formatter, "\n{other}"))
    }
}

impl std::error::Error for Error {}

/// An error that does not know its file yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub place: Place,
    pub message: String,
    /// Other faults that were found with it.
    pub more: Vec<Fault>,
}

impl Fault {
    pub fn new(place: Place, message: impl Into<String>) -> Self {
        Self { place, message: message.into(), more: Vec::new() }
    }
}

/// Faults of one schema, so that its user sees all of them at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults(Vec<Fault>);

impl Faults {
    /// The value, unless there is a fault.
    pub fn take<T>(&mut self, checked: Checked<T>) -> Option<T> {
        checked.map_err(|fault| self.0.push(fault)).ok()
    }

    /// The first fault of the text, with the others.
    pub fn all(self) -> Checked<()> {
        let mut faults: Vec<Fault> = Vec::new();
        for mut fault in self.0 {
            faults.append(&mut fault.more);
            faults.push(fault);
        }
        faults.sort_by_key(|fault| fault.place);
        faults.dedup();
        let mut faults = faults.into_iter();
        let Some(first) = faults.next() else { return Ok(()) };
        Err(Fault { more: faults.collect(), ..first })
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
