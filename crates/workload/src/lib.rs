//! What a run works on: the built-in scripts, the TPC-B-like tables, and the loader that fills them.
//!
//! The same scripts, tables and rows as `pgbench` and `pgbench -i`. No load is made here (that is
//! the engine's work) and nothing is printed: `cli` calls this crate and shows what it returns.

mod builtin;
mod connection;
mod crew;
mod error;
mod init;
mod memory;
mod options;
mod prepare;
mod rows;
mod schema;
mod stage;
mod standing;
mod step;
mod stopwatch;

pub use builtin::{BUILTINS, Builtin, builtin, builtin_list};
pub use error::WorkloadError;
pub use init::{InitProgress, InitReport, ROWS_PER_PROGRESS, StepTime, init};
pub use options::{InitOptions, Logging};
pub use prepare::{Tables, detect_scale, detect_tables, prepare_run, vacuum_accounts};
pub use schema::{PartitionMethod, Partitioning, Table};
pub use step::{STEPS, Step, StepFacts};
