//! Checks: queries about the data of a workload that return no rows if the data are consistent, and the message about a
//! check that has returned rows. `run_checks` executes them.

use std::fmt;

use connect::ResultSet;

/// A query about the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name in messages.
    pub name: String,
    /// Each of its statements must return no rows. `:scale` and parameters are variables.
    pub sql: String,
}

/// The only column of checks whose rows are sentences.
pub const PROBLEM: &str = "problem";

/// Maximum length of a row in a message.
const SHOWN_MAX: usize = 100;

/// A check that returned rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCheck {
    /// The check's name.
    pub name: String,
    /// Number of rows.
    pub rows: usize,
    /// The first row, shortened.
    pub first: String,
    /// Whether the row is a sentence: its only column is named `problem`.
    pub is_sentence: bool,
}

impl FailedCheck {
    /// The failure of a check; `None` if it has returned no row.
    pub(crate) fn new(name: &str, sets: &[ResultSet]) -> Option<FailedCheck> {
        let set = sets.iter().find(|set| !set.rows.is_empty())?;
        let first = set.rows.first()?;
        let is_sentence = set.columns == [PROBLEM];
        let values = (0..first.len()).map(|column| first.get(column).unwrap_or("NULL"));
        let text = values.collect::<Vec<_>>().join(" | ");
        let first = if is_sentence { text } else { shortened(&text) };
        let rows = sets.iter().map(|set| set.rows.len()).sum();
        Some(FailedCheck { name: name.to_owned(), rows, first, is_sentence })
    }
}

impl fmt::Display for FailedCheck {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, rows, first, is_sentence } = self;
        match rows {
            1 if *is_sentence => out.write_str(first),
            _ if *is_sentence => write!(out, "{first} (and {} more)", rows - 1),
            1 => write!(out, "{name} (1 row: {first})"),
            _ => write!(out, "{name} ({rows} rows, the first: {first})"),
        }
    }
}

/// The beginning of a row.
pub(crate) fn shortened(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
