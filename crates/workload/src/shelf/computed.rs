//! Rows that are computed one by one: a row depends on the seed, its table and its number alone, so chunks can be written
//! in any order.

use std::fmt;

use script::Random;

use loading::loader::execution::{LoadTable, RowSource, RowWriter};

/// Bytes after which a buffer of rows is sent.
const BUFFER_BYTES: usize = 64 * 1024;

/// The rows of a table, by units: one row, or several such as the lines of an order.
pub(super) struct ComputedRows<Write> {
    name: &'static str,
    units: u64,
    /// On average.
    rows_per_unit: u64,
    /// Appends the rows of a unit, and returns their number.
    write: Write,
}

/// A table whose line `number`, counted from 0, is appended by `row` in COPY's text format, without the line's end.
pub(super) fn table<Row>(name: &'static str, rows: u64, row: Row) -> LoadTable
where
    Row: Fn(u64, &mut Vec<u8>) + Send + Sync + 'static,
{
    let write = move |number, out: &mut Vec<u8>| {
        row(number, out);
        out.push(b'\n');
        1
    };
    table_of_units(name, (rows, 1), write)
}

/// A table of so many units with so many rows each on average. `write` appends the rows of a unit, counted from 0, with
/// the ends of their lines, and returns their number.
pub(super) fn table_of_units<Write>(
    name: &'static str,
    (units, rows_per_unit): (u64, u64),
    write: Write,
) -> LoadTable
where
    Write: Fn(u64, &mut Vec<u8>) -> u64 + Send + Sync + 'static,
{
    let source = std::sync::Arc::new(ComputedRows { name, units, rows_per_unit, write });
    LoadTable::new(name, source)
}

/// The random stream of a row, or of another thing with a number: `what` separates streams of one seed.
pub(super) fn stream(seed: u64, what: u64, number: u64) -> Random {
    let own = Random::from_seed(seed ^ what.rotate_left(48)).next_u64();
    Random::from_seed(own.wrapping_add(number))
}

impl<Write> ComputedRows<Write> {
    fn row_count(&self) -> u64 {
        self.units.saturating_mul(self.rows_per_unit)
    }
}

impl<Write> fmt::Debug for ComputedRows<Write> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} rows of {}", self.row_count(), self.name)
    }
}

impl<Write: Fn(u64, &mut Vec<u8>) -> u64 + Send + Sync> RowSource for ComputedRows<Write> {
    fn rows(&self) -> u64 {
        self.row_count()
    }

    fn writer(&self, number: u32, chunks: u32) -> Box<dyn RowWriter + '_> {
        let first_of = |chunk: u32| {
            let unit = u128::from(self.units) * u128::from(chunk) / u128::from(chunks);
            u64::try_from(unit).unwrap_or(self.units)
        };
        let mut units = first_of(number)..first_of(number + 1);
        rows_by(move |out| units.next().map(|unit| (self.write)(unit, out)))
    }
}

/// Writes rows with a function that appends one or several rows, and returns their number; `None` at the end.
pub(super) fn rows_by<'a>(next: impl FnMut(&mut Vec<u8>) -> Option<u64> + 'a) -> Box<dyn RowWriter + 'a> {
    Box::new(NextRows(next))
}

struct NextRows<Next>(Next);

impl<Next: FnMut(&mut Vec<u8>) -> Option<u64>> RowWriter for NextRows<Next> {
    fn write(&mut self, out: &mut Vec<u8>) -> u64 {
        let (mut written, full) = (0, out.len() + BUFFER_BYTES);
        while out.len() < full {
            let Some(rows) = (self.0)(out) else { break };
            written += rows;
        }
        written
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::ops::Range;

    use testkit::extent;

    use super::*;

    /// Chunks into which tests divide tables with many rows, to look at some of them.
    pub(in crate::shelf) const MANY: u32 = 1000;

    /// All rows of a table, made in this number of chunks.
    pub(in crate::shelf) fn text(table: &LoadTable, chunks: u32) -> String {
        chunks_of(&*table.source, 0..chunks, chunks).1
    }

    /// The number and the text of the rows in some of this number of chunks.
    pub(in crate::shelf) fn chunks_of(
        source: &dyn RowSource,
        numbers: Range<u32>,
        chunks: u32,
    ) -> (u64, String) {
        let (mut out, mut rows) = (Vec::new(), 0);
        for number in numbers {
            let mut writer = source.writer(number, chunks);
            while let written @ 1.. = writer.write(&mut out) {
                rows += written;
            }
        }
        (rows, String::from_utf8(out).expect("UTF-8"))
    }

    /// Of many chunks, those with the first, the last and other rows; all where the tests look at everything.
    pub(in crate::shelf) fn some_of(chunks: u32) -> Vec<u32> {
        let some = [0, 1, chunks / 3, chunks / 2, chunks - 1];
        extent::choose(some.to_vec(), (0..chunks).collect())
    }

    /// Chunks have the same rows as seven times as many chunks. Returns the text of the former.
    pub(in crate::shelf) fn check_chunks(source: &dyn RowSource, numbers: &[u32], chunks: u32) -> String {
        let compared = numbers.iter().map(|&number| {
            let whole = chunks_of(source, number..number + 1, chunks);
            let parts = chunks_of(source, 7 * number..7 * number + 7, 7 * chunks);
            assert!(whole == parts, "{source:?}: chunk {number} of {chunks}, and its parts");
            whole.1
        });
        compared.collect()
    }

    #[test]
    fn any_number_of_chunks_has_the_same_rows() {
        let row = |number: u64, out: &mut Vec<u8>| {
            out.extend_from_slice(stream(7, 1, number).next_u64().to_string().as_bytes());
        };
        let whole = text(&table("t", 10_000, row), 1);
        assert_eq!(whole.lines().count(), 10_000);
        for chunks in [2, 3, 999, 20_000] {
            assert_eq!(text(&table("t", 10_000, row), chunks), whole, "{chunks} chunks");
        }
    }

    #[test]
    fn streams_differ_by_seed_subject_and_number() {
        let firsts = [(1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2)].map(|(a, b, c)| stream(a, b, c).next_u64());
        for (place, first) in firsts.iter().enumerate() {
            assert!(!firsts[place + 1..].contains(first));
        }
    }
}
