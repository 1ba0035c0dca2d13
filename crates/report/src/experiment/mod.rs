//! A whole experiment, as it is shown: trials become cells, cells have figures with their uncertainty, charts have
//! lines of cells. Pure: from what the store has and what the file says to strings and pictures; `cli` writes them.
//! In reading order: `metric` has the figures of a trial, `repeats` the statistics over several, [`Overview`] is the
//! whole of it, `steps` those of trials that are timed steps, `chart` what is drawn, `concerns` what to know before
//! believing it, `said` how it is put in words; then a module for each format, of which the page is in `html` and the
//! pictures are in `figure`.

mod metric;

mod repeats;

mod overview;

mod steps;

mod chart;

mod concerns;

mod said;

mod text;

mod markdown;

mod csv;

mod json;

pub use crate::figure::experiment::{png, svg};
pub use crate::html::experiment::html;
pub use csv::csv;
pub use json::json;
pub use markdown::markdown;
pub use overview::Overview;
pub use text::text;

pub(crate) use crate::metrics::Quantity;
pub(crate) use chart::{Chart, Line, Marks, Panel, Point};
pub(crate) use metric::Metric;
pub(crate) use overview::{Cell, Standing, Trial};
pub(crate) use repeats::{Ratio, Repeated, ratio as ratio_of};
pub(crate) use said::{
    IF_ANY, MARKS, bounds, interval, is_base, limits_in_words, marks_in_words, ratio, signs, step_grid,
    titled, top_waits, wait_name, with_interval,
};
pub(crate) use steps::Stack;
