//! Refresh functions: statements that insert new orders with their line items, and statements that delete the same
//! rows. The new orders have free keys: of 32 consecutive keys, the loaded tables use the first eight.

use std::sync::LazyLock;

use stats::Scale;
use tpchgen::distribution::Distributions;
use tpchgen::generators::{LineItemGenerator, OrderGenerator};
use tpchgen::text::TextPool;

use super::copy_row::{CopyRow, Line};
use loading::contract::query_set::Query;

/// Pairs that have the orders of different parts of the table: one has a thousandth of the orders, 1,500 at scale 1.
const PARTS: u32 = 1000;
/// Groups of eight keys in 32 that the loaded tables do not use.
const FREE_GROUPS: u32 = 3;
/// Orders that one statement inserts: with their line items about 60 KB.
const ORDERS_PER_STATEMENT: usize = 100;

/// Comments of new rows come from a smaller pool than those of the loaded rows, which takes 300 MB.
static COMMENTS: LazyLock<TextPool> =
    LazyLock::new(|| TextPool::new(1 << 20, Distributions::static_default()));

/// The functions of a pair, counted from 0. The keys of 3,000 consecutive pairs differ.
pub(super) fn pair(scale: Scale, pair: u32) -> [Query; 2] {
    let orders = new_orders(scale, pair);
    let (first, last) =
        (orders.first().map_or(0, |order| order.key), orders.last().map_or(0, |order| order.key));
    let mut inserts: Vec<String> = orders.chunks(ORDERS_PER_STATEMENT).flat_map(insert).collect();
    let last_insert = inserts.pop().unwrap_or_else(|| "select".to_owned());
    // Loaded keys lie between the new ones; the remainder tells them apart.
    let group = 8 * free_group(pair);
    let delete = |table: &str, key: &str| {
        format!(
            "delete from {table} where {key} between {first} and {last} and {key} % 32 between {group} and {}",
            group + 7
        )
    };
    [
        transaction("rf1", inserts, last_insert),
        transaction("rf2", vec![delete("lineitem", "l_orderkey")], delete("orders", "o_orderkey")),
    ]
}

fn transaction(name: &str, statements: Vec<String>, sql: String) -> Query {
    let before = [vec!["begin".to_owned()], statements].concat();
    Query { name: name.to_owned(), before, sql, after: vec!["commit".to_owned()], has_ties: false }
}

/// An order as rows of VALUES.
struct NewOrder {
    key: i64,
    row: String,
    items: Vec<String>,
}

fn free_group(pair: u32) -> u32 {
    1 + pair / PARTS % FREE_GROUPS
}

/// Orders and line items as a part of the table has them, with other keys and comments. So their prices, states,
/// customers, parts and suppliers are consistent.
fn new_orders(scale: Scale, pair: u32) -> Vec<NewOrder> {
    let [part, parts] = [pair % PARTS + 1, PARTS].map(|number| i32::try_from(number).unwrap_or(1));
    let lists = Distributions::static_default();
    let units = scale.units();
    let orders = OrderGenerator::new_with_distributions_and_text_pool(units, part, parts, lists, &COMMENTS);
    let items = LineItemGenerator::new_with_distributions_and_text_pool(units, part, parts, lists, &COMMENTS);
    let shift = i64::from(8 * free_group(pair));
    let mut items = items.iter().peekable();
    let with_items = orders.iter().map(|mut order| {
        let mut rows = Vec::new();
        while let Some(mut item) = items.next_if(|item| item.l_orderkey == order.o_orderkey) {
            item.l_orderkey += shift;
            rows.push(values(&item));
        }
        order.o_orderkey += shift;
        NewOrder { key: order.o_orderkey, row: values(&order), items: rows }
    });
    with_items.collect()
}

/// `('1','2')`: no text of the generator has a quote.
fn values(row: &impl CopyRow) -> String {
    let (mut out, mut numbers) = (Vec::new(), itoa::Buffer::new());
    let mut line = Line::new(&mut out, &mut numbers);
    row.write(&mut line);
    line.finish();
    let text = String::from_utf8_lossy(&out);
    let fields: Vec<String> = text.trim_end_matches('\n').split('\t').map(connect::quote::literal).collect();
    format!("({})", fields.join(","))
}

fn insert(orders: &[NewOrder]) -> [String; 2] {
    let rows: Vec<&str> = orders.iter().map(|order| &*order.row).collect();
    let items: Vec<&str> = orders.iter().flat_map(|order| &order.items).map(|row| &**row).collect();
    [
        format!("insert into orders values\n{}", rows.join(",\n")),
        format!("insert into lineitem values\n{}", items.join(",\n")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const SMALL: f64 = 0.01;

    fn small() -> Scale {
        Scale::new(SMALL).expect("a scale")
    }

    #[test]
    fn keys_are_free_and_differ_between_pairs() {
        let mut keys: BTreeSet<i64> =
            OrderGenerator::new(SMALL, 1, 1).iter().map(|order| order.o_orderkey).collect();
        let highest = *keys.last().expect("orders") + 24;
        for pair in [0, 1, 2, 999, 1000, 1001, 2000, 2999] {
            let orders = new_orders(small(), pair);
            assert_eq!(orders.len(), 15, "a thousandth of 15,000 orders");
            for order in orders {
                assert!(keys.insert(order.key), "pair {pair}: the key {} is there already", order.key);
                assert!(order.key <= highest);
                assert!((1..=7).contains(&order.items.len()));
            }
        }
    }

    #[test]
    fn statements_insert_all_orders_of_a_pair_and_delete_them_by_their_keys() {
        let [insert, delete] = pair(small(), 1001);
        assert_eq!(insert.before[0], "begin");
        assert!(insert.before[1].starts_with("insert into orders values\n('80',"), "{}", insert.before[1]);
        assert!(insert.sql.starts_with("insert into lineitem values\n('80',"), "{}", insert.sql);
        assert_eq!(insert.after, ["commit"]);
        assert_eq!(
            delete.sql,
            "delete from orders where o_orderkey between 80 and 118 and o_orderkey % 32 between 16 and 23"
        );
        assert!(delete.before[1].starts_with("delete from lineitem where l_orderkey between 80 and 118"));
        assert_eq!(pair(small(), 3001), pair(small(), 1), "keys are used again after 3,000 pairs");
    }

    #[test]
    fn statements_are_bounded() {
        let [insert, _] = pair(Scale::ONE, 0);
        assert_eq!(insert.before.len(), 30, "begin, and all of 2 × 15 statements but the last");
        assert!(insert.before.iter().all(|sql| sql.len() < 100_000));
    }
}
