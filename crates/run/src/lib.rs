//! A measured run from its specification to its record.
//!
//! In reading order: a [`RunSpec`] specifies a run; a [`Runner`] parses its scripts and resolves its servers;
//! [`Runner::prepare`] queries the server, vacuums, and examines the host; [`Prepared::run`] runs the load under
//! observation and returns the [`Finished`] run with its record. Progress is reported as [`Event`]s whose listeners
//! return nothing, so output cannot change the record. [`Control`] stops a run from outside.
//!
//! ```ignore
#![doc = include_str!("../examples/p99.rs")]
//! ```

mod action;
mod argument_memory;
mod calibrate;
mod checks;
mod circumstances;
mod command_line;
mod connection_places;
mod control;
mod copy_files;
mod database_use;
mod descriptors;
mod distributed;
mod ending;
mod environment;
mod error;
mod event;
mod exit_status;
mod generator;
mod goals;
mod keeper;
mod left_changes;
mod load_watch;
mod loading;
mod observing;
pub mod options;
mod pauses;
mod places;
mod plan_record;
mod pooling;
mod preparation;
mod prepared;
mod relations;
mod request;
mod runner;
mod scripts;
mod secrets;
mod self_test;
mod serving;
mod session_settings;
mod since;
mod space;
mod spec;
mod statement_check;
mod store_places;
mod table_preparation;
mod transaction_errors;
mod verification;

pub use action::{FaultId, FaultSite, check_actions};
pub use argument_memory::hide_secrets_of_arguments;
pub use calibrate::{CALIBRATION_CLIENTS_MAX, CALIBRATION_STEPS, calibrate, calibration_spec};
pub use circumstances::{Circumstances, OutputLoss, Tracers, calibrations, calibrations_in};
pub use command_line::command_line;
pub use connection_places::check_pool_places;
pub use control::{Control, OUT_OF_TIME};
pub use database_use::use_alone;
pub use descriptors::{TooFewDescriptors, provide_descriptors, raise_descriptors_to_maximum};
pub use distributed::{Load, Machines};
pub use environment::{look_back, survey};
pub use error::{RunError, StatementError};
pub use event::{Event, PreparationMessage, VacuumEvent, client_message, preparation_message};
pub use exit_status::ExitStatus;
pub use generator::event_loop;
pub use goals::check_goals;
pub use keeper::{Keeper, Kept};
pub use left_changes::{COMPARISON_COMMENT, LeftIndex, left_by_killed, left_indexes};
pub use loading::{described_rows, dry_run, load, loading_sessions};
pub use options::event_loop_of_environment;
pub use plan_record::{connection_to, host};
pub use pooling::{PoolerInUse, check_pooling, with_pooler_remedy};
pub use prepared::{Finished, Prepared};
pub use request::RunRequest;
pub use runner::{Runner, connect};
pub use scripts::{SCRIPTS_MAX, ScriptText, Scripts, read_script, read_standard_input};
pub use secrets::{mask_value, recorded_variables, secret_values, without_secret_values};
pub use self_test::{self_test, self_test_spec};
pub use serving::wait_for_end;
pub use session_settings::settings_in_force;
pub use since::since;
pub use space::{Consent, Told, load_with_consent};
pub use spec::{
    ActionKind, ActionSpec, RunSpec, ScriptSource, ScriptSpec, TargetSpec, VERIFY_TIMEOUT, Vacuum, fresh_seed,
};
pub use store_places::StorePlaces;
pub use verification::{clean_verified, lost_work, verify_again};
