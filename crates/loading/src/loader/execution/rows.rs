//! The interface between generators of rows and the loader. A generator is split into chunks, which are loaded in
//! parallel.

use std::fmt::Debug;
use std::ops::Range;

/// The rows of a table.
pub trait RowSource: Debug + Send + Sync {
    /// The expected number of rows, for the order of the work and for the progress.
    fn rows(&self) -> u64;

    /// Chunk `number`, counted from 0, of `chunks`: consecutive rows. All chunks together are the same rows for any
    /// number of chunks. Called again if the chunk has to be repeated.
    fn writer(&self, number: u32, chunks: u32) -> Box<dyn RowWriter + '_>;

    /// Appends the rows of these numbers, drawn for the attempt of this number, counted from 0, as COPY text. Each ends
    /// with a line feed. Returns their number: that of `rows`, or 0 if the source cannot draw single rows.
    fn write_again(&self, _attempt: u32, _rows: Range<u64>, _out: &mut Vec<u8>) -> u64 {
        0
    }
}

/// Writes the rows of a chunk in their order.
pub trait RowWriter {
    /// Appends some rows in the text format of COPY, about 64 KB, and returns their number; 0 at the end.
    fn write(&mut self, out: &mut Vec<u8>) -> u64;
}
