//! The interface between generators of rows and the loader. A generator is split into chunks, which are loaded in
//! parallel.

use std::fmt::Debug;

/// The rows of a table.
pub trait RowSource: Debug + Send + Sync {
    /// The expected number of rows, for the order of the work and for the progress.
    fn rows(&self) -> u64;

    /// Chunk `number`, counted from 0, of `chunks`: consecutive rows. All chunks together are the same rows for any
    /// number of chunks. Called again if the chunk has to be repeated.
    fn writer(&self, number: u32, chunks: u32) -> Box<dyn RowWriter + '_>;
}

/// Writes the rows of a chunk in their order.
pub trait RowWriter {
    /// Appends some rows in the text format of COPY, about 64 KB, and returns their number; 0 at the end.
    fn write(&mut self, out: &mut Vec<u8>) -> u64;
}
