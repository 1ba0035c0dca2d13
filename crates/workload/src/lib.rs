//! Workloads: scripts, the tables that they work on, and how these are made, prepared and checked.
//!
//! A [`Workload`] is a value: [`Tpcb`], the tables and scripts of `pgbench`, another one of the shelf, or a [`Folder`] of a
//! user. [`WorkloadName`] finds one by its name or its folder. The crate `loading` has the interface and the loader. No load
//! is made here (that is the engine's work), and nothing is printed.

pub mod listing;
mod new_folder;
mod registry;
mod shelf;

pub use datagen::{Generation, Options as DataOptions};
pub use loading::contract::about::About;
pub use loading::contract::archives::NamedArchive;
pub use loading::contract::check::{Check, FailedCheck};
pub use loading::contract::error::WorkloadError;
pub use loading::contract::init_steps::Step;
pub use loading::contract::load::{
    InitOptions, InitProgress, InitReport, LoadLimit, Logging, Partitioning, Progress, ROWS_PER_PROGRESS,
    StepTime, reconnecting, rows_loaded, time_left,
};
pub use loading::contract::marks::Loaded;
pub use loading::contract::query_set::{Answer, IndexSet, Query, QueryChoice};
pub use loading::contract::scripts::{PerMinute, Script};
pub use loading::contract::standard::{DrawnRows, Standard};
pub use loading::contract::workload::{TablePreparation, Tables, Workload};
pub use loading::loader::before_run::{Preparation, PreparedRun, Truncation};
pub use loading::loader::data::{DataError, RowFormat, SchemaText, write_rows};
pub use loading::loader::execution::{RowSource, RowWriter};
pub use loading::loader::folder::Folder;
pub use loading::loader::loaded_tables::{incomplete, loaded};
pub use loading::loader::protection::dependents::COMPARISON_COMMENT;
pub use loading::loader::schema_files::SchemaFiles;
pub use new_folder::new_folder;
pub use registry::{WorkloadName, read_folder};
pub use shelf::tpcb::{self, Tpcb};
pub use shelf::tpch::Tpch;
pub use stats::{PartitionMethod, Scale};
