//! What only somebody at a terminal meets: the question for a password, and Ctrl-C while tables are loaded. The
//! terminal is a pseudo-terminal that `setsid --ctty` gives to the binary.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Stdio;

use results::{Status, Warning};
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use testkit::cluster::Cluster;
use testkit::null::{NullOptions, NullServer};

use crate::harness::{Bench, Finished, Running, finish};

/// The one end of a terminal, where somebody types and reads.
struct Keyboard {
    terminal: File,
    shown: String,
}

/// A terminal, and its other end for a program.
fn terminal() -> (Keyboard, File) {
    let ours: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
    grantpt(&ours).and_then(|()| unlockpt(&ours)).expect("it is ours");
    let name = ptsname(&ours, Vec::new()).expect("it has a name");
    let path = Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()));
    let theirs = File::options().read(true).write(true).open(path).expect("its other end");
    (Keyboard { terminal: File::from(ours), shown: String::new() }, theirs)
}

impl Keyboard {
    /// Waits until the terminal shows this.
    #[track_caller]
    fn wait_for(&mut self, text: &str) {
        while !self.shown.contains(text) {
            assert!(self.read(), "it never showed \"{text}\":\n{}", self.shown);
        }
    }

    fn type_in(&mut self, text: &str) {
        self.terminal.write_all(text.as_bytes()).expect("a terminal takes what is typed");
    }

    /// All that was shown, once nobody has the other end any more.
    fn read_to_the_end(mut self) -> String {
        while self.read() {}
        self.shown
    }

    fn read(&mut self) -> bool {
        let mut buffer = [0; 1024];
        // Linux ends the reading with an error.
        let length = self.terminal.read(&mut buffer).unwrap_or(0);
        self.shown += &String::from_utf8_lossy(&buffer[..length]);
        length > 0
    }
}

/// A server that wants the password of the role `guest`, which is `open sesame`; and how to get there.
pub(crate) fn guarded() -> (Cluster, String) {
    let cluster = Cluster::start("18");
    cluster.execute("create role guest login password 'open sesame'");
    cluster.admit("host all guest 127.0.0.1/32 scram-sha-256");
    let conninfo = cluster.conninfo_tcp().replace("user=postgres", "user=guest");
    (cluster, conninfo)
}

/// Runs the binary at a terminal, where this is typed when it asks for the password.
fn run_and_type(bench: &Bench, arguments: &[&str], password: &str) -> (Finished, String) {
    let (mut keyboard, theirs) = terminal();
    let words = ["--ctty", env!("CARGO_BIN_EXE_pgmeter")];
    let mut command = bench.program(Path::new("setsid"), words.iter().chain(arguments));
    command.env("PGPASSFILE", "/nowhere").stdin(Stdio::from(theirs));
    let typing = std::thread::spawn(move || (keyboard.wait_for("Password: "), keyboard));
    let run = Running::start(&mut command);
    // The program has its own.
    drop(command);
    let ((), mut keyboard) = typing.join().expect("it asks");
    keyboard.type_in(&format!("{password}\n"));
    let reading = std::thread::spawn(move || keyboard.read_to_the_end());
    let finished = run.finish();
    (finished, reading.join().expect("it can be read"))
}

#[test]
fn a_password_is_asked_for_once_for_all_clients_and_not_shown() {
    let (_cluster, conninfo) = guarded();
    let bench = Bench::new();
    let script = bench.file("who.sql", "SELECT current_user;");
    for command in ["bench", "pgbench"] {
        let arguments = [command, "-n", "-c", "6", "-j", "2", "-t", "3", "-f", script, &conninfo];
        let (out, shown) = run_and_type(&bench, &arguments, "open sesame");
        out.exits(0);
        assert_eq!(shown.replace("\r\n", "\n"), "Password: \n", "{command}");
    }
}

#[test]
fn whoever_watches_sees_lines_that_are_drawn_anew_and_are_gone_at_the_end() {
    let conninfo = Cluster::shared("18").database("watched");
    let bench = Bench::new();
    let script = bench.file("nap.sql", "SELECT pg_sleep(0.01);");
    let (mut keyboard, theirs) = terminal();
    let words = ["--ctty", env!("CARGO_BIN_EXE_pgmeter"), "bench", "-n", "-T", "2", "-f", script, &conninfo];
    let mut command = bench.program(Path::new("setsid"), words);
    command.env("TERM", "xterm").stdin(Stdio::from(theirs.try_clone().expect("a copy")));
    command.stdout(Stdio::null()).stderr(Stdio::from(theirs));
    let mut child = command.spawn().expect("the program can be started");
    drop(command);
    keyboard.wait_for(": measuring");
    let shown = keyboard.read_to_the_end();
    assert!(child.wait().expect("the child is ours").success());
    assert!(shown.contains("throughput") && shown.contains("100 %, 2 s, 0 s left"), "{shown}");
    let (_, after) = shown.rsplit_once("\x1b[K").expect("it was erased");
    assert!(!after.contains("throughput"), "{shown}");
    // tmux keeps what is erased to the end of the screen in its history.
    assert!(!shown.contains("\x1b[J") && !shown.contains("\x1b[2J"), "{shown}");
}

#[test]
fn the_list_of_runs_fits_a_terminal_of_80_columns() {
    let conninfo = Cluster::shared("18").database("columns");
    let bench = Bench::new();
    let script = bench.file("a-script-with-a-long-name-that-must-be-cut.sql", "\\sleep 10 ms\nSELECT 1;");
    let goals = ["--goal", "tps > 100000000", "-R", "2000", "-L", "500"];
    for label in ["before the new index on orders (customer)", "after the new index on orders (customer)"] {
        let words = ["bench", "-n", "-T", "1", "-f", script, "--label", label, &conninfo];
        bench.run(words.iter().chain(&goals)).exits(5);
    }
    let (keyboard, theirs) = terminal();
    let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&theirs, size).expect("a terminal has a size");
    let mut command = bench.command(["runs"]);
    command.env("NO_COLOR", "1").stdout(Stdio::from(theirs)).stderr(Stdio::null());
    let mut child = command.spawn().expect("the program can be started");
    drop(command);
    let shown = keyboard.read_to_the_end();
    assert!(child.wait().expect("the child is ours").success());
    assert_eq!(shown.lines().count(), 3, "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert!(shown.contains("NOT KEPT, goal miss") && shown.contains("before the"), "{shown}");
}

/// A script that says more than a terminal and pgmeter's own queue hold.
const TALK: &str = "\\set n debug(:client_id)\nSELECT 1;";
/// How often it says something in a transaction of a longer one.
const TALKS: usize = 10;

#[test]
fn a_terminal_that_takes_nothing_holds_up_neither_the_load_nor_the_end_and_the_record_says_so() {
    let bench = Bench::new();
    let server = NullServer::on_unix_socket(NullOptions::default()).expect("a null server");
    let (talk, sql) = TALK.split_once('\n').expect("two lines");
    let script = bench.file("talk.sql", &format!("{}{sql}", format!("{talk}\n").repeat(TALKS)));
    let conninfo = server.conninfo();
    // As after Ctrl-S: nobody reads from its other end.
    let (_keyboard, theirs) = terminal();
    let words = ["bench", "-n", "-c", "2", "-t", "2000", "-f", script, &conninfo];
    let mut command = bench.command(words);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::from(theirs)).spawn().expect("it starts");
    assert_eq!(child.wait().expect("the child is ours").code(), Some(0));
    let record = bench.record();
    assert_eq!((&record.status, record.summary.counts.succeeded), (&Status::Complete, 4_000));
    let is_lost = |warning: &Warning| matches!(warning, Warning::MessagesLost { .. });
    assert!(record.warnings.iter().any(is_lost), "{:?}", record.warnings);
}

#[test]
fn a_terminal_that_stops_jobs_in_the_background_does_not_stop_the_load() {
    let bench = Bench::new();
    let server = NullServer::on_unix_socket(NullOptions::default()).expect("a null server");
    let (script, conninfo) = (bench.file("talk.sql", TALK), server.conninfo());
    let (keyboard, theirs) = terminal();
    // What it says before and after the load stops it, as it should; then it gets the terminal.
    let in_background = "stty tostop; set -m; \"$@\" & wait $!; while kill -0 $! 2>/dev/null; do fg; done";
    let shell = ["--ctty", "--wait", "sh", "-c", in_background, "sh", env!("CARGO_BIN_EXE_pgmeter")];
    let words = ["bench", "-n", "-c", "2", "-t", "2000", "-f", script, &conninfo];
    let mut command = bench.program(Path::new("setsid"), shell.iter().chain(&words));
    command.stdin(Stdio::from(theirs.try_clone().expect("a copy")));
    command.stdout(Stdio::null()).stderr(Stdio::from(theirs));
    let mut child = command.spawn().expect("the program can be started");
    drop(command);
    let reading = std::thread::spawn(move || keyboard.read_to_the_end());
    assert_eq!(child.wait().expect("the child is ours").code(), Some(0));
    reading.join().expect("it can be read");
    let record = bench.record();
    assert_eq!((&record.status, record.summary.counts.succeeded), (&Status::Complete, 4_000));
    let is_lost = |warning: &Warning| matches!(warning, Warning::MessagesLost { .. });
    assert!(record.warnings.iter().any(is_lost), "{:?}", record.warnings);
    assert!(!record.warnings.contains(&Warning::Paused), "{:?}", record.warnings);
}

#[test]
fn a_wrong_password_is_told_in_one_sentence_and_not_asked_for_again() {
    let (_cluster, conninfo) = guarded();
    let bench = Bench::new();
    let script = bench.file("who.sql", "SELECT current_user;");
    let arguments = ["bench", "-n", "-c", "6", "-t", "3", "-f", script, &conninfo];
    let (out, shown) = run_and_type(&bench, &arguments, "open barley");
    let out = out.exits(1).says(&["password authentication failed for user \"guest\""]);
    assert_eq!(out.stderr.trim_end().lines().count(), 1, "{}", out.stderr);
    assert_eq!(shown.matches("Password").count(), 1, "{shown}");
    assert!(!out.stderr.contains("barley") && !shown.contains("barley"), "{shown}");
}

#[test]
fn ctrl_c_while_tables_are_loaded_cancels_the_statement_on_the_server() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("ctrl_c");
    finish(&mut bench.pgbench(["-i", "-q", &conninfo])).exits(0);
    let mut lock = Cluster::session(&conninfo);
    lock.execute("begin; lock table pgbench_accounts in access share mode").expect("a lock");
    let others = "from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() \
                  and wait_event_type = 'Lock'";
    // In a transaction the view would stay as it was first seen.
    let mut observer = Cluster::session(&conninfo);
    let mut is_waiting = || {
        let rows = observer.query(&format!("select count(*) {others}")).expect("the query is right");
        rows[0].get(0) == Some("1")
    };
    for (command, code) in [("pgbench", 1), ("init", 130)] {
        let mut run = match command {
            "pgbench" => bench.pgbench(["-i", &conninfo]),
            _ => bench.command(["init", &conninfo]),
        };
        let run = Running::start(&mut run);
        while !is_waiting() {
            testkit::condition::pause();
        }
        run.signal(Signal::INT);
        let out = run.finish().exits(code);
        assert!(!out.stderr.contains("panicked"), "{}", out.stderr);
        // Long before the lock is given up.
        while is_waiting() {
            testkit::condition::pause();
        }
    }
}
