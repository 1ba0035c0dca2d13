//! What a workload is, and how its tables are created, filled, protected and checked.
//!
//! [`contract`] has the interface [`Workload`] and the files of a workload; [`loader`] creates and fills the tables. Which
//! workloads are built in is not known here: the crate `workload` has them, and passes this crate's types on to its callers.

pub mod contract;
pub mod loader;

pub use contract::error::WorkloadError;
pub use contract::query_set::{Answer, IndexSet, Query, QueryChoice};
pub use contract::workload::Workload;
pub use loader::schema_files::SchemaFiles;
