//! Experiments: a file says what is varied, and becomes a matrix of trials and a plan of them.
//!
//! Pure but for reading the file and looking whether the files that it names are there; nothing is started here.
//!
//! In reading order: [`Experiment`] is the file as it is written, its keys are a table in `keys`; a [`Configuration`] is
//! what one combination of levels means, a load or [`Step`]s; [`Plan`] has all of them in the order in which they run;
//! [`Readiness`] knows what each trial needs before it, [`Forecast`] how long that will take.

mod experiment;

mod keys;

mod configuration;

mod steps;

mod matrix;

mod plan;

mod memory;

mod readiness;

mod forecast;

mod outline;

mod load_words;

mod presentation;

mod document;

mod quantity;

mod typed;

mod error;

pub use configuration::{
    Configuration, DataSpec, Length, LoadSpec, Network, NetworkKind, Origin, ProtocolChoice, Restore,
    ScriptChoice, ScriptName, ServerSpec, Workload,
};
pub use document::Place;
pub use error::LabError;
pub use experiment::{Design, Experiment, Factor, Level, Order, Profile};
pub use forecast::{Expected, Forecast};
pub use matrix::Cell;
pub use memory::{Arrangement, Memory};
pub use outline::{outline, rough};
pub use plan::{Plan, Trial};
pub use presentation::{Chart, Difference, METRICS, METRICS_OF_STEPS, STEP};
pub use quantity::duration;
pub use readiness::{Preparation, Readiness, WayBack};
pub use steps::{Step, StepSql, StepWork};
pub use typed::Typed;
