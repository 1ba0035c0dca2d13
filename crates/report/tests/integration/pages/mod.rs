//! Pages, tables and figures of runs, from records made here: with everything in them, and with nothing.
//! Terminal text is tested in `texts`.

pub mod browser;
pub mod devtools;
pub mod effects;
mod escapes;
pub mod example;
pub mod experiment;
mod first_screen;
mod formats;
pub mod forms;
mod html;
pub mod keyboard;
mod manual;
pub mod outages;
pub mod queries;
pub mod query_experiments;
pub mod query_sets;
mod widths;
