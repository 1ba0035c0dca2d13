//! The formats of a report, and each subject in each of them. `cli` chooses both, and writes the result to a file or to
//! standard output.

use std::path::Path;

use crate::experiment;
use crate::subject::{Subject, borrowed, document, query_runs};
use crate::{PngError, TextStyle};

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
    let text = match (subject, format) {
        (Subject::Runs(runs), Format::Json) => crate::json(&borrowed(runs)),
        (Subject::Runs(runs), Format::Csv) => {
            // A column of the table has the number alone, which programs can read.
            let mut runs = borrowed(runs);
            runs.iter_mut().for_each(|run| run.name = run.name.strip_prefix("run ").unwrap_or(run.name));
            crate::csv(&runs)
        }
        (Subject::Experiment(overview), Format::Json) => experiment::json(overview),
        (Subject::Experiment(overview), Format::Csv) => experiment::csv(overview),
        (Subject::Queries(runs), Format::Json) => crate::queries_json(&query_runs(runs)),
        (Subject::Queries(runs), Format::Csv) => crate::queries_csv(&query_runs(runs)),
        (Subject::Comparison(record), Format::Json) => results::escaped_json(record.to_json()),
        (Subject::Comparison(record), Format::Csv) => crate::comparison_csv(record),
        (Subject::Calibrations(all), Format::Json) => crate::calibration_json(all),
        (Subject::Calibrations(all), Format::Csv) => crate::calibration_csv(all),
        (Subject::SelfTest(test), Format::Json) => crate::self_test_json(test),
        (Subject::SelfTest(test), Format::Csv) => crate::self_test_csv(test),
        (Subject::Tls(scan), Format::Json) => crate::tls_json(scan),
        (Subject::Tls(scan), Format::Csv) => crate::tls_csv(scan),
        (Subject::Isolation(report), Format::Json) => crate::isolation_json(report),
        (Subject::Isolation(report), Format::Csv) => crate::isolation_csv(report),
        // The terminal shows no charts, so the histograms that they are made of need not be decoded.
        (Subject::Runs([(_, record)]), Format::Text) => crate::text(&crate::summary(record, true), style),
        (_, Format::Junit) => crate::junit::junit(subject),
        (_, Format::Text) => crate::text(&document(subject), style),
        (_, Format::Markdown) => crate::markdown(&document(subject)),
        (_, Format::Html) => crate::html(&document(subject)),
        (_, Format::Svg) => crate::svg(&document(subject)),
        (_, Format::Png) => return crate::png(&document(subject)),
    };
    Ok(text.into_bytes())
}
