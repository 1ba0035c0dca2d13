//! What is shown: terminal text made from records, pages and tables of runs, and the line per second while one goes on.
//! Pure, but for pgbench's log files and [`MetricsServer`]: it returns strings and bytes, and `cli` decides where they go.
//!
//! In reading order: [`text`] makes the summary of a run out of labelled lines and a latency table,
//! [`command_table`] shows the single commands, [`calibration`] what a machine can do at best, [`run_list`] the runs
//! that are stored, [`cells_so_far`] what an experiment has found. [`LiveFigures`] gathers the figures of a run that goes
//! on, for [`live_line`], [`live_view`] and [`open_metrics`]. `figures` says how numbers are written, `prose` how words are,
//! `wording` has the sentences for warnings, verdicts and what they rest on.
//! Of one [`Run`] or several, `charts` computes what is drawn, `compare` whether they differ, `sections` what is said;
//! [`side_by_side`], [`html`], [`markdown`], [`csv`], [`json`], [`svg`] and [`png`] give that its form. [`experiment`] shows
//! many runs as cells of a table and points of charts. [`pgbench`] says the same things the way pgbench does.

mod run;

mod text;

mod side_by_side;

mod latency_table;

mod server_lines;

mod command_table;

mod trial_lines;

mod cells_so_far;

mod calibration;

mod run_list;

mod table;

mod live;

mod live_figures;

mod live_view;

mod metrics_server;

mod openmetrics;

mod figures;

mod prose;

mod wording;

mod chart;

mod document;

mod compare;

mod comparison;

mod sections;

mod markdown;

mod metrics;

mod csv;

mod html;

mod figure;

pub mod experiment;

pub mod pgbench;

pub use calibration::calibration;
pub use cells_so_far::{CellSoFar, cells_so_far};
pub use command_table::command_table;
pub use comparison::comparison;
pub use csv::{CSV_COLUMNS, csv};
pub use figure::{PngError, png, svg};
pub use html::html;
pub use live::{LiveSample, Phase, live_line};
pub use live_figures::LiveFigures;
pub use live_view::{LiveView, SoFar, live_view};
pub use markdown::markdown;
pub use metrics::metrics_reference;
pub use metrics_server::MetricsServer;
pub use openmetrics::{Metrics, open_metrics};
pub use run::{Run, json};
pub use run_list::run_list;
pub use side_by_side::side_by_side;
pub use text::{TextStyle, text};
pub use trial_lines::{steps_line, trial_line};
pub use wording::warning_text as warning;
