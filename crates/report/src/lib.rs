//! What is shown. Runs or query sets, one or several side by side, an experiment, a comparison, a search, a calibration, a scan of
//! TLS and a check of isolation become a [`Document`] once; [`text`], [`markdown`], [`html`], [`svg`] and [`png`] give it
//! a format. Their values become CSV, JSON and JUnit for programs. Pure: strings and bytes are returned, and the crates
//! above decide where they go.
//!
//! In reading order: `metrics` is the table of all figures; `run`, [`experiment`], `queries`, `comparison` and
//! `calibration` build documents; `document` is their model with its writers for text and Markdown, `chart` draws, `forest`
//! is the picture of effects, `html` writes pages. `subject` lists all of them, `values` has what programs read, `cases`
//! what continuous integration judges. [`figures`] has the formats of numbers, [`prose`] those of words, `wording` the
//! sentences for what records hold as kinds and numbers. [`pgbench`] has pgbench's own output.

mod run;

mod trial_lines;

mod cells_so_far;

mod calibration;

mod self_test;

mod sparkline;

mod store_list;

mod table;

mod isolation;

mod tls;

mod search;

pub mod figures;

mod goals;

pub mod prose;

mod wording;

mod chart;

mod forest;

mod ratios;

mod document;

mod compare;

mod comparison;

mod metrics;
mod models;

mod html;

mod cases;

mod values;

mod format;

mod subject;

mod queries;

pub mod experiment;

pub mod pgbench;

pub use calibration::calibration;
pub use cases::junit_of_failure;
pub use cells_so_far::{CellSoFar, cells_so_far};
pub use chart::{PngError, png, svg};
pub use comparison::comparison;
pub use document::{Document, markdown, text};
pub use format::{FORMATS, Format, formatted};
pub use goals::unmet_goals;
pub use html::html;
pub use isolation::isolation;
pub use metrics::metrics_reference;
pub use prose::TextStyle;
pub use queries::{QueryRun, queries_document, stored_query_sets};
pub use run::{Run, document, summary, verification};
pub use search::search;
pub use self_test::self_test;
pub use sparkline::sparkline;
pub use store_list::{counted_entries, removed, store_list};
pub use subject::Subject;
pub use tls::tls;
pub use trial_lines::{search_line, steps_line, trial_line};
pub use values::{OPEN_METRICS_TYPE, OpenMetrics};
pub use wording::{wait_name, warning_text as warning};
