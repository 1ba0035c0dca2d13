//! A measured run from its specification to its record.
//!
//! In reading order: a [`RunSpec`] specifies a run; a [`Runner`] parses its scripts and resolves its servers;
//! [`Runner::prepare`] queries the server, vacuums, and examines the host; [`Prepared::run`] runs the load under
//! observation and returns the [`Finished`] run with its record. Progress is reported as [`Event`]s whose listeners
//! return nothing, so output cannot change the record. [`Control`] stops a run from outside.
//!
//! The folders, the lowest first: `spec` has the specification, `check` the checks that need no server, `plan` the run
//! that passed them, `execution` the work during and after the load, `record` the parts of the record.
//!
//! ```ignore
#![doc = include_str!("../examples/p99.rs")]
//! ```

mod argument_memory;
mod calibrate;
mod check;
mod control;
mod distributed;
mod error;
mod event;
mod execution;
mod exit_status;
mod keeper;
mod plan;
mod preparation;
mod prepared;
mod record;
mod self_test;
mod serving;
mod spec;
mod store_places;
mod tables;

pub use argument_memory::hide_secrets_of_arguments;
pub use calibrate::{CALIBRATION_CLIENTS_MAX, CALIBRATION_STEPS, calibrate, calibration_spec};
pub use check::pooling::{check_pooling, with_pooler_remedy};
pub use check::{RunPlace, RunToCheck, check_run, rules};
pub use control::{Control, OUT_OF_TIME};
pub use distributed::{Load, Machines};
pub use error::{RunError, StatementError};
pub use event::{Event, PreparationMessage, VacuumEvent, client_message, preparation_message};
pub use execution::connection_places::{check_pool_places, free_connections};
pub use execution::verification::{clean_verified, lost_work, verify_again};
pub use exit_status::ExitStatus;
pub use keeper::{Keeper, Kept};
pub use plan::descriptors::{TooFewDescriptors, provide_descriptors, raise_descriptors_to_maximum};
pub use plan::runner::{Runner, connect};
pub use plan::session_settings::settings_in_force;
pub use prepared::{Finished, Prepared};
pub use record::environment::{look_back, survey};
pub use record::generator::event_loop;
pub use record::plan_record::{connection_to, host};
pub use self_test::{self_test, self_test_spec};
pub use serving::wait_for_end;
pub use spec::circumstances::{Circumstances, OutputLoss, Tracers, calibrations, calibrations_in};
pub use spec::command_line::command_line;
pub use spec::curve_file::read_curve;
pub use spec::options;
pub use spec::options::event_loop_of_environment;
pub use spec::pooler::PoolerInUse;
pub use spec::request::RunRequest;
pub use spec::scripts::{SCRIPTS_MAX, ScriptText, Scripts, read_script, read_standard_input};
pub use spec::secrets::{mask_value, recorded_variables, secret_values, without_secret_values};
pub use spec::since::since;
pub use spec::site::{FaultId, FaultSite};
pub use spec::surface::Surface;
pub use spec::{
    ActionKind, ActionSpec, RunSpec, ScriptSource, ScriptSpec, TargetSpec, VERIFY_TIMEOUT, Vacuum, fresh_seed,
};
pub use store_places::StorePlaces;
pub use tables::database_use::use_alone;
pub use tables::left_changes::{COMPARISON_COMMENT, LeftIndex, left_by_killed, left_indexes};
pub use tables::loading::{described_rows, dry_run, load, loading_sessions};
pub use tables::space::{Consent, Told, load_with_consent};
