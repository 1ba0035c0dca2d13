//! The formats of a report, and each subject in each of them. `cli` chooses both, and writes the result to a file or to
//! standard output.

use std::path::Path;

use crate::cases::suites;
use crate::subject::{self, Subject, document};
use crate::{PngError, TextStyle, values};

/// The formats of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// The summary on the terminal
    #[default]
    Text,
    /// The record, or a list of records
    Json,
    /// Markdown tables, for issues and notes
    Markdown,
    /// One line per figure
    Csv,
    /// JUnit XML with a case for each goal or trial, for continuous integration
    Junit,
    /// A self-contained page with charts
    Html,
    /// The charts as a vector image
    Svg,
    /// The charts as a bitmap image
    Png,
}

/// The formats with their names and descriptions, for options.
pub const FORMATS: [(&str, &str, Format); 8] = [
    ("text", "The summary on the terminal", Format::Text),
    ("json", "The record, or a list of records; of query sets, all figures", Format::Json),
    ("markdown", "Markdown tables, for issues and notes", Format::Markdown),
    ("csv", "One line per figure; of query sets, one line per query", Format::Csv),
    ("junit", "JUnit XML for continuous integration: a case for each goal, trial or query", Format::Junit),
    ("html", "A self-contained page with charts", Format::Html),
    ("svg", "The charts as a vector image", Format::Svg),
    ("png", "The charts as a bitmap image", Format::Png),
];

impl Format {
    /// By the ending of a file's name; text if it says nothing.
    pub fn of_file(path: &Path) -> Format {
        let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
        match ending.to_str() {
            Some("json") => Format::Json,
            Some("md" | "markdown") => Format::Markdown,
            Some("xml") => Format::Junit,
            Some("csv") => Format::Csv,
            Some("html" | "htm") => Format::Html,
            Some("svg") => Format::Svg,
            Some("png") => Format::Png,
            _ => Format::Text,
        }
    }

    /// Whether it shows charts.
    pub fn has_charts(self) -> bool {
        self.not_for_terminals().is_some()
    }

    /// A file name of a format that no terminal shows.
    pub fn not_for_terminals(self) -> Option<&'static str> {
        match self {
            Format::Html => Some("page.html"),
            Format::Png => Some("charts.png"),
            Format::Svg => Some("charts.svg"),
            Format::Text | Format::Json | Format::Markdown | Format::Csv | Format::Junit => None,
        }
    }
}

/// A subject in a format.
///
/// # Errors
/// If there is no memory for a picture.
pub fn formatted(subject: Subject<'_>, format: Format, style: &TextStyle) -> Result<Vec<u8>, PngError> {
    let document = || document(subject);
    let text = match format {
        Format::Json => subject::json(subject),
        Format::Csv => subject::csv(subject),
        Format::Junit => values::junit(&suites(subject)),
        Format::Text => match subject {
            // The terminal shows no charts, so the histograms that they are made of need not be decoded.
            Subject::Runs([(_, record)]) => crate::text(&crate::summary(record, true), style),
            _ => crate::text(&document(), style),
        },
        Format::Markdown => crate::markdown(&document()),
        Format::Html => crate::html(&document()),
        Format::Svg => crate::svg(&document()),
        Format::Png => return crate::png(&document()),
    };
    Ok(text.into_bytes())
}
