//! Tables before a run: loading them, the space that this needs, and the locks and leftovers by which commands that
//! change a database know of each other.

pub(crate) mod database_use;
pub(crate) mod left_changes;
pub(crate) mod loading;
pub(crate) mod space;
