//! One load from several processes: the same transactions as from one, one record, and what is said and stored when a rank
//! dies, hangs or differs. The process manager is that of the tests; `crates/ranks` tries MPICH's.

use std::process::Child;
use std::time::{Duration, Instant};

use results::Record;
use rustix::process::{Pid, Signal, kill_process};
use testkit::cluster::Cluster;
use testkit::process_manager::ProcessManager;

use crate::harness::Bench;

/// Far beyond the time in which a run with a failed rank ends, so that only a run that would never end exceeds it.
const END_LIMIT: Duration = Duration::from_secs(120);
/// Each row is a transaction: its client and what it drew.
const DRAW: &str = "\\set a random(1, 1000000000)\nINSERT INTO drawn VALUES (:client_id, :a);\n";

struct Job {
    _manager: ProcessManager,
    ranks: Vec<Child>,
}

/// What a rank left.
#[derive(Debug)]
struct Ended {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Job {
    /// Starts ranks with these arguments.
    fn start(bench: &Bench, ranks: usize, arguments: impl Fn(usize) -> Vec<String>) -> Job {
        let (manager, ranks) = ProcessManager::spawn(ranks, |rank| bench.command(arguments(rank)));
        Job { _manager: manager, ranks }
    }

    fn signal(&self, rank: usize, signal: Signal) {
        let pid = i32::try_from(self.ranks[rank].id()).expect("a process id");
        kill_process(Pid::from_raw(pid).expect("a process id"), signal).expect("it is ours");
    }

    /// Waits for all ranks.
    fn finish(self) -> Vec<Ended> {
        let ended = self.ranks.into_iter().map(|rank| {
            let output = rank.wait_with_output().expect("it was started");
            let text = |bytes| String::from_utf8(bytes).expect("it writes UTF-8");
            Ended { status: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
        });
        ended.collect()
    }
}

fn words(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(|word| (*word).to_owned()).collect()
}

/// A folder and a database with the table of [`DRAW`].
fn prepared(name: &str) -> (Bench, String) {
    let conninfo = Cluster::shared("18").database(name);
    Cluster::session(&conninfo).execute("create table drawn (client int, a int)").expect("a table");
    let bench = Bench::new();
    bench.file("draw.sql", DRAW);
    (bench, conninfo)
}

/// The transactions so far, which are removed.
fn drawn(conninfo: &str) -> Vec<(i64, i64)> {
    let mut session = Cluster::session(conninfo);
    let rows = session.query("select client, a from drawn order by 1, 2").expect("rows");
    session.execute("truncate drawn").expect("a table");
    let number = |row: &connect::Row, at| row.get(at).and_then(|text| text.parse().ok()).expect("a number");
    rows.iter().map(|row| (number(row, 0), number(row, 1))).collect()
}

fn latest(bench: &Bench) -> Record {
    bench.records().pop().expect("a record")
}

#[test]
fn four_ranks_run_the_transactions_of_one() {
    let (bench, conninfo) = prepared("machines_same");
    for own in [&["-c", "7", "-t", "5"][..], &["-c", "7", "-R", "300", "-T", "2"]] {
        let common = ["bench", "-f", "draw.sql", "-j", "2", "--random-seed", "42", "--observe", "off"];
        let load = [&common[..], own, &[conninfo.as_str()]].concat();
        bench.run(&load).exits(0);
        let counts_of_one = latest(&bench).summary.counts;
        let mut of_one = drawn(&conninfo);
        let job = Job::start(&bench, 4, |_| words(&load));
        let ended = job.finish();
        for (rank, ended) in ended.iter().enumerate() {
            assert_eq!(ended.status, Some(0), "rank {rank}: {}", ended.stderr);
            assert_eq!(rank == 0, !ended.stdout.is_empty(), "rank 0 alone reports: {}", ended.stdout);
        }
        let mut of_four = drawn(&conninfo);
        if load.contains(&"-R") {
            // An arrival has the same draws whichever client runs it.
            let forget = |transactions: &mut Vec<(i64, i64)>| {
                transactions.iter_mut().for_each(|transaction| transaction.0 = 0);
                transactions.sort_unstable();
            };
            forget(&mut of_one);
            forget(&mut of_four);
        }
        assert!(!of_one.is_empty());
        // A transaction that the end of the time cut off is counted and leaves no row; all others must be there.
        let missing = |these: &[(i64, i64)], others: &[(i64, i64)]| {
            others.iter().filter(|transaction| !these.contains(transaction)).count() as u64
        };
        let counts_of_four = latest(&bench).summary.counts;
        assert_eq!(counts_of_four.scheduled, counts_of_one.scheduled, "{load:?}");
        for (these, others, counts) in
            [(&of_four, &of_one, &counts_of_four), (&of_one, &of_four, &counts_of_one)]
        {
            assert!(missing(these, others) <= counts.unfinished, "{load:?}: {counts:?}");
        }
        let record = latest(&bench);
        let ranks = &record.summary.ranks;
        assert_eq!((record.plan.machines, record.plan.clients, record.plan.workers), (4, 7, 2));
        assert_eq!(ranks.iter().map(|rank| rank.clients).collect::<Vec<_>>(), [2, 2, 2, 1]);
        assert_eq!(ranks.iter().map(|rank| rank.counts.scheduled).sum::<u64>(), counts_of_one.scheduled);
        assert!(ranks[0].clock.is_none() && ranks.iter().all(|rank| rank.generator.is_some()), "{ranks:?}");
        for clock in ranks[1..].iter().map(|rank| rank.clock.expect("it was measured")) {
            // All ranks have the same clock here.
            assert!(clock.offset_ms.abs() <= clock.offset_error_ms, "{clock:?}");
            assert!(clock.start_skew_us.abs() < 1e6 && clock.start_skew_error_us > 0.0, "{clock:?}");
        }
        assert!(ended[0].stdout.contains("load generators"), "{}", ended[0].stdout);
    }
    assert_eq!(bench.records().len(), 4, "one record for each run");
}

#[test]
fn a_process_manager_with_one_process_runs_it_alone_and_children_are_no_ranks() {
    let (bench, conninfo) = prepared("machines_alone");
    bench.file("shell.sql", "\\shell env >> environment\nSELECT 1;\n");
    for ranks in [1, 2] {
        let clients = ranks.to_string();
        let arguments = words(&["bench", "-f", "shell.sql", "-t", "2", "-c", &clients, &conninfo]);
        let ended = Job::start(&bench, ranks, |_| arguments.clone()).finish();
        assert!(ended.iter().all(|ended| ended.status == Some(0)), "{ended:?}");
        assert_eq!(latest(&bench).plan.machines as usize, ranks);
    }
    let environment = std::fs::read_to_string(bench.path().join("environment")).expect("the commands ran");
    assert!(environment.contains("PATH=") && !environment.contains("PMI_"), "{environment}");
}

#[test]
fn fewer_machines_than_ranks_can_make_the_load_and_not_more() {
    let (bench, conninfo) = prepared("machines_fewer");
    let run = |machines: &str| {
        let arguments = ["bench", "-f", "draw.sql", "-c", "4", "-t", "2", "--machines", machines, &conninfo];
        Job::start(&bench, 3, |_| words(&arguments)).finish()
    };
    assert!(run("2").iter().all(|ended| ended.status == Some(0)));
    assert_eq!(latest(&bench).summary.ranks.len(), 2);
    assert_eq!(run("1")[0].status, Some(0));
    assert!(latest(&bench).summary.ranks.is_empty());
    let refused = run("4");
    assert_eq!(refused[0].status, Some(1));
    assert!(refused[0].stderr.contains("machines is 4, but there are 3 processes"), "{}", refused[0].stderr);
    assert!(refused[1..].iter().all(|ended| ended.status == Some(0)), "{refused:?}");
}

#[test]
fn what_the_ranks_cannot_do_together_is_refused_in_one_sentence() {
    let (bench, conninfo) = prepared("machines_refused");
    let refusal = |ranks: usize, arguments: &dyn Fn(usize) -> Vec<String>| {
        let since = Instant::now();
        let ended = Job::start(&bench, ranks, arguments).finish();
        assert_ne!(ended[0].status, Some(0), "{ended:?}");
        assert!(since.elapsed() < END_LIMIT, "{ended:?}");
        ended[0].stderr.clone()
    };
    let with = |more: &[&str]| {
        words(&[&["bench", "-f", "draw.sql", "-t", "1"][..], more, &[conninfo.as_str()]].concat())
    };
    let verified = refusal(2, &|_| with(&["-c", "4", "--verify"]));
    assert!(verified.contains("--verify is not possible on several machines"), "{verified}");
    let few = refusal(2, &|_| with(&["-c", "1"]));
    assert!(few.contains("2 ranks need at least one client each, but -c is 1"), "{few}");
    let other = refusal(2, &|rank| with(&["-c", if rank == 0 { "4" } else { "5" }]));
    assert!(other.contains("rank 1 was started with other arguments than rank 0"), "{other}");
    let logged = refusal(2, &|_| with(&["-c", "4", "--log"]));
    assert!(logged.contains("--log"), "{logged}");
}

#[test]
fn a_script_file_is_needed_on_rank_0_only_and_copied_files_must_be_equal() {
    let (bench, conninfo) = prepared("machines_files");
    bench.file("copy.sql", "COPY drawn FROM STDIN;\n\\copy_file rows.tsv\n");
    bench.file("rows.tsv", "1\t2\n");
    let arguments = words(&["bench", "-f", "copy.sql", "-t", "3", "-c", "2", &conninfo]);
    let ended = Job::start(&bench, 2, |_| arguments.clone()).finish();
    assert!(ended.iter().all(|ended| ended.status == Some(0)), "{ended:?}");
    assert_eq!(drawn(&conninfo), [(1, 2); 6]);
}

#[test]
fn an_order_with_a_long_script_takes_several_rounds() {
    let (bench, conninfo) = prepared("machines_long");
    // Hardly compressible, so that it is longer than a part of a message.
    let mut state = 1_u64;
    let mut digits = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("{state:016x}")
    };
    let comments: String = (0..8_000).map(|_| format!("-- {}{}\n", digits(), digits())).collect();
    bench.file("long.sql", &(comments + DRAW));
    let arguments = words(&["bench", "-f", "long.sql", "-t", "2", "-c", "4", &conninfo]);
    let ended = Job::start(&bench, 3, |_| arguments.clone()).finish();
    assert!(ended.iter().all(|ended| ended.status == Some(0)), "{ended:?}");
    assert_eq!(drawn(&conninfo).len(), 8);
}

/// A run of three ranks for a minute, of which one gets a signal. The other ranks' ends, and the line of the run in the store.
fn with_signal(name: &str, rank: usize, signal: Signal) -> (Vec<Ended>, String) {
    let (bench, conninfo) = prepared(name);
    let arguments = words(&[
        "bench",
        "-f",
        "draw.sql",
        "-c",
        "3",
        "-R",
        "200",
        "-T",
        "60",
        "--observe",
        "off",
        &conninfo,
    ]);
    let job = Job::start(&bench, 3, |_| arguments.clone());
    let begun = Instant::now();
    while Cluster::session(&conninfo).query("select from drawn limit 1").expect("rows").is_empty() {
        assert!(begun.elapsed() < END_LIMIT, "the load did not begin");
        std::thread::sleep(Duration::from_millis(50));
    }
    // So that the first seconds were exchanged.
    std::thread::sleep(Duration::from_secs(2));
    let since = Instant::now();
    job.signal(rank, signal);
    let id = job.ranks[rank].id();
    let ended = if signal == Signal::STOP {
        // It is killed once the others are gone, as mpiexec does.
        let mut ranks = job.ranks;
        let stopped = ranks.remove(rank);
        let others = Job { _manager: job._manager, ranks };
        let ended = others.finish();
        assert!(since.elapsed() < END_LIMIT, "{:?}", since.elapsed());
        let pid = Pid::from_raw(i32::try_from(id).expect("an id")).expect("an id");
        kill_process(pid, Signal::KILL).expect("it is ours");
        stopped.wait_with_output().expect("it was started");
        ended
    } else {
        job.finish()
    };
    assert!(since.elapsed() < END_LIMIT, "{:?}", since.elapsed());
    (ended, bench.run(["runs", "list"]).exits(0).stdout)
}

/// Whether the run names the rank that failed, in the row and in the error of rank 0. A signal between the rank's message of
/// a round and its barrier leaves open which rank it is.
fn assert_names_rank(rank: u32, (ended, list): &(Vec<Ended>, String), error: &str) {
    let stderr = &ended[0].stderr;
    let between = stderr.contains("stood still") && stderr.contains("ranks 1 or 2, or the connection");
    assert!(between || stderr.contains(error), "{stderr}");
    let row = format!("failed: rank {rank}");
    assert!(list.contains(&row) || between && list.contains("failed: the exchange"), "{list}");
}

#[test]
fn a_rank_that_hangs_ends_the_run_which_says_so() {
    let run = with_signal("machines_stopped", 1, Signal::STOP);
    assert_names_rank(1, &run, "error: rank 1 did not answer");
}

#[test]
fn a_rank_that_dies_ends_the_run_which_says_so() {
    let run = with_signal("machines_killed", 2, Signal::KILL);
    assert_names_rank(2, &run, "rank 2");
}

#[test]
fn when_rank_0_dies_the_others_end_and_the_row_says_that_the_run_was_broken_off() {
    let (ended, list) = with_signal("machines_first", 0, Signal::KILL);
    let stderr = &ended[1].stderr;
    // Between its message of a round and its barrier, it may be any other rank.
    let between = stderr.contains("stood still") && stderr.contains("ranks 0 or 2, or the connection");
    assert!(between || stderr.contains("rank 0"), "{stderr}");
    assert!(list.contains("killed"), "{list}");
}

#[test]
fn an_interruption_of_rank_0_stops_all_and_keeps_the_results() {
    let (ended, list) = with_signal("machines_interrupted", 0, Signal::INT);
    assert_eq!(ended[0].status, Some(130), "{}", ended[0].stderr);
    assert!(ended[0].stdout.contains("load generators"), "{}", ended[0].stdout);
    assert!(list.contains("interrupted"), "{list}");
}
