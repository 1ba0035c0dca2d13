//! The rows of the tables as COPY text: written one after the other into a buffer that is used again,
//! so that a row costs no allocation. What a row holds depends on its number only.

use std::fmt;
use std::ops::Range;

use loading::loader::execution::{RowSource, RowWriter};

use super::schema::{ACCOUNTS, ACCOUNTS_PER_BRANCH, BRANCHES, TELLERS, TELLERS_PER_BRANCH, Table};

/// A table and the function that writes its row number `k`, counted from 0.
#[derive(Debug)]
pub(crate) struct PgbenchRows {
    pub table: Table,
    pub write: fn(k: u64, numbers: &mut itoa::Buffer, out: &mut Vec<u8>),
}

/// Rows written before they are sent: few enough for the CPU cache.
const ROWS_PER_BUFFER: u64 = 1000;

/// Rows of a table by their numbers. They are always one chunk.
pub(crate) struct NumberedRows {
    pub rows: &'static PgbenchRows,
    /// Counted from 0 through the whole table.
    pub numbers: Range<u64>,
}

impl fmt::Debug for NumberedRows {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.numbers.fmt(out)
    }
}

impl RowSource for NumberedRows {
    fn rows(&self) -> u64 {
        self.numbers.end - self.numbers.start
    }

    fn writer(&self, _number: u32, _chunks: u32) -> Box<dyn RowWriter + '_> {
        Box::new(NumberedWriter { rows: self.rows, left: self.numbers.clone(), numbers: itoa::Buffer::new() })
    }
}

struct NumberedWriter {
    rows: &'static PgbenchRows,
    left: Range<u64>,
    numbers: itoa::Buffer,
}

impl RowWriter for NumberedWriter {
    fn write(&mut self, out: &mut Vec<u8>) -> u64 {
        let end = self.left.end.min(self.left.start + ROWS_PER_BUFFER);
        let next = self.left.start..end;
        self.left.start = end;
        for k in next.clone() {
            (self.rows.write)(k, &mut self.numbers, out);
        }
        next.end - next.start
    }
}

pub(crate) const BRANCH_ROWS: PgbenchRows = PgbenchRows { table: BRANCHES, write: write_branch };
pub(crate) const TELLER_ROWS: PgbenchRows = PgbenchRows { table: TELLERS, write: write_teller };
pub(crate) const ACCOUNT_ROWS: PgbenchRows = PgbenchRows { table: ACCOUNTS, write: write_account };
/// The tables that have rows from the start, in the order in which they are filled.
pub(crate) const FILLED: [&PgbenchRows; 3] = [&BRANCH_ROWS, &TELLER_ROWS, &ACCOUNT_ROWS];

/// `bid, bbalance, filler`: a number, nothing on the account, no filler.
fn write_branch(k: u64, numbers: &mut itoa::Buffer, out: &mut Vec<u8>) {
    out.extend_from_slice(numbers.format(k + 1).as_bytes());
    out.extend_from_slice(b"\t0\t\\N\n");
}

/// `tid, bid, tbalance, filler`: ten tellers to a branch, no filler.
fn write_teller(k: u64, numbers: &mut itoa::Buffer, out: &mut Vec<u8>) {
    write_numbers(k + 1, k / TELLERS_PER_BRANCH + 1, numbers, out);
    out.extend_from_slice(b"\t0\t\\N\n");
}

/// `aid, bid, abalance, filler`: 100,000 accounts to a branch; the filler is empty, which the column pads.
fn write_account(k: u64, numbers: &mut itoa::Buffer, out: &mut Vec<u8>) {
    write_numbers(k + 1, k / ACCOUNTS_PER_BRANCH + 1, numbers, out);
    out.extend_from_slice(b"\t0\t\n");
}

fn write_numbers(own: u64, branch: u64, numbers: &mut itoa::Buffer, out: &mut Vec<u8>) {
    out.extend_from_slice(numbers.format(own).as_bytes());
    out.push(b'\t');
    out.extend_from_slice(numbers.format(branch).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(table: Table, k: u64, expected: &str) {
        let rows = FILLED.iter().find(|rows| rows.table == table).expect("a table with rows");
        let mut out = Vec::new();
        (rows.write)(k, &mut itoa::Buffer::new(), &mut out);
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }

    #[test]
    fn branches_have_a_number_and_no_filler() {
        check(BRANCHES, 0, "1\t0\t\\N\n");
        check(BRANCHES, 41, "42\t0\t\\N\n");
    }

    #[test]
    fn ten_tellers_work_at_each_branch() {
        check(TELLERS, 9, "10\t1\t0\t\\N\n");
        check(TELLERS, 10, "11\t2\t0\t\\N\n");
    }

    #[test]
    fn a_hundred_thousand_accounts_belong_to_each_branch() {
        check(ACCOUNTS, 99_999, "100000\t1\t0\t\n");
        check(ACCOUNTS, 100_000, "100001\t2\t0\t\n");
        check(ACCOUNTS, 4_999_999_999, "5000000000\t50000\t0\t\n");
    }
}
