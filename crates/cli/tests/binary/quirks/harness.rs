//! Runs the drop-in and `pgmeter bench` in a folder of their own against an own database of the shared server. Knows
//! no quirk.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use connect::Session;
use tempfile::TempDir;
use testkit::cluster::Cluster;

/// Who is run.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// The binary under the name of pgbench.
    Pgbench,
    /// `pgmeter bench`.
    Bench,
}

pub(crate) const BOTH: [Who; 2] = [Who::Pgbench, Who::Bench];

/// A folder and a database.
pub(crate) struct Desk {
    folder: TempDir,
    pub(crate) conninfo: String,
}

/// What a finished program left.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Desk {
    /// With a database whose name begins with `name`.
    pub(crate) fn new(name: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("pgmeter-test-").tempdir();
        let folder = folder.expect("a temporary directory can be made");
        Self { folder, conninfo: Cluster::shared("18").database(name) }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// With a function `stumble(every, code)`, of whose calls only each `every`-th succeeds.
    pub(crate) fn with_stumbling(self) -> Self {
        self.execute(
            "create sequence tries;
             create function stumble(every int, code text) returns int language plpgsql as $$
             begin
               if nextval('tries') % every <> 0 then raise exception 'stumbled' using errcode = code; end if;
               return 1;
             end $$",
        );
        self
    }

    pub(crate) fn session(&self) -> Session {
        Cluster::session(&self.conninfo)
    }

    pub(crate) fn execute(&self, sql: &str) {
        let done = self.session().execute(sql);
        done.unwrap_or_else(|error| panic!("\"{sql}\": {error}"));
    }

    /// Rows of a query, columns divided by `|`.
    pub(crate) fn ask(&self, sql: &str) -> Vec<String> {
        let rows = self.session().query(sql);
        let rows = rows.unwrap_or_else(|error| panic!("\"{sql}\": {error}"));
        let line = |row: &connect::Row| {
            (0..row.len()).map(|column| row.get(column).unwrap_or("(null)")).collect::<Vec<_>>().join("|")
        };
        rows.iter().map(line).collect()
    }

    /// The program with these words as arguments, ready to be started; no PG* variables.
    pub(crate) fn command(&self, who: Who, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pgmeter"));
        match who {
            Who::Pgbench => command.arg0("pgbench"),
            Who::Bench => command.arg("bench"),
        };
        self.furnish(&mut command);
        command.args(arguments.split_whitespace());
        command
    }

    /// `pgmeter` itself with these words.
    pub(crate) fn pgmeter(&self, arguments: &str) -> Finished {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pgmeter"));
        self.furnish(&mut command);
        finish(command.args(arguments.split_whitespace()).arg(&self.conninfo))
    }

    fn furnish(&self, command: &mut Command) {
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PG") {
                command.env_remove(name);
            }
        }
        let data = self.path().join("data");
        command.current_dir(self.path()).stdin(Stdio::null()).env("LC_ALL", "C").env("XDG_DATA_HOME", data);
    }

    /// Runs a script to its end.
    pub(crate) fn run(&self, who: Who, arguments: &str, script: &str) -> Finished {
        finish(&mut self.prepare(who, arguments, script))
    }

    /// The same, ready to be started.
    pub(crate) fn prepare(&self, who: Who, arguments: &str, script: &str) -> Command {
        fs::write(self.path().join("script.sql"), script).expect("a file can be written");
        let mut command = self.command(who, arguments);
        command.args(["-n", "-f", "script.sql", &self.conninfo]);
        command
    }

    /// Contents of the log files, by their names without the number of the process.
    pub(crate) fn logs(&self) -> Vec<(String, String)> {
        let entries = fs::read_dir(self.path()).expect("the folder is ours");
        let mut logs: Vec<(String, String)> = entries
            .map(|entry| entry.expect("it can be listed").path())
            .filter_map(|path| {
                let name = path.file_name()?.to_str()?.strip_prefix("pgbench_log.")?.to_owned();
                let thread = name.split_once('.').map_or("0", |(_, thread)| thread);
                Some((thread.to_owned(), fs::read_to_string(&path).expect("a log can be read")))
            })
            .collect();
        logs.sort();
        logs
    }
}

/// Runs a program to its end.
pub(crate) fn finish(command: &mut Command) -> Finished {
    Finished::of(
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program can be started"),
    )
}

/// Starts a program that the test ends itself.
pub(crate) fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program can be started")
}

/// From now on SIGINT ends what is started, also where this program was told to ignore it, as shells without job control
/// tell what runs in the background: that is inherited, a handler is not.
pub(crate) fn let_children_be_interrupted() {
    let ends_this_program_too = Arc::new(AtomicBool::new(true));
    signal_hook::flag::register_conditional_default(signal_hook::consts::SIGINT, ends_this_program_too)
        .expect("SIGINT can be caught");
}

impl Finished {
    /// Waits for the end.
    pub(crate) fn of(child: Child) -> Self {
        let output = child.wait_with_output().expect("the child is ours");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the program writes UTF-8");
        Self { status: output.status, stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Asserts the exit status.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Asserts that something went wrong, and that the program said so itself.
    #[track_caller]
    pub(crate) fn fails(self) -> Self {
        let code = self.status.code();
        assert!(
            matches!(code, Some(1..=100)),
            "{code:?}\nstdout:\n{}\nstderr:\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    /// Asserts that both streams together have all these words.
    #[track_caller]
    pub(crate) fn says(self, words: &[&str]) -> Self {
        for word in words {
            let found = self.stderr.contains(word) || self.stdout.contains(word);
            assert!(found, "no \"{word}\" in:\n{}\n{}", self.stdout, self.stderr);
        }
        self
    }

    /// Asserts that none of these words is anywhere.
    #[track_caller]
    pub(crate) fn says_not(self, words: &[&str]) -> Self {
        for word in words {
            let found = self.stderr.contains(word) || self.stdout.contains(word);
            assert!(!found, "\"{word}\" in:\n{}\n{}", self.stdout, self.stderr);
        }
        self
    }
}
