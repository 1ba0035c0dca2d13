//! Whether a run was limited by pgmeter itself, as the binary finds it out: against the null server, where nothing else
//! can be the limit, and against a PostgreSQL that takes its time. The rules themselves are tested in `results`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use results::{CeilingBasis, EventLoopName, Evidence, Generator, LimitedBy, Missing, Record, ServerResource};
use rustix::process::Signal;
use testkit::cluster::Cluster;

use crate::harness::{Bench, Running, finish};
use crate::relay::Serving;

/// The null server in a process of its own.
struct NullServer {
    child: Child,
    conninfo: String,
}

impl NullServer {
    fn start(bench: &Bench) -> Self {
        let directory = bench.path().join("null");
        fs::create_dir(&directory).expect("the name is free");
        let mut command = bench.command(["null-server", "--listen"]);
        command.arg(directory.join("")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the binary can be started");
        let mut conninfo = String::new();
        let stdout = child.stdout.take().expect("stdout is a pipe");
        BufReader::new(stdout).read_line(&mut conninfo).expect("it says where it is");
        Self { child, conninfo: conninfo.trim().to_owned() }
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        // Its standard input ends, and with it the server.
        drop(self.child.stdin.take());
        self.child.wait().expect("the child is ours");
    }
}

fn generator(record: Record) -> Generator {
    record.summary.generator.expect("the run looked at its generator")
}

#[test]
fn a_run_in_which_pgmeter_does_most_of_the_work_accuses_pgmeter_at_the_top() {
    let bench = Bench::new();
    let null_server = NullServer::start(&bench);
    let sums = "\\set a (random(1, 1000) * 7 + 13) % 11\n".repeat(2_000);
    let script = bench.file("sums.sql", &format!("{sums}SELECT :a;\n"));
    let out = bench.run(["bench", "-n", "-c", "4", "-T", "2", "-f", script, &null_server.conninfo]).exits(0);
    // Where others have the cores, the evidence is that it waited for one.
    assert!(out.stdout.starts_with("CLIENT-LIMITED: "), "{}", out.stdout);
    assert!(!out.stdout.contains("  limit  "), "{}", out.stdout);
    let generator = generator(bench.record());
    assert_eq!(generator.verdict.limit, LimitedBy::Generator);
    assert!(generator.busy_share > 0.5, "{generator:?}");
    assert_eq!((generator.workers.len(), generator.workers[0].clients), (1, 4));
}

#[test]
fn a_script_that_asks_no_server_measures_pgmeter() {
    let bench = Bench::new();
    let null_server = NullServer::start(&bench);
    let script = bench.file("own.sql", "\\set a 1 + :client_id\n");
    let out = bench.run(["bench", "-n", "-T", "1", "-f", script, &null_server.conninfo]).exits(0);
    assert!(
        out.stdout.starts_with("CLIENT-LIMITED: The scripts sent no command to a server"),
        "{}",
        out.stdout
    );
}

#[test]
fn a_server_that_takes_its_time_is_the_limit() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("takes_its_time");
    let script = bench.file("slow.sql", "SELECT pg_sleep(0.05);");
    let out = bench.run(["bench", "-n", "-t", "30", "-f", script, &conninfo]).exits(0);
    let generator = generator(bench.record());
    // Whatever others do with the processors: the backend waited for its timer.
    assert_eq!(generator.verdict.limit, LimitedBy::Server);
    let line = "\n  limit           server. The worker was idle ";
    assert!(out.stdout.contains(line), "{}", out.stdout);
    assert_eq!((generator.commands.round_trips, generator.shortest_connect_us), (30, None));
}

#[test]
fn a_rate_that_more_clients_would_keep_names_the_number_of_clients() {
    let conninfo = Cluster::shared("18").database("too_few_clients");
    too_few_clients(&conninfo);
    // Whatever others do with the processors: the backends wait for a timer.
    let _others = Others::start();
    too_few_clients(&conninfo);
}

fn too_few_clients(conninfo: &str) {
    let bench = Bench::new();
    // However fast the machine: two clients that wait 20 ms each time make at most 100 tps, sixteen 800.
    let script = bench.file("wait.sql", "SELECT pg_sleep(0.02);");
    let flags = ["bench", "-n", "-c", "2", "-R", "300", "-L", "100", "-T", "3", "-f", script];
    let out = bench.run(flags.iter().chain(&[conninfo])).exits(0);
    let record = bench.record();
    assert!(record.summary.counts.skipped > 0, "{:?}", record.summary.counts);
    let verdict = generator(record).verdict;
    assert_eq!(verdict.limit, LimitedBy::ClientCount, "{verdict:?}");
    let line = "\n  limit           number of clients. 2 clients can reach at most ";
    assert!(out.stdout.contains(line) && out.stdout.contains("clients (-c)"), "{}", out.stdout);
}

/// Programs that take all processors until this is dropped.
struct Others {
    programs: Vec<Child>,
}

impl Others {
    fn start() -> Others {
        let number = std::thread::available_parallelism().map_or(2, usize::from);
        let start = |_| {
            let mut command = std::process::Command::new("sh");
            command.args(["-c", "while :; do :; done"]).spawn().expect("there is a shell")
        };
        Others { programs: (0..number).map(start).collect() }
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        for program in &mut self.programs {
            program.kill().expect("the child is ours");
            program.wait().expect("the child is ours");
        }
    }
}

/// Selects by primary key through a relay that delays each direction by 5 ms: the verdict, the nearest limit, and what
/// the terminal shows.
fn relayed(version: &str) {
    let bench = Bench::new();
    let conninfo = Cluster::shared(version).database("relayed");
    bench.run(["init", "--scale", "1", &conninfo]).exits(0);
    let word = |name: &str| {
        let value = conninfo.split(' ').find_map(|word| word.strip_prefix(name)).expect("it is there");
        value.trim_matches('\'').to_owned()
    };
    let server = format!("{}/.s.PGSQL.{}", word("host="), word("port="));
    let listen = bench.path().join("relay");
    fs::create_dir(&listen).expect("the name is free");
    let listen = format!("{}/", listen.display());
    let relay = Serving::start(&bench, &["relay", "--listen", &listen, "--to", &server, "--delay", "5ms"]);
    let target = format!("host={listen} user={} dbname={}", word("user="), word("dbname="));
    let out = bench.run(["bench", "-S", "-n", "-c", "4", "-T", "3", &target]).exits(0);
    relay.end();
    let record = bench.record();
    let verdict = generator(record.clone()).verdict;
    assert_eq!((verdict.limit, verdict.name()), (LimitedBy::Network, "network or proxy"), "{verdict:?}");
    assert_eq!((verdict.resource, verdict.others), (None, None));
    assert!(matches!(verdict.evidence, Evidence::OnTheWay { .. }), "{verdict:?}");
    let nearest = record.nearest_limit().expect("the way is one");
    let CeilingBasis::OnTheWay { way_us, .. } = nearest.basis else { panic!("{version}: {nearest:?}") };
    // The relay adds 10 ms, and waits for a CPU itself.
    assert!(way_us > 8_000.0 && nearest.reached_share > 0.5, "{version}: {nearest:?}");
    assert!(!nearest.is_exceeded(), "{version}: {nearest:?}");
    let words = out.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("The time is on the way (network or proxy), "), "{words}");
    assert!(words.contains("tps by the way (network or proxy), "), "{words}");
}

#[test]
fn behind_a_relay_that_delays_the_time_is_on_the_way() {
    ["15", "18"].into_iter().for_each(relayed);
    let _others = Others::start();
    relayed("18");
}

#[test]
fn backends_that_wait_decide_whatever_others_do_with_the_processors() {
    let _others = Others::start();
    for version in ["15", "18"] {
        let bench = Bench::new();
        let conninfo = Cluster::shared(version).database("beside_others");
        let mut session = Cluster::session(&conninfo);
        session.execute("CREATE TABLE one (n int)").expect("it is new");
        session.execute("INSERT INTO one VALUES (0)").expect("it is there");
        let nap = bench.file("nap.sql", "SELECT pg_sleep(0.1);\n");
        let row = bench.file("row.sql", "BEGIN;\nUPDATE one SET n = n + 1;\nSELECT pg_sleep(0.05);\nEND;\n");
        for (script, resource) in [(nap, None), (row, Some(ServerResource::RowLocks))] {
            bench.run(["bench", "-n", "-c", "8", "-T", "3", "-f", script, &conninfo]).exits(0);
            let record = bench.records().pop().expect("the newest");
            let processors = record.environment.conditions.processors.expect("Linux tells");
            assert!(processors.busy > 0.9, "the others do not take the processors: {processors:?}");
            // The bound by CPU time is not near.
            assert_eq!(record.nearest_limit(), None, "{version}: {script}");
            let verdict = generator(record).verdict;
            assert_eq!((verdict.limit, verdict.others), (LimitedBy::Server, None), "{version}: {verdict:?}");
            assert_eq!(verdict.resource, resource, "{version}: {verdict:?}");
        }
    }
}

#[test]
fn at_a_low_rate_no_limit_follows_from_what_is_not_of_the_transactions() {
    for version in ["15", "18"] {
        let bench = Bench::new();
        let conninfo = Cluster::shared(version).database("low_rate");
        bench.run(["init", "--scale", "1", &conninfo]).exits(0);
        let out = bench.run(["bench", "-S", "-n", "-c", "4", "-R", "2", "-T", "5", &conninfo]).exits(0);
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
fn a_run_whose_clients_wait_for_one_row_names_row_locks() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("one_row");
    let setup = ["CREATE TABLE one (n int)", "INSERT INTO one VALUES (0)"];
    let target =
        connect::resolve(Some(&conninfo), &Default::default(), &Default::default()).expect("a target");
    let mut session = connect::Session::connect(&target).expect("a session");
    for sql in setup {
        session.execute(sql).expect(sql);
    }
    // The lock is held for 20 ms, however fast the machine: seven of eight clients wait for it.
    let script = bench.file("row.sql", "BEGIN;\nUPDATE one SET n = n + 1;\nSELECT pg_sleep(0.02);\nEND;\n");
    let out = bench.run(["bench", "-n", "-c", "8", "-T", "3", "-f", script, &conninfo]).exits(0);
    let verdict = generator(bench.record()).verdict;
    assert_eq!(
        (verdict.limit, verdict.resource),
        (LimitedBy::Server, Some(ServerResource::RowLocks)),
        "{verdict:?}"
    );
    // The report breaks lines anywhere.
    let words = out.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("of their working time on row locks"), "{words}");
}

#[test]
fn at_a_rate_that_is_kept_nothing_is_the_limit() {
    let conninfo = Cluster::shared("18").database("kept_rate");
    let attempt = || {
        let bench = Bench::new();
        let script = bench.file("slow.sql", "SELECT pg_sleep(0.2);");
        let flags = ["bench", "-n", "-c", "16", "-R", "20", "-T", "3", "-f", script];
        let out = bench.run(flags.iter().chain(&[conninfo.as_str()])).exits(0);
        (out.stdout, generator(bench.record()).wakeup_lateness_us.expect("a rate needs wake-ups"))
    };
    // A crowded machine wakes a worker so late that this is the truth of it, and a rate that is kept is another time.
    let (text, lateness) = (0..5)
        .map(|_| attempt())
        .find(|(_, lateness)| lateness.max < 50_000.0)
        .expect("one run of five in which the worker was woken within 50 ms");
    let expected = "\n  limit           undecided. The rate of 20 tps was kept, so nothing was at its limit";
    assert!(text.contains(expected), "{lateness:?}\n{text}");
}

#[test]
fn a_few_transactions_decide_nothing() {
    let bench = Bench::new();
    let null_server = NullServer::start(&bench);
    let script = bench.file("one.sql", "SELECT 1;");
    let out = bench.run(["bench", "-n", "-t", "3", "-f", script, &null_server.conninfo]).exits(0);
    assert!(out.stdout.contains("\n  limit           undecided. 3 transactions in "), "{}", out.stdout);
}

#[test]
fn the_event_loop_is_chosen_by_option_or_variable() {
    let bench = Bench::new();
    let null_server = NullServer::start(&bench);
    let script = bench.file("one.sql", "SELECT 1;");
    let flags = ["bench", "-n", "-f", script, &null_server.conninfo];
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
    let null_server = NullServer::start(&bench);
    let script = bench.file("own.sql", "\\set a 1 + :client_id\n");
    let flags = ["-n", "-T", "1", "-f", script, &null_server.conninfo];
    let mut command = bench.pgbench(flags);
    let out = finish(command.env("PGMETER_EVENT_LOOP", "epoll")).exits(0);
    let both = out.stdout + &out.stderr;
    assert!(!both.to_lowercase().contains("limit") && !both.contains("event loop"), "{both}");
    let mut wrong = bench.pgbench(flags);
    let wrong = finish(wrong.env("PGMETER_EVENT_LOOP", "kqueue")).exits(1);
    let expected = "pgbench: error: PGMETER_EVENT_LOOP is \"kqueue\"; it may be auto, io_uring or epoll, or not be set\n";
    assert_eq!(wrong.stderr, expected);
}

/// Calibrating in a machine's place that is the test's own.
fn calibrate(bench: &Bench, arguments: &[&str]) -> std::process::Command {
    fs::create_dir_all(bench.path().join("tmp")).expect("it can be made");
    let mut command = bench.command(["calibrate"].iter().chain(arguments));
    command.env("PGMETER_CACHE_DIR", bench.path().join("cache")).env("TMPDIR", bench.path().join("tmp"));
    command
}

/// That neither the null server's directory nor its process is there any more.
#[track_caller]
fn assert_nothing_is_left(bench: &Bench) {
    let tmp = bench.path().join("tmp");
    assert_eq!(fs::read_dir(&tmp).expect("it is there").count(), 0);
    let place = tmp.to_string_lossy().into_owned();
    let processes = fs::read_dir("/proc").expect("there are processes");
    for process in processes.flatten() {
        let command = fs::read(process.path().join("cmdline")).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&command).contains(&place), "{} runs on", process.path().display());
    }
}

#[test]
fn a_machine_is_calibrated_once_and_its_runs_are_held_against_it() {
    let bench = Bench::new();
    finish(&mut calibrate(&bench, &["--show"]))
        .exits(1)
        .says(&["no calibration of this machine", "calibrations"]);
    let out = finish(&mut calibrate(&bench, &["-T", "1"])).exits(0).says(&["stored in "]);
    assert!(out.stdout.starts_with("One worker, event loop "), "{}", out.stdout);
    assert!(out.stdout.lines().any(|line| line.trim_start().starts_with("900 ")), "{}", out.stdout);
    assert!(out.stdout.contains("late wake-ups: "), "{}", out.stdout);
    assert_nothing_is_left(&bench);
    let shown = finish(&mut calibrate(&bench, &["--show"])).exits(0);
    assert_eq!(shown.stdout, out.stdout);

    let null_server = NullServer::start(&bench);
    let script = bench.file("one.sql", "SELECT 1;");
    let mut run = bench.command(["bench", "-n", "-T", "1", "-c", "4", "-f", script, &null_server.conninfo]);
    finish(run.env("PGMETER_CACHE_DIR", bench.path().join("cache"))).exits(0);
    let used = generator(bench.record()).calibration.expect("it fits this machine");
    assert!(used.round_trips_per_s_max > 0.0 && used.reached_share > 0.0, "{used:?}");
}

#[test]
fn a_calibration_that_is_interrupted_keeps_nothing_and_leaves_nothing() {
    let bench = Bench::new();
    let mut running = Running::start(&mut calibrate(&bench, &["-T", "60"]));
    running.hear("calibrating");
    running.signal(Signal::INT);
    running.finish().exits(130).says(&["interrupted; the machine was not calibrated"]);
    assert_nothing_is_left(&bench);
    assert!(!bench.path().join("cache/calibrations").exists());
}

#[test]
fn a_self_test_says_whether_the_machine_can_measure_and_leaves_nothing() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path().join("tmp")).expect("it can be made");
    let junit = bench.path().join("self-test.xml");
    let run = |words: &[&str]| {
        finish(
            bench
                .command(["self-test", "-T", "0.2"].iter().chain(words))
                .env("TMPDIR", bench.path().join("tmp")),
        )
    };
    run(&["-o", junit.to_str().expect("a path of ours")]).exits(5);
    let cases = fs::read_to_string(junit).expect("it is there");
    assert!(cases.contains("tests=\"9\"") && cases.contains("name=\"build\""), "{cases}");
    let json = bench.path().join("self-test.json");
    let out = run(&["-o", json.to_str().expect("a path of ours")]);
    // Tests run a debug build, which is not fit for measuring.
    let out = out.exits(5);
    let lines: Vec<&str> = out.stdout.lines().map(str::trim_end).collect();
    assert_eq!(lines[0], "This machine cannot measure reliably, for the reasons below.");
    for part in [
        "build  ",
        "event loop  ",
        "clock  ",
        "CPUs  ",
        "open files  ",
        "late wake-ups  ",
        "rate of a worker  ",
    ] {
        assert!(out.stdout.contains(part), "{part} is missing: {}", out.stdout);
    }
    let found: serde_json::Value =
        serde_json::from_slice(&fs::read(json).expect("it is there")).expect("JSON");
    assert_eq!((&found["grade"], &found["checks"][0]), (&"bad".into(), &serde_json::json!(["build", "bad"])));
    assert!(found["clock"]["read_ns"].as_f64().is_some_and(|nanos| nanos > 0.0));
    assert_nothing_is_left(&bench);
}

#[test]
fn a_calibration_that_cannot_be_kept_is_shown_all_the_same() {
    let bench = Bench::new();
    bench.file("cache", "in the way");
    let out =
        finish(&mut calibrate(&bench, &["-T", "1"])).exits(1).says(&["cannot keep the calibration in "]);
    assert!(out.stdout.starts_with("One worker, event loop "), "{}", out.stdout);
    assert_nothing_is_left(&bench);
}
