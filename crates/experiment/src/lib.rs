//! Experiments as defined by their files: a file becomes a matrix of cells and a plan of their trials.
//!
//! Nothing is executed here: no sockets, clocks, threads or stores. The only files that are read are those of the
//! experiment. In reading order: [`Experiment`] is the parsed file, with its keys as a table in `keys`; a
//! [`Configuration`] is one combination of levels, a load or [`Step`]s; [`Plan`] is the ordered list of trials;
//! [`Readiness`] determines what each trial needs, [`Forecast`] how long it takes. [`Comparable`] has the two sides of
//! a comparison. `lab` executes plans, and `report` describes them.

mod applied_settings;
mod comparable;
mod compatibility;
mod configuration;
mod data_size;
mod design;
mod error;
mod experiment;
mod factors;
mod fields;
mod forecast;
mod keys;
mod load_words;
mod matrix;
mod memory;
mod network;
mod outline;
mod plan;
mod pooler;
mod presentation;
mod readiness;
mod relative;
mod schema;
mod secret_levels;
mod session_settings;
pub mod settings;
mod standbys;
mod step_tables;
mod steps;
mod subject;
mod typed;
mod values;
mod workloads;

pub use applied_settings::Settings;
pub use comparable::Comparable;
pub use configuration::{
    Cell, Configuration, DataSpec, Origin, Relative, Restore, SearchSpec, ServerSpec, default_load,
};
pub use design::design;
pub use error::ExperimentError;
pub use experiment::{Combinations, Design, Experiment, Profile};
pub use factors::{Factor, Level};
pub use forecast::{Expected, Forecast, setup_s};
pub use keys::section_name;
pub use load_words::{counted, protocol};
pub use memory::{Arrangement, Memory};
pub use network::{Network, NetworkKind};
pub use outline::{outline, rough};
pub use plan::{Plan, Trial};
pub use pooler::PoolerSpec;
pub use presentation::{METRICS, METRICS_OF_STEPS, STEP};
pub use readiness::{LoadedData, Preparation, Readiness};
pub use relative::{FindHost, ServerHost, clients_per_core};
pub use schema::{keys_table, schema};
pub use secret_levels::{hide_levels, hide_values, secret_values};
pub use session_settings::{SessionSettings, not_for_sessions};
pub use standbys::{ALL_STANDBYS, StandbyMode, StandbyNetwork, StandbySpec, Synchronous};
pub use steps::{Step, StepSql, StepWork};
pub use subject::Subject;
pub use typed::{Typed, TypedDdl, set_key};
