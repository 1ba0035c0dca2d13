//! Checks of freshly loaded data: numbers of rows, returns without a sale, and sales without an item, a date or a
//! customer. `generated` runs them after `init` and in `check`.

use tpcdsgen::config::Table;

use super::rows::{Items, TABLES, session};
use loading::contract::check::Check;
use stats::Scale;

/// Columns of sales and returns with the tables and columns that they refer to.
const REFERENCES: [(&str, &str, &str, &str); 15] = [
    ("store_sales", "ss_sold_date_sk", "date_dim", "d_date_sk"),
    ("store_sales", "ss_item_sk", "item", "i_item_sk"),
    ("store_sales", "ss_customer_sk", "customer", "c_customer_sk"),
    ("store_sales", "ss_store_sk", "store", "s_store_sk"),
    ("catalog_sales", "cs_sold_date_sk", "date_dim", "d_date_sk"),
    ("catalog_sales", "cs_item_sk", "item", "i_item_sk"),
    ("catalog_sales", "cs_bill_customer_sk", "customer", "c_customer_sk"),
    ("web_sales", "ws_sold_date_sk", "date_dim", "d_date_sk"),
    ("web_sales", "ws_item_sk", "item", "i_item_sk"),
    ("web_sales", "ws_bill_customer_sk", "customer", "c_customer_sk"),
    ("inventory", "inv_item_sk", "item", "i_item_sk"),
    ("inventory", "inv_date_sk", "date_dim", "d_date_sk"),
    ("store_returns", "sr_item_sk, sr_ticket_number", "store_sales", "ss_item_sk, ss_ticket_number"),
    ("catalog_returns", "cr_item_sk, cr_order_number", "catalog_sales", "cs_item_sk, cs_order_number"),
    ("web_returns", "wr_item_sk, wr_order_number", "web_sales", "ws_item_sk, ws_order_number"),
];

/// All checks.
pub(super) fn all(scale: Scale) -> Vec<Check> {
    vec![
        Check { name: "rows".to_owned(), sql: rows(scale) },
        Check { name: "references".to_owned(), sql: references() },
    ]
}

/// Tables whose number of rows is not that of the scale. Of sales and returns, the smallest and the largest number are
/// known; a fifth to a twentieth of the items is returned.
fn rows(scale: Scale) -> String {
    let session = session(scale);
    let count = |table: Table| session.get_scaling().get_row_count(table);
    let counted = |table: Table| {
        let (low, high) = match Items::new(table) {
            None => (count(table), count(table)),
            Some(Items { orders, least, most, one_of }) => {
                let spread = if one_of == 1 { 1 } else { 2 };
                (count(orders) * least / one_of / spread, count(orders) * most / one_of * spread)
            }
        };
        let name = table.get_name();
        format!(
            "select '{name}' as name, pg_catalog.count(*) as found, {low} as low, {high} as high from {name}"
        )
    };
    let all: Vec<String> = TABLES.into_iter().map(counted).collect();
    format!("select * from ({}) as tables where found not between low and high", all.join(" union all "))
}

/// References without a partner.
fn references() -> String {
    let missing = |(table, columns, referenced, keys): (&str, &str, &str, &str)| {
        let pairs = columns.split(", ").zip(keys.split(", "));
        let (mut same, mut given) = (Vec::new(), Vec::new());
        for (column, key) in pairs {
            same.push(format!("{key} = {column}"));
            given.push(format!("{column} is not null"));
        }
        let (same, given) = (same.join(" and "), given.join(" and "));
        format!(
            "(select '{table} ({columns})' as reference, pg_catalog.count(*) as missing from {table} \
             where {given} and not exists (select 1 from {referenced} where {same}))"
        )
    };
    let all = REFERENCES.map(missing).join(" union all ");
    format!("select * from ({all}) as orphans where missing > 0")
}
