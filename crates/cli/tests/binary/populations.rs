//! Populations of clients on real servers: idle clients, sessions that end, storms, transactions that are held open, and
//! slow readers.

use std::thread;
use std::time::Duration;

use testkit::cluster::Cluster;

use crate::harness::{Bench, Running};

#[test]
fn a_storm_and_lifetimes_are_survived_by_all_clients_and_reported() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("population_storm");
    bench.file("one.sql", "SELECT 1;\n\\sleep 10 ms\n");
    let words = ["bench", "-n", "-f", "one.sql", "-c", "40", "-j", "2", "-T", "4"];
    let population =
        ["--active-clients", "25%, 1s", "--session-lifetime", "2s, 20%", "--reconnect-storm", "2s"];
    let out = bench.run(words.iter().chain(&population).chain(&[conninfo.as_str()])).exits(0);
    assert!(out.stdout.contains("clients connected again within"), "{}", out.stdout);
    let record = bench.record();
    let found = record.summary.population.expect("the run has a population");
    let storm = found.storms[0];
    // Those whose sessions have just ended are connecting.
    assert!((25..=40).contains(&storm.clients), "{storm:?}");
    assert_eq!((storm.connected, found.failed_renewals), (storm.clients, 0));
    assert!(found.renewed_sessions >= 40 + 20, "{}", found.renewed_sessions);
    assert_eq!(record.plan.population.active.map(|it| it.to_string()).as_deref(), Some("25%, 1s"));
}

#[test]
fn a_transaction_is_held_open_while_the_load_runs_and_ends_with_it() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("population_idle");
    bench.file("one.sql", "SELECT 1;\n\\sleep 5 ms\n");
    let words = ["bench", "-n", "-f", "one.sql", "-c", "2", "-T", "4", "--idle-in-transaction", "3, 1s"];
    let mut session = Cluster::session(&conninfo);
    let mut held = || {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = \
                   current_database() AND backend_xmin IS NOT NULL";
        session.query(sql).expect("an answer")[0].get(0).expect("a number").to_owned()
    };
    let running = Running::start(&mut bench.command(words.iter().chain(&[conninfo.as_str()])));
    let mut seen = String::new();
    for _ in 0..200 {
        thread::sleep(Duration::from_millis(50));
        seen = held();
        if seen == "3" {
            break;
        }
    }
    let out = running.finish().exits(0);
    assert_eq!(seen, "3");
    assert!(out.stdout.contains("3 sessions, "), "{}", out.stdout);
    let idle = bench.record().summary.population.and_then(|it| it.idle_in_transaction).expect("sessions");
    assert!((idle.sessions, idle.lost) == (3, 0) && idle.transactions > 3, "{idle:?}");
    // A backend ends a moment after its session.
    let is_over = (0..200).any(|_| {
        thread::sleep(Duration::from_millis(50));
        held() == "0"
    });
    assert!(is_over);
}

#[test]
fn a_slow_reader_takes_longer_than_the_others() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("population_slow");
    // More than the buffers of the operating system take.
    bench.file("big.sql", "SELECT repeat('x', 1000) FROM generate_series(1, 1000);\n\\sleep 50 ms\n");
    let words = ["bench", "-n", "-f", "big.sql", "-c", "2", "-T", "3", "--slow-readers", "50%, 256kB/s"];
    bench.run(words.iter().chain(&[conninfo.as_str()])).exits(0);
    let summary = bench.record().summary;
    let response = summary.response_us.expect("transactions");
    // 1 MB at 256 kB/s, without what the buffers took.
    assert!(response.max > 1e6 && response.p50 < 0.5e6, "{response:?}");
}

#[test]
fn a_population_that_is_not_possible_is_refused_in_one_sentence() {
    let bench = Bench::new();
    for (words, why) in [
        (&["--active-clients", "2"][..], "-c is 1: raise the latter"),
        (&["--active-clients", "no"], "write 2% or 2%, 10s"),
        (&["--active-clients", "1", "-R", "5"], "cannot be used with '--rate <TPS>'"),
        (&["--reconnect-storm", "60s", "-T", "30"], "the storm at 60 s is after the end"),
        (&["--session-lifetime", "1s", "-C"], "cannot be used with '--connect'"),
        (&["--slow-readers", "1%"], "write 1%, 64kB/s"),
    ] {
        let all = ["bench", "-S", "-n"].iter().chain(words).chain(&["host=/nonexistent"]);
        let out = bench.run(all).exits(1);
        assert!(out.stderr.contains(why), "{words:?}: {}", out.stderr);
    }
}

#[test]
fn more_connections_than_the_server_has_are_refused_before_the_load_with_the_limit() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("population_limit");
    let words = ["bench", "-n", "-S", "-c", "250", "--idle-in-transaction", "100", "-T", "1"];
    bench.file("one.sql", "SELECT 1;\n");
    let words = words.map(|word| if word == "-S" { "-fone.sql" } else { word });
    let out = bench.run(words.iter().chain(&[conninfo.as_str()])).exits(1);
    let why =
        "250 clients, 100 idle sessions and the observer need 351 connections, and max_connections is 300";
    assert!(out.stderr.contains(why), "{}", out.stderr);
}
