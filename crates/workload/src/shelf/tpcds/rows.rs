//! The rows of the 24 tables, made by the crate `tpcdsgen` in chunks: of orders for the tables of sales and returns. They
//! depend on the scale alone.

use std::fmt::{Display, Write as _};
use std::ops::RangeInclusive;
use std::sync::Arc;

use stats::Scale;
use tpcdsgen::config::{Session, SessionBuilder, Table};
use tpcdsgen::row;

use loading::loader::execution::{LoadTable, RowSource, RowWriter};

use crate::shelf::computed::rows_by;

/// All tables; the largest come first, so that the keys of one are built while the next one is loaded.
pub(super) const TABLES: [Table; 24] = [
    Table::StoreSales,
    Table::Inventory,
    Table::CatalogSales,
    Table::WebSales,
    Table::StoreReturns,
    Table::CustomerDemographics,
    Table::CatalogReturns,
    Table::WebReturns,
    Table::Customer,
    Table::CustomerAddress,
    Table::TimeDim,
    Table::DateDim,
    Table::Item,
    Table::CatalogPage,
    Table::HouseholdDemographics,
    Table::Promotion,
    Table::Reason,
    Table::WebPage,
    Table::WebSite,
    Table::CallCenter,
    Table::Store,
    Table::Warehouse,
    Table::IncomeBand,
    Table::ShipMode,
];

/// Rows of all tables at a scale.
pub(super) fn all(scale: Scale) -> Vec<LoadTable> {
    let source = |table| Arc::new(TableRows { table, session: session(scale) });
    TABLES.map(|table| LoadTable::new(table.get_name(), source(table))).into()
}

/// The settings of the generator. Its own limits are wider than those of the workload.
pub(super) fn session(scale: Scale) -> Session {
    SessionBuilder::new().with_scale_factor(scale.units()).build().unwrap_or_default()
}

/// Items of an order of a table of sales, at least and at most (clause 3.4 of the specification).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Items {
    /// The table whose orders are counted.
    pub(super) orders: Table,
    pub(super) least: u64,
    pub(super) most: u64,
    /// One of this many items becomes a row: a tenth is returned.
    pub(super) one_of: u64,
}

impl Items {
    /// Those of a table; `None` if the number of rows is known.
    pub(super) fn new(table: Table) -> Option<Items> {
        let (orders, least, most, one_of) = match table {
            Table::StoreSales => (Table::StoreSales, 8, 16, 1),
            Table::StoreReturns => (Table::StoreSales, 8, 16, 10),
            Table::CatalogSales => (Table::CatalogSales, 4, 14, 1),
            Table::CatalogReturns => (Table::CatalogSales, 4, 14, 10),
            Table::WebSales => (Table::WebSales, 8, 16, 1),
            Table::WebReturns => (Table::WebSales, 8, 16, 10),
            _ => return None,
        };
        Some(Items { orders, least, most, one_of })
    }
}

/// The rows of a table at a scale.
#[derive(Debug)]
struct TableRows {
    table: Table,
    session: Session,
}

impl TableRows {
    /// What is divided into chunks: orders, or the rows themselves.
    fn sources(&self) -> u64 {
        let of = Items::new(self.table).map_or(self.table, |items| items.orders);
        self.session.get_scaling().get_row_count(of)
    }

    /// Whether rows repeat values of the row before, so that they must be made in one piece.
    fn has_history(&self) -> bool {
        matches!(self.table, Table::CallCenter | Table::Item | Table::Store | Table::WebPage | Table::WebSite)
    }

    /// The sources of a chunk, counted from 1.
    fn range(&self, number: u32, chunks: u32) -> RangeInclusive<u64> {
        let sources = self.sources();
        if self.has_history() {
            let first = if number == 0 { 1 } else { sources + 1 };
            return first..=sources;
        }
        let bound = |number: u32| {
            let source = u128::from(sources) * u128::from(number) / u128::from(chunks);
            u64::try_from(source).unwrap_or(sources)
        };
        bound(number) + 1..=bound(number + 1)
    }
}

impl RowSource for TableRows {
    fn rows(&self) -> u64 {
        let sources = self.sources();
        let items = |items: Items| sources * ((items.least + items.most) / 2) / items.one_of;
        Items::new(self.table).map_or(sources, items)
    }

    fn writer(&self, number: u32, chunks: u32) -> Box<dyn RowWriter + '_> {
        let range = self.range(number, chunks);
        macro_rules! rows {
            ($generator:ident) => {{
                let mut rows = row::$generator::new(self.session.clone(), self.sources());
                if !range.is_empty() {
                    rows.set_source_row_range(*range.start(), *range.end());
                }
                writer(rows.take(if range.is_empty() { 0 } else { usize::MAX }))
            }};
        }
        match self.table {
            Table::CallCenter => rows!(CallCenterRowGenerator),
            Table::CatalogPage => rows!(CatalogPageRowGenerator),
            Table::CatalogReturns => rows!(CatalogReturnsRowGenerator),
            Table::CatalogSales => rows!(CatalogSalesRowGenerator),
            Table::Customer => rows!(CustomerRowGenerator),
            Table::CustomerAddress => rows!(CustomerAddressRowGenerator),
            Table::CustomerDemographics => rows!(CustomerDemographicsRowGenerator),
            Table::DateDim => rows!(DateDimRowGenerator),
            Table::HouseholdDemographics => rows!(HouseholdDemographicsRowGenerator),
            Table::IncomeBand => rows!(IncomeBandRowGenerator),
            Table::Inventory => rows!(InventoryRowGenerator),
            Table::Item => rows!(ItemRowGenerator),
            Table::Promotion => rows!(PromotionRowGenerator),
            Table::Reason => rows!(ReasonRowGenerator),
            Table::ShipMode => rows!(ShipModeRowGenerator),
            Table::Store => rows!(StoreRowGenerator),
            Table::StoreReturns => rows!(StoreReturnsRowGenerator),
            Table::StoreSales => rows!(StoreSalesRowGenerator),
            Table::TimeDim => rows!(TimeDimRowGenerator),
            Table::Warehouse => rows!(WarehouseRowGenerator),
            Table::WebPage => rows!(WebPageRowGenerator),
            Table::WebReturns => rows!(WebReturnsRowGenerator),
            Table::WebSales => rows!(WebSalesRowGenerator),
            Table::WebSite => rows!(WebSiteRowGenerator),
            Table::DbgenVersion => writer(std::iter::empty::<String>()),
        }
    }
}

fn writer<'a>(mut rows: impl Iterator<Item: Display> + 'a) -> Box<dyn RowWriter + 'a> {
    // A row as the generator shows it: each field ends with `|`.
    let mut line = String::new();
    rows_by(move |out| {
        let row = rows.next()?;
        line.clear();
        // Writing to memory does not fail.
        let _ = write!(line, "{row}");
        copy_line(&line, out);
        Some(1)
    })
}

/// A row in the text format of COPY. No text has a character that COPY would need escaped, which a test checks.
fn copy_line(line: &str, out: &mut Vec<u8>) {
    for field in line.strip_suffix('|').unwrap_or(line).split('|') {
        match field {
            // Two tables have the word instead of an empty field.
            "" | "NULL" => out.extend_from_slice(b"\\N"),
            value => out.extend_from_slice(value.as_bytes()),
        }
        out.push(b'\t');
    }
    if let Some(last) = out.last_mut() {
        *last = b'\n';
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shelf::computed::tests::{MANY, check_chunks, some_of};

    #[test]
    fn rows_are_lines_of_copy() {
        let mut out = Vec::new();
        copy_line("1|AB||NULL|x y|", &mut out);
        assert_eq!(out, b"1\tAB\t\\N\t\\N\tx y\n");
    }

    #[test]
    fn texts_need_no_escape_and_any_number_of_chunks_has_the_same_rows() {
        for table in TABLES {
            let source = TableRows { table, session: session("0.01".parse().expect("a scale")) };
            let chunks = u32::try_from(source.sources() / 200).unwrap_or(MANY).clamp(1, MANY);
            let text = check_chunks(&source, &some_of(chunks), chunks);
            let mut fields = text.split(['\t', '\n']);
            assert!(fields.all(|field| field == "\\N" || !field.contains('\\')), "{table:?} has a backslash");
        }
    }

    #[test]
    fn chunks_follow_each_other_and_have_all_rows() {
        for table in TABLES {
            let source = TableRows { table, session: session("0.01".parse().expect("a scale")) };
            for chunks in [1, 2, 7, MANY] {
                let mut last = 0;
                for range in (0..chunks).map(|number| source.range(number, chunks)) {
                    assert_eq!(*range.start(), last + 1, "{table:?} in {chunks} chunks");
                    last = *range.end();
                }
                assert_eq!(last, source.sources(), "{table:?} in {chunks} chunks");
            }
        }
    }

    #[test]
    fn the_numbers_of_rows_at_scale_1_are_those_of_the_specification() {
        let rows = |table| TableRows { table, session: session(Scale::ONE) }.rows();
        for (table, expected) in [
            (Table::CallCenter, 6),
            (Table::CatalogPage, 11_718),
            (Table::Customer, 100_000),
            (Table::CustomerAddress, 50_000),
            (Table::CustomerDemographics, 1_920_800),
            (Table::DateDim, 73_049),
            (Table::HouseholdDemographics, 7_200),
            (Table::IncomeBand, 20),
            (Table::Inventory, 11_745_000),
            (Table::Item, 18_000),
            (Table::Promotion, 300),
            (Table::ShipMode, 20),
            (Table::Store, 12),
            (Table::TimeDim, 86_400),
            (Table::Warehouse, 5),
            (Table::WebPage, 60),
            (Table::WebSite, 30),
        ] {
            assert_eq!(rows(table), expected, "{table:?}");
        }
        // Items of orders are drawn: 2,880,404, 1,441,548 and 719,384 rows of sales.
        assert_eq!(
            [Table::StoreSales, Table::CatalogSales, Table::WebSales].map(rows),
            [2_880_000, 1_440_000, 720_000]
        );
    }

    #[test]
    fn every_table_is_loaded_once() {
        let mut names: Vec<&str> = TABLES.iter().map(Table::get_name).collect();
        names.sort_unstable();
        let schema = include_str!("schema.sql");
        let mut created: Vec<&str> =
            schema.lines().filter_map(|line| line.strip_prefix("CREATE TABLE ")?.strip_suffix('(')).collect();
        created.sort_unstable();
        assert_eq!(names, created);
    }
}
