//! Runs of the drop-in on an embedded server: the report's lines in combinations of options, what stderr says, exit
//! statuses. The report's lines themselves are pinned where they are made.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use testkit::cluster::Cluster;

use super::shape;
use crate::harness::{Bench, tables_of_pgbench};

/// A fresh database with the tables of the built-in scripts.
fn with_tables(name: &str) -> String {
    tables_of_pgbench(Cluster::shared("18"), name, 1)
}

#[test]
fn a_reader_that_has_gone_away_ends_the_program_as_it_ends_programs_in_c() {
    let bench = Bench::new();
    let conninfo = with_tables("dropin_closed");
    bench.file("cheap.sql", "select 1;\n");
    let conninfo = conninfo.as_str();
    let calls: [(&[&str], bool); 4] = [
        (&["--help"], false),
        (&["-n", "-t", "1", "-f", "cheap.sql", conninfo], false),
        (&["-i", conninfo], true),
        (&["-n", "-T", "60", "-P", "1", "-f", "cheap.sql", conninfo], true),
    ];
    for (arguments, closes_stderr) in calls {
        let (reader, writer) = std::io::pipe().expect("a pipe can be made");
        drop(reader);
        let mut command = bench.pgbench(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        if closes_stderr {
            command.stderr(writer)
        } else {
            command.stdout(writer)
        };
        let status = command.status().expect("the program can be started");
        assert_eq!(status.code(), Some(141), "{arguments:?}");
    }
}

#[test]
fn bytes_of_a_file_name_go_out_as_they_came() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("dropin_bytes");
    let name = OsStr::from_bytes(b"caf\xe9.sql");
    std::fs::write(bench.path().join(name), b"select 1; -- \xe9\n").expect("a file can be written");
    let arguments = ["-n", "-t", "1", "-r", conninfo.as_str(), "-f"].map(OsStr::new);
    let output = bench.pgbench(arguments.into_iter().chain([name])).output().expect("it can be started");
    let has = |line: &[u8]| output.stdout.split(|&byte| byte == b'\n').any(|it| it == line);
    assert!(has(b"transaction type: caf\xe9.sql"), "{}", String::from_utf8_lossy(&output.stdout));
    let missing = [OsStr::new("-f"), OsStr::from_bytes(b"\xff")];
    let output = bench.pgbench(missing).output().expect("it can be started");
    assert!(output.stderr.starts_with(b"pgbench: error: could not open file \"\xff\": "), "{output:?}");
}

#[test]
fn the_report_has_its_lines_in_every_combination_of_options() {
    let bench = Bench::new();
    let conninfo = with_tables("dropin_report");
    let head = "pgbench (# (pgmeter #), server #)\ntransaction type: <builtin: select only>\nscaling factor: #\n\
                query mode: simple\nnumber of clients: #\nnumber of threads: #\n";
    let (tries, t) = (
        "maximum number of tries: #\n",
        "number of transactions per client: #\nnumber of transactions actually processed: #/#\n",
    );
    let failed = "number of failed transactions: # (#%)\n";
    let detailed = "number of serialization failures: # (#%)\nnumber of deadlock failures: # (#%)\nnumber of other failures: # (#%)\n";
    let retried = "number of transactions retried: # (#%)\ntotal number of retries: #\n";
    let skipped = "number of transactions skipped: # (#%)\n";
    let late = "number of transactions above the # ms latency limit: #/# (#%)\n";
    let (average, stddev) = ("latency average = # ms\n", "latency stddev = # ms\n");
    let lag = "rate limit schedule lag: avg # (max #) ms\n";
    let speed = "initial connection time = # ms\ntps = # (without initial connection time)\n";
    let again = "average connection time = # ms\ntps = # (including reconnection times)\n";
    for (options, expected) in [
        (&[][..], format!("{head}{tries}{t}{failed}{average}{speed}")),
        (&["-C"], format!("{head}{tries}{t}{failed}{average}{again}")),
        (&["--failures-detailed"], format!("{head}{tries}{t}{failed}{detailed}{average}{speed}")),
        (&["--max-tries=3"], format!("{head}{tries}{t}{failed}{retried}{average}{speed}")),
        (&["-L", "1000"], format!("{head}{tries}{t}{failed}{late}{average}{stddev}{speed}")),
        (
            &["-L", "1000", "--max-tries=0"],
            format!("{head}{t}{failed}{retried}{late}{average}{stddev}{speed}"),
        ),
        (&["-R", "900"], format!("{head}{tries}{t}{failed}{average}{stddev}{lag}{speed}")),
        (
            &["-R", "900", "-L", "1000"],
            format!("{head}{tries}{t}{failed}{skipped}{late}{average}{stddev}{lag}{speed}"),
        ),
        (&["-P", "100"], format!("{head}{tries}{t}{failed}{average}{stddev}{speed}")),
        (
            &["-r"],
            format!(
                "{head}{tries}{t}{failed}{average}{speed}statement latencies in milliseconds and failures:\n \
                 # # \\set aid random(#, # * :scale)\n # # SELECT abalance FROM \
                 pgbench_accounts WHERE aid = :aid;\n"
            ),
        ),
    ] {
        let common = ["-n", "-S", "-c", "2", "-t", "5", &conninfo];
        let out = bench.run_pgbench(common.iter().chain(options)).exits(0);
        assert_eq!(shape(&out.stdout), expected, "{options:?}");
        assert_eq!(out.stderr, "", "{options:?}");
    }
}

#[test]
fn vacuuming_the_scale_and_the_seed_are_told_on_stderr() {
    let bench = Bench::new();
    let conninfo = with_tables("dropin_stderr");
    let out = bench.run_pgbench(["-v", "-s", "7", "-t", "1", "--random-seed=5", &conninfo]).exits(0);
    assert_eq!(
        out.stderr,
        "pgbench: setting random seed to 5\n\
         pgbench: warning: scale option ignored, using count from pgbench_branches table (1)\n\
         starting vacuum...end.\nstarting vacuum pgbench_accounts...end.\n"
    );
}

#[test]
fn a_database_without_the_tables_gets_the_hint() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("dropin_empty");
    let out = bench.run_pgbench(["-t", "1", &conninfo]).exits(1);
    assert!(out.stdout.starts_with("pgbench ("), "the banner comes first: {}", out.stdout);
    let database = conninfo.split_once("dbname=").expect("it names its database").1;
    let database = database.split_whitespace().next().unwrap_or_default();
    let expected = format!(
        "pgbench: error: could not count number of branches: ERROR:  relation \"pgbench_branches\" does not exist\n\
         LINE 1: select count(*) from pgbench_branches\n                             ^\n\
         pgbench: hint: Perhaps you need to do initialization (\"pgbench -i\") in database \"{database}\".\n"
    );
    assert_eq!(out.stderr, expected);
    let script = bench.file("one.sql", "SELECT 1;");
    let out = bench.run_pgbench(["-t", "1", "-f", script, &conninfo]).exits(0);
    assert!(out.stderr.contains("(ignoring this error and continuing anyway)"), "{}", out.stderr);
}

#[test]
fn an_aborted_client_is_told_and_the_status_is_2() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("dropin_abort");
    let incomplete = "pgbench: error: Run was aborted; the above results are incomplete.\n";
    for (text, words) in [
        ("SELECT 1/0;", "client 0 script 0 aborted in command 0 query 0: ERROR:  division by zero\n"),
        (
            "\\set x 1/0\nSELECT 1;",
            "division by zero\npgbench: error: client 0 aborted in command 0 (set) of script 0; \
             evaluation of meta-command failed\n",
        ),
        ("BEGIN;", "client 0 aborted: end of script reached without completing the last transaction\n"),
        ("SELECT 1 WHERE false \\gset", "client 0 script 0 command 0 query 0: expected one row, got 0\n"),
        ("COPY (SELECT 1) TO STDOUT;", "COPY is not supported in pgbench, aborting\n"),
    ] {
        let script = bench.file("abort.sql", text);
        let out = bench.run_pgbench(["-n", "-t", "1", "-f", script, &conninfo]).exits(2);
        assert_eq!(out.stderr, format!("pgbench: error: {words}{incomplete}"), "{text}");
        assert!(out.stdout.contains("\nnumber of transactions actually processed: "), "{}", out.stdout);
    }
    let script = bench.file("abort.sql", "SELECT 1/0;");
    let out = bench.run_pgbench(["-n", "-t", "1", "--exit-on-abort", "-f", script, &conninfo]).exits(2);
    assert!(
        out.stderr.contains("pgbench: error: Run was aborted due to an error in thread 0\n"),
        "{}",
        out.stderr
    );
    assert!(!out.stdout.contains("tps"), "there is no report: {}", out.stdout);
    let out = bench.run_pgbench(["-n", "-t", "3", "--continue-on-error", "-f", script, &conninfo]).exits(0);
    assert!(out.stdout.contains("number of failed transactions: 3 (100.000%)\n"), "{}", out.stdout);
}

#[test]
fn each_second_of_the_time_asked_for_has_its_progress_line() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("dropin_progress");
    let script = bench.file("nap.sql", "\\sleep 10 ms\nSELECT 1;");
    let out = bench.run_pgbench(["-n", "-T", "2", "-P", "1", "-f", script, &conninfo]).exits(0);
    let times: Vec<&str> = out.stderr.lines().filter_map(|line| line.split(" s,").next()).collect();
    assert_eq!(times, ["progress: 1.0", "progress: 2.0"], "{}", out.stderr);
    let first = shape(out.stderr.lines().next().unwrap_or_default());
    assert_eq!(first, "progress: # s, # tps, lat # ms stddev #, # failed");
}

/// As with pgbench, the load does not go on when nobody sees it any more.
#[test]
fn a_run_whose_progress_nobody_reads_any_more_ends() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("dropin_unwatched");
    let script = bench.file("nap.sql", "\\sleep 10 ms\nSELECT 1;");
    let mut command = bench.pgbench(["-n", "-T", "60", "-P", "1", "-f", script, &conninfo]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it can be started");
    let mut line = String::new();
    let mut stderr = BufReader::new(child.stderr.take().expect("stderr is a pipe"));
    stderr.read_line(&mut line).expect("stderr is readable");
    assert!(line.starts_with("progress: 1.0 s, "), "{line}");
    drop(stderr);
    assert_eq!(child.wait().expect("the child is ours").code(), Some(141));
}

#[test]
fn a_connection_refused_in_the_middle_is_told_as_libpq_tells_it() {
    let bench = Bench::new();
    let cluster = Cluster::shared("18");
    cluster.execute("CREATE ROLE leaver SUPERUSER LOGIN");
    let conninfo = format!("{} user=leaver", cluster.database("dropin_refused"));
    let script = bench.file("leave.sql", "ALTER ROLE CURRENT_USER NOLOGIN;");
    let out = bench.run_pgbench(["-n", "-t", "2", "-C", "-f", script, &conninfo]).exits(2);
    let words = "failed: FATAL:  role \"leaver\" is not permitted to log in\n\
                 pgbench: error: client 0 aborted while establishing connection\n";
    assert!(out.stderr.starts_with("pgbench: error: connection to server on socket \""), "{}", out.stderr);
    assert!(out.stderr.contains(words), "{}", out.stderr);
}

#[test]
fn a_rate_that_nobody_reaches_is_taken() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("dropin_rate");
    let script = bench.file("one.sql", "SELECT 1;");
    for rate in ["1000000000", "1e300"] {
        let out = bench.run_pgbench(["-n", "-t", "5", "-R", rate, "-f", script, &conninfo]).exits(0);
        assert!(out.stdout.contains("\nrate limit schedule lag: avg "), "{}", out.stdout);
    }
}

#[test]
fn an_empty_line_of_a_command_is_a_nought_and_no_output_an_error() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("dropin_setshell");
    let script = bench.file("empty.sql", "\\setshell v echo\n\\set w debug(:v)\n");
    let out = bench.run_pgbench(["-n", "-t", "1", "-f", script, &conninfo]).exits(0);
    assert_eq!(out.stderr, "debug(script=0,command=2): int 0\n");
    let script = bench.file("silent.sql", "\\setshell v true\n");
    let out = bench.run_pgbench(["-n", "-t", "1", "-f", script, &conninfo]).exits(2);
    assert!(out.stderr.contains("true: could not read result of shell command\n"), "{}", out.stderr);
    let script = bench.file("words.sql", "\\setshell v echo hi\n");
    let out = bench.run_pgbench(["-n", "-t", "1", "-f", script, &conninfo]).exits(2);
    assert!(out.stderr.contains("must return an integer (not \"hi\n\")\n"), "{}", out.stderr);
}

#[test]
fn a_seed_draws_what_pgbench_draws() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("dropin_seed");
    // The vectors of the reference, section 21, which pgbench 15 to 20devel give.
    let script = bench.file("draw.sql", "\\set a debug(random_gaussian(1,1000,2.5))\nSELECT 1;");
    let out = bench.run_pgbench(["-n", "-t", "4", "--random-seed=42", "-f", script, &conninfo]).exits(0);
    let draws: Vec<&str> =
        out.stderr.lines().filter_map(|line| line.strip_prefix("debug(script=0,command=1): int ")).collect();
    assert_eq!(draws, ["761", "398", "641", "343"], "{}", out.stderr);
}

#[test]
fn a_database_that_is_not_there_is_told_as_libpq_tells_it() {
    let bench = Bench::new();
    let conninfo = format!("{} dbname=nosuch", Cluster::shared("18").conninfo());
    for (options, purpose) in [(&["-t", "1"][..], "setup"), (&["-i"], "initialization")] {
        let out = bench.run_pgbench(options.iter().chain(&[conninfo.as_str()])).exits(1);
        assert!(
            out.stderr.starts_with("pgbench: error: connection to server on socket \""),
            "{}",
            out.stderr
        );
        let end = format!(
            "failed: FATAL:  database \"nosuch\" does not exist\n\
             pgbench: error: could not create connection for {purpose}\n"
        );
        assert!(out.stderr.ends_with(&end), "{}", out.stderr);
    }
}

#[test]
fn debug_tells_the_steps_of_the_clients() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("dropin_debug");
    let script = bench.file(
        "steps.sql",
        "\\set x 2\n\\if :x = 1\n\\elif :x = 2\nSELECT :x AS y \\gset\n\\else\n\\endif\n\\sleep  1   us\n\\startpipeline\n\
         SELECT 1;\n\\endpipeline\n",
    );
    let steps = |options: &[&str]| {
        let flags = ["--debug", "-n", "-t", "1", "-f", script];
        let out = bench.run_pgbench(flags.iter().chain(options).chain(&[conninfo.as_str()]));
        let lines = out.exits(0).stderr;
        let mut lines: Vec<_> = lines.lines().map(str::to_owned).collect();
        lines.dedup();
        assert!(lines[0].starts_with("pgbench: pghost: /"), "{lines:?}");
        assert!(lines[0].contains(" nclients: 1 nxacts: 1 dbName: dropin_debug"), "{lines:?}");
        lines.remove(0);
        lines
    };
    let expected = |select: &[&str], piped: &[&str], sent: &str| {
        let before =
            ["executing script \"steps.sql\"", "executing \\set x", "executing \\if", "executing \\elif"];
        let between =
            ["receiving", "executing \\else", "executing \\sleep 1 us", "executing \\startpipeline"];
        let sent = format!("sending {sent}");
        let after = [&*sent, "executing \\endpipeline", "receiving", "pipeline ending, ongoing syncs: 1"];
        let all = before.iter().chain(select).chain(&between).chain(piped).chain(&after);
        all.map(|line| format!("pgbench: client 0 {line}")).collect::<Vec<_>>()
    };
    assert_eq!(steps(&["-M", "extended"]), expected(&["sending SELECT $1 AS y "], &[], "SELECT 1;"));
    let prepared = expected(&["preparing P_0", "sending P_0"], &["preparing P_1"], "P_1");
    assert_eq!(steps(&["-M", "prepared"]), prepared);
}
