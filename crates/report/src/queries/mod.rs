//! Reports of query sets: one, or several side by side, such as versions of the server or settings. `figures` has those of
//! one query set, `comparison` what several have in common; text, page, CSV and JSON all show these figures.
//!
//! In reading order: `figures`, `comparison`, `document` with `answer`, `charts` and `plans`; `said` has the sentences, `tree` reads
//! plans, `plan_difference` compares them, `fields` and `rows` are for programs.

mod answer;
mod charts;
mod classes;
mod comparison;
mod document;
mod fields;
mod figures;
mod plan_difference;
mod plans;
mod regressions;
mod rows;
mod said;
mod tables;
mod tree;

use results::StepsRecord;

pub use document::queries_document;
pub use regressions::stored_query_sets;

pub(crate) use charts::{part_colours, ratio_chart};
pub(crate) use classes::{ROWS_MAX, class_of};
pub(crate) use comparison::{Certainty, Compared, QueryRatio, Verdict};
pub(crate) use fields::fields;
pub(crate) use figures::{QueryFigures, is_first};
pub(crate) use regressions::{sentence as regression_sentence, verdict_name};
pub(crate) use rows::rows;
pub(crate) use said::{answer_difference, answer_name, answers_in_short, named, ratio as ratio_text};

/// A query set to be shown.
#[derive(Copy, Clone, Debug)]
pub struct QueryRun<'a> {
    /// The name for its reader, such as `queries 12`.
    pub name: &'a str,
    /// Its record.
    pub record: &'a StepsRecord,
}
