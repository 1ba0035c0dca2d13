//! The execution of experiments and comparisons, which `experiment` has read and planned.
//!
//! `provision` prepares servers and data, a [`Campaign`] runs the remaining trials, a [`ComparisonRun`] runs blocks of
//! two sides in turns, [`prepare_screening`] writes the experiment of a screening, a [`Quickstart`] runs a workload once.
//! A [`Listener`] receives the progress; nothing is printed here.

mod alter_system;
mod budget;
mod campaign;
mod compare;
mod error;
mod event;
mod fault_site;
mod files;
mod goals;
mod leftovers;
mod load_progress;
mod preflight;
mod provision;
mod query_pass;
mod quickstart;
mod relays;
mod repeating_failure;
mod running_pooler;
mod schema_change;
mod schema_rows;
mod screen;
mod search;
mod search_trial;
mod seeds;
mod server_host;
mod servers;
mod session_options;
mod staleness;
mod standby_set;
mod timed;
mod trial;

pub use campaign::{Campaign, CampaignLimits, file_missing, read_experiment};
pub use compare::{
    CompareOptions, Compared, ComparisonProgress, ComparisonRun, ProgressText, SearchesOptions, compare,
    compare_searches, compared_metric, sides,
};
pub use error::LabError;
pub use event::{Busy, ComparisonEvent, Event, Listener, TrialRecord};
pub use fault_site::managed_site;
pub use load_progress::{LoadProgress, LoadText};
pub use preflight::preflight;
pub use quickstart::Quickstart;
pub use schema_change::{lock_time, undo_left};
pub use schema_rows::rows_of_schema;
pub use screen::{
    PreparedScreening, ScreenOptions, directory_of_screenings, prepare_screening, run_screening,
    screening_in_words,
};
pub use search::{
    GOAL_OF_SEARCH, OPTIONS_OF_SEARCH, ResumedSearch, SearchClients, SearchOptions, Searched, search,
};
pub use server_host::{find_host, host_of_process, host_of_session};
pub use servers::{Programs, instrumentation, obtain, sweep, warn_without_statements};
pub use trial::ExecutionContext;
