//! Configuration files written by users: TOML with the positions of its values, and related files.
//!
//! `experiment` reads experiments with it, `loading` reads workloads. Every error is one line: file, line, column, problem
//! and remedy.

mod command_line;
mod document;
mod files;
mod inputs;
mod numbers;
mod output_folder;
mod outputs;
mod shell;

pub use command_line::{Mistake, corrected_command};
pub use document::{
    Complaint, Entry, Node, Place, Table, Value, nearest, read, turns_direction, unknown_key,
};
pub use files::{Folder, bytes_of, similar_file, text_of};
pub use inputs::{Input, InputInterrupted, interrupt_inputs, open_input, open_regular, open_stdin};
pub use numbers::in_plain_words;
pub use output_folder::OutputFolder;
pub use outputs::{check_output, create_output, create_output_of, replace_output};
pub use shell::shell_word;

/// An error in a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {what}")]
pub struct FileError {
    /// Its name as given.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// The problem and the remedy.
    pub what: String,
}
