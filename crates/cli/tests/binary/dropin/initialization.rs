//! `pgbench -i`: the lines on stderr, and that the tables are there. What the tables are like is tested where they
//! are made.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use connect::Session;
use rustix::process::{Pid, Signal, kill_process};
use testkit::cluster::Cluster;

use super::shape;
use crate::harness::Bench;

fn count(session: &mut Session, sql: &str) -> String {
    session.query(sql).expect("the query is right")[0].get(0).unwrap_or_default().to_owned()
}

#[test]
fn the_steps_are_told_line_by_line() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("dropin_init");
    let out = bench
        .run_pgbench(["-i", "-s", "1", "-q", "-I", "dtGgvpf", "--partitions=2", "-F", "90", &conninfo])
        .exits(0);
    assert_eq!(out.stdout, "");
    let lines: Vec<String> = shape(&out.stderr).lines().map(str::to_owned).collect();
    let told: Vec<&str> =
        lines.iter().map(String::as_str).filter(|line| !line.starts_with("NOTICE:")).collect();
    let expected = [
        "dropping old tables...",
        "creating tables...",
        "creating # partitions...",
        "generating data (server-side)...",
        "generating data (client-side)...",
        "# of # tuples (#%) of pgbench_accounts done (elapsed # s, remaining # s)",
        "vacuuming...",
        "creating primary keys...",
        "creating foreign keys...",
        "done in # s (drop tables # s, create tables # s, server-side generate # s, client-side generate # s, \
         vacuum # s, primary keys # s, foreign keys # s).",
    ];
    assert_eq!(told, expected, "{}", out.stderr);
    let mut session = Cluster::session(&conninfo);
    assert_eq!(count(&mut session, "select count(*) from pgbench_accounts"), "100000");
    assert_eq!(
        count(
            &mut session,
            "select count(*) from pg_inherits where inhparent = 'pgbench_accounts'::regclass"
        ),
        "2"
    );
}

/// Waits until a session of the database fills the largest table. The statements before it are short, and a request that
/// arrives between two statements cancels nothing.
fn wait_until_active(conninfo: &str) {
    let mut session = Cluster::session(conninfo);
    let active = "select count(*) from pg_stat_activity where datname = current_database() and state = 'active' \
                  and (query like 'insert into pgbench_accounts%' or query like 'copy pgbench_accounts%')";
    while count(&mut session, active) == "0" {
        testkit::condition::pause();
    }
}

#[test]
fn ctrl_c_cancels_what_the_server_does_and_says_so() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("dropin_init_cancelled");
    for (steps, last) in
        [("dtg", "pgbench: error: PQendcopy failed"), ("dtG", "pgbench: detail: Query was: ")]
    {
        let mut command = bench.pgbench(["-i", "-s", "500", "-I", steps, &conninfo]);
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the program can be started");
        let stderr = child.stderr.take().expect("it is a pipe");
        let mut said = Vec::new();
        for line in BufReader::new(stderr).lines() {
            let line = line.expect("it is UTF-8");
            let is_due = line.contains("tuples") || line.starts_with("generating data (server-side)");
            if is_due && !said.iter().any(|line: &String| line.contains("tuples")) {
                // Before a statement of the server has begun there is nothing to cancel.
                wait_until_active(&conninfo);
                let pid = Pid::from_child(&child);
                kill_process(pid, Signal::INT).expect("it is ours");
            }
            said.push(line);
        }
        assert_eq!(child.wait().expect("it is ours").code(), Some(1), "{said:?}");
        let place = said.iter().position(|line| line == "Cancel request sent");
        let place = place.unwrap_or_else(|| panic!("{said:?}"));
        assert!(said[place..].iter().any(|line| line.starts_with(last)), "{said:?}");
    }
}

#[test]
fn a_line_comes_with_every_hundred_thousand_rows() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("dropin_rows");
    let out = bench.run_pgbench(["-i", "-s", "2", "-n", "-I", "dtgv", &conninfo]).exits(0);
    let rows: Vec<&str> = out.stderr.lines().filter(|line| line.contains("tuples")).collect();
    assert_eq!(rows.len(), 2, "{}", out.stderr);
    assert!(
        rows[0].starts_with("100000 of 200000 tuples (50%) of pgbench_accounts done (elapsed "),
        "{rows:?}"
    );
    assert!(!out.stderr.contains("vacuuming"), "{}", out.stderr);
}

#[test]
fn a_statement_that_fails_is_shown_with_its_error() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("dropin_fails");
    let out = bench.run_pgbench(["-i", "-I", "v", &conninfo]).exits(1);
    assert_eq!(
        out.stderr,
        "vacuuming...\npgbench: error: query failed: ERROR:  relation \"pgbench_branches\" does not exist\n\
         pgbench: detail: Query was: vacuum analyze pgbench_branches\n"
    );
}
