//! A whole experiment, as it is shown: trials become cells, cells have figures with their uncertainty, charts have
//! lines of cells. Pure: from what the store has and what the file says to strings and pictures; `cli` writes them.
//! In reading order: `metric` has the figures of a trial, `repeats` the statistics over several, [`Overview`] is the
//! whole, `steps` has the trials of timed steps, `chart` the cells of charts, `contrasts` the named ratios and
//! differences, `concerns` the warnings, `said` the sentences. `document` makes the report of them, `drawn` its charts;
//! `csv` and `json` are for programs.

mod metric;

mod repeats;

mod hosts;

mod cells;

mod overview;

mod steps;

mod chart;

mod contrasts;

mod curves;

mod concerns;

mod said;

mod document;

mod drawn;

mod csv;

mod json;

pub use csv::csv;
pub use curves::CurveOfRun;
pub use document::document;
pub use hosts::FromStore;
pub use json::json;
pub use overview::Overview;

pub(crate) use crate::metrics::Quantity;
pub(crate) use cells::{Cell, Trial};
pub(crate) use chart::Marks;
pub(crate) use metric::Metric;
pub(crate) use repeats::{Ratio, Repeated};
pub(crate) use said::MARKS;
