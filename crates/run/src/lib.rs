//! A measured run from its specification to its record.
//!
//! In reading order: a [`RunSpec`] is all that can be asked of a run; a [`Runner`] has its scripts parsed and its servers
//! named; [`Runner::prepare`] asks the server, vacuums, and looks at the host; [`Prepared::run`] makes the load, observed,
//! and returns the [`Finished`] run with its record. What happens meanwhile is told as [`Event`]s, which return nothing:
//! what is shown cannot change what is recorded. [`Control`] stops all of it from outside.
//!
//! ```no_run
#![doc = include_str!("../examples/p99.rs")]
//! ```

mod calibrate;
mod command_line;
mod control;
mod descriptors;
mod environment;
mod error;
mod event;
mod generator;
mod keeper;
mod loading;
mod observing;
pub mod options;
mod pauses;
mod plan_record;
mod runner;
mod scripts;
mod secrets;
mod spec;

pub use calibrate::{CALIBRATION_CLIENTS_MAX, CALIBRATION_STEPS, calibrate, calibration_spec};
pub use command_line::command_line;
pub use control::{Control, OUT_OF_TIME};
pub use descriptors::{TooFewDescriptors, provide_descriptors, raise_descriptors_to_maximum};
pub use environment::{look_back, survey};
pub use error::RunError;
pub use event::{Event, VacuumEvent};
pub use generator::{calibrations, calibrations_in, event_loop};
pub use keeper::{Keeper, Kept, StorePlaces};
pub use loading::{load, loading_sessions};
pub use options::event_loop_of_environment;
pub use plan_record::{connection_to, fresh_seed, host};
pub use runner::{Circumstances, Finished, OutputLoss, Prepared, Runner, Tracers, connect};
pub use scripts::{SCRIPTS_MAX, ScriptText, Scripts, read_script};
pub use secrets::{mask_value, recorded_variables, secret_values, without_secret_values};
pub use spec::{RunSpec, ScriptSource, ScriptSpec, TargetSpec, Vacuum};
