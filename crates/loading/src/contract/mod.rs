//! The definition of a workload: the interface, the file workload.toml with the files beside it, options and reports of
//! loading, and the marks of the tables that `init` made. Nothing here creates tables; `loader` does.

pub mod about;
pub mod archives;
pub mod check;
pub(crate) mod digests;
pub mod error;
pub mod init_steps;
pub mod load;
pub(crate) mod manifest;
pub mod marks;
pub mod names;
pub(crate) mod object_kinds;
pub(crate) mod query_files;
pub mod query_set;
pub mod scripts;
pub(crate) mod sql_file;
pub mod sql_names;
pub mod standard;
pub mod table_name;
pub mod text_table;
pub mod unsupported;
pub(crate) mod user_files;
pub mod workload;
