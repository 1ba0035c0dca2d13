//! The tables, their number of rows, and the index sets. All names and SQL of the tables are here and in schema.sql,
//! apart from the queries.

use std::borrow::Cow;

use stats::Scale;

use crate::query_set::IndexSet;

/// CREATE TABLE of all tables.
pub(super) const SCHEMA: &str = include_str!("schema.sql");

/// A table.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Region,
    Nation,
    Part,
    Supplier,
    PartSupp,
    Customer,
    Orders,
    LineItem,
}

impl Table {
    /// All, referenced tables before those that reference them.
    pub(super) const ALL: [Table; 8] = [
        Table::Region,
        Table::Nation,
        Table::Part,
        Table::Supplier,
        Table::PartSupp,
        Table::Customer,
        Table::Orders,
        Table::LineItem,
    ];

    /// Its name in SQL.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Table::Region => "region",
            Table::Nation => "nation",
            Table::Part => "part",
            Table::Supplier => "supplier",
            Table::PartSupp => "partsupp",
            Table::Customer => "customer",
            Table::Orders => "orders",
            Table::LineItem => "lineitem",
        }
    }

    /// Rows at scale 1 (clause 4.2.5 of the specification); `None` if they do not grow with the scale.
    pub(super) const fn rows_per_scale(self) -> Option<u32> {
        match self {
            Table::Region | Table::Nation => None,
            Table::Part => Some(200_000),
            Table::Supplier => Some(10_000),
            Table::PartSupp => Some(800_000),
            Table::Customer => Some(150_000),
            Table::Orders => Some(1_500_000),
            Table::LineItem => Some(6_000_000),
        }
    }

    /// Rows at a scale. An order has 1 to 7 line items, 4 on average: the number of line items is an estimate.
    pub(super) fn rows(self, scale: Scale) -> u64 {
        // As the generator calculates: parts and orders are whole, and partsupp and lineitem follow them.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a scale is at least 0")]
        let scaled = |rows: u32| (f64::from(rows) * scale.units()) as u64;
        match (self, self.rows_per_scale()) {
            (Table::Region, _) => 5,
            (Table::Nation, _) => 25,
            (Table::PartSupp, _) => 4 * Table::Part.rows(scale),
            (Table::LineItem, _) => 4 * Table::Orders.rows(scale),
            (_, rows) => scaled(rows.unwrap_or(0)),
        }
    }
}

/// The largest scale: keys of parts are 4-byte integers.
pub(super) const SCALE_MAX: f64 = 10_000.0;

/// Whether all keys are unique at this scale. The specification's formula for the suppliers of a part repeats a
/// supplier at all scales below 0.0077 and at some below 0.023; at 0.01 it does not.
pub(super) fn is_supported(scale: Scale) -> bool {
    let suppliers = Table::Supplier.rows(scale);
    if suppliers < 4 || scale.units() > SCALE_MAX {
        return false;
    }
    let rounds = Table::Part.rows(scale).div_ceil(suppliers);
    // Supplier i of a part is (part + i * step) modulo suppliers, i = 0..4; the step grows with each round of parts.
    (0..rounds).map(|round| suppliers / 4 + round).all(|step| (1..4).all(|i| i * step % suppliers != 0))
}

/// The index set with all keys and indexes.
pub(super) const FOREIGN_KEYS_SET: &str = "foreign_keys";
/// The index set without any.
pub(super) const NO_INDEXES: &str = "none";

/// The index sets; the first is the default, because all queries end within minutes with it.
pub(super) static INDEX_SETS: [IndexSet; 3] = [
    IndexSet {
        name: Cow::Borrowed(FOREIGN_KEYS_SET),
        title: Cow::Borrowed("primary keys, foreign keys and indexes on the referencing columns"),
    },
    IndexSet { name: Cow::Borrowed("keys"), title: Cow::Borrowed("primary keys") },
    IndexSet { name: Cow::Borrowed(NO_INDEXES), title: Cow::Borrowed("no keys and no indexes") },
];

/// Tables with the columns of their primary keys.
pub(super) const PRIMARY_KEYS: [(Table, &str); 8] = [
    (Table::Region, "r_regionkey"),
    (Table::Nation, "n_nationkey"),
    (Table::Part, "p_partkey"),
    (Table::Supplier, "s_suppkey"),
    (Table::PartSupp, "ps_partkey, ps_suppkey"),
    (Table::Customer, "c_custkey"),
    (Table::Orders, "o_orderkey"),
    (Table::LineItem, "l_orderkey, l_linenumber"),
];

/// Tables with the columns of foreign keys, and the referenced tables.
pub(super) const FOREIGN_KEYS: [(Table, &str, Table); 8] = [
    (Table::Nation, "n_regionkey", Table::Region),
    (Table::Supplier, "s_nationkey", Table::Nation),
    (Table::PartSupp, "ps_partkey", Table::Part),
    (Table::PartSupp, "ps_suppkey", Table::Supplier),
    (Table::Customer, "c_nationkey", Table::Nation),
    (Table::Orders, "o_custkey", Table::Customer),
    (Table::LineItem, "l_orderkey", Table::Orders),
    (Table::LineItem, "l_partkey, l_suppkey", Table::PartSupp),
];

/// Tables with the referencing columns that need an index: those that no primary key begins with.
pub(super) const REFERENCING: [(Table, &str); 6] = [
    (Table::Nation, "n_regionkey"),
    (Table::Supplier, "s_nationkey"),
    (Table::PartSupp, "ps_suppkey"),
    (Table::Customer, "c_nationkey"),
    (Table::Orders, "o_custkey"),
    (Table::LineItem, "l_partkey, l_suppkey"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(text: &str) -> Scale {
        text.parse().expect("a scale")
    }

    #[test]
    fn scales_with_repeated_suppliers_of_a_part_are_not_supported() {
        for good in ["0.01", "0.02", "0.05", "0.1", "0.5", "1", "10", "10000"] {
            assert!(is_supported(scale(good)), "{good}");
        }
        for bad in ["0.0001", "0.001", "0.012", "10001"] {
            assert!(!is_supported(scale(bad)), "{bad}");
        }
    }

    #[test]
    fn the_schema_creates_all_tables_in_their_order() {
        let mut created = SCHEMA
            .match_indices("create table ")
            .map(|(start, create)| SCHEMA[start + create.len()..].split_whitespace().next().expect("a name"));
        assert!(created.by_ref().eq(Table::ALL.map(Table::name)));
    }
}
