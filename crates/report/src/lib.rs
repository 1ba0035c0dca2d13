//! What is shown. Runs or query sets, one or several side by side, an experiment, a comparison, a calibration, a scan of TLS and a check of isolation become a
//! [`Document`] once; [`text`], [`markdown`], [`html`], [`svg`] and [`png`] give it a format. CSV and JSON are for programs.
//! Pure, but for pgbench's log files, [`file`], [`MetricsServer`] and [`select`], which reads the store: strings and bytes are returned, and `cli` decides where they go.
//!
//! In reading order: `metrics` is the table of all figures; `run`, [`experiment`], `queries`, `comparison` and
//! `calibration` build documents; `document` is their model with its writers for text and Markdown, `chart` draws, `html` writes pages.
//! [`LiveFigures`] gathers the figures of a run that goes on, for [`live_line`], [`live_view`] and [`open_metrics`].
//! `figures` has the formats of numbers, `prose` those of words,
//! `wording` the sentences for what records hold as kinds and numbers. [`pgbench`] has pgbench's own output.

mod run;

mod trial_lines;

mod cells_so_far;

mod calibration;

mod selection;

mod self_test;

mod store_list;

mod table;

mod isolation;

mod tls;

mod live;

mod live_figures;

mod live_view;

mod metrics_server;

mod openmetrics;

mod figures;

mod goals;

mod prose;

mod wording;

mod chart;

mod document;

mod compare;

mod comparison;

mod metrics;

mod csv;

mod html;

mod junit;

mod format;

mod subject;

mod queries;

pub mod experiment;

pub mod file;

pub mod pgbench;

pub use calibration::{calibration, calibration_csv, calibration_json};
pub use cells_so_far::{CellSoFar, cells_so_far};
pub use chart::{PngError, png, svg};
pub use comparison::{comparison, comparison_csv};
pub use csv::{CSV_COLUMNS, csv};
pub use document::{Document, markdown, text};
pub use format::{FORMATS, Format, formatted};
pub use goals::unmet_goals;
pub use html::html;
pub use isolation::{isolation, isolation_csv, isolation_json};
pub use junit::junit_of_failure;
pub use live::{LiveSample, Phase, live_line};
pub use live_figures::LiveFigures;
pub use live_view::{LiveView, SoFar, live_view};
pub use metrics::metrics_reference;
pub use metrics_server::MetricsServer;
pub use openmetrics::{Metrics, open_metrics};
pub use prose::TextStyle;
pub use queries::{QueryRun, queries_csv, queries_document, queries_json, stored_query_sets};
pub use run::{Run, document, json, summary, verification};
pub use selection::{ReportedStore, Selected, Selection, SelectionError, overview, select};
pub use self_test::{self_test, self_test_csv, self_test_json};
pub use store_list::{counted_entries, removed, store_list};
pub use subject::Subject;
pub use tls::{tls, tls_csv, tls_json};
pub use trial_lines::{steps_line, trial_line};
pub use wording::warning_text as warning;
