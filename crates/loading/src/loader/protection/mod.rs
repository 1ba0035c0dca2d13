//! Protects objects that the loading did not make: existing objects are compared before and after each statement, and a
//! statement that changes those of others is rolled back.

pub(crate) mod acting_on_all;
pub(crate) mod completion;
pub(crate) mod concurrent_forms;
pub mod dependents;
pub(crate) mod existing_objects;
pub mod existing_tables;
pub(crate) mod foreign_definitions;
pub(crate) mod foreign_objects;
pub(crate) mod foreign_parts;
pub mod init_lock;
pub(crate) mod sequences;
pub(crate) mod step_guard;
pub(crate) mod user_functions;
