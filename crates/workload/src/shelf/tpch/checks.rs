//! Checks of the data: numbers of rows, references, prices and states of orders. They hold after loading, and also
//! between and after refresh functions, apart from the numbers of rows.

use std::sync::LazyLock;

use super::schema::{FOREIGN_KEYS, TpchTable};
use loading::contract::check::Check;

/// Rows that a check returns at most.
const ROWS_MAX: u32 = 1000;

/// All checks.
pub(super) static CHECKS: LazyLock<[Check; 4]> = LazyLock::new(|| {
    let check =
        |name: &str, sql: String| Check { name: name.to_owned(), sql: format!("{sql} limit {ROWS_MAX}") };
    [
        check("rows", rows()),
        check("references", references()),
        check("prices", PRICES.to_owned()),
        check("states", STATES.to_owned()),
    ]
});

/// Tables whose number of rows is not that of the scale. Of line items, only the smallest and the largest number are
/// known.
fn rows() -> String {
    let orders = "trunc(1500000 * cast(:scale as double precision))";
    let counted = |table: TpchTable| {
        let (low, high) = match (table, table.rows_per_scale()) {
            (TpchTable::LineItem, _) => (orders.to_owned(), format!("7 * {orders}")),
            // As the generator calculates.
            (TpchTable::PartSupp, _) => {
                let rows = "4 * trunc(200000 * cast(:scale as double precision))".to_owned();
                (rows.clone(), rows)
            }
            (_, Some(each)) => {
                let rows = format!("trunc({each} * cast(:scale as double precision))");
                (rows.clone(), rows)
            }
            (_, None) => {
                let rows = table.rows(stats::Scale::ONE).to_string();
                (rows.clone(), rows)
            }
        };
        let name = table.name();
        format!("select '{name}' as name, count(*) as found, {low} as low, {high} as high from {name}")
    };
    let all = TpchTable::ALL.map(counted).join(" union all ");
    format!("select * from ({all}) as tables where found not between low and high")
}

/// Rows whose referenced row is missing.
fn references() -> String {
    let missing = |(table, columns, referenced): (TpchTable, &str, TpchTable)| {
        let keys = super::schema::PRIMARY_KEYS.iter().find(|(of, _)| *of == referenced);
        let keys = keys.map_or("", |(_, columns)| columns);
        let pairs = columns.split(", ").zip(keys.split(", "));
        let same = pairs.map(|(column, key)| format!("{key} = {column}")).collect::<Vec<_>>().join(" and ");
        let (name, parent) = (table.name(), referenced.name());
        format!(
            "(select '{name} ({columns})' as reference, count(*) as missing from {name} \
             where not exists (select 1 from {parent} where {same}))"
        )
    };
    let all = FOREIGN_KEYS.map(missing).join(" union all ");
    format!("select * from ({all}) as orphans where missing > 0")
}

/// Orders whose price is not the sum of their line items, each rounded down twice as the generator does it.
const PRICES: &str = "\
select o_orderkey, o_totalprice, total from orders left join (\
select l_orderkey, sum(trunc(trunc(l_extendedprice * (1 - l_discount), 2) * (1 + l_tax), 2)) as total \
from lineitem group by l_orderkey) as items on l_orderkey = o_orderkey where o_totalprice is distinct from total";

/// Orders whose state does not fit that of their line items: F if all are F, O if all are O, else P.
const STATES: &str = "\
select o_orderkey, o_orderstatus, lowest, highest from orders join (\
select l_orderkey, min(l_linestatus) as lowest, max(l_linestatus) as highest from lineitem group by l_orderkey\
) as items on l_orderkey = o_orderkey \
where o_orderstatus <> case when lowest = highest then lowest else 'P' end";
