//! Workloads of the shelf on a server that is killed while they run: what was committed is there, and consistent.
//! What they do on a server that lives is tested in `shelf`.

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use testkit::cluster::Cluster;
use testkit::extent;

use crate::harness::{Bench, Running};
use crate::processes::signal_server;
use crate::verify::start_again;

const SCHEMA: &str = include_str!("../../../workload/src/shelf/tpcc/schema.sql");
/// Rows of TPC-C for one warehouse, as few and as short as its scripts and checks allow.
const ROWS: &str = "
insert into warehouse (w_id, w_name, w_tax, w_ytd) values (1, 'one', 0.1, 300000);
insert into district (d_id, d_w_id, d_name, d_tax, d_ytd, d_next_o_id)
  select d, 1, 'd', 0.1, 30000, 3001 from generate_series(1, 10) d;
insert into customer (c_id, c_d_id, c_w_id, c_first, c_last, c_credit, c_discount, c_balance, c_ytd_payment,
    c_payment_cnt, c_delivery_cnt, c_data)
  select c, d, 1, 'first', tpcc_last_name(c % 1000), case c % 10 when 0 then 'BC' else 'GC' end, 0.1, -10, 10, 1, 0, ''
  from generate_series(1, 10) d, generate_series(1, 3000) c;
insert into history select c_id, c_d_id, 1, c_d_id, 1, now(), 10, '' from customer;
insert into orders select c_id, c_d_id, 1, c_id, now(), case when c_id <= 2100 then 1 end, 1, 1 from customer;
insert into new_order select c_id, c_d_id, 1 from customer where c_id > 2100;
insert into order_line select o_id, o_d_id, 1, 1, o_id, 1, case when o_id <= 2100 then now() end, 5, 0, '' from orders;
insert into item select i, 1, 'item', 1, 'ORIGINAL' from generate_series(1, 100000) i;
insert into stock (s_i_id, s_w_id, s_quantity, s_ytd, s_order_cnt, s_remote_cnt, s_data)
  select i, 1, 50, 0, 0, 0, 'ORIGINAL' from generate_series(1, 100000) i;
";
/// What the scripts and checks of TPC-C need.
const MANIFEST: &str = r#"
name = "few_orders"
load = ["load.sql"]
scripts = [
    { file = "scripts/new_order.sql", weight = 45 },
    { file = "scripts/payment.sql", weight = 43 },
    { file = "scripts/order_status.sql", weight = 4, only_reads = true },
    { file = "scripts/delivery.sql", weight = 4 },
    { file = "scripts/stock_level.sql", weight = 4, only_reads = true },
]
checks = [CHECKS]
[parameters]
functions = 0
keying = 0
[[tables]]
name = "warehouse"
"#;

/// A workload with the schema, the scripts and the checks of the built-in one, and with rows that a server makes in a third
/// of the time. The rows of the built-in one are tested in `workload`, and loaded each night.
fn make_few_orders(folder: &Path) {
    let builtin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../workload/src/shelf/tpcc");
    let mut checks = Vec::new();
    for part in ["scripts", "checks"] {
        fs::create_dir_all(folder.join(part)).expect("a folder can be made");
        for file in fs::read_dir(builtin.join(part)).expect("a folder") {
            let name = file.expect("a file").file_name();
            fs::copy(builtin.join(part).join(&name), folder.join(part).join(&name)).expect("a copy");
            if part == "checks" {
                checks.push(format!("\"checks/{}\"", name.display()));
            }
        }
    }
    assert_eq!(checks.len(), 12);
    let (tables, keys) = SCHEMA.split_once("ALTER TABLE").expect("the keys come last");
    fs::write(folder.join("load.sql"), format!("{tables}{ROWS}ALTER TABLE{keys}")).expect("a file");
    let manifest = MANIFEST.replace("CHECKS", &checks.join(", "));
    fs::write(folder.join("workload.toml"), manifest).expect("a file");
}

/// Removes nearly all items, so that every order is rolled back.
fn rolls_back_orders_with_an_unknown_item(bench: &Bench, workload: &str, conninfo: &str) {
    let mut session = Cluster::session(conninfo);
    let mut orders = || {
        let rows = session
            .query("delete from item where i_id between 1 and 99999; select count(*) from orders")
            .expect("a change and a query");
        rows[0].get(0).map(str::to_owned)
    };
    let before = orders();
    let words = ["bench", "--workload", workload, "-b", "new_order", "-c", "2", "-t", "5"];
    for functions in ["functions=0", "functions=1"] {
        bench.run(words.into_iter().chain(["-D", functions, conninfo])).exits(0);
    }
    bench.run(["check", "--workload", workload, conninfo]).exits(0);
    assert_eq!(orders(), before, "no order has all its items");
}

/// All workloads at the same time, so that one server is killed for all.
#[test]
fn committed_transactions_are_there_and_consistent_after_the_server_was_killed() {
    const CLIENTS: u64 = 4;
    let durable = [("fsync", "on"), ("full_page_writes", "on"), ("synchronous_commit", "on")];
    let newest = extent::choose(&["few_orders", "tpcb2"], &["tpcc", "tpcb2"]);
    for (major, names) in Cluster::cases([("18", &newest[..]), ("9.6", &["tpcb2"])], |case| case.0) {
        let mut cluster = Cluster::start_with(major, &durable);
        let mut runs = Vec::new();
        for &name in names {
            let (bench, conninfo) = (Bench::new(), cluster.database(name));
            if name == "few_orders" {
                make_few_orders(&bench.path().join(name));
            }
            bench.run(["init", "-q", "--workload", name, "--jobs", "2", &conninfo]).exits(0);
            let database = conninfo.split_whitespace().find(|word| word.starts_with("dbname=")).expect("one");
            runs.push((name, bench, database.to_owned(), conninfo));
        }
        let clients = CLIENTS.to_string();
        let running = runs.iter().map(|(name, bench, _, conninfo)| {
            let words =
                ["bench", "--workload", name, "-M", "prepared", "-T", "600", "-P", "1", "-c", &clients];
            Running::start(&mut bench.command(words.into_iter().chain([conninfo.as_str()])))
        });
        let mut running: Vec<Running> = running.collect();
        running.iter_mut().for_each(|running| running.hear("tps"));
        signal_server(cluster.server().pid().expect("it runs"), Signal::KILL);
        for running in running {
            assert_eq!(running.finish().status.code(), Some(2));
        }
        start_again(&mut cluster);
        for (name, bench, database, _) in &runs {
            let conninfo = cluster.conninfo().replace("dbname=postgres", database);
            let record = bench.record();
            let [committed, unfinished] = [record.summary.counts.succeeded, record.summary.counts.scheduled];
            assert!(
                committed > 0 && unfinished <= committed + CLIENTS,
                "{name}: {:?}",
                record.summary.counts
            );
            if *name != "tpcb2" {
                // Its check is also that of what was there after the kill.
                rolls_back_orders_with_an_unknown_item(bench, name, &conninfo);
                continue;
            }
            bench.run(["check", "--workload", name, &conninfo]).exits(0);
            let rows = Cluster::session(&conninfo).query("select count(*) from tpcb2_history").expect("rows");
            let rows: u64 = rows[0].get(0).and_then(|rows| rows.parse().ok()).expect("a number");
            // The server may have committed a transaction whose client did not hear of it.
            assert!((committed..=committed + CLIENTS).contains(&rows), "{rows} of {committed} transactions");
        }
    }
}
