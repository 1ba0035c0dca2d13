//! What a run says of its limits whatever the machine has to do: too few transactions, a script without a server, the event
//! loop. Verdicts that follow from figures are in `measuring`; the rules are tested in `results`.

use results::{EventLoopName, Generator, Missing, Record};
use testkit::cluster::Cluster;

use crate::harness::{Bench, finish};
use crate::null_server::Null;

pub(crate) fn generator(record: Record) -> Generator {
    record.summary.generator.expect("the run looked at its generator")
}

#[test]
fn a_script_that_asks_no_server_measures_pgmeter() {
    let bench = Bench::new();
    let null = Null::start(&bench, "./", &[]);
    let script = bench.file("own.sql", "\\set a 1 + :client_id\n");
    let out = bench.run(["bench", "-n", "-T", "1", "-f", script, &null.conninfo]).exits(0);
    assert!(
        out.stdout.starts_with("CLIENT-LIMITED: The scripts sent no command to a server"),
        "{}",
        out.stdout
    );
}

#[test]
fn at_a_low_rate_no_limit_follows_from_what_is_not_of_the_transactions() {
    for version in Cluster::versions(["15", "18"]) {
        let bench = Bench::new();
        let conninfo = Cluster::shared(version).database("low_rate");
        Cluster::session(&conninfo).execute("create table one as select 1 as n").expect("a table");
        let script = bench.file("one.sql", "SELECT n FROM one;\n");
        let load = ["bench", "-n", "-c", "4", "-R", "2", "-T", "5", "-f", script, &conninfo];
        let out = bench.run(load).exits(0);
        let record = bench.record();
        let observation = record.observation.as_ref().expect("it is observed by default");
        assert_eq!(observation.ceilings, [], "{version}");
        let missing: Vec<_> = observation.missing.iter().map(|missing| missing.what.as_str()).collect();
        for what in [
            Missing::CPU_CEILING,
            "server_cpu_us, backend_user_cpu_us, backend_system_cpu_us",
            "blocks_hit, blocks_read",
        ] {
            assert!(missing.contains(&what), "{version}: {missing:?}");
        }
        let cost = observation.per_transaction;
        assert_eq!((cost.server_cpu_us, cost.backend_user_cpu_us, cost.blocks_hit), (None, None, None));
        assert_eq!(record.summary.client_cpu_us_per_transaction, None);
        let words = out.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("nearest limit too little to measure: "), "{words}");
        assert!(!words.contains("0 µs of CPU") && !words.contains("blocks hit,"), "{words}");
    }
}

#[test]
fn a_few_transactions_decide_nothing() {
    let bench = Bench::new();
    let null = Null::start(&bench, "./", &[]);
    let script = bench.file("one.sql", "SELECT 1;");
    let out = bench.run(["bench", "-n", "-t", "3", "-f", script, &null.conninfo]).exits(0);
    assert!(out.stdout.contains("\n  limit           undecided. 3 transactions in "), "{}", out.stdout);
}

#[test]
fn the_event_loop_is_chosen_by_option_or_variable() {
    let bench = Bench::new();
    let null = Null::start(&bench, "./", &[]);
    let script = bench.file("one.sql", "SELECT 1;");
    let flags = ["bench", "-n", "-f", script, &null.conninfo];
    let out = bench.run(flags.iter().chain(&["--event-loop", "epoll"])).exits(0);
    assert!(out.stdout.contains("\n  event loop epoll\n"), "{}", out.stdout);
    let mut by_variable = bench.command(flags);
    finish(by_variable.env("PGMETER_EVENT_LOOP", "epoll")).exits(0);
    for record in bench.records() {
        let event_loop = generator(record).event_loop;
        assert_eq!((event_loop.name, event_loop.because), (EventLoopName::Epoll, None));
    }
    let mut wrong = bench.command(flags);
    finish(wrong.env("PGMETER_EVENT_LOOP", "kqueue")).exits(1).says(&["kqueue", "io_uring", "epoll"]);
}

#[test]
fn the_drop_in_knows_the_variable_and_says_nothing_of_limits() {
    let bench = Bench::new();
    let null = Null::start(&bench, "./", &[]);
    let script = bench.file("own.sql", "\\set a 1 + :client_id\n");
    let flags = ["-n", "-T", "1", "-f", script, &null.conninfo];
    let mut command = bench.pgbench(flags);
    let out = finish(command.env("PGMETER_EVENT_LOOP", "epoll")).exits(0);
    let both = out.stdout + &out.stderr;
    assert!(!both.to_lowercase().contains("limit") && !both.contains("event loop"), "{both}");
    let mut wrong = bench.pgbench(flags);
    let wrong = finish(wrong.env("PGMETER_EVENT_LOOP", "kqueue")).exits(1);
    let expected = "pgbench: error: PGMETER_EVENT_LOOP is \"kqueue\"; it may be auto, io_uring or epoll, or not be set\n";
    assert_eq!(wrong.stderr, expected);
}
