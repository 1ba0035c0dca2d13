//! A whole experiment, as it is shown: trials become cells, cells have figures with their uncertainty, charts have
//! lines of cells. Pure: from what the store has and what the file says to strings and pictures; `cli` writes them.
//! `analysis` makes the [`Overview`]: `cells` and `steps` have the figures, and `charts`, `contrasts`, `effects` and
//! `concerns` what follows from them. `said` has the sentences. `document` makes the report, with `drawn`, `goals`,
//! `actions`, `outages` and `query_sets` for its parts; `fields` and `rows` are for programs. `status` has the state of an
//! execution.

mod actions;

mod analysis;

mod outages;

mod metric;

mod repeats;

mod hosts;

mod cells;

mod goals;

mod overview;

mod steps;

mod searches;

mod query_sets;

mod chart;

mod charts;

mod contrasts;

mod curves;

mod concerns;

mod effects;

mod effect_estimates;

mod effect_forest;

mod load_curve;

mod said;

mod document;

mod drawn;

mod fields;

mod rows;

mod status;

pub use curves::CurveOfRun;
pub use document::document;
pub use hosts::FromStore;
pub use overview::Overview;
pub use status::{newest_cells, outlook, standing, trial_name};

pub(crate) use crate::metrics::Quantity;
pub(crate) use cells::{ExperimentCell, Standing, Trial};
pub(crate) use chart::Marks;
pub(crate) use effects::{Effects, LevelEffect, OtherInteractions, is_within};
pub(crate) use fields::fields;
pub(crate) use metric::Metric;
pub(crate) use repeats::{Ratio, Repeated, ln_mean, quotient};
pub(crate) use rows::rows;
pub(crate) use said::MARKS;
