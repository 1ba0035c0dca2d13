//! The tables, their number of rows, and the index sets. All names and SQL of the tables are here and in schema.sql,
//! apart from the queries.

use std::borrow::Cow;

use stats::Scale;

use loading::contract::query_set::IndexSet;

/// CREATE TABLE of all tables.
pub(super) const SCHEMA: &str = include_str!("schema.sql");

/// A table.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum TpchTable {
    Region,
    Nation,
    Part,
    Supplier,
    PartSupp,
    Customer,
    Orders,
    LineItem,
}

impl TpchTable {
    /// All, referenced tables before those that reference them.
    pub(super) const ALL: [TpchTable; 8] = [
        TpchTable::Region,
        TpchTable::Nation,
        TpchTable::Part,
        TpchTable::Supplier,
        TpchTable::PartSupp,
        TpchTable::Customer,
        TpchTable::Orders,
        TpchTable::LineItem,
    ];

    /// Its name in SQL.
    pub(super) const fn name(self) -> &'static str {
        match self {
            TpchTable::Region => "region",
            TpchTable::Nation => "nation",
            TpchTable::Part => "part",
            TpchTable::Supplier => "supplier",
            TpchTable::PartSupp => "partsupp",
            TpchTable::Customer => "customer",
            TpchTable::Orders => "orders",
            TpchTable::LineItem => "lineitem",
        }
    }

    /// Rows at scale 1 (clause 4.2.5 of the specification); `None` if they do not grow with the scale.
    pub(super) const fn rows_per_scale(self) -> Option<u32> {
        match self {
            TpchTable::Region | TpchTable::Nation => None,
            TpchTable::Part => Some(200_000),
            TpchTable::Supplier => Some(10_000),
            TpchTable::PartSupp => Some(800_000),
            TpchTable::Customer => Some(150_000),
            TpchTable::Orders => Some(1_500_000),
            TpchTable::LineItem => Some(6_000_000),
        }
    }

    /// Rows at a scale. An order has 1 to 7 line items, 4 on average: the number of line items is an estimate.
    pub(super) fn rows(self, scale: Scale) -> u64 {
        // As the generator calculates: parts and orders are whole, and partsupp and lineitem follow them.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a scale is at least 0")]
        let scaled = |rows: u32| (f64::from(rows) * scale.units()) as u64;
        match (self, self.rows_per_scale()) {
            (TpchTable::Region, _) => 5,
            (TpchTable::Nation, _) => 25,
            (TpchTable::PartSupp, _) => 4 * TpchTable::Part.rows(scale),
            (TpchTable::LineItem, _) => 4 * TpchTable::Orders.rows(scale),
            (_, rows) => scaled(rows.unwrap_or(0)),
        }
    }
}

/// The largest scale: keys of parts are 4-byte integers.
pub(super) const SCALE_MAX: f64 = 10_000.0;

/// Whether all keys are unique at this scale. The specification's formula for the suppliers of a part repeats a
/// supplier at all scales below 0.0077 and at some below 0.023; at 0.01 it does not.
pub(super) fn is_supported(scale: Scale) -> bool {
    let suppliers = TpchTable::Supplier.rows(scale);
    if suppliers < 4 || scale.units() > SCALE_MAX {
        return false;
    }
    let rounds = TpchTable::Part.rows(scale).div_ceil(suppliers);
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
pub(super) const PRIMARY_KEYS: [(TpchTable, &str); 8] = [
    (TpchTable::Region, "r_regionkey"),
    (TpchTable::Nation, "n_nationkey"),
    (TpchTable::Part, "p_partkey"),
    (TpchTable::Supplier, "s_suppkey"),
    (TpchTable::PartSupp, "ps_partkey, ps_suppkey"),
    (TpchTable::Customer, "c_custkey"),
    (TpchTable::Orders, "o_orderkey"),
    (TpchTable::LineItem, "l_orderkey, l_linenumber"),
];

/// Tables with the columns of foreign keys, and the referenced tables.
pub(super) const FOREIGN_KEYS: [(TpchTable, &str, TpchTable); 8] = [
    (TpchTable::Nation, "n_regionkey", TpchTable::Region),
    (TpchTable::Supplier, "s_nationkey", TpchTable::Nation),
    (TpchTable::PartSupp, "ps_partkey", TpchTable::Part),
    (TpchTable::PartSupp, "ps_suppkey", TpchTable::Supplier),
    (TpchTable::Customer, "c_nationkey", TpchTable::Nation),
    (TpchTable::Orders, "o_custkey", TpchTable::Customer),
    (TpchTable::LineItem, "l_orderkey", TpchTable::Orders),
    (TpchTable::LineItem, "l_partkey, l_suppkey", TpchTable::PartSupp),
];

/// Tables with the referencing columns that need an index: those that no primary key begins with.
pub(super) const REFERENCING: [(TpchTable, &str); 6] = [
    (TpchTable::Nation, "n_regionkey"),
    (TpchTable::Supplier, "s_nationkey"),
    (TpchTable::PartSupp, "ps_suppkey"),
    (TpchTable::Customer, "c_nationkey"),
    (TpchTable::Orders, "o_custkey"),
    (TpchTable::LineItem, "l_partkey, l_suppkey"),
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
        assert!(created.by_ref().eq(TpchTable::ALL.map(TpchTable::name)));
    }
}
