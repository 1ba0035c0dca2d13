//! What goes wrong in mid-run leaves a marked record, a clear sentence, and nothing else.
//! The servers are real; what befalls them is done to them here.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use results::{Status, Warning};
use rustix::process::Signal;
use testkit::cluster::Cluster;
use testkit::null::{NullOptions, NullServer};

use crate::harness::{Bench, Running, finish};

#[test]
fn a_server_that_disappears_leaves_a_record_marked_as_failed() {
    let bench = Bench::new();
    let mut cluster = Cluster::start("18");
    let script = bench.file("one.sql", "SELECT 1;");
    let flags = ["bench", "-n", "-c", "4", "-R", "500", "-T", "600", "-P", "1", "-f", script];
    let mut run = Running::start(&mut bench.command(flags.iter().chain(&[cluster.conninfo().as_str()])));
    run.hear("tps");
    cluster.server().stop().expect("the server stops");
    let out = run.finish().exits(2).says(&["client 0 aborted", "4 of 4 clients were aborted", "incomplete"]);
    assert!(out.stdout.contains("FAILED"), "{}", out.stdout);
    let record = bench.record();
    assert!(matches!(record.status, Status::Failed { .. }), "{:?}", record.status);
    assert!(record.summary.counts.succeeded > 0);
}

#[test]
fn an_error_of_the_server_ends_the_client_and_names_the_command() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("error");
    let script = bench.file("zero.sql", "SELECT 1;\nSELECT 1/0;");
    let flags = ["bench", "-n", "-c", "2", "-t", "5", "-f", script];
    let out = bench.run(flags.iter().chain(&[conninfo.as_str()])).exits(2);
    let out = out.says(&["client 0 aborted in command 1 (SQL) of script zero.sql", "division by zero"]);
    assert!(out.stdout.contains("2 unfinished"), "{}", out.stdout);
}

#[test]
fn a_failure_that_the_server_asks_to_retry_is_counted_and_the_run_goes_on() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("serialization");
    let script = bench.file(
        "fail.sql",
        "BEGIN;\nDO $$ BEGIN RAISE EXCEPTION 'try again' USING ERRCODE = '40001'; END $$;\nEND;",
    );
    let flags = ["bench", "-n", "-c", "2", "-t", "5", "-f", script];
    let out = bench.run(flags.iter().chain(&[conninfo.as_str()])).exits(2);
    let out = out.says(&["no transaction succeeded; the errors are in the report"]);
    assert!(out.stdout.starts_with("EVERYTHING FAILED: all 10 transactions"), "{}", out.stdout);
    let counts = bench.record().summary.counts;
    assert_eq!((counts.scheduled, counts.failed, counts.failures.serialization), (10, 10, 10));
}

#[test]
fn an_interrupted_run_reports_what_it_has_and_leaves_no_query_running() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("interrupted");
    let script = bench.file("nap.sql", "SELECT 1;\nSELECT pg_sleep(600) WHERE random() < 0.1;");
    let flags = ["bench", "-n", "-c", "3", "-R", "500", "-T", "600", "-P", "1", "-f", script];
    let mut run = Running::start(&mut bench.command(flags.iter().chain(&[conninfo.as_str()])));
    run.hear("tps");
    // Twice, as `timeout` does: to the program, and to its process group.
    run.signal(Signal::INT);
    run.signal(Signal::INT);
    let out = run.finish().exits(130).says(&["interrupted"]);
    assert!(out.stdout.contains("INTERRUPTED"), "{}", out.stdout);
    assert_eq!(bench.record().status, Status::Interrupted);
    let mut session = Cluster::session(&conninfo);
    let running = "select count(*) from pg_stat_activity \
                   where datname = current_database() and pid <> pg_backend_pid()";
    // The server needs a moment to end a cancelled backend; the test's own limit is the runner's.
    while session.query(running).expect("the query is right")[0].get(0) != Some("0") {
        testkit::condition::pause();
    }
}

#[test]
fn a_place_where_nothing_can_be_kept_is_an_error_before_anything_is_measured() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("no_room");
    let script = bench.file("one.sql", "SELECT 1;");
    let in_the_way = bench.file("in-the-way", "");
    let flags = ["bench", "-n", "-t", "5", "-f", script, "--results"];
    let out = bench.run(flags.iter().chain(&[in_the_way, conninfo.as_str()])).exits(1).says(&["in-the-way"]);
    assert_eq!(out.stdout, "");

    // A limit of 4 KiB for any file stands for a disk that is full.
    let limited = "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", limited, env!("CARGO_BIN_EXE_pgmeter")]);
    command.args(flags).args(["tight", conninfo.as_str()]).current_dir(bench.path());
    let out = finish(&mut command).exits(1).says(&["cannot use the store tight/results.sqlite"]);
    assert_eq!(out.stdout, "");
}

#[test]
fn a_record_that_cannot_be_written_is_an_error_after_the_report() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("no_room_at_the_end");
    let script = bench.file("spoil.sql", "\\shell rm -rf kept\n\\shell touch kept\nSELECT 1;");
    let flags = ["bench", "-n", "-t", "5", "-f", script, "--store", "my.db", "--results", "kept"];
    let out = bench
        .run(flags.iter().chain(&[conninfo.as_str()]))
        .exits(2)
        .says(&["cannot write a record into kept"]);
    assert!(out.stdout.contains("5 succeeded"), "{}", out.stdout);

    // Here the store is spoilt, with its log, and the record is not.
    let spoil = "\\shell rm -f my.db-wal my.db-shm\n\\shell cp spoil.sql my.db\nSELECT 1;";
    let script = bench.file("spoil.sql", spoil);
    let flags = ["bench", "-n", "-t", "5", "-f", script, "--store", "my.db", "--results", "pgmeter-results"];
    let out = bench.run(flags.iter().chain(&[conninfo.as_str()])).exits(2);
    let out = out.says(&[
        "was saved, but the run was not added to the store: cannot use the store",
        "pgmeter runs import pgmeter-results/",
    ]);
    assert!(out.stdout.contains("5 succeeded"), "{}", out.stdout);
    assert_eq!(bench.record().summary.counts.succeeded, 5);
}

#[test]
fn a_loading_that_was_interrupted_is_gone_on_with_and_loads_only_what_is_missing() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("resumed");
    let layout = ["init", "--scale", "1", "--partitions", "4", "--jobs", "2", &conninfo];
    bench.run(layout).exits(0);
    Cluster::session(&conninfo)
        .execute("truncate pgbench_accounts_3, pgbench_accounts_4")
        .expect("two are missing");
    // The last partition cannot be emptied as long as somebody reads it.
    let mut reader = Cluster::session(&conninfo);
    reader.execute("begin; lock table pgbench_accounts_4 in access share mode").expect("a lock");
    let mut observer = Cluster::session(&conninfo);
    let mut ask = |sql: &str| observer.query(sql).expect("the query is right")[0].get(0).map(str::to_owned);
    let run = Running::start(&mut bench.command(layout.iter().chain(&["--resume"])));
    while ask("select exists(select 1 from pgbench_accounts_3)").as_deref() != Some("t") {
        testkit::condition::pause();
    }
    run.signal(Signal::INT);
    run.finish().exits(130).says(&["pgmeter init --resume"]);
    reader.execute("rollback").expect("the lock goes");

    let files = "select string_agg(relfilenode::text, ' ' order by relname) from pg_class \
                 where relname ~ '^pgbench_accounts_[123]$'";
    let before = ask(files);
    bench
        .run(["init", "--scale", "3", "--partitions", "4", "--resume", &conninfo])
        .exits(1)
        .says(&["another scale"]);
    bench.run(layout.iter().chain(&["--resume"])).exits(0).says(&["loaded scale 1"]);
    assert_eq!(ask(files), before);
    assert_eq!(
        ask("select count(*) || ' ' || sum(aid) from pgbench_accounts").as_deref(),
        Some("100000 5000050000")
    );
    let keys = "select count(*)::text from pg_constraint where contype = 'p' and conname like 'pgbench%'";
    assert_eq!(ask(keys).as_deref(), Some("7"));
    bench.run(layout.iter().chain(&["--resume"])).exits(0);
    assert_eq!(ask(files), before, "nothing is missing, and nothing is done");
}

/// Talk of more bytes than a pipe and pgmeter's own queue hold, which nobody reads.
#[test]
fn a_full_stderr_pipe_holds_up_neither_the_load_nor_the_end_and_the_record_says_so() {
    let bench = Bench::new();
    let server = NullServer::on_unix_socket(NullOptions::default()).expect("a null server");
    // 20,000 messages of 77 bytes.
    let talk = "\\set n debug(1e300 / 3)\n".repeat(20);
    let script = bench.file("talk.sql", &format!("{talk}SELECT 1;"));
    for event_loop in ["auto", "epoll"] {
        let conninfo = server.conninfo();
        let flags = ["bench", "-n", "-c", "2", "-t", "500", "--event-loop", event_loop, "-f", script];
        let mut command = bench.command(flags.iter().chain(&[conninfo.as_str()]));
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        // Nothing reads until it has ended by itself.
        let status = child.wait().expect("the child is ours");
        assert_eq!(status.code(), Some(0), "{event_loop}");
    }
    for record in bench.records() {
        assert_eq!((record.status.clone(), record.summary.counts.succeeded), (Status::Complete, 1_000));
        let is_lost = |warning: &&Warning| matches!(warning, Warning::MessagesLost { .. });
        assert_eq!(record.warnings.iter().filter(is_lost).count(), 1, "{:?}", record.warnings);
    }
}

#[test]
fn a_run_that_was_stopped_and_continued_says_so_in_its_record() {
    let bench = Bench::new();
    let server = NullServer::on_unix_socket(NullOptions::default()).expect("a null server");
    let (script, conninfo) = (bench.file("one.sql", "SELECT 1;"), server.conninfo());
    let flags = ["bench", "-n", "-R", "100", "-T", "600", "-P", "1", "-f", script];
    let mut run = Running::start(&mut bench.command(flags.iter().chain(&[conninfo.as_str()])));
    run.hear("tps");
    run.signal(Signal::STOP);
    run.signal(Signal::CONT);
    run.hear("tps");
    run.signal(Signal::INT);
    run.finish().exits(130);
    let warnings = bench.record().warnings;
    assert!(warnings.contains(&Warning::Paused), "{warnings:?}");
}

#[test]
fn a_null_server_without_descriptors_says_that_clients_wait() {
    let bench = Bench::new();
    let folder = bench.path().display().to_string();
    let limited =
        format!("ulimit -n 20; exec {} null-server --listen {folder}", env!("CARGO_BIN_EXE_pgmeter"));
    let mut command = bench.program(Path::new("/bin/sh"), ["-c", &limited]);
    let mut running = Running::start(command.stdin(Stdio::piped()));
    let socket = bench.path().join(".s.PGSQL.5432");
    let clients: Vec<_> = (0..40)
        .map(|_| {
            loop {
                match UnixStream::connect(&socket) {
                    Ok(client) => break client,
                    Err(_) => testkit::condition::pause(),
                }
            }
        })
        .collect();
    running.hear("cannot accept a client");
    drop(clients);
    running.signal(Signal::INT);
    running.finish();
}
