//! Whether a run was limited by pgmeter itself, as the binary finds it out: against the null server, where nothing else
//! can be the limit, and against a PostgreSQL that takes its time. The rules themselves are tested in `results`.

use std::fs;
use std::process::Child;

use results::{CeilingBasis, Evidence, LimitedBy, ServerResource};
use testkit::cluster::Cluster;

use crate::harness::Bench;
use crate::limits::generator;
use crate::null_server::Null;
use crate::relay::Serving;

#[test]
fn a_run_in_which_pgmeter_does_most_of_the_work_accuses_pgmeter_at_the_top() {
    let bench = Bench::new();
    let null = Null::start(&bench, "./", &[]);
    let sums = "\\set a (random(1, 1000) * 7 + 13) % 11\n".repeat(2_000);
    let script = bench.file("sums.sql", &format!("{sums}SELECT :a;\n"));
    let out = bench.run(["bench", "-n", "-c", "4", "-T", "2", "-f", script, &null.conninfo]).exits(0);
    // Where others have the cores, the evidence is that it waited for one.
    assert!(out.stdout.starts_with("CLIENT-LIMITED: "), "{}", out.stdout);
    assert!(!out.stdout.contains("  limit  "), "{}", out.stdout);
    let generator = generator(bench.record());
    assert_eq!(generator.verdict.limit, LimitedBy::Generator);
    assert!(generator.busy_share > 0.5, "{generator:?}");
    assert_eq!((generator.workers.len(), generator.workers[0].clients), (1, 4));
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
    let flags = ["bench", "-n", "-c", "2", "-R", "300", "-L", "100", "-T", "2", "-f", script];
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

/// Statements through a relay that delays each direction by 5 ms: the verdict, the nearest limit, and what
/// the terminal shows.
fn relayed(version: &str) {
    let bench = Bench::new();
    let conninfo = Cluster::shared(version).database("relayed");
    let script = bench.file("one.sql", "SELECT 1;\n");
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
    let out = bench.run(["bench", "-n", "-c", "4", "-T", "2", "-f", script, &target]).exits(0);
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
    Cluster::versions(["15", "18"]).into_iter().for_each(relayed);
    let _others = Others::start();
    relayed("18");
}

#[test]
fn backends_that_wait_decide_whatever_others_do_with_the_processors() {
    for version in Cluster::versions(["15", "18"]) {
        let bench = Bench::new();
        let conninfo = Cluster::shared(version).database("beside_others");
        let mut session = Cluster::session(&conninfo);
        session.execute("CREATE TABLE one (n int)").expect("it is new");
        session.execute("INSERT INTO one VALUES (0)").expect("it is there");
        let nap = bench.file("nap.sql", "SELECT pg_sleep(0.1);\n");
        let row = bench.file("row.sql", "BEGIN;\nUPDATE one SET n = n + 1;\nSELECT pg_sleep(0.05);\nEND;\n");
        let _others = Others::start();
        for (script, resource) in [(nap, None), (row, Some(ServerResource::RowLocks))] {
            bench.run(["bench", "-n", "-c", "8", "-T", "2", "-f", script, &conninfo]).exits(0);
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
