//! Experiments and comparisons: a file says what is varied, and becomes a matrix of trials, a plan of them, and runs.
//!
//! Planning is pure but for reading the file and looking whether the files that it names are there. In reading order:
//! [`Experiment`] is the file as it is written, its keys are a table in `keys`; a [`Configuration`] is what one combination
//! of levels means, a load or [`Step`]s; [`Plan`] has all of them in the order in which they run; [`Readiness`] knows what
//! each trial needs before it, [`Forecast`] how long that will take.
//!
//! Execution: `provision` makes servers and data ready, a [`Campaign`] runs the trials that are left, a [`ComparisonRun`]
//! runs blocks of two sides in turns. All of it tells a [`Listener`] what happens and prints nothing.

mod experiment;

mod keys;

mod values;

mod configuration;

mod steps;

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

mod servers;

mod network;

mod leftovers;

mod provision;

mod stopwatch;

mod budget;

mod trial;

mod timed;

mod campaign;

mod secret_levels;

mod compare;

pub use campaign::{Campaign, CampaignLimits, ExecutionContext, Subject, profile_name};
pub use compare::{Comparable, CompareOptions, ComparisonRun, compare};
pub use config::{Folder, Place};
pub use configuration::{
    Configuration, DataSpec, Network, NetworkKind, Origin, Restore, ServerSpec, default_load,
};
pub use error::LabError;
pub use event::{Busy, ComparisonEvent, Event, Listener, TrialRecord};
pub use experiment::{Design, Experiment, Factor, Level, Order, Profile};
pub use forecast::{Expected, Forecast};
pub use keys::is_key;
pub use matrix::Cell;
pub use memory::{Arrangement, Memory};
pub use outline::{outline, rough};
pub use plan::{Plan, Trial};
pub use presentation::{Chart, Contrast, METRICS, METRICS_OF_STEPS, STEP};
pub use readiness::{Preparation, Readiness};
pub use relative::{FindHost, Relative, ServerHost, find_host};
pub use run::options::duration;
pub use schema::{keys_table, schema};
pub use secret_levels::{hide_values, secret_values};
pub use servers::{Programs, instrumentation, obtain, sweep, warn_without_statements};
pub use steps::{Step, StepSql, StepWork};
pub use typed::Typed;
