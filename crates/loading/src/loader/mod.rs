//! Creates, fills and checks the tables of workloads: `execution` loads any list of tables over several connections,
//! `generated` makes this list of a schema, `protection` keeps objects of others as they are, and `folder` is a workload of a
//! user.

pub mod before_run;
pub mod catalogs;
pub mod data;
pub(crate) mod enum_values;
pub mod execution;
pub mod folder;
pub mod generated;
pub mod loaded_tables;
pub(crate) mod mark_checks;
pub mod protection;
pub(crate) mod run_checks;
pub mod schema_files;
pub(crate) mod schema_load;
pub(crate) mod unavailable;
