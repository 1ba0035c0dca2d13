//! Experiments and comparisons: an experiment file becomes a matrix of trials, a plan of them, and runs.
//!
//! Planning is pure except for reading the file and checking that its files exist. In reading order: [`Experiment`]
//! is the parsed file, with its keys as a table in `keys`; a [`Configuration`] is one combination of levels, a load
//! or [`Step`]s; [`Plan`] is the ordered list of trials; [`Readiness`] determines what each trial needs, [`Forecast`]
//! how long it takes.
//!
//! Execution: `provision` prepares servers and data, a [`Campaign`] runs the remaining trials, a [`ComparisonRun`]
//! runs blocks of two sides in turns. A [`Listener`] receives the progress; nothing is printed here.

mod experiment;

mod keys;

mod settings;

mod session_settings;

mod staleness;

mod standby_set;

mod standbys;

mod schema_change;

mod preflight;

mod repeating_failure;

mod applied_settings;

mod screen;

mod values;

mod configuration;

mod steps;

mod query_pass;

mod matrix;

mod plan;

mod memory;

mod relative;

mod readiness;

mod forecast;

mod outline;

mod load_words;

mod presentation;

mod schema;

mod typed;

mod workloads;

mod error;

mod event;

mod schema_rows;
mod servers;

mod quickstart;

mod network;

mod pooler;

mod goals;
mod leftovers;

mod provision;

mod stopwatch;

mod budget;

mod trial;

mod timed;

mod campaign;

mod secret_levels;

mod compare;

mod fault_site;

pub use campaign::{Campaign, CampaignLimits, ExecutionContext, Subject, file_missing, profile_name};
pub use compare::{Comparable, CompareOptions, Compared, ComparisonRun, compare, compared_metric};
pub use config::{Folder, Place};
pub use configuration::{
    Configuration, DataSpec, Network, NetworkKind, Origin, Restore, ServerSpec, default_load,
};
pub use error::LabError;
pub use event::{Busy, ComparisonEvent, Event, Listener, TrialRecord};
pub use experiment::{Combinations, Design, Experiment, Factor, Level, Order, Profile};
pub use fault_site::managed_site;
pub use forecast::{Expected, Forecast};
pub use matrix::Cell;
pub use memory::{Arrangement, Memory};
pub use outline::{outline, rough};
pub use plan::{Plan, Trial};
pub use pooler::PoolerSpec;
pub use preflight::preflight;
pub use presentation::{Chart, Contrast, METRICS, METRICS_OF_STEPS, STEP};
pub use quickstart::Quickstart;
pub use readiness::{Preparation, Readiness};
pub use relative::{FindHost, Relative, ServerHost, clients_per_core, find_host};
pub use run::options::duration;
pub use schema::{keys_table, schema};
pub use schema_change::{lock_time, undo_left};
pub use schema_rows::rows_of_schema;
pub use screen::{
    PreparedScreening, ScreenOptions, directory_of_screenings, prepare_screening, run_screening,
    screening_in_words,
};
pub use secret_levels::{hide_values, secret_values};
pub use servers::{Programs, instrumentation, obtain, sweep, warn_without_statements};
pub use settings::check_name as check_setting;
pub use standbys::{StandbyMode, StandbyNetwork, StandbySpec, Synchronous};
pub use steps::{Step, StepSql, StepWork};
pub use typed::{Typed, TypedDdl};
