//! The rows of the eight tables, made by the crate `tpchgen` in chunks: of orders for `lineitem`, of parts for
//! `partsupp`. They depend on the scale alone.

use stats::Scale;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};

use super::copy_row::{CopyRow, Line};
use super::schema::TpchTable;
use loading::loader::execution::{RowSource, RowWriter};

use crate::shelf::computed::rows_by;

/// The rows of a table at a scale.
#[derive(Debug)]
pub(super) struct TableRows {
    pub(super) table: TpchTable,
    pub(super) scale: Scale,
}

impl RowSource for TableRows {
    fn rows(&self) -> u64 {
        self.table.rows(self.scale)
    }

    /// The generator's first use in a process writes its pool of text: it takes about a second and 300 MB of memory.
    fn writer(&self, number: u32, chunks: u32) -> Box<dyn RowWriter + '_> {
        let scale = self.scale.units();
        let number = i32::try_from(number).unwrap_or(i32::MAX - 1);
        let (part, parts) = (number + 1, i32::try_from(chunks).unwrap_or(i32::MAX));
        // Region and nation have few rows, which are all in the first chunk.
        let only_first = if number == 0 { usize::MAX } else { 0 };
        match self.table {
            TpchTable::Region => writer(RegionGenerator::default().iter().take(only_first)),
            TpchTable::Nation => writer(NationGenerator::default().iter().take(only_first)),
            TpchTable::Part => writer(PartGenerator::new(scale, part, parts).iter()),
            TpchTable::Supplier => writer(SupplierGenerator::new(scale, part, parts).iter()),
            TpchTable::PartSupp => writer(PartSuppGenerator::new(scale, part, parts).iter()),
            TpchTable::Customer => writer(CustomerGenerator::new(scale, part, parts).iter()),
            TpchTable::Orders => writer(OrderGenerator::new(scale, part, parts).iter()),
            TpchTable::LineItem => writer(LineItemGenerator::new(scale, part, parts).iter()),
        }
    }
}

fn writer<'a>(mut rows: impl Iterator<Item: CopyRow> + 'a) -> Box<dyn RowWriter + 'a> {
    let mut numbers = itoa::Buffer::new();
    rows_by(move |out| {
        let row = rows.next()?;
        let mut line = Line::new(out, &mut numbers);
        row.write(&mut line);
        line.finish();
        Some(1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    use testkit::extent;

    use crate::shelf::computed::tests::{MANY, chunks_of};

    fn small(table: TpchTable) -> TableRows {
        TableRows { table, scale: "0.01".parse().expect("a scale") }
    }

    /// So many rows as the generator shows them.
    fn lines<Row: std::fmt::Display>(rows: impl Iterator<Item = Row>, count: u64) -> String {
        rows.take(usize::try_from(count).expect("few rows")).fold(String::new(), |mut text, row| {
            let _ = writeln!(text, "{row}");
            text
        })
    }

    #[test]
    fn the_fields_are_those_that_the_generator_shows() {
        for table in TpchTable::ALL {
            let source = small(table);
            // A tenth of the rows of large tables.
            let chunks = if source.rows() > u64::from(MANY) { extent::choose(10, 1) } else { 1 };
            let (rows, ours) = chunks_of(&source, 0..1, chunks);
            let shown = match table {
                TpchTable::Region => lines(RegionGenerator::default().iter(), rows),
                TpchTable::Nation => lines(NationGenerator::default().iter(), rows),
                TpchTable::Part => lines(PartGenerator::new(0.01, 1, 1).iter(), rows),
                TpchTable::Supplier => lines(SupplierGenerator::new(0.01, 1, 1).iter(), rows),
                TpchTable::PartSupp => lines(PartSuppGenerator::new(0.01, 1, 1).iter(), rows),
                TpchTable::Customer => lines(CustomerGenerator::new(0.01, 1, 1).iter(), rows),
                TpchTable::Orders => lines(OrderGenerator::new(0.01, 1, 1).iter(), rows),
                TpchTable::LineItem => lines(LineItemGenerator::new(0.01, 1, 1).iter(), rows),
            };
            assert_eq!(rows, ours.lines().count() as u64);
            assert!(!ours.contains('\\'), "{table:?}: COPY would read a backslash as an escape");
            assert!(ours.replace('\t', "|").replace('\n', "|\n") == shown, "{table:?}");
        }
    }

    #[test]
    fn any_number_of_chunks_has_the_same_rows_and_as_many_as_the_specification_says() {
        for table in TpchTable::ALL {
            let source = small(table);
            let whole = chunks_of(&source, 0..1, 1);
            let (rows, expected) = (whole.0, source.rows());
            if table == TpchTable::LineItem {
                assert_eq!((rows, expected), (60_175, 60_000), "4 per order on average");
            } else {
                assert_eq!(rows, expected, "{table:?}");
            }
            let few = if table == TpchTable::LineItem { &[7][..] } else { &[7, MANY] };
            for &chunks in extent::choose(few, &[2, 7, MANY]) {
                assert!(chunks_of(&source, 0..chunks, chunks) == whole, "{table:?} in {chunks} chunks");
            }
        }
    }
}
