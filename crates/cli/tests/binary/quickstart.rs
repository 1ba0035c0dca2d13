//! `pgmeter quickstart`, whole, on the newest and the oldest version.
//! Each test also looks whether anything was left behind.

use results::Status;
use rustix::process::Signal;
use testkit::cluster::Cluster;

use crate::harness::{Bench, Running, finish};

const QUICK: [&str; 9] =
    ["quickstart", "--scale", "1", "--clients", "2", "--duration", "0.5", "--warmup", "0.1"];

#[test]
fn one_command_measures_two_workloads_and_leaves_only_their_records() {
    for version in Cluster::versions(["18", "9.6"]) {
        let bench = Bench::new();
        let words =
            ["quickstart", "--scale", "1", "--duration", "1", "--warmup", "0", "--pg-version", version];
        let out = bench.run(words).exits(0);
        let out = out.says(&["loaded scale 1", "running tpcb-like: 8 clients, 1 s", "running select-only"]);
        for word in ["throughput", "p50", "p90", "p99", "p99.9", "max", "±", "0 failed", "client CPU"] {
            assert!(out.stdout.contains(word), "no {word} in\n{}", out.stdout);
        }
        let records = bench.records();
        assert_eq!(records.len(), 2);
        for record in records {
            assert_eq!(record.status, Status::Complete);
            assert!(record.summary.tps > 0.0);
            let server = record.environment.server.expect("the server was asked");
            assert!(server.version.starts_with(version), "{}", server.version);
            let observed = record.observation.expect("it was observed");
            assert!(!observed.statements.is_empty(), "statements are counted without any option");
            // Before version 10 backends show no wait event during I/O.
            let is_expected = |what: &str| version == "9.6" && what == "running share by CPU time";
            // In one second, the starts of the sessions may be a large part of the costs, and a busy machine may let the
            // observer look too seldom.
            let is_short = |why: &str| {
                [
                    "too little to measure",
                    "the backends were observed during less",
                    "the backends' CPU time was not read",
                ]
                .iter()
                .any(|start| why.starts_with(start))
            };
            let missing = observed.missing.iter();
            let missing = missing.filter(|it| !is_expected(&it.what) && !is_short(it.why.as_str()));
            let missing: Vec<_> = missing.collect();
            assert!(missing.is_empty(), "{missing:?}");
        }
        assert!(bench.servers_left().is_empty(), "{:?}", bench.servers_left());
    }
}

#[test]
fn two_at_once_do_not_disturb_each_other() {
    let bench = Bench::new();
    let runs = [(); 2].map(|()| Running::start(&mut bench.command(QUICK)));
    for run in runs {
        run.finish().exits(0);
    }
    assert_eq!(bench.records().len(), 4);
    assert!(bench.servers_left().is_empty());
}

#[test]
fn an_interrupt_stops_the_server_and_removes_its_data() {
    // Earlier moments are in the tests of ends, with another signal.
    let bench = Bench::new();
    let words = ["quickstart", "--scale", "1", "--warmup", "0", "--duration", "600", "--clients", "1"];
    let mut run = Running::start(&mut bench.command(words));
    run.hear("running tpcb-like");
    run.signal(Signal::INT);
    run.finish().exits(130).says(&["interrupted"]);
    assert!(bench.servers_left().is_empty(), "{:?}", bench.servers_left());
}

#[test]
fn a_kept_server_runs_on_and_is_stopped_by_its_name() {
    let bench = Bench::new();
    let out =
        bench.run(QUICK.iter().chain(&["--keep"])).exits(0).says(&["server kept", "psql", "server stop"]);
    let name = out.stderr.lines().last().and_then(|line| line.rsplit(' ').next()).expect("it has a name");
    let list = bench.run(["server", "list"]).exits(0);
    assert!(list.stdout.contains(name) && list.stdout.contains("running"), "{}", list.stdout);
    bench.run(["server", "stop", "--remove", name]).exits(0);
    assert!(bench.servers_left().is_empty());
}

#[test]
fn a_setting_that_the_server_refuses_is_shown_with_the_servers_words() {
    let bench = Bench::new();
    let out = bench.run(QUICK.iter().chain(&["--set", "shared_buffers=much"])).exits(1);
    out.says(&["shared_buffers"]);
    assert!(bench.servers_left().is_empty());
}

#[test]
fn without_network_and_cache_the_sentence_names_the_way_out() {
    let bench = Bench::new();
    let mut command = bench.command(QUICK.iter().chain(&["--pg-version", "17"]));
    // Nothing is fetched through a proxy that nobody runs, and no installation is on this PATH.
    command.env("PGMETER_CACHE_DIR", bench.path().join("cache")).env("PATH", bench.path());
    for proxy in ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "ALL_PROXY"] {
        command.env(proxy, "http://127.0.0.1:1");
    }
    finish(&mut command).exits(1).says(&["17", "--bin-dir"]);
}

#[test]
fn a_directory_without_the_programs_is_refused() {
    let bench = Bench::new();
    bench.run(QUICK.iter().chain(&["--bin-dir", "."])).exits(1).says(&["initdb"]);
    bench.run(QUICK.iter().chain(&["--pg-version", "banana"])).exits(1).says(&["banana"]);
}
