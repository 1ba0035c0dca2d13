//! The split of texts into statements, compared with psql's.

mod psql;
