//! Workloads: scripts, the tables that they work on, and how these are made, prepared and checked.
//!
//! A [`Workload`] is a value: [`Tpcb`], the tables and scripts of `pgbench`, or a [`Folder`] of a user.
//! [`WorkloadName`] finds one by its name or its folder. No load is made here (that is the engine's work), and nothing
//! is printed.

mod acting_on_all;
mod archives;
mod before_run;
mod catalogs;
mod check;
mod completion;
mod concurrent_forms;
mod data;
mod dependents;
mod digests;
mod enum_values;
mod error;
mod existing_objects;
mod folder;
mod foreign_definitions;
mod foreign_objects;
mod foreign_parts;
mod generated;
mod init_lock;
mod init_steps;
mod learn;
pub mod listing;
mod load;
mod loaded_tables;
mod loader;
mod manifest;
mod marks;
mod names;
mod new_folder;
mod object_kinds;
mod protection;
mod query_files;
mod query_set;
mod registry;
mod row_counts;
mod run_checks;
mod schema_files;
mod schema_load;
mod scripts;
mod sequences;
mod shelf;
mod sql_file;
mod sql_names;
mod standard;
mod step_guard;
mod table_name;
mod text_table;
pub mod tpcb;
mod tpcds;
mod tpch;
mod unavailable;
mod user_files;
mod user_functions;
mod workload;

pub use archives::NamedArchive;
pub use before_run::{Preparation, PreparedRun, Truncation};
pub use check::{Check, FailedCheck};
pub use data::{DataError, RowFormat, SchemaText, write_rows};
pub use datagen::{Generation, Options as DataOptions};
pub use dependents::COMPARISON_COMMENT;
pub use error::WorkloadError;
pub use folder::Folder;
pub use init_steps::Step;
pub use learn::{LearnError, Learned, learn, table_name};
pub use load::{
    InitOptions, InitProgress, InitReport, LoadLimit, Logging, Partitioning, Progress, ROWS_PER_PROGRESS,
    StepTime, reconnecting, rows_loaded, time_left,
};
pub use loaded_tables::{incomplete, loaded};
pub use loader::{RowSource, RowWriter};
pub use marks::Loaded;
pub use new_folder::new_folder;
pub use query_set::{Answer, IndexSet, Query, QueryChoice};
pub use registry::WorkloadName;
pub use schema_files::SchemaFiles;
pub use scripts::{PerMinute, Script};
pub use standard::{DrawnRows, Standard};
pub use stats::{PartitionMethod, Scale};
pub use tpcb::Tpcb;
pub use tpch::Tpch;
pub use workload::{Tables, Workload};
