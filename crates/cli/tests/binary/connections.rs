//! Where clients go, and what the user is asked on the way: several hosts in one run, passwords at a terminal.
//! What connection strings may say is tested in `connect`; here it is the binary's part.

use testkit::closed_port::ClosedPort;
use testkit::cluster::Cluster;

use crate::harness::Bench;

fn ask(conninfo: &str, sql: &str) -> String {
    let rows = Cluster::session(conninfo).query(sql).expect("the query is right");
    rows[0].get(0).expect("a value").to_owned()
}

#[test]
fn the_load_is_spread_over_the_hosts_that_answer() {
    // One name for both: a connection string has but one.
    let databases = ["18", "9.6"].map(|version| {
        let cluster = Cluster::shared(version);
        cluster.execute("create database spread");
        cluster.execute("create role spreader login superuser password 'secret'");
        cluster.conninfo().replace("dbname=postgres", "dbname=spread")
    });
    let ports = databases.each_ref().map(|conninfo| {
        Cluster::session(conninfo).execute("create table seen (client int)").expect("a table");
        ask(conninfo, "show port")
    });
    let closed = ClosedPort::take();
    let hosts = format!(
        "host=127.0.0.1,127.0.0.1,127.0.0.1 port={},{},{} user=spreader password=secret \
         dbname=spread load_balance_hosts=random",
        ports[0],
        closed.number(),
        ports[1]
    );
    let bench = Bench::new();
    let script = bench.file("see.sql", "INSERT INTO seen VALUES (:client_id);");
    let seen =
        || databases.each_ref().map(|conninfo| ask(conninfo, "select count(distinct client) from seen"));
    let flags = ["-n", "-c", "12", "-j", "2", "-t", "3", "--random-seed", "7", "-f", script, &hosts];
    bench.run(["bench"].iter().chain(&flags)).exits(0);
    let spread = seen().map(|clients| clients.parse::<u32>().expect("a number"));
    assert!(spread[0] > 0 && spread[1] > 0 && spread[0] + spread[1] == 12, "{spread:?}");
    assert_eq!(bench.record().plan.connection.host.to_string(), "127.0.0.1,127.0.0.1");
    // pgbench's options are the same, and so are the draws of the same seed.
    bench.run_pgbench(flags).exits(0);
    assert_eq!(seen().map(|clients| clients.parse::<u32>().expect("a number")), spread);
}

#[test]
fn a_target_takes_from_the_flags_what_it_leaves_out_and_counts_against_the_limit_of_open_files() {
    let bench = Bench::new();
    let cluster = Cluster::shared("18");
    let conninfo = cluster.database("flags");
    let database = ask(&conninfo, "select current_database()");
    let port = ask(&conninfo, "show port");
    let script = bench.file("there.sql", "\\target there\nSELECT 1;");
    let here = bench.file("here.sql", "SELECT 1;");
    let target = format!("there=dbname={database}");
    let sockets = ask(&conninfo, "show unix_socket_directories");
    let flags = ["-n", "-h", &sockets, "-p", &port, "-U", "postgres", "--target", &target];
    let run = |more: &[&str]| bench.run(["bench"].iter().chain(&flags).chain(more));
    run(&["-t", "2", "-f", script, "-f", here, "postgres"]).exits(0);
    // The connections to one target would fit.
    let text = format!(
        "ulimit -n 70; exec \"$0\" bench {} -c 40 -t 1 -f {script} -f {here} postgres",
        flags.join(" ")
    );
    let shell = ["-c", &text, env!("CARGO_BIN_EXE_pgmeter")];
    let out = crate::harness::finish(&mut bench.program(std::path::Path::new("/bin/sh"), shell));
    out.exits(1).says(&["-c 40 with 2 targets requires 83 open files, but the limit is 70"]);
}
