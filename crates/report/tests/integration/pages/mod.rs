//! Pages, tables and figures of runs, from records made here: with everything in them, and with nothing.
//! Terminal text is tested in `texts`.

mod browser;
mod devtools;
mod effects;
mod escapes;
mod example;
mod experiment;
mod formats;
pub mod forms;
mod html;
mod manual;
mod outages;
mod queries;
mod query_experiments;
mod query_sets;
mod widths;
