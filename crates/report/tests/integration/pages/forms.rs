//! Runs in each format, as `pgmeter report` makes them.
//! Not a test; shared by the tests beside it.

use pgmeter_report::{Format, Run, Subject, TextStyle, document, formatted};
use results::Record;

const STYLE: TextStyle = TextStyle { colour: false, width: 100 };

fn for_programs(subject: Subject<'_>, format: Format) -> String {
    String::from_utf8(formatted(subject, format, &STYLE).unwrap()).unwrap()
}

fn runs_for_programs(runs: &[Run<'_>], format: Format) -> String {
    let owned: Vec<(String, Record)> =
        runs.iter().map(|run| (run.name.to_owned(), run.record.clone())).collect();
    for_programs(Subject::Runs(&owned), format)
}

pub fn csv(runs: &[Run<'_>]) -> String {
    runs_for_programs(runs, Format::Csv)
}

pub fn json(runs: &[Run<'_>]) -> String {
    runs_for_programs(runs, Format::Json)
}

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
    use pgmeter_report::{Format, PngError, Subject, TextStyle};

    use super::for_programs;

    pub fn csv(overview: &Overview) -> String {
        for_programs(Subject::Experiment(overview), Format::Csv)
    }

    pub fn json(overview: &Overview) -> String {
        for_programs(Subject::Experiment(overview), Format::Json)
    }

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
