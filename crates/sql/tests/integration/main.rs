//! The public interface as other crates use it: the split of texts into statements, compared with psql's. Needs psql, and
//! says so without it.

mod psql;
