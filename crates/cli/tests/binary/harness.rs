//! Runs the binary in a directory of its own with an environment of its own.
//! Used by all modules beside it; knows nothing of what they test.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use results::{ComparisonRecord, Entry, EntryKind, ListFilter, Record, Store};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use testkit::cluster::Cluster;

/// A directory to run in; everything is gone when it is dropped.
pub(crate) struct Bench {
    directory: TempDir,
}

/// What a finished program left.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Bench {
    pub(crate) fn new() -> Self {
        // The user who runs the servers must be able to pass through.
        let permissions = fs::Permissions::from_mode(0o755);
        let directory = tempfile::Builder::new().prefix("pgmeter-test-").permissions(permissions).tempdir();
        let directory = directory.expect("a temporary directory can be made");
        // The store of all runs in this directory.
        fs::create_dir(directory.path().join("pgmeter-results")).expect("a directory can be made");
        Self { directory }
    }

    /// The newest comparison in the store `out/`.
    pub(crate) fn newest_comparison(&self) -> ComparisonRecord {
        let store = Store::open(&self.path().join("out/")).expect("the store is there");
        let entries = store.entries(&ListFilter::default()).expect("it can be read");
        let numbers = entries.iter().map(Entry::id).filter(|id| id.kind == EntryKind::Comparison);
        let newest = numbers.map(|id| id.number).max().expect("one is kept");
        store.comparison(newest).expect("it is kept")
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file and returns its name, relative to where the binary runs.
    pub(crate) fn file<'a>(&self, name: &'a str, text: &str) -> &'a str {
        fs::write(self.path().join(name), text).expect("a file can be written");
        name
    }

    /// Writes the file of an experiment whose script, `one.sql`, needs no tables.
    pub(crate) fn experiment<'a>(&self, name: &'a str, text: &str) -> &'a str {
        self.file("one.sql", "SELECT 1;\n");
        self.file(name, text)
    }

    /// The binary, ready to be started: no PG* variables, servers' data below the directory. A server that it starts has
    /// few shared buffers unless the arguments say otherwise: a quarter of the memory costs 0.13 s of CPU time per start.
    pub(crate) fn command<I: IntoIterator<Item: AsRef<std::ffi::OsStr>>>(&self, arguments: I) -> Command {
        let words: Vec<_> = arguments.into_iter().map(|word| word.as_ref().to_owned()).collect();
        let is = |at: usize, text: &str| words.get(at).is_some_and(|word| word == text);
        let starts_server = is(0, "quickstart") || is(0, "server") && is(1, "install");
        let chooses = words.iter().any(|word| word.to_string_lossy().contains("shared_buffers"));
        let few: &[&str] = if starts_server && !chooses { &["--set", "shared_buffers=64MB"] } else { &[] };
        let mut command = self.program(Path::new(env!("CARGO_BIN_EXE_pgmeter")), words);
        command.args(few);
        command
    }

    /// Any program, as [`Bench::command`].
    pub(crate) fn program<I: IntoIterator<Item: AsRef<std::ffi::OsStr>>>(
        &self,
        program: &Path,
        arguments: I,
    ) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.path()).stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PG") {
                command.env_remove(name);
            }
        }
        if let Some(cache) = std::env::var_os("PGMETER_CACHE_DIR") {
            command.env("PGMETER_CACHE_DIR", cache);
        }
        // The width of reports in a pipe.
        command.env_remove("COLUMNS");
        command.env("PGMETER_STATE_DIR", self.path().join("state"));
        command.env("XDG_DATA_HOME", self.path().join("data"));
        command
    }

    /// The binary called as pgbench, through a link; the environment as for [`Bench::command`].
    pub(crate) fn pgbench<I: IntoIterator<Item: AsRef<std::ffi::OsStr>>>(&self, arguments: I) -> Command {
        let link = self.path().join("pgbench");
        if !link.exists() {
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pgmeter"), &link).expect("a link can be made");
        }
        self.program(&link, arguments)
    }

    /// Runs the binary as pgbench to its end.
    pub(crate) fn run_pgbench<I: IntoIterator<Item: AsRef<std::ffi::OsStr>>>(
        &self,
        arguments: I,
    ) -> Finished {
        finish(&mut self.pgbench(arguments))
    }

    /// Runs the binary to its end.
    pub(crate) fn run<I: IntoIterator<Item: AsRef<std::ffi::OsStr>>>(&self, arguments: I) -> Finished {
        finish(&mut self.command(arguments))
    }

    /// The records written so far, oldest first.
    pub(crate) fn records(&self) -> Vec<Record> {
        let files = results::records_in(&self.path().join("pgmeter-results"));
        let mut records: Vec<Record> = files
            .into_iter()
            .flatten()
            .map(|path| Record::read(&path).expect("the record is sound"))
            .collect();
        records.sort_by_key(|record| record.started_at.unix_millis());
        records
    }

    /// The paths of the records in a directory.
    pub(crate) fn records_of(&self, directory: &str) -> Vec<String> {
        let files = results::records_in(&self.path().join(directory)).expect("it can be listed");
        files.iter().map(|path| path.display().to_string()).collect()
    }

    /// The only record.
    pub(crate) fn record(&self) -> Record {
        let mut records = self.records();
        assert_eq!(records.len(), 1, "one record was expected");
        records.remove(0)
    }

    /// Names of what is left below the state directory's servers.
    pub(crate) fn servers_left(&self) -> Vec<String> {
        let servers = fs::read_dir(self.path().join("state/servers"));
        servers
            .into_iter()
            .flatten()
            .map(|entry| entry.expect("it can be listed").file_name().to_string_lossy().into_owned())
            .filter(|name| !name.starts_with('.'))
            .collect()
    }
}

/// SQL that creates the tables of pgbench at this scale, without accounts.
pub(crate) fn sql_of_tables_of_pgbench(scale: u32) -> String {
    format!(
        "create table pgbench_branches (bid int primary key, bbalance int, filler char(88));
         create table pgbench_tellers (tid int primary key, bid int, tbalance int, filler char(84));
         create table pgbench_accounts (aid int primary key, bid int, abalance int, filler char(84));
         create table pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
         insert into pgbench_branches select n, 0 from generate_series(1, {scale}) n;
         insert into pgbench_tellers select n, (n - 1) / 10 + 1, 0 from generate_series(1, 10 * {scale}) n;"
    )
}

/// A database with these tables. They have few accounts, since all of them cost a second of CPU time: a transaction of
/// another account finds and changes none.
pub(crate) fn tables_of_pgbench(cluster: &Cluster, name: &str, scale: u32) -> String {
    let conninfo = cluster.database(name);
    let accounts = "insert into pgbench_accounts select n, 1, 0 from generate_series(1, 1000) n";
    let sql = sql_of_tables_of_pgbench(scale) + accounts;
    Cluster::session(&conninfo).execute(&sql).expect("the tables are new");
    conninfo
}

/// Runs a program to its end.
pub(crate) fn finish(command: &mut Command) -> Finished {
    let output = command.output().expect("the program can be started");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the program writes UTF-8");
    Finished { status: output.status, stdout: text(output.stdout), stderr: text(output.stderr) }
}

impl Finished {
    /// Asserts the exit status.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Asserts that the talk has all these words, and no panic.
    #[track_caller]
    pub(crate) fn says(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.stderr.contains(word), "no \"{word}\" in:\n{}", self.stderr);
        }
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }
}

/// A program that is still running.
pub(crate) struct Running {
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
    heard: String,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program can be started");
        let stderr = BufReader::new(child.stderr.take().expect("stderr is a pipe"));
        Self { child, stderr, heard: String::new() }
    }

    /// Waits until a line of its talk has this word.
    #[track_caller]
    pub(crate) fn hear(&mut self, word: &str) {
        loop {
            let mut line = String::new();
            let read = self.stderr.read_line(&mut line).expect("stderr is readable");
            assert!(read > 0, "it ended without saying \"{word}\":\n{}", self.heard);
            self.heard += &line;
            if line.contains(word) {
                return;
            }
        }
    }

    /// What it has said until now.
    pub(crate) fn heard(&self) -> &str {
        &self.heard
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("the child is still ours");
    }

    /// Whether it is over, for tests that wait for something that it does.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("the child is ours").is_some()
    }

    /// Waits for its end.
    pub(crate) fn finish(mut self) -> Finished {
        let mut rest = String::new();
        while self.stderr.read_line(&mut rest).expect("stderr is readable") > 0 {}
        let output = self.child.wait_with_output().expect("the child is ours");
        let stdout = String::from_utf8(output.stdout).expect("the program writes UTF-8");
        Finished { status: output.status, stdout, stderr: self.heard + &rest }
    }
}
