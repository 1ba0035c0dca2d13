//! Every run ends: with a server that was stopped, a lock that is held elsewhere, a long `\sleep`, and by signals. What
//! the engine counts then is tested in virtual time.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use results::{Record, Status, Store, TrialStatus};
use rustix::process::Signal;
use testkit::cluster::Cluster;

use crate::harness::{Bench, Finished, Running, tables_of_pgbench};
use crate::processes::{descendants, ends, processes_of, signal_server};

/// Far beyond any limit of these tests, so that only what would never end exceeds it.
const DEADLINE: Duration = Duration::from_secs(120);
const LOOPS: [&str; 2] = ["io_uring", "epoll"];
/// A script that says when the load is on.
const TELLING: &str = "\\shell touch loaded\nSELECT 1;\n\\sleep 20 ms\n";

/// Stops the server that a running program has started.
fn stop_server_of(run: &Running) {
    let (postmaster, _) = descendants(run.pid())
        .into_iter()
        .find(|(pid, name)| name == "postgres" && !descendants(*pid).is_empty())
        .expect("it has a server");
    signal_server(postmaster, Signal::STOP);
}

/// Waits until the load is on.
fn await_load(bench: &Bench) {
    let loaded = bench.path().join("loaded");
    let since = Instant::now();
    while !loaded.exists() {
        assert!(since.elapsed() < DEADLINE, "the load never began");
        testkit::condition::pause();
    }
}

/// What is said of transactions that were cut off, in the report and in the record.
#[track_caller]
fn check_cut_off(out: &Finished, record: &Record, unfinished: u64) {
    let told: String = out.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("were still running 1 s after the end of the run"), "{}", out.stdout);
    let Status::Failed { reason } = &record.status else { panic!("{:?}", record.status) };
    assert!(reason.as_str().contains("--grace"), "{reason:?}");
    let counts = &record.summary.counts;
    assert_eq!((counts.unfinished, counts.failed), (unfinished, 0));
    assert_eq!(counts.scheduled, counts.succeeded + unfinished);
}

/// A server of one's own that goes on in any case when the test is over.
struct Stoppable(Cluster);

impl Stoppable {
    fn start() -> Self {
        Self(Cluster::start("18"))
    }

    fn signal(&mut self, signal: Signal) {
        signal_server(self.0.server().pid().expect("it runs"), signal);
    }
}

impl Drop for Stoppable {
    fn drop(&mut self) {
        self.signal(Signal::CONT);
    }
}

#[test]
fn a_run_whose_server_is_stopped_ends_after_its_grace_period() {
    let mut cluster = Stoppable::start();
    for event_loop in LOOPS {
        let bench = Bench::new();
        let script = bench.file("telling.sql", TELLING);
        let flags = ["bench", "-n", "-c", "3", "-T", "3", "--grace", "1s", "-f", script];
        let conninfo = cluster.0.conninfo();
        let mut command = bench.command(flags.iter().chain(&[conninfo.as_str()]));
        let run = Running::start(command.env("PGMETER_EVENT_LOOP", event_loop));
        await_load(&bench);
        cluster.signal(Signal::STOP);
        let out = ends(run).exits(2).says(&["were still running 1 s after the end of the run"]);
        cluster.signal(Signal::CONT);
        let record = bench.record();
        check_cut_off(&out, &record, 3);
        assert!(record.summary.duration_s < 3.5, "waiting is not measured: {}", record.summary.duration_s);
    }
}

#[test]
fn a_run_that_waits_for_a_lock_ends_and_leaves_no_statement_waiting() {
    let conninfo = Cluster::shared("18").database("lock");
    let mut holder = Cluster::session(&conninfo);
    holder.execute("create table t as select 1 as a").expect("a table");
    holder.execute("begin; update t set a = 2").expect("a lock");
    // A transaction sees one state of pg_stat_activity, so another session looks.
    let mut observer = Cluster::session(&conninfo);
    for event_loop in LOOPS {
        let bench = Bench::new();
        let script = bench.file("update.sql", "UPDATE t SET a = a + 1;");
        let flags = ["bench", "-n", "-c", "2", "-T", "1", "--grace", "1", "-f", script];
        let mut command = bench.command(flags.iter().chain(&[conninfo.as_str()]));
        let run = Running::start(command.env("PGMETER_EVENT_LOOP", event_loop));
        check_cut_off(&ends(run).exits(2), &bench.record(), 2);
        let waiting = "select count(*) from pg_stat_activity where datname = current_database() \
                       and wait_event_type = 'Lock'";
        let since = Instant::now();
        while observer.query(waiting).expect("the query is right")[0].get(0) != Some("0") {
            assert!(since.elapsed() < DEADLINE, "a statement still waits");
            testkit::condition::pause();
        }
    }
}

/// The request cancels the statement that waits; its error is a consequence of the request and not the reason of the end.
#[test]
fn a_request_to_terminate_is_obeyed_while_the_preparation_of_a_run_waits_for_a_lock() {
    let conninfo = tables_of_pgbench(Cluster::shared("18"), "lock_before", 1);
    let bench = Bench::new();
    let mut holder = Cluster::session(&conninfo);
    holder.execute("begin; lock table pgbench_branches in access exclusive mode").expect("a lock");
    // A transaction sees one state of pg_stat_activity, so another session looks.
    let mut observer = Cluster::session(&conninfo);
    for (signal, status) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let run = Running::start(&mut bench.command(["bench", "-T", "600", conninfo.as_str()]));
        let waiting = "select count(*) from pg_stat_activity where datname = current_database() \
                       and wait_event_type = 'Lock'";
        let since = Instant::now();
        while observer.query(waiting).expect("the query is right")[0].get(0) != Some("1") {
            assert!(since.elapsed() < DEADLINE, "nothing waits for the lock");
            testkit::condition::pause();
        }
        run.signal(signal);
        ends(run).exits(status).says(&["interrupted; nothing was measured"]);
    }
}

#[test]
fn a_sleep_that_is_longer_than_the_run_is_cut_off() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("sleep");
    let script = bench.file("sleep.sql", "SELECT 1;\n\\sleep 1000 s\n");
    let flags = ["bench", "-n", "-c", "2", "-T", "1", "--grace", "1000ms", "-f", script];
    let run = Running::start(&mut bench.command(flags.iter().chain(&[conninfo.as_str()])));
    check_cut_off(&ends(run).exits(2), &bench.record(), 2);
}

#[test]
fn a_shell_command_that_never_ends_is_killed_after_the_grace_period_or_by_an_interrupt() {
    let conninfo = Cluster::shared("18").database("shell");
    for (event_loop, command) in [("io_uring", "\\shell"), ("epoll", "\\setshell value")] {
        for interrupted in [false, true] {
            let bench = Bench::new();
            let text = format!("SELECT 1;\n{command} touch loaded; sleep 1000; true\n");
            let script = bench.file("shell.sql", &text);
            let time = if interrupted { "600" } else { "1" };
            let flags = ["bench", "-n", "-c", "2", "-T", time, "--grace", "1s", "-f", script];
            let mut command = bench.command(flags.iter().chain(&[conninfo.as_str()]));
            let run = Running::start(command.env("PGMETER_EVENT_LOOP", event_loop));
            await_load(&bench);
            if interrupted {
                run.signal(Signal::INT);
                let out = ends(run).exits(130);
                assert!(out.stdout.contains("INTERRUPTED"), "{}", out.stdout);
            } else {
                check_cut_off(&ends(run).exits(2), &bench.record(), 2);
            }
            assert!(processes_of(&bench).is_empty(), "{:?}", processes_of(&bench));
        }
    }
}

#[test]
fn statements_before_a_run_do_not_wait_for_ever() {
    let bench = Bench::new();
    let conninfo = tables_of_pgbench(Cluster::shared("18"), "prepare", 1);
    let mut holder = Cluster::session(&conninfo);
    holder.execute("begin; lock table pgbench_branches").expect("a lock");
    let mut command = bench.command(["bench", "-T", "1", conninfo.as_str()]);
    let run = Running::start(command.env("PGMETER_CONTROL_TIMEOUT", "1"));
    ends(run).exits(1).says(&[
        "the statement did not get a lock that is held by process ",
        "within 1 s (statement: select count(*) from …)",
    ]);
    let run =
        Running::start(bench.command(["init", "-q", conninfo.as_str()]).env("PGMETER_CONTROL_TIMEOUT", "1"));
    ends(run).exits(1).says(&[
        "the lock was not granted in ",
        "it is held by process ",
        "Query was: drop table if exists",
    ]);
    let wrong = &mut bench.command(["init", conninfo.as_str()]);
    let run = Running::start(wrong.env("PGMETER_CONTROL_TIMEOUT", "soon"));
    ends(run).exits(1).says(&["PGMETER_CONTROL_TIMEOUT=soon: expected a number of seconds"]);
}

/// The wait is as long as the run and its grace period; after 2 s a line says for whom.
#[test]
fn a_run_waits_for_locks_before_it_no_longer_than_for_itself_and_says_for_whom() {
    let bench = Bench::new();
    let conninfo = tables_of_pgbench(Cluster::shared("18"), "prepare_beside", 1);
    let mut holder = Cluster::session(&conninfo);
    let lock = |mode: &str| format!("begin; lock table pgbench_branches in {mode} mode");
    holder.execute(&lock("access exclusive")).expect("a lock");
    let words = ["bench", "-T", "1", "-R", "50", "--grace", "2", conninfo.as_str()];
    let out = ends(Running::start(&mut bench.command(words))).exits(1).says(&[
        "did not get a lock that is held by process ",
        "within 3 s (statement: select count(*) from …); to change the limit, set a longer -T or --grace",
    ]);
    let told = "waiting for a lock that is held by process ";
    assert_eq!(out.stderr.matches(told).count(), 1, "{}", out.stderr);
    assert!(out.stderr.contains("; statement: select count(*) from …\n"), "{}", out.stderr);
    // As an index that is built CONCURRENTLY.
    holder.execute(&format!("rollback; {}", lock("share update exclusive"))).expect("a lock");
    let out = ends(Running::start(&mut bench.command(words))).exits(0).says(&[
        "warning: query failed: the lock was not granted in 1 try, the longest wait was 3.",
        "; it is held by process ",
        "Query was: vacuum pgbench_branches (the run continues)",
        "truncated before the run: public.pgbench_history",
    ]);
    assert_eq!(out.stderr.matches(told).count(), 1, "{}", out.stderr);
    assert!(out.stderr.contains("; statement: vacuum pgbench_branches …\n"), "{}", out.stderr);
}

#[test]
fn commands_whose_server_is_stopped_from_the_start_say_so() {
    let mut cluster = Stoppable::start();
    let bench = Bench::new();
    let conninfo = tables_of_pgbench(&cluster.0, "stopped", 1);
    cluster.signal(Signal::STOP);
    let experiment = format!("name = \"x\"\n[server]\ndsn = \"{conninfo}\"\n[load]\nduration = \"1s\"\n");
    let file = bench.file("x.toml", &experiment);
    let commands: [&[&str]; 4] = [
        &["bench", "-T", "1", &conninfo],
        &["init", &conninfo],
        &["lab", "run", file],
        &["compare", "--factor", "clients=1,2", "--dsn", &conninfo],
    ];
    for words in commands {
        let run = Running::start(bench.command(words).env("PGMETER_CONTROL_TIMEOUT", "1"));
        let out = ends(run).exits(1);
        assert!(out.stderr.contains("no answer within"), "{words:?}: {}", out.stderr);
    }
}

#[test]
fn a_loading_whose_server_is_stopped_fails_and_one_that_is_interrupted_ends() {
    let mut cluster = Stoppable::start();
    let conninfo = cluster.0.conninfo();
    for interrupted in [false, true] {
        let bench = Bench::new();
        let flags = ["init", "--scale", "200", "--init-steps", "dtgvp", conninfo.as_str()];
        let timeout = if interrupted { "1000" } else { "1" };
        let run = Running::start(bench.command(flags).env("PGMETER_CONTROL_TIMEOUT", timeout));
        let mut observer = Cluster::session(&conninfo);
        let copying = "select count(*) from pg_stat_progress_copy";
        while observer.query(copying).expect("the query is right")[0].get(0) == Some("0") {
            testkit::condition::pause();
        }
        drop(observer);
        cluster.signal(Signal::STOP);
        if interrupted {
            run.signal(Signal::TERM);
            ends(run).exits(143).says(&["--resume"]);
        } else {
            ends(run).exits(1).says(&["the server did not answer within 1 s"]);
        }
        cluster.signal(Signal::CONT);
    }
}

#[test]
fn a_trial_that_does_not_end_fails_and_the_next_one_begins() {
    let bench = Bench::new();
    bench.file("nap.sql", "SELECT 1;\n\\sleep :nap ms\n");
    let experiment = "name = \"naps\"\n[load]\nscript = \"nap.sql\"\nduration = \"1s\"\nwarmup = \"0s\"\n\
                      grace = \"500ms\"\n[data]\nworkload = \"none\"\n[factors]\n\"variables.nap\" = [1000000, 1]\n\
                      [design]\nrepeats = 1\n";
    let file = bench.file("naps.toml", experiment);
    let run = Running::start(&mut bench.command(["lab", "run", file]));
    ends(run).exits(2).says(&["were still running 0.5 s after the end", "1 of 2 trials failed"]);
    let mut store = Store::create(&bench.path().join("pgmeter-results/results.sqlite")).expect("a store");
    let row = store.newest_experiment("naps", "full").expect("it can be read").expect("it is there");
    let mut states: Vec<_> = row.trials.iter().map(|trial| trial.status).collect();
    states.sort_by_key(|status| format!("{status:?}"));
    assert_eq!(states, [TrialStatus::Complete, TrialStatus::Failed]);
    assert!(bench.servers_left().is_empty());
}

#[test]
fn an_experiment_whose_server_is_stopped_keeps_to_its_time_budget() {
    let bench = Bench::new();
    bench.file("telling.sql", TELLING);
    let experiment = "name = \"stopped\"\n[load]\nscript = \"telling.sql\"\nduration = \"2s\"\ngrace = \"1h\"\n\
                      warmup = \"0s\"\n[data]\nworkload = \"none\"\n[design]\nrepeats = 1\n";
    let file = bench.file("stopped.toml", experiment);
    let run = Running::start(&mut bench.command(["lab", "run", file, "--budget", "12s"]));
    await_load(&bench);
    stop_server_of(&run);
    ends(run).exits(2).says(&["the trial failed", "the run was not over after", "count as unfinished"]);
    assert!(bench.servers_left().is_empty());
}

#[test]
fn steps_and_loading_that_do_not_end_keep_to_the_time_budget() {
    // Other tests make databases of labs on the shared server.
    let cluster = Cluster::start("18");
    let conninfo = cluster.conninfo();
    let load =
        "[load]\nduration = \"1s\"\nwarmup = \"0s\"\nsetup = \"nap.sql\"\n[data]\nworkload = \"none\"\n";
    let steps = "[data]\nworkload = \"none\"\n[[step]]\nname = \"one\"\nbefore = \"SELECT pg_sleep(1000)\"\n\
                 sql = \"SELECT 1\"\nlimit = \"1s\"\n";
    let running = [load, steps].map(|text| {
        let bench = Bench::new();
        bench.file("nap.sql", "SELECT pg_sleep(1000);\n");
        let experiment =
            format!("name = \"budget\"\n[server]\ndsn = \"{conninfo}\"\n{text}[design]\nrepeats = 2\n");
        let file = bench.file("budget.toml", &experiment);
        (Running::start(&mut bench.command(["lab", "run", file, "--budget", "6s"])), bench)
    });
    for (run, bench) in running {
        // The other trial is left for another time.
        ends(run)
            .exits(2)
            .says(&["stopped because the time budget was exhausted", "1 of 2 trials failed, and 1 remain"]);
        let mut store = Store::create(&bench.path().join("pgmeter-results/results.sqlite")).expect("a store");
        let row = store.newest_experiment("budget", "full").expect("it can be read").expect("it is there");
        let states: Vec<_> = row.trials.iter().map(|trial| trial.status).collect();
        assert_eq!(states, [TrialStatus::Failed, TrialStatus::Planned]);
    }
    let left = "select datname from pg_database where datname like 'pgmeter_lab%'";
    let sleeping = "select query from pg_stat_activity where query like 'SELECT pg_sleep(1000)%'";
    for sql in [left, sleeping] {
        assert_eq!(Cluster::session(&conninfo).query(sql).expect("the query is right").len(), 0, "{sql}");
    }
}

#[test]
fn a_comparison_whose_server_is_stopped_ends_and_leaves_nothing() {
    let bench = Bench::new();
    bench.file("telling.sql", TELLING);
    let words =
        ["compare", "--factor", "protocol=simple,prepared", "--key", "workload=none", "-f", "telling.sql"];
    let more = ["--grace", "1s", "--budget", "10min"];
    let mut command = bench.command(words.iter().chain(&more));
    let run = Running::start(command.env("PGMETER_CONTROL_TIMEOUT", "2"));
    await_load(&bench);
    stop_server_of(&run);
    ends(run).exits(2);
    assert!(bench.servers_left().is_empty());
}

#[test]
fn a_quickstart_whose_server_is_stopped_ends_and_leaves_nothing() {
    let bench = Bench::new();
    let flags = ["quickstart", "--scale", "1", "--duration", "4", "--warmup", "0", "--grace", "1s"];
    let mut run = Running::start(bench.command(flags).env("PGMETER_CONTROL_TIMEOUT", "2"));
    run.hear("running tpcb-like");
    let since = Instant::now();
    while !descendants(run.pid()).iter().any(|(pid, _)| is_backend(*pid)) {
        assert!(since.elapsed() < DEADLINE, "the load never began");
        testkit::condition::pause();
    }
    stop_server_of(&run);
    let out = ends(run);
    assert!(out.status.code().is_some_and(|code| code == 2 || code == 1), "{out:?}");
    assert!(bench.servers_left().is_empty());
}

/// Whether a process is a backend at work on a transaction of the load.
fn is_backend(pid: u32) -> bool {
    let title =
        fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("cmdline")).unwrap_or_default();
    title.starts_with("postgres: ") && (title.contains("UPDATE") || title.contains("COMMIT"))
}

#[test]
fn a_second_signal_ends_a_program_that_is_still_cancelling() {
    let mut cluster = Stoppable::start();
    let bench = Bench::new();
    let script = bench.file("telling.sql", TELLING);
    let conninfo = cluster.0.conninfo();
    let flags = ["bench", "-n", "-c", "3", "-T", "600", "-f", script, conninfo.as_str()];
    let mut run = Running::start(&mut bench.command(flags));
    await_load(&bench);
    cluster.signal(Signal::STOP);
    run.signal(Signal::INT);
    // A signal soon after the first one is the same request.
    while !run.has_ended() {
        run.signal(Signal::HUP);
        std::thread::sleep(Duration::from_millis(50));
    }
    let out = ends(run);
    assert!(matches!(out.status.code(), Some(129 | 130)), "{out:?}");
    assert_eq!(out.stdout, "", "it did not wait for the end of the run");
}

#[test]
fn a_request_to_terminate_is_obeyed_after_the_clean_up_also_while_a_server_is_being_made() {
    let bench = Bench::new();
    // The load of the last one is so large that the signal comes while it is on.
    for (moment, scale) in
        [("PostgreSQL 18", "1"), ("running tpcb-like", "1"), ("PostgreSQL is running", "5")]
    {
        let mut run =
            Running::start(&mut bench.command(["quickstart", "--scale", scale, "--duration", "600"]));
        run.hear(moment);
        let pid = run.pid();
        run.signal(Signal::TERM);
        // The server and its guard are gone when it ends, and not some time later.
        ends(run).exits(143).says(&["interrupted"]);
        assert!(bench.servers_left().is_empty(), "{moment}: {:?}", bench.servers_left());
        assert!(descendants(pid).is_empty());
    }
    let conninfo = Cluster::shared("18").database("terminated");
    let script = bench.file("telling.sql", TELLING);
    let run =
        Running::start(&mut bench.command(["bench", "-n", "-T", "600", "-f", script, conninfo.as_str()]));
    await_load(&bench);
    run.signal(Signal::TERM);
    let out = ends(run).exits(143);
    assert!(out.stdout.contains("INTERRUPTED"), "{}", out.stdout);
}

#[test]
fn an_alarm_ends_a_timed_run_of_the_drop_in_as_its_limit_does() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("alarm");
    let script = bench.file("telling.sql", TELLING);
    let flags = ["-n", "-c", "2", "-f", script, conninfo.as_str()];
    let run = Running::start(&mut bench.pgbench(flags.iter().chain(&["-T", "600"])));
    await_load(&bench);
    run.signal(Signal::ALARM);
    let out = ends(run).exits(0);
    assert!(out.stdout.contains("duration: 600 s") && out.stdout.contains("\ntps = "), "{}", out.stdout);
    // Without a duration nobody has set an alarm, and it ends the program, as it ends pgbench.
    fs::remove_file(bench.path().join("loaded")).expect("the load was on");
    let run = Running::start(&mut bench.pgbench(flags.iter().chain(&["-t", "1000000000"])));
    await_load(&bench);
    run.signal(Signal::ALARM);
    let out = ends(run);
    assert_eq!((out.status.code(), out.stdout.contains("tps = ")), (None, false));
}

#[test]
fn an_interrupt_ends_an_initialization_of_the_drop_in_whose_server_is_stopped() {
    let mut cluster = Stoppable::start();
    let conninfo = cluster.0.conninfo();
    let bench = Bench::new();
    let mut run = Running::start(&mut bench.pgbench(["-i", "-s", "200", conninfo.as_str()]));
    run.hear("generating data");
    cluster.signal(Signal::STOP);
    run.signal(Signal::INT);
    ends(run).exits(1);
}
