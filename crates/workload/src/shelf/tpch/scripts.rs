//! Two short scripts that read orders by their keys. They show how short transactions do on these tables; TPC-H has
//! none. They need the primary keys and an index on the customers of orders to be fast.

use std::borrow::Cow;

use loading::contract::scripts::Script;

/// The scripts.
pub(super) static SCRIPTS: [Script; 2] = [
    read(
        "order",
        "<an order with its line items>",
        // The keys of orders: the first eight of each 32.
        "\
\\set number random(1, int(1500000 * :scale))
\\set orderkey (:number / 8) * 32 + :number % 8
SELECT o_orderdate, o_totalprice, l_linenumber, l_partkey, l_quantity, l_shipdate
FROM orders JOIN lineitem ON l_orderkey = o_orderkey WHERE o_orderkey = :orderkey ORDER BY l_linenumber;
",
    ),
    read(
        "customer",
        "<the last orders of a customer>",
        "\
\\set custkey random(1, int(150000 * :scale))
SELECT o_orderkey, o_orderdate, o_orderstatus, o_totalprice
FROM orders WHERE o_custkey = :custkey ORDER BY o_orderdate DESC, o_orderkey DESC LIMIT 10;
",
    ),
];

const fn read(name: &'static str, description: &'static str, text: &'static str) -> Script {
    let (name, description, text) = (Cow::Borrowed(name), Cow::Borrowed(description), Cow::Borrowed(text));
    Script { name, description, text, weight: 1, only_reads: true, contended: None }
}
