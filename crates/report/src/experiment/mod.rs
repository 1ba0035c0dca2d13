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

mod text;

mod markdown;

mod csv;

mod json;

pub use crate::figure::experiment::{png, svg};
pub use crate::html::experiment::html;
pub use csv::csv;
pub use curves::CurveOfRun;
pub use document::document;
pub use hosts::FromStore;
pub use json::json;
pub use markdown::markdown;
pub use overview::Overview;
pub use text::text;

pub(crate) use crate::metrics::Quantity;
pub(crate) use cells::{Cell, Standing, Trial};
pub(crate) use chart::{Chart, Line, Marks, Panel, Point};
pub(crate) use metric::Metric;
pub(crate) use repeats::{Ratio, Repeated, ratio as ratio_of};
pub(crate) use said::{
    IF_ANY, MARKS, bounds, interval, is_base, limits_in_words, marks_in_words, ratio, signs, step_grid,
    titled, top_waits, wait_name, with_interval,
};
pub(crate) use steps::Stack;
