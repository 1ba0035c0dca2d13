//! Whether and as whom a run observes its server, and where it gets no connection for that.
//! What it sees is in `measuring`.

use results::WaitMethod;
use testkit::cluster::Cluster;

use crate::harness::Bench;

#[test]
fn sessions_have_a_name_of_their_run_unless_the_user_names_them() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("names");
    let script =
        |pattern: &str| format!("SELECT 1 / (current_setting('application_name') ~ '{pattern}')::int;");
    let own = bench.file("own.sql", &script("^pgmeter [0-9a-f]{16}$"));
    bench.run(["bench", "-n", "-t", "1", "-f", own, &conninfo]).exits(0);
    let given = bench.file("given.sql", &script("^mine$"));
    let named = format!("{conninfo} application_name=mine");
    bench.run(["bench", "-n", "-t", "1", "-f", given, &named]).exits(0);
}

#[test]
fn with_a_connection_for_each_transaction_waits_are_those_of_the_samples() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("reconnecting");
    let script = bench.file("nap.sql", "SELECT pg_sleep(0.05);");
    bench.run(["bench", "-n", "-C", "-c", "2", "-T", "1", "-f", script, &conninfo]).exits(0);
    let observation = bench.record().observation.expect("it is observed by default");
    assert_eq!(observation.waits.expect("they can be seen").method, WaitMethod::Samples);
    let why = observation.missing.iter().find(|missing| missing.what == "running share by CPU time");
    assert!(why.is_some_and(|missing| missing.why.as_str().contains("a connection for each transaction")));
}

#[test]
fn a_run_that_must_not_be_observed_is_not() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("unobserved");
    bench.run(["init", "--scale", "1", &conninfo]).exits(0);
    bench.run(["bench", "-t", "5", "--observe", "off", &conninfo]).exits(0);
    assert_eq!(bench.record().observation, None);
}

#[test]
fn an_observer_gives_its_connection_away_to_a_client() {
    let bench = Bench::new();
    let cluster =
        Cluster::start_with("18", &[("max_connections", "8"), ("superuser_reserved_connections", "0")]);
    let conninfo = cluster.database("crowded");
    bench.run(["init", "--scale", "1", "-j", "1", &conninfo]).exits(0);
    let crowded = |clients: &str, conninfo: &str, limit: &str| {
        let report = bench.run(["bench", "-t", "5", "-S", "-n", "-c", clients, conninfo]).exits(0).stdout;
        let report = report.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = format!("no connection was left for observing, because {limit} was reached");
        assert!(report.contains(&said), "{report}");
    };
    crowded("8", &conninfo, "the server's max_connections");
    let mut session = Cluster::session(&conninfo);
    let grant =
        "create role few login connection limit 3; grant select on all tables in schema public to few";
    session.execute(grant).expect("a role");
    let of_few = conninfo.replace("user=postgres", "user=few");
    assert_ne!(of_few, conninfo);
    crowded("3", &of_few, "the role's CONNECTION LIMIT");
    let limit =
        "do $$ begin execute format('alter database %I connection limit 4', current_database()); end $$";
    session.execute(limit).expect("a limit");
    session.execute("alter role few connection limit -1").expect("no limit");
    // One of the four is this session.
    crowded("3", &of_few, "the database's CONNECTION LIMIT");
}
