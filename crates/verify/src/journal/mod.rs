//! The journal of a run: a directory with a description of the run and one file for each worker. A file consists of
//! blocks, one for each pass of the worker's loop, each with its length and checksums. Blocks are only appended; the last one
//! may be torn if pgmeter was killed. Everything that was sent was written before, so a torn block describes nothing that
//! the server has seen.

mod description;
mod directory;
mod format;
mod reader;
mod writer;

pub use description::Description;
pub use directory::{Journal, Journals};
pub use format::{BLOCK_HEADER, CommitOutcome, Entry, FILE_HEADER, TokenKey};
pub use reader::{Attempt, Attempts};
pub use writer::JournalFile;
