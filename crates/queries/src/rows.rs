//! The rows of an execution. They are only copied while the clock runs; counting, hashing and writing follow when the
//! last row has arrived, or when the copies reach their limit.

use std::io;

use connect::{Column, RowSink};

use crate::answer_file::AnswerFile;
use crate::checksum::{Checksum, ValueKind};

/// Maximum size of the copied rows. Of a larger answer, the rest is hashed within the measured time.
const COPIED_MAX: usize = 64 * 1024 * 1024;
/// Length of NULL in the copies.
const NULL: u32 = u32::MAX;

/// The rows of one answer.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// For each row the number of values, then their lengths and bytes.
    copied: Vec<u8>,
    columns: Vec<Column>,
    checksum: Checksum,
    /// The file that gets the rows, if any, until it fails.
    file: Option<AnswerFile>,
    failure: Option<io::Error>,
}

/// A complete answer.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) rows: u64,
    pub(crate) checksum: String,
}

impl Rows {
    pub(crate) fn new(file: Option<AnswerFile>) -> Rows {
        Rows { file, ..Rows::default() }
    }

    /// The answer after the last row; the second value is the error of its file.
    pub(crate) fn finish(mut self) -> (Finished, Option<io::Error>) {
        self.digest();
        if let Some(file) = self.file.take() {
            self.failure = file.publish().err();
        }
        (Finished { rows: self.checksum.rows(), checksum: self.checksum.to_string() }, self.failure)
    }

    /// Hashes and writes the copied rows.
    fn digest(&mut self) {
        let mut copied: &[u8] = &self.copied;
        let mut values = Vec::with_capacity(self.columns.len());
        while let Some(count) = take_number(&mut copied) {
            values.clear();
            for _ in 0..count {
                values.push(take_value(&mut copied));
            }
            self.checksum.add(values.iter().copied());
            if let Some(file) = &mut self.file
                && let Err(error) = file.add(&values)
            {
                self.file = None;
                self.failure = Some(error);
            }
        }
        self.copied.clear();
    }
}

fn take_number(copied: &mut &[u8]) -> Option<u32> {
    let (number, rest) = copied.split_first_chunk()?;
    *copied = rest;
    Some(u32::from_le_bytes(*number))
}

fn take_value<'a>(copied: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = take_number(copied).filter(|length| *length != NULL)?;
    let (value, rest) = copied.split_at_checked(length as usize)?;
    *copied = rest;
    Some(value)
}

impl RowSink for Rows {
    fn columns(&mut self, columns: Vec<Column>) {
        // Only the last result set is the answer.
        self.copied.clear();
        self.checksum = Checksum::new(columns.iter().map(|column| ValueKind::new(column.type_oid)).collect());
        if let Some(file) = &mut self.file
            && let Err(error) = file.begin(&columns)
        {
            self.file = None;
            self.failure = Some(error);
        }
        self.columns = columns;
    }

    fn row(&mut self, values: &[Option<&[u8]>]) {
        // A row has at most 1,664 values, and a value at most 1 GiB.
        let number = |length: usize| u32::try_from(length).unwrap_or(NULL).to_le_bytes();
        self.copied.extend_from_slice(&number(values.len()));
        for value in values {
            match value {
                Some(value) => {
                    self.copied.extend_from_slice(&number(value.len()));
                    self.copied.extend_from_slice(value);
                }
                None => self.copied.extend_from_slice(&NULL.to_le_bytes()),
            }
        }
        if self.copied.len() > COPIED_MAX {
            self.digest();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<Column> {
        ["a", "b"].map(|name| Column { name: name.to_owned(), type_oid: 1700 }).into()
    }

    #[test]
    fn copied_rows_have_the_checksum_of_the_rows_themselves() {
        let values: [[Option<&[u8]>; 2]; 3] =
            [[Some(b"1.50"), None], [Some(b""), Some(b"x\0y")], [None, Some(&[7; 70_000])]];
        let mut rows = Rows::new(None);
        // An earlier result set does not count.
        rows.columns(columns());
        rows.row(&[Some(b"other"), None]);
        rows.columns(columns());
        let mut expected = Checksum::new(vec![ValueKind::Numeric; 2]);
        for row in &values {
            rows.row(row);
            expected.add(row.iter().copied());
        }
        let (finished, failure) = rows.finish();
        assert_eq!((finished.rows, finished.checksum), (3, expected.to_string()));
        assert!(failure.is_none());
    }
}
