//! A whole experiment, as it is shown: trials become cells, cells have figures with their uncertainty, charts have
//! lines of cells. Pure: from what the store has and what the file says to strings and pictures; `cli` writes them.
//! In reading order: `metric` has the figures of a trial, `repeats` the statistics over several, [`Overview`] is the
//! whole, `steps` has the trials of timed steps, `query_sets` those of query sets, `chart` the cells of charts, `contrasts` the named ratios and
//! differences, `effects` the effects of the factors, `concerns` the warnings, `said` the sentences. `document` makes
//! the report of them, `drawn` its charts, `goals`, `actions` and `outages` what it says about these; `csv` and `json` are for programs. `status` has the state of an execution.

mod actions;

mod outages;

mod metric;

mod repeats;

mod hosts;

mod cells;

mod goals;

mod overview;

mod steps;

mod query_sets;

mod chart;

mod contrasts;

mod curves;

mod concerns;

mod effects;

mod said;

mod document;

mod drawn;

mod csv;

mod json;

mod status;

pub use csv::csv;
pub use curves::CurveOfRun;
pub use document::document;
pub use hosts::FromStore;
pub use json::json;
pub use overview::Overview;
pub use status::{newest_cells, outlook, standing, trial_name};

pub(crate) use crate::metrics::Quantity;
pub(crate) use cells::{Cell, Standing, Trial};
pub(crate) use chart::Marks;
pub(crate) use effects::{Effects, LevelEffect, OtherInteractions, is_within};
pub(crate) use metric::Metric;
pub(crate) use repeats::{Ratio, Repeated, ln_mean, quotient};
pub(crate) use said::{MARKS, factor};
