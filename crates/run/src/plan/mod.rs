//! The plan of a run: the run whose specification was checked, and facts from its servers before it begins: their
//! addresses, its statements, the tables that these use, and the settings in force.

pub(crate) mod descriptors;
pub(crate) mod places;
pub(crate) mod relations;
pub(crate) mod runner;
pub(crate) mod session_settings;
pub(crate) mod statement_check;
pub(crate) mod table_preparation;
