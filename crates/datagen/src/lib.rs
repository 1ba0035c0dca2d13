//! Rows for any schema. Pure: no socket, file, thread or clock.
//!
//! [`Schema::new`] takes the tables from a [`Description`] of a server's catalogs, and the directives (datafiller's
//! language) from the comments of the SQL text that the server has executed.
//! [`Generation::new`] compiles a generator for each column, and [`TableRows::write_copy`] writes any range of rows in
//! COPY's text format. A value depends on (seed, table, column, row) alone, so chunks may be made in any order, and a
//! column that is added later changes no other.

mod description;
mod directive;
mod error;
mod generation;
mod generator;
mod histogram;
mod schema;

pub use description::{
    CheckDescription, ColumnDescription, Description, KeptRows, KeyDescription, Partitioning,
    ReferenceDescription, Special, TableDescription, TypeDescription, TypeKind,
};
pub use error::Error;
pub use generation::{ColumnSummary, Explanation, Generation, NoFiles, Options, Sequence, TableRows};
pub use generator::{Files, correlation_directive};
pub use histogram::Histogram;
pub use schema::{
    Included, Judgement, OwnDirective, Permitted, ReadIncluded, Reference, Schema, Source, Statement,
    StatementKind, Unreadable, statements,
};
