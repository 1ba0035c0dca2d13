//! The rows of the workload `tpcc`, derived from TPC-C: nine tables for each number of warehouses (clause 4.3.3 of its
//! specification). The SQL files beside it have the tables, transactions and checks; docs/tpc.md describes them.

mod rows;

use stats::Scale;

use super::computed::{stream, table_of_units};
use super::fields::Fields;
use loading::loader::execution::LoadTable;
use loading::loader::generated::{OwnCode, OwnRows};

/// Rows of `item`, and of `stock` for each warehouse.
const ITEMS: u64 = 100_000;
const DISTRICTS: u64 = 10;
/// Customers of a district, and its orders.
const CUSTOMERS: u64 = 3000;
/// The orders above this number are not delivered yet.
const DELIVERED: u64 = 2100;
/// Lines of an order: 5 to 15.
const LINES_ON_AVERAGE: u64 = 10;

/// Its code.
pub(super) const CODE: OwnCode =
    OwnCode { rows: Some(OwnRows { refused, ..OwnRows::new(tables) }), queries: None };

/// Appends the rows of a unit, counted from 0, and returns their number.
type WriteUnit = fn(&mut Fields<'_>, Unit) -> u64;

/// A unit of a table: a row, or an order.
#[derive(Clone, Copy)]
struct Unit {
    seed: u64,
    /// Counted from 0.
    number: u64,
}

/// The largest tables come first, so that the keys of one are built while the next one is loaded.
fn tables(scale: Scale, seed: u64) -> Vec<LoadTable> {
    let warehouses = u64::from(scale.whole().unwrap_or_default());
    let orders = warehouses * DISTRICTS * CUSTOMERS;
    let undelivered = warehouses * DISTRICTS * (CUSTOMERS - DELIVERED);
    let all: [(&str, u64, WriteUnit); 9] = [
        ("stock", warehouses * ITEMS, rows::stock),
        ("order_line", orders, rows::order_lines),
        ("customer", orders, rows::customer),
        ("history", orders, rows::history),
        ("orders", orders, rows::order),
        ("item", ITEMS, rows::item),
        ("new_order", undelivered, rows::new_order),
        ("district", warehouses * DISTRICTS, rows::district),
        ("warehouse", warehouses, rows::warehouse),
    ];
    let table = |(what, (name, units, write)): (u64, (&'static str, u64, WriteUnit))| {
        let rows_per_unit = if name == "order_line" { LINES_ON_AVERAGE } else { 1 };
        table_of_units(name, (units, rows_per_unit), move |number, out| {
            let random = stream(seed, what, number);
            write(&mut Fields::new(out, random), Unit { seed, number })
        })
    };
    (0..).zip(all).map(table).collect()
}

fn refused(scale: Scale) -> Option<&'static str> {
    let is_number = scale.whole().is_some_and(|warehouses| warehouses > 0);
    (!is_number).then_some("the scale is the number of warehouses; use a whole number from 1")
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use loading::loader::execution::RowSource;
    use testkit::extent;

    use super::*;
    use crate::shelf::computed::tests::{MANY, check_chunks, chunks_of, some_of, text};

    const SEED: u64 = 7;

    fn table(name: &str, warehouses: u32, seed: u64) -> LoadTable {
        let mut all = tables(warehouses.into(), seed);
        all.remove(all.iter().position(|table| table.table.name == name).expect("a table"))
    }

    /// Rows of a table with rows for each district: those of some districts of the first warehouse.
    fn rows_of(name: &str, districts: u32) -> Vec<Vec<String>> {
        let (_, text) = chunks_of(&*table(name, 1, SEED).source, 0..districts, 10);
        text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
    }

    fn number(field: &str) -> u64 {
        field.parse().expect(field)
    }

    #[test]
    fn any_number_of_chunks_has_the_same_rows() {
        for table in tables(1.into(), SEED) {
            let chunks = if table.source.rows() > u64::from(MANY) { MANY } else { 1 };
            check_chunks(&*table.source, &some_of(chunks), chunks);
        }
    }

    #[test]
    fn rows_depend_on_the_seed_and_more_warehouses_only_add_rows() {
        for (name, factor) in
            [("warehouse", 2), ("district", 2), ("orders", 2), ("order_line", 2), ("item", 1)]
        {
            let [one, two, other] = [(1, SEED), (2, SEED), (1, SEED + 1)]
                .map(|(warehouses, seed)| table(name, warehouses, seed).source);
            let chunks = if one.rows() > u64::from(MANY) { MANY } else { 1 };
            for number in some_of(chunks) {
                let text = |source: &dyn RowSource, chunks| chunks_of(source, number..number + 1, chunks).1;
                let first = text(&*one, chunks);
                assert_eq!(first, text(&*two, factor * chunks), "{name}, chunk {number}");
                assert_ne!(first, text(&*other, chunks), "{name}, chunk {number}");
            }
        }
    }

    #[test]
    fn the_numbers_of_rows_are_those_of_the_specification() {
        // Large tables are counted in every tenth chunk.
        let every = extent::choose(10, 1);
        let count = |table: &LoadTable| {
            if table.source.rows() <= u64::from(MANY) {
                return text(table, 1).lines().count();
            }
            let chunk = |number| chunks_of(&*table.source, number..number + 1, MANY).1.lines().count();
            (0..MANY).step_by(every).map(chunk).sum::<usize>() * every
        };
        let all = tables(1.into(), SEED);
        let counts: BTreeMap<&str, usize> =
            all.iter().map(|table| (table.table.name.as_str(), count(table))).collect();
        for (name, rows) in [
            ("warehouse", 1),
            ("district", 10),
            ("customer", 30_000),
            ("history", 30_000),
            ("orders", 30_000),
            ("new_order", 9000),
            ("item", 100_000),
            ("stock", 100_000),
        ] {
            assert_eq!(counts[name], rows, "{name}");
        }
        assert!((295_000..305_000).contains(&counts["order_line"]), "{}", counts["order_line"]);
    }

    #[test]
    fn orders_have_the_lines_that_they_count_and_each_customer_has_one() {
        let districts = extent::choose(2, 10);
        let mut lines: BTreeMap<(u64, u64), u64> = BTreeMap::new();
        for line in rows_of("order_line", districts) {
            let order = (number(&line[1]), number(&line[0]));
            let count = lines.entry(order).or_default();
            *count += 1;
            assert_eq!(number(&line[3]), *count, "lines are numbered");
            assert_eq!((line[6] == "\\N", line[8] == "0.00"), (order.1 > DELIVERED, order.1 <= DELIVERED));
            assert_eq!(line[9].len(), 24);
        }
        let mut customers: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        let mut in_order = true;
        for order in rows_of("orders", districts) {
            let (id, district, customer) = (number(&order[0]), number(&order[1]), number(&order[3]));
            assert_eq!(lines[&(district, id)], number(&order[6]));
            assert!((5..=15).contains(&number(&order[6])));
            assert_eq!(order[5] == "\\N", id > DELIVERED, "only delivered orders have a carrier");
            customers.entry(district).or_default().insert(customer);
            in_order &= id == customer;
        }
        assert_eq!(customers.len(), districts as usize);
        assert!(customers.values().all(|ids| ids.len() == 3000));
        assert!(!in_order, "customers are permuted");
    }

    #[test]
    fn customers_have_the_last_names_of_the_specification() {
        let customers = rows_of("customer", 10);
        assert_eq!(customers[0][5], "BARBARBAR");
        assert_eq!(customers[371][5], "PRICALLYOUGHT");
        assert_eq!(customers[999][5], "EINGEINGEING");
        let names: BTreeSet<&str> = customers[..3000].iter().map(|row| row[5].as_str()).collect();
        assert_eq!(names.len(), 1000, "each name is in each district");
        let bad = customers.iter().filter(|row| row[13] == "BC").count();
        assert!((2700..=3300).contains(&bad), "a tenth has bad credit: {bad}");
        assert!(customers.iter().all(|row| (300..=500).contains(&row[20].len()) && row[11].len() == 16));
    }

    #[test]
    fn only_whole_numbers_of_warehouses_are_scales() {
        for (scale, is_refused) in [("1", false), ("250", false), ("0.5", true), ("1.5", true)] {
            assert_eq!(refused(scale.parse().expect("a scale")).is_some(), is_refused, "{scale}");
        }
    }
}
