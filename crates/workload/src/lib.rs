//! Workloads: scripts, the tables that they work on, and how these are made, prepared and checked.
//!
//! A [`Workload`] is a value: [`Tpcb`], the tables and scripts of `pgbench`, or a [`Folder`] with a workload.toml.
//! [`WorkloadName`] finds one by its name or its folder. No load is made here (that is the engine's work), and nothing
//! is printed.

mod error;
mod folder;
mod load;
mod loader;
mod manifest;
mod registry;
mod stopwatch;
pub mod tpcb;
mod workload;

pub use error::{FailedCheck, WorkloadError};
pub use folder::Folder;
pub use load::{
    InitOptions, InitProgress, InitReport, Logging, Progress, ROWS_PER_PROGRESS, StepTime, reconnecting,
    time_left,
};
pub use loader::{RowSource, RowWriter};
pub use registry::WorkloadName;
pub use stats::PartitionMethod;
pub use tpcb::{Partitioning, Step, Tpcb};
pub use workload::{Check, Script, Tables, Workload};
