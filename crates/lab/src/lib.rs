//! Experiments and comparisons: an experiment file becomes a matrix of trials, a plan of them, and runs.
//!
//! Planning is pure except for reading the file and checking that its files exist. In reading order: [`Experiment`]
//! is the parsed file, with its keys as a table in `keys`; a [`Configuration`] is one combination of levels, a load
//! or [`Step`]s; [`Plan`] is the ordered list of trials; [`Readiness`] determines what each trial needs, [`Forecast`]
//! how long it takes.
//!
//! Execution: `provision` prepares servers and data, a [`Campaign`] runs the remaining trials, a [`ComparisonRun`]
//! runs blocks of two sides in turns. A [`Listener`] receives the progress; nothing is printed here.

mod alter_system;
mod applied_settings;
mod budget;
mod campaign;
mod compare;
mod compatibility;
mod configuration;
mod data_size;
mod error;
mod event;
mod experiment;
mod factors;
mod fault_site;
mod fields;
mod forecast;
mod goals;
mod keys;
mod leftovers;
mod load_words;
mod matrix;
mod memory;
mod network;
mod outline;
mod plan;
mod pooler;
mod preflight;
mod presentation;
mod provision;
mod query_pass;
mod quickstart;
mod readiness;
mod relative;
mod relays;
mod repeating_failure;
mod running_pooler;
mod schema;
mod schema_change;
mod schema_rows;
mod screen;
mod secret_levels;
mod server_host;
mod servers;
mod session_options;
mod session_settings;
mod settings;
mod staleness;
mod standby_set;
mod standbys;
mod step_tables;
mod steps;
mod subject;
mod timed;
mod trial;
mod typed;
mod values;
mod workloads;

pub use campaign::{Campaign, CampaignLimits, file_missing, profile_name};
pub use compare::{Comparable, CompareOptions, Compared, ComparisonRun, compare, compared_metric};
pub use config::{Folder, Place};
pub use configuration::{Cell, Configuration, DataSpec, Origin, Relative, Restore, ServerSpec, default_load};
pub use error::LabError;
pub use event::{Busy, ComparisonEvent, Event, Listener, TrialRecord};
pub use experiment::{Combinations, Design, Experiment, Order, Profile};
pub use factors::{Factor, Level};
pub use fault_site::managed_site;
pub use forecast::{Expected, Forecast};
pub use memory::{Arrangement, Memory};
pub use network::{Network, NetworkKind};
pub use outline::{outline, rough};
pub use plan::{Plan, Trial};
pub use pooler::PoolerSpec;
pub use preflight::preflight;
pub use presentation::{Chart, Contrast, METRICS, METRICS_OF_STEPS, STEP};
pub use quickstart::Quickstart;
pub use readiness::{Preparation, Readiness};
pub use relative::{FindHost, ServerHost, clients_per_core};
pub use run::options::duration;
pub use schema::{keys_table, schema};
pub use schema_change::{lock_time, undo_left};
pub use schema_rows::rows_of_schema;
pub use screen::{
    PreparedScreening, ScreenOptions, directory_of_screenings, prepare_screening, run_screening,
    screening_in_words,
};
pub use secret_levels::{hide_values, secret_values};
pub use server_host::find_host;
pub use servers::{Programs, instrumentation, obtain, sweep, warn_without_statements};
pub use settings::check_name as check_setting;
pub use standbys::{StandbyMode, StandbyNetwork, StandbySpec, Synchronous};
pub use steps::{Step, StepSql, StepWork};
pub use subject::Subject;
pub use trial::ExecutionContext;
pub use typed::{Typed, TypedDdl};
