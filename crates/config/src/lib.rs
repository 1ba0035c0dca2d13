//! Files that users write for pgmeter: TOML with the places of its values, and files beside it.
//!
//! `lab` reads experiments with it, `workload` reads workloads. Every mistake is one line: file, line, column, what is
//! wrong and what would be right.

mod document;
mod files;

pub use document::{
    Complaint, Entry, Node, Place, Table, Value, nearest, read, turns_direction, unknown_key,
};
pub use files::{Folder, text_of};

/// Something in a file is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {what}")]
pub struct FileError {
    /// As it was named.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// What is wrong there, and what would be right.
    pub what: String,
}
