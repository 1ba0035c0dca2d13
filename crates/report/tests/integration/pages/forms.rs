//! Runs in each format, as `pgmeter report` makes them.
//! Not a test; shared by the tests beside it.

use pgmeter_report::{Run, TextStyle, document};
use results::Record;

pub fn text(record: &Record, style: &TextStyle) -> String {
    text_of(&[Run { name: "a run", record }], style)
}

pub fn text_of(runs: &[Run<'_>], style: &TextStyle) -> String {
    pgmeter_report::text(&document(runs), style)
}

pub fn markdown(runs: &[Run<'_>]) -> String {
    pgmeter_report::markdown(&document(runs))
}

pub fn html(runs: &[Run<'_>]) -> String {
    pgmeter_report::html(&document(runs))
}

/// Experiments in each format.
pub mod experiment {
    use pgmeter_report::experiment::{Overview, document};
    use pgmeter_report::{PngError, TextStyle};

    pub use pgmeter_report::experiment::{csv, json};

    pub fn text(overview: &Overview, style: &TextStyle) -> String {
        pgmeter_report::text(&document(overview), style)
    }

    pub fn markdown(overview: &Overview) -> String {
        pgmeter_report::markdown(&document(overview))
    }

    pub fn html(overview: &Overview) -> String {
        pgmeter_report::html(&document(overview))
    }

    pub fn svg(overview: &Overview) -> String {
        pgmeter_report::svg(&document(overview))
    }

    pub fn png(overview: &Overview) -> Result<Vec<u8>, PngError> {
        pgmeter_report::png(&document(overview))
    }
}
