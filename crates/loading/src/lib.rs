//! The definition of workloads, and the loading, protection and checks of their tables.
//!
//! [`contract`] has the interface [`Workload`] and the files of a workload; [`loader`] creates and fills the tables.
//! The built-in workloads are in the crate `workload`, which re-exports the types of this crate.

pub mod contract;
pub mod loader;

pub use contract::error::WorkloadError;
pub use contract::query_set::{Answer, IndexSet, Query, QueryChoice};
pub use contract::workload::Workload;
pub use loader::schema_files::SchemaFiles;
