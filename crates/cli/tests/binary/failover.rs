//! Clients that connect again, on real servers that are killed: the endings of the transactions, compared with what the
//! server holds, and the outages in the record and on the terminal.

use results::{AttemptOutcome, LossCause, Outage, Record, Status};
use rustix::process::{Pid, Signal, kill_process};
use testkit::cluster::Cluster;

use crate::harness::{Bench, Finished, Running};
use crate::verify::start_again;

const TABLE: &str = "create table t (id int primary key, a int not null default 0); \
                     insert into t select g from generate_series(1, 100) as g";
const SCRIPT: &str =
    "\\set id :client_id + 1\nBEGIN;\nUPDATE t SET a = a + 1 WHERE id = :id;\n\\sleep 20 ms\nCOMMIT;\n";
/// The page cache of the system survives the death of a server, so a flush protects from nothing here.
const DURABLE: [(&str, &str); 1] = [("synchronous_commit", "on")];
const CLIENTS: u64 = 4;

fn kill(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process");
    kill_process(pid, Signal::KILL).expect("it was running");
}

fn ask(conninfo: &str, sql: &str) -> String {
    Cluster::session(conninfo).query(sql).expect(sql)[0].get(0).expect("a value").to_owned()
}

/// Starts a run that reports each second.
fn start(bench: &Bench, length_s: &str, more: &[&str], conninfo: &str) -> Running {
    let script = bench.file("update.sql", SCRIPT);
    let words =
        ["bench", "-n", "-c", "4", "-j", "2", "-P", "1", "--observe", "off", "-T", length_s, "-f", script];
    let again = ["--on-disconnect", "reconnect", "--reconnect-policy", "backoff:20ms..200ms"];
    Running::start(&mut bench.command(words.iter().chain(&again).chain(more).chain(&[conninfo])))
}

/// What holds after each run in which all clients came back.
fn check(bench: &Bench, out: &Finished, conninfo: &str) -> (Record, Outage) {
    let record = bench.record();
    assert_eq!(record.status, Status::Complete, "{}", out.stderr);
    let counts = record.summary.counts;
    // With a rate, all clients may have been idle when their connections were lost.
    assert!(counts.unknown + counts.failures.connection <= 2 * CLIENTS, "{counts:?}");
    let applied: u64 = ask(conninfo, "select sum(a) from t").parse().expect("a number");
    let most = counts.succeeded + counts.unknown;
    assert!((counts.succeeded..=most).contains(&applied), "{applied} applied: {counts:?}");
    let outages = record.summary.outages.clone().expect("connections were lost");
    assert!(outages.of_writes && outages.losses >= CLIENTS, "{outages:?}");
    let longest = outages.outages.iter().max_by_key(|outage| outage.clients).expect("an outage").clone();
    assert_eq!((longest.clients, longest.never), (CLIENTS, 0), "{longest:?}");
    let window = longest.window.clone().expect("nobody wrote");
    assert!(window.is_over && longest.first_connect_s < Some(window.end_s), "{longest:?}");
    // A client can still write after another one has lost its connection.
    let last_loss_s = longest.connections.iter().map(|client| client.lost_s).fold(0.0, f64::max);
    assert!(window.start_s <= last_loss_s, "{longest:?}");
    assert!(
        longest.connections.iter().all(|client| client.first_write_s > Some(client.lost_s)),
        "{longest:?}"
    );
    for label in ["lost connections", "no write", "first connect", "all connected", "attempts"] {
        assert!(out.stdout.contains(label), "no {label} in {}", out.stdout);
    }
    (record, longest)
}

fn attempts(outage: &Outage, outcome: AttemptOutcome) -> u64 {
    outage.attempts.iter().find(|attempts| attempts.outcome == outcome).map_or(0, |attempts| attempts.count)
}

#[test]
fn clients_live_through_the_death_of_their_server_and_find_the_new_one() {
    let bench = Bench::new();
    let mut cluster = Cluster::start_with("18", &DURABLE);
    let conninfo = cluster.database("killed");
    Cluster::session(&conninfo).execute(TABLE).expect("the table");
    let mut run = start(&bench, "20", &[], &conninfo);
    run.hear("tps");
    run.hear("tps");
    kill(cluster.server().pid().expect("it runs"));
    // Its sessions end on their own, and until then it cannot start again.
    start_again(&mut cluster);
    let out = run.finish().exits(0);
    let (record, outage) = check(&bench, &out, &conninfo);
    let counts = record.summary.counts;
    assert!(counts.unknown + counts.failures.connection > 0, "each client was busy: {counts:?}");
    assert!(attempts(&outage, AttemptOutcome::Refused) > 0, "{outage:?}");
    assert!(attempts(&outage, AttemptOutcome::Connected) >= CLIENTS, "{outage:?}");
}

#[test]
fn arrivals_during_a_crash_are_all_counted_and_wait_for_its_end() {
    let bench = Bench::new();
    let cluster = Cluster::start_with("18", &DURABLE);
    let conninfo = cluster.database("crashed");
    Cluster::session(&conninfo).execute(TABLE).expect("the table");
    let mut run = start(&bench, "8", &["-R", "200"], &conninfo);
    run.hear("tps");
    run.hear("tps");
    let victim = "select pid from pg_stat_activity where backend_type = 'client backend' and datname = \
                  current_database() and pid <> pg_backend_pid() limit 1";
    // The death of one session ends all of them, with a warning.
    kill(ask(&conninfo, victim).parse().expect("a number"));
    let out = run.finish().exits(0);
    let (record, outage) = check(&bench, &out, &conninfo);
    let announced = LossCause::Sqlstate("57P02".to_owned());
    assert!(outage.connections.iter().any(|client| client.cause == announced), "{outage:?}");
    let window = outage.window.expect("a window");
    assert_eq!(window.arrivals, window.succeeded + window.failed + window.unknown + window.unfinished);
    assert!(window.arrivals > 0, "{window:?}");
    let longest_us = record.summary.response_us.expect("some succeeded").max;
    assert!(longest_us > 0.5 * window.length_s() * 1e6, "{longest_us} {window:?}");
}

#[test]
fn a_host_in_the_wrong_state_is_passed_over_at_each_attempt_also_on_an_old_server() {
    for major in Cluster::versions(["9.6", "18"]) {
        let bench = Bench::new();
        let read_only = Cluster::start_with(major, &[("default_transaction_read_only", "on")]);
        let writable = Cluster::start_with(major, &DURABLE);
        let conninfo = writable.conninfo();
        Cluster::session(&conninfo).execute(TABLE).expect("the table");
        let part = |conninfo: &str, name: &str| {
            let found = conninfo.split_whitespace().find_map(|word| word.strip_prefix(name));
            found.expect(name).trim_matches('\'').to_owned()
        };
        let both = |name: &str| format!("{},{}", part(&read_only.conninfo(), name), part(&conninfo, name));
        let several = format!(
            "host={} port={} user=postgres dbname=postgres target_session_attrs=read-write",
            both("host="),
            both("port=")
        );
        let mut run = start(&bench, "6", &[], &several);
        run.hear("tps");
        run.hear("tps");
        let end = "select count(pg_terminate_backend(pid)) from pg_stat_activity where pid <> pg_backend_pid() and \
                   query ilike '%update t%' or query ilike 'begin%' or query ilike 'commit%'";
        assert!(ask(&conninfo, end).parse::<u64>().expect("a number") >= CLIENTS, "{major}");
        let out = run.finish().exits(0);
        let (_, outage) = check_terminated(&bench, &out);
        assert!(attempts(&outage, AttemptOutcome::ReadOnly) >= 1, "{major}: {outage:?}");
        let causes = outage.connections.iter().map(|client| client.cause.clone());
        assert!(
            causes.into_iter().all(|cause| cause == LossCause::Sqlstate("57P01".to_owned())),
            "{outage:?}"
        );
    }
}

fn check_terminated(bench: &Bench, out: &Finished) -> (Record, Outage) {
    let record = bench.record();
    assert_eq!(record.status, Status::Complete, "{}", out.stderr);
    let outages = record.summary.outages.clone().expect("connections were lost");
    let outage = outages.outages[0].clone();
    assert_eq!((outages.losses, outage.never), (CLIENTS, 0), "{outages:?}");
    (record, outage)
}

#[test]
fn reconnecting_cannot_be_combined_with_a_connection_for_each_transaction() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("combined");
    let words = ["bench", "-n", "-C", "-S", "--on-disconnect", "reconnect", &conninfo];
    bench.run(words).exits(1).says(&["--on-disconnect reconnect cannot be combined with --connect"]);
    let words =
        ["bench", "-n", "-S", "--on-disconnect", "reconnect", "--reconnect-policy", "later", &conninfo];
    bench.run(words).exits(1).says(&["must be immediate, backoff:MIN..MAX"]);
}
